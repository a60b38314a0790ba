package auth_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/internal/api/route"
	"holdfast/internal/fault"
)

// A request that the database did not answer in time is told so, with a status
// that auth-js tries again; so is one that waited for a password to be hashed.
func TestTimeout(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		sess := s.signUp("a@x.example")
		late, stop := context.WithTimeout(context.Background(), -time.Second)
		defer stop()
		gone, leave := context.WithCancel(context.Background())
		leave()
		h := s.face(route.Windows{})
		for name, ctx := range map[string]context.Context{"late": late, "gone": gone} {
			ask := func(method, path, body string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(ctx, method, "/auth/v1"+path, strings.NewReader(body))
				r.Header.Set("X-Supabase-Api-Version", "2024-01-01")
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w
			}
			for _, body := range []string{`{"refresh_token":"` + sess["refresh_token"].(string) + `"}`,
				`{"email":"a@x.example","password":"` + pw + `"}`} {
				w := ask("POST", "/token", body)
				var got struct{ Code string }
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 504 || got.Code != "request_timeout" ||
					w.Header().Get("X-Sb-Error-Code") != got.Code || w.Header().Get("Retry-After") == "" {
					s.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
				}
			}
			to, err := url.Parse(ask("GET", "/verify?type=signup&token=x", "").Header().Get("Location"))
			if err != nil || !strings.Contains(to.Fragment, "error_code=request_timeout") ||
				!strings.Contains(to.Fragment, "error=temporarily_unavailable") {
				s.Errorf("%s: led to %v, %v", name, to, err)
			}
		}
		waited := fault.New(fault.Unavailable, "request_timeout", "the request was cancelled")
		if r := route.IdentityShape(httptest.NewRequest("POST", "/", nil), waited); r.Status != 504 {
			s.Errorf("%+v", r)
		}
	})
}
