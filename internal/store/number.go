package store

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
)

// number gives business numbers to new rows that have none: prefix, year and a
// sequence per tenant and year, SO-2026-000001.
func (s *Store) number(tx *db.Tx, r *catalog.Resource, changes []Change) error {
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Type != catalog.Text || f.Format != catalog.Number || f.Prefix == "" {
			continue
		}
		byTenant := map[string][]Row{}
		for _, c := range changes {
			if v := c.After[f.Name]; v == nil || v == any("") {
				t := tenantOf(r, c.After)
				byTenant[t] = append(byTenant[t], c.After)
			}
		}
		for t, rows := range byTenant {
			if err := s.sequence(tx, r, f, t, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// sequence reserves numbers. It steps over numbers people chose themselves, or
// the sequence would run into one and never get past it.
func (s *Store) sequence(tx *db.Tx, r *catalog.Resource, f *catalog.Field, tenant string, rows []Row) error {
	year := s.Now().Year()
	prefix := fmt.Sprintf("%s-%04d-", f.Prefix, year)
	reserve := "INSERT INTO sequences (tenant_id, name, year, value) VALUES ($1, $2, $3, $4)" +
		" ON CONFLICT (tenant_id, name, year) DO UPDATE SET value = sequences.value + excluded.value" +
		" RETURNING value, (SELECT MAX(" + f.Name + ") FROM " + r.Name + " WHERE tenant_id = $1 AND " + f.Name + " >= $5 AND " + f.Name + " < $6)"
	var last, taken int64
	take := func(n int64) error {
		return tx.One(reserve, []any{tenant, r.Name, int64(year), n, prefix, prefix + ":"}, func(row *db.Row) error {
			last = row.Int(0)
			taken, _ = strconv.ParseInt(strings.TrimPrefix(row.Text(1), prefix), 10, 64)
			return nil
		})
	}
	n := int64(len(rows))
	if err := take(n); err != nil {
		return fmt.Errorf("store: reserve %s: %w", f.Name, err)
	}
	if taken > last-n {
		if err := take(taken - (last - n)); err != nil {
			return fmt.Errorf("store: reserve %s: %w", f.Name, err)
		}
	}
	for i, row := range rows {
		row[f.Name] = fmt.Sprintf("%s%06d", prefix, last-n+1+int64(i))
	}
	return nil
}
