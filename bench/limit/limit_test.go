package limit

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/bench/data"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A limit must do the work it stands for, or ratios mean nothing: full lists,
// well-formed, and rows that are there afterwards.
func TestLimitsDoTheWork(t *testing.T) {
	for name, o := range map[string]Options{"sqlite": {Dir: t.TempDir()}, "postgresql": {URL: pgtest.DSN(t)}} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			d, err := db.Open(ctx, db.Options{URL: o.URL, Dir: o.Dir, Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			tn := data.Sized(1, 4000)
			if err := data.Write(ctx, data.Target{DB: d}, tn, time.Now()); err != nil {
				t.Fatal(err)
			}
			o.Tenant, o.Body = tn.ID, filepath.Join(t.TempDir(), "body")
			if err := os.WriteFile(o.Body, []byte("ready"), 0o600); err != nil {
				t.Fatal(err)
			}
			h, err := Handler(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			answer := func(method, path, body string, status int) []byte {
				t.Helper()
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
				if w.Code != status {
					t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
				}
				return w.Body.Bytes()
			}
			if got := string(answer("GET", "/hit", "", http.StatusOK)); got != "ready" {
				t.Errorf("hit: %s", got)
			}
			checkSnapshot(t, answer("GET", "/snapshot", "", http.StatusOK))
			var page []map[string]any
			if err := json.Unmarshal(answer("GET", "/orders", "", http.StatusOK), &page); err != nil || len(page) != 50 || len(page[0]) != 10 {
				t.Errorf("orders: %d rows, %v", len(page), err)
			}
			first := page[0]["id"]
			if err := json.Unmarshal(answer("GET", "/order?id="+first.(string), "", http.StatusOK), &page); err != nil || len(page) != 1 || page[0]["id"] != first {
				t.Errorf("one order: %v, %v", page, err)
			}
			page = nil
			if err := json.Unmarshal(answer("GET", "/orders?offset=1", "", http.StatusOK), &page); err != nil || len(page) == 0 || page[0]["id"] == first {
				t.Errorf("from the second order on: %d rows, %v", len(page), err)
			}
			answer("POST", "/many", `[{"type":"outbound","priority":2,"party_name":"A","carrier":"OWN"},{"type":"inbound","priority":1,"party_name":"B","carrier":"X"}]`,
				http.StatusCreated)
			for _, path := range []string{"/orders", "/same"} {
				answer("POST", path, `{"type":"outbound","priority":2,"party_name":"A","carrier":"OWN"}`, http.StatusCreated)
			}
			err = d.Read(ctx, db.Scope{Tenant: tn.ID}, func(tx *db.Tx) error {
				return tx.One("SELECT COUNT(*) FROM orders WHERE tenant_id = $1 AND status = 'draft'", []any{tn.ID}, func(r *db.Row) error {
					if r.Int(0) != 4 {
						t.Errorf("%d orders were written", r.Int(0))
					}
					return nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func checkSnapshot(t *testing.T, raw []byte) {
	t.Helper()
	var answer struct {
		Zones, Inventory, Shipments, Drivers, Safety, Import struct{ Items []map[string]any }
		PickLists                                            struct{ Items []map[string]any } `json:"pick_lists"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	for name, n := range map[string]int{"zones": len(answer.Zones.Items), "items": len(answer.Inventory.Items),
		"shipments": len(answer.Shipments.Items), "drivers": len(answer.Drivers.Items)} {
		if n != 51 {
			t.Errorf("%d %s", n, name)
		}
	}
	if len(answer.Safety.Items) != 10 || len(answer.Import.Items) != 10 || len(answer.PickLists.Items) == 0 {
		t.Errorf("%d incidents, %d jobs, %d pick lists", len(answer.Safety.Items), len(answer.Import.Items), len(answer.PickLists.Items))
	}
}

// The bare reader reads what the import case's file holds.
func TestReadItems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "items.csv")
	text := strings.Join(ItemHeader, ",") + "\nA-1,\"Item, one\",First,Cat,EA,1.25,2.5,0.125,10,3,A,active\nA-2,Two,Second,Cat,EA,1,2,0,0,1,B,active\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o      Options
		byCopy bool
	}{"sqlite": {Options{Dir: t.TempDir()}, false}, "postgresql": {Options{URL: pgtest.DSN(t)}, false}, "copy": {Options{URL: pgtest.DSN(t)}, true}} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			d, err := db.Open(ctx, db.Options{URL: c.o.URL, Dir: c.o.Dir, Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			c.o.Tenant = data.Number(1)
			if err := data.WriteTenant(ctx, d, data.Tenant{ID: c.o.Tenant, Name: "One"}); err != nil {
				t.Fatal(err)
			}
			if _, rows, err := ReadItems(ctx, c.o, file, c.byCopy); err != nil || rows != 2 {
				t.Fatalf("%d rows, %v", rows, err)
			}
			err = d.Read(ctx, db.Scope{Tenant: c.o.Tenant}, func(tx *db.Tx) error {
				return tx.One("SELECT name, unit_cost, weight_kg, lead_time_days, low_stock FROM items WHERE tenant_id = $1 AND sku = 'A-1'", []any{c.o.Tenant},
					func(r *db.Row) error {
						if r.Text(0) != "Item, one" || r.Dec(1).String() != "1.25" || r.Dec(2).String() != "0.125" || r.Int(3) != 3 || !r.Bool(4) {
							t.Errorf("%s %s %s %d %v", r.Text(0), r.Dec(1), r.Dec(2), r.Int(3), r.Bool(4))
						}
						return nil
					})
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
