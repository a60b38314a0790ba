package store_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// judged are effects that set fields by Go values: what they set is read back.
func judged() store.Effects {
	return store.Effects{
		Before: map[string]store.Effect{"orders": func(_ *store.Tx, changes []store.Change) error {
			for i, c := range changes {
				if c.After == nil {
					continue
				}
				if c.After["notes"] == "refuse" {
					return fault.New(fault.Invalid, "HF900", "no").With(fmt.Sprintf("row %d", i+1), "")
				}
				if c.After["notes"] == "unset" {
					c.After["type"] = nil
				}
				c.After["total_value"] = int64(7)
			}
			return nil
		}},
		After: map[string]store.Effect{"orders": func(tx *store.Tx, changes []store.Change) error {
			tx.Store.Count(tx.Tx, tx.TenantID, map[string]int64{"seen": int64(len(changes))})
			return nil
		}},
	}
}

// A thousand rows in bulk are the same records, counters and audit rows as by
// the verb for one.
func TestBulk_asByOne(t *testing.T) {
	eachWith(t, catalog.Default(), judged(), func(t *testing.T, k *kit) {
		orders, _ := k.cat.Get("orders")
		made := func() []store.Row {
			return []store.Row{{"type": "outbound", "source": "shop"}, {"type": "inbound", "notes": "n", "external_ref": "R"},
				{"type": "outbound", "status": "draft", "priority": int64(2)}}
		}
		north, south := as(north, actor.Service), as(south, actor.Service)
		k.write(north, func(tx *db.Tx) error {
			for _, row := range made() {
				if _, err := k.s.In(tx, north).InsertRows(orders.Name, []store.Row{row}); err != nil {
					return err
				}
			}
			return nil
		})
		k.write(south, func(tx *db.Tx) error {
			b := k.s.In(tx, south).Bulk(orders)
			defer b.Close()
			return b.Insert(made())
		})
		k.alike("orders", north, south)
		k.write(north, func(tx *db.Tx) error {
			rows, err := k.s.In(tx, north).Rows(orders.Name, "")
			for _, row := range rows {
				if err := k.s.In(tx, north).UpdateRows(orders.Name, []string{row["id"].(string)},
					store.Row{"status": "confirmed", "notes": "n"}); err != nil {
					return err
				}
			}
			return err
		})
		k.write(south, func(tx *db.Tx) error {
			changes, err := k.changes(tx, south, orders, store.Row{"status": "confirmed", "notes": "n"})
			if err != nil {
				return err
			}
			b := k.s.In(tx, south).Bulk(orders)
			defer b.Close()
			changed, err := b.Update(changes)
			if len(changed) != 3 {
				k.Errorf("%d changed", len(changed))
			}
			return err
		})
		k.alike("orders", north, south)
	})
}

// What a single write refuses is refused in bulk, by the number of its row, and
// nothing of the batch stays.
func TestBulk_refused(t *testing.T) {
	eachWith(t, catalog.Default(), judged(), func(t *testing.T, k *kit) {
		orders, _ := k.cat.Get("orders")
		a := as(north, actor.Service)
		for _, c := range []struct {
			what          string
			row           store.Row
			code, details string
		}{
			{"a state in which no record begins", store.Row{"type": "outbound", "status": "completed"}, "HF001",
				"row 2, a new record starts as"},
			{"a required field that is left without a value", store.Row{"notes": "unset"}, "23502", "row 2"},
			{"what the domain refuses", store.Row{"type": "outbound", "notes": "refuse"}, "HF900", "row 2"},
			{"another tenant's row", store.Row{"type": "outbound", "tenant_id": south}, "42501", ""},
			{"a number like those of the sequence", store.Row{"type": "outbound", "order_no": "SO-2026-1"}, "22023", ""},
		} {
			err := k.d.Write(context.Background(), store.Scope(a), func(tx *db.Tx) error {
				b := k.s.In(tx, a).Bulk(orders)
				defer b.Close()
				return b.Insert([]store.Row{{"type": "outbound"}, c.row})
			})
			if f := fault.As(err); err == nil || f.Code != c.code || !strings.HasPrefix(f.Details, c.details) {
				t.Errorf("%s: %v (%+v)", c.what, err, f)
			}
		}
		k.write(a, func(tx *db.Tx) error {
			if rows, err := k.s.In(tx, a).Rows(orders.Name, ""); err != nil || len(rows) > 0 {
				t.Errorf("%d rows stay, %v", len(rows), err)
			}
			_, err := k.s.In(tx, a).InsertRows(orders.Name, []store.Row{{"type": "outbound", "status": "draft"}})
			return err
		})
		err := k.d.Write(context.Background(), store.Scope(a), func(tx *db.Tx) error {
			changes, err := k.changes(tx, a, orders, store.Row{"status": "completed"})
			if err == nil {
				_, err = k.s.In(tx, a).Bulk(orders).Update(changes)
			}
			return err
		})
		if !fault.HasCode(err, "HF001") {
			t.Errorf("a move that the states do not have: %v", err)
		}
		k.want(k.get(a, "orders?select=status,version"), `[{"status":"draft","version":1}]`)
	})
}

