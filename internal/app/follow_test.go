package app_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

var codeShown = regexp.MustCompile(`code">([0-9A-Z-]{23})<`)

// sendReport sends a hazard and returns the incident's number and its code.
func (p reportPage) sendReport(more ...string) (no, code string) {
	p.t.Helper()
	fields := []string{"once", p.once(), "kind", "hazard", "severity", "low", "what", "Loose strip"}
	r := p.send(nil, append(fields, more...)...)
	m := codeShown.FindSubmatch(r.Body)
	if r.Status != 200 || m == nil {
		p.t.Fatalf("report: %d %s", r.Status, r.Body)
	}
	return numberShown.FindString(string(r.Body)), string(m[1])
}

// follow sends a code, and words when some are given.
func (p reportPage) follow(fields ...string) testkit.Response {
	p.t.Helper()
	body, kind := pictureForm(p.t, "photo", "x.jpg", nil, fields...)
	return p.k.Call(testkit.Request{Method: "POST", Path: p.path + "/status", Body: body,
		Header: map[string]string{"Content-Type": kind}})
}

// Who reported without an account sees with the code what became of it and adds to it; of
// an anonymous report the words keep no maker, address or moment either.
func TestReportFollowUp(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		p, link := newReportPage(t, k, map[string]any{"name": "Gate"})
		no, code := p.sendReport()
		id := first(t, k, "/v1/incidents?select=id&incident_no=eq."+no+"&tenant_id=eq."+demo.North, "id")
		shows := func(what string, r testkit.Response, words ...string) {
			t.Helper()
			for _, w := range append(words, no) {
				if r.Status != 200 || !strings.Contains(string(r.Body), w) {
					t.Errorf("%s: %d without %q: %s", what, r.Status, w, r.Body)
				}
			}
		}
		shows("new", p.follow("code", code), "not looked at yet", "<dd>0</dd>")
		typed := " " + strings.ToLower(strings.ReplaceAll(code, "-", " "))
		shows("as somebody types it", p.follow("code", typed), "not looked at yet")
		for _, a := range []string{"Screw the strip down", "Ask Wagner"} {
			k.Insert(t, safety, "actions", map[string]any{"title": a, "incident_id": id, "due_on": "2099-01-01"})
		}
		done := first(t, k, "/v1/actions?select=id&title=eq.Ask%20Wagner&incident_id=eq."+id, "id")
		change := func(path string, body any) {
			t.Helper()
			if r := k.Call(testkit.Request{Method: "PATCH", Path: path, As: safety, Body: body}); r.Status != 204 {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		change("/v1/actions?id=eq."+done, map[string]any{"status": "in_progress"})
		change("/v1/actions?id=eq."+done, map[string]any{"status": "done"})
		change("/v1/incidents?id=eq."+id, map[string]any{"status": "triaged"})
		r := p.follow("code", code)
		shows("with actions", r, "looked at", "<dt>Still to be done</dt><dd>1</dd><dt>Done</dt><dd>1</dd>")
		if text := string(r.Body); strings.Contains(text, "Wagner") || strings.Contains(text, "Loose strip") {
			t.Errorf("words of others are shown: %s", text)
		}
		shows("added", p.follow("code", code, "words", " Now it is <worse> "), "It is with your report")
		shows("sent twice", p.follow("code", code, "words", "Now it is <worse>"), "It is with your report")
		var rows []struct {
			Text     string
			ID       string
			By       *string   `json:"created_by"`
			Reporter bool      `json:"from_reporter"`
			At       time.Time `json:"created_at"`
		}
		k.Get(safety, "/v1/comments?select=*&incident_id=eq."+id).JSON(t, &rows)
		if len(rows) != 1 || rows[0].Text != "Now it is <worse>" || rows[0].By != nil || !rows[0].Reporter {
			t.Fatalf("comments %+v", rows)
		}
		if at := rows[0].At.In(berlin(t)); at.Hour() != 0 || at.Minute() != 0 || at.Second() != 0 {
			t.Errorf("the comment tells its moment: %v", at)
		}
		logged := "/v1/audit?select=key_id,actor_user_id,address,request_id&action=eq.comments.insert&entity_id=eq." + rows[0].ID
		want := `[{"key_id":"report-link:` + link + `","actor_user_id":null,"address":null,"request_id":null}]`
		if got := string(k.Get(safety, logged).Body); got != want {
			t.Errorf("audit %s", got)
		}
		for what, words := range map[string]string{"nothing": " ", "2,001 characters": strings.Repeat("ä", 2001)} {
			if r := p.follow("code", code, "words", words); r.Status != 400 ||
				!strings.Contains(string(r.Body), "at most 2,000") {
				t.Errorf("%s: %d %s", what, r.Status, r.Body)
			}
		}
		if got := string(k.Get(safety, "/v1/comments?select=id&incident_id=eq."+id).Body); strings.Count(got, "id") != 1 {
			t.Errorf("refused words were added: %s", got)
		}
		forged := map[string]any{"incident_id": id, "text": "x", "from_reporter": true}
		if r := k.Post(testkit.As(actor.Admin), "/v1/comments", forged); r.Status != 400 {
			t.Errorf("a member writes as the reporter: %d %s", r.Status, r.Body)
		}
	})
}

