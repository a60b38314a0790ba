package warehouse_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"holdfast/internal/testkit"
)

// readAll reads all rows of a collection, page by page.
func readAll(t *testing.T, k *testkit.Kit, as, collection, columns string) (out []map[string]any) {
	t.Helper()
	for {
		path := fmt.Sprintf("%s?select=%s&order=id&limit=1000&offset=%d", collection, columns, len(out))
		page := testkit.List[map[string]any](t, k, as, path)
		if out = append(out, page...); len(page) < 1000 {
			return out
		}
	}
}

// figures are figures by their path in an answer, as "orders.by_stage.picked".
type figures map[string]float64

// addNumbers adds the numbers of an answer to a figures; lists and texts are no figures.
func (f figures) addNumbers(path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			f.addNumbers(path+"."+name, x)
		}
	case float64:
		f[path] = v
	}
}

// isOneOf reports a text of a row that is one of some.
func isOneOf(row map[string]any, field string, of ...string) bool {
	text, _ := row[field].(string)
	return slices.Contains(of, text)
}

func readMoment(row map[string]any, field string) time.Time {
	text, _ := row[field].(string)
	parsed, _ := time.Parse(time.RFC3339Nano, text)
	return parsed
}

// figuresOfRows are the figures of the dashboards as the collections say.
func figuresOfRows(t *testing.T, k *testkit.Kit, as string) figures {
	t.Helper()
	f := figures{}
	count := func(name string, holds bool) {
		f[name] += 0 // a figure that is told of no row is compared, too
		if holds {
			f[name]++
		}
	}
	now := time.Now()
	for _, r := range readAll(t, k, as, "zones", "id,status") {
		count("snapshot.zones.total", !isOneOf(r, "status", "archived"))
	}
	own := map[string]float64{}
	for _, l := range readAll(t, k, as, "stock_levels", "id,item_id,quantity,owner_id") {
		if l["owner_id"] == nil {
			own[l["item_id"].(string)] += l["quantity"].(float64)
		}
	}
	for _, r := range readAll(t, k, as, "items", "id,status,low_stock,unit_cost") {
		active := isOneOf(r, "status", "active")
		count("snapshot.inventory.metrics.total_items", active)
		count("summary.inventory.total_items", active)
		count("snapshot.inventory.metrics.low_stock_count", active && r["low_stock"] == true)
		cost, _ := r["unit_cost"].(float64)
		f["snapshot.inventory.metrics.total_stock_value"] += own[r["id"].(string)] * cost
	}
	for _, r := range readAll(t, k, as, "orders", "id,status,stage,promised_at") {
		open := isOneOf(r, "status", "confirmed", "in_progress", "on_hold")
		for _, in := range []string{"snapshot.orders.", "summary.orders."} {
			count(in+"open", open)
			count(in+"late", open && !readMoment(r, "promised_at").IsZero() && readMoment(r, "promised_at").Before(now))
			if open {
				f[in+"by_stage."+fmt.Sprint(r["stage"])]++
			}
		}
	}
	for _, r := range readAll(t, k, as, "pick_lists", "id,status") {
		count("snapshot.pick_lists.active", isOneOf(r, "status", "released", "in_progress"))
		count("summary.pick_lists.active_count", isOneOf(r, "status", "released", "in_progress"))
	}
	zone := testkit.List[struct{ Timezone string }](t, k, as, "tenants?select=timezone")[0].Timezone
	place, err := time.LoadLocation(zone)
	testkit.Must(t, err)
	for _, r := range readAll(t, k, as, "shipments", "id,status,completed_at") {
		active := isOneOf(r, "status", "planned", "packed", "ready", "in_transit", "arrived", "exception")
		count("snapshot.shipments.active", active)
		count("summary.shipments.stats.active", active)
		count("summary.shipments.stats.total", true)
		count("summary.shipments.stats.in_transit", isOneOf(r, "status", "in_transit"))
		done := readMoment(r, "completed_at").In(place).Format(time.DateOnly) == now.In(place).Format(time.DateOnly)
		count("summary.shipments.stats.completed_today", done && isOneOf(r, "status", "delivered", "received"))
	}
	for _, r := range readAll(t, k, as, "drivers", "id,status") {
		count("snapshot.drivers.active", isOneOf(r, "status", "available", "assigned", "on_trip"))
	}
	for _, r := range readAll(t, k, as, "incidents", "id,status,severity,kind") {
		if isOneOf(r, "status", "void") {
			continue
		}
		count("snapshot.safety.metrics.total_incidents", true)
		count("snapshot.safety.metrics.critical_incidents", isOneOf(r, "severity", "critical"))
		count("snapshot.safety.metrics.open_incidents", !isOneOf(r, "status", "closed"))
		f["snapshot.safety.metrics.incidents_by_category."+fmt.Sprint(r["kind"])]++
	}
	for _, r := range readAll(t, k, as, "import_jobs", "id,status,imported_count") {
		count("snapshot.import.metrics.total_jobs", true)
		count("snapshot.import.metrics.completed_jobs", isOneOf(r, "status", "completed"))
		count("snapshot.import.metrics.failed_jobs", isOneOf(r, "status", "failed"))
		if n, ok := r["imported_count"].(float64); ok && !isOneOf(r, "status", "rolled_back") {
			f["snapshot.import.metrics.total_imported"] += n
		}
	}
	f.addKPIs(t, k, as, now)
	return f
}

