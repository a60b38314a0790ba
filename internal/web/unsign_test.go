package web

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The line of a request that is unsigned says what was asked, not by whom.
func TestUnsign(t *testing.T) {
	for _, unsigned := range []bool{false, true} {
		var log bytes.Buffer
		front := &Front{Log: slog.New(slog.NewTextHandler(&log, nil))}
		h := front.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			Note(w, "POST /v1/incidents", "tenant-1", "user-1", "key-1")
			if unsigned {
				Unsign(r.Context())
			}
		}))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/incidents", nil))

		line := log.String()
		if !strings.Contains(line, "tenant-1") || !strings.Contains(line, `route=/v1/incidents`) {
			t.Errorf("unsigned %v: %s", unsigned, line)
		}
		for _, trace := range []string{"request_id=", "user-1", "key-1"} {
			if strings.Contains(line, trace) == unsigned {
				t.Errorf("unsigned %v, %s: %s", unsigned, trace, line)
			}
		}
	}
}
