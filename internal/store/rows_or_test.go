package store_test

import (
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/store"
)

// A condition that is an OR reads rows of the caller's tenant only. The
// transaction's scope is open to all tenants, so that row level security does
// not hide on PostgreSQL what the statement reads.
func TestRowsTx_orStaysInTenant(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for _, tenant := range []string{north, south} {
			a := as(tenant, actor.Service)
			k.write(a, func(tx *db.Tx) error {
				_, err := k.s.In(tx, a).InsertRows("zones", []store.Row{{"code": "OR-1", "name": "one"},
					{"code": "OR-2", "name": "two"}})
				return err
			})
		}

		err := k.d.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			rows, err := k.s.In(tx, as(north, actor.Service)).Rows("zones",
				"code = $2 OR code = $3 ORDER BY code DESC LIMIT 10", "OR-1", "OR-2")
			if err != nil {
				return err
			}
			if len(rows) != 2 || rows[0].Text("code") != "OR-2" {
				t.Errorf("%d rows are read: %v", len(rows), rows)
			}
			for _, row := range rows {
				if row.Text("tenant_id") != north {
					t.Errorf("a row of tenant %s is read", row.Text("tenant_id"))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