// addKPIs adds what warehouse-kpis says of the last thirty days.
func (f figures) addKPIs(t *testing.T, k *testkit.Kit, as string, now time.Time) {
	t.Helper()
	from := now.Add(-30 * 24 * time.Hour)
	for _, r := range readAll(t, k, as, "stock_counts", "id,counted_at,variance") {
		if readMoment(r, "counted_at").After(from) {
			f["kpis.kpis.counts"]++
			if r["variance"] != 0.0 {
				f["kpis.kpis.counts_with_variance"]++
			}
		}
	}
	for _, r := range readAll(t, k, as, "pick_lines", "id,status,picked_at") {
		if isOneOf(r, "status", "picked", "short") && readMoment(r, "picked_at").After(from) {
			f["kpis.kpis.lines_picked"]++
			f["kpis.kpis.lines_sampled"]++
		}
	}
	for _, r := range readAll(t, k, as, "item_costs", "id,owner_id,quantity,average_cost") {
		cost, _ := r["average_cost"].(float64)
		name := "kpis.kpis.stock_value"
		if r["owner_id"] != nil {
			name = "kpis.kpis.owners_stock_value"
		}
		f[name] += math.Round(r["quantity"].(float64)*cost*10000) / 10000
	}
	right := f["kpis.kpis.counts"] - f["kpis.kpis.counts_with_variance"]
	f["kpis.kpis.count_accuracy"] = math.Round(1000*right/f["kpis.kpis.counts"]) / 10
}

// notOfRows are figures that say what was asked, or that other tests compute: inventory health
// (TestClassify, TestHealthScore), and work by the hours of shifts.
var notOfRows = []string{"snapshot.pagination.page", "snapshot.pagination.pageSize", "kpis.date_range_days",
	"kpis.kpis.lines_without_shift", "kpis.kpis.pick_hours", "kpis.kpis.lines_per_hour", "kpis.kpis.suppressed",
	"summary.inventory.health.score", "summary.inventory.health.fast_movers", "summary.inventory.health.slow_stock",
	"summary.inventory.health.dead_stock", "summary.inventory.health.critical_items", "summary.inventory.health.items"}

// compareFigures holds every figure of the dashboards to the collections: a figure that the
// collections do not give is an error, too. Between the two looks a row may leave a window,
// or a day begin: what differs then is looked at anew.
func compareFigures(t *testing.T, k *testkit.Kit, as string) {
	t.Helper()
	for range 2 {
		if len(listDiffering(t, k, as)) == 0 {
			return
		}
	}
	for _, said := range listDiffering(t, k, as) {
		t.Error(said)
	}
}

// readAnswers are the figures of the dashboards' answers.
func readAnswers(t *testing.T, k *testkit.Kit, as string) figures {
	t.Helper()
	has := figures{}
	for name, path := range map[string]string{"snapshot": "get-dashboard-snapshot-v2",
		"summary": "admin-dashboard-summary", "kpis": "warehouse-kpis"} {
		r := k.Get(as, "/functions/v1/"+path)
		var answer map[string]any
		if err := json.Unmarshal(r.Body, &answer); err != nil || r.Status != 200 {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		for _, list := range []string{"settings", "cache"} {
			delete(answer, list)
		}
		has.addNumbers(name, answer)
	}
	return has
}

// listDiffering says which figures of the answers are not those of the collections.
func listDiffering(t *testing.T, k *testkit.Kit, as string) (differing []string) {
	t.Helper()
	has, want := readAnswers(t, k, as), figuresOfRows(t, k, as)
	looked := 0
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if slices.Contains(notOfRows, name) {
			continue
		}
		if looked++; math.Abs(has[name]-want[name]) > 0.00005 {
			differing = append(differing, fmt.Sprintf("%s is %v, the collections say %v", name, has[name], want[name]))
		}
		delete(want, name)
	}
	for name, value := range want {
		if value != 0 {
			differing = append(differing, fmt.Sprintf("%s is not told, the collections say %v", name, value))
		}
	}
	if looked < 25 {
		differing = append(differing, fmt.Sprintf("only %d figures were compared", looked))
	}
	return differing
}
