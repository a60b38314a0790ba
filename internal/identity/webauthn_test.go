package identity_test

import (
	"encoding/json"
	"testing"
	"time"

	vw "github.com/descope/virtualwebauthn"

	"holdfast/internal/identity"
	"holdfast/internal/identity/factor"
)

// site is the relying party of the test configuration.
var site = vw.RelyingParty{Name: "Holdfast", ID: "localhost", Origin: "http://localhost:3000"}

// device is an authenticator in somebody's hand.
type device struct {
	vw.Authenticator
	cred vw.Credential
}

func newDevice(user string) *device {
	return &device{vw.NewAuthenticatorWithOptions(vw.AuthenticatorOptions{UserHandle: []byte(user)}), newKey()}
}

// newKey makes a key pair again when a coordinate starts with a zero byte:
// virtualwebauthn cuts that off, which RFC 8152 section 13.1.1 forbids.
func newKey() vw.Credential {
	for {
		if c := vw.NewCredential(vw.KeyTypeEC2); len(c.Key.AttestationData()) == 77 {
			return c
		}
	}
}

func wrap(publicKey json.RawMessage) string { return `{"publicKey":` + string(publicKey) + `}` }

func (k *kit) create(d *device, rp vw.RelyingParty, publicKey json.RawMessage) json.RawMessage {
	k.Helper()
	o, err := vw.ParseAttestationOptions(wrap(publicKey))
	k.ok(err)
	d.AddCredential(d.cred)
	return json.RawMessage(vw.CreateAttestationResponse(rp, d.Authenticator, d.cred, *o))
}

func (k *kit) get(d *device, rp vw.RelyingParty, publicKey json.RawMessage) json.RawMessage {
	k.Helper()
	o, err := vw.ParseAssertionOptions(wrap(publicKey))
	k.ok(err)
	return json.RawMessage(vw.CreateAssertionResponse(rp, d.Authenticator, d.cred, *o))
}

// use asks a security key's factor and answers with the device.
func (k *kit) use(s *identity.Session, id string, d *device, rp vw.RelyingParty) (*identity.Session, error) {
	k.Helper()
	c, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(s), id,
		identity.Offer{RPID: "localhost", Origins: []string{"http://localhost:3000"}})
	if err != nil {
		return nil, err
	}
	in := factor.Answer{ChallengeID: c.ID, Type: c.WebAuthn.Type}
	if c.WebAuthn.Type == "create" {
		in.Credential = k.create(d, rp, c.WebAuthn.Options.PublicKey)
	} else {
		in.Credential = k.get(d, rp, c.WebAuthn.Options.PublicKey)
	}
	return k.svc.Factors.VerifyFactor(k.ctx, k.actor(s), id, in)
}

func TestMFA_webAuthn(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		e, err := k.svc.Factors.EnrolFactor(k.ctx, k.actor(s), factor.Enrol{Kind: "webauthn", FriendlyName: "key"})
		k.ok(err)
		if e.TOTP != nil || e.Kind != "webauthn" {
			k.Errorf("%+v", e)
		}
		d := newDevice(s.User.ID)
		_, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(s), e.ID, identity.Offer{RPID: "evil.example"})
		k.code(err, "validation_failed")
		_, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(s), e.ID,
			identity.Offer{Origins: []string{"https://evil.example"}})
		k.code(err, "validation_failed")
		// A page on another origin, or of another party, relays the question.
		for _, rp := range []vw.RelyingParty{{Name: "Evil", ID: "localhost", Origin: "https://evil.example"},
			{Name: "Evil", ID: "evil.example", Origin: "http://localhost:3000"}} {
			_, err = k.use(s, e.ID, d, rp)
			k.code(err, "webauthn_verification_failed")
		}
		up, err := k.use(s, e.ID, d, site)
		k.ok(err)
		c := claims(k, up.AccessToken)
		if c["aal"] != "aal2" || c["amr"].([]any)[0].(map[string]any)["method"] != "mfa/webauthn" {
			k.Errorf("%v", c)
		}
		low := k.signIn("a@x.example")
		_, err = k.use(low, e.ID, newDevice(s.User.ID), site)
		k.code(err, "webauthn_verification_failed")
		d.cred.Counter = 7
		up, err = k.use(low, e.ID, d, site)
		k.ok(err)
		// A counter that went back is a copy of the key.
		d.cred.Counter = 3
		_, err = k.use(k.signIn("a@x.example"), e.ID, d, site)
		k.code(err, "webauthn_verification_failed")
		d.cred.Counter = 8
		// An answer works once, right or wrong.
		low = k.signIn("a@x.example")
		ch, err := k.svc.Factors.ChallengeFactor(k.ctx, k.actor(low), e.ID, identity.Offer{})
		k.ok(err)
		in := factor.Answer{ChallengeID: ch.ID, Type: "request", Credential: k.get(d, site, ch.WebAuthn.Options.PublicKey)}
		wrong := in
		wrong.Type = "create"
		_, err = k.svc.Factors.VerifyFactor(k.ctx, k.actor(low), e.ID, wrong)
		k.code(err, "validation_failed")
		ch, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(low), e.ID, identity.Offer{})
		k.ok(err)
		in = factor.Answer{ChallengeID: ch.ID, Type: "request", Credential: k.get(d, site, ch.WebAuthn.Options.PublicKey)}
		wrong = in
		wrong.Credential = json.RawMessage(`{}`)
		_, err = k.svc.Factors.VerifyFactor(k.ctx, k.actor(low), e.ID, wrong)
		k.code(err, "webauthn_verification_failed")
		_, err = k.svc.Factors.VerifyFactor(k.ctx, k.actor(low), e.ID, in)
		k.code(err, "mfa_factor_not_found")
		// Switched off: none is enrolled any more, and none is asked.
		ch, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(low), e.ID, identity.Offer{})
		k.ok(err)
		in = factor.Answer{ChallengeID: ch.ID, Type: "request", Credential: k.get(d, site, ch.WebAuthn.Options.PublicKey)}
		k.cfg.MFAKeysOff = true
		k.start()
		_, err = k.svc.Factors.EnrolFactor(k.ctx, k.actor(up), factor.Enrol{Kind: "webauthn", FriendlyName: "another"})
		k.code(err, "mfa_webauthn_enroll_not_enabled")
		_, err = k.svc.Factors.ChallengeFactor(k.ctx, k.actor(low), e.ID, identity.Offer{})
		k.code(err, "mfa_webauthn_verify_not_enabled")
		_, err = k.svc.Factors.VerifyFactor(k.ctx, k.actor(low), e.ID, in)
		k.code(err, "mfa_webauthn_verify_not_enabled")
		k.ok(k.svc.Factors.UnenrolFactor(k.ctx, k.actor(up), e.ID))
	})
}

