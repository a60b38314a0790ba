package identity_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity"
)

// stranger signs in at the provider with an address it does not vouch for and
// returns where that leads; the kit's clock moves past the mail interval.
func (k *kit) stranger(p *idp, pk identity.PKCE) string {
	k.Helper()
	p.change = map[string]any{"sub": "stranger", "email_verified": false}
	cb, _ := k.begin(p, pk)
	to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location
	k.sleep(2 * time.Minute)
	return to
}

const victim = "p@corp.example"

// However the owner of an address proves it, the provider's identity with which
// a stranger waited in the account is gone.
func TestUnproved_strangersIdentity(t *testing.T) {
	mailed := func(k *kit, kind, typ string) *identity.Session {
		k.Helper()
		s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: typ, Email: victim,
			Token: digitsIn(k, k.mailTo(victim, kind))}, nobody)
		k.ok(err)
		return s
	}
	for name, prove := range map[string]func(k *kit) *identity.Session{
		"the mail of the stranger's sign-in": func(k *kit) *identity.Session {
			k.ok(k.svc.OTP.Resend(k.ctx, "signup", identity.MailRequest{Email: victim}, nobody))
			return mailed(k, "confirmation", "signup")
		},
		"signing up": func(k *kit) *identity.Session {
			_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: victim, Password: pw}, nobody)
			k.ok(err)
			return mailed(k, "confirmation", "email")
		},
		"a code": func(k *kit) *identity.Session {
			k.ok(k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: victim, Create: true}, nobody))
			return mailed(k, "confirmation", "email")
		},
		"recovery": func(k *kit) *identity.Session {
			k.ok(k.svc.OTP.Recover(k.ctx, identity.MailRequest{Email: victim}, nobody))
			return mailed(k, "recovery", "recovery")
		},
		"an invitation": func(k *kit) *identity.Session {
			admin := k.actor(k.member(k.tenant("North"), "admin@x.example", actor.Admin))
			_, err := k.svc.Invitations.Invite(k.ctx, admin, identity.Invite{Email: victim, Role: actor.Driver})
			k.ok(err)
			s, err := k.redeem(linkIn(k, k.mailTo(victim, "invite")).Get("token"))
			k.ok(err)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			withIDP(t, nil, func(k *kit, p *idp) {
				if to := k.stranger(p, identity.PKCE{}); !strings.Contains(to, "provider_email_needs_verification") {
					k.Fatal(to)
				}
				k.mailTo(victim, "confirmation")
				s := prove(k)
				if len(s.User.Identities) != 1 || s.User.Identities[0].Provider != "email" ||
					s.User.AppMetadata["provider"] != "email" ||
					s.User.UserMetadata["sub"] != s.User.ID || s.User.UserMetadata["name"] != nil {
					k.Errorf("%+v", s.User)
				}
				for _, pk := range []identity.PKCE{{}, challenge()} {
					if to := k.stranger(p, pk); !strings.Contains(to, "error_code=provider_email_needs_verification") ||
						strings.Contains(to, "access_token") {
						k.Errorf("the stranger: %s", to)
					}
				}
			})
		})
	}
}

// An account made where addresses need no proof is not the stranger's either.
func TestUnproved_strangersIdentityAutoconfirm(t *testing.T) {
	withIDP(t, func(c *identity.Config) { c.Autoconfirm = true }, func(k *kit, p *idp) {
		k.stranger(p, identity.PKCE{})
		k.signUp(victim, nil)
		if to := k.stranger(p, identity.PKCE{}); strings.Contains(to, "access_token") {
			k.Error(to)
		}
	})
}

// Who finishes his own sign-in at the provider, in the browser that began it,
// keeps it; the digits of the same mail prove the mailbox alone.
func TestUnproved_ownIdentity(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		if to := k.stranger(p, challenge()); !strings.Contains(to, "provider_email_needs_verification") {
			k.Fatal(to)
		}
		q := linkIn(k, k.mailTo(victim, "confirmation"))
		to, err := k.svc.Verification.OpenLink(k.ctx, identity.Open{Token: q.Get("token"), Type: "signup",
			Redirect: q.Get("redirect_to"), Page: true}, nobody)
		k.ok(err)
		_, err = k.svc.OAuth.Exchange(k.ctx, codeOf(k, to.Location), strings.Repeat("z", 50), nobody)
		k.code(err, "bad_code_verifier")
		s, err := k.svc.OAuth.Exchange(k.ctx, codeOf(k, to.Location), verifier, nobody)
		k.ok(err)
		if len(s.User.Identities) != 1 || s.User.Identities[0].Provider != "corp" || s.User.EmailConfirmedAt.IsZero() {
			k.Errorf("%+v", s.User)
		}
		if to := k.stranger(p, identity.PKCE{}); !strings.Contains(to, "access_token") {
			k.Errorf("his second sign-in: %s", to)
		}
	})
	withIDP(t, nil, func(k *kit, p *idp) {
		k.stranger(p, challenge())
		_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "signup", Email: victim,
			Token: digitsIn(k, k.mailTo(victim, "confirmation"))}, nobody)
		k.ok(err)
		if to := k.stranger(p, identity.PKCE{}); strings.Contains(to, "access_token") {
			k.Error(to)
		}
	})
}

