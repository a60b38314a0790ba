package app_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A shift that says its hours and no end has ended after them and its break.
func TestShiftWithHoursAndNoEnd(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as, represent := testkit.As(actor.Manager), map[string]string{"Prefer": "return=representation"}
		worker := k.Insert(t, as, "workers", map[string]any{"employee_no": "HOURS-1", "name": "Ann Example"})
		post := func(start string, row map[string]any) testkit.Response {
			row["worker_id"], row["started_at"] = worker, start
			return k.Call(testkit.Request{Method: "POST", Path: "/v1/shifts?select=ended_at,hours,status", As: as, Body: row,
				Header: represent})
		}

		r := post("2024-05-06T08:00:00Z", map[string]any{"hours": 7.5, "break_minutes": 30})
		if want := `[{"ended_at":"2024-05-06T16:00:00.000000Z","hours":7.5,"status":"closed"}]`; string(r.Body) != want {
			t.Errorf("hours and a break: %d %s", r.Status, r.Body)
		}
		for _, c := range []struct {
			start string
			row   map[string]any
			why   string
		}{
			{"2024-05-06T15:00:00Z", map[string]any{"hours": 1}, "already has a shift"},
			{"2024-05-07T08:00:00Z", map[string]any{"hours": 0}, "hours: must be more than 0"},
			{"2024-05-07T08:00:00Z", map[string]any{"hours": 23, "break_minutes": 90}, "hours: make it longer"},
			{"2024-05-07T08:00:00Z", map[string]any{"status": "closed"}, "ended_at: is required"},
		} {
			r := post(c.start, c.row)
			if r.Status/100 != 4 || !strings.Contains(string(r.Body), c.why) {
				t.Errorf("%v: %d %s, want %q", c.row, r.Status, r.Body, c.why)
			}
		}

		if r := post("2024-05-08T08:00:00Z", map[string]any{}); string(r.Body) != `[{"ended_at":null,"hours":null,"status":"open"}]` {
			t.Errorf("an open shift: %d %s", r.Status, r.Body)
		}
		path := "/v1/shifts?started_at=eq.2024-05-08T08:00:00Z&worker_id=eq." + worker + "&select=ended_at,hours,status"
		r = k.Call(testkit.Request{Method: "PATCH", Path: path, As: as, Body: map[string]any{"hours": 6}, Header: represent})
		if want := `[{"ended_at":"2024-05-08T14:00:00.000000Z","hours":6,"status":"closed"}]`; string(r.Body) != want {
			t.Errorf("hours of an open shift: %d %s", r.Status, r.Body)
		}
	})
}
