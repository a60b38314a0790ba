package match

import (
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Key is a row's import key as text, "" when it has none: a required part
// is missing, or all of them are. Codes are equal without regard to case, and a
// part that is missing is equal to its default.
func Key(r *catalog.Resource, row store.Row) string {
	var b []byte
	given := false
	for _, k := range r.Import.Key {
		f, _ := r.Field(k)
		s := part(f, row)
		if s == "" && f.Required {
			return ""
		}
		given = given || s != ""
		b = append(append(b, s...), 0)
	}
	if !given {
		return ""
	}
	return string(b)
}

func part(f *catalog.Field, row store.Row) string {
	switch x := row[f.Name].(type) {
	case string:
		if f.Type == catalog.Text && f.Format == catalog.Code {
			return strings.ToLower(x)
		}
		return x
	case int64:
		return strconv.FormatInt(x, 10)
	}
	return f.Default
}

// Look reads columns of the records that have the keys of rows.
func Look(
	tx *db.Tx, tenant string, r *catalog.Resource, rows []store.Row, cols []string, each func(key string, row *db.Row),
) error {
	where := "tenant_id = $1"
	if r.Name == "stock_levels" {
		where += " AND owner_id IS NULL" // a seventh part of its key: what a file counts is the tenant's own
	}
	args, from := []any{tenant}, r.Name
	read := append([]string(nil), cols...)
	for _, k := range r.Import.Key {
		f, _ := r.Field(k)
		args = append(args, query.List(Parts(f, rows)))
		in := In(tx.DB(), r, f, len(args))
		if len(r.Import.Key) == 1 && f.Type == catalog.Text && f.Format != catalog.Code {
			from, in = tx.DB().Probed(r.Name, k, len(args))
		}
		if !f.Required && len(r.Import.Key) > 1 {
			in = "(" + k + " IS NULL OR " + in + ")"
		}
		where += " AND " + in
		read = append(read, k)
	}
	return tx.Query(db.FillWords(`
		SELECT {columns}
		FROM {from}
		WHERE {where}`,
		"{columns}", strings.Join(read, ", "), "{from}", from, "{where}", where),
		args, func(row *db.Row) error {
			key := store.Row{}
			for i, k := range r.Import.Key {
				if !row.Null(len(cols) + i) {
					key[k] = row.Text(len(cols) + i)
				}
			}
			each(Key(r, key), row)
			return nil
		})
}

// Parts are the different values of a part of the keys of rows.
func Parts(f *catalog.Field, rows []store.Row) []string {
	seen := map[string]bool{}
	list := []string{}
	for _, row := range rows {
		if s := part(f, row); row != nil && s != "" && !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

// In compares a part of a key with the list in parameter n, so that an
// index serves. A key of one part has a unique index of its own.
func In(d *db.DB, r *catalog.Resource, f *catalog.Field, n int) string {
	in, col := d.InText, f.Name
	if len(r.Import.Key) == 1 {
		in = d.InKey
	}
	if f.Format == catalog.Code {
		col = "lower(" + col + ")"
	}
	switch f.Type {
	case catalog.UUID:
		in = d.InUUID
	case catalog.Int:
		in = d.InInt
	case catalog.Time:
		in = d.InTime
	}
	return in(col, n)
}

// OtherKey is a unique key of a record as text, "" where a part of it is empty:
// then it is like no other.
func OtherKey(r *catalog.Resource, at int, row store.Row) string {
	b := strconv.Itoa(at)
	for _, name := range r.Unique[at] {
		f, _ := r.Field(name)
		s := part(f, row)
		if row[name] == nil || s == "" {
			return ""
		}
		b += "\x00" + s
	}
	return b
}
