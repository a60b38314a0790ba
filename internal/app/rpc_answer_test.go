package app_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A verb's answer is chosen from as PostgREST does from the one row of a function;
// what cannot be answered is refused before anything is done.
func TestVerbAnswerIsChosenFrom(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as := testkit.As(actor.Manager)
		k.Insert(t, as, "zones", map[string]any{"code": "CHOOSE", "name": "Here"})
		for path, want := range map[string]string{
			"select=kind":          `{"kind":"zone"}`,
			"select=what:kind,uom": `{"what":"zone","uom":null}`,
			"select=kind&kind=eq.zone&order=kind.desc&limit=5":          `{"kind":"zone"}`,
			"select=kind&kind=neq.zone":                                 `null`,
			"select=kind&kind=in.(lot,zone)&uom=is.null":                `{"kind":"zone"}`,
			"select=kind&uom=eq.pcs":                                    `null`,
			"select=kind&kind=not.eq.zone":                              `null`,
			"select=kind&or=(kind.eq.item,and(kind.gte.z,uom.is.null))": `{"kind":"zone"}`,
			"select=kind&not.or=(kind.eq.zone,kind.eq.lot)":             `null`,
			"select=kind&limit=0":                                       `null`,
			"select=kind&offset=1":                                      `null`,
		} {
			post := k.Call(testkit.Request{Method: "POST", Path: "/v1/rpc/scan?" + path, As: as,
				Body: map[string]any{"code": "CHOOSE"}})
			get := k.Call(testkit.Request{Method: "GET", Path: "/rest/v1/rpc/scan?code=CHOOSE&" + path, As: as})
			for _, got := range []testkit.Response{post, get} {
				if got.Status != http.StatusOK || string(got.Body) != want {
					t.Errorf("%s: %d %s, want %s", path, got.Status, got.Body, want)
				}
			}
		}
		order := begin(t, k, "orders", "confirmed")
		for path, words := range map[string]string{
			"select=kinds":                     "kinds",
			"select=order_lines(qty)":          "embedded",
			"select=count()":                   "columns",
			"select=dry_run::text":             "columns",
			"order=nothing":                    "nothing",
			"nothing=eq.1":                     "nothing",
			"and=(nothing.eq.1)":               "nothing",
			"lines.limit=1":                    "lines.limit",
			"limit=-1":                         "limit",
			"limit=x":                          "limit",
			"dry_run=eq.perhaps":               "dry_run",
			"dry_run=like.t*":                  "filtered by",
			"select=dry_run&dry_run=is.broken": "is compares",
		} {
			a := k.Call(testkit.Request{Method: "POST", Path: "/v1/rpc/hold_order?" + path, As: as,
				Body: map[string]any{"order_id": order, "reason": "wait"}})
			if a.Status < 400 || a.Status >= 500 || !strings.Contains(string(a.Body), words) {
				t.Errorf("%s: %d %s, want a 4xx with %s", path, a.Status, a.Body, words)
			}
		}
		if n := k.Counted(t, "orders WHERE status = 'on_hold' AND id = '"+order+"'"); n != 0 {
			t.Errorf("%d orders are held by requests that were refused", n)
		}
		held := k.Call(testkit.Request{Method: "POST", Path: "/v1/rpc/hold_order?select=dry_run&dry_run=is.true", As: as,
			Body: map[string]any{"order_id": order, "reason": "wait", "dry_run": true}})
		if held.Status != http.StatusOK || string(held.Body) != `{"dry_run":true}` {
			t.Errorf("a dry run chosen from: %d %s", held.Status, held.Body)
		}
	})
}
