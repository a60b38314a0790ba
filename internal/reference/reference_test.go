package reference_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/reference"
)

// The page, and a guide, ask for files of this server alone, each of which is there, plain
// and compressed, and runs no script of its text.
func TestReference(t *testing.T) {
	h := reference.Handler()
	get := func(path, encoding string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	page := get("/docs", "")
	if page.Code != 200 || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("%d %s", page.Code, page.Header())
	}
	if csp := page.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
		!strings.Contains(csp, "script-src 'self';") {
		t.Errorf("policy %s", csp)
	}
	asked := regexp.MustCompile(`(?:src|href)="(/docs/[^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(asked) != 5 {
		t.Errorf("the page asks for %v", asked)
	}
	for _, m := range asked {
		plain, packed := get(m[1], ""), get(m[1], "br, gzip")
		if plain.Code != 200 || plain.Body.Len() == 0 || plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: %d, %d bytes", m[1], plain.Code, plain.Body.Len())
		}
		if packed.Header().Get("Content-Encoding") == "gzip" && packed.Body.Len() >= plain.Body.Len() {
			t.Errorf("%s is not smaller compressed", m[1])
		}
	}
	if regexp.MustCompile(`<script>|https?://`).MatchString(page.Body.String()) {
		t.Error("the page has a script of its own, or names another host")
	}
	guide := get("/docs/guides/list", "gzip")
	if guide.Code != 200 || guide.Header().Get("Content-Security-Policy") != page.Header().Get("Content-Security-Policy") ||
		strings.Contains(guide.Body.String(), "<script") || !strings.Contains(guide.Body.String(), "<h1") {
		t.Errorf("a guide: %d %s", guide.Code, guide.Header())
	}
	if w := get("/docs/guides/", ""); w.Code != 200 {
		t.Errorf("a folder with its slash: %d", w.Code)
	}
	for _, no := range []string{"/docs/guides/none", "/docs/security", "/docs/../go.mod", "/docs/guides/list.md"} {
		if w := get(no, ""); w.Code != 404 {
			t.Errorf("%s: %d", no, w.Code)
		}
	}
	if w := get("/docs/nothing.js", ""); w.Code != 404 {
		t.Errorf("an unknown file: %d", w.Code)
	}
}
