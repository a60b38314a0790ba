package db

import (
	"strconv"
	"strings"
)

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// pgPath writes segments as a PostgreSQL text[] literal.
func pgPath(segs []string) string {
	q := make([]string, len(segs))
	for i, s := range segs {
		q[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return "{" + strings.Join(q, ",") + "}"
}

// liteStep writes one segment for SQLite: an integer indexes an array (a
// negative one from its end), anything else is an object label.
func liteStep(s string) string {
	if n, err := strconv.Atoi(s); err == nil {
		if n < 0 {
			return quoteText("$[#" + strconv.Itoa(n) + "]")
		}
		return strconv.Itoa(n)
	}
	return quoteText(`$."` + strings.ReplaceAll(s, `"`, ``) + `"`)
}
