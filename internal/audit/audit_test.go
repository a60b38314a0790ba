package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/testkit/dbtest"
)

const (
	tenant = "0190a000-0000-7000-8000-000000000001"
	anna   = "0190a000-0000-7000-8000-0000000000a1"
	record = "0190a000-0000-7000-8000-0000000000b1"
)

// An entry says who did it, but not of what its maker left unsigned, written
// alone or among many.
func TestWrite(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	by := actor.Actor{UserID: anna, KeyID: "key", SessionID: record, Address: "192.0.2.1", RequestID: "r1"}
	signed := audit.Entry{Tenant: tenant, At: at, By: by, Action: "zones.update", EntityType: "zones", EntityID: record,
		Before: `{"a":1}`, After: `{"a":2}`, Details: map[string]any{"n": "<1>"}}
	unsigned := signed
	unsigned.Anonymous = true
	bare := audit.Entry{At: at, Action: "login.refused", Outcome: "refused", Details: func() {}}
	want := []string{
		tenant + "|" + anna + "|key|" + record + "|zones.update|zones|" + record + `|ok|{"a":1}|{"a":2}|{"n":"<1>"}|192.0.2.1|r1`,
		tenant + "||key||zones.update|zones|" + record + `|ok|{"a":1}|{"a":2}|{"n":"<1>"}||`,
		db.NoTenant + `||||login.refused|||refused|||{}||`,
	}
	for name, write := range map[string]func(tx *db.Tx) error{
		"alone": func(tx *db.Tx) error {
			for _, e := range []audit.Entry{signed, unsigned, bare} {
				audit.Write(tx, e)
			}
			return nil
		},
		"among many": func(tx *db.Tx) error {
			list := []audit.Entry{signed, unsigned, bare}
			for range 20 {
				list = append(list, bare)
			}
			return audit.WriteAll(tx, list)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, o db.Options) {
				d := dbtest.Open(t, o)
				if err := d.Write(context.Background(), db.Scope{All: true}, write); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, rows(t, d)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// rows are the first three of the log, in its order.
func rows(t *testing.T, d *db.DB) (out []string) {
	t.Helper()
	err := d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT tenant_id, actor_user_id, key_id, session_id, action, entity_type, entity_id, outcome, before, after, details, address, request_id "+
			"FROM audit ORDER BY id LIMIT 3", nil, func(r *db.Row) error {
			line := r.Text(0)
			for i := 1; i < 13; i++ {
				line += "|" + r.Text(i)
			}
			out = append(out, line)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// BenchmarkCode is what a row's authentication adds to writing it.
func BenchmarkCode(b *testing.B) {
	e := audit.Entry{Tenant: tenant, At: time.Now(), By: actor.Actor{UserID: anna, SessionID: record,
		Address: "192.0.2.1", RequestID: record},
		Action: "orders.update", EntityType: "orders", EntityID: record,
		Before: `{"status":"draft","notes":null,"version":1}`,
		After:  `{"status":"confirmed","notes":"call before delivery","version":2}`}
	for _, c := range []struct {
		name string
		key  []byte
	}{{"without", nil}, {"with", make([]byte, 32)}} {
		b.Run(c.name, func(b *testing.B) {
			d := dbtest.Open(b, dbtest.Options(b, db.SQLite))
			audit.KeepKey(d, c.key)
			b.ReportAllocs()
			err := d.Write(b.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				b.ResetTimer()
				for range b.N {
					if err := audit.WriteAll(tx, []audit.Entry{e}); err != nil {
						return err
					}
				}
				b.StopTimer()
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
