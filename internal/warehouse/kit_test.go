package warehouse_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/warehouse"
)

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
)

// kit is a store with the warehouse's effects on one engine.
type kit struct {
	testing.TB
	d   *db.DB
	s   *store.Store
	now time.Time
	as  actor.Actor
}

// each runs f on both engines, on a migrated database of its own.
func each(t *testing.T, f func(k *kit)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) { f(checkReleased(t, o)) })
}

func checkReleased(t testing.TB, o db.Options) *kit {
	t.Helper()
	if o.URL == "" {
		sent.Gather(&o)
	}
	d := dbtest.Open(t, o)
	k := &kit{TB: t, d: d, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), as: actor.Actor{Role: actor.Service}}
	k.s = store.New(d, catalog.Default(), warehouse.Watch{}.Effects(), func() time.Time { return k.now })
	for i, id := range []string{north, south} {
		k.as.TenantID = id
		k.add("tenants", store.Row{"id": id, "name": "T", "slug": fmt.Sprintf("t%d", i)})
	}
	k.as.TenantID = north
	return k
}

// tx runs f in one transaction of the kit's actor.
func (k *kit) tx(f func(tx *db.Tx) error) error {
	return k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, f)
}

func (k *kit) resource(name string) *catalog.Resource {
	k.Helper()
	r, ok := k.s.Catalog().Get(name)
	if !ok {
		k.Fatalf("no resource %s", name)
	}
	return r
}

// try inserts rows and returns their ids.
func (k *kit) try(name string, rows ...store.Row) (ids []string, err error) {
	err = k.tx(func(tx *db.Tx) error {
		stored, err := k.s.In(tx, k.as).InsertRows(k.resource(name).Name, rows)
		ids = nil
		for _, r := range stored {
			ids = append(ids, r["id"].(string))
		}
		return err
	})
	return ids, err
}

// add inserts one row and returns its id.
func (k *kit) add(name string, row store.Row) string {
	k.Helper()
	ids, err := k.try(name, row)
	if err != nil {
		k.Fatalf("insert %s %v: %v", name, row, err)
	}
	return ids[0]
}

func (k *kit) change(name, id string, set store.Row) error {
	return k.tx(func(tx *db.Tx) error {
		err := k.s.In(tx, k.as).UpdateRows(k.resource(name).Name, []string{id}, set)
		return err
	})
}

func (k *kit) set(name, id string, set store.Row) {
	k.Helper()
	if err := k.change(name, id, set); err != nil {
		k.Fatalf("update %s %v: %v", name, set, err)
	}
}

// row reads one record back.
func (k *kit) row(name, id string) store.Row {
	k.Helper()
	var rows []store.Row
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) (err error) {
		rows, err = k.s.In(tx, k.as).Rows(k.resource(name).Name, "id = $2", id)
		return err
	})
	if err != nil || len(rows) != 1 {
		k.Fatalf("read %s %s: %d rows, %v", name, id, len(rows), err)
	}
	return rows[0]
}

// is compares a field, written as text, with what is wanted.
func (k *kit) is(name, id, field, want string) {
	k.Helper()
	if got := show(k.row(name, id)[field]); got != want {
		k.Errorf("%s.%s = %s, want %s", name, field, got, want)
	}
}

func show(v any) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprint(v)
}

// refused checks that an error carries a code.
func (k *kit) refused(err error, code string) {
	k.Helper()
	if !fault.HasCode(err, code) {
		k.Errorf("err = %v, want code %s", err, code)
	}
}

// counts reads the tenant's counters.
func (k *kit) counts() map[string]int64 {
	k.Helper()
	got := map[string]int64{}
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		k.s.Counts(tx, k.as.TenantID, got)
		return tx.Flush()
	})
	if err != nil {
		k.Fatal(err)
	}
	return got
}

func d(s string) decimal.Dec {
	v, err := decimal.Parse(s)
	if err != nil {
		panic(err)
	}
	return v
}

// remove deletes one record.
func (k *kit) remove(name, id string) {
	k.Helper()
	err := k.tx(func(tx *db.Tx) error {
		err := k.s.In(tx, k.as).DeleteRows(k.resource(name).Name, []string{id})
		return err
	})
	if err != nil {
		k.Fatalf("delete %s: %v", name, err)
	}
}

// same compares two texts.
func (k *kit) same(want, got string) {
	k.Helper()
	if got != want {
		k.Errorf("got %s, want %s", got, want)
	}
}

// barcodes lists what stands for an item, by value.
func (k *kit) barcodes(item string) string {
	k.Helper()
	var list []string
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		rows, err := k.s.In(tx, k.as).Rows(k.resource("item_barcodes").Name, "item_id = $2 ORDER BY value", item)
		for _, r := range rows {
			list = append(list, r["value"].(string)+" "+r["uom"].(string))
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return strings.Join(list, ", ")
}
