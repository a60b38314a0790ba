package db

import (
	"errors"
	"strconv"
)

// fewRows is up to how many rows of an insert PostgreSQL gets one by one: so
// few are not worth a statement of their own to prepare.
const fewRows = 8

// Insert queues rows of one table; each row has its values in the order of the
// columns, nil = null. PostgreSQL gets many of them as Rows sends them, which
// costs it half of what a parameter for each value costs. SQLite gets a row at a
// time by one prepared statement, which costs it least. It counts as one
// statement.
func (t *Tx) Insert(table string, cols []Column, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	if t.DB().Engine() == SQLite || len(rows) <= fewRows {
		text := insertRow(table, cols)
		for _, row := range rows {
			t.queue = append(t.queue, stmt{sql: text, args: row})
		}
		t.asked++
		return nil
	}
	list := t.InsertMany(table, cols, "")
	for _, row := range rows {
		if err := errors.Join(list.setValues(row), list.closeRows()); err != nil {
			return err
		}
		if list.n == rowsPerStatement {
			list.Queue()
		}
	}
	list.Queue()
	return nil
}

func insertInto(table string, cols []Column) []byte {
	b := []byte("INSERT INTO " + table + " (")
	for i, c := range cols {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, c.Name...)
	}
	return append(b, ") "...)
}

func insertRow(table string, cols []Column) string {
	b := append(insertInto(table, cols), "VALUES ("...)
	for i := range cols {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(append(b, '$'), int64(i+1), 10)
	}
	return string(append(b, ')'))
}