// A record gets back what it held, with its former version, whatever state that
// was; a touched one only when it was last changed.
func TestBulk_restore(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		orders, _ := k.cat.Get("orders")
		a := as(north, actor.Service)
		k.must(a, "POST", "orders", "", `{"type":"outbound","status":"draft","notes":"first"}`)
		before := k.get(a, "orders")
		k.must(a, "PATCH", "orders?id=not.is.null", "", `{"status":"cancelled","notes":"second"}`)
		k.write(a, func(tx *db.Tx) error {
			changes, err := k.changes(tx, a, orders, store.Row{"status": "draft", "notes": "first"})
			if err != nil {
				return err
			}
			b := k.s.In(tx, a).Bulk(orders)
			defer b.Close()
			_, err = b.Restore(changes, func(string) store.Row {
				return store.Row{"version": int64(1), "updated_at": "2026-03-01T12:00:00.000000Z"}
			})
			return err
		})
		k.want(k.get(a, "orders"), before)
	})
}

func (k *kit) write(a actor.Actor, fn func(*db.Tx) error) {
	k.Helper()
	if err := k.d.Write(context.Background(), store.Scope(a), fn); err != nil {
		k.Fatal(err)
	}
}

// changes sets the same fields on every record of a resource.
func (k *kit) changes(tx *db.Tx, a actor.Actor, r *catalog.Resource, fields store.Row) ([]store.Change, error) {
	rows, err := k.s.In(tx, a).Rows(r.Name, "")
	var out []store.Change
	for _, row := range rows {
		after := store.Row{}
		for name, v := range row {
			after[name] = v
		}
		for name, v := range fields {
			after[name] = v
		}
		out = append(out, store.Change{Resource: r, Op: store.Update, Before: row, After: after})
	}
	return out, err
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// alike compares two tenants' records, their audit log and their counters.
func (k *kit) alike(resource string, one, other actor.Actor) {
	k.Helper()
	dump := func(a actor.Actor) (out []string) {
		for _, path := range []string{resource + "?order=id", "audit?order=id&entity_type=eq." + resource} {
			out = append(out, strings.Split(uuids.ReplaceAllString(k.get(a, path), "id"), "},{")...)
		}
		counts := map[string]int64{}
		k.write(a, func(tx *db.Tx) error {
			k.s.Counts(tx, a.TenantID, counts)
			return tx.Flush()
		})
		return append(out, fmt.Sprint(counts))
	}
	if d := cmp.Diff(dump(one), dump(other)); d != "" {
		k.Error(d)
	}
}

// Records that are whole already keep their ids, numbers, states and versions;
// no effect touches them; what is made afterwards is numbered behind them, and
// counters know them.
func TestBulk_loads(t *testing.T) {
	eachWith(t, catalog.Default(), judged(), func(t *testing.T, k *kit) {
		orders, _ := k.cat.Get("orders")
		who := as(north, actor.Service)
		const id, at = "0190a000-0000-7000-8000-00000000abcd", "2026-01-02T03:04:05.000000Z"
		year := k.s.Now().Year()
		k.write(who, func(tx *db.Tx) error {
			b := k.s.In(tx, who).Bulk(orders)
			defer b.Close()
			return b.Load([]store.Row{{"id": id, "tenant_id": north, "order_no": fmt.Sprintf("SO-%04d-000041", year),
				"type": "outbound", "status": "completed",
				"notes": "refuse", "created_at": at, "updated_at": at, "version": int64(9)}})
		})
		k.write(who, func(tx *db.Tx) error {
			_, err := k.s.In(tx, who).InsertRows(orders.Name, []store.Row{{"type": "outbound"}})
			return err
		})
		var got []string
		k.write(who, func(tx *db.Tx) error {
			rows, err := k.s.In(tx, who).Rows(orders.Name, "")
			got = nil
			for _, r := range rows {
				got = append(got, fmt.Sprint(r["order_no"], " ", r["status"], " ", r["total_value"], " ", r["priority"], " ",
					r["version"]))
			}
			return err
		})
		slices.Sort(got)
		want := []string{fmt.Sprintf("SO-%04d-000041 completed 0 3 9", year), fmt.Sprintf("SO-%04d-000042 draft 7 3 1", year)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
