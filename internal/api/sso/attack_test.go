package sso_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/sso"
)

// foreign is one address elsewhere, in spellings that naive comparisons let
// through.
var foreign = []string{
	"https://evil.example", "//evil.example", "///evil.example", "https:evil.example", `https:\\evil.example`,
	`/\evil.example`,
	"https://app.example@evil.example", "https://app.example.evil.example",
	"https://app.example%2eevil.example", "https://app.example%00.evil.example", "\thttps://evil.example",
	"https://evil.example#https://app.example/", "https://EVIL.example/?https://app.example",
	"javascript:alert(1)", "data:text/html,x", "https://app.example:8443/", "http://app.example/",
	"https://app.example\r\nLocation: https://evil.example",
}

// A target elsewhere is replaced by the site, wherever a browser may name one.
func TestOpenRedirects(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newIDP(k), k.tenant("Corp")
		k.samlConnection(p, tenant, map[string]any{"allow_unsolicited": true})
		o := newOP(k)
		id := k.oidcConnection(o, tenant, "other.example")
		o.claims = map[string]any{"email": "bob@other.example"}
		pkce := url.Values{"code_challenge": {challenge()}, "code_challenge_method": {"s256"}}
		for _, evil := range foreign {
			k.call("POST", "/sso", "", map[string]any{"provider_id": id, "redirect_to": evil, "code_challenge": challenge(),
				"code_challenge_method": "s256"})
			k.call("POST", "/sso?redirect_to="+url.QueryEscape(evil), "",
				map[string]any{"domain": "corp.example", "code_challenge": challenge(), "code_challenge_method": "s256"})
			k.call("GET", "/authorize?provider=custom:other-example&"+pkce.Encode()+"&redirect_to="+url.QueryEscape(evil), "",
				nil)
			at := k.landed(k.call("POST", "/sso/saml/acs", "",
				url.Values{"SAMLResponse": {p.unsolicited()}, "RelayState": {evil}}))
			if at.Scheme+"://"+at.Host != "https://app.example" || !strings.Contains(at.Fragment, "access_token=") {
				k.Errorf("RelayState %q leads to %s", evil, at)
			}
			refused := k.landed(k.call("POST", "/sso/saml/acs", "", url.Values{"SAMLResponse": {"eA=="}, "RelayState": {evil}}))
			if refused.Scheme+"://"+refused.Host != "https://app.example" {
				k.Errorf("RelayState %q of a refused response leads to %s", evil, refused)
			}
		}
		if n := k.count("SELECT COUNT(*) FROM sso_requests"); n != 3*len(foreign) {
			k.Errorf("%d sign-ins begun, want %d", n, 3*len(foreign))
		}
		if n := k.count("SELECT COUNT(*) FROM sso_requests WHERE redirect_to <> 'https://app.example'"); n != 0 {
			k.Errorf("%d sign-ins would lead elsewhere", n)
		}
	})
}

// What cannot be read, and comes in a person's browser, leads to the site, with the
// reason in the query, and never to where it names itself.
func TestUnreadableAnswers(t *testing.T) {
	onBoth(t, func(k *kit) {
		relay := url.Values{"RelayState": {"https://app.example/in"}}
		twice := url.Values{"SAMLResponse": {"eA==", "eA=="}}
		big := url.Values{"SAMLResponse": {strings.Repeat("A", 2<<20)}}
		callback := "/sso/oidc/" + k.oidcConnection(newOP(k), k.tenant("Corp"), "corp.example") + "/callback?code=x&state=y&"
		check := func(name string, a answer, code string) {
			k.Helper()
			at := k.landed(a)
			if q := at.Query(); at.Scheme+"://"+at.Host+at.Path != "https://app.example" || q.Get("error_code") != code ||
				q.Get("error") == "" ||
				q.Get("error_description") == "" {
				k.Errorf("%s: %d leads to %s, want %s", name, a.status, at, code)
			}
		}
		acs := func(body any) answer {
			return k.call("POST", "/sso/saml/acs?redirect_to=https://evil.example", "", body)
		}
		check("no response", acs(relay), "validation_failed")
		check("two responses", acs(twice), "validation_failed")
		check("two relay states", acs(url.Values{"SAMLResponse": {"eA=="}, "RelayState": {"https://evil.example", "x"}}),
			"validation_failed")
		check("no form", acs(raw("%zz")), "validation_failed")
		check("a large one", acs(big), "request_entity_too_large")
		for _, name := range []string{"state", "code", "iss", "error"} {
			check("two of "+name, k.call("GET", callback+name+"=https://evil.example&"+name+"=x", "", nil), "bad_oauth_callback")
		}
		var err error
		k.svc, err = sso.New(sso.Config{PublicURL: k.base, AllowPrivate: true, MasterKey: master, Resolver: k}, k.db,
			k.ident, k.now)
		k.ok(err)
		k.mount()
		check("SAML is off", acs(url.Values{"SAMLResponse": {"eA=="}}), "saml_provider_disabled")
	})
}

