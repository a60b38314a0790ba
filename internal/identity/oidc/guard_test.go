package oidc

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestPublic(t *testing.T) {
	for a, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false,
		"0.0.0.0":    false, "224.0.0.1": false,
		"255.255.255.255": false, "192.0.2.1": false, "198.18.0.1": false, "::1": false, "fe80::1": false, "fd00::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:db8::1": false, "::": false,
	} {
		network := "tcp4"
		if strings.Contains(a, ":") {
			network = "tcp6"
		}
		if err := publicOnly(network, net.JoinHostPort(a, "443"), nil); (err == nil) != want {
			t.Errorf("%s: %v", a, err)
		}
	}
}

// No redirect is followed, no more than 64 kB read, no private address reached
// that the issuer's own host is not.
func TestClient(t *testing.T) {
	var target *httptest.Server
	hits := 0
	target = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/landed", http.StatusFound)
		case "/landed":
			hits++
		case "/huge":
			io.Copy(w, io.LimitReader(neverEnding{}, 10<<20))
		}
	}))
	defer target.Close()
	u, err := url.Parse(target.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := guardedClient(u)
	res, err := c.Get(target.URL + "/redirect")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusFound || hits != 0 {
		t.Error("a redirect was followed")
	}
	res, err = c.Get(target.URL + "/huge")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if n != maxAnswer || err != nil {
		t.Errorf("%d bytes read, %v", n, err)
	}
	elsewhere, err := url.Parse("https://issuer.example")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := guardedClient(elsewhere).Get(strings.Replace(target.URL, "http:", "https:", 1)); err == nil ||
		!strings.Contains(err.Error(), "not public") {
		t.Errorf("a private address was dialled: %v", err)
	}
	if _, err := guardedClient(elsewhere).Get(target.URL); err == nil || !strings.Contains(err.Error(), "not https") {
		t.Errorf("plain http: %v", err)
	}
}

type neverEnding struct{}

func (neverEnding) Read(b []byte) (int, error) { return len(b), nil }

// A provider that is down or slow is Unavailable, and soon.
func TestProvider_down(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	p, err := New(Config{Name: "x", ClientID: "c", Issuer: dead.URL}, "http://localhost/callback", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.AuthURL(context.Background(), Request{State: "s", Verifier: NewVerifier()}); err == nil {
		t.Error("no error")
	}
	for _, c := range []Config{{Name: "x", ClientID: "c"}, {Name: "x", ClientID: "c", Issuer: "ftp://x"},
		{Name: "google"}} {
		if _, err := New(c, "", time.Now); err == nil {
			t.Errorf("%+v accepted", c)
		}
	}
	if _, err := New(Config{Name: "google", ClientID: "c"}, "", time.Now); err != nil {
		t.Error(err)
	}
}
