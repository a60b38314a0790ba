package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/localtime"
	"holdfast/internal/testkit"
)

// momentsSQL selects every moment that an anonymous report and its photos leave.
// $1 tenant, $2 title.
const momentsSQL = `
	SELECT incident.id, incident.occurred_at, incident.reported_at, incident.created_at, incident.updated_at,
		photo.id, photo.created_at, photo.updated_at
	FROM incidents AS incident
	JOIN incident_photos AS photo ON photo.tenant_id = incident.tenant_id AND photo.incident_id = incident.id
	WHERE incident.tenant_id = $1
		AND photo.tenant_id = $1
		AND incident.title = $2`

// An anonymous report and its photos tell the day and no more, neither in their
// moments, nor in their ids, which hold one, nor in the audit log; a report with a
// name keeps its moments.
func TestAnonymousReportsTellTheDayAlone(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		zone := berlin(t)
		reporter := testkit.As(actor.Operator)
		report := func(title string, anonymous bool) (ids []string, moments []time.Time) {
			t.Helper()
			occurred := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339Nano)
			made := k.Call(testkit.Request{Method: "POST", Path: "/v1/incidents", As: reporter,
				Header: map[string]string{"Prefer": "return=representation"},
				Body: map[string]any{"kind": "hazard", "title": title, "occurred_at": occurred,
					"anonymous": anonymous}})
			if made.Status != 201 {
				t.Fatalf("%d %s", made.Status, made.Body)
			}
			incident := first(t, k, "/v1/incidents?select=id&title=eq."+title, "id")
			body, kind := pictureForm(t, "file", "x.png", pngPicture(t, 20, 20))
			// An anonymous report is nobody's own: a manager adds the photo.
			r := k.Call(testkit.Request{Method: "POST", Path: "/v1/incidents/" + incident + "/photos",
				As: testkit.As(actor.Manager), Body: body, Header: map[string]string{"Content-Type": kind}})
			if r.Status != 201 {
				t.Fatalf("photo: %d %s", r.Status, r.Body)
			}
			testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.Query(momentsSQL, []any{demo.North, title}, func(row *db.Row) error {
					for i := range row.Len() {
						if i == 0 || i == 5 {
							ids = append(ids, row.Text(i))
							continue
						}
						moments = append(moments, row.Time(i))
					}
					return nil
				})
			}))
			if len(ids) != 2 {
				t.Fatalf("%s: %d records, want a report and its photo", title, len(ids))
			}
			return ids, moments
		}
		tellsHour := func(at time.Time) bool {
			return !at.Equal(localtime.DateOf(at, zone).Start(zone))
		}
		madeAt := func(id string) time.Time {
			seconds, nanos := uuid.MustParse(id).Time().UnixTime()
			return time.Unix(seconds, nanos).UTC()
		}
		auditedAt := func(id string) (out []time.Time) {
			testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.Query("SELECT at FROM audit WHERE tenant_id = $1 AND entity_id = $2", []any{demo.North, id},
					func(row *db.Row) error { out = append(out, row.Time(0)); return nil })
			}))
			return out
		}

		ids, moments := report("said-in-confidence", true)
		if i := slices.IndexFunc(moments, tellsHour); i >= 0 {
			t.Errorf("moment %d of an anonymous report is %s", i, moments[i])
		}
		for _, id := range ids {
			if at := madeAt(id); !at.Equal(at.Truncate(24*time.Hour)) || time.Since(at) > 24*time.Hour {
				t.Errorf("the id %s tells %s", id, at)
			}
			for _, at := range auditedAt(id) {
				if !at.Equal(at.Truncate(24 * time.Hour)) {
					t.Errorf("the audit log tells %s of %s", at, id)
				}
			}
		}

		ids, moments = report("said-with-a-name", false)
		if !slices.ContainsFunc(moments, tellsHour) {
			t.Errorf("a report with a name lost its moments: %v", moments)
		}
		for _, id := range ids {
			if at := madeAt(id); time.Since(at) > time.Hour {
				t.Errorf("the id %s of a report with a name tells %s", id, at)
			}
		}
	})
}
