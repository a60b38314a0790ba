package identity_test

import (
	"encoding/json"
	"testing"

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
	return &device{vw.NewAuthenticatorWithOptions(vw.AuthenticatorOptions{UserHandle: []byte(user)}), vw.NewCredential(vw.KeyTypeEC2)}
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
	c, err := k.svc.ChallengeFactor(k.ctx, k.actor(s), id, identity.Offer{RPID: "localhost", Origins: []string{"http://localhost:3000"}})
	if err != nil {
		return nil, err
	}
	in := factor.Answer{ChallengeID: c.ID, Type: c.WebAuthn.Type}
	if c.WebAuthn.Type == "create" {
		in.Credential = k.create(d, rp, c.WebAuthn.Options.PublicKey)
	} else {
		in.Credential = k.get(d, rp, c.WebAuthn.Options.PublicKey)
	}
	return k.svc.VerifyFactor(k.ctx, k.actor(s), id, in)
}

func TestMFA_webAuthn(t *testing.T) {
	onBoth(t, nil, func(k *kit) {
		s := k.signUp("a@x.example", nil)
		e, err := k.svc.EnrolFactor(k.ctx, k.actor(s), factor.Enrol{Kind: "webauthn", FriendlyName: "key"})
		k.ok(err)
		if e.TOTP != nil || e.Kind != "webauthn" {
			k.Errorf("%+v", e)
		}
		d := newDevice(s.User.ID)
		_, err = k.svc.ChallengeFactor(k.ctx, k.actor(s), e.ID, identity.Offer{RPID: "evil.example"})
		k.code(err, "validation_failed")
		_, err = k.svc.ChallengeFactor(k.ctx, k.actor(s), e.ID, identity.Offer{Origins: []string{"https://evil.example"}})
		k.code(err, "validation_failed")
		// A page on another origin, or of another party, relays the question.
		for _, rp := range []vw.RelyingParty{{Name: "Evil", ID: "localhost", Origin: "https://evil.example"}, {Name: "Evil", ID: "evil.example", Origin: "http://localhost:3000"}} {
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
		ch, err := k.svc.ChallengeFactor(k.ctx, k.actor(low), e.ID, identity.Offer{})
		k.ok(err)
		in := factor.Answer{ChallengeID: ch.ID, Type: "request", Credential: k.get(d, site, ch.WebAuthn.Options.PublicKey)}
		wrong := in
		wrong.Credential = json.RawMessage(`{}`)
		_, err = k.svc.VerifyFactor(k.ctx, k.actor(low), e.ID, wrong)
		k.code(err, "webauthn_verification_failed")
		_, err = k.svc.VerifyFactor(k.ctx, k.actor(low), e.ID, in)
		k.code(err, "mfa_factor_not_found")
		k.ok(k.svc.UnenrolFactor(k.ctx, k.actor(up), e.ID))
	})
}
