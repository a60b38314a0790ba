package db

import (
	"strconv"
	"strings"
)

// Arrow is one step of a path into JSON: a place of an array, counted from its
// end where it is negative, or a key of an object.
type Arrow struct {
	Key     string
	Index   int
	IsIndex bool
}

// arrowStep writes the right side of an arrow. PostgreSQL takes a key as it is.
// SQLite reads a path, whose quoted labels have the escapes of JSON
// (sqlite.org/json1.html, "PATH arguments").
func (d *DB) arrowStep(s Arrow) string {
	switch {
	case s.IsIndex && d.kind == SQLite && s.Index < 0:
		return quoteText("$[#" + strconv.Itoa(s.Index) + "]")
	case s.IsIndex:
		return strconv.Itoa(s.Index)
	case d.kind == SQLite:
		return quoteText("$." + string(AppendString(nil, s.Key)))
	}
	return quoteText(s.Key)
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
