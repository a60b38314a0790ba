package identity_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/identity"
	"holdfast/internal/identity/token"
)

// What broke in systems like this one, where no other test of the package
// stands for it; docs/security.md lists all with their tests.

// One authorization code gave two sets of tokens when two callers came at once
// (supabase/auth bdbf01eb).
func TestAdvisory_codeRedeemedTwice(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example", PKCE: challenge()}, nobody))
		q := linkIn(k, k.mailTo("a@x.example", "recovery"))
		to, err := k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: q.Get("token"), Type: "recovery",
			Redirect: q.Get("redirect_to"), Page: true}, nobody)
		k.ok(err)
		code, before := codeOf(k, to.Location), k.count("SELECT COUNT(*) FROM sessions")
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for range 8 {
			wg.Go(func() {
				_, err := k.svc.OAuth.Exchange(k.ctx, code, verifier, nobody)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if fault.As(err).Kind == fault.Internal {
					k.Error(err)
				}
			})
		}
		wg.Wait()
		if n := k.count("SELECT COUNT(*) FROM sessions") - before; won != 1 || n != 1 {
			k.Errorf("%d callers used one code, %d sessions began", won, n)
		}
	})
}

// agree takes the codes of a change of address from the mails that brought them.
func (k *kit) agree(kinds ...string) {
	k.Helper()
	for _, kind := range kinds {
		to := map[string]string{"email_change_new": "new@x.example", "email_change_current": "old@x.example"}[kind]
		_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email_change", Email: to,
			Token: digitsIn(k, k.mailTo(to, kind))}, nobody)
		k.ok(err)
	}
}

// Old mail tokens stayed good after the address had changed (supabase/auth
// cf74a14f), and after the password had.
func TestAdvisory_codeOutlivesTheAddress(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.MailInterval = -1 }, func(k *kit) {
		s := k.signUp("old@x.example", nil)
		for _, change := range []identity.Update{{Email: "new@x.example"}, {Password: "another-good-password"}} {
			address := "old@x.example"
			if change.Password != "" {
				address = "new@x.example"
			}
			k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: address}, nobody))
			m := k.mailTo(address, "recovery")
			_, err := k.svc.Profile.UpdateUser(k.ctx, k.actor(s), change)
			k.ok(err)
			if change.Email != "" {
				k.agree("email_change_new", "email_change_current")
			}
			_, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", TokenHash: linkIn(k, m).Get("token")},
				nobody)
			k.code(err, "otp_expired")
			_, err = k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", Email: address, Token: digitsIn(k, m)},
				nobody)
			k.code(err, "otp_expired")
		}
	})
}

// Users set their own verified flag and reserved claims (Zitadel
// CVE-2026-27946, CVE-2024-29892): metadata are text of theirs and reach no
// claim that anybody decides by.
func TestAdvisory_reservedClaims(t *testing.T) {
	forged := map[string]any{"sub": "00000000-0000-4000-8000-000000000001", "role": "service_role", "aal": "aal2",
		"tenant_role": "owner", "email_verified": true,
		"app_metadata": map[string]any{"tenant_role": "owner",
			"tenant_id": someTenant}, "session_id": "x", "is_anonymous": false, "amr": []any{"mfa/totp"}, "iss": "evil"}
	onBoth(t, byMail, func(k *kit) {
		email, p := "a@x.example", pw
		u, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Password: &p, EmailConfirm: true})
		k.ok(err)
		s := k.signIn(email)
		_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(s), identity.Update{Data: forged})
		k.ok(err)
		_, err = k.svc.Profile.UpdateUser(k.ctx, k.actor(s),
			identity.Update{AppMetadata: map[string]any{"tenant_role": "owner"}})
		k.code(err, "not_admin")
		s = k.refresh(s)
		c := claims(k, s.AccessToken)
		app, _ := c["app_metadata"].(map[string]any)
		if c["sub"] != u.ID || c["role"] != "authenticated" || c["aal"] != "aal1" || c["tenant_role"] != nil ||
			c["tenant_id"] != nil ||
			c["iss"] != k.svc.Issuer() || app["tenant_role"] != nil || app["tenant_id"] != nil {
			k.Errorf("%v", c)
		}
		if a := k.actor(s); a.Role != "" || a.TenantID != "" || a.AAL != "aal1" || a.UserID != u.ID {
			k.Errorf("%+v", a)
		}
		// An address is not proved by saying so at sign-up either.
		_, _, err = k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: "b@x.example", Password: pw, Data: forged,
			Redirect: k.cfg.SiteURL}, nobody)
		k.ok(err)
		_, err = k.svc.SignIns.SignIn(k.ctx, "b@x.example", pw, nobody)
		k.code(err, "email_not_confirmed")
	})
}