// A code that is wrong, late or another tenant's looks like one that there is not.
func TestReportFollowUpRefuses(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		no, code := p.sendReport()
		id := first(t, k, "/v1/incidents?select=id&incident_no=eq."+no+"&tenant_id=eq."+demo.North, "id")
		south := "admin@south.example"
		if r := k.Call(testkit.Request{Method: "POST", Path: "/v1/settings?on_conflict=key", As: south,
			Header: map[string]string{"Prefer": "resolution=merge-duplicates"},
			Body:   map[string]any{"section": "safety", "key": "public_reports", "value": true}}); r.Status >= 300 {
			t.Fatalf("south's pages: %d %s", r.Status, r.Body)
		}
		var links []struct{ Token string }
		k.Call(testkit.Request{Method: "POST", Path: "/v1/report_links", As: south, Body: map[string]any{"name": "South"},
			Header: map[string]string{"Prefer": "return=representation"}}).JSON(t, &links)
		foreign := reportPage{t, k, "/r/" + links[0].Token}
		missing := p.follow("code", strings.Repeat("A", 20))
		if missing.Status != 404 || !strings.Contains(string(missing.Body), "No report has this code") {
			t.Fatalf("missing: %d %s", missing.Status, missing.Body)
		}
		gone := func(what string, r testkit.Response) {
			t.Helper()
			text := string(r.Body)
			if r.Status != 404 || !strings.Contains(text, "No report has this code") || strings.Contains(text, no) {
				t.Errorf("%s: %d %s", what, r.Status, text)
			}
		}
		gone("another tenant's page", foreign.follow("code", code))
		gone("another tenant's page, with words", foreign.follow("code", code, "words", "x"))
		for _, bad := range []string{"", "A", code + "0", code[:22] + "U", strings.Repeat("é", 20), "' OR 1=1 --"} {
			gone(bad, p.follow("code", bad))
		}
		end := func(status string, days int) {
			t.Helper()
			at := k.App.Store.Now().Add(-time.Duration(days) * 24 * time.Hour)
			testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				_, err := tx.Exec("UPDATE incidents SET status = $2, closed_at = $3 WHERE id = $1", id, status, at)
				return err
			}))
		}
		end("closed", 89)
		if r := p.follow("code", code); r.Status != 200 || !strings.Contains(string(r.Body), "It is closed.") {
			t.Errorf("closed 89 days ago: %d %s", r.Status, r.Body)
		}
		end("closed", 91)
		gone("closed 91 days ago", p.follow("code", code))
		gone("closed 91 days ago, with words", p.follow("code", code, "words", "x"))
	})
}

