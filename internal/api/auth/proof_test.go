package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/identity"
	"holdfast/internal/identity/totp"
)

// enrol gives an account a second factor and returns its secret and the session
// that it raised.
func (s *server) enrol(sess obj) (totp.Secret, obj) {
	s.Helper()
	made := s.call("POST", "/factors", obj{"factor_type": "totp"}, bearer(sess))
	if made.status != 200 {
		s.Fatalf("%d %s", made.status, made.text)
	}
	secret := totp.Secret(made.body["totp"].(obj)["secret"].(string))
	return secret, s.raise(sess, made.body["id"].(string), secret)
}

func (s *server) raise(sess obj, factor string, secret totp.Secret) obj {
	s.Helper()
	code, err := secret.At(s.now())
	if err != nil {
		s.Fatal(err)
	}
	asked := s.call("POST", "/factors/"+factor+"/challenge", nil, bearer(sess))
	r := s.call("POST", "/factors/"+factor+"/verify", obj{"challenge_id": asked.body["id"], "code": code}, bearer(sess))
	if r.status != 200 {
		s.Fatalf("%d %s", r.status, r.text)
	}
	return r.body
}

// A session that has shown no credential for ten minutes changes nothing of
// what opens the account, until it shows one; another session's proof, one that
// was used and a wrong one do not count.
func TestProof_ofWhatOpensTheAccount(t *testing.T) {
	onBoth(t, func(c *identity.Config) {
		c.Passkeys, c.ManualLinking = true, true
		c.Phone, c.SMS = true, silent{}
	}, func(s *server) {
		sess := s.signUp("a@x.example")
		for name, try := range map[string]func() reply{
			"passkey": func() reply { return s.call("POST", "/passkeys/registration/options", nil, bearer(sess)) },
			"factor":  func() reply { return s.call("POST", "/factors", obj{"factor_type": "totp"}, bearer(sess)) },
			"identity": func() reply {
				return s.call("GET", "/user/identities/authorize?provider=none&skip_http_redirect=true", nil, bearer(sess))
			},
			"address":   func() reply { return s.call("PUT", "/user", obj{"email": "b@x.example"}, bearer(sess)) },
			"telephone": func() reply { return s.call("PUT", "/user", obj{"phone": "+49301234567"}, bearer(sess)) },
			"removal":   func() reply { return s.call("PUT", "/user", obj{"remove": []string{"passkeys"}}, bearer(sess)) },
		} {
			s.sleep(11 * time.Minute)
			sess = s.call("POST", "/token?grant_type=refresh_token", obj{"refresh_token": sess["refresh_token"]}).body
			s.want(try(), 400, "reauthentication_needed")
			s.want(s.call("POST", "/reauthenticate", obj{"password": "not-the-password"}, bearer(sess)), 400,
				"current_password_invalid")
			s.want(s.call("POST", "/reauthenticate", obj{}, bearer(sess)), 400, "validation_failed")
			s.in("a@x.example") // a proof of another session
			s.want(try(), 400, "reauthentication_needed")
			if r := s.call("POST", "/reauthenticate", obj{"password": pw}, bearer(sess)); r.status != 200 {
				s.Fatalf("%d %s", r.status, r.text)
			}
			if r := try(); r.body["error_code"] == "reauthentication_needed" || r.status >= 500 {
				s.Errorf("%s after the proof: %d %s", name, r.status, r.text)
			}
		}
		// The data of the account need none, and neither does the address it has.
		s.sleep(11 * time.Minute)
		if r := s.call("PUT", "/user", obj{"data": obj{"theme": "dark"}, "email": "a@x.example"},
			bearer(sess)); r.status != 200 {
			s.Errorf("%d %s", r.status, r.text)
		}
	})
}

