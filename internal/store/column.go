package store

import (
	"encoding/json"
	"slices"
	"strings"
)

// TextColumn lists a text column of rows.
func TextColumn(rows []Row, field string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.Text(field)
	}
	return out
}

// SortByID puts rows in the order in which they were made.
func SortByID(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Text("id"), b.Text("id")) })
}

// Texts are the texts of an array, as a row keeps it.
func Texts(array any) (list []string) {
	raw, _ := array.(json.RawMessage)
	_ = json.Unmarshal(raw, &list) // the store has checked it; null is none
	return list
}
