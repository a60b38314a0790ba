package dbtest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/db"
)

// Statements are the texts of what was sent to databases.
type Statements struct {
	mu    sync.Mutex
	texts map[string]bool
}

// Gather has what is sent to a database that o opens among the statements.
func (s *Statements) Gather(o *db.Options) {
	o.Slow = db.Slow{After: time.Nanosecond, Tell: func(_ context.Context, _ time.Duration, texts []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, text := range texts {
			s.texts[text] = true
		}
	}}
}

// NewStatements are none yet.
func NewStatements() *Statements { return &Statements{texts: map[string]bool{}} }

// Clear forgets what was sent.
func (s *Statements) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.texts)
}

// Step is one of the steps of SQLite's plan for a statement.
type Step struct {
	Statement string
	Text      string // as SQLite words it
	IsInner   bool   // it runs for each row of another step
	IsScan    bool   // it reads a table whole, the rows of all tenants
}

// Explain returns the steps in which SQLite reads tables for the statements, those of one after
// those of another, in the order of their texts.
func (s *Statements) Explain(t testing.TB, d *db.DB) (steps []Step) {
	t.Helper()
	s.mu.Lock()
	texts := make([]string, 0, len(s.texts))
	for text := range s.texts {
		texts = append(texts, text)
	}
	s.mu.Unlock()
	slices.Sort(texts)
	tables, err := d.Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if !explained.MatchString(text) {
			continue
		}
		for _, s := range explainStatement(t, d, text) {
			alias, isScan := strings.CutPrefix(s.Text, "SCAN ")
			alias, _, _ = strings.Cut(alias, " ")
			s.IsScan = isScan && tables[tableOf(text, alias)] != nil
			steps = append(steps, s)
		}
	}
	return steps
}

// tableOf is what a name stands for in a statement: "" for what the statement itself selects, as
// a subquery does.
func tableOf(text, alias string) string {
	named := regexp.MustCompile(`(?:FROM|JOIN)\s+(\w+)(?:\s+AS)?\s+` + regexp.QuoteMeta(alias) + `\b`)
	if m := named.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if strings.Contains(text, ") "+alias) || strings.Contains(text, ") AS "+alias) {
		return ""
	}
	return alias
}

var explained = regexp.MustCompile(`^\s*(SELECT|WITH|UPDATE|DELETE)\b`)

func explainStatement(t testing.TB, d *db.DB, text string) (steps []Step) {
	t.Helper()
	var args []any
	for strings.Contains(text, fmt.Sprint("$", len(args)+1)) {
		args = append(args, "0")
	}
	correlated, hasLoop := map[int64]bool{}, map[int64]bool{}
	err := d.Read(t.Context(), db.Scope{}, func(tx *db.Tx) error {
		return tx.Query("EXPLAIN QUERY PLAN "+text, args, func(r *db.Row) error {
			id, parent, step := r.Int(0), r.Int(1), r.Text(3)
			correlated[id] = correlated[parent] || strings.HasPrefix(step, "CORRELATED")
			if strings.HasPrefix(step, "SEARCH") || strings.HasPrefix(step, "SCAN") {
				steps = append(steps, Step{Statement: text, Text: step, IsInner: correlated[parent] || hasLoop[parent]})
				hasLoop[parent] = true
			}
			return nil
		})
	})
	if err != nil {
		t.Fatalf("explain: %v\n%s", err, text)
	}
	return steps
}

// plannedSearch is a search in an index, with the columns that it compares.
var plannedSearch = regexp.MustCompile(`^SEARCH (\S+) (?:EXISTS )?USING (?:COVERING )?INDEX \S+ \(([^)]*)\)`)

// ReadsWholeTenant reports a step that reads all rows of a table, of a tenant in it, or all of
// these that have one of few values.
func (s Step) ReadsWholeTenant() bool {
	if s.IsScan {
		return true
	}
	m := plannedSearch.FindStringSubmatch(s.Text)
	if m == nil {
		return false
	}
	for _, condition := range strings.Split(m[2], " AND ") {
		column, isEqual := strings.CutSuffix(condition, "=?")
		if isEqual && column != "tenant_id" && !db.IsCoarse(column) {
			return false
		}
	}
	return true
}
