package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"image/jpeg"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// reportPage is a link's page, and how to send its form.
type reportPage struct {
	t    *testing.T
	k    *testkit.Kit
	path string
}

func newReportPage(t *testing.T, k *testkit.Kit, place map[string]any) (reportPage, string) {
	t.Helper()
	id := k.Insert(t, testkit.As(actor.Admin), "report_links", place)
	return reportPage{t, k, "/r/" + first(t, k, "/v1/report_links?select=token&id=eq."+id+"&tenant_id=eq."+demo.North,
		"token")}, id
}

var onceField = regexp.MustCompile(`name="once" value="([0-9a-f]{32})"`)

func (p reportPage) once() string {
	p.t.Helper()
	r := p.k.Call(testkit.Request{Method: "GET", Path: p.path})
	m := onceField.FindSubmatch(r.Body)
	if r.Status != 200 || m == nil {
		p.t.Fatalf("the form: %d %s", r.Status, r.Body)
	}
	return string(m[1])
}

// send posts the form; raw is the photo, or nil.
func (p reportPage) send(raw []byte, fields ...string) testkit.Response {
	p.t.Helper()
	body, kind := pictureForm(p.t, "photo", "x.jpg", raw, fields...)
	return p.k.Call(testkit.Request{Method: "POST", Path: p.path, Body: body,
		Header: map[string]string{"Content-Type": kind}})
}

var numberShown = regexp.MustCompile(`IN-\d{4}-\d{6}`)

