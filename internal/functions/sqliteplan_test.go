package functions_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// A subquery that runs once for each row of its statement finds its own rows by more than
// the tenant: one that reads all rows of the tenant each time costs their square.
func TestSubqueriesReadTheirOwnRows(t *testing.T) {
	sent, o := dbtest.NewStatements(), dbtest.Options(t, db.SQLite)
	sent.Gather(&o)
	k := open(t, o)
	fill(k)
	sent.Clear()
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
	for _, step := range sent.Explain(t, k.d) {
		if !step.IsInner {
			continue
		}
		subqueries++
		if readsWholeTenant(step.Text) && !slices.Contains(behindOneRow, step.Text) {
			t.Errorf("%s for each row of\n%s", step.Text, step.Statement)
		}
	}
	if subqueries < 5 {
		t.Errorf("only %d subqueries were found", subqueries)
	}
}

// behindOneRow are the steps that run once: what stands before them is one row.
var behindOneRow = []string{
	"SEARCH stock_levels USING INDEX stock_levels_owner_id_idx (tenant_id=? AND owner_id>?)",
	"SEARCH site USING INDEX sites_code_key (tenant_id=?)",
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
