package match

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
)

// Text is a value of a row as text.
func Text(v any) string {
	if raw, ok := v.(json.RawMessage); ok {
		return string(raw)
	}
	return fmt.Sprint(v)
}

// Dec reads a decimal out of a row; null is zero.
func Dec(row store.Row, field string) decimal.Dec {
	d, _ := row[field].(decimal.Dec)
	return d
}
