package identity_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity"
	"holdfast/internal/identity/token"
	"holdfast/internal/mail"
	"holdfast/internal/store"
)

// Each of these tests stands before one check that no other test needs; each
// was seen to fail without it.

// A suspended member is out by every door, not only by the session that ended.
func TestFence_suspendedMember(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		ten := k.tenant("North")
		s := k.member(ten, "a@x.example", actor.Operator)
		k.exec("UPDATE members SET status = 'suspended'")
		k.svc.Forget(s.User.ID)
		if a := k.actor(s); a.TenantID != "" || a.Role != "" {
			k.Errorf("an open session: %+v", a)
		}
		if tenantOf(k, k.refresh(s)) != "" || tenantOf(k, k.signIn("a@x.example")) != "" {
			k.Error("a new token names the tenant")
		}
		_, err := k.svc.Sessions.SwitchTenant(k.ctx, k.actor(s), ten)
		k.code(err, "tenant_forbidden")
	})
}

// An invitation waits for the proof of its address, and goes with a membership
// that ends.
func TestFence_invitations(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		ten := k.tenant("North")
		k.setting(ten, "mfa_required", `"none"`)
		admin := k.actor(k.member(ten, "admin@x.example", actor.Admin))
		s := k.signUp("a@x.example", nil)
		k.exec("UPDATE users SET email_confirmed_at = NULL WHERE id = $1", s.User.ID)
		_, err := k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: "a@x.example", Role: actor.Safety})
		k.ok(err)
		if tenantOf(k, k.refresh(s)) != "" {
			k.Error("an unproved address joined")
		}
		out := k.member(ten, "out@x.example", actor.Viewer)
		_, err = k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: "out@x.example", Role: actor.Admin})
		k.ok(err)
		st, r := k.guarded()
		k.ok(k.update(st, r, admin, out.User.ID, store.Row{"status": "suspended"}))
		if n := k.count("SELECT COUNT(*) FROM invitations WHERE status = 'pending' AND email = 'out@x.example'"); n != 0 {
			k.Error("an invitation outlived the membership")
		}
	})
}

// The password is changed between its check and the session: no session.
func TestFence_passwordChangedMeanwhile(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		var armed atomic.Bool
		svc, err := identity.New(k.cfg, k.db, k, func() time.Time { // asked for the first time after the check
			if armed.CompareAndSwap(true, false) {
				k.exec("UPDATE users SET password_hash = 'changed'")
			}
			return k.now()
		})
		k.ok(err)
		defer svc.Close(k.ctx)
		before := k.count("SELECT COUNT(*) FROM sessions")
		armed.Store(true)
		_, err = svc.SignIns.SignIn(k.ctx, "a@x.example", pw, nobody)
		k.code(err, "invalid_credentials")
		if armed.Load() || k.count("SELECT COUNT(*) FROM sessions") != before {
			k.Error("the password of before opened a session")
		}
	})
}

// Two right sign-ins at once of an account whose hash was imported: the first
// hashes the password anew, and the second is let in as well.
func TestFence_hashedAnewMeanwhile(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		k.signUp("b@x.example", nil)
		var armed atomic.Bool
		svc, err := identity.New(k.cfg, k.db, k, func() time.Time {
			if armed.CompareAndSwap(true, false) {
				k.exec("UPDATE users SET password_hash = (SELECT b.password_hash FROM users b WHERE b.email = 'b@x.example') WHERE email = 'a@x.example'")
			}
			return k.now()
		})
		k.ok(err)
		defer svc.Close(k.ctx)
		armed.Store(true)
		_, err = svc.SignIns.SignIn(k.ctx, "a@x.example", pw, nobody)
		k.ok(err)
		if armed.Load() {
			k.Error("the hash did not change meanwhile")
		}
	})
}

// Links end in time, and so does the right to choose the verifier freely.
func TestFence_lateLink(t *testing.T) {
	withIDP(t, func(c *identity.Config) { c.Autoconfirm = true }, func(k *kit, _ *idp) {
		k.signUp("a@x.example", nil)
		k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody))
		link := linkIn(k, k.mailTo("a@x.example", "recovery")).Get("token")
		k.sleep(25 * time.Hour)
		_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "recovery", TokenHash: link}, nobody)
		k.code(err, "otp_expired")
		to, err := k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: link, Type: "recovery", Post: true, Page: true},
			nobody)
		k.ok(err)
		if !strings.Contains(to.Location, "error_code=otp_expired") {
			k.Error(to.Location)
		}
		_, err = k.svc.OAuth.Exchange(k.ctx, "any code", strings.Repeat("v", 42), nobody)
		k.code(err, "bad_code_verifier")
	})
	withIDP(t, func(c *identity.Config) { c.ImplicitFlow = false }, func(k *kit, _ *idp) {
		_, err := k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "corp", Redirect: "https://app.example.com/in"})
		k.code(err, "validation_failed")
		_, err = k.svc.OAuth.Authorize(k.ctx, identity.Authorize{Provider: "corp", Redirect: "https://app.example.com/in",
			PKCE: challenge()})
		k.ok(err)
	})
}