// What a stranger left in an account is gone when the service key says whose it
// is, however it says so; what the service key gave stays.
func TestUnproved_serviceKey(t *testing.T) {
	const other, number = "other@corp.example", "491712345678"
	yes, phone, moved := other, number, "other-good-password"
	signIn := func(k *kit, in identity.AdminUser, password string) error {
		var err error
		switch {
		case in.Phone != nil:
			_, err = k.svc.SignIns.SignInPhone(k.ctx, number, password, nobody)
		case in.Email != nil:
			_, err = k.svc.SignIns.SignIn(k.ctx, other, password, nobody)
		default:
			_, err = k.svc.SignIns.SignIn(k.ctx, victim, password, nobody)
		}
		return err
	}
	for name, in := range map[string]identity.AdminUser{
		"the address":     {EmailConfirm: true},
		"another address": {Email: &yes},
		"a number":        {Phone: &phone, PhoneConfirm: true},
	} {
		t.Run(name, func(t *testing.T) {
			withIDP(t, func(c *identity.Config) { c.Phone, c.SMS = true, texts{make(chan [2]string, 10)} },
				func(k *kit, p *idp) {
					k.stranger(p, identity.PKCE{})
					id := k.userID(victim)
					u, err := k.svc.Admin.ChangeUser(k.ctx, k.service(), id, in)
					k.ok(err)
					if u.ConfirmedAt.IsZero() || k.count("SELECT COUNT(*) FROM identities WHERE user_id = $1 AND provider = 'corp'",
						id) != 0 {
						k.Errorf("the stranger's identity: %+v", u)
					}
					if to := k.stranger(p, identity.PKCE{}); strings.Contains(to, "access_token") {
						k.Errorf("the stranger: %s", to)
					}
				})
			onBoth(t, func(c *identity.Config) { byMail(c); c.Phone, c.SMS = true, texts{make(chan [2]string, 10)} },
				func(k *kit) {
					_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: victim, Password: pw}, nobody)
					k.ok(err)
					id := k.userID(victim)
					_, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), id, in)
					k.ok(err)
					k.code(signIn(k, in, pw), "invalid_credentials")
					k.ok(k.svc.Admin.DeleteUser(k.ctx, k.service(), id, false))

					k.sleep(2 * time.Minute)
					_, _, err = k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: victim, Password: pw}, nobody)
					k.ok(err)
					id = k.userID(victim)
					given := in
					given.Password = &moved
					_, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), id, given)
					k.ok(err)
					k.ok(signIn(k, in, moved))
					k.ok(k.svc.Admin.DeleteUser(k.ctx, k.service(), id, false))

					_, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), k.made(victim, pw), in)
					k.ok(err)
					k.ok(signIn(k, in, pw))
				})
		})
	}
}

// made makes an account by the service key that nobody has proved.
func (k *kit) made(email, password string) string {
	k.Helper()
	u, err := k.svc.Admin.CreateUser(k.ctx, k.service(), identity.AdminUser{Email: &email, Password: &password})
	k.ok(err)
	return u.ID
}

func (k *kit) userID(email string) (id string) {
	k.Helper()
	k.ok(k.db.Read(k.ctx, all, func(tx *db.Tx) error {
		return tx.One("SELECT id FROM users WHERE email = $1", []any{email},
			func(r *db.Row) error { id = r.Text(0); return nil })
	}))
	return id
}

