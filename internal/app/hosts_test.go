package app

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/internal/config"
	"holdfast/internal/web"
)

// statusFor is what h answers to a GET for a host.
func statusFor(h http.Handler, host, path string) int {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	r.Host = host
	h.ServeHTTP(w, r)
	return w.Code
}

// The listener for HTTP-01 sends a browser on to https where the name has a certificate,
// and answers no other name.
func TestChallengesAnswerOwnNames(t *testing.T) {
	a := newACME(&config.Config{TLSDomains: []string{"WMS.example.com", "ehs.example.com"}, Data: t.TempDir()})
	for host, want := range map[string]int{
		"wms.example.com":       http.StatusFound,
		"wms.example.com:80":    http.StatusFound,
		"EHS.example.com.":      http.StatusFound,
		"evil.example":          http.StatusMisdirectedRequest,
		"wms.example.com.evil":  http.StatusMisdirectedRequest,
		"203.0.113.7":           http.StatusMisdirectedRequest,
		"":                      http.StatusMisdirectedRequest,
		"evil@wms.example.com":  http.StatusMisdirectedRequest,
		"wms.example.com/@evil": http.StatusMisdirectedRequest,
	} {
		for _, path := range [...]string{"/", "/.well-known/acme-challenge/x"} {
			if got := statusFor(a.challenges(), host, path); got != want && (path == "/" || want != http.StatusFound) {
				t.Errorf("%q %s: %d, want %d", host, path, got, want)
			}
		}
	}
}

// The operator's listener answers this machine's names alone: a page of a stranger whose
// name is turned to 127.0.0.1 reads no memory.
func TestAdminAnswersThisMachine(t *testing.T) {
	h := web.ForHosts(web.IsThisMachine, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	for host, want := range map[string]int{
		"localhost:9090":      http.StatusOK,
		"127.0.0.1:9090":      http.StatusOK,
		"127.1.2.3":           http.StatusOK,
		"[::1]:9090":          http.StatusOK,
		"rebound.example":     http.StatusMisdirectedRequest,
		"10.0.0.1:9090":       http.StatusMisdirectedRequest,
		"localhost.example":   http.StatusMisdirectedRequest,
		"127.0.0.1.example:1": http.StatusMisdirectedRequest,
		"":                    http.StatusMisdirectedRequest,
	} {
		if got := statusFor(h, host, "/metrics"); got != want {
			t.Errorf("%q: %d, want %d", host, got, want)
		}
	}
}
