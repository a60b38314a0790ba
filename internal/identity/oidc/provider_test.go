package oidc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/fault"
)

// The name in a posted answer: what is not one is none, and the address beside it
// is not read.
func TestFormName(t *testing.T) {
	for user, want := range map[string][2]string{
		`{"name":{"firstName":"Zoë","lastName":" van Dyk "},"email":"z@x.example"}`:       {"Zoë", "van Dyk"},
		`{"name":{"firstName":"Zoë"}}`:                                                    {"Zoë", ""},
		`{"name":{"firstName":"a\u0000b","lastName":"` + strings.Repeat("x", 201) + `"}}`: {},
		`{"name":{"firstName":7}}`:                                                        {}, `{"name":"Zoë"}`: {},
		`{"email":"z@x.example"}`: {}, `[]`: {}, `{`: {}, "": {},
		`{"name":{"firstName":"Zoë"},"x":"` + strings.Repeat("x", 2048) + `"}`: {},
	} {
		if given, family := FormName(user); [2]string{given, family} != want {
			t.Errorf("%.60s: %q %q, want %q", user, given, family, want)
		}
	}
}

func FuzzFormName(f *testing.F) {
	f.Add(`{"name":{"firstName":"Zoë","lastName":"van Dyk"},"email":"z@x.example"}`)
	f.Fuzz(func(t *testing.T, user string) {
		given, family := FormName(user)
		if again := cleanName(given) + cleanName(family); again != given+family || len(again) > 2*maxName {
			t.Errorf("%q: %q %q", user, given, family)
		}
	})
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
	p, err := New(Config{Name: "corp", ClientID: "c", Secret: "s", Issuer: srv.URL}, "https://us.example/callback",
		func() time.Time { return clock })
	if err != nil {
		t.Fatal(err)
	}
	discover := func(ctx context.Context) error {
		_, err := p.AuthURL(ctx, Request{State: "s", Nonce: "n", Verifier: NewVerifier()})
		return err
	}
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
		if err := discover(t.Context()); !fault.Is(err, fault.Unavailable) {
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
