package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// rewriteRows changes stored rows behind the server's back, and makes the night due.
func (s *story) rewriteRows(t *testing.T, sql string, args ...any) {
	t.Helper()
	testkit.Must(t, s.k.App.DB.Write(context.Background(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
		if _, err := tx.Exec(sql, append([]any{demo.North}, args...)...); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM nights WHERE tenant_id = $1", demo.North)
		return err
	}))
}

// An open summary that cannot be written as it is does not keep a night from counting
// the others.
func TestNightsCountSummariesOneByOne(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		var stories []*story
		var sums []string
		for _, code := range []string{"REFUSED", "COUNTED"} {
			s := givenStory(t, k, code, 9, nil)
			k.Insert(t, safety, "absences", s.absenceRow("away", 1, 0, nil))
			sums = append(sums, k.Insert(t, safety, "osha_summaries",
				map[string]any{"site_id": s.site, "year": s.injured.Year(), "avg_employees": 12}))
			stories = append(stories, s)
		}
		s := stories[1]
		s.rewriteRows(t, "UPDATE osha_summaries SET total_dafw_days = 4 WHERE tenant_id = $1")
		// Posted within its own year, which the rules refuse since.
		s.rewriteRows(t, "UPDATE osha_summaries SET posted_from = $3 WHERE tenant_id = $1 AND id = $2", sums[0],
			s.dayAfter(0))

		for range 2 { // the first call of a server's life only writes down when the job is due
			if err := run(k.App, "safety-programme"); err != nil {
				t.Logf("the night says: %v", err)
			}
		}
		for i, want := range []string{`[{"total_dafw_days":4}]`, `[{"total_dafw_days":9}]`} {
			if r := k.Get(safety, "/v1/osha_summaries?select=total_dafw_days&id=eq."+sums[i]); string(r.Body) != want {
				t.Errorf("summary %d: %s, want %s", i, r.Body, want)
			}
		}
	})
}

// A case whose absence begins before its injury, as when the establishment was found to
// lie in another time zone, is written and counted all the same; only a change that
// moves the injury behind an absence is refused, at what was sent.
func TestCasesBehindTheirAbsencesAreCounted(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		const auckland = "Pacific/Auckland"
		s := givenStory(t, k, "BEHIND", 9, nil)
		k.Insert(t, safety, "absences", s.absenceRow("away", 0, 0, nil))
		away := k.Insert(t, testkit.As(actor.Admin), "sites",
			map[string]any{"code": "AKL", "name": "AKL", "country": "NZ", "timezone": auckland})
		for path, more := range map[string]map[string]any{"/v1/osha_cases?id=eq." + s.self: {},
			"/v1/incidents?id=eq." + s.incident: {"change_reason": "it was there"}} {
			body := map[string]any{"site_id": away}
			for field, value := range more {
				body[field] = value
			}
			r := s.patchRow(path, body)
			if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), `"message":"site_id: `) {
				t.Errorf("%s: the injury moves behind the absence: %d %s", path, r.Status, r.Body)
			}
		}

		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/sites?id=eq." + s.site, As: testkit.As(actor.Admin),
			Body: map[string]any{"timezone": auckland}})
		if r.Status != http.StatusNoContent {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		s.rewriteRows(t, "UPDATE osha_cases SET days_away = 2 WHERE tenant_id = $1 AND id = $2", s.self)
		for range 2 { // the first call of a server's life only writes down when the job is due
			testkit.Must(t, run(k.App, "safety-programme"))
		}
		place, err := time.LoadLocation(auckland)
		testkit.Must(t, err)
		now := time.Now().In(place)
		today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
		injured := s.injured.AddDate(0, 0, 1) // noon in Chicago is the next morning there
		want := int(today.Sub(injured).Hours() / 24)
		var rows []struct {
			Days int `json:"days_away"`
		}
		k.Get(safety, "/v1/osha_cases?select=days_away&id=eq."+s.self).JSON(t, &rows)
		if len(rows) != 1 || rows[0].Days != want {
			t.Errorf("after the night: %+v, want %d days", rows, want)
		}
		if r := s.patchRow("/v1/osha_cases?id=eq."+s.self, map[string]any{"object_substance": "a pallet"}); r.Status != 204 {
			t.Errorf("another field of the case: %d %s", r.Status, r.Body)
		}
	})
}
