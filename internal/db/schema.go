package db

import (
	"context"
	"strings"
)

// Columns returns the column types of every table, by table and column.
func (d *DB) Columns(ctx context.Context) (map[string]map[string]string, error) {
	sql := `
		SELECT m.name, c.name, c.type
		FROM sqlite_master m
		JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table'`
	if d.kind == PostgreSQL {
		sql = `
			SELECT table_name, column_name, data_type
			FROM information_schema.columns
			WHERE table_schema = 'public'`
	}
	out := map[string]map[string]string{}
	err := d.Read(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query(sql, nil, func(r *Row) error {
			t := r.Text(0)
			if out[t] == nil {
				out[t] = map[string]string{}
			}
			out[t][r.Text(1)] = r.Text(2)
			return nil
		})
	})
	return out, err
}

// SameType reports whether a column type as an engine reports it is the one
// that the DDL asked for.
func SameType(reported, asked string) bool {
	return strings.EqualFold(reported, asked) || asked == "timestamptz" && reported == "timestamp with time zone"
}

// Unfenced names the tables of tenants that row level security does not bind,
// in its forced form, with a policy. Sessions are not among them: they are read before
// the tenant is known, and some have none. On SQLite, which has no row level security,
// there are none.
func (d *DB) Unfenced(ctx context.Context) (out []string, err error) {
	if d.kind != PostgreSQL {
		return nil, nil
	}
	const sql = `
		SELECT c.relname
		FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
		WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'sessions'
			AND (NOT c.relrowsecurity OR NOT c.relforcerowsecurity
				OR NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid))
		ORDER BY c.relname`
	err = d.Read(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query(sql, nil, func(r *Row) error { out = append(out, r.Text(0)); return nil })
	})
	return out, err
}
