package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// On a listener that others reach, credentials are taken over TLS only: a
// client's own word for it counts for nothing, whatever proxies there are.
func TestCredentialsNeedTLS(t *testing.T) {
	k := testkit.New(t, db.SQLite, func(c *config.Config) {
		c.Listen, c.TrustedProxies = "0.0.0.0:8080", []string{"10.1.0.0/16"}
	})
	h, err := k.App.Handler(nil)
	testkit.Must(t, err)
	for _, c := range []struct {
		says, peer string
		proto      []string
		status     int
	}{
		{"a client in the clear", "192.0.2.7:4711", nil, 403},
		{"a client that claims TLS", "192.0.2.7:4711", []string{"https"}, 403},
		{"a neighbour of the proxy that claims TLS", "10.2.0.1:4711", []string{"https"}, 403},
		{"the proxy, in the clear", "10.1.0.1:4711", []string{"http"}, 403},
		{"the proxy, without a word", "10.1.0.1:4711", nil, 403},
		{"the proxy, after a client's claim", "10.1.0.1:4711", []string{"https", "http"}, 403},
		{"the proxy, behind a client's claim", "10.1.0.1:4711", []string{"https, http"}, 403},
		{"the proxy, over TLS", "10.1.0.1:4711", []string{"https"}, 200},
		{"the proxy, seen through IPv6", "[::ffff:10.1.0.1]:4711", []string{"HTTPS"}, 200},
	} {
		r := httptest.NewRequest("POST", "/auth/v1/token?grant_type=password",
			strings.NewReader(`{"email":"owner@north.example","password":"holdfast-demo"}`))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-Proto"] = c.proto
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || c.status == http.StatusForbidden && !strings.Contains(w.Body.String(), "https_required") {
			t.Errorf("%s: %d %s", c.says, w.Code, w.Body)
		}
		shared := httptest.NewRequest("GET", "/shared/x", nil)
		shared.RemoteAddr = c.peer
		shared.Header["X-Forwarded-Proto"] = c.proto
		w = httptest.NewRecorder()
		h.ServeHTTP(w, shared)
		if isRefused := strings.Contains(w.Body.String(), "https_required"); isRefused != (c.status == http.StatusForbidden) {
			t.Errorf("%s, a shared document: %d %s", c.says, w.Code, w.Body)
		}
	}
}
