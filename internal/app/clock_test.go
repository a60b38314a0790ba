package app_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/app"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// clocked is a whole server, called without a network, whose clock is the
// bubble's: time passes when a test sleeps, and takes none.
type clocked struct {
	http.Handler
	*testing.T
	app   *app.App
	token string
}

// onClock calls f with a fresh server on each engine, and a user signed in.
func onClock(t *testing.T, as string, f func(k *clocked), opts ...testkit.Option) {
	fromClock(t, as, time.Now, f, opts...)
}

// fromClock is onClock with a server that is started at a moment to come.
func fromClock(t *testing.T, as string, start func() time.Time, f func(k *clocked), opts ...testkit.Option) {
	for _, e := range []db.Engine{db.SQLite, db.PostgreSQL} {
		t.Run(string(e), func(t *testing.T) {
			c, at := testkit.Settings(t, e, opts...), start()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(at)) // a bubble begins in the year 2000, and the database was made now
				k := openClocked(t, c)
				k.signIn(as)
				f(k)
			})
		})
	}
}

func openClocked(t *testing.T, c *config.Config) *clocked {
	t.Helper()
	a, err := app.Open(t.Context(), c, app.Server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	h, err := a.Handler(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return &clocked{Handler: h, T: t, app: a}
}

// signIn begins a session of a user for the calls that follow.
func (k *clocked) signIn(as string) {
	k.Helper()
	var session struct {
		AccessToken string `json:"access_token"`
	}
	k.token = ""
	w := k.call("POST", "/auth/v1/token?grant_type=password", `{"email":"`+as+`","password":"`+demo.Password+`"}`)
	if err := json.Unmarshal(w.Body.Bytes(), &session); err != nil || w.Code != http.StatusOK {
		k.Fatalf("sign in: %d %s", w.Code, w.Body)
	}
	k.token = session.AccessToken
}

func (k *clocked) call(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Prefer", "return=representation")
	if k.token != "" {
		r.Header.Set("Authorization", "Bearer "+k.token)
	}
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	return w
}

// passed asks n times and says how often the answer was 200; the last other one
// must be a refusal of so many requests, which says when to come back.
func (k *clocked) passed(n, limit int) (passed int, wait time.Duration) {
	k.Helper()
	for range n {
		w := k.call("GET", "/functions/v1/safety-kpis", "")
		if w.Code == http.StatusOK {
			passed++
			continue
		}
		var body struct {
			Error, Message   string
			RetryAfter       int `json:"retry_after"`
			Limit, Remaining int
			ResetAt          time.Time `json:"reset_at"`
		}
		d := json.NewDecoder(w.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil || w.Code != http.StatusTooManyRequests || body.Limit != limit ||
			body.RetryAfter < 1 ||
			w.Header().Get("Retry-After") != strconv.Itoa(body.RetryAfter) {
			k.Fatalf("%d %v %+v %v", w.Code, w.Header(), body, err)
		}
		wait = time.Duration(body.RetryAfter) * time.Second
	}
	return passed, wait
}

// The limits of an API, request by request: what is refused is let in when the
// refusal said, and not before. A window counts to a second.
func TestLimitsByTheClock(t *testing.T) {
	onClock(t, testkit.As(actor.Viewer), func(k *clocked) {
		want := func(what string, n, limit, most int, seconds time.Duration) time.Duration {
			k.Helper()
			got, wait := k.passed(n, limit)
			if got != most || (wait-seconds*time.Second).Abs() > time.Second {
				k.Errorf("%s: %d of %d passed, want %d; come back in %v, want %d s", what, got, n, most, wait, seconds)
			}
			return wait
		}
		wait := want("201 in ten seconds", 201, 200, 200, 10)
		time.Sleep(wait - 2*time.Second)
		want("too soon", 1, 200, 0, 2)
		time.Sleep(2 * time.Second)
		want("after the wait", 1, 200, 1, 0)

		time.Sleep(2 * time.Minute) // a window rolls: it does not begin anew with a ten of seconds
		time.Sleep(time.Until(time.Now().Truncate(10 * time.Second).Add(19 * time.Second)))
		want("at second 9", 200, 200, 200, 0)
		time.Sleep(2 * time.Second)
		wait = want("at second 11", 200, 200, 0, 8)
		time.Sleep(wait)
		want("after that wait", 200, 200, 200, 0)

		time.Sleep(2 * time.Minute)
		for i := range 1000 {
			if got, _ := k.passed(1, 1000); got != 1 {
				k.Fatalf("request %d of a minute was refused", i+1)
			}
			time.Sleep(59 * time.Millisecond)
		}
		wait = want("request 1,001 of a minute", 1, 1000, 0, 1)
		time.Sleep(wait)
		want("after its wait", 1, 1000, 1, 0)
	}, testkit.Limited)
}

// Each answer that is kept is there a second before its time is over, and made
// anew a second after.
func TestKeptByTheClock(t *testing.T) {
	onClock(t, testkit.As(actor.Admin), func(k *clocked) {
		for _, fn := range k.app.Functions() {
			if fn.TTL == 0 {
				continue
			}
			life := time.Minute
			if fn.Name == "admin-dashboard-summary" || fn.Name == "site-overview" {
				life = 30 * time.Second
			}
			for i, c := range []struct {
				pause time.Duration
				want  string
			}{{0, "MISS"}, {life - time.Second, "HIT"}, {2 * time.Second, "MISS"}, {0, "HIT"}} {
				time.Sleep(c.pause)
				w := k.call("GET", "/functions/v1/"+fn.Name, "")
				if w.Code != http.StatusOK || w.Header().Get("X-Cache") != c.want {
					k.Errorf("%s, look %d: %d %s, want %s", fn.Name, i, w.Code, w.Header().Get("X-Cache"), c.want)
				}
			}
		}
	})
}