// at calls f several times at once and returns how many answers hold a code.
func at(times int, f func() *url.URL) int {
	var won atomic.Int64
	var wg sync.WaitGroup
	for range times {
		wg.Go(func() {
			if f().Query().Get("code") != "" {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	return int(won.Load())
}

// One answer of a provider that arrives several times at once signs in once,
// and so does the code that comes of it.
func TestRaces(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, o, tenant := newIDP(k), newOP(k), k.tenant("Corp")
		saml := k.samlConnection(p, tenant, map[string]any{"allow_unsolicited": true})
		oidc := k.oidcConnection(o, tenant, "other.example")
		o.claims = map[string]any{"email": "bob@other.example"}

		form := p.answer(k.begin("provider_id", saml))
		if n := at(6, func() *url.URL { return k.landed(k.call("POST", "/sso/saml/acs", "", form)) }); n != 1 {
			k.Errorf("a SAML response was taken %d times", n)
		}
		loose := url.Values{"SAMLResponse": {p.unsolicited()}, "RelayState": {"https://app.example/in"}}
		before := k.count("SELECT COUNT(*) FROM sessions")
		at(6, func() *url.URL { return k.landed(k.call("POST", "/sso/saml/acs", "", loose)) })
		if n := k.count("SELECT COUNT(*) FROM sessions") - before; n != 1 {
			k.Errorf("an unsolicited SAML response began %d sessions", n)
		}
		conn, q := o.answer(k.begin("provider_id", oidc))
		landings := make(chan *url.URL, 6)
		if n := at(6, func() *url.URL {
			u := k.callback(conn, q)
			landings <- u
			return u
		}); n != 1 {
			k.Errorf("an OpenID answer was taken %d times", n)
		}
		close(landings)
		for u := range landings {
			if u.Query().Get("code") == "" {
				continue
			}
			var won atomic.Int64
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					if k.redeem(u).status == http.StatusOK {
						won.Add(1)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				k.Errorf("a code was redeemed %d times", won.Load())
			}
		}
	})
}

// A code that was issued for a challenge is worth nothing without its verifier:
// what binds a sign-in of an organisation to the browser.
func TestCodeNeedsItsVerifier(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		id := k.samlConnection(p, k.tenant("Corp"), nil)
		at := k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))
		for name, c := range map[string]struct {
			verifier any
			code     string
		}{
			"none": {nil, "validation_failed"}, "empty": {"", "validation_failed"}, "another": {strings.Repeat("x", 64),
				"bad_code_verifier"}, "the challenge itself": {challenge(), "bad_code_verifier"},
			"42 characters":  {verifier[:42], "bad_code_verifier"},
			"129 characters": {strings.Repeat("x", 129), "bad_code_verifier"},
		} {
			body := map[string]any{"auth_code": at.Query().Get("code")}
			if c.verifier != nil {
				body["code_verifier"] = c.verifier
			}
			if got := k.call("POST", "/token?grant_type=pkce", "", body); got.status != 400 || got.text(k, "code") != c.code {
				k.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
		k.want(k.redeem(at), 200, "")
	})
}