// Tokens in a fragment, and everything that a mailed link hands over, go where an
// entry is written out, and to the site instead of what a wildcard lets in.
func TestFence_wildcardTargets(t *testing.T) {
	withIDP(t, func(c *identity.Config) {
		linking(c)
		c.RedirectURLs, c.OIDC["second"] = []string{"https://app.example.com/**"}, c.OIDC["corp"]
	}, func(k *kit, p *idp) {
		const wide, site = "https://app.example.com/in", "http://localhost:3000"
		mailed := func(email string, pk identity.PKCE, in identity.Open) string {
			k.Helper()
			k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: email, Redirect: wide, PKCE: pk}, nobody))
			in.Token, in.Type, in.Redirect = linkIn(k, k.mailTo(email, "recovery")).Get("token"), "recovery", wide
			to, err := k.svc.Verification.OpenLink(k.ctx, in, nobody)
			k.ok(err)
			return to.Location
		}
		s := k.signUp("a@x.example", nil)
		k.signUp("b@x.example", nil)
		k.signUp("c@x.example", nil)
		cb, _ := k.begin(p, identity.PKCE{})
		coded, _ := k.begin(p, challenge())
		start, err := k.svc.OAuth.AuthorizeLink(k.ctx, k.actor(s), identity.Authorize{Provider: "second", Redirect: wide})
		k.ok(err)
		code, state := p.grant(start.Location)
		second := identity.Callback{Provider: "second", State: state, Code: code,
			Cookie: func(string) string { return start.Browser }}
		for name, tt := range map[string]struct{ at, want string }{
			"mail":     {mailed("a@x.example", identity.PKCE{}, identity.Open{Post: true, Page: true}), site + "#access_token="},
			"no page":  {mailed("b@x.example", identity.PKCE{}, identity.Open{}), site + "?token_hash="},
			"mailed":   {mailed("c@x.example", challenge(), identity.Open{Page: true}), site + "?code="},
			"provider": {k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location, site + "#access_token="},
			"link":     {k.svc.OAuth.FinishOAuth(k.ctx, second, nobody).Location, site + "#access_token="},
			"code":     {k.svc.OAuth.FinishOAuth(k.ctx, coded, nobody).Location, wide + "?code="},
		} {
			if !strings.HasPrefix(tt.at, tt.want) {
				k.Errorf("%s leads to %s", name, tt.at)
			}
		}
	})
}

// What an account's row says of its role makes no API key of its tokens, and
// the database alone makes no refresh token.
func TestFence_rowsMintNothing(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		for _, role := range []string{"service_role", "supabase_admin", "anon"} {
			k.exec("UPDATE users SET role = $1", role)
			s = k.refresh(s)
			if c := claims(k, s.AccessToken); c["role"] != "authenticated" {
				k.Errorf("%s reached the token: %v", role, c["role"])
			}
			if a := k.actor(s); a.Role != "" || a.UserID != s.User.ID {
				k.Errorf("%s: %+v", role, a)
			}
		}
		var key []byte
		n := uint64(0)
		k.ok(k.db.Read(k.ctx, all, func(tx *db.Tx) error {
			return tx.One("SELECT refresh_key, counter FROM sessions", nil, func(r *db.Row) error {
				key, n = r.Bytes(0), uint64(r.Int(1))
				return nil
			})
		}))
		forged, err := token.NewRefresh(k.actor(s).SessionID, n, key)
		k.ok(err)
		_, err = k.svc.Sessions.Refresh(k.ctx, forged, nobody)
		k.code(err, "refresh_token_not_found")
	})
}

// stuck is a mail server that answers when it is let go.
type stuck struct{ free chan struct{} }

func (m stuck) Send(ctx context.Context, _ mail.Message) error {
	select {
	case <-m.free:
	case <-ctx.Done():
	}
	return nil
}

// Whoever asks for a mail is answered before it is made, so that the time tells
// nothing of whether there is an account.
func TestFence_answeredBeforeTheMail(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		k.signUp("a@x.example", nil)
		m := stuck{make(chan struct{})}
		svc, err := identity.New(k.cfg, k.db, m, k.now)
		k.ok(err)
		answered := make(chan error, 3)
		go func() {
			answered <- svc.OTP.Recover(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody)
			answered <- svc.OTP.OTP(k.ctx, identity.MailRequest{Email: "a@x.example"}, nobody)
			answered <- svc.OTP.Resend(k.ctx, "email_change", identity.MailRequest{Email: "a@x.example"}, nobody)
		}()
		for range 3 {
			select {
			case err := <-answered:
				if err != nil && !strings.Contains(err.Error(), "after 60 seconds") {
					k.Error(err)
				}
			case <-time.After(20 * time.Second):
				k.Fatal("the answer waits for the mail")
			}
		}
		close(m.free)
		k.ok(svc.Close(k.ctx))
	})
}
