package store

import (
	"testing"
)

func TestSplitTail(t *testing.T) {
	for where, want := range map[string][2]string{
		"":                                      {"", ""},
		"ORDER BY id":                           {"", " ORDER BY id"},
		"a = 1 OR b = 2":                        {"a = 1 OR b = 2", ""},
		"a = 1 ORDER BY id LIMIT 5":             {"a = 1", " ORDER BY id LIMIT 5"},
		"a = 1 FOR NO KEY UPDATE":               {"a = 1", " FOR NO KEY UPDATE"},
		"a = 1 LIMIT 1 FOR UPDATE SKIP LOCKED":  {"a = 1", " LIMIT 1 FOR UPDATE SKIP LOCKED"},
		"a = (SELECT b FROM c ORDER BY d)":      {"a = (SELECT b FROM c ORDER BY d)", ""},
		"a IN (SELECT 1 LIMIT 1) ORDER BY a":    {"a IN (SELECT 1 LIMIT 1)", " ORDER BY a"},
		"a = 'x ORDER BY (' AND b = 1 LIMIT $2": {"a = 'x ORDER BY (' AND b = 1", " LIMIT $2"},
	} {
		condition, tail := splitTail(where)
		if condition != want[0] || tail != want[1] {
			t.Errorf("splitTail(%q) = %q, %q", where, condition, tail)
		}
	}
}
