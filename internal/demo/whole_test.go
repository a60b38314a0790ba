package demo

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
)

// eachWhole runs f on the whole warehouses at every moment.
func eachWhole(t *testing.T, f func(t *testing.T, p profile, now time.Time, rows records)) {
	for _, now := range moments {
		for _, p := range Whole.profilesOf() {
			t.Run(p.slug+now.Format(" Mon 2006-01-02 15:04"), func(t *testing.T) { f(t, p, now, made(t, p, now)) })
		}
	}
}

// band fails when a figure lies outside what a visitor would believe.
func band(t *testing.T, what string, got, lo, hi float64) {
	t.Helper()
	if got < lo || got > hi {
		t.Errorf("%s: %.1f, want %.0f to %.0f", what, got, lo, hi)
	}
}

// What a visitor counts first is a warehouse's, not a sketch's.
func TestBelievable(t *testing.T) {
	eachWhole(t, func(t *testing.T, p profile, now time.Time, rows records) {
		value := 0.0
		for _, it := range rows["items"] {
			value += it["stock_value"].(decimal.Dec).Float()
		}
		if p.id == North {
			band(t, "zones", float64(len(rows["zones"])), 200, 260)
			band(t, "items", float64(len(rows["items"])), 5000, 6000)
			band(t, "stock value", value, 1_000_000, 20_000_000)
		}
		loc, err := time.LoadLocation(p.timezone)
		if err != nil {
			t.Fatal(err)
		}
		day := func(v any) string { return parseMoment(v).In(loc).Format(time.DateOnly) }
		today := now.In(loc).Format(time.DateOnly)
		orders, picked := map[string]float64{}, map[string]float64{}
		for _, o := range rows["orders"] {
			if o["type"] == "outbound" {
				orders[day(o["created_at"])]++
			}
		}
		walked := map[string]map[string]bool{}
		for _, m := range rows["stock_movements"] {
			if d := day(m["occurred_at"]); m["type"] == "pick" {
				picked[d]++
				if walked[d] == nil {
					walked[d] = map[string]bool{}
				}
				walked[d][m["worker_id"].(string)] = true
			}
		}
		hours, year := map[string]float64{}, 0.0
		for _, s := range rows["shifts"] {
			h := s["hours"].(decimal.Dec).Float()
			year += h
			if d := day(s["started_at"]); walked[d][s["worker_id"].(string)] {
				hours[d] += h
			}
		}
		working, lines, spent := 0, 0.0, 0.0
		for d := range picked {
			working++
			if d == today { // whose hours are not over
				continue
			}
			lines, spent = lines+picked[d], spent+hours[d]
			band(t, "lines picked in an hour of "+d, picked[d]/hours[d], 20, 150)
			if p.id == North && d != today {
				band(t, "orders of "+d, orders[d], 40, 120)
			}
		}
		band(t, "days with picks", float64(working), 10, 16)
		band(t, "lines picked in an hour", lines/spent, 40, 120)
		cases := map[any]float64{}
		for _, c := range rows["osha_cases"] {
			if parseMoment(c["created_at"]).After(now.AddDate(-1, 0, 0)) && c["recordable"] == "yes" {
				cases[c["outcome"]]++
			}
		}
		if p.id == North { // of the other one most hours of the year are in its summary
			band(t, "lost-time injuries in 1,000,000 hours of a year", 1e6*cases["days_away"]/year, 20, 60)
			band(t, "restricted cases", cases["restricted"], 1, 20)
			band(t, "other cases", cases["other"], 1, 20)
		}
		wrong := 0.0
		for _, n := range rows["stock_counts"] {
			if n["exact"] == false {
				wrong++
			}
		}
		band(t, "counts that are right, in 100", 100-100*wrong/float64(len(rows["stock_counts"])), 93, 99.8)
		with := 0
		for _, w := range rows["workers"] {
			if w["user_id"] != nil {
				with++
			}
		}
		band(t, "workers with an account, in 100", 100*float64(with)/float64(len(rows["workers"])), 45, 75)
	})
}

