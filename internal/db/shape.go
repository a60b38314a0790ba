package db

import (
	"context"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/db/shape"
)

// FindGone names the tables, columns and unique indexes that a migration made and
// somebody dropped. It changes nothing, and works whatever the version of the schema.
func FindGone(ctx context.Context, o Options) (gone []string, err error) {
	if o.URL == "" {
		c, err := (&lite{path: filepath.Join(o.Dir, FileName)}).openConn("-2000")
		if err != nil {
			return nil, err
		}
		defer c.closeConn()
		return shape.SQLite.FindGone(c.queryTexts)
	}
	c, err := connectOwner(ctx, o.URL)
	if err != nil {
		return nil, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	return shape.PostgreSQL.FindGone(queryTexts(ctx, c))
}

func (c *liteConn) queryTexts(sql string, each func(string)) error {
	return c.queryRows(sql, nil, func(r *Row) error { each(r.Text(0)); return nil })
}

func (c *liteConn) runText(sql string, args ...any) error {
	return c.runOne(stmt{sql: sql, args: args})
}

func queryTexts(ctx context.Context, on interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}) shape.Query {
	return func(sql string, each func(string)) error {
		rows, err := on.Query(ctx, sql)
		if err != nil {
			return classifyError(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, text := range texts {
			each(text)
		}
		return classifyError(err)
	}
}
