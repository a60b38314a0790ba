package shape

import (
	"regexp"
	"strings"
)

// names are those that the SQL of migrations names.
type names struct{ tables, words map[string]bool }

var (
	createdTable = regexp.MustCompile(`(?i)create table (?:if not exists )?(\w+)`)
	word         = regexp.MustCompile(`\w+`)
)

func newNames(sql string) names {
	n := names{map[string]bool{}, map[string]bool{}}
	for _, made := range createdTable.FindAllStringSubmatch(sql, -1) {
		n.tables[made[1]] = true
	}
	for _, w := range word.FindAllString(sql, -1) {
		n.words[w] = true
	}
	return n
}

// isPartNamed reports a part that the migrations made. The engine names the index of a
// constraint that has no name.
func (n names) isPartNamed(part string) bool {
	if table, ok := strings.CutPrefix(part, "table "); ok {
		return n.tables[table]
	}
	if column, ok := strings.CutPrefix(part, "column "); ok {
		table, name, _ := strings.Cut(column, ".")
		return n.tables[table] && n.words[name]
	}
	index, table, _ := strings.Cut(strings.TrimPrefix(part, "unique index "), " of ")
	isOfConstraint := strings.HasPrefix(index, "sqlite_autoindex_") || strings.HasSuffix(index, "_key") ||
		strings.HasSuffix(index, "_pkey")
	return n.tables[table] && (n.words[index] || isOfConstraint)
}