// The picker who signs in finds work that is his.
func TestOperatorHasAnOpenList(t *testing.T) {
	for _, now := range moments {
		rows := made(t, Whole.profilesOf()[0], now)
		var operator any
		for _, w := range rows["workers"] {
			if w["user_id"] == userID(5) {
				operator = w["id"]
			}
		}
		lines := map[any]int{}
		for _, l := range rows["pick_lines"] {
			if l["status"] == "pending" {
				lines[l["pick_list_id"]]++
			}
		}
		open := 0
		for _, l := range rows["pick_lists"] {
			if l["assigned_worker_id"] == operator && l["status"] == "released" && lines[l["id"]] > 0 {
				open++
			}
		}
		if operator == nil || open == 0 {
			t.Errorf("%s: no open list for operator@", now.Format(time.RFC3339))
		}
	}
}

// Goods go to the countries that their towns lie in, and phones ring at home.
func TestCountries(t *testing.T) {
	lands := map[string]string{"Aalborg": "DK", "Groningen": "NL", "Szczecin": "PL", "Malmö": "SE"}
	eachWhole(t, func(t *testing.T, p profile, _ time.Time, rows records) {
		seen := map[string]bool{}
		for _, list := range [][]store.Row{rows["orders"], rows["shipments"]} {
			for _, r := range list {
				for _, place := range []any{r["ship_to"], r["destination"]} {
					text := fmt.Sprintf("%s", place)
					for city, land := range lands {
						if strings.Contains(text, city) {
							seen[city] = true
							if !strings.Contains(text, `"country":"`+land+`"`) {
								t.Fatalf("%s lies in %s: %s", city, land, text)
							}
						}
					}
				}
			}
		}
		if p.id == North && len(seen) != len(lands) {
			t.Errorf("goods went to %v only", seen)
		}
		for _, d := range rows["drivers"] {
			if phone := d["phone"].(string); !strings.HasPrefix(phone, "+"+dialling[p.country]+" ") {
				t.Errorf("%s in %s", phone, p.country)
			}
		}
	})
}

// Whoever handles goods is at work then.
func TestNoWorkOutsideShifts(t *testing.T) {
	check := func(t *testing.T, _ profile, _ time.Time, rows records) {
		type span struct{ from, to string }
		on := map[any][]span{}
		for _, s := range rows["shifts"] {
			on[s["worker_id"]] = append(on[s["worker_id"]], span{s["started_at"].(string), s["ended_at"].(string)})
		}
		for _, list := range on {
			sort.Slice(list, func(i, j int) bool { return list[i].from < list[j].from })
			for i := 1; i < len(list); i++ {
				if list[i].from < list[i-1].to {
					t.Fatalf("shifts of one person overlap: %v %v", list[i-1], list[i])
				}
			}
		}
		at := func(who any, when string) bool {
			for _, s := range on[who] {
				if s.from <= when && (when < s.to || s.from == s.to) { // at midnight the day has no length yet
					return true
				}
			}
			return false
		}
		for _, m := range rows["stock_movements"] {
			if m["type"] != "opening" && !at(m["worker_id"], m["occurred_at"].(string)) {
				t.Fatalf("%s at %s by %v, who was not at work", m["type"], m["occurred_at"], m["worker_id"])
			}
		}
		for _, l := range rows["pick_lines"] {
			if l["picked_at"] != nil && !at(l["assigned_worker_id"], l["picked_at"].(string)) {
				t.Fatalf("picked at %s by %v, who was not at work", l["picked_at"], l["assigned_worker_id"])
			}
		}
	}
	t.Run("whole", func(t *testing.T) { eachWhole(t, check) })
	t.Run("sample", func(t *testing.T) { eachTenant(t, check) })
}
