package route

import (
	"net/http/httptest"
	"testing"

	"holdfast/internal/fault"
)

// A client learns from code and challenge whether to refresh its token or to
// sign in.
func TestTokenFaults(t *testing.T) {
	r := httptest.NewRequest("GET", "/v1/zones", nil)
	for _, c := range []struct{ code, msg, want, challenge string }{
		{"PGRST302", "sign in", "PGRST302", "Bearer"},
		{"bad_jwt", `invalid JWT: "x"`, "PGRST301", `Bearer error="invalid_token", error_description="the token is not valid"`},
		{"bad_jwt", "invalid JWT: token has invalid claims: token is expired", "PGRST303",
			`Bearer error="invalid_token", error_description="invalid JWT: token has invalid claims: token is expired"`},
		{"PGRST301", `no "x"`, "PGRST301", `Bearer error="invalid_token", error_description="no 'x'"`},
		{"bad_jwt", "invalid claim: missing sub claim", "PGRST303",
			`Bearer error="invalid_token", error_description="invalid claim: missing sub claim"`},
	} {
		reply := CollectionShape(r, fault.New(fault.Unauthorized, c.code, "%s", c.msg))
		body, ok := reply.Body.(collectionError)
		if got := reply.Header.Get("WWW-Authenticate"); !ok || reply.Status != 401 || body.Code != c.want ||
			got != c.challenge {
			t.Errorf("%s: %d %s, %s", c.msg, reply.Status, body.Code, got)
		}
	}
}