// The mailed nonce of GoTrue is a proof as well, for one change.
func TestProof_nonce(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		sess := s.signUp("a@x.example")
		s.sleep(11 * time.Minute)
		s.want(s.call("PUT", "/user", obj{"email": "b@x.example"}, bearer(sess)), 400, "reauthentication_needed")
		if r := s.call("GET", "/reauthenticate", nil, bearer(sess)); r.status != 200 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		_, nonce, _ := strings.Cut(s.mail("reauthentication").Text, "Code: ")
		nonce = nonce[:6]
		s.want(s.call("PUT", "/user", obj{"email": "b@x.example", "nonce": "000000"}, bearer(sess)), 422,
			"reauthentication_not_valid")
		r := s.call("PUT", "/user", obj{"email": "b@x.example", "nonce": nonce}, bearer(sess))
		if r.status != 200 || r.body["new_email"] != "b@x.example" || r.body["email"] != "a@x.example" {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(s.call("PUT", "/user", obj{"email": "c@x.example", "nonce": nonce}, bearer(sess)), 422,
			"reauthentication_not_valid")
	})
}

// An address without proof of its mails changes by both mailboxes even where
// sign-ups need none; an anonymous account takes its first one at once.
func TestProof_bothMailboxes(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.AnonymousUsers = true }, func(s *server) {
		sess := s.signUp("a@x.example")
		if r := s.call("PUT", "/user", obj{"email": "b@x.example"}, bearer(sess)); r.status != 200 ||
			r.body["email"] != "a@x.example" {
			s.Errorf("%d %s", r.status, r.text)
		}
		for _, kind := range []string{"email_change_new", "email_change_current"} {
			m := s.mail(kind)
			_, code, _ := strings.Cut(m.Text, "Code: ")
			if got := s.call("GET", "/user", nil, bearer(sess)).body["email"]; got != "a@x.example" {
				s.Errorf("moved to %v before %s", got, kind)
			}
			if r := s.call("POST", "/verify", obj{"type": "email_change", "email": m.To, "token": code[:6]}); r.status != 200 {
				s.Fatalf("%d %s", r.status, r.text)
			}
		}
		if got := s.call("GET", "/user", nil, bearer(sess)).body["email"]; got != "b@x.example" {
			s.Errorf("%v", got)
		}
		nobody := s.call("POST", "/signup", obj{}).body
		if r := s.call("PUT", "/user", obj{"email": "n@x.example"}, bearer(nobody)); r.status != 200 ||
			r.body["email"] != "n@x.example" {
			s.Errorf("%d %s", r.status, r.text)
		}
	})
}

// Whoever resets the password is told what else opens the account, in the
// answer and by mail, and takes it off in the same step.
func TestProof_resetTellsAndRemoves(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Passkeys = true }, func(s *server) {
		sess := s.signUp("a@x.example")
		id := sess["user"].(obj)["id"]
		s.exec(`INSERT INTO passkeys (id, user_id, credential_id, friendly_name, credential, created_at, updated_at)
			VALUES ('0192f0c0-1111-7000-8000-0000000000aa', $1, 'c', 'A thief''s key', '{}', $2, $2)`, id, s.now())
		s.exec(`INSERT INTO identities (id, user_id, provider, issuer, subject, data, created_at, updated_at)
			VALUES ('0192f0c0-1111-7000-8000-0000000000ab', $1, 'corp', 'i', 's', '{}', $2, $2)`, id, s.now())
		s.call("POST", "/recover", obj{"email": "a@x.example"})
		_, code, _ := strings.Cut(s.mail("recovery").Text, "Code: ")
		r := s.call("POST", "/verify", obj{"type": "recovery", "email": "a@x.example", "token": code[:6]})
		if r.status != 200 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		in := r.body
		r = s.call("PUT", "/user", obj{"password": "the-next-good-password"}, bearer(in))
		if keys, _ := r.body["passkeys"].([]any); r.status != 200 || len(keys) != 1 ||
			keys[0].(obj)["friendly_name"] != "A thief's key" {
			s.Errorf("%d %s", r.status, r.text)
		}
		if m := s.mail("password_changed"); !strings.Contains(m.Text, `the passkey "A thief's key", sign-in with Corp.`) {
			s.Errorf("the mail does not tell: %s", m.Text)
		}
		s.want(s.call("PUT", "/user", obj{"remove": []string{"everything"}}, bearer(in)), 400, "validation_failed")
		r = s.call("PUT", "/user", obj{"password": "a-third-good-password",
			"remove": []string{"passkeys", "factors", "identities"}}, bearer(in))
		if r.status != 200 || r.body["passkeys"] != nil || len(r.body["identities"].([]any)) != 1 {
			s.Errorf("%d %s", r.status, r.text)
		}
		if n := s.count("SELECT (SELECT COUNT(*) FROM passkeys) + (SELECT COUNT(*) FROM identities WHERE provider = 'corp')"); n != 0 {
			s.Errorf("%d ways in are left", n)
		}
	})
}