// Who holds a link reports without an account: the report is an incident at the
// link's place, with its photo, its event and its entry in the audit log.
func TestReportPage(t *testing.T) {
	now := time.Now().In(berlin(t))
	at := time.Date(now.Year(), now.Month(), now.Day()-200, 23, 30, 0, 0, now.Location())
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		zone := first(t, k, "/v1/zones?select=id&code=eq.DOCK-3&tenant_id=eq."+demo.North, "id")
		p, link := newReportPage(t, k, map[string]any{"name": "Dock <3>", "zone_id": zone})
		page := k.Call(testkit.Request{Method: "GET", Path: p.path,
			Header: map[string]string{"Accept-Language": "de-AT,de;q=0.8,en;q=0.1"}})
		text := string(page.Body)
		if page.Status != 200 || !strings.Contains(text, `<html lang="de">`) || !strings.Contains(text, "Dock &lt;3&gt;") ||
			!strings.Contains(text, "Schritt {n} von {m}") || strings.Contains(text, `name="where"`) ||
			page.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("page: %d %v %.300s", page.Status, page.Header, text)
		}
		script := sha256.Sum256([]byte(text[strings.Index(text, "<script>")+len("<script>") : strings.Index(text,
			"</script>")]))
		if csp := page.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
			!strings.Contains(csp, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(script[:])+"';") ||
			!strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("policy %q", csp)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: p.path,
			Header: map[string]string{"Accept-Language": "fr-CH"}}); !strings.Contains(string(r.Body), `<html lang="fr">`) {
			t.Errorf("French: %.200s", r.Body)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: p.path,
			Header: map[string]string{"Accept-Language": "fr;q=x"}}); !strings.Contains(string(r.Body), `<html lang="en">`) {
			t.Errorf("another language: %.200s", r.Body)
		}
		once := p.once()
		fields := []string{"once", once, "kind", "near_miss", "severity", "high", "what",
			"Slipped at the leveller,\nit leaks again. " +
				strings.Repeat("word ", 30), "name", "Jürgen", "when", at.Format("2006-01-02T15:04")}
		r := p.send(pngPicture(t, 40, 30), fields...)
		no := numberShown.FindString(string(r.Body))
		if r.Status != 200 || no == "" {
			t.Fatalf("send: %d %s", r.Status, r.Body)
		}
		var rows []struct {
			ID, Title, Severity, Kind, Status string
			Zone                              string  `json:"zone_id"`
			Potential                         string  `json:"potential_severity"`
			Reporter                          string  `json:"reporter_name"`
			By                                *string `json:"reported_by"`
			At                                string  `json:"occurred_at"`
			Anonymous                         bool
			Photos                            []struct{ ID string } `json:"incident_photos"`
		}
		k.Get(safety, "/v1/incidents?select=*,incident_photos(id)&incident_no=eq."+no).JSON(t, &rows)
		in := rows[0]
		if in.Zone != zone || in.Kind != "near_miss" || in.Severity != "low" || in.Potential != "high" ||
			in.Status != "reported" ||
			in.Reporter != "Jürgen" || in.By != nil || in.Anonymous || len(in.Photos) != 1 ||
			!strings.HasPrefix(in.At, at.UTC().Format("2006-01-02T15:04:05")) ||
			!strings.HasPrefix(in.Title, "Slipped at the leveller, it leaks again.") ||
			len([]rune(in.Title)) > 81 {
			t.Errorf("incident %+v", in)
		}
		if _, err := jpeg.DecodeConfig(bytes.NewReader(k.Get(safety,
			"/v1/incidents/"+in.ID+"/photos/"+in.Photos[0].ID).Body)); err != nil {
			t.Errorf("photo: %v", err)
		}
		if got := string(k.Get(testkit.As(actor.Viewer),
			"/v1/incidents?select=reporter_name&incident_no=eq."+no).Body); got != `[{"reporter_name":null}]` {
			t.Errorf("a viewer sees the name: %s", got)
		}
		if got := first(t, k, "/v1/audit?select=key_id&action=eq.incidents.insert&entity_id=eq."+in.ID+"&tenant_id=eq."+demo.North,
			"key_id"); got != "report-link:"+link {
			t.Errorf("audit names %s", got)
		}
		told := 0
		testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query("SELECT COUNT(*) FROM outbox WHERE type = 'incident.reported' AND data LIKE '%' || $1 || '%'",
				[]any{in.ID}, func(r *db.Row) error {
					told = int(r.Int(0))
					return nil
				})
		}))
		if told != 1 {
			t.Errorf("%d events tell of it, want 1", told)
		}
		if r := p.send(pngPicture(t, 40, 30), fields...); numberShown.FindString(string(r.Body)) != no {
			t.Errorf("sent twice: %d %s", r.Status, r.Body)
		}
		fields[7] = "Something else"
		if r := p.send(nil, fields...); r.Status != 200 || numberShown.FindString(string(r.Body)) == no {
			t.Errorf("gone back and written anew: %d %s", r.Status, r.Body)
		}
		if r := p.send(nil, "once", p.once(), "kind", "hazard", "severity", "low", "what", "Loose strip"); r.Status != 200 {
			t.Errorf("without photo and name: %d", r.Status)
		} else if got := string(k.Get(safety, "/v1/incidents?select=anonymous,reported_by,created_by&incident_no=eq."+
			numberShown.FindString(string(r.Body))).Body); got != `[{"anonymous":true,"reported_by":null,"created_by":null}]` {
			t.Errorf("anonymous: %s", got)
		}
	})
}

