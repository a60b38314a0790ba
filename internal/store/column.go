package store

import "encoding/json"

// TextColumn lists a text column of rows.
func TextColumn(rows []Row, field string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.Text(field)
	}
	return out
}

// Texts are the texts of an array, as a row keeps it.
func Texts(array any) (list []string) {
	raw, _ := array.(json.RawMessage)
	_ = json.Unmarshal(raw, &list) // the store has checked it; null is none
	return list
}
