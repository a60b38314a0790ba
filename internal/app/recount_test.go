package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// A night brings the stored days of a case whose absence lasts, and the totals of an
// open summary, up to today; what is certified or has ended stays as it is.
func TestNightsCountAbsencesThatLast(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		s := givenStory(t, k, "NIGHT", 9, nil)
		k.Insert(t, safety, "absences", s.absenceRow("away", 1, 0, nil))
		ended := givenStory(t, k, "ENDED", 9, nil)
		k.Insert(t, safety, "absences", ended.absenceRow("away", 1, 3, nil))
		sum := k.Insert(t, safety, "osha_summaries",
			map[string]any{"site_id": s.site, "year": s.injured.Year(), "avg_employees": 12})

		// The case and the summary as they were written five days ago.
		testkit.Must(t, k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			for sql, id := range map[string]string{
				"UPDATE osha_cases SET days_away = 4 WHERE tenant_id = $1 AND id = $2":           s.self,
				"UPDATE osha_summaries SET total_dafw_days = 4 WHERE tenant_id = $1 AND id = $2": sum,
			} {
				if _, err := tx.Exec(sql, demo.North, id); err != nil {
					return err
				}
			}
			_, err := tx.Exec("DELETE FROM nights WHERE tenant_id = $1", demo.North)
			return err
		}))
		s.caseIs(t, "before the night", "days_away", `[{"days_away":4}]`)
		before := versionOf(t, k, ended.self)

		for range 2 { // the first call of a server's life only writes down when the job is due
			testkit.Must(t, run(k.App, "safety-programme"))
		}
		s.caseIs(t, "after the night", "days_away,away_until", `[{"days_away":9,"away_until":null}]`)
		path := "/v1/osha_summaries?select=total_dafw_cases,total_dafw_days&id=eq." + sum
		if r := k.Get(safety, path); string(r.Body) != `[{"total_dafw_cases":1,"total_dafw_days":9}]` {
			t.Errorf("the summary: %s", r.Body)
		}
		if after := versionOf(t, k, ended.self); after != before {
			t.Errorf("a case with nothing new was written: version %d, was %d", after, before)
		}
	})
}

// versionOf is the version of a case.
func versionOf(t *testing.T, k *testkit.Kit, id string) int {
	t.Helper()
	var rows []struct{ Version int }
	k.Get(testkit.As(actor.Safety), "/v1/osha_cases?select=version&id=eq."+id).JSON(t, &rows)
	if len(rows) != 1 {
		t.Fatalf("no case %s", id)
	}
	return rows[0].Version
}

// A case without absences keeps the days that it states, and each figure ends where
// its regime does: OSHA's at 180, the European lists nowhere.
func TestStatedDaysEndAtTheFigure(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for until, want := range map[int]struct{ stored, osha, esaw string }{
			180: {"180", "180 0", "180"}, 181: {"181", "180 0", "181"}, 199: {"199", "180 0", "997"},
		} {
			s := givenStory(t, k, fmt.Sprint("STATED", until), 200, nil)
			r := s.patchRow("/v1/osha_cases?id=eq."+s.self, map[string]any{"basis": "days_away", "outcome": "days_away",
				"away_from": s.dayAfter(1), "away_until": s.dayAfter(until)})
			if r.Status != http.StatusNoContent {
				t.Fatalf("%d days: %d %s", until, r.Status, r.Body)
			}
			s.caseIs(t, "stored", "days_away", `[{"days_away":`+want.stored+`}]`)
			if got := s.readSubmission(t); got != want.osha {
				t.Errorf("%d days: OSHA's file has %s, want %s", until, got, want.osha)
			}
			if got := s.readColumn(t, "/v1/eu/esaw.csv", "days_lost"); got != want.esaw {
				t.Errorf("%d days: ESAW has %s, want %s", until, got, want.esaw)
			}
			if got := s.readColumn(t, "/v1/eu/accidents.csv", "days_away"); got != want.stored {
				t.Errorf("%d days: the list of accidents has %s, want %s", until, got, want.stored)
			}
			if days, _ := s.readDaysLost(t); days != 180 {
				t.Errorf("%d days: rates have %d days lost, want 180", until, days)
			}
		}
	})
}

// An incident that is moved to where its case does not bear it is refused at what was
// sent, and nothing is written.
func TestMovedIncidentIsRefusedAtWhatWasSent(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		s := givenStory(t, k, "MOVED", 20, nil)
		k.Insert(t, safety, "absences", s.absenceRow("away", 1, 3, nil))
		moved := func(days int) map[string]any {
			at := s.injured.AddDate(0, 0, days).Add(18 * time.Hour).Format(time.RFC3339)
			return map[string]any{"occurred_at": at, "change_reason": fmt.Sprint("moved by ", days)}
		}
		before := string(k.Get(safety, "/v1/incidents?select=occurred_at,version&id=eq."+s.incident).Body)
		for what, days := range map[string]int{"behind the first day away": 2, "before the date of hire": -5000} {
			r := s.patchRow("/v1/incidents?id=eq."+s.incident, moved(days))
			if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), `"message":"occurred_at`) {
				t.Errorf("%s: %d %s", what, r.Status, r.Body)
			}
		}
		after := string(k.Get(safety, "/v1/incidents?select=occurred_at,version&id=eq."+s.incident).Body)
		if after != before {
			t.Errorf("it was written: %s", after)
		}
		s.caseIs(t, "refused", "days_away,outcome", `[{"days_away":3,"outcome":"days_away"}]`)
		if r := s.patchRow("/v1/incidents?id=eq."+s.incident, moved(1)); r.Status != http.StatusNoContent {
			t.Errorf("to the first day away: %d %s", r.Status, r.Body)
		}
		s.caseIs(t, "moved", "days_away", `[{"days_away":2}]`)
	})
}