// passkeyOf registers a passkey for a signed-in user.
func (k *kit) passkeyOf(s *identity.Session) (*device, identity.Passkey) {
	k.Helper()
	d := newDevice(s.User.ID)
	c, err := k.svc.Passkeys.RegisterPasskey(k.ctx, k.actor(s))
	k.ok(err)
	p, err := k.svc.Passkeys.RegisteredPasskey(k.ctx, k.actor(s), c.ChallengeID, k.create(d, site, c.Options))
	k.ok(err)
	return d, p
}

func (k *kit) signInWith(d *device, rp vw.RelyingParty) (*identity.Session, error) {
	k.Helper()
	c, err := k.svc.Passkeys.AskPasskey(k.ctx)
	k.ok(err)
	return k.svc.Passkeys.SignInPasskey(k.ctx, c.ChallengeID, k.get(d, rp, c.Options), identity.Client{})
}

func TestPasskey(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		d, p := k.passkeyOf(s)
		k.mailTo("a@x.example", "protection_changed")
		if p.FriendlyName != "Passkey 1" || p.ID == "" {
			k.Errorf("%+v", p)
		}
		up, err := k.signInWith(d, site)
		k.ok(err)
		c := claims(k, up.AccessToken)
		if up.User.ID != s.User.ID || c["aal"] != "aal2" || c["amr"].([]any)[0].(map[string]any)["method"] != "passkey" {
			k.Errorf("%v", c)
		}
		list, err := k.svc.Passkeys.List(k.ctx, k.actor(up))
		k.ok(err)
		if len(list) != 1 || list[0].LastUsedAt.IsZero() {
			k.Errorf("%+v", list)
		}
		// Registered twice: by the same account, or taken by another.
		ask, err := k.svc.Passkeys.RegisterPasskey(k.ctx, k.actor(up))
		k.ok(err)
		_, err = k.svc.Passkeys.RegisteredPasskey(k.ctx, k.actor(up), ask.ChallengeID, k.create(d, site, ask.Options))
		k.code(err, "webauthn_credential_exists")
		p, err = k.svc.Passkeys.RenamePasskey(k.ctx, k.actor(up), p.ID, " Desk ")
		k.ok(err)
		if p.FriendlyName != "Desk" {
			k.Errorf("%+v", p)
		}
		stranger := k.actor(k.signUp("b@x.example", nil))
		k.code(k.svc.Passkeys.RemovePasskey(k.ctx, stranger, p.ID), "webauthn_credential_not_found")
		// A lost device: removed from another session, its session ends.
		k.ok(k.svc.Passkeys.RemovePasskey(k.ctx, k.actor(s), p.ID))
		_, err = k.who(up.AccessToken)
		k.code(err, "session_not_found")
		_, err = k.signInWith(d, site)
		k.code(err, "webauthn_verification_failed")
	})
}