// Recovery codes open an account without its factor: they too are made by who has
// just shown a credential.
func TestProof_recoveryCodes(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		_, sess := s.enrol(s.signUp("a@x.example"))
		if r := s.call("POST", "/factors/recovery-codes", nil, bearer(sess)); r.status != 200 {
			s.Fatalf("%d %s", r.status, r.text)
		}
		s.sleep(11 * time.Minute)
		s.want(s.call("POST", "/factors/recovery-codes", nil, bearer(sess)), 400, "reauthentication_needed")
		s.want(s.call("POST", "/reauthenticate", obj{"password": pw}, bearer(sess)), 200, "")
		if r := s.call("POST", "/factors/recovery-codes", nil, bearer(sess)); r.status != 200 {
			s.Errorf("%d %s", r.status, r.text)
		}
	})
}

// What else opens an account is told in words of people, in the language of the
// mail, in ours and in a tenant's.
func TestPasswordChanged_words(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Passkeys = true }, func(s *server) {
		north := s.tenant("North")
		sess := s.member(north, "a@x.example", actor.Owner)
		_, sess = s.enrol(sess)
		id := sess["user"].(obj)["id"]
		for n, kind := range []string{"webauthn", "phone"} {
			s.exec(`INSERT INTO mfa_factors (id, user_id, friendly_name, kind, status, created_at, updated_at)
				VALUES ($1, $2, $5, $3, 'verified', $4, $4)`, fmt.Sprintf("0192f0c0-1111-7000-8000-0000000000b%d", n), id, kind, s.now(), "mine "+kind)
		}
		for n, provider := range []string{"github", "sso:0192f0c0-1111-7000-8000-0000000000ff"} {
			s.exec(`INSERT INTO identities (id, user_id, provider, issuer, subject, data, created_at, updated_at)
				VALUES ($1, $2, $3, 'i', $3, '{}', $4, $4)`, fmt.Sprintf("0192f0c0-1111-7000-8000-0000000000c%d", n), id, provider, s.now())
		}
		for locale, want := range map[string][]string{
			"en": {"the authenticator app", `the security key "mine webauthn"`, `codes by text message "mine phone"`,
				"sign-in with GitHub", "sign-in with your organisation"},
			"de": {"die Authenticator-App", "der Sicherheitsschlüssel „mine webauthn“", "Codes per SMS „mine phone“",
				"die Anmeldung mit GitHub",
				"die Anmeldung mit Ihrer Organisation"}} {
			in := obj{"password": "a-good-password-" + locale, "data": obj{"locale": locale}}
			if r := s.call("PUT", "/user", in, bearer(sess)); r.status != 200 {
				s.Fatalf("%d %s", r.status, r.text)
			}
			m := s.mail("password_changed")
			for _, words := range want {
				if !strings.Contains(m.Text, words) {
					s.Errorf("%s: no %q in %s", locale, words, m.Text)
				}
			}
			for _, raw := range []string{"totp", "sso:", "0192f0c0"} {
				if strings.Contains(m.Text, raw) {
					s.Errorf("%s: %q in %s", locale, raw, m.Text)
				}
			}
		}
	})
}

