package app_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/testkit"
)

// Evidence of an action and attachments of an incident have a form, and what has
// another is refused with the place.
func TestEvidenceHasAForm(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const safety = "safety@north.example"
		send := func(path, body string) testkit.Response {
			return k.Call(testkit.Request{Method: "POST", Path: path, As: safety, Body: body, Header: map[string]string{"Prefer": "return=representation"}})
		}
		action := func(evidence string) testkit.Response {
			return send("/v1/actions?select=evidence", `{"title":"Fix the rail","due_on":"2030-01-01","evidence":`+evidence+`}`)
		}
		incident := func(attachments string) testkit.Response {
			return send("/v1/incidents?select=attachments",
				`{"kind":"hazard","severity":"low","title":"Wet floor","occurred_at":"2026-01-05T08:00:00Z","attachments":`+attachments+`}`)
		}
		for _, c := range []struct {
			r    testkit.Response
			path string // of what is refused, "" = taken
		}{
			{action(`[{"kind":"note","text":"Checked on site."},{"kind":"document","url":"https://x.example/1.pdf","pages":3}]`), ""},
			{action(`["photo"]`), "[0]"},
			{action(`[{"kind":"note"},{"text":"no kind"}]`), "[1].kind"},
			{action(`[{"kind":"rumour"}]`), "[0].kind"},
			{action(`[{"kind":"note","text":7}]`), "[0].text"},
			{action(`{"kind":"note"}`), "evidence"},
			{incident(`[{"name":"plan.pdf","url":"https://x.example/plan.pdf"}]`), ""},
			{incident(`[{"url":"https://x.example/plan.pdf"}]`), "[0].name"},
			{incident(`["plan.pdf"]`), "[0]"},
		} {
			switch taken := c.r.Status == http.StatusCreated; {
			case c.path == "" && !taken:
				t.Errorf("refused: %d %s", c.r.Status, c.r.Body)
			case c.path != "" && (c.r.Status != http.StatusBadRequest || !strings.Contains(string(c.r.Body), "23514") || !strings.Contains(string(c.r.Body), c.path)):
				t.Errorf("%d %s, want 23514 at %s", c.r.Status, c.r.Body, c.path)
			}
		}
	})
}
