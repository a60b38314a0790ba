package app_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/testkit"
)

// The words of a confidential incident and of what is kept with it: nobody else may read one.
const (
	hushTitle   = "Hushtitle of the incident"
	hushComment = "Hushcomment of the incident"
	hushAction  = "Hushaction of the incident"
	hushFile    = "hushfile.pdf"
)

// hush is an incident with all that is kept with it, which its reporter is no reader of.
type hush struct {
	k                    *testkit.Kit
	id, zone, action, no string
}

func newHush(t *testing.T, k *testkit.Kit) *hush {
	t.Helper()
	safety := testkit.As(actor.Safety)
	h := &hush{k: k}
	h.zone = testkit.List[struct{ ID string }](t, k, safety, "zones?select=id&limit=1")[0].ID
	h.id = k.Insert(t, testkit.As(actor.Operator), "incidents", map[string]any{"kind": "injury", "title": hushTitle,
		"description": hushTitle, "severity": "high", "zone_id": h.zone,
		"occurred_at": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)})
	k.Insert(t, safety, "comments", map[string]any{"incident_id": h.id, "text": hushComment})
	h.action = k.Insert(t, safety, "actions", map[string]any{"incident_id": h.id, "title": hushAction,
		"source": "incident", "due_on": "2030-01-01"})
	if _, r := uploadFile(t, k, safety, "incidents/"+h.id, hushFile, []byte("%PDF-1.7")); r.Status != 201 {
		t.Fatalf("file: %d %s", r.Status, r.Body)
	}
	body, kind := pictureForm(t, "file", "x.png", pngPicture(t, 20, 20))
	if r := k.Call(testkit.Request{Method: "POST", Path: "/v1/incidents/" + h.id + "/photos", As: safety, Body: body,
		Header: map[string]string{"Content-Type": kind}}); r.Status != 201 {
		t.Fatalf("photo: %d %s", r.Status, r.Body)
	}
	return h
}

// patch changes the incident, and fails the test unless the status is want.
func (h *hush) patch(t *testing.T, as string, set map[string]any, want int) {
	t.Helper()
	r := h.k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + h.id, As: as, Body: set,
		Header: map[string]string{"Prefer": "return=representation"}})
	if r.Status != want {
		t.Fatalf("%s: set %v: %d %s", as, set, r.Status, r.Body)
	}
}

// doors are the ways to what is said of an incident. What a reader is answered tells of it; what
// others are answered is what they are for an incident that is not there, or for none at all.
func (h *hush) doors() map[string]testkit.Request {
	get := func(path string) testkit.Request { return testkit.Request{Method: "GET", Path: path} }
	file := get("/v1/incidents?select=*&order=created_at.desc&limit=5")
	file.Header = map[string]string{"Accept": "text/csv"}
	return map[string]testkit.Request{
		"list":                 get("/v1/incidents?order=created_at.desc&limit=5"),
		"by id":                get("/v1/incidents?id=eq." + h.id),
		"by its path":          get("/v1/incidents/" + h.id),
		"filter":               get("/v1/incidents?select=id&title=ilike.*hushtitle*"),
		"filter among several": get("/v1/incidents?select=id&or=(title.ilike.*hushtitle*,id.is.null)"),
		"group":                get("/v1/incidents?select=title,count()&order=title&title=like.Hush*"),
		"greatest":             get("/v1/incidents?select=title.max()&id=eq." + h.id),
		"CSV":                  file,
		"embedded in zones":    get("/v1/zones?select=id,incidents(id,title)&id=eq." + h.zone),
		"joined to zones":      get("/v1/zones?select=id,incidents!inner(id)&incidents.id=eq." + h.id),
		"embedded in actions":  get("/v1/actions?select=id,incidents(title)&incident_id=eq." + h.id),
		"embedded in comments": get("/v1/comments?select=id,incidents(title)&incident_id=eq." + h.id),
		"actions":              get("/v1/actions?select=id,title&title=like.Hush*"),
		"an action":            get("/v1/actions/" + h.action),
		"comments":             get("/v1/comments?select=text&incident_id=eq." + h.id),
		"files":                get("/v1/files?select=name&incident_id=eq." + h.id),
		"photos":               get("/v1/incidents/" + h.id + "/photos"),
		"photos by themselves": get("/v1/incident_photos?select=id,incident_id&incident_id=eq." + h.id),
		"timeline":             get("/v1/incidents/" + h.id + "/timeline"),
		"PDF":                  get("/v1/incidents/" + h.id + "/incident.pdf"),
		"change": {Method: "PATCH", Path: "/v1/incidents?id=eq." + h.id, Body: map[string]any{"lessons": "Hushlesson"},
			Header: map[string]string{"Prefer": "return=representation"}},
	}
}

