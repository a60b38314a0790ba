package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A request whose length can be read in two ways is refused and its connection
// closed: what stands behind it is never taken for another request.
func TestNoSmuggledRequests(t *testing.T) {
	var smuggled atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/inner" {
			smuggled.Add(1)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, "hello")
	})
	address, _ := stand(t, (&Front{}).Handler(h), wide, nil)
	const inner = "GET /inner HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, head := range map[string]string{
		"two lengths":          "Content-Length: 3\r\nContent-Length: 40\r\n\r\nabc",
		"an unknown coding":    "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"coding in two lines":  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"a negative length":    "Content-Length: -1\r\n\r\n",
		"a signed length":      "Content-Length: +3\r\n\r\nabc",
		"a space before colon": "Content-Length : 3\r\n\r\nabc",
		"a folded coding":      "Transfer-Encoding:\r\n xchunked\r\n\r\n0\r\n\r\n",
		"a huge extension":     "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 1<<20) + "\r\na\r\n0\r\n\r\n",
		"a chunk that is none": "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
	} {
		got := closed(t, dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\n"+head+inner))
		if strings.Contains(got, "200 OK") || strings.Count(got, "HTTP/1.1 ") > 1 {
			t.Errorf("%s: %.200q", name, got)
		}
		if n := smuggled.Swap(0); n > 0 {
			t.Errorf("%s: what stood behind it was taken as a request", name)
		}
	}
	// Both headers at once: RFC 9112, 6.3 lets a server that goes by the coding
	// answer, when it closes the connection.
	got := closed(t, dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+inner))
	if smuggled.Load() > 0 || strings.Count(got, "HTTP/1.1 ") > 1 {
		t.Errorf("length and coding: %.200q", got)
	}
}
