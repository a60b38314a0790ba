package app_test

import (
	"path"
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
		for _, name := range []string{"Asia/Tokyo", "America/Los_Angeles"} { // one of them has another date than UTC
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/tenants?id=eq." + demo.North,
				As: testkit.As(actor.Admin), Body: map[string]any{"timezone": name}})
			if r.Status >= 300 {
				t.Fatalf("%s: %d %s", name, r.Status, r.Body)
			}
			holdReportsToTheDay(t, k, name)
		}
	})
}

func holdReportsToTheDay(t *testing.T, k *testkit.Kit, place string) {
	t.Helper()
	zone := localtime.Zone(place)
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
	// loggedOf are the moments of a record's entries in the audit log and of its events,
	// and those that their ids tell.
	loggedOf := func(id string) (out []time.Time) {
		testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			for sql, about := range map[string]string{
				"SELECT at, id FROM audit WHERE tenant_id = $1 AND entity_id = $2": id,
				"SELECT at, id FROM outbox WHERE tenant_id = $1 AND data LIKE $2":  "%" + id + "%",
			} {
				if err := tx.Query(sql, []any{demo.North, about}, func(row *db.Row) error {
					out = append(out, row.Time(0), madeAt(row.Text(1)))
					return nil
				}); err != nil {
					return err
				}
			}
			return nil
		}))
		return out
	}

	ids, moments := report("said-in-confidence-"+path.Base(place), true)
	if i := slices.IndexFunc(moments, tellsHour); i >= 0 {
		t.Errorf("moment %d of an anonymous report is %s", i, moments[i])
	}
	for _, id := range ids {
		if at := madeAt(id); tellsHour(at) || time.Since(at) > 26*time.Hour {
			t.Errorf("the id %s tells %s", id, at)
		}
		if logged := loggedOf(id); len(logged) < 2 || slices.ContainsFunc(logged, tellsHour) {
			t.Errorf("the audit log and events tell %s of %s", logged, id)
		}
	}
	if logged := loggedOf(ids[0]); len(logged) < 4 {
		t.Errorf("%d moments are logged of a report, want those of its entry and its event", len(logged))
	}

	ids, moments = report("said-with-a-name-"+path.Base(place), false)
	if !slices.ContainsFunc(moments, tellsHour) {
		t.Errorf("a report with a name lost its moments: %v", moments)
	}
	for _, id := range ids {
		if at := madeAt(id); time.Since(at) > time.Hour {
			t.Errorf("the id %s of a report with a name tells %s", id, at)
		}
	}
}