// A revocation was reported as done although storage had failed (fosite
// CVE-2020-15223): it is an error, and no 4xx that a client takes for done.
func TestAdvisory_revocationThatFailed(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		a := k.actor(s)
		gone, cancel := context.WithCancel(k.ctx)
		cancel()
		for scope, err := range map[string]error{"": k.svc.Sessions.Logout(gone, a, ""),
			"local": k.svc.Sessions.Logout(gone, a, "local"),
			"one":   k.svc.Sessions.EndSession(gone, a, a.SessionID)} {
			if f := fault.As(err); f == nil || f.Kind != fault.Internal && f.Kind != fault.Unavailable {
				k.Errorf("%q: %v", scope, err)
			}
		}
		if n := k.count("SELECT COUNT(*) FROM sessions"); n != 1 {
			k.Errorf("%d sessions", n)
		}
		if n := k.count("SELECT COUNT(*) FROM audit WHERE action = 'session.ended'"); n != 0 {
			k.Errorf("%d sign-outs in the audit log that did not happen", n)
		}
		k.refresh(s)
	})
}

// What a stranger left at an address that he could not prove is gone once its
// owner has: his provider's identity as well as his sessions (PocketBase
// CVE-2026-44166).
func TestAdvisory_strangerLeavesNothing(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		enter := func(change map[string]any) bool {
			p.change = change
			cb, _ := k.begin(p, identity.PKCE{})
			return strings.Contains(k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location, "access_token")
		}
		stranger := map[string]any{"sub": "stranger", "email_verified": false}
		if enter(stranger) || !enter(nil) || enter(stranger) {
			k.Error("a stranger's identity opens the account of the address's owner")
		}
	})
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		k.exec("UPDATE users SET email_confirmed_at = NULL")
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody))
		_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", Email: "a@x.example",
			Token: digitsIn(k, k.mailTo("a@x.example", "recovery"))}, nobody)
		k.ok(err)
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, nobody)
		k.code(err, "refresh_token_not_found")
	})
}

// A subject belongs to its issuer: the same one of another issuer, after the
// operator has pointed a provider elsewhere, is another person.
func TestAdvisory_subjectOfAnotherIssuer(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		enter := func(change map[string]any) string {
			p.change = change
			cb, _ := k.begin(p, challenge())
			s, err := k.svc.OAuth.Exchange(k.ctx, codeOf(k, k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location), verifier,
				nobody)
			k.ok(err)
			return s.User.ID
		}
		first := enter(nil)
		k.exec("UPDATE identities SET issuer = 'https://before.example'")
		if enter(map[string]any{"email": "other@corp.example"}) == first {
			k.Error("the subject of another issuer opens the account")
		}
	})
}

// A refresh token is worth what its signature is: the id of a session and a
// counter, both easily learned, make none.
func TestAdvisory_forgedRefresh(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.RefreshTokenTTL = time.Hour }, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		id := k.actor(s).SessionID
		for n := range uint64(4) {
			forged, err := token.NewRefresh(id, n, []byte("a key of the forger's own making"))
			k.ok(err)
			_, err = k.svc.Sessions.Refresh(k.ctx, forged, nobody)
			k.code(err, "refresh_token_not_found")
		}
		s = k.refresh(s)
		k.exec("UPDATE sessions SET counter = counter - 1") // an older state of the database
		_, err := k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, nobody)
		k.code(err, "refresh_token_not_found")
		k.exec("UPDATE sessions SET counter = counter + 1")
		s = k.refresh(s)
		k.sleep(2 * time.Hour)
		_, err = k.svc.Sessions.Refresh(k.ctx, s.RefreshToken, nobody)
		k.code(err, "session_expired")
	})
}
