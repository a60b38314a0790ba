package warehouse

import (
	"strconv"
	"strings"

	"holdfast/internal/db"
)

// blocks are the sizes in which rows of values are sent: few prepared texts
// for any number of rows.
var blocks = [...]int{512, 64, 8, 1}

// block describes a statement that takes rows of values.
type block struct {
	head  string // text before the first row
	tail  string // text after the last one
	fixed []any  // $1...: parameters before the rows
	width int    // values in a row
}

// queueRows sends n rows; row appends the values of one.
func (b block) queueRows(tx *db.Tx, n int, row func(i int, args []any) []any) {
	for i := 0; i < n; {
		size := 1
		for _, s := range blocks {
			if s <= n-i {
				size = s
				break
			}
		}
		args := make([]any, 0, len(b.fixed)+size*b.width)
		args = append(args, b.fixed...)
		for k := range size {
			args = row(i+k, args)
		}
		tx.Queue(b.statementText(size), args, nil)
		i += size
	}
}

func (b block) statementText(rows int) string {
	var t strings.Builder
	t.Grow(len(b.head) + len(b.tail) + rows*b.width*6)
	t.WriteString(b.head)
	p := len(b.fixed)
	for i := range rows {
		if i > 0 {
			t.WriteString(", ")
		}
		t.WriteByte('(')
		for c := range b.width {
			if c > 0 {
				t.WriteString(", ")
			}
			p++
			t.WriteByte('$')
			t.WriteString(strconv.Itoa(p))
		}
		t.WriteByte(')')
	}
	t.WriteString(b.tail)
	return t.String()
}