// says reports an answer that tells of the incident.
func (h *hush) says(r testkit.Response) bool {
	if r.Status == 200 && strings.HasPrefix(string(r.Body), "%PDF") {
		return true
	}
	text := strings.ToLower(string(r.Body))
	return r.Status < 300 && (strings.Contains(text, "hush") || strings.Contains(text, h.id) ||
		strings.Contains(text, h.action))
}

// A confidential incident, and what is kept with it, is read by safety, administrators and those
// whom it names: through no door by anybody else, its reporter and leaders included.
func TestConfidentialIncident(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		h := newHush(t, k)
		safety, viewer := testkit.As(actor.Safety), testkit.As(actor.Viewer)
		see := func(when string, readers []string, others ...string) {
			t.Helper()
			for door, q := range h.doors() {
				for _, as := range readers {
					mayNot := door == "change" && as == viewer
					if q.As = as; !mayNot && !h.says(k.Call(q)) {
						r := k.Call(q)
						t.Errorf("%s: %s: %s is not told: %d %.300s", when, door, as, r.Status, r.Body)
					}
				}
				for _, as := range others {
					if q.As = as; h.says(k.Call(q)) {
						t.Errorf("%s: %s: %s is told: %.300s", when, door, as, k.Call(q).Body)
					}
				}
			}
		}
		// Dashboards are kept for all of a role: they name it to the roles that read all of them.
		figures := func(when string, want ...actor.Role) {
			t.Helper()
			for _, name := range []string{"get-dashboard-snapshot-v2", "admin-dashboard-summary", "site-overview",
				"safety-kpis", "safety-overview"} {
				for _, role := range []actor.Role{actor.Safety, actor.Manager, actor.Viewer} {
					r := k.Get(testkit.As(role), "/functions/v1/"+name)
					if r.Status == 200 && name != "admin-dashboard-summary" && slices.Contains(want,
						role) != h.says(r) {
						t.Errorf("%s: %s tells %s otherwise: %.300s", when, name, role, r.Body)
					}
				}
			}
		}
		admin, manager, operator := testkit.As(actor.Admin), testkit.As(actor.Manager), testkit.As(actor.Operator)
		south := "admin@south.example"
		see("before", []string{safety, admin, manager, viewer}, south)
		figures("before", actor.Safety, actor.Manager, actor.Viewer)

		h.patch(t, manager, map[string]any{"confidential": true}, 403)
		h.patch(t, manager, map[string]any{"reader_ids": []string{accountOf(t, actor.Manager)}}, 403)
		h.patch(t, safety, map[string]any{"confidential": true}, 200)
		see("confidential", []string{safety, admin}, manager, viewer, operator, south)

		h.patch(t, safety, map[string]any{"reader_ids": []string{accountOf(t, actor.Viewer)}}, 200)
		see("with a named reader", []string{safety, admin, viewer}, manager, operator, south)
		figures("confidential", actor.Safety)

		if r := k.Post(manager, "/v1/actions", map[string]any{"incident_id": h.id, "title": "More"}); r.Status != 409 {
			t.Errorf("a manager adds an action: %d %s", r.Status, r.Body)
		}
		if r := k.Post(manager, "/v1/comments", map[string]any{"incident_id": h.id, "text": "More"}); r.Status != 409 {
			t.Errorf("a manager adds a comment: %d %s", r.Status, r.Body)
		}

		h.patch(t, safety, map[string]any{"confidential": false}, 200)
		see("taken back", []string{safety, admin, manager, viewer}, south)
		log := string(k.Get(admin, "/v1/audit?select=before,after&action=eq.incidents.update&entity_id=eq."+h.id).Body)
		if !strings.Contains(log, `"confidential":true`) || !strings.Contains(log, `"confidential":false`) {
			t.Errorf("the audit log does not say it: %s", log)
		}
	})
}

