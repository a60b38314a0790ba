package accounts

import "holdfast/internal/store"

// ChangedText reads a field of the row as it is now, or was last.
func ChangedText(c store.Change, name string) string {
	if v := c.After.Text(name); v != "" {
		return v
	}
	return c.Before.Text(name)
}
