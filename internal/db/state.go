package db

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A SchemaState is how far a database is behind this program.
type SchemaState struct {
	Fresh      bool // there is nothing yet
	Have, Want int  // newest migration: of the database, of the program
	Due        []Migration
}

// State reads how far a database is, whatever its schema, and changes nothing.
func State(ctx context.Context, o Options) (out SchemaState, err error) {
	all, err := Migrations()
	if err != nil {
		return out, err
	}
	out.Want = len(all)
	if o.URL != "" {
		err = out.readPostgres(ctx, o.URL)
	} else {
		err = out.readSQLite(ctx, o.Dir)
	}
	if err != nil {
		return out, err
	}
	if out.Have < len(all) {
		out.Due = all[out.Have:]
	}
	return out, nil
}

func (s *SchemaState) readSQLite(ctx context.Context, dir string) error {
	path := filepath.Join(dir, FileName)
	if st, err := os.Stat(path); err != nil || st.Size() == 0 {
		s.Fresh = true
		return nil
	}
	c, err := (&lite{path: path}).openConn("-2000")
	if err != nil {
		return err
	}
	defer c.closeConn()
	tables := 0
	one := stmt{sql: `
		SELECT COUNT(*)
		FROM sqlite_master
		WHERE name = 'schema_migrations'`, each: func(r *Row) error {
		tables = int(r.Int(0))
		return nil
	}}
	if err := c.runAll(ctx, statementTimeout, []stmt{one}); err != nil {
		return fmt.Errorf("db: read the schema: %w", classifyError(err))
	}
	if s.Fresh = tables == 0; s.Fresh {
		return nil
	}
	one = stmt{sql: schemaVersion, each: func(r *Row) error { s.Have = int(r.Int(0)); return nil }}
	return classifyError(c.runAll(ctx, statementTimeout, []stmt{one}))
}

func (s *SchemaState) readPostgres(ctx context.Context, dsn string) error {
	c, err := connectOwner(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	if err := c.QueryRow(ctx, "SELECT to_regclass('schema_migrations') IS NULL").Scan(&s.Fresh); err != nil || s.Fresh {
		return classifyError(err)
	}
	return classifyError(c.QueryRow(ctx, schemaVersion).Scan(&s.Have))
}

// A Step is one statement of a migration that is due, and what it takes.
type Step struct {
	Migration string
	Does      string // "create index", "alter table", ...
	Table     string
	Rows      int64 // that are there to be read or rewritten
	Locks     string
	Takes     time.Duration // about
}

// touches finds what a statement of a migration does to which table.
var touches = regexp.MustCompile(
	`(?is)^(create table|create unique index|create index|alter table|drop table|update|insert into|delete from)` +
		`\s+(?:if (?:not )?exists\s+)?(?:\w+\s+on\s+)?(\w+)`)

// perSecond is about how many rows a statement gets through, measured on a
// machine with two slow cores.
const perSecond = 150_000

// Plan lists what the migrations that are due do. rows counts a table.
func (s SchemaState) Plan(engine Engine, rows func(table string) (int64, error)) ([]Step, error) {
	var out []Step
	for _, m := range s.Due {
		for _, sql := range splitStatements(m.SQL) {
			found := touches.FindStringSubmatch(strings.TrimSpace(stripComments(sql)))
			if found == nil {
				continue
			}
			step := Step{Migration: fmt.Sprintf("%04d_%s", m.Version, m.Name), Does: strings.ToLower(found[1]), Table: found[2]}
			if step.Does != "create table" {
				n, err := rows(step.Table)
				if err != nil {
					return nil, err
				}
				step.Rows = n
			}
			step.Takes = time.Duration(step.Rows) * time.Second / perSecond
			step.Locks = lockSentence(engine, step.Does)
			out = append(out, step)
		}
	}
	return out, nil
}

// lockSentence says what others wait for while a statement runs.
func lockSentence(e Engine, does string) string {
	switch {
	case e == SQLite:
		return "all writes, until the migration ends"
	case does == "create table":
		return "nothing"
	case strings.HasSuffix(does, "index"):
		return "writes to the table"
	case does == "alter table" || does == "drop table":
		return "the table"
	}
	return "the rows"
}

// About counts the rows of a table, on PostgreSQL by its statistics; none when
// there is no such table.
func About(ctx context.Context, o Options, table string) (n int64, err error) {
	if o.URL == "" {
		c, err := (&lite{path: filepath.Join(o.Dir, FileName)}).openConn("-2000")
		if err != nil {
			return 0, err
		}
		defer c.closeConn()
		note := func(r *Row) error { n = r.Int(0); return nil }
		there := stmt{sql: `
			SELECT COUNT(*)
			FROM sqlite_master
			WHERE type = 'table'
				AND name = $1`, args: []any{table},
			each: note}
		if err := c.runAll(ctx, snapshotTime, []stmt{there}); err != nil || n == 0 {
			return 0, classifyError(err)
		}
		return n, classifyError(c.runAll(ctx, snapshotTime, []stmt{{sql: "SELECT COUNT(*) FROM " + table, each: note}}))
	}
	c, err := connectOwner(ctx, o.URL)
	if err != nil {
		return 0, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	err = c.QueryRow(ctx, `
		SELECT coalesce((
			SELECT greatest(reltuples, 0)::bigint
			FROM pg_class
			WHERE oid = to_regclass($1)
		), 0)`, table).Scan(&n)
	return n, classifyError(err)
}
