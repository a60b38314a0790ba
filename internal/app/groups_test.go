package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/decimal"
	"holdfast/internal/testkit"
)

// What aggregates say is what the rows add up to that the same person's lists
// show, group by group, and nobody else's.
func TestGroupsAddUpWhatListsShow(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		groups := 0
		for _, c := range []struct{ name, key, column string }{
			{"order_lines", "item_id", "qty_ordered"}, {"stock_levels", "zone_id", "quantity"},
			{"items", "abc_class", "unit_cost"},
			{"orders", "status", "line_count"}, {"shipments", "status", "freight_cost"},
			{"incidents", "severity", "likelihood"}, {"actions", "status", "version"},
			{"pick_lines", "status", "qty_picked"},
		} {
			for _, as := range []string{"manager@north.example", "operator@north.example", "driver@north.example",
				"admin@south.example"} {
				rows := listed(t, k, as, "/v1/"+c.name+"?select="+c.key+","+c.column+"")
				if rows == nil {
					continue // the role may not read them, and TestGroupsAreRefused says what then
				}
				sums, counts := map[string]decimal.Dec{}, map[string]int{}
				for _, row := range rows {
					key := fmt.Sprint(row[c.key])
					counts[key]++
					if text, ok := row[c.column].(json.Number); ok {
						d, err := decimal.Parse(text.String())
						if err != nil {
							t.Fatal(err)
						}
						sums[key] += d
					}
				}
				got := listed(t, k, as, "/v1/"+c.name+"?select="+c.key+",n:count(),"+c.column+".sum()&order=n.desc")
				if got == nil && len(sums) == 0 {
					continue // the role does not read the column, and TestLockedColumns says what then
				}
				if len(got) != len(counts) {
					t.Errorf("%s of %s: %d groups, want %d of %d rows", as, c.name, len(got), len(counts), len(rows))
				}
				last := len(rows)
				for _, g := range got {
					key, sum := fmt.Sprint(g[c.key]), fmt.Sprint(g["sum"])
					if sum == "<nil>" {
						sum = "0"
					}
					n, _ := g["n"].(json.Number).Int64()
					if sum != sums[key].String() || int(n) != counts[key] || int(n) > last {
						t.Errorf("%s of %s: %v, want %s of %d", as, c.name, g, sums[key], counts[key])
					}
					last = int(n)
					groups++
				}
			}
		}
		if groups < 40 {
			t.Errorf("only %d groups were compared", groups)
		}
	})
}

// listed are the rows of an answer and of the pages behind it, nil where the
// caller may not read them.
func listed(t *testing.T, k *testkit.Kit, as, path string) []map[string]any {
	t.Helper()
	rows := []map[string]any{}
	for path != "" {
		r := k.Get(as, path)
		if r.Status == http.StatusForbidden {
			return nil
		}
		d := json.NewDecoder(strings.NewReader(string(r.Body)))
		d.UseNumber()
		var page []map[string]any
		if err := d.Decode(&page); err != nil || r.Status != http.StatusOK {
			t.Fatalf("%s as %s: %d %s", path, as, r.Status, r.Body)
		}
		rows, path = append(rows, page...), following(r)
	}
	return rows
}

// Groups have pages, a count and no cursor; what may not be seen or is none is
// refused by name.
func TestGroupsOverHTTP(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const manager = "manager@north.example"
		all := listed(t, k, manager, "/v1/orders?select=status,count()&order=status")
		page := k.Call(testkit.Request{Method: "GET", Path: "/v1/orders?select=status,count()&order=status&limit=1&offset=1",
			As:     manager,
			Header: map[string]string{"Prefer": "count=exact"}})
		var one []map[string]any
		page.JSON(t, &one)
		if want := fmt.Sprintf("1-1/%d", len(all)); page.Status != http.StatusPartialContent ||
			page.Header.Get("Content-Range") != want ||
			page.Header.Get("Link") != "" || len(one) != 1 || one[0]["status"] != all[1]["status"] {
			t.Errorf("%d %s %s %s", page.Status, page.Header.Get("Content-Range"), page.Header.Get("Link"), page.Body)
		}
		link := following(k.Get(manager, "/v1/orders?select=id&limit=3"))
		_, cursor, _ := strings.Cut(link, "cursor=")
		for _, c := range []struct {
			as, path string
			status   int
			code     string
		}{
			{manager, "/v1/orders?select=status,count()&cursor=" + cursor, 400, "PGRST100"},
			{manager, "/v1/orders?select=*,count()", 400, "PGRST127"},
			{manager, "/v1/orders?select=total_value.sum(),order_lines(*)", 400, "PGRST127"},
			{manager, "/v1/orders?select=total_value.stddev()", 400, "PGRST100"},
			{manager, "/v1/orders?select=status.sum()", 404, "42883"},
			{manager, "/v1/orders?select=nothing.sum()", 400, "42703"},
			{manager, "/v1/orders?select=count()&order=total_value", 400, "42803"},
			{manager, "/v1/orders?select=total_value.sum()%3A%3Ajsonb", 400, "42846"},
			{manager, "/v1/orders?select=total_value.sum();drop", 400, "PGRST100"},
			{manager, "/v1/incidents?select=lat.avg()", 400, "PGRST127"},
			{manager, "/v1/orders?select=" + strings.Repeat("total_value.sum(),", 501), 400, "PGRST100"},
			{"driver@north.example", "/v1/drivers?select=last_lat.max()", 403, "42501"},
			{"driver@north.example", "/v1/drivers?select=status,last_lon.count()", 403, "42501"},
			{"driver@north.example", "/v1/drivers?select=last_lat,count()", 403, "42501"},
			{"operator@north.example", "/v1/audit?select=action,count()", 403, "42501"},
			{"", "/v1/orders?select=count()", 401, "PGRST302"},
		} {
			r := k.Get(c.as, c.path)
			if r.Status != c.status || !strings.Contains(string(r.Body), c.code) {
				t.Errorf("%.80s as %q: %d %s, want %d %s", c.path, c.as, r.Status, r.Body, c.status, c.code)
			}
		}
		// Totals of each parent's rows come with the parents.
		orders := listed(t, k, manager, "/v1/orders?select=line_count,order_lines(count())&limit=50")
		if !slices.ContainsFunc(orders, func(o map[string]any) bool { return o["line_count"] != json.Number("0") }) {
			t.Error("no order has lines")
		}
		for _, o := range orders {
			if got := o["order_lines"].([]any)[0].(map[string]any)["count"]; got != o["line_count"] {
				t.Errorf("%v lines, counted %v", o["line_count"], got)
			}
		}
	})
}
