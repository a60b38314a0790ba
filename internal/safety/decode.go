package safety

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/store"
)

// DecodeRows reads rows into structs by the names of their columns. A column that the struct
// lacks is not read; an empty one is the zero value.
func DecodeRows[T any](rows []store.Row) ([]T, error) {
	list := make([]T, len(rows))
	for i, row := range rows {
		raw, err := json.Marshal(row)
		if err == nil {
			err = json.Unmarshal(raw, &list[i])
		}
		if err != nil {
			return nil, fmt.Errorf("safety: read a row: %w", err)
		}
	}
	return list, nil
}
