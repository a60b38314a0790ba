// Package bulk writes many finished rows at once, without validation, audit
// or effects: the rows are already as the server would have left them. Demo
// data and the benchmark's generator use it.
package bulk

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/store"
)

// rowsPerStatement is where multi-row inserts stop getting cheaper. The rest
// of a batch goes row by row, so that a table needs two prepared texts only.
const rowsPerStatement = 32

// Insert queues n rows of a table. row appends the values of row i, one for
// each column, to args.
func Insert(tx *db.Tx, table string, cols []string, n int, row func(i int, args []any) []any) {
	many, one := text(table, cols, rowsPerStatement), text(table, cols, 1)
	for i := 0; i < n; {
		sql, k := one, 1
		if n-i >= rowsPerStatement {
			sql, k = many, rowsPerStatement
		}
		args := make([]any, 0, k*len(cols))
		for end := i + k; i < end; i++ {
			args = row(i, args)
		}
		tx.Queue(sql, args, nil)
	}
}

// Rows queues whole records of a resource. Values are in stored form (see
// store.Row); fields no record has are left out of the statement.
func Rows(tx *db.Tx, r *catalog.Resource, rows []store.Row) {
	cols := columns(r, rows)
	Insert(tx, r.Name, cols, len(rows), func(i int, args []any) []any {
		for _, c := range cols {
			v := rows[i][c]
			if raw, ok := v.(json.RawMessage); ok {
				v = string(raw)
			}
			args = append(args, v)
		}
		return args
	})
}

func columns(r *catalog.Resource, rows []store.Row) []string {
	var cols []string
	for i := range r.Fields {
		for _, row := range rows {
			if row[r.Fields[i].Name] != nil {
				cols = append(cols, r.Fields[i].Name)
				break
			}
		}
	}
	return cols
}

func text(table string, cols []string, rows int) string {
	b := []byte("INSERT INTO " + table + " (" + strings.Join(cols, ", ") + ") VALUES ")
	p := 1
	for i := range rows {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '(')
		for c := range cols {
			if c > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendInt(append(b, '$'), int64(p), 10)
			p++
		}
		b = append(b, ')')
	}
	return string(b)
}

// Tally adds what rows of r contribute to their tenant's counters.
func Tally(into map[string]int64, r *catalog.Resource, rows []store.Row) {
	for i := range r.Counters {
		for _, row := range rows {
			r.Counters[i].Add(into, r, row, 1)
		}
	}
}

// Sequences returns the last number given out per year in a resource's
// business numbers, so that the store goes on behind them.
func Sequences(r *catalog.Resource, rows []store.Row) (years []int64, last map[int64]int64) {
	last = map[int64]int64{}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Format != catalog.Number || f.Prefix == "" {
			continue
		}
		for _, row := range rows {
			no, _ := row[f.Name].(string)
			year, value, ok := split(strings.TrimPrefix(no, f.Prefix+"-"))
			if ok && value > last[year] {
				last[year] = value
			}
		}
	}
	for y := range last {
		years = append(years, y)
	}
	sort.Slice(years, func(i, j int) bool { return years[i] < years[j] })
	return years, last
}

func split(s string) (year, value int64, ok bool) {
	y, v, found := strings.Cut(s, "-")
	if !found {
		return 0, 0, false
	}
	year, err1 := strconv.ParseInt(y, 10, 64)
	value, err2 := strconv.ParseInt(v, 10, 64)
	return year, value, err1 == nil && err2 == nil
}