// The service key signs up whom a stranger had signed up before: with the password
// it gives, and none of the stranger's.
func TestUnproved_generatedSignUp(t *testing.T) {
	onBoth(t, byMail, func(k *kit) {
		south := k.tenant("South")
		k.exec("UPDATE tenants SET join_policy = 'open' WHERE id = $1", south)
		for _, own := range []string{"the-owner's-own-password", ""} {
			k.sleep(2 * time.Minute)
			_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: victim, Password: pw,
				Data: map[string]any{"tenant_id": south}}, nobody)
			k.ok(err)
			l, err := k.svc.Admin.GenerateLink(k.ctx, k.service(),
				identity.LinkRequest{Type: "signup", Email: victim, Password: own, Data: map[string]any{"name": "P"}})
			k.ok(err)
			s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "signup", TokenHash: l.HashedToken}, nobody)
			k.ok(err)
			if tenantOf(k, s) != "" || s.User.UserMetadata["name"] != "P" {
				k.Errorf("%+v", s.User)
			}
			_, err = k.svc.SignIns.SignIn(k.ctx, victim, pw, nobody)
			k.code(err, "invalid_credentials")
			if own != "" {
				_, err = k.svc.SignIns.SignIn(k.ctx, victim, own, nobody)
				k.ok(err)
			}
			k.ok(k.svc.Admin.DeleteUser(k.ctx, k.service(), s.User.ID, false))
		}
	})
}

// What somebody has proved by number no sign-up with its unproved address
// touches, nor the other way round.
func TestUnproved_otherContactProved(t *testing.T) {
	account := func(k *kit, mail, phone bool) string {
		k.Helper()
		email, number, p := victim, "491712345678", pw
		u, err := k.svc.Admin.CreateUser(k.ctx, k.service(),
			identity.AdminUser{Email: &email, Phone: &number, Password: &p, EmailConfirm: mail, PhoneConfirm: phone})
		k.ok(err)
		return u.ID
	}
	phone := func(c *identity.Config) {
		byMail(c)
		c.Phone, c.SMS = true, texts{make(chan [2]string, 10)}
	}
	byNumber := func(k *kit) {
		k.Helper()
		if _, err := k.svc.SignIns.SignInPhone(k.ctx, "491712345678", pw, nobody); err != nil {
			k.Errorf("the password is gone: %v", err)
		}
	}
	onBoth(t, phone, func(k *kit) {
		id := account(k, false, true)
		_, u, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: victim, Password: "another-good-password"}, nobody)
		k.ok(err)
		if u.ID == id {
			k.Error("the answer names the account")
		}
		k.mailTo(victim, "known")
		byNumber(k)
		k.sleep(2 * time.Minute)
		k.ok(k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: victim, Create: true}, nobody))
		s, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email", Email: victim,
			Token: digitsIn(k, k.mailTo(victim, "confirmation"))}, nobody)
		k.ok(err)
		if s.User.ID != id || s.User.EmailConfirmedAt.IsZero() {
			k.Errorf("%+v", s.User)
		}
		byNumber(k)
	})
	onBoth(t, phone, func(k *kit) {
		id := account(k, true, false)
		_, u, err := k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: "491712345678",
			Password: "another-good-password"}, nobody)
		k.ok(err)
		if u.ID == id {
			k.Error("the answer names the account")
		}
		k.signIn(victim)
	})
	onBoth(t, func(c *identity.Config) { phone(c); c.Autoconfirm = true }, func(k *kit) {
		account(k, false, true)
		k.exec("UPDATE users SET password_hash = NULL")
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: victim, Password: pw}, nobody)
		k.code(err, "user_already_exists")
	})
}

// An account with a proved number that linked a provider signs in there,
// although it has no address.
func TestLink_phoneAccount(t *testing.T) {
	withIDP(t, func(c *identity.Config) {
		c.ManualLinking, c.Phone, c.PhoneConfirmed, c.SMS = true, true, true, texts{make(chan [2]string, 10)}
	}, func(k *kit, p *idp) {
		s, _, err := k.svc.SignUps.SignUpPhone(k.ctx, identity.PhoneSignUp{Phone: "491712345678", Password: pw}, nobody)
		k.ok(err)
		_, err = k.svc.OAuth.LinkIDToken(k.ctx, k.actor(s), identity.IDToken{Provider: "corp", Token: p.idToken(k, nil)},
			nobody)
		k.ok(err)
		up, err := k.svc.OAuth.SignInIDToken(k.ctx, identity.IDToken{Provider: "corp", Token: p.idToken(k, nil)}, nobody)
		k.ok(err)
		if up.User.ID != s.User.ID || up.User.Email != "" {
			k.Errorf("%+v", up.User)
		}
		cb, _ := k.begin(p, identity.PKCE{})
		if to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location; !strings.Contains(to, "access_token") {
			k.Error(to)
		}
	})
}

