package demo

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/verify"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// moments are days and hours that could upset a calendar: a plain Wednesday, a
// Sunday, just after midnight in Berlin, the change to summer time, a leap day
// and New Year.
var moments = []time.Time{
	time.Date(2026, 11, 18, 14, 30, 0, 0, time.UTC),
	time.Date(2026, 11, 22, 9, 0, 0, 123456789, time.UTC),
	time.Date(2026, 6, 30, 22, 0, 30, 0, time.UTC),
	time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC),
	time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC),
	time.Date(2027, 1, 1, 6, 0, 0, 0, time.UTC),
}

func made(t *testing.T, p profile, now time.Time) records {
	t.Helper()
	rows, err := buildTenant(p, now)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// eachTenant runs f on both tenants at every moment.
func eachTenant(t *testing.T, f func(t *testing.T, p profile, now time.Time, rows records)) {
	for _, now := range moments {
		for _, p := range []profile{northProfile(), southProfile()} {
			t.Run(p.slug+now.Format(" Mon 2006-01-02 15:04"), func(t *testing.T) { f(t, p, now, made(t, p, now)) })
		}
	}
}

// Every record must be one that the catalog admits, in the form the store
// keeps it.
func TestRecordsAreValid(t *testing.T) {
	st := store.New(nil, catalog.Default(), store.Effects{}, time.Now)
	eachTenant(t, func(t *testing.T, p profile, _ time.Time, rows records) {
		for _, name := range append(resources[:], programmeResources[:]...) {
			r, ok := st.Catalog().Get(name)
			idle := name == "routes" && p.id == South // two trucks: on some days nothing stands ready for them
			if !ok || len(rows[name]) == 0 && !idle {
				t.Fatalf("no %s", name)
			}
			for _, row := range rows[name] {
				got, errs := st.Validate(r, row, store.Insert)
				if len(errs) > 0 {
					t.Fatalf("%s %v: %v", name, row, errs)
				}
				for k, v := range row {
					if fmt.Sprint(got[k]) != fmt.Sprint(v) {
						t.Fatalf("%s.%s is %v, the store would keep %v", name, k, v, got[k])
					}
				}
			}
		}
	})
}

// What has happened lies in the past; every record begins before it changes.
func TestNothingLiesInTheFuture(t *testing.T) {
	past := map[string]bool{"created_at": true, "updated_at": true, "occurred_at": true, "reported_at": true,
		"closed_at": true, "completed_at": true,
		"dispatched_at": true,
		"started_at":    true, "picked_at": true, "released_at": true, "verified_at": true, "last_seen_at": true,
		"applied_at": true,
		"joined_at":  true, "last_counted_at": true}
	eachTenant(t, func(t *testing.T, _ profile, now time.Time, rows records) {
		for name, list := range rows {
			for _, row := range list {
				for f, v := range row {
					if s, ok := v.(string); ok && past[f] && s > formatMoment(now) {
						t.Errorf("%s.%s = %s, now is %s", name, f, s, formatMoment(now))
					}
				}
				if c, ok := row["created_at"].(string); ok && row["updated_at"].(string) < c {
					t.Errorf("%s changed %s before it was made %s: %v", name, row["updated_at"], c, row)
				}
			}
		}
	})
}

// The ledger read in the order of time never takes what is not there, in the sample and
// in the whole warehouses.
func TestLedgerNeverGoesBelowZero(t *testing.T) {
	check := func(t *testing.T, _ profile, _ time.Time, rows records) {
		moves := append([]store.Row{}, rows["stock_movements"]...)
		sort.SliceStable(moves, func(i, j int) bool { return moves[i]["occurred_at"].(string) < moves[j]["occurred_at"].(string) })
		sum := map[string]decimal.Dec{}
		for _, m := range moves {
			key := func(zone, status string) string { return fmt.Sprint(m[zone], m["item_id"], m["lot_id"], m[status]) }
			q := m["quantity"].(decimal.Dec)
			if m["from_zone_id"] != nil {
				k := key("from_zone_id", "from_status")
				if sum[k] -= q; sum[k] < 0 {
					t.Fatalf("%s of %s at %s leaves %s", m["type"], m["item_id"], m["occurred_at"], sum[k])
				}
			}
			if m["to_zone_id"] != nil {
				sum[key("to_zone_id", "to_status")] += q
			}
		}
	}
	t.Run("whole", func(t *testing.T) { eachWhole(t, check) })
	t.Run("sample", func(t *testing.T) { eachTenant(t, check) })
}

// The same day gives the same records, whatever the hour.
func TestSameDaySameRecords(t *testing.T) {
	a, b := made(t, northProfile(), moments[0]), made(t, northProfile(), moments[0].Add(3*time.Hour))
	for name := range a {
		if len(a[name]) != len(b[name]) {
			t.Fatalf("%s: %d and %d", name, len(a[name]), len(b[name]))
		}
		for i := range a[name] {
			for _, f := range []string{"id", "status", "quantity", "order_no", "shipment_no", "title", "zone_id", "item_id"} {
				if a[name][i][f] != b[name][i][f] {
					t.Fatalf("%s %d: %s = %v and %v", name, i, f, a[name][i][f], b[name][i][f])
				}
			}
		}
	}
	if diff := cmp.Diff(a, made(t, northProfile(), moments[0])); diff != "" {
		t.Errorf("the same moment gives different records: %s", diff)
	}
}

func count(rows []store.Row, field string, values ...string) int {
	n := 0
	for _, r := range rows {
		for _, v := range values {
			if fmt.Sprint(r[field]) == v {
				n++
			}
		}
	}
	return n
}

// A visitor finds what each page is about, whenever he comes.
func TestNorthHasEverythingToShow(t *testing.T) {
	for _, now := range moments {
		rows := made(t, northProfile(), now)
		day := func(s any, back int) bool { return s.(string) > formatMoment(now.AddDate(0, 0, -back)) }
		overfull, near, low, critical := 0, 0, 0, 0
		for _, z := range rows["zones"] {
			if u, ok := z["utilization"].(decimal.Dec); ok {
				switch {
				case u > decimal.FromInt(100):
					overfull++
				case u > decimal.FromInt(89):
					near++
				}
			}
		}
		for _, it := range rows["items"] {
			if it["low_stock"] == true {
				low++
				if 2*it["available"].(decimal.Dec) < it["reorder_point"].(decimal.Dec) {
					critical++
				}
			}
		}
		harm, close90, dock3, onTime, due := 0, 0, map[bool]int{}, 0, 0
		for _, in := range rows["incidents"] {
			if k := in["kind"]; k == "injury" || k == "illness" {
				harm++
			} else if k == "near_miss" {
				close90++
			}
			if strings.Contains(in["title"].(string), "dock 3") {
				dock3[day(in["occurred_at"], 30)]++
			}
		}
		for _, r := range rows["checklist_runs"] {
			if r["status"] != "scheduled" {
				due++
				if r["on_time"] == true {
					onTime++
				}
			}
		}
		overdue := 0
		for _, a := range rows["actions"] {
			if s := a["status"].(string); (s == "open" || s == "in_progress" || s == "done") &&
				a["due_at"].(string) < formatMoment(now) {
				overdue++
			}
		}
		from, _ := localtime.Day(now, localtime.Zone("Europe/Berlin"))
		today := 0
		for _, s := range rows["shipments"] {
			if c, ok := s["completed_at"].(string); ok && c >= formatMoment(from) {
				today++
			}
		}
		open := []string{"planned", "packed", "ready", "in_transit", "arrived", "exception"}
		for _, c := range []struct {
			what        string
			got, lo, hi int
		}{
			{"zones", len(rows["zones"]), 110, 140}, {"zones over capacity", overfull, 1, 6}, {"zones nearly full", near, 5, 40},
			{"items", len(rows["items"]), 230, 260}, {"low items", low, 6, 40}, {"critical items", critical, 2, 20},
			{"lots", len(rows["lots"]), 60, 300},
			{"movements", len(rows["stock_movements"]), 2500, 4600},
			{"orders", len(rows["orders"]), 340, 490}, {"drafts", count(rows["orders"], "status", "draft"), 1, 8}, {"confirmed",
				count(rows["orders"], "status", "confirmed"), 4, 60},
			{"in progress", count(rows["orders"], "status", "in_progress"), 1, 20},
			{"completed", count(rows["orders"], "status", "completed"), 280, 460},
			{"cancelled", count(rows["orders"], "status", "cancelled"), 2, 40},
			{"picking", count(rows["orders"], "stage", "picking"), 1, 9},
			{"packed", count(rows["orders"], "stage", "packed"), 1, 9},
			{"pick lists", len(rows["pick_lists"]), 20, 60},
			{"open pick lists", count(rows["pick_lists"], "status", "released", "in_progress"), 2, 15},
			{"shipments", len(rows["shipments"]), 200, 350}, {"active shipments", count(rows["shipments"], "status", open...), 6,
				60}, {"shipments done today", today, 2, 20},
			{"exceptions", count(rows["shipments"], "status", "exception"), 1, 9},
			{"workers", len(rows["workers"]), 20, 35}, {"drivers", len(rows["drivers"]), 10, 10}, {"drivers on the road",
				count(rows["drivers"], "status", "on_trip"), 1, 8},
			{"vehicles", len(rows["vehicles"]), 6, 6}, {"sites", len(rows["sites"]), 3, 3}, {"teams", len(rows["teams"]), 4, 4},
			{"incidents", len(rows["incidents"]), 65, 80}, {"harm", harm, 5, 22},
			{"near misses beyond harm", close90 - harm, 5, 60}, {"critical incidents",
				count(rows["incidents"], "severity", "critical"), 2, 6},
			{"open incidents", len(rows["incidents"]) - count(rows["incidents"], "status", "closed", "void"), 10, 40},
			{"dock 3 before the repair",
				dock3[false], 8, 12}, {"dock 3 since", dock3[true], 1, 3},
			{"actions", len(rows["actions"]), 25, 60}, {"overdue actions", overdue, 1, 12}, {"runs", due, 150, 400},
			{"percent of runs in time",
				100 * onTime / due, 89, 96},
			{"import jobs", len(rows["import_jobs"]), 4, 4},
			{"failed imports", count(rows["import_jobs"], "status", "failed"), 1, 1},
		} {
			if c.got < c.lo || c.got > c.hi {
				t.Errorf("%s: %d %s, want %d to %d", now.Format(time.RFC3339), c.got, c.what, c.lo, c.hi)
			}
		}
	}
}

// each runs f on a migrated database of both engines.
func each(t *testing.T, f func(t *testing.T, st *store.Store)) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		f(t, store.New(dbtest.Open(t, o), catalog.Default(), warehouse.Watch{}.Effects(), time.Now))
	})
}

// Seeded data agrees with what the effects would have kept, down to each
// level, load, sum and counter; a second seeding changes nothing.
func TestSeed(t *testing.T) {
	each(t, func(t *testing.T, st *store.Store) {
		ctx := context.Background()
		begin := time.Now()
		if err := Seed(ctx, st, moments[0], Sample); err != nil {
			t.Fatal(err)
		}
		t.Logf("seeded in %v", time.Since(begin))
		if err := Seed(ctx, st, moments[0].Add(time.Hour), Sample); err != nil {
			t.Fatal(err)
		}
		for _, tenant := range []string{North, South} {
			err := st.DB().Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
				diff, err := verify.RecountTotals(tx, st.Catalog(), tenant)
				if len(diff) > 0 {
					t.Errorf("%d kept totals are wrong, first: %s", len(diff), diff[0])
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := len(Users()); n != 12 {
			t.Errorf("%d users", n)
		}
	})
}
