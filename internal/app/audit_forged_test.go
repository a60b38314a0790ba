package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// What somebody did who writes the database past the server is told: a row that
// the server did not write, and a log that is gone with
// the head of its chain, whatever the tenant does afterwards.
func TestAuditPastTheServer(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		svc := k.App.Identity
		exec := func(sql string, args ...any) {
			t.Helper()
			testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				_, err := tx.Exec(sql, args...)
				return err
			}))
		}
		broken := func() string {
			t.Helper()
			reports, err := svc.Admin.VerifyAudit(t.Context(), "")
			testkit.Must(t, err)
			var why []string
			for _, r := range reports {
				for _, b := range r.Breaks {
					why = append(why, r.TenantID+": "+b.Why)
				}
			}
			return strings.Join(why, "\n")
		}
		k.Token(testkit.As(actor.Admin))
		made := testkit.Request{Method: "POST", Path: "/v1/tenants", Bearer: k.Service(),
			Body: map[string]any{"name": "East", "slug": "east"}}
		if r := k.Call(made); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		silenceOthers(t, k)
		for _, when := range []string{"waits for the sealer", "is sealed"} {
			if why := broken(); why != "" {
				t.Fatalf("before anything was done, while a new tenant %s: %s", when, why)
			}
			testkit.Must(t, svc.Admin.SealAudit(t.Context()))
		}

		exec("INSERT INTO audit (tenant_id, id, at, actor_user_id, action, entity_type, outcome, batch, code) "+
			"SELECT tenant_id, '0190ffff-0000-7000-8000-00000000ffff', at, actor_user_id, 'orders.delete', 'orders', 'ok', batch, "+
			"'"+strings.Repeat("A", 22)+"' "+
			"FROM audit WHERE tenant_id = $1 AND action = 'tenant.created'", demo.North)
		if why := broken(); !strings.Contains(why, demo.North+": the row was not written by the server") {
			t.Errorf("a forged row: %q", why)
		}
		exec("DELETE FROM audit WHERE tenant_id = $1 AND action = 'orders.delete'", demo.North)

		exec("DELETE FROM audit WHERE tenant_id = $1", demo.South)
		exec("DELETE FROM audit_seals WHERE tenant_id = $1", demo.South)
		exec("DELETE FROM audit_heads WHERE tenant_id = $1", demo.South)
		if why := broken(); !strings.HasPrefix(why, demo.South+": the chain is gone") {
			t.Errorf("a log deleted with its head: %q", why)
		}
		switched := testkit.Request{Method: "POST", Path: "/auth/v1/tenant", Bearer: k.Token("both@both.example"),
			Body: map[string]any{"tenant_id": demo.South}}
		if r := k.Call(switched); r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if err := svc.Admin.SealAudit(t.Context()); err == nil {
			t.Error("another chain begins in the place of the one that is gone")
		}
		if why := broken(); !strings.HasPrefix(why, demo.South+": the chain is gone") {
			t.Errorf("and was written to since: %q", why)
		}
	})
}
