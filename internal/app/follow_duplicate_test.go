package app_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// duplicates are reports of the page, some of which are void as duplicates of others.
type duplicates struct {
	reportPage
}

// sendOne sends a report and returns its incident's id, number and code.
func (d duplicates) sendOne() (id, no, code string) {
	d.t.Helper()
	no, code = d.sendReport()
	return first(d.t, d.k, "/v1/incidents?select=id&incident_no=eq."+no+"&tenant_id=eq."+demo.North, "id"), no, code
}

func (d duplicates) change(id string, body map[string]any) {
	d.t.Helper()
	r := d.k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + id, As: testkit.As(actor.Safety),
		Body: body})
	if r.Status != 204 {
		d.t.Fatalf("%v: %d %s", body, r.Status, r.Body)
	}
}

func (d duplicates) makeDuplicate(id, of string) {
	d.t.Helper()
	d.change(id, map[string]any{"status": "void", "duplicate_of": of})
}

// endBefore ends an incident so many days ago, as only time does.
func (d duplicates) endBefore(id, status string, days int) {
	d.t.Helper()
	at := d.k.App.Store.Now().Add(-time.Duration(days) * 24 * time.Hour)
	testkit.Must(d.t, d.k.App.DB.Write(d.t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE incidents SET status = $2, closed_at = $3, updated_at = $3 WHERE id = $1", id, status, at)
		return err
	}))
}

// expectPage fails when the page of a code does not have these words, or has those.
func (d duplicates) expectPage(what string, r testkit.Response, has, hasNot []string) {
	d.t.Helper()
	text := string(r.Body)
	for _, w := range has {
		if r.Status != 200 || !strings.Contains(text, w) {
			d.t.Errorf("%s: %d without %q: %s", what, r.Status, w, text)
		}
	}
	for _, w := range hasNot {
		if strings.Contains(text, w) {
			d.t.Errorf("%s: %q is shown: %s", what, w, text)
		}
	}
}

// Who reported what somebody else had reported learns that it is pursued there, and how far,
// as long as that goes on; of the other report nothing else.
func TestReportFollowUpOfDuplicate(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		d := duplicates{p}
		original, originalNo, _ := d.sendOne()
		between, betweenNo, _ := d.sendOne()
		own, no, code := d.sendOne()
		d.change(original, map[string]any{"status": "triaged"})
		k.Insert(t, testkit.As(actor.Safety), "actions", map[string]any{"title": "Mend it", "incident_id": original,
			"due_on": "2099-01-01"})
		others := []string{originalNo, betweenNo, "not pursued", "Mend it"}
		d.makeDuplicate(own, original)
		handled := []string{no, "It is handled with an earlier report. It has been looked at.",
			"<dt>Still to be done</dt><dd>1</dd>"}
		d.expectPage("a duplicate", p.follow("code", code), handled, others)
		d.change(own, map[string]any{"duplicate_of": between})
		d.makeDuplicate(between, original)
		d.expectPage("through another", p.follow("code", code), handled, others)
		d.endBefore(own, "void", 91)
		d.endBefore(between, "void", 91)
		d.expectPage("the original goes on after 91 days", p.follow("code", code), handled, others)
		d.expectPage("words added", p.follow("code", code, "words", "Still loose"),
			append(handled, "It is with your report"), others)
		d.endBefore(original, "closed", 89)
		d.expectPage("the original is closed", p.follow("code", code), []string{no, "earlier report. It is closed."}, others)
		d.endBefore(original, "closed", 91)
		if r := p.follow("code", code); r.Status != 404 {
			t.Errorf("all ended 91 days ago: %d %s", r.Status, r.Body)
		}
		d.endBefore(own, "void", 1)
		d.expectPage("void since yesterday", p.follow("code", code), []string{no, "earlier report. It is closed."}, others)
		d.endBefore(original, "void", 91)
		d.change(original, map[string]any{"duplicate_of": own})
		d.expectPage("a circle", p.follow("code", code), []string{no, "<p id=\"standing\">It is not pursued.</p>"},
			[]string{originalNo, betweenNo, "earlier report"})
	})
}

// A report that names another and is not void is pursued by itself.
func TestReportFollowUpNamesAnother(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		p, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		d := duplicates{p}
		original, _, _ := d.sendOne()
		own, no, code := d.sendOne()
		d.endBefore(original, "closed", 1)
		d.change(own, map[string]any{"duplicate_of": original})
		d.expectPage("named", p.follow("code", code), []string{no, "not looked at yet"}, []string{"earlier report"})
		d.change(own, map[string]any{"status": "void", "duplicate_of": nil, "void_reason": "A drill"})
		d.expectPage("void by itself", p.follow("code", code), []string{no, "It is not pursued."}, []string{"earlier report"})
	})
}