// The code is kept nowhere and its digest is told to nobody.
func TestReportFollowUpIsKeptSecret(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		no, code := p.sendReport()
		plain, hash := strings.ReplaceAll(code, "-", ""), ""
		testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			return tx.Query("SELECT follow_hash FROM incidents WHERE incident_no = $1", []any{no}, func(r *db.Row) error {
				hash = r.Text(0)
				return nil
			})
		}))
		if len(hash) != 64 {
			t.Fatalf("digest %q", hash)
		}
		var told strings.Builder
		for _, path := range []string{"/v1/incidents?select=*&incident_no=eq." + no,
			"/v1/audit?select=*&order=at.desc&limit=50"} {
			told.Write(k.Get(testkit.As(actor.Admin), path).Body)
		}
		told.Write(k.Call(testkit.Request{Method: "GET", Path: "/v1/incidents?incident_no=eq." + no,
			As:     testkit.As(actor.Safety),
			Header: map[string]string{"Accept": "text/csv"}}).Body)
		testkit.Must(t, k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			for _, sql := range []string{"SELECT data FROM outbox", "SELECT COALESCE(after, '') FROM audit"} {
				if err := tx.Query(sql, nil, func(r *db.Row) error { told.WriteString(r.Text(0)); return nil }); err != nil {
					return err
				}
			}
			return nil
		}))
		for what, secret := range map[string]string{"code": code, "plain code": plain, "digest": hash} {
			if strings.Contains(told.String(), secret) {
				t.Errorf("the %s is told", what)
			}
		}
		if !strings.Contains(told.String(), no) {
			t.Error("the report is in nothing that was looked at")
		}
		for _, query := range []string{"follow_hash=eq." + hash, "order=follow_hash"} {
			if r := k.Get(testkit.As(actor.Admin), "/v1/incidents?"+query); r.Status < 400 {
				t.Errorf("%s: %d", query, r.Status)
			}
		}
		asked := "/v1/incidents?select=follow_hash&incident_no=eq." + no
		if got := string(k.Get(testkit.As(actor.Admin), asked).Body); got != `[{"follow_hash":null}]` {
			t.Errorf("asked for the digest: %s", got)
		}
	})
}

// Guesses are limited, and keep nobody from reporting.
func TestReportFollowUpLimits(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		statuses := map[int]int{}
		for range 12 {
			statuses[p.follow("code", strings.Repeat("A", 20)).Status]++
		}
		if statuses[http.StatusTooManyRequests] < 2 || statuses[http.StatusNotFound] < 1 || len(statuses) != 2 {
			t.Errorf("12 guesses: %v", statuses)
		}
		_, code := p.sendReport()
		if r := p.follow("code", code); r.Status != http.StatusTooManyRequests {
			t.Errorf("a guesser is told which code is right: %d", r.Status)
		}
	}, testkit.Limited)
}

// Who holds a code looks and adds as often as somebody would; what is refused is shown again
// with what was typed, since this page keeps no draft.
func TestReportFollowUpKeepsWords(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		_, code := p.sendReport()
		for i := range 20 {
			fields := []string{"code", code}
			if i%2 == 1 {
				fields = append(fields, "words", "Word "+strconv.Itoa(i))
			}
			if r := p.follow(fields...); r.Status != 200 {
				t.Fatalf("use %d of a right code: %d %s", i+1, r.Status, r.Body)
			}
		}
		keeps := func(what string, status int, r testkit.Response, message string) {
			t.Helper()
			for _, kept := range []string{`value="` + code + `"`, ">It drips &lt;again&gt;</textarea>", message,
				"<title>What became of a report</title>", "<h1>What became of a report</h1>"} {
				if r.Status != status || !strings.Contains(string(r.Body), kept) {
					t.Errorf("%s: %d without %s: %s", what, r.Status, kept, r.Body)
				}
			}
		}
		refused := testkit.Response{}
		for range 60 {
			if refused = p.follow("code", code, "words", "It drips <again>"); refused.Status != 200 {
				break
			}
		}
		keeps("past the limit", 429, refused, "what you typed stays in the form")
		if refused.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		p.sendReport()
	}, testkit.Limited)
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		wrong := strings.Repeat("A", 20)
		r := p.follow("code", wrong, "words", "It drips")
		for _, kept := range []string{`value="` + wrong + `"`, ">It drips</textarea>", "No report has this code"} {
			if r.Status != 404 || !strings.Contains(string(r.Body), kept) {
				t.Errorf("a wrong code: %d without %s: %s", r.Status, kept, r.Body)
			}
		}
		r = p.follow("code", wrong, "words", strings.Repeat("x", 70_000))
		if r.Status != 413 || !strings.Contains(string(r.Body), "at most 2,000 characters") {
			t.Errorf("70,000 characters: %d %s", r.Status, r.Body)
		}
		gone := reportPage{t, k, "/r/nothing"}
		if r := gone.follow("code", wrong); r.Status != 404 || !strings.Contains(string(r.Body), "does not exist") {
			t.Errorf("a page that there is not: %d %s", r.Status, r.Body)
		}
	})
}
