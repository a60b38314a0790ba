package web

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// An answer goes packed where the caller takes that and it is worth it: a list or
// figures of more than a kilobyte, not identity's, no stream of events, nothing
// that is packed already.
func TestAnswersArePacked(t *testing.T) {
	long := strings.Repeat(`{"sku":"STRAP-25","name":"Strap 25 mm"},`, 1000)
	for _, c := range []struct {
		method, path, media, body, takes string
		packed                           bool
	}{
		{"GET", "/v1/items", "application/json; charset=utf-8", long, "gzip, deflate, br", true},
		{"GET", "/v1/items", "text/csv; charset=utf-8", long, "br;q=1, gzip;q=0.1", true},
		{"POST", "/v1/items", "application/vnd.pgrst.object+json; charset=utf-8", long, "*", true},
		{"GET", "/v1/items", "application/json", long, "", false},
		{"GET", "/v1/items", "application/json", long, "identity", false},
		{"GET", "/v1/items", "application/json", long, "gzip;q=0", false},
		{"GET", "/v1/items", "application/json", long, "nonsense;q=;,,%", false},
		{"GET", "/v1/items", "application/json", "[]", "gzip", false},
		{"HEAD", "/v1/items", "application/json", long, "gzip", false},
		{"GET", "/auth/v1/user", "application/json", long, "gzip", false},
		{"GET", "/v1/events", "text/event-stream", long, "gzip", false},
		{"GET", "/v1/photos/1", "image/jpeg", long, "gzip", false},
	} {
		for _, sized := range []bool{true, false} {
			if !sized && len(c.body) < worthPacking {
				continue // whoever does not know its length sends much
			}
			h := (&Front{}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				if sized {
					w.Header().Set("Content-Length", strconv.Itoa(len(c.body)))
				}
				if c.method != "HEAD" {
					fmt.Fprint(w, c.body)
				}
			}))
			r := httptest.NewRequest(c.method, c.path, nil)
			if c.takes != "" {
				r.Header.Set("Accept-Encoding", c.takes)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got, size := io.Reader(w.Body), w.Body.Len()
			if packed := w.Header().Get("Content-Encoding") == "gzip"; packed != c.packed {
				t.Errorf("%s %s %s for %q: packed %v", c.method, c.path, c.media, c.takes, packed)
				continue
			}
			if c.packed {
				z, err := gzip.NewReader(w.Body)
				if err != nil || w.Header().Get("Content-Length") != "" || w.Header().Get("Vary") != "Accept-Encoding" ||
					size > len(c.body)/8 {
					t.Errorf("%s %s: %v, %d bytes of %d, %v", c.method, c.path, err, size, len(c.body), w.Header())
					continue
				}
				got = z
			}
			if b, err := io.ReadAll(got); err != nil || string(b) != c.body && c.method != "HEAD" {
				t.Errorf("%s %s: %v, %d bytes of another text", c.method, c.path, err, len(b))
			}
		}
	}
	packed := (&Front{}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		fmt.Fprint(w, long)
	}))
	r := httptest.NewRequest("GET", "/v1/items", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	if packed.ServeHTTP(w, r); w.Body.String() != long {
		t.Error("what is packed already is packed again")
	}
}
