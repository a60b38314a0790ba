package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/api/auth"
	ssoapi "holdfast/internal/api/sso"
	"holdfast/internal/config"
	"holdfast/internal/testkit"
)

// An id in a path of identity that is no UUID is a 404 that says so, one way
// wherever it stands; in whatever case it is written, it is one id.
func TestPathIDs(t *testing.T) {
	type place struct {
		method, pattern string
		service         bool
	}
	var places []place
	for _, r := range new(auth.API).Routes() {
		places = append(places, place{r.Method, r.Pattern, r.Who.ServiceKey()})
	}
	for _, r := range new(ssoapi.API).Routes() {
		// What browsers are led to answers with a redirect, directories by RFC 7644.
		if !r.Who.Anyone() && !strings.HasPrefix(r.Pattern, "/auth/v1/scim/") {
			places = append(places, place{r.Method, r.Pattern, r.Who.ServiceKey()})
		}
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		asked := 0
		for _, p := range places {
			parts := strings.Split(p.pattern, "/")
			for i, part := range parts {
				if !strings.HasSuffix(part, "id}") {
					continue
				}
				asked++
				path := func(id string) string {
					out := append([]string{}, parts...)
					for j := range out {
						switch {
						case out[j] == "{domain}":
							out[j] = "corp.example"
						case strings.HasPrefix(out[j], "{"):
							out[j] = uuid.NewString()
						}
					}
					out[i] = id
					return strings.Join(out, "/")
				}
				q := testkit.Request{Method: p.method, As: testkit.As(actor.Owner), Body: map[string]any{}}
				if p.service {
					q.As, q.Bearer = "", k.Service()
				}
				code := func(id string) (status int, code string) {
					q.Path = path(id)
					r := k.Call(q)
					var out struct {
						Code string `json:"error_code"`
					}
					_ = json.Unmarshal(r.Body, &out)
					return r.Status, out.Code
				}
				refused := "validation_failed"
				if strings.HasPrefix(p.pattern, "/auth/v1/admin/sso/") { // GoTrue knows them by other names too
					refused = "sso_provider_not_found"
				}
				whole := uuid.NewString()
				for _, id := range []string{"x", whole[:35], whole + "0", strings.ReplaceAll(whole, "-", ""),
					"%7B" + whole + "%7D", "urn:uuid:" + whole} {
					if status, code := code(id); status != 404 || code != refused {
						t.Errorf("%s %s with %s: %d %s", p.method, p.pattern, id, status, code)
					}
				}
				if status, code := code(strings.ToUpper(whole)); status >= 500 || status == 404 && code == "validation_failed" {
					t.Errorf("%s %s with a UUID: %d %s", p.method, p.pattern, status, code)
				}
			}
		}
		if asked < 30 {
			t.Errorf("%d ids in the paths of %d routes", asked, len(places))
		}
	}, func(c *config.Config) { c.SAML, c.ManualLinking = true, true })
}
