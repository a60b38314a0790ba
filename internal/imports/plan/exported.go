package plan

import (
	"slices"

	"holdfast/internal/imports/cell"
)

// exportedAt is the column of ids of a file of movements, -1 = it has none. Exports have
// one; no field is given by it.
func (v *Survey) exportedAt() int {
	if v.Target.Keyed() || v.Target.Posts == nil {
		return -1
	}
	if v.ids == nil {
		at := slices.IndexFunc(v.Layout.Headers, func(h string) bool { return cell.Fold(h) == "id" })
		v.ids = &at
	}
	return *v.ids
}

// ExportedHeader is what the column of ids is called.
func (v *Survey) ExportedHeader() string {
	if at := v.exportedAt(); at >= 0 {
		return v.Layout.Headers[at]
	}
	return ""
}

// ExportedID is the id that a row of an export has, "" of other files.
func (v *Survey) ExportedID(cells []string) string {
	if at := v.exportedAt(); at >= 0 && at < len(cells) {
		return cells[at]
	}
	return ""
}
