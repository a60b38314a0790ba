package app_test

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// How much somebody moved, counted, picked or drove is not counted up by those who neither
// do such work nor hand it out, and what was moved or counted not by colleagues either: the
// person is a column that they do not read, group, filter or order by, in JSON and in CSV.
func TestWorkIsNotCountedByPerson(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, x := range []struct {
			list, person, moment string
			hidden               []actor.Role
		}{
			{"stock_movements", "worker_id", "occurred_at", []actor.Role{actor.Viewer, actor.Operator, actor.Driver}},
			{"stock_counts", "worker_id", "counted_at", []actor.Role{actor.Viewer, actor.Operator, actor.Driver}},
			{"pick_lines", "assigned_worker_id", "picked_at", []actor.Role{actor.Viewer}},
			{"pick_lists", "assigned_worker_id", "completed_at", []actor.Role{actor.Viewer}},
			{"count_tasks", "assigned_worker_id", "counted_at", []actor.Role{actor.Viewer}},
			{"putaway_tasks", "assigned_worker_id", "updated_at", []actor.Role{actor.Viewer}},
			{"replenish_tasks", "assigned_worker_id", "updated_at", []actor.Role{actor.Viewer}},
			{"routes", "assigned_worker_id", "updated_at", []actor.Role{actor.Viewer}},
			{"shipments", "assigned_worker_id", "completed_at", []actor.Role{actor.Viewer}},
			{"shipments", "driver_id", "completed_at", []actor.Role{actor.Viewer}},
			{"routes", "driver_id", "updated_at", []actor.Role{actor.Viewer}},
		} {
			for _, ask := range []string{"select=" + x.person + ",count()", x.person + "=not.is.null",
				"select=id&order=" + x.person, "select=" + x.person + "," + x.moment + ".max()"} {
				path := "/v1/" + x.list + "?" + ask
				for _, role := range x.hidden {
					if r := k.Get(testkit.As(role), path); r.Status != http.StatusForbidden {
						t.Errorf("%s asks %s: %d %.200s", role, path, r.Status, r.Body)
					}
				}
				if r := k.Get(testkit.As(actor.Manager), path+"&limit=1"); r.Status != http.StatusOK {
					t.Errorf("a manager asks %s: %d %.200s", path, r.Status, r.Body)
				}
			}
			for _, role := range x.hidden {
				r := k.Call(testkit.Request{Method: "GET", Path: "/v1/" + x.list + "?limit=50", As: testkit.As(role),
					Header: map[string]string{"Accept": "text/csv"}})
				rows, err := csv.NewReader(strings.NewReader(string(r.Body))).ReadAll()
				testkit.Must(t, err)
				for i, column := range rows[0] {
					for _, row := range rows[1:] {
						if column == x.person && row[i] != "" {
							t.Fatalf("%s reads %s of %s in a file", role, x.person, x.list)
						}
					}
				}
			}
		}
		for _, embed := range []string{"drivers?select=worker_id,shipments(count)", "drivers?select=name,routes(count)",
			"shipments?select=drivers(name)&limit=1"} {
			if r := k.Get(testkit.As(actor.Viewer), "/v1/"+embed); r.Status == http.StatusOK &&
				strings.Contains(string(r.Body), `"count":`) {
				t.Errorf("a viewer asks %s: %d %.200s", embed, r.Status, r.Body)
			}
		}
		// An operator's own lists are the operator's own to see.
		r := k.Get(testkit.As(actor.Operator), "/v1/pick_lines?select=assigned_worker_id,count()")
		if r.Status != http.StatusOK || strings.Count(string(r.Body), `"count"`) > 2 { // the own, and nobody's
			t.Errorf("an operator's own lines: %d %s", r.Status, r.Body)
		}
	})
}
