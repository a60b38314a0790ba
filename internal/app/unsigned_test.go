package app_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// Who made the record of an incident or of its photo is hidden from those from
// whom the reporter is: in every answer, filter, order and file.
func TestMakersAreHiddenWithReporters(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		reporter := testkit.As(actor.Operator)
		me := userOf(t, reporter)
		made := k.Call(testkit.Request{Method: "POST", Path: "/v1/incidents", As: reporter,
			Header: map[string]string{"Prefer": "return=representation"},
			Body:   map[string]any{"kind": "hazard", "title": "Loose rail", "occurred_at": "2026-01-05T08:00:00Z"}})
		var rows []struct{ ID string }
		if made.JSON(t, &rows); made.Status != 201 || strings.Contains(string(made.Body), me) {
			t.Errorf("the answer to the reporter names the maker: %d %s", made.Status, made.Body)
		}
		incident := "/v1/incidents?id=eq." + rows[0].ID
		body, kind := pictureForm(t, "file", "x.png", pngPicture(t, 20, 20))
		photos := "/v1/incidents/" + rows[0].ID + "/photos"
		if r := k.Call(testkit.Request{Method: "POST", Path: photos, As: reporter, Body: body,
			Header: map[string]string{"Content-Type": kind}}); r.Status != 201 ||
			strings.Contains(string(r.Body), me) {
			t.Fatalf("photo: %d %s", r.Status, r.Body)
		}

		for _, as := range []string{testkit.As(actor.Viewer), reporter} {
			for _, path := range []string{incident + "&select=*", incident + "&select=created_by",
				incident + "&select=title,incident_photos(*)", photos,
				"/v1/incident_photos?incident_id=eq." + rows[0].ID} {
				if r := k.Get(as, path); r.Status != 200 || strings.Contains(string(r.Body), me) {
					t.Errorf("%s: %s: %d %.300s", as, path, r.Status, r.Body)
				}
			}
			for _, query := range []string{"created_by=eq." + me, "created_by=not.is.null", "select=id&order=created_by",
				"or=(created_by.eq." + me + ",id.is.null)"} {
				if r := k.Get(as, "/v1/incidents?"+query); r.Status < 400 || r.Status >= 500 {
					t.Errorf("%s: %s: %d %.200s", as, query, r.Status, r.Body)
				}
			}
			file := k.Call(testkit.Request{Method: "GET", Path: incident, As: as,
				Header: map[string]string{"Accept": "text/csv"}})
			if file.Status != 200 || strings.Contains(string(file.Body), me) {
				t.Errorf("%s: the file: %d %.300s", as, file.Status, file.Body)
			}
		}
		if r := k.Get(testkit.As(actor.Safety), incident+"&select=created_by"); !strings.Contains(string(r.Body), me) {
			t.Errorf("the safety officer does not read the maker: %s", r.Body)
		}
	})
}

// lines is a log that is read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// An anonymous report and its photo leave neither account nor address nor the
// request's id: not in their records, the audit log or the log of requests.
func TestAnonymousPhotosLeaveNoTrace(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		log := &lines{}
		handler, err := k.App.Handler(slog.New(slog.NewTextHandler(log, nil)))
		testkit.Must(t, err)
		logged := httptest.NewServer(handler)
		defer logged.Close()
		at := k.At(logged.URL)
		reporter := testkit.As(actor.Manager)
		me := userOf(t, reporter)
		at.Token(reporter)
		seenAt := func() string {
			return first(t, k, "/v1/members?select=last_seen_at&tenant_id=eq."+demo.North+"&user_id=eq."+me, "last_seen_at")
		}
		last := seenAt()

		const reported, pictured = "anonymous-report-1", "anonymous-photo-01"
		made := at.Call(testkit.Request{Method: "POST", Path: "/v1/incidents", As: reporter,
			Header: map[string]string{"Prefer": "return=representation", "X-Request-Id": reported},
			Body: map[string]any{"kind": "hazard", "title": "Said in confidence", "occurred_at": "2026-01-05T08:00:00Z",
				"anonymous": true}})
		var rows []struct{ ID string }
		if made.JSON(t, &rows); made.Status != 201 {
			t.Fatalf("%d %s", made.Status, made.Body)
		}
		body, kind := pictureForm(t, "file", "x.png", pngPicture(t, 20, 20))
		r := at.Call(testkit.Request{Method: "POST", Path: "/v1/incidents/" + rows[0].ID + "/photos", As: reporter,
			Body:   body,
			Header: map[string]string{"Content-Type": kind, "X-Request-Id": pictured}})
		if r.Status != 201 || strings.Contains(string(r.Body), me) {
			t.Fatalf("photo: %d %s", r.Status, r.Body)
		}
		page, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		onPage := reportPage{t, at, page.path}
		if r := onPage.send(pngPicture(t, 20, 20), "once", onPage.once(), "kind", "hazard", "severity", "low", "what",
			"Loose strip"); r.Status != 200 {
			t.Fatalf("report page: %d %s", r.Status, r.Body)
		}

		var photos, audited int
		testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			tx.Queue("SELECT p.created_by FROM incident_photos p JOIN incidents i ON i.tenant_id = p.tenant_id AND i.id = p.incident_id WHERE i.anonymous "+
				"AND i.tenant_id = $1 AND i.title IN ('Said in confidence', 'Loose strip')", []any{demo.North},
				func(r *db.Row) error {
					photos++
					if !r.Null(0) {
						t.Errorf("a photo names %s", r.Text(0))
					}
					return nil
				})
			tx.Queue("SELECT a.action, a.actor_user_id, a.session_id, a.address, a.request_id FROM audit a WHERE a.tenant_id = $1 AND "+
				"a.action IN ('incidents.insert', 'incident_photos.insert') ORDER BY a.id DESC LIMIT 4", []any{demo.North},
				func(r *db.Row) error {
					audited++
					for i, column := range []string{"actor_user_id", "session_id", "address", "request_id"} {
						if !r.Null(i + 1) {
							t.Errorf("audit of %s: %s is %s", r.Text(0), column, r.Text(i+1))
						}
					}
					return nil
				})
			return tx.Flush()
		}))
		if photos != 2 || audited != 4 {
			t.Errorf("%d photos and %d rows of the audit log, want 2 and 4", photos, audited)
		}
		if now := seenAt(); now != last {
			t.Errorf("last_seen_at moves from %s to %s", last, now)
		}

		logged.Close() // all lines are written
		posts := 0
		for line := range strings.Lines(log.text()) {
			if !strings.Contains(line, "method=POST") {
				continue
			}
			posts++
			for _, trace := range []string{me, "request_id", "127.0.0.1", reported, pictured} {
				if strings.Contains(line, trace) {
					t.Errorf("the log has %s: %s", trace, line)
				}
			}
		}
		if posts != 3 {
			t.Errorf("%d requests are in the log, want 3: %s", posts, fmt.Sprint(log.text()))
		}
		// Any other write is logged as ever.
		if !strings.Contains(log.text(), "request_id=") {
			t.Errorf("no line has a request's id: %s", log.text())
		}
	})
}
