package store

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// numbered is the field that holds a resource's business number, or nil.
func numbered(r *catalog.Resource) *catalog.Field {
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Type == catalog.Text && f.Format == catalog.Number && f.Prefix != "" {
			return f
		}
	}
	return nil
}

func unnumbered(f *catalog.Field, row Row) bool {
	v := row[f.Name]
	return v == nil || v == any("")
}

// ours are numbers of a sequence's form; sixDigits is what people may choose of
// them. The sequence steps over what they chose, and must be able to read it.
var (
	ours      = regexp.MustCompile(`^[0-9]{4}-`)
	sixDigits = regexp.MustCompile(`^[0-9]{4}-[0-9]{6}$`)
)

func fits(f *catalog.Field, v string) bool {
	rest, ok := strings.CutPrefix(v, f.Prefix+"-")
	return !ok || !ours.MatchString(rest) || sixDigits.MatchString(rest)
}

func misnumbered(f *catalog.Field, v string) *fault.Error {
	after := fmt.Sprintf("after %s-YYYY- come six digits", f.Prefix)
	return fault.New(fault.Invalid, "22023", "%s %q begins like a number of the sequence and is none", f.Name, v).
		With(after, "leave it out, or choose a number of another form").At(f.Name, "begins like a number of the sequence and is none: %s", after)
}

// number gives business numbers to new rows that have none: prefix, year and a
// sequence per tenant and year, SO-2026-000001.
func (s *Store) number(tx *db.Tx, r *catalog.Resource, changes []Change) error {
	f := numbered(r)
	if f == nil {
		return nil
	}
	byTenant := map[string][]Row{}
	for _, c := range changes {
		if unnumbered(f, c.After) {
			t := tenantOf(r, c.After)
			byTenant[t] = append(byTenant[t], c.After)
		} else if v, _ := c.After[f.Name].(string); !fits(f, v) {
			return misnumbered(f, v)
		}
	}
	for t, rows := range byTenant {
		q := s.sequence(r, f, t)
		first, err := q.reserve(tx, len(rows))
		if err != nil {
			return err
		}
		for i, row := range rows {
			row[f.Name] = q.text(first + int64(i))
		}
	}
	return nil
}

// sequence is the numbers of one field for one tenant and year.
type sequence struct {
	resource *catalog.Resource
	field    *catalog.Field
	tenant   string
	year     int
}

func (s *Store) sequence(r *catalog.Resource, f *catalog.Field, tenant string) sequence {
	return sequence{r, f, tenant, s.Now().Year()}
}

func (q sequence) prefix() string      { return fmt.Sprintf("%s-%04d-", q.field.Prefix, q.year) }
func (q sequence) text(n int64) string { return fmt.Sprintf("%s%06d", q.prefix(), n) }

// farthest is the greatest number that people may choose. The sequence goes on
// with seven digits.
const farthest = 999_999

// reserve takes n numbers and returns the first. It steps over numbers people
// chose themselves, or the sequence would run into one and never get past it.
func (q sequence) reserve(tx *db.Tx, count int) (first int64, err error) {
	name := q.field.Name
	text := "INSERT INTO sequences (tenant_id, name, year, value) VALUES ($1, $2, $3, $4)" +
		" ON CONFLICT (tenant_id, name, year) DO UPDATE SET value = sequences.value + excluded.value" +
		" RETURNING value, (SELECT MAX(" + name + ") FROM " + q.resource.Name + " WHERE tenant_id = $1 AND " + name + " >= $5 AND " + name + " < $6)"
	prefix := q.prefix()
	var last, taken int64
	take := func(n int64) error {
		return tx.One(text, []any{q.tenant, q.resource.Name, int64(q.year), n, prefix, prefix + ":"}, func(row *db.Row) error {
			last = row.Int(0)
			if taken, _ = strconv.ParseInt(strings.TrimPrefix(row.Text(1), prefix), 10, 64); taken > farthest {
				taken = 0
			}
			return nil
		})
	}
	n := int64(count)
	if err = take(n); err == nil && taken > last-n {
		err = take(taken - (last - n))
	}
	if err != nil {
		return 0, fmt.Errorf("store: reserve %s: %w", name, err)
	}
	return last - n + 1, nil
}
