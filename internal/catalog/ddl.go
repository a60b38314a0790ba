package catalog

import (
	"fmt"
	"sort"
	"strings"
)

// DDL writes the resource's table and indexes, the same text for both engines.
// Migrations are made from it (`holdfast migrate new`), and a test holds the
// migrated schema against it.
func (r *Resource) DDL() string {
	var b strings.Builder
	fmt.Fprintf(&b, "create table %s (", r.Name)
	if r.Root {
		b.WriteString(" -- rls: id")
	}
	if r.Name == "members" {
		b.WriteString(" -- rls: tenant_id, user user_id")
	}
	b.WriteString("\n")
	var lines []string
	for i := range r.Fields {
		lines = append(lines, "  "+r.Fields[i].columnDDL())
	}
	for _, c := range r.Checks {
		lines = append(lines, "  check ("+c+")")
	}
	lines = append(lines, "  primary key ("+r.primaryKey()+")")
	for _, rel := range r.refs {
		if rel.From == r.Name {
			lines = append(lines, fmt.Sprintf("  constraint %s foreign key (tenant_id, %s) references %s (tenant_id, id)",
				rel.Name, rel.Column, rel.To))
		}
	}
	b.WriteString(strings.Join(lines, ",\n"))
	b.WriteString("\n);\n")
	for _, ix := range r.indexDDL() {
		b.WriteString(ix + ";\n")
	}
	return b.String()
}

func (r *Resource) primaryKey() string {
	if r.Root {
		return "id"
	}
	return "tenant_id, id"
}

func (f *Field) columnDDL() string {
	s := f.Name + " " + f.Type.Column()
	if f.Required {
		s += " not null"
	}
	return s
}

// AddColumnDDL adds the field to an existing table; a required one needs a
// default for the rows already there.
func (f *Field) AddColumnDDL(table string) (string, error) {
	s := fmt.Sprintf("alter table %s add column %s", table, f.columnDDL())
	if !f.Required {
		return s, nil
	}
	if f.Default == "" {
		return "", fmt.Errorf("catalog: %s.%s is required and has no default for existing rows", table, f.Name)
	}
	return s + " default " + f.sqlDefault(), nil
}

func (f *Field) sqlDefault() string {
	switch f.Type {
	case Bool, Int, Float:
		return f.Default
	case Decimal:
		return f.Default + "0000"
	}
	return "'" + strings.ReplaceAll(f.Default, "'", "''") + "'"
}

func (r *Resource) indexDDL() []string {
	var out []string
	led := map[string]bool{}
	for _, u := range r.Unique {
		led[u[0]] = true
		out = append(out, fmt.Sprintf("create unique index %s on %s (%s)", r.UniqueName(u), r.Name, r.keyColumns(u)))
	}
	all := append(r.orderIndexes(), r.Indexes...)
	for _, ix := range r.Indexes {
		led[strings.TrimPrefix(ix[0], "-")] = true
	}
	for _, rel := range r.refs {
		if rel.From == r.Name && !led[rel.Column] {
			led[rel.Column] = true
			all = append(all, []string{rel.Column})
		}
	}
	for _, ix := range all {
		out = append(out, fmt.Sprintf("create index %s on %s (tenant_id, %s)%s", r.indexName(ix, "idx"), r.Name,
			indexColumns(ix), r.partialCondition(ix)))
	}
	sort.Strings(out)
	return out
}

// partialCondition leaves rows that name no other record, or no number, out of the index by
// that column: nobody looks for them by it, and in the ledger most name few.
func (r *Resource) partialCondition(ix []string) string {
	if f := r.byName[ix[0]]; len(ix) == 1 && f != nil && (f.Type == UUID || f.Type == Text) && !f.Required {
		return " where " + f.Name + " is not null"
	}
	return ""
}

// UniqueName is the name of the index behind a unique key, as error messages
// show it: zones_code_key.
func (r *Resource) UniqueName(key []string) string { return r.indexName(key, "key") }

func (r *Resource) indexName(cols []string, suffix string) string {
	return strings.ReplaceAll(r.Name+"_"+strings.Join(cols, "_")+"_"+suffix, "-", "")
}

func indexColumns(ix []string) string {
	cols := make([]string, len(ix))
	for i, c := range ix {
		cols[i] = c
		if strings.HasPrefix(c, "-") {
			cols[i] = c[1:] + " desc"
		}
	}
	return strings.Join(cols, ", ")
}