// Sign-ins at a provider mail no more than one code in the mail interval, and
// the first one's code holds.
func TestUnproved_oneMail(t *testing.T) {
	withIDP(t, nil, func(k *kit, p *idp) {
		spoilt := map[string]any{"sub": "stranger", "email_verified": false}
		p.change = spoilt
		for range 3 {
			cb, _ := k.begin(p, identity.PKCE{})
			if to := k.svc.OAuth.FinishOAuth(k.ctx, cb, nobody).Location; !strings.Contains(to,
				"provider_email_needs_verification") {
				k.Error(to)
			}
			_, err := k.svc.OAuth.SignInIDToken(k.ctx, identity.IDToken{Provider: "corp", Token: p.idToken(k, spoilt)}, nobody)
			k.code(err, "provider_email_needs_verification")
		}
		// Its owner asks for a code meanwhile: he has one, and nothing of the
		// stranger's is left.
		k.ok(k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: victim, Create: true}, nobody))
		code := digitsIn(k, k.mailTo(victim, "confirmation"))
		if n := k.mailsTo(victim); n != 0 {
			k.Errorf("%d mails more", n)
		}
		if n := k.count("SELECT COUNT(*) FROM identities WHERE provider = 'corp'"); n != 0 {
			k.Error("the stranger's identity stayed")
		}
		_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email", Email: victim, Token: code}, nobody)
		k.ok(err)
	})
}

// Asking for a new code within the mail interval buys no guesses, at whichever
// door: five are all there are. The mailed link opens all the same.
func TestVerify_guessesStay(t *testing.T) {
	const to = "new@else.example"
	open := func(k *kit, link string) error {
		_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email", TokenHash: link}, nobody)
		return err
	}
	onBoth(t, func(c *identity.Config) { c.Autoconfirm, c.InviteLinksAny = false, true }, func(k *kit) {
		admin := k.actor(k.member(k.tenant("North"), "admin@x.example", actor.Admin))
		type code struct{ digits, link string }
		mailed := func() code {
			m := k.mailTo(to, "confirmation")
			return code{digitsIn(k, m), linkIn(k, m).Get("token")}
		}
		doors := map[string]func() code{
			"OTP": func() code {
				k.ok(k.svc.OTP.OTP(k.ctx, identity.MailRequest{Email: to, Create: true}, nobody))
				return mailed()
			},
			"sign-up": func() code {
				_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: to, Password: pw}, nobody)
				k.ok(err)
				return mailed()
			},
			"the service key": func() code {
				l, err := k.svc.Admin.GenerateLink(k.ctx, k.service(), identity.LinkRequest{Type: "magiclink", Email: to})
				k.ok(err)
				return code{l.EmailOTP, l.HashedToken}
			},
			"an invitation": func() code { return code{link: k.inviteLink(admin, to)} },
		}
		try := func(digits string) error {
			_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "email", Email: to, Token: digits}, nobody)
			return err
		}
		for _, order := range [][3]string{{"OTP", "sign-up", "the service key"},
			{"sign-up", "the service key", "an invitation"},
			{"an invitation", "sign-up", "the service key"}} {
			for _, guesses := range [][2]int{{5, 0}, {3, 2}} {
				k.sleep(2 * time.Minute)
				doors[order[0]]()
				for range guesses[0] {
					k.code(try("no"), "otp_expired")
				}
				second := doors[order[1]]()
				for range guesses[1] {
					k.code(try("no"), "otp_expired")
				}
				if second.digits != "" {
					k.code(try(second.digits), "otp_expired")
				}
				third := doors[order[2]]()
				if third.digits != "" {
					k.code(try(third.digits), "otp_expired")
				}
				if n := k.count("SELECT COUNT(*) FROM users WHERE email = $1 AND email_confirmed_at IS NOT NULL", to); n != 0 {
					k.Errorf("%v %v: guessed", order, guesses)
				}
			}
		}
		// The owner's link opens within the interval, his digits after it.
		last := doors["an invitation"]()
		k.sleep(2 * time.Minute)
		later := doors["OTP"]()
		for range 4 {
			k.code(try("no"), "otp_expired")
		}
		k.ok(try(later.digits))
		k.code(open(k, last.link), "otp_expired")
	})
	onBoth(t, byMail, func(k *kit) {
		_, _, err := k.svc.SignUps.SignUp(k.ctx, identity.SignUp{Email: to, Password: pw}, nobody)
		k.ok(err)
		k.mailTo(to, "confirmation")
		for range 5 {
			_, err := k.svc.Verification.Verify(k.ctx, identity.Verify{Type: "signup", Email: to, Token: "no"}, nobody)
			k.code(err, "otp_expired")
		}
		l, err := k.svc.Admin.GenerateLink(k.ctx, k.service(), identity.LinkRequest{Type: "magiclink", Email: to})
		k.ok(err)
		k.ok(open(k, l.HashedToken))
	})
}
