package data

import (
	"strconv"
	"strings"

	"holdfast/internal/db"
)

// rowsPerStatement is where multi-row inserts stop getting cheaper. The rest
// of a batch goes row by row, so that a table needs two prepared texts only.
const rowsPerStatement = 32

// insert queues n rows of a table. row appends the values of row i, one for
// each column, to args.
func insert(tx *db.Tx, table string, cols []string, n int, row func(i int, args []any) []any) {
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
