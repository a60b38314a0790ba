package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// mailed waits for a link in a mail to an address and returns its path and
// query.
func mailed(t *testing.T, k *testkit.Kit, to string) string {
	t.Helper()
	link := regexp.MustCompile(`/auth/v1/verify\?[^\s"<>\\]+`)
	found := ""
	within(t, "a mail to "+to, func() bool {
		body := string(k.Call(testkit.Request{Method: "GET", Path: "/dev/mail?to=" + to}).Body)
		found = link.FindString(strings.ReplaceAll(strings.ReplaceAll(body, `\u0026`, "&"), "&amp;", "&"))
		return found != ""
	})
	return found
}

func enter(k *testkit.Kit, email, password string) testkit.Response {
	return k.Post("", "/auth/v1/token?grant_type=password", map[string]any{"email": email, "password": password})
}

func accessToken(t *testing.T, r testkit.Response) string {
	t.Helper()
	var s struct {
		AccessToken string `json:"access_token"`
	}
	r.JSON(t, &s)
	return s.AccessToken
}

// A warm cache answers nobody whose session has ended,
// and signing out ends it at once.
func TestAttackCacheAfterSignOut(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		token := accessToken(t, enter(k, testkit.As(actor.Manager), demo.Password))
		ask := func() testkit.Response {
			return k.Call(testkit.Request{Method: "GET", Path: snapshot, Bearer: token})
		}
		ask()
		if r := ask(); r.Header.Get("X-Cache") != "HIT" {
			t.Fatalf("not warm: %d %v", r.Status, r.Header)
		}
		if r := k.Call(testkit.Request{Method: "POST", Path: "/auth/v1/logout", Bearer: token}); r.Status != 204 {
			t.Fatalf("sign out: %d %s", r.Status, r.Body)
		}
		if r := ask(); r.Status != 401 || r.Header.Get("X-Cache") != "" || strings.Contains(string(r.Body), demo.North) {
			t.Errorf("after signing out: %d %s", r.Status, r.Body)
		}
	})
}

// What a stranger is answered does not tell whether an account is
// there, banned or neither.
func TestAttackOracle(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var victim struct{ ID string }
		k.Get(testkit.As(actor.Viewer), "/auth/v1/user").JSON(t, &victim)
		if r := k.Call(testkit.Request{Method: "PUT", Path: "/auth/v1/admin/users/" + victim.ID, Bearer: k.Service(),
			Body: map[string]any{"ban_duration": "24h"}}); r.Status != 200 {
			t.Fatalf("ban: %d %s", r.Status, r.Body)
		}
		addresses := []string{testkit.As(actor.Manager), testkit.As(actor.Viewer),
			"nobody@nowhere.example"} // known, banned, unknown
		for _, c := range []struct {
			path string
			body map[string]any
		}{
			{"/auth/v1/token?grant_type=password", map[string]any{"password": "not the password"}},
			{"/auth/v1/recover", nil}, {"/auth/v1/otp", map[string]any{"create_user": false}},
			{"/auth/v1/resend", map[string]any{"type": "signup"}},
			{"/auth/v1/magiclink", nil},
		} {
			want := ""
			for _, address := range addresses {
				body := map[string]any{"email": address}
				for name, v := range c.body {
					body[name] = v
				}
				r := k.Post("", c.path, body)
				got := fmt.Sprint(r.Status, " ", regexp.MustCompile(`request [0-9a-f-]+`).ReplaceAllString(string(r.Body), ""))
				if want == "" {
					want = got
				}
				if got != want || r.Status >= 500 {
					t.Errorf("%s for %s: %s, for %s: %s", c.path, address, got, addresses[0], want)
				}
			}
		}
		if r := enter(k, testkit.As(actor.Viewer), demo.Password); r.Status < 400 ||
			!strings.Contains(string(r.Body), "banned") {
			t.Errorf("the banned one with the right password: %d %s", r.Status, r.Body)
		}
	})
}

