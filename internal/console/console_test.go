package console_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/internal/console"
)

var dist = fstest.MapFS{
	"index.html": {Data: []byte(`<script type="module" src="./assets/a.js"></script>` + strings.Repeat("<p>page</p>",
		200))},
	"assets/a.js":    {Data: []byte(strings.Repeat("console.log(1);", 200))},
	"assets/b.css":   {Data: []byte("p{}")},
	"assets/odd.xyz": {Data: []byte("?")},
}

func get(t *testing.T, c http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var asset = regexp.MustCompile(`src="(/console/-/[0-9a-f]{16}/assets/a\.js)"`)

func TestServe(t *testing.T) {
	c, err := console.New(dist, console.Settings{Product: "Holdfast", Demo: &console.Demo{Password: "p"}})
	if err != nil {
		t.Fatal(err)
	}
	page := text(t, get(t, c, "GET", "/console/"))
	m := asset.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page does not name its script below the prefix:\n%.300s", page)
	}
	for _, x := range []struct {
		name, method, path string
		status             int
		cache, kind        string
	}{
		{"the page", "GET", "/console/", 200, "no-cache", "text/html; charset=utf-8"},
		{"an address inside the console", "GET", "/console/c/orders/0190", 200, "no-cache", "text/html; charset=utf-8"},
		{"a file of this build", "GET", m[1], 200, "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		{"a file that another node's page names", "GET", "/console/-/0000000000000000/assets/a.js", 200, "no-cache",
			"text/javascript; charset=utf-8"},
		{"a file that there is not", "GET", "/console/-/0000000000000000/assets/z.js", 404, "no-store",
			"text/plain; charset=utf-8"},
		{"no file at all", "GET", "/console/-/0000000000000000", 404, "no-store", "text/plain; charset=utf-8"},
		{"a missing asset is no page", "GET", "/console/assets/z.js", 404, "no-store", "text/plain; charset=utf-8"},
		{"what the console has to know", "GET", "/console/settings.json", 200, "no-cache", "application/json"},
		{"only the head", "HEAD", "/console/", 200, "no-cache", "text/html; charset=utf-8"},
		{"nothing is written here", "POST", "/console/", 405, "", "text/plain; charset=utf-8"},
	} {
		r := get(t, c, x.method, x.path)
		if r.StatusCode != x.status || r.Header.Get("Cache-Control") != x.cache || r.Header.Get("Content-Type") != x.kind {
			t.Errorf("%s: %d, %q, %q", x.name, r.StatusCode, r.Header.Get("Cache-Control"), r.Header.Get("Content-Type"))
		}
	}
	policy := get(t, c, "GET", "/console/").Header.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
}

func TestForms(t *testing.T) {
	c, err := console.New(dist, console.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	r := get(t, c, "GET", "/console/", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(r.Body)
	if err != nil || r.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("not gzip: %v", err)
	}
	plain, err := io.ReadAll(z)
	if err != nil || string(plain) != text(t, get(t, c, "GET", "/console/")) {
		t.Errorf("both forms are not the same page: %v", err)
	}
	if again := get(t, c, "GET", "/console/", "If-None-Match",
		r.Header.Get("Etag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("a page that is known: %d", again.StatusCode)
	}
	var s map[string]any
	if err := json.Unmarshal([]byte(text(t, get(t, c, "GET", "/console/settings.json"))), &s); err != nil ||
		s["demo"] != nil {
		t.Errorf("a server that is no demonstration says %v, %v", s, err)
	}
}

func TestWanted(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true,
		"": false, "*/*": false, "application/json": false, "application/json, text/html": false, "text/html": true,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		if console.Wanted(r) != want {
			t.Errorf("%q: %v", accept, !want)
		}
	}
}
