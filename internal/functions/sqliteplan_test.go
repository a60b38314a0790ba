package functions_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// A subquery that runs once for each row of its statement finds its own rows by more than
// the tenant: one that reads all rows of the tenant each time costs their square.
func TestSubqueriesReadTheirOwnRows(t *testing.T) {
	sent := map[string]bool{}
	o := dbtest.Options(t, db.SQLite)
	o.Slow = db.Slow{After: time.Nanosecond, Tell: func(_ context.Context, _ time.Duration, texts []string) {
		for _, text := range texts {
			sent[text] = true
		}
	}}
	k := open(t, o)
	fill(k)
	clear(sent)
	k.as = actor.Actor{UserID: ada, TenantID: north, Role: actor.Owner}
	for _, f := range k.table {
		if f.Methods[0] != "GET" {
			continue
		}
		for _, params := range forms(f.In) {
			k.bytes(f.Name, params)
		}
	}

	subqueries := 0
	for text := range sent {
		for _, step := range explainSubqueries(k, text) {
			subqueries++
			if readsWholeTenant(step) {
				t.Errorf("%s for each row of\n%s", step, text)
			}
		}
	}
	t.Logf("%d subqueries in %d statements", subqueries, len(sent))
	if subqueries < 5 {
		t.Errorf("only %d subqueries were found in %d statements", subqueries, len(sent))
	}
}

// explainSubqueries returns the steps of a statement's plan that run for each of its rows.
func explainSubqueries(k *kit, text string) (steps []string) {
	k.Helper()
	if !strings.HasPrefix(strings.TrimSpace(text), "SELECT") && !strings.HasPrefix(strings.TrimSpace(text), "WITH") {
		return nil
	}
	args := make([]any, 0, 8)
	for strings.Contains(text, fmt.Sprint("$", len(args)+1)) {
		args = append(args, "0")
	}
	correlated := map[int64]bool{}
	err := k.d.Read(k.Context(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		return tx.Query("EXPLAIN QUERY PLAN "+text, args, func(r *db.Row) error {
			step := r.Text(3)
			if correlated[r.Int(1)] {
				steps = append(steps, step)
			}
			correlated[r.Int(0)] = correlated[r.Int(1)] || strings.HasPrefix(step, "CORRELATED")
			return nil
		})
	})
	if err != nil {
		k.Fatalf("%v: explain %s", err, text)
	}
	return steps
}

// ownRows finds what ties the rows that are read to one record: an id.
var ownRows = regexp.MustCompile(`^SEARCH .*[( ](?:\w+_)?id=\?`)

// tenantOnly is an index searched by its tenant alone; tenant_id is no record's id.
var tenantOnly = strings.NewReplacer("tenant_id=?", "")

// readsWholeTenant reports a step that reads a table of records as a whole, or many of a
// tenant's rows.
func readsWholeTenant(step string) bool {
	if strings.Contains(step, "VIRTUAL TABLE") {
		return false
	}
	if strings.HasPrefix(step, "SCAN ") {
		return true
	}
	return strings.HasPrefix(step, "SEARCH ") && !ownRows.MatchString(tenantOnly.Replace(step))
}