// Whoever is to do an action of a confidential incident, or to verify it, reads the action, and
// nothing else of the incident.
func TestConfidentialActionOfOwn(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		h := newHush(t, k)
		manager := testkit.As(actor.Manager)
		h.patch(t, testkit.As(actor.Safety), map[string]any{"confidential": true}, 200)
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/actions?id=eq." + h.action,
			As:   testkit.As(actor.Safety),
			Body: map[string]any{"assignee_user_id": accountOf(t, actor.Manager)}}); r.Status != 204 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if r := k.Get(manager, "/v1/actions?select=title,incidents(title)&id=eq."+h.action); string(r.Body) !=
			`[{"title":"`+hushAction+`","incidents":null}]` {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/actions?id=eq." + h.action, As: manager,
			Body: map[string]any{"status": "in_progress"}}); r.Status != 204 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		for door, q := range h.doors() {
			if q.As = manager; strings.Contains(strings.ToLower(string(k.Call(q).Body)), "hushtitle") {
				t.Errorf("%s tells the manager of the incident", door)
			}
		}
	})
}

// An incident becomes confidential with its case, and stays so when the case is changed again.
func TestConfidentialByPrivacyCase(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		h := newHush(t, k)
		safety := testkit.As(actor.Safety)
		is := func(when string, want bool) {
			t.Helper()
			rows := testkit.List[struct{ Confidential bool }](t, k, safety,
				"incidents?select=confidential&id=eq."+h.id)
			if rows[0].Confidential != want {
				t.Errorf("%s: confidential is %v", when, rows[0].Confidential)
			}
		}
		private := k.Insert(t, safety, "osha_cases", map[string]any{"incident_id": h.id})
		set := func(row map[string]any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/osha_cases?id=eq." + private, As: safety,
				Body: row}); r.Status != 204 {
				t.Fatalf("%v: %d %s", row, r.Status, r.Body)
			}
		}
		is("a case", false)
		set(map[string]any{"privacy_case": true, "privacy_reason": "sexual_assault"})
		is("a privacy case", true)
		if r := k.Get(testkit.As(actor.Manager), "/v1/incidents/"+h.id); r.Status != 404 {
			t.Errorf("a manager reads it: %d %s", r.Status, r.Body)
		}
		h.patch(t, safety, map[string]any{"confidential": false}, 200)
		set(map[string]any{"object_substance": "None"})
		is("taken back", false)
		h.patch(t, safety, map[string]any{"confidential": true}, 200)
		set(map[string]any{"privacy_case": false, "privacy_reason": nil})
		is("no privacy case any more", true)
	})
}

