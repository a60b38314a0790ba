package openid_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/outbound"
	"holdfast/internal/sso/openid"
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
	defer srv.CloseClientConnections() // of askings nobody waits for any more
	for _, body = range []string{"", "{}", `{"issuer":"https://other.example"}`, `{"issuer":1}`, "hang"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		p := openid.New(openid.Config{Issuer: srv.URL, ClientID: "c", Client: outbound.Client(true), Now: time.Now})
		if err := location(p)(ctx); !errors.Is(err, openid.ErrUnreachable) {
			t.Errorf("%q: %v", body, err)
		}
		cancel()
	}
}

// location asks where to send a browser, which needs the provider's configuration.
func location(p *openid.Provider) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := p.Location(ctx, "s", openid.Secrets{}, openid.Wish{})
		return err
	}
}

// A provider that hangs is asked once for all who want to sign in; each of them waits
// as long as he likes, and who comes just after it has failed is told at once.
func TestDiscoverTogether(t *testing.T) {
	var asked atomic.Int64
	came, hang := make(chan struct{}, 9), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		came <- struct{}{}
		<-hang
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	clock := time.Now()
	p := openid.New(openid.Config{Issuer: srv.URL, ClientID: "c", Client: outbound.Client(true),
		Now: func() time.Time { return clock }})
	discover := location(p)
	patient := make(chan error, 1)
	go func() { patient <- discover(t.Context()) }()
	<-came
	gone, leave := context.WithCancel(t.Context())
	leave()
	left := make(chan error, 1)
	go func() { left <- discover(gone) }()
	select {
	case err := <-left:
		if err == nil {
			t.Error("an answer from nowhere")
		}
	case <-time.After(30 * time.Second):
		t.Error("who has gone still waits for the provider")
	}
	close(hang)
	if err := <-patient; err == nil {
		t.Error("an answer from nowhere")
	}
	for range 3 {
		if err := discover(t.Context()); !errors.Is(err, openid.ErrUnreachable) {
			t.Error(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	clock = clock.Add(time.Minute)
	if discover(t.Context()); asked.Load() != 2 {
		t.Error("not asked again")
	}
}
