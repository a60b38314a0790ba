package event_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/store"
)

// wall is a database with a tenant, and a clock that tests set.
type wall struct {
	t   *testing.T
	d   *db.DB
	now time.Time
	out *event.Outbox
	n   *event.Notifier
	st  *store.Store
}

func eachWall(t *testing.T, f func(t *testing.T, k *wall)) {
	each(t, func(t *testing.T, d *db.DB) {
		k := &wall{t: t, d: d, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
		clock := func() time.Time { return k.now }
		k.out = event.New(clock)
		k.n = event.NewNotifier(d, k.out)
		k.st = store.New(d, catalog.Default(),
			store.Effects{After: map[string]store.Effect{"actions": func(tx *store.Tx, changes []store.Change) error {
				for _, c := range changes {
					if err := k.out.EmitAll(tx.Tx, event.FromChange(c.Resource, c.Before, c.After)); err != nil {
						return err
					}
				}
				return nil
			}}}, clock)
		k.write("INSERT INTO tenants (id, name, slug, plan, status, timezone, currency, jurisdictions, join_policy, email_domains, created_at, "+
			"updated_at, version) VALUES ($1, 'N', 'n', 'standard', 'active', 'UTC', 'EUR', '[]', 'invite', '[]', $2, $2, 1)",
			north, k.now)
		f(t, k)
	})
}

func (k *wall) write(sql string, args ...any) {
	k.t.Helper()
	if err := k.d.Write(context.Background(), db.Scope{All: true},
		func(tx *db.Tx) error { _, err := tx.Exec(sql, args...); return err }); err != nil {
		k.t.Fatal(err)
	}
}

// action writes one that is due so long from now, past the effects of a change.
func (k *wall) action(no string, due time.Duration) {
	k.write("INSERT INTO actions (tenant_id, id, action_no, title, type, source, priority, status, due_at, evidence, created_at, updated_at, version) "+
		"VALUES ($1, $2, $3, 'Fix', 'corrective', 'manual', 'high', 'open', $4, '[]', $5, $5, 1)",
		north, uuid.NewString(), no, k.now.Add(due), k.now)
}

// look makes a node look twice, and returns what of the list was announced so
// far, in the order of the list, each as often as it was.
func (k *wall) look(typ, field string, list ...string) string {
	k.t.Helper()
	for range 2 {
		for _, f := range []func(context.Context) error{k.n.Overdue, k.n.Expiring} {
			if err := f(context.Background()); err != nil {
				k.t.Fatal(err)
			}
		}
	}
	told := map[string]int{}
	if err := k.d.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query("SELECT data FROM outbox WHERE type = $1", []any{typ}, func(r *db.Row) error {
			for _, name := range list {
				if strings.Contains(r.Text(0), `"`+field+`":"`+name+`"`) {
					told[name]++
				}
			}
			return nil
		})
	}); err != nil {
		k.t.Fatal(err)
	}
	var out []string
	for _, name := range list {
		for range told[name] {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

// A node whose clock ran a day ahead announces early what falls due that day.
// Set right again, all nodes announce what comes, and that not again.
func TestOverdueAfterAClockAhead(t *testing.T) {
	eachWall(t, func(t *testing.T, k *wall) {
		names := []string{"soon", "evening", "later", "new"}
		k.look("action.overdue", "action_no")
		k.action("soon", 10*time.Minute)
		k.action("evening", 6*time.Hour)
		k.action("later", 30*time.Hour)
		for i, step := range []struct {
			after time.Duration
			want  string
		}{
			{11 * time.Minute, "soon"},
			{24 * time.Hour, "soon evening"},
			{-24*time.Hour + time.Minute, "soon evening"},
			{time.Hour, "soon evening new"},
			{8 * time.Hour, "soon evening new"},
			{24 * time.Hour, "soon evening later new"},
		} {
			k.now = k.now.Add(step.after)
			got := k.look("action.overdue", "action_no", names...)
			if got != step.want {
				t.Errorf("step %d: announced %q, want %q", i, got, step.want)
			}
			if i == 2 {
				k.action("new", 30*time.Minute)
			}
		}
	})
}

// An action whose transaction ends after its due time is announced; one that
// was announced when it was written, with a due time in the past, is not again.
func TestOverdueWhenWritten(t *testing.T) {
	eachWall(t, func(t *testing.T, k *wall) {
		names := []string{"A-LATE", "A-PAST"}
		k.look("action.overdue", "action_no")
		k.now = k.now.Add(time.Minute)
		k.look("action.overdue", "action_no")
		if err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
			_, err := k.st.In(tx, actor.Actor{UserID: uuid.NewString(), TenantID: north,
				Role: actor.Admin}).InsertRows("actions", []store.Row{
				{"action_no": "A-PAST", "title": "Fix", "type": "corrective", "source": "manual", "status": "open",
					"evidence": json.RawMessage("[]"),
					"priority": "high", "due_at": k.now.Add(-time.Second).Format(db.TimeLayout)}})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		k.action("A-LATE", -30*time.Second)
		for range 3 {
			k.now = k.now.Add(30 * time.Second)
			if got := k.look("action.overdue", "action_no", names...); got != "A-LATE A-PAST" {
				t.Errorf("announced %q, want each once", got)
			}
		}
	})
}

// Lots, whose days come once a day, follow a clock that is set right, too.
func TestExpiringAfterAClockAhead(t *testing.T) {
	eachWall(t, func(t *testing.T, k *wall) {
		item := uuid.NewString()
		k.write("INSERT INTO items (tenant_id, id, sku, name, base_uom, barcodes, tracking, has_expiry, unit_cost, capacity_units, reorder_point, "+
			"storage_class, status, on_hand, available, stock_value, low_stock, created_at, updated_at, version) "+
			"VALUES ($1, $2, 'A', 'A', 'each', '[]', 'lot', TRUE, 0, 0, 0, 'ambient', 'active', 0, 0, 0, FALSE, $3, $3, 1)",
			north, item, k.now)
		begin := k.now
		lot := func(no string, days int) {
			k.write("INSERT INTO lots (tenant_id, id, item_id, lot_no, expires_on, short_dated, status, created_at, updated_at, version) "+
				"VALUES ($1, $2, $3, $4, $5, FALSE, "+
				"'released', $6, $6, 1)",
				north, uuid.NewString(), item, no, begin.AddDate(0, 0, days).Format(time.DateOnly), k.now)
		}
		k.look("lot.expiring", "lot_no")
		lot("A", 35)
		for _, step := range []struct {
			day  int
			want string
		}{{10, "A"}, {0, "A"}, {1, "A"}, {4, "A"}, {5, "A B"}, {6, "A B"}} {
			k.now = begin.AddDate(0, 0, step.day).Add(time.Minute)
			if got := k.look("lot.expiring", "lot_no", "A", "B"); got != step.want {
				t.Errorf("on day %d: announced %q, want %q", step.day, got, step.want)
			}
			if step.day == 0 {
				lot("B", 35)
			}
		}
	})
}