// A factor that a person enrolled counts for the tenant's routes too, unless
// the tenant ignores it; who invites an administrator shows it anew.
func TestFactor_countsEverywhere(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		north := s.tenant("North")
		owner := s.member(north, "owner@x.example", actor.Owner)
		secret, high := s.enrol(owner)
		invite := func(by obj, email, role string) reply {
			return s.call("POST", "/invitations", obj{"email": email, "role": role, "deliver": "link"}, bearer(by))
		}
		low := s.in("owner@x.example")
		s.want(invite(low, "v@x.example", "viewer"), 403, "insufficient_aal")
		if r := s.call("GET", "/user", nil, bearer(low)); r.status != 200 {
			s.Errorf("%d %s", r.status, r.text)
		}
		if r := invite(high, "v@x.example", "viewer"); r.status != 201 {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.sleep(11 * time.Minute)
		if r := invite(high, "w@x.example", "viewer"); r.status != 201 {
			s.Errorf("%d %s", r.status, r.text)
		}
		s.want(invite(high, "a@x.example", "admin"), 403, "reauthentication_needed")
		factor := high["user"].(obj)["factors"].([]any)[0].(obj)["id"].(string)
		if r := invite(s.raise(high, factor, secret), "a@x.example", "admin"); r.status != 201 {
			s.Errorf("%d %s", r.status, r.text)
		}

		s.setting(north, "mfa_self", `"ignore"`)
		low = s.in("owner@x.example")
		if r := invite(low, "x@x.example", "viewer"); r.status != 201 {
			s.Errorf("where it is ignored: %d %s", r.status, r.text)
		}
		s.want(invite(low, "y@x.example", "admin"), 403, "insufficient_aal")
	})
}

func (s *server) setting(tenant, key, value string) {
	s.Helper()
	s.exec(`INSERT INTO settings (tenant_id, id, section, key, value, created_at, updated_at, version) VALUES ($1, $1, 'security', $2, $3, $4, $4, 1)`,
		tenant, key, value, s.now())
	s.svc.ForgetTenant(tenant)
}

// An administrator of a new tenant has seven days to enrol a factor, which his
// list of tenants tells, and changes nothing before that protects it; a tenant
// may say that it wants none.
func TestFactor_grace(t *testing.T) {
	onBoth(t, nil, func(s *server) {
		north, south := s.tenant("North"), s.tenant("South")
		s.member(north, "owner@x.example", actor.Owner)
		s.member(north, "hand@x.example", actor.Operator)
		s.member(south, "free@x.example", actor.Admin)
		s.setting(south, "mfa_required", `"none"`)
		told := func(email string) obj {
			return s.call("GET", "/tenants", nil, bearer(s.in(email))).body["tenants"].([]any)[0].(obj)
		}
		inviteAs := func(email, role string) reply {
			return s.call("POST", "/invitations", obj{"email": "v@x.example", "role": role, "deliver": "link"},
				bearer(s.in(email)))
		}
		invite := func(email string) reply { return inviteAs(email, "viewer") }
		until, err := time.Parse(time.RFC3339, told("owner@x.example")["mfa_grace_until"].(string))
		if err != nil || until.Sub(s.now()) > 7*24*time.Hour || until.Sub(s.now()) < 6*24*time.Hour ||
			told("owner@x.example")["mfa_required"] != true {
			s.Errorf("%v %v", until, err)
		}
		for _, email := range []string{"hand@x.example", "free@x.example"} {
			if in := told(email); in["mfa_required"] != false || in["mfa_grace_until"] != nil {
				s.Errorf("%s: %v", email, in)
			}
		}
		if r := invite("owner@x.example"); r.status != 201 {
			s.Errorf("within the grace: %d %s", r.status, r.text)
		}
		s.want(inviteAs("owner@x.example", "admin"), 403, "insufficient_aal")
		if r := inviteAs("free@x.example", "admin"); r.status != 201 {
			s.Errorf("an administrator, where none is asked for: %d %s", r.status, r.text)
		}
		s.sleep(8 * 24 * time.Hour)
		s.want(invite("owner@x.example"), 403, "insufficient_aal")
		if r := invite("free@x.example"); r.status != 201 {
			s.Errorf("where none is asked for: %d %s", r.status, r.text)
		}
		_, high := s.enrol(s.in("owner@x.example"))
		if r := s.call("POST", "/invitations", obj{"email": "v@x.example", "role": "viewer", "deliver": "link"},
			bearer(high)); r.status != 201 {
			s.Errorf("with a factor: %d %s", r.status, r.text)
		}
	})
}
