package db

import (
	"regexp"
	"strings"
	"testing"
)

// firstRelease is the schema of 0.1.0. What comes after it meets servers of the
// version before, which go on beside it.
const firstRelease = 4

// breaks is what a server of the version before does not survive beside it: what
// it reads is gone, or what it writes is refused. Such a change takes two versions:
// one that no longer needs what goes, or fills what is demanded, and one that takes
// it away or demands it.
var breaks = regexp.MustCompile(`(?is)^\s*(drop (table|view)\b|alter table \w+ (drop|rename|alter|add (constraint|check|unique|primary|foreign))\b|` +
	`create unique index\b)`)

// demands finds a column that must be given a value.
var (
	addsColumn = regexp.MustCompile(`(?is)^\s*alter table \w+ add (?:column )?\w+`)
	demanded   = regexp.MustCompile(`(?i)\bnot null\b`)
	given      = regexp.MustCompile(`(?i)\bdefault\b`)
)

// expands says whether a statement of a migration leaves the version before what
// it needs. A table that the same migration makes is its own.
func expands(sql string) bool {
	s := stripComments(sql)
	return !breaks.MatchString(s) && (!addsColumn.MatchString(s) || !demanded.MatchString(s) || given.MatchString(s))
}

// Migrations after 0.1.0 only add: a server of the version before runs beside
// them.
func TestMigrationsExpand(t *testing.T) {
	for sql, want := range map[string]bool{
		"alter table zones add column note text":                     true,
		"alter table zones add column note text not null default ''": true,
		"create table notes (\n tenant_id uuid not null\n)":          true,
		"create index notes_at on notes (at)":                        true,
		"insert into probes values ('x', 1)":                         true,
		"-- why\nalter table zones add column note text not null":    false,
		"alter table zones drop column note":                         false,
		"ALTER TABLE zones RENAME COLUMN a TO b":                     false,
		"alter table zones alter column a set not null":              false,
		"alter table zones add constraint positive check (x > 0)":    false,
		"create unique index zones_name on zones (tenant_id, name)":  false,
		"drop table zones":                                                 false,
		"create table drop_notes (id uuid not null)":                       true,
		"alter table notes add column dropped boolean":                     true,
		"update zones set note = '' where note is null and drop_table = 1": true,
	} {
		if got := expands(sql); got != want {
			t.Errorf("%s: %v, want %v", sql, got, want)
		}
	}
	all, err := Migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all[firstRelease:] {
		made := map[string]bool{}
		for _, s := range splitStatements(m.SQL) {
			if c := createTable.FindStringSubmatch(s); c != nil {
				made[c[1]] = true
			}
			on := touches.FindStringSubmatch(strings.TrimSpace(stripComments(s)))
			if !expands(s) && (on == nil || !made[on[2]]) {
				t.Errorf("migration %d: the version before does not run beside %s", m.Version, s)
			}
		}
	}
}
