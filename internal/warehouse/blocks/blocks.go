// Package blocks sends rows of values with a statement, in blocks of few sizes: few
// prepared texts serve any number of rows.
//
// Layer: domains. Begin at [Block].
package blocks

import (
	"strconv"
	"strings"

	"holdfast/internal/db"
)

// sizes are the rows of a block, the greatest first.
var sizes = [...]int{512, 64, 8, 1}

// Block describes a statement that takes rows of values.
type Block struct {
	Head  string // text before the first row
	Tail  string // text after the last one
	Fixed []any  // $1...: parameters before the rows
	Width int    // values in a row
}

// QueueRows queues the statement for n rows; row appends the values of one.
func (b Block) QueueRows(tx *db.Tx, n int, row func(i int, args []any) []any) {
	for i := 0; i < n; {
		size := 1
		for _, s := range sizes {
			if s <= n-i {
				size = s
				break
			}
		}
		args := make([]any, 0, len(b.Fixed)+size*b.Width)
		args = append(args, b.Fixed...)
		for k := range size {
			args = row(i+k, args)
		}
		tx.Queue(b.statementText(size), args, nil)
		i += size
	}
}

// statementText is the statement for a number of rows.
func (b Block) statementText(rows int) string {
	var t strings.Builder
	t.Grow(len(b.Head) + len(b.Tail) + rows*b.Width*6)
	t.WriteString(b.Head)
	p := len(b.Fixed)
	for i := range rows {
		if i > 0 {
			t.WriteString(", ")
		}
		t.WriteByte('(')
		for c := range b.Width {
			if c > 0 {
				t.WriteString(", ")
			}
			p++
			t.WriteByte('$')
			t.WriteString(strconv.Itoa(p))
		}
		t.WriteByte(')')
	}
	t.WriteString(b.Tail)
	return t.String()
}