// How bad something could have been is never how bad it was: the page asks the one of an
// injury and the other of everything else. The place is a zone by its code, else words.
func TestReportPageSeverity(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		zone := first(t, k, "/v1/zones?select=id,site_id&code=eq.DOCK-3&tenant_id=eq."+demo.North, "id")
		site := first(t, k, "/v1/zones?select=site_id&code=eq.DOCK-3&tenant_id=eq."+demo.North, "site_id")
		other := first(t, k, "/v1/sites?select=id&id=neq."+site+"&tenant_id=eq."+demo.North, "id")
		here, _ := newReportPage(t, k, map[string]any{"name": "Hall", "site_id": site})
		there, _ := newReportPage(t, k, map[string]any{"name": "Other hall", "site_id": other})
		type incident struct {
			Kind, Severity, Description string
			Potential                   *string `json:"potential_severity"`
			Zone                        *string `json:"zone_id"`
			Site                        string  `json:"site_id"`
		}
		report := func(p reportPage, kind, where string) incident {
			t.Helper()
			r := p.send(nil, "once", p.once(), "kind", kind, "severity", "high", "where", where, "what", "It is said")
			var rows []incident
			k.Get(safety, "/v1/incidents?select=*&incident_no=eq."+numberShown.FindString(string(r.Body))).JSON(t, &rows)
			if r.Status != 200 || len(rows) != 1 {
				t.Fatalf("%s: %d %s", kind, r.Status, r.Body)
			}
			return rows[0]
		}
		for _, kind := range []string{"near_miss", "hazard", "property_damage", "environmental"} {
			if in := report(here, kind, ""); in.Kind != kind || in.Severity != "low" || in.Potential == nil ||
				*in.Potential != "high" {
				t.Errorf("%s: %+v", kind, in)
			}
		}
		if in := report(here, "injury", "dock-3"); in.Severity != "high" || in.Potential != nil || in.Zone == nil ||
			*in.Zone != zone ||
			in.Site != site || in.Description != "It is said" {
			t.Errorf("an injury at a zone: %+v", in)
		}
		if in := report(here, "hazard", "by  the canteen"); in.Zone != nil ||
			in.Description != "It is said\n\nWhere: by the canteen" {
			t.Errorf("a place in words: %+v", in)
		}
		if in := report(there, "hazard", "DOCK-3"); in.Zone != nil || in.Site != other ||
			!strings.HasSuffix(in.Description, "Where: DOCK-3") {
			t.Errorf("a zone of another site: %+v", in)
		}
	})
}

// What is refused is said on the page, keeps what was typed and writes nothing.
func TestReportPageRefuses(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, link := newReportPage(t, k, map[string]any{"name": "Gate"})
		count := func() string {
			return k.Call(testkit.Request{Method: "GET", Path: "/v1/incidents?select=id&limit=1", As: testkit.As(actor.Safety),
				Header: map[string]string{"Prefer": "count=exact"}}).Header.Get("Content-Range")
		}
		before, kept := count(), files(t, k)
		ok := func(more ...string) []string {
			return append([]string{"once", p.once(), "kind", "hazard", "severity", "low", "what", "Kept <words>"}, more...)
		}
		for _, c := range []struct {
			what   string
			r      testkit.Response
			status int
			say    string
		}{
			{"nothing", p.send(nil), 400, "Something is missing"}, {"a kind that the page does not ask about",
				p.send(nil, "once", p.once(), "kind", "security", "severity", "low", "what", "Kept <words>"), 400,
				"Kept &lt;words&gt;"},
			{"201 characters of a place", p.send(nil, ok("where", strings.Repeat("ä", 201))...), 400, "At most 200"},
			{"the future", p.send(nil, ok("when", "2999-01-01T10:00")...), 400, "past year"},
			{"no time", p.send(nil, ok("when", "soon")...), 400, "past year"},
			{"5,001 characters", p.send(nil, "once", p.once(), "kind", "hazard", "severity", "low", "what",
				strings.Repeat("ä", 5001)), 400, "5,000"},
			{"a machine", p.send(nil, ok("website", "http://spam.example")...), 400, "machine"},
			{"a zip", p.send([]byte("PK\x03\x04"), ok()...), 415, "not a photo"},
			{"a broken photo", p.send([]byte("\xff\xd8\xff\xe0 broken"), ok()...), 400, "cannot be read"},
			{"16 MB", p.send(make([]byte, 16<<20), ok()...),
				413, "too large"},
			{"JSON", k.Call(testkit.Request{Method: "POST", Path: p.path, Body: "{}"}), 415, "<form"}, {"no such link",
				k.Call(testkit.Request{Method: "GET", Path: "/r/abc"}), 404, "does not exist"},
			{"another tenant's secret", k.Call(testkit.Request{Method: "GET", Path: p.path[:len(p.path)-4] + "AAAA"}), 404,
				"does not exist"}, {"PUT",
				k.Call(testkit.Request{Method: "PUT", Path: p.path, Body: "x"}), 405, ""},
		} {
			if c.r.Status != c.status || !strings.Contains(string(c.r.Body), c.say) {
				t.Errorf("%s: %d %.600s, want %d with %q", c.what, c.r.Status, c.r.Body, c.status, c.say)
			}
		}
		if count() != before || files(t, k) != kept {
			t.Errorf("incidents %s -> %s, files %d -> %d: something was written", before, count(), kept, files(t, k))
		}
		gone := func(what string) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "GET", Path: p.path}); r.Status != 404 {
				t.Errorf("%s: %d", what, r.Status)
			}
		}
		patch := func(path string, body any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: path, As: testkit.As(actor.Admin),
				Body: body}); r.Status != 204 {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		patch("/v1/settings?key=eq.public_reports", map[string]any{"value": false})
		gone("switched off")
		patch("/v1/settings?key=eq.public_reports", map[string]any{"value": true})
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/settings?key=eq.public_reports",
			As:   testkit.As(actor.Admin),
			Body: map[string]any{"value": "yes"}}); r.Status != 422 {
			t.Errorf("a switch that is neither: %d %s", r.Status, r.Body)
		}
		p.once()
		patch("/v1/report_links?id=eq."+link, map[string]any{"status": "disabled"})
		gone("disabled")
		patch("/v1/report_links?id=eq."+link, map[string]any{"status": "active"})
		for _, c := range []struct {
			as     string
			status int
		}{{testkit.As(actor.Operator), 403}, {testkit.As(actor.Manager), 403}, {"admin@south.example", 404},
			{testkit.As(actor.Safety), 200}} {
			if r := k.Post(c.as, "/v1/report-links/"+link+"/rotate", nil); r.Status != c.status {
				t.Errorf("%s rotates: %d %s, want %d", c.as, r.Status, r.Body, c.status)
			}
		}
		gone("rotated")
	})
}

