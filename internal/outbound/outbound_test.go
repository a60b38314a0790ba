package outbound_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/internal/outbound"
)

// Addresses inside are refused when the connection is made, whatever the name
// says; a loopback server stands for all of them.
func TestGuard(t *testing.T) {
	hit := false
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hit = true }))
	defer srv.Close()
	for _, u := range []string{srv.URL, "https://localhost:1", "https://[::1]:8443", "https://0.0.0.0:8443",
		"https://169.254.169.254/",
		"https://100.64.0.1/", "https://[::ffff:127.0.0.1]:8443", "https://[64:ff9b::7f00:1]/"} {
		if _, err := outbound.Get(t.Context(), outbound.Client(false), u); !errors.Is(err, outbound.ErrRefused) {
			t.Errorf("%s: %v", u, err)
		}
	}
	if hit {
		t.Error("the server inside was reached")
	}
	for _, u := range []string{"http://idp.example", "https://u:p@idp.example", "https://idp.example:25",
		"ftp://idp.example", "//idp.example", "https://", "%"} {
		if outbound.CheckURL(u, false) == nil {
			t.Errorf("%s: taken", u)
		}
	}
	for _, u := range []string{"https://idp.example", "https://idp.example:8443/m?x=1", "https://idp.example:443"} {
		if err := outbound.CheckURL(u, false); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// An answer is read up to the bound, and no redirect is followed.
func TestBounds(t *testing.T) {
	size, followed := 0, false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/inside", http.StatusFound)
		case "/inside":
			followed = true
		default:
			w.Write(bytes.Repeat([]byte("x"), size))
		}
	}))
	defer srv.Close()
	c := outbound.Client(true)
	for size = range map[int]bool{outbound.MaxAnswer: true, outbound.MaxAnswer + 1: true, 10 << 20: true} {
		b, err := outbound.Get(t.Context(), c, srv.URL)
		if (err == nil) != (size <= outbound.MaxAnswer) || err == nil && len(b) != size {
			t.Errorf("%d bytes: %d read, %v", size, len(b), err)
		}
	}
	if _, err := outbound.Get(t.Context(), c, srv.URL+"/away"); err == nil || followed {
		t.Error("a redirect was followed")
	}
}
