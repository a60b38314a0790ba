package app_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// A case and its incident are one story, and a change of each reaches the other: the case's
// clocks lock the incident, the incident's moment moves the case. Officers who change
// both, and the days between them, at once wait for each other; none is refused because two
// of them held what the other wanted.
func TestStoryIsChangedAtOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		l := givenSite(t, k, "LIL", "FR", "Europe/Paris")
		year := time.Now().UTC().Year()
		at := time.Date(year-1, 6, 3, 9, 0, 0, 0, time.UTC)
		incident := l.addInjury(at, nil)
		of := k.Insert(t, testkit.As(actor.Safety), "osha_cases", map[string]any{"incident_id": incident,
			"site_id": l.site, "employee_name": "Ada"})
		k.Insert(t, testkit.As(actor.Safety), "absences", map[string]any{"case_id": of, "kind": "away",
			"from_on": fmt.Sprintf("%d-06-04", year-1), "until_on": fmt.Sprintf("%d-06-09", year-1)})

		before := countDeadlocks(t, k)
		const rounds = 12
		for n := range rounds {
			changes := []struct {
				path string
				set  map[string]any
			}{
				{"/v1/incidents?id=eq." + incident, map[string]any{
					"occurred_at":   stamp(at.Add(-time.Duration(n) * time.Minute)),
					"change_reason": fmt.Sprint("moment ", n)}},
				{"/v1/osha_cases?id=eq." + of, map[string]any{"minor_register": n%2 == 0}},
				{"/v1/absences?case_id=eq." + of, map[string]any{"until_on": fmt.Sprintf("%d-06-%02d", year-1, 10+n)}},
				{"/v1/incidents?id=eq." + incident, map[string]any{
					"severity": []string{"medium", "high"}[n%2], "change_reason": fmt.Sprint("severity ", n)}},
				{"/v1/osha_cases?id=eq." + of, map[string]any{"where_occurred": fmt.Sprint("Ramp ", n)}},
			}
			var all sync.WaitGroup
			for _, c := range changes {
				all.Go(func() {
					r := l.patchRow(actor.Safety, c.path, c.set)
					if r.Status != http.StatusNoContent {
						t.Errorf("round %d, %s %v: %d %s", n, c.path, c.set, r.Status, r.Body)
					}
				})
			}
			all.Wait()
		}

		var told []struct {
			Where string `json:"where_occurred"`
			Days  int    `json:"days_away"`
			Minor bool   `json:"minor_register"`
		}
		k.Get(testkit.As(actor.Safety), "/v1/osha_cases?id=eq."+of).JSON(t, &told)
		if len(told) != 1 || told[0].Where != "Ramp 11" || told[0].Days != 18 || told[0].Minor {
			t.Errorf("after all changes: %+v", told)
		}
		if n := countDeadlocks(t, k) - before; n > 0 {
			t.Errorf("%d transactions held what another wanted, and had to run again", n)
		}
		l.wantStates("after all changes", incident, "FR-BENIN not_required, FR-DAT running, FR-WORSE not_required")
	})
}

// countDeadlocks is how many transactions of the test's database PostgreSQL ended because
// they waited for each other. SQLite has one writer, and none.
func countDeadlocks(t *testing.T, k *testkit.Kit) (n int64) {
	t.Helper()
	if k.Engine != db.PostgreSQL {
		return 0
	}
	testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT deadlocks
			FROM pg_stat_database
			WHERE datname = current_database()`, nil, func(r *db.Row) error { n = r.Int(0); return nil })
	}))
	return n
}