// Events of a confidential incident and of its actions reach the streams of its readers alone, also
// those of before, and webhooks without words and people.
func TestConfidentialEvents(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		bodies := make(chan string, 20)
		sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			bodies <- string(b)
		}))
		defer sink.Close()
		if r := k.Post(testkit.As(actor.Admin), "/v1/webhooks", map[string]any{"url": sink.URL,
			"events": []string{"incident.closed", "action.*"}}); r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		ctx, end := context.WithCancel(context.Background())
		defer end()
		told := map[actor.Role]chan string{}
		for _, role := range []actor.Role{actor.Safety, actor.Admin, actor.Manager, actor.Viewer, actor.Operator} {
			told[role] = followStream(ctx, t, k, testkit.As(role), "")
		}
		safety := testkit.As(actor.Safety)
		id := k.Insert(t, safety, "incidents", map[string]any{"kind": "near_miss", "title": hushTitle,
			"confidential": true, "occurred_at": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
			"reader_ids": []string{accountOf(t, actor.Viewer)}})
		k.Insert(t, safety, "actions", map[string]any{"incident_id": id, "title": hushAction, "status": "open",
			"assignee_user_id": accountOf(t, actor.Safety), "due_on": "2026-01-05"})
		k.Insert(t, testkit.As(actor.Admin), "incidents", map[string]any{"kind": "near_miss", "title": "Open",
			"occurred_at": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)})
		for role, want := range map[actor.Role]string{actor.Safety: "action.overdue incident.reported",
			actor.Admin: "action.overdue incident.reported", actor.Viewer: "action.overdue incident.reported",
			actor.Manager: "", actor.Operator: ""} {
			if got := untilOpen(t, told[role], want == "" && role == actor.Operator); got != want {
				t.Errorf("%s hears %q, want %q", role, got, want)
			}
		}
		select {
		case b := <-bodies:
			if !strings.Contains(b, `"action.overdue"`) || strings.Contains(b, "Hush") ||
				!strings.Contains(b, `"title":null`) || !strings.Contains(b, `"assignee_user_id":null`) ||
				!strings.Contains(b, id) {
				t.Errorf("the webhook is sent %s", b)
			}
		case <-time.After(30 * time.Second):
			t.Error("the webhook is sent nothing")
		}
	}, func(c *config.Config) { c.WebhookPrivate = true })
}

// followStream follows the events that an account is told of.
func followStream(ctx context.Context, t *testing.T, k *testkit.Kit, as, after string) chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", k.URL+"/v1/events?types=incident.*,action.*", nil)
	testkit.Must(t, err)
	req.Header.Set("Authorization", "Bearer "+k.Token(as))
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(err, res)
	}
	lines := make(chan string, 100)
	go func() {
		defer func() { _ = res.Body.Close() }()
		for sc := bufio.NewScanner(res.Body); sc.Scan(); {
			if d, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
				lines <- d
			}
		}
	}()
	return lines
}

// untilOpen is which events with hushed words come before that of the open incident, sorted; who
// does not read that one either is waited for a moment.
func untilOpen(t *testing.T, lines chan string, isBriefly bool) string {
	t.Helper()
	wait := 30 * time.Second
	if isBriefly {
		wait = 300 * time.Millisecond
	}
	var types []string
	for {
		select {
		case d := <-lines:
			if strings.Contains(d, `"Open"`) {
				return strings.Join(types, " ")
			}
			if strings.Contains(d, "Hush") {
				for _, name := range []string{"action.overdue", "incident.reported"} {
					if strings.Contains(d, name) {
						types = append([]string{name}, types...)
					}
				}
			}
		case <-time.After(wait):
			if !isBriefly {
				t.Error("the open incident is not told of")
			}
			return strings.Join(types, " ")
		}
	}
}

// A file that names a confidential incident by its key is told nothing of it, and changes nothing.
func TestConfidentialImport(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		h := newHush(t, k)
		safety, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
		h.patch(t, safety, map[string]any{"confidential": true, "external_ref": "EXT-1"}, 200)
		for as, isTold := range map[string]bool{manager: false, safety: true} {
			body, kind := form(t, "incidents", "incidents.csv", "external_ref;kind;severity;title;occurred_at\n"+
				"EXT-1;injury;low;Another title;2026-01-05T08:00:00Z\nEXT-2;hazard;low;New;2026-01-05T08:00:00Z\n")
			r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: as, Body: body,
				Header: map[string]string{"Content-Type": kind}})
			var job struct{ ID string }
			if r.JSON(t, &job); r.Status != 201 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			if r := k.Post(as, "/functions/v1/process-import-job", map[string]any{"job_id": job.ID}); r.Status != 200 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			at := "/v1/import-jobs/" + job.ID
			if r := k.Get(as, at+"/preview"); r.Status != 200 || h.says(r) != isTold {
				t.Errorf("%s: %d %s", as, r.Status, r.Body)
			}
			if r := k.Get(as, at+"/errors"); strings.Contains(string(r.Body), "not yours to change") == isTold {
				t.Errorf("%s: %d %s", as, r.Status, r.Body)
			}
		}
	})
}
