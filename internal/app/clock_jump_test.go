package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// A clock that was two hours ahead is put right: what was written meanwhile is read and
// changed, people sign in, no limit is used up for hours, and the audit log is whole. Tokens
// of the time ahead count for nothing until it has come.
func TestClockThatWasAhead(t *testing.T) {
	as := testkit.As(actor.Admin)
	for _, e := range []db.Engine{db.SQLite, db.PostgreSQL} {
		t.Run(string(e), func(t *testing.T) {
			c := testkit.Settings(t, e, testkit.Limited)
			token := ""
			at := time.Now().Add(2 * time.Hour)
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(at))
				k := openClocked(t, c)
				k.signIn(as)
				k.addZone("AHEAD", http.StatusCreated)
				k.passed(210, 200) // its window is used up
				token = k.token
			})

			k := openClocked(t, c)
			k.token = token
			if w := k.call("GET", "/v1/zones?limit=1", ""); w.Code != http.StatusUnauthorized {
				t.Errorf("a token of the time ahead: %d %s", w.Code, w.Body)
			}
			k.signIn(as)
			if passed, _ := k.passed(5, 200); passed != 5 {
				t.Errorf("%d of 5 requests passed", passed)
			}
			k.addZone("BEHIND", http.StatusCreated)
			k.addZone("BEHIND", http.StatusConflict)
			w := k.call("PATCH", "/v1/zones?code=eq.AHEAD", `{"name":"put right"}`)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"version":2`) {
				t.Errorf("a change of what was made ahead: %d %s", w.Code, w.Body)
			}
			if err := k.app.Identity.Admin.SealAudit(t.Context()); err != nil {
				t.Errorf("the audit log is not sealed: %v", err)
			}
			reports, err := k.app.Identity.Admin.VerifyAudit(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range reports {
				if !r.Whole() {
					t.Errorf("the audit log of %s: %+v", r.TenantID, r.Breaks)
				}
			}
		})
	}
}

func (k *clocked) addZone(code string, want int) {
	k.Helper()
	body := fmt.Sprintf(`{"code":%q,"name":"Zone %s","kind":"area"}`, code, code)
	if w := k.call("POST", "/v1/zones", body); w.Code != want {
		k.Errorf("zone %s: %d %s, want %d", code, w.Code, w.Body, want)
	}
}
