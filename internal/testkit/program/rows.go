package program

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // asks a database past package db

	"holdfast/internal/db"
)

// Codes are the zone codes with a prefix.
func (s *Site) Codes(prefix string) map[string]bool {
	s.Helper()
	out := map[string]bool{}
	for _, code := range s.Texts("SELECT code FROM zones WHERE code LIKE $1", prefix+"%") {
		out[code] = true
	}
	return out
}

// Texts reads one column of texts from the database.
func (s *Site) Texts(sql string, args ...any) (out []string) {
	s.Helper()
	s.Open(func(ctx context.Context, d *db.DB) error {
		return d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query(sql, args, func(r *db.Row) error { out = append(out, r.Text(0)); return nil })
		})
	})
	return out
}

// Fingerprint tells one schema, with the migrations noted in it, from another.
// It asks past package db, which opens no newer schema.
func (s *Site) Fingerprint() string {
	s.Helper()
	driver, at, q := "sqlite", filepath.Join(s.Data, db.FileName), "SELECT name, coalesce(sql, '') FROM sqlite_master"
	if s.DSN != "" {
		driver, at, q = "pgx", s.DSN, "SELECT table_name || '.' || column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema()"
	}
	d, err := sql.Open(driver, at)
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	rows, err := d.Query(q + " UNION ALL SELECT CAST(version AS text), name FROM schema_migrations ORDER BY 1, 2")
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var name, what string
		if err := rows.Scan(&name, &what); err != nil {
			s.Fatal(err)
		}
		fmt.Fprintln(&b, name, what)
	}
	if rows.Err() != nil || b.Len() == 0 {
		s.Fatal(rows.Err())
	}
	return b.String()
}

// Tables counts what a PostgreSQL database has.
func (s *Site) Tables() (n int) {
	s.Helper()
	d, err := sql.Open("pgx", s.DSN)
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	if err := d.QueryRow("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

// Write changes the database behind the program's back.
func (s *Site) Write(sql string, args ...any) {
	s.Helper()
	s.Open(func(ctx context.Context, d *db.DB) error {
		return d.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec(sql, args...)
			return err
		})
	})
}

// Number reads one number from the database.
func (s *Site) Number(sql string, args ...any) (n int64) {
	s.Helper()
	s.Open(func(ctx context.Context, d *db.DB) error {
		return d.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.One(sql, args, func(r *db.Row) error { n = r.Int(0); return nil })
		})
	})
	return n
}

// Open is the database for the length of do, as the program opens it.
func (s *Site) Open(do func(context.Context, *db.DB) error) {
	s.Helper()
	ctx := context.Background()
	d, err := db.Open(ctx, db.Options{URL: s.DSN, Dir: s.Data})
	if err != nil {
		s.Fatal(err)
	}
	defer d.Close()
	if err := do(ctx, d); err != nil {
		s.Fatal(err)
	}
}