// Whatever a request calls the server, links in mails lead to where the
// operator said it is.
func TestAttackMailedHost(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for i, set := range []func(*http.Request){
			func(r *http.Request) { r.Host = "evil.example" },
			func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "evil.example") },
			func(r *http.Request) {
				r.Header.Set("X-Forwarded-Proto", "javascript")
				r.Header.Set("Forwarded", "host=evil.example;proto=https")
			},
			func(r *http.Request) {
				r.Header.Set("X-Original-Host", "evil.example")
				r.Header.Set("Origin", "https://evil.example")
				r.Header.Set("Referer", "https://evil.example/")
			},
		} {
			to := []string{testkit.As(actor.Owner), testkit.As(actor.Admin), testkit.As(actor.Manager),
				testkit.As(actor.Safety)}[i]
			req, err := http.NewRequest("POST", k.URL+"/auth/v1/recover?redirect_to=https://evil.example/",
				strings.NewReader(`{"email":"`+to+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			set(req)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode != 200 {
				t.Errorf("%d: %d", i, res.StatusCode)
			}
			mailed(t, k, to)
			text := string(k.Call(testkit.Request{Method: "GET", Path: "/dev/mail?to=" + to}).Body)
			if strings.Contains(text, "evil.example") || strings.Contains(text, "javascript") ||
				!strings.Contains(text, k.URL+"/auth/v1/verify") {
				t.Errorf("%d: %s", i, text)
			}
		}
	})
}

// A mail scanner that opens the link as a browser would, or asks for its
// head, uses nothing up. The steps of a reset cannot be taken out of
// order, and the link works once.
func TestAttackReset(t *testing.T) {
	const fresh = "an entirely new one"
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		victim := testkit.As(actor.Operator)
		if r := k.Post("", "/auth/v1/recover", map[string]any{"email": victim}); r.Status != 200 {
			t.Fatalf("recover: %d %s", r.Status, r.Body)
		}
		link := mailed(t, k, victim)
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{"PUT", "/auth/v1/user", map[string]any{"password": fresh}},
			{"POST", "/auth/v1/verify", map[string]any{"type": "recovery", "email": victim, "token": "000000",
				"password": fresh}},
			{"POST", "/auth/v1/verify", map[string]any{"type": "recovery", "token_hash": "pkce_" + strings.Repeat("0", 56),
				"password": fresh}},
			{"POST", "/auth/v1/recover/complete", map[string]any{"password": fresh}},
		} {
			if r := k.Call(testkit.Request{Method: c.method, Path: c.path, Body: c.body}); r.Status < 400 || r.Status >= 500 {
				t.Errorf("%s %s without the mail's code: %d %s", c.method, c.path, r.Status, r.Body)
			}
		}
		if enter(k, victim, demo.Password).Status != 200 || enter(k, victim, fresh).Status == 200 {
			t.Fatal("the password changed without the mail's code")
		}
		browser := map[string]string{"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
		for _, m := range []string{"HEAD", "GET", "GET", "GET", "HEAD"} {
			if r := k.Call(testkit.Request{Method: m, Path: link, Header: browser}); strings.Contains(r.Header.Get("Location"),
				"access_token") || r.Status >= 500 {
				t.Errorf("a scanner's %s uses the link up: %d %s", m, r.Status, r.Header.Get("Location"))
			}
		}
		press := func() string { // the page's button
			r := k.Call(testkit.Request{Method: "POST", Path: link, Body: "",
				Header: map[string]string{"Accept": browser["Accept"], "Content-Type": "application/x-www-form-urlencoded"}})
			u, err := url.Parse(r.Header.Get("Location"))
			if err != nil {
				t.Fatal(err)
			}
			v, err := url.ParseQuery(u.Fragment)
			if err != nil {
				t.Fatal(err)
			}
			return v.Get("access_token")
		}
		token := press()
		if token == "" {
			t.Fatal("the link does not open after the scanner")
		}
		if press() != "" {
			t.Error("the link opens twice")
		}
		if r := k.Call(testkit.Request{Method: "PUT", Path: "/auth/v1/user", Bearer: token,
			Body: map[string]any{"password": fresh}}); r.Status != 200 {
			t.Errorf("with the mail's code: %d %s", r.Status, r.Body)
		}
		if enter(k, victim, fresh).Status != 200 || enter(k, victim, demo.Password).Status == 200 {
			t.Error("the new password is not the one")
		}
	})
}