// What a passkey sign-in must refuse, each with everything else in order.
func TestPasskey_refused(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		d, _ := k.passkeyOf(s)
		other := k.signUp("b@x.example", nil)
		for name, try := range map[string]func() error{
			"another origin": func() error {
				_, err := k.signInWith(d, vw.RelyingParty{ID: "localhost", Origin: "http://localhost:3001"})
				return err
			},
			"another party": func() error {
				_, err := k.signInWith(d, vw.RelyingParty{ID: "evil.example", Origin: "http://localhost:3000"})
				return err
			},
			"the holder was not recognised": func() error {
				e := *d
				e.Options.UserNotVerified = true
				_, err := k.signInWith(&e, site)
				return err
			},
			"nobody touched it": func() error {
				e := *d
				e.Options.UserNotPresent = true
				_, err := k.signInWith(&e, site)
				return err
			},
			"for another account": func() error {
				e := *d
				e.Options.UserHandle = []byte(other.User.ID)
				_, err := k.signInWith(&e, site)
				return err
			},
			"another key under the same id": func() error {
				e := *d
				e.cred = newKey()
				e.cred.ID = d.cred.ID
				_, err := k.signInWith(&e, site)
				return err
			},
		} {
			err := try()
			if err == nil {
				k.Errorf("%s: accepted", name)
				continue
			}
			k.code(err, "webauthn_verification_failed")
		}
		c, err := k.svc.Passkeys.AskPasskey(k.ctx)
		k.ok(err)
		good := k.get(d, site, c.Options)
		_, err = k.svc.Passkeys.SignInPasskey(k.ctx, c.ChallengeID, good, identity.Client{})
		k.ok(err)
		_, err = k.svc.Passkeys.SignInPasskey(k.ctx, c.ChallengeID, good, identity.Client{})
		k.code(err, "webauthn_challenge_not_found")
		c, err = k.svc.Passkeys.AskPasskey(k.ctx)
		k.ok(err)
		k.sleep(5 * time.Minute)
		_, err = k.svc.Passkeys.SignInPasskey(k.ctx, c.ChallengeID, k.get(d, site, c.Options), identity.Client{})
		k.code(err, "webauthn_challenge_expired")
		// A registration's challenge signs nobody in, and belongs to its session.
		reg, err := k.svc.Passkeys.RegisterPasskey(k.ctx, k.actor(s))
		k.ok(err)
		_, err = k.svc.Passkeys.SignInPasskey(k.ctx, reg.ChallengeID, good, identity.Client{})
		k.code(err, "webauthn_challenge_not_found")
		_, err = k.svc.Passkeys.RegisteredPasskey(k.ctx, k.actor(k.signIn("a@x.example")), reg.ChallengeID,
			k.create(newDevice(s.User.ID), site, reg.Options))
		k.code(err, "webauthn_challenge_not_found")
		for _, junk := range []string{"", "{}", "null", `{"id":"x","rawId":"x","type":"public-key","response":{}}`} {
			_, err = k.svc.Passkeys.SignInPasskey(k.ctx, c.ChallengeID, []byte(junk), identity.Client{})
			k.code(err, "webauthn_verification_failed")
		}
		ban := "1h"
		_, err = k.svc.Admin.ChangeUser(k.ctx, k.service(), s.User.ID, identity.AdminUser{BanDuration: &ban})
		k.ok(err)
		_, err = k.signInWith(d, site)
		k.code(err, "user_banned")
	})
}

// Where a second factor protects the account, it also protects its passkeys.
// An account of an organisation's provider neither registers a passkey nor
// signs in with one it had: it would outlive what the organisation ends.
func TestPasskey_managedAccount(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		d, _ := k.passkeyOf(s)
		if _, err := k.signInWith(d, site); err != nil {
			k.Fatal(err)
		}
		k.exec("UPDATE users SET is_sso = $1", true)
		_, err := k.svc.Passkeys.RegisterPasskey(k.ctx, k.actor(s))
		k.code(err, "user_sso_managed")
		_, err = k.signInWith(d, site)
		k.code(err, "sso_required")
	})
}

func TestPasskey_needsFactor(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		_, up := k.protect(s)
		_, p := k.passkeyOf(up)
		low := k.actor(k.signIn("a@x.example"))
		_, err := k.svc.Passkeys.RegisterPasskey(k.ctx, low)
		k.code(err, "insufficient_aal")
		k.code(k.svc.Passkeys.RemovePasskey(k.ctx, low, p.ID), "insufficient_aal")
		for range 9 {
			k.passkeyOf(up)
		}
		_, err = k.svc.Passkeys.RegisterPasskey(k.ctx, k.actor(up))
		k.code(err, "too_many_passkeys")
		k.ok(k.svc.Passkeys.RemoveUserPasskey(k.ctx, k.service(), s.User.ID, p.ID))
		list, err := k.svc.Passkeys.UserPasskeys(k.ctx, k.service(), s.User.ID)
		k.ok(err)
		if len(list) != 9 {
			k.Errorf("%d passkeys", len(list))
		}
		k.ok(k.svc.Admin.DeleteUser(k.ctx, k.service(), s.User.ID, true))
	})
}
