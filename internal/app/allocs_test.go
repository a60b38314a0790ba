package app_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/dbtest"
)

// The two paths that a browser takes the most allocate what is recorded, from
// the request's line to the answer's last byte: no database is asked.
func TestAllocations(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		h, err := k.App.Handler(nil)
		testkit.Must(t, err)
		bearer := k.Token(testkit.As(actor.Manager))
		get := func(path, kept string) func() {
			return func() {
				q := httptest.NewRequest(http.MethodGet, path, nil)
				q.Header.Set("Authorization", "Bearer "+bearer)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, q)
				if w.Code != http.StatusOK || w.Header().Get("X-Cache") != kept {
					t.Fatalf("%s: %d %s %s", path, w.Code, w.Header(), w.Body)
				}
			}
		}
		get("/functions/v1/get-dashboard-snapshot-v2", "MISS")()
		dbtest.Allocates(t, "kept answer", 46, get("/functions/v1/get-dashboard-snapshot-v2", "HIT"))
		dbtest.Allocates(t, "GET /user", 47, get("/auth/v1/user", ""))
	})
}
