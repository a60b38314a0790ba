package api

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/internal/idempotency"
)

// An answer that is too long to be kept is not gathered: it goes on to its
// client, head first, as it is written.
func TestLongAnswersGoOn(t *testing.T) {
	half := bytes.Repeat([]byte("x"), idempotency.MaxBody/2+1)
	w := httptest.NewRecorder()
	w.Header().Set("Vary", "Origin")
	d := &draft{head: http.Header{"X-A": {"b"}, "Vary": {"Accept-Encoding"}}, to: w}
	d.WriteHeader(http.StatusCreated)
	for i, want := range []int{0, 2 * len(half), 3 * len(half)} {
		if _, err := d.Write(half); err != nil || w.Body.Len() != want {
			t.Errorf("after %d writes: %d bytes are on their way, want %d (%v)", i+1, w.Body.Len(), want, err)
		}
	}
	if !d.sent || w.Code != http.StatusCreated || w.Header().Get("X-A") != "b" || len(w.Header()["Vary"]) != 2 {
		t.Errorf("sent %v, %d %v", d.sent, w.Code, w.Header())
	}
}
