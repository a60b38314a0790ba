package openid_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"holdfast/internal/sso/openid"
	"holdfast/internal/sso/outbound"
)

// A provider that hangs, answers nonsense or is another one is unreachable;
// the caller's patience bounds the wait.
func TestDiscoverRefuses(t *testing.T) {
	body := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body == "hang" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(body))
	}))
	defer srv.Close()
	for _, body = range []string{"", "{}", `{"issuer":"https://other.example"}`, `{"issuer":1}`, "hang"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		p := openid.New(openid.Config{Issuer: srv.URL, ClientID: "c", Client: outbound.Client(true), Now: time.Now})
		if err := p.Discover(ctx); !errors.Is(err, openid.ErrUnreachable) {
			t.Errorf("%q: %v", body, err)
		}
		cancel()
	}
}
