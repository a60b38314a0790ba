package limit

import (
	"context"
	"database/sql/driver"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
)

// ItemHeader is the header line of the import case's file.
var ItemHeader = []string{"sku", "name", "description", "category", "base_uom", "unit_cost", "price", "weight_kg",
	"reorder_point", "lead_time_days", "abc_class", "status"}

// itemColumns is what a row of items needs to exist.
var itemColumns = []string{"tenant_id", "id", "sku", "name", "description", "category", "base_uom", "unit_cost",
	"price", "weight_kg", "reorder_point", "lead_time_days", "abc_class", "status",
	"barcodes", "tracking", "has_expiry", "capacity_units", "storage_class", "on_hand", "available", "stock_value",
	"low_stock",
	"created_at", "updated_at", "version"}

// items reads a file's rows as values for itemColumns.
type items struct {
	in     *csv.Reader
	tenant string
	now    string
	rows   int
	vals   []any
	err    error
}

func openItems(r io.Reader, tenant string) (*items, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	if _, err := in.Read(); err != nil {
		return nil, err
	}
	return &items{in: in, tenant: tenant, now: time.Now().UTC().Format(db.TimeLayout)}, nil
}

func (s *items) Next() bool {
	rec, err := s.in.Read()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
		return false
	}
	id, err := uuid.NewV7()
	if err != nil {
		s.err = err
		return false
	}
	var d [5]int64
	for i, col := range []int{5, 6, 7, 8, 9} {
		v, err := decimal.Parse(rec[col])
		if err != nil {
			s.err = err
			return false
		}
		d[i] = int64(v)
	}
	s.rows++
	s.vals = []any{s.tenant, id.String(), rec[0], rec[1], rec[2], rec[3], rec[4], d[0], d[1], d[2], d[3],
		d[4] / decimal.Scale, rec[10], rec[11],
		"[]", "none", false, int64(decimal.One), "ambient", int64(0), int64(0), int64(0), d[3] > 0, s.now, s.now, int64(1)}
	return true
}

// Values and Err complete pgx's source of rows.
func (s *items) Values() ([]any, error) { return s.vals, nil }

func (s *items) Err() error { return s.err }

// ReadItems reads a CSV file of items into the table, with the indexes in
// place, in one transaction: by one prepared statement, or on PostgreSQL by
// COPY if asked for.
func ReadItems(ctx context.Context, o Options, file string, byCopy bool) (time.Duration, int, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	src, err := openItems(f, o.Tenant)
	if err != nil {
		return 0, 0, err
	}
	switch {
	case o.URL != "" && byCopy:
		return copyItems(ctx, o, src)
	case o.URL != "":
		return batchItems(ctx, o, src)
	}
	return insertItems(o, src)
}

// inserted is the statement for one row of items.
func inserted() string {
	marks := make([]string, len(itemColumns))
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	return "INSERT INTO items (" + strings.Join(itemColumns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
}

// batch is how many inserts travel together.
const batch = 500

func batchItems(ctx context.Context, o Options, src *items) (time.Duration, int, error) {
	c, err := pgx.Connect(ctx, o.URL)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close(ctx)
	sql := inserted()
	begin := time.Now()
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		for src.Next() {
			if b.Queue(sql, src.vals...); b.Len() == batch {
				if err := tx.SendBatch(ctx, b).Close(); err != nil {
					return err
				}
				b = &pgx.Batch{}
			}
		}
		return errors.Join(src.err, tx.SendBatch(ctx, b).Close())
	})
	return time.Since(begin), src.rows, err
}

func copyItems(ctx context.Context, o Options, src *items) (time.Duration, int, error) {
	c, err := pgx.Connect(ctx, o.URL)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close(ctx)
	begin := time.Now()
	// As the owner: COPY FROM is not allowed under row level security.
	_, err = c.CopyFrom(ctx, pgx.Identifier{"items"}, itemColumns, stamped{src})
	return time.Since(begin), src.rows, err
}

// stamped gives COPY, which only speaks binary, times instead of texts.
type stamped struct{ *items }

func (s stamped) Values() ([]any, error) {
	n := len(s.vals)
	t, err := time.Parse(db.TimeLayout, s.now)
	s.vals[n-3], s.vals[n-2] = t, t
	return s.vals, err
}

func insertItems(o Options, src *items) (time.Duration, int, error) {
	c, err := openConn(o.Dir)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	begin := time.Now()
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return 0, 0, err
	}
	st, err := c.prepare(inserted())
	if err != nil {
		return 0, 0, err
	}
	named := make([]driver.NamedValue, len(itemColumns))
	for src.Next() {
		for i, v := range src.vals {
			named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
		}
		if _, err := st.(driver.StmtExecContext).ExecContext(context.Background(), named); err != nil {
			return 0, 0, err
		}
	}
	if src.err != nil {
		return 0, 0, src.err
	}
	err = c.exec("COMMIT")
	return time.Since(begin), src.rows, err
}
