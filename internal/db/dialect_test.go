package db_test

import (
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

// Items of many numbers are looked up number by number also by the plan that is
// made while there are none, with which an import into a new tenant goes on: one
// that reads the tenant's items, and compares each with all numbers, took two thirds
// of the time of 20,000.
func TestProbed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d := dbtest.Open(t, o)
		const tenant = "0190a000-0000-7000-8000-000000000001"
		explain := map[db.Engine]string{db.SQLite: "EXPLAIN QUERY PLAN ", db.PostgreSQL: "EXPLAIN "}[d.Engine()]
		from, where := d.Probed("items", "sku", 2)
		var plan []string
		err := d.Read(t.Context(), db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
			return tx.Query(explain+"SELECT id FROM "+from+" WHERE tenant_id = $1 AND "+where, []any{tenant, `["a"]`},
				func(r *db.Row) error {
					plan = append(plan, r.Text(r.Len()-1))
					return nil
				})
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[db.Engine]string{db.SQLite: "(tenant_id=? AND sku=?)",
			db.PostgreSQL: "'::uuid) AND (sku = probed.value))"}[d.Engine()]
		if all := strings.Join(plan, "\n"); !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	})
}