// An answer that comes too late, and a connection that is disabled in mid-flow and afterwards.
func TestOIDCEnds(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newOP(k)
		id := k.oidcConnection(p, k.tenant("Corp"), "corp.example")
		begin := func() (string, url.Values) { return p.answer(k.begin("provider_id", id)) }
		conn, q := begin()
		sess := k.want(k.redeem(k.callback(conn, q)), 200, "")
		k.want(k.call("GET", "/user", sess.text(k, "access_token"), nil), 200, "")

		conn, q = begin()
		issued := k.callback(conn, q)
		conn, q = begin()
		k.want(k.call("PUT", "/admin/custom-providers/custom:corp-example", k.serviceKey(),
			map[string]any{"enabled": false}), 200, "")
		if at := k.callback(conn, q); at.Query().Get("error_code") == "" || at.Query().Get("code") != "" {
			k.Errorf("disabled in mid-flow, landed at %s", at)
		}
		k.want(k.redeem(issued), 404, "flow_state_not_found")
		k.want(k.call("GET", "/user", sess.text(k, "access_token"), nil), 403, "session_not_found")
		k.want(k.call("POST", "/token?grant_type=refresh_token", "",
			map[string]any{"refresh_token": sess.text(k, "refresh_token")}), 400, "refresh_token_not_found")

		k.want(k.call("PUT", "/admin/custom-providers/custom:corp-example", k.serviceKey(), map[string]any{"enabled": true}),
			200, "")
		conn, q = begin()
		k.mu.Lock()
		k.skew = 11 * time.Minute
		k.mu.Unlock()
		if at := k.callback(conn, q); at.Query().Get("error_code") == "" || at.Query().Get("code") != "" {
			k.Errorf("eleven minutes later, landed at %s", at)
		}
	})
}

// An identity of one connection is not that of another, whatever both say of
// it: a provider speaks for its own people.
func TestConnectionsDoNotShareIdentities(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, q, one, two := newOP(k), newOP(k), k.tenant("One"), k.tenant("Two")
		a, b := k.oidcConnection(p, one, "one.example"), k.oidcConnection(q, two, "two.example")
		in := func(o *op, id, email string) map[string]any {
			o.claims = map[string]any{"sub": "same-subject", "email": email}
			conn, v := o.answer(k.begin("provider_id", id))
			at := k.callback(conn, v)
			if at.Query().Get("code") == "" {
				return nil
			}
			return claims(k, k.want(k.redeem(at), 200, "").text(k, "access_token"))
		}
		first, second := in(p, a, "x@one.example"), in(q, b, "x@two.example")
		if first["sub"] == second["sub"] || first["tenant_id"] != one || second["tenant_id"] != two {
			k.Errorf("%v and %v", first, second)
		}
		if got := in(q, b, "x@one.example"); got != nil {
			k.Errorf("the second provider vouched for the first one's domain: %v", got)
		}
		if _, err := k.ident.SignIns.SignIn(k.Context(), "x@one.example", pw, identity.Client{}); err == nil {
			k.Error("signed in without a provider")
		}
	})
}

// A provider that takes the request and never answers is given up by us, not
// waited for. That takes ten seconds: one engine will do, no row is written.
func TestSilentProvider(t *testing.T) {
	t.Parallel()
	k := open(t, db.SQLite)
	p := newOP(k)
	id := k.oidcConnection(p, k.tenant("Corp"), "corp.example")
	var left atomic.Bool
	p.hook = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-r.Context().Done():
			left.Store(true)
		case <-time.After(30 * time.Second):
		}
		return true
	}
	a := k.call("POST", "/sso", "", map[string]any{"provider_id": id, "code_challenge": challenge(),
		"code_challenge_method": "s256"})
	k.want(a, 503, "unexpected_failure")
	p.mu.Lock() // the hook has returned
	defer p.mu.Unlock()
	if !left.Load() {
		k.Error("the request was held as long as the provider liked")
	}
}
