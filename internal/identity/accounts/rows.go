package accounts

import (
	"holdfast/internal/store"
)

// FieldText is a text field of a row; "" where it has none.
func FieldText(r store.Row, name string) string {
	v, _ := r[name].(string)
	return v
}

// ChangedText reads a field of the row as it is now, or was last.
func ChangedText(c store.Change, name string) string {
	if v := c.After.Text(name); v != "" {
		return v
	}
	return c.Before.Text(name)
}