// A code leads to the page, and leaders alone get it.
func TestReportCodes(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		_, link := newReportPage(t, k, map[string]any{"name": "Gate 7"})
		for ext, kind := range map[string]string{"svg": "image/svg+xml", "png": "image/png"} {
			r := k.Get(testkit.As(actor.Manager), "/v1/report-links/"+link+"/qr."+ext)
			if r.Status != 200 || r.Header.Get("Content-Type") != kind ||
				!strings.Contains(r.Header.Get("Content-Disposition"), "report-gate-7."+ext) ||
				len(r.Body) < 300 {
				t.Errorf("%s: %d %v", ext, r.Status, r.Header)
			}
			if r := k.Get(testkit.As(actor.Operator), "/v1/report-links/"+link+"/qr."+ext); r.Status != 403 {
				t.Errorf("an operator's %s: %d", ext, r.Status)
			}
		}
		if r := k.Post(testkit.As(actor.Admin), "/v1/report_links",
			map[string]any{"name": "x", "token": "mine"}); r.Status != 400 {
			t.Errorf("a token of one's own: %d %s", r.Status, r.Body)
		}
	})
}

// One address may send a few reports a minute; another place's page stays open
// to others.
func TestReportLimits(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		once := p.once()
		var mu sync.Mutex
		statuses := map[int]int{}
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				r := p.send(nil, "once", once, "kind", "hazard", "severity", "low", "what", fmt.Sprintf("Report %d", i))
				mu.Lock()
				defer mu.Unlock()
				if statuses[r.Status]++; r.Status == http.StatusTooManyRequests &&
					(r.Header.Get("Retry-After") == "" || !strings.Contains(string(r.Body), "Too many reports")) {
					t.Errorf("429: %v %s", r.Header, r.Body)
				}
			})
		}
		wg.Wait()
		if statuses[200] > 10 || statuses[200] < 1 || statuses[429] < 2 || statuses[200]+statuses[429] != 12 {
			t.Errorf("12 reports at once: %v", statuses)
		}
	}, testkit.Limited)
}