// A new account at the address of a deleted one has nothing of it.
func TestAttackAddressAgain(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		victim := testkit.As(actor.Manager)
		r := enter(k, victim, demo.Password)
		var old struct {
			AccessToken  string `json:"access_token"`
			RefreshToken string `json:"refresh_token"`
			User         struct{ ID string }
		}
		r.JSON(t, &old)
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/auth/v1/admin/users/" + old.User.ID,
			Bearer: k.Service()}); r.Status >= 300 {
			t.Fatalf("delete: %d %s", r.Status, r.Body)
		}
		again := k.Post("", "/auth/v1/signup", map[string]any{"email": victim, "password": "a password of my own",
			"data": map[string]any{"tenant_id": demo.North}})
		var made struct {
			AccessToken string `json:"access_token"`
			User        struct{ ID string }
		}
		again.JSON(t, &made)
		if again.Status != 200 || made.User.ID == "" || made.User.ID == old.User.ID {
			t.Fatalf("sign up again: %d %s", again.Status, again.Body)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis",
			Bearer: made.AccessToken}); r.Status != 403 {
			t.Errorf("the new account sees north: %d", r.Status)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: "/v1/members", Bearer: made.AccessToken}); r.Status != 403 &&
			string(r.Body) != "[]" {
			t.Errorf("the new account's memberships: %d %s", r.Status, r.Body)
		}
		if r := k.Post("", "/auth/v1/token?grant_type=refresh_token",
			map[string]any{"refresh_token": old.RefreshToken}); r.Status != 400 {
			t.Errorf("the old refresh token: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: "/auth/v1/user", Bearer: old.AccessToken}); r.Status < 400 ||
			r.Status >= 500 {
			t.Errorf("the old access token: %d %s", r.Status, r.Body)
		}
	})
}

// A flood of sign-ups, each a costly hash, is answered or told to wait;
// nobody gets a server error, and another caller is served meanwhile.
func TestAttackHashFlood(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		token := k.Token(testkit.As(actor.Admin))
		var mu sync.Mutex
		got := map[int]int{}
		var flood sync.WaitGroup
		for i := range 60 {
			flood.Go(func() {
				r := k.Post("", "/auth/v1/signup", map[string]any{"email": fmt.Sprintf("flood%d@else.example", i),
					"password": "a long enough one"})
				mu.Lock()
				defer mu.Unlock()
				if got[r.Status]++; (r.Status == 429 || r.Status == 503) && r.Header.Get("Retry-After") == "" {
					t.Errorf("%d without Retry-After", r.Status)
				}
			})
		}
		for range 20 {
			if r := k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", Bearer: token}); r.Status != 200 {
				t.Errorf("meanwhile: %d", r.Status)
			}
		}
		flood.Wait()
		t.Logf("answers by status: %v", got)
		if got[200]+got[429]+got[503] != 60 || got[200] == 0 {
			t.Errorf("%v", got)
		}
	})
}

// One tenant floods, with its limits and all it has; another is served as
// if it were alone, by its own windows.
func TestAttackFloodNextDoor(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		north, south := k.Token(testkit.As(actor.Manager)), k.Token("admin@south.example")
		stop := make(chan struct{})
		var flood sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		for range 8 {
			flood.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if r := k.Call(testkit.Request{Method: "GET", Path: "/v1/items?limit=50", Bearer: north}); r.Status == 429 {
						mu.Lock()
						refused++
						mu.Unlock()
					}
				}
			})
		}
		within(t, "north is refused", func() bool { mu.Lock(); defer mu.Unlock(); return refused > 20 })
		for i := range 100 {
			r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: south})
			if r.Status != 200 || r.Header.Get("X-RateLimit-Used") != fmt.Sprint(i+1) {
				t.Fatalf("south, request %d: %d, used %s", i+1, r.Status, r.Header.Get("X-RateLimit-Used"))
			}
		}
		close(stop)
		flood.Wait()
	}, testkit.Limited)
}
