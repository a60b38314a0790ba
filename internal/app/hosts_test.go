package app

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/internal/config"
	"holdfast/internal/metrics"
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
	a := newACME(&config.Config{TLSDomains: []string{"WMS.example.com", "ehs.example.com", "München.example"},
		Data: t.TempDir()})
	for host, want := range map[string]int{
		"wms.example.com":        http.StatusFound,
		"wms.example.com:80":     http.StatusFound,
		"EHS.example.com.":       http.StatusFound,
		"xn--mnchen-3ya.example": http.StatusFound,
		"XN--MNCHEN-3YA.example": http.StatusFound,
		"mnchen.example":         http.StatusMisdirectedRequest,
		"evil.example":           http.StatusMisdirectedRequest,
		"wms.example.com.evil":   http.StatusMisdirectedRequest,
		"203.0.113.7":            http.StatusMisdirectedRequest,
		"":                       http.StatusMisdirectedRequest,
		"evil@wms.example.com":   http.StatusMisdirectedRequest,
		"wms.example.com/@evil":  http.StatusMisdirectedRequest,
	} {
		for _, path := range [...]string{"/", "/.well-known/acme-challenge/x"} {
			if got := statusFor(a.answerChallenges(), host, path); got != want && (path == "/" || want != http.StatusFound) {
				t.Errorf("%q %s: %d, want %d", host, path, got, want)
			}
		}
	}
}

// The operator's listener answers this machine's names alone: a page of a stranger whose
// name is turned to 127.0.0.1 reads no memory.
func TestAdminAnswersThisMachine(t *testing.T) {
	address := startAdmin(t)
	for host, want := range map[string]int{
		"localhost:9090":      http.StatusOK,
		"127.0.0.1:9090":      http.StatusOK,
		"127.1.2.3":           http.StatusOK,
		"[::1]:9090":          http.StatusOK,
		"rebound.example":     http.StatusMisdirectedRequest,
		"10.0.0.1:9090":       http.StatusMisdirectedRequest,
		"localhost.example":   http.StatusMisdirectedRequest,
		"127.0.0.1.example:1": http.StatusMisdirectedRequest,
	} {
		if got := askHost(t, address, host); got != want {
			t.Errorf("%q: %d, want %d", host, got, want)
		}
	}
}

// startAdmin is the address of an operator's listener that is started as a server starts it.
func startAdmin(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	a := &App{Config: &config.Config{AdminListen: address}, metrics: metrics.New(Version, "sqlite")}
	if err := a.serveAdmin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return address
}

// askHost is the status of /metrics at an address that is asked for as a host.
func askHost(t *testing.T, address, host string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
