package draft

import (
	"slices"
	"strconv"

	"holdfast/internal/imports/match"
	"holdfast/internal/store"
)

// Titles are the columns that fields come from, or what these are called, in quotation marks.
func (v *Reader) Titles(fields []string) []string {
	out := make([]string, len(fields))
	for i, name := range fields {
		if out[i] = v.Target.Words(name); v.Layout.Column(name) != nil {
			out[i] = strconv.Quote(v.Header(name))
		}
	}
	return out
}

// KeyFields are the fields that tell the file's rows apart.
func (v *Reader) KeyFields() []string {
	key := v.Target.Resource.Import.Key
	if v.Lined() {
		key = append(slices.Clone(key), v.Target.Lines.Import.Key[1:]...)
	}
	return key
}

// RowKey is what tells a row from the file's others, as text, "" when it has
// no key.
func (v *Reader) RowKey(row store.Row) string {
	key := match.Key(v.Target.Resource, row)
	if key == "" || !v.Lined() {
		return key
	}
	for _, k := range v.Target.Lines.Import.Key[1:] {
		n, _ := row[k].(int64)
		key += strconv.FormatInt(n, 10) + "\x00"
	}
	return key
}
