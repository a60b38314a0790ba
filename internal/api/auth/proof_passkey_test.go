package auth_test

import (
	"encoding/json"
	"testing"
	"time"

	vw "github.com/descope/virtualwebauthn"

	"holdfast/internal/identity"
)

var party = vw.RelyingParty{Name: "Holdfast", ID: "localhost", Origin: "http://localhost:3000"}

// device is an authenticator in somebody's hand.
type device struct {
	vw.Authenticator
	cred vw.Credential
}

// wrapped is options as a browser is handed them.
func wrapped(s *server, options any) string {
	s.Helper()
	b, err := json.Marshal(obj{"publicKey": options})
	if err != nil {
		s.Fatal(err)
	}
	return string(b)
}

// passkeyOf registers a passkey of a session's account.
func (s *server) passkeyOf(sess obj) *device {
	s.Helper()
	d := &device{vw.NewAuthenticatorWithOptions(vw.AuthenticatorOptions{UserHandle: []byte(sess["user"].(obj)["id"].(string))}), vw.Credential{}}
	for len(d.cred.ID) == 0 || len(d.cred.Key.AttestationData()) != 77 { // a coordinate that begins with zero is cut off by the library
		d.cred = vw.NewCredential(vw.KeyTypeEC2)
	}
	ask := s.call("POST", "/passkeys/registration/options", obj{}, bearer(sess))
	s.want(ask, 200, "")
	o, err := vw.ParseAttestationOptions(wrapped(s, ask.body["options"]))
	if err != nil {
		s.Fatal(err)
	}
	d.AddCredential(d.cred)
	answer := vw.CreateAttestationResponse(party, d.Authenticator, d.cred, *o)
	s.want(s.call("POST", "/passkeys/registration/verify",
		obj{"challenge_id": ask.body["challenge_id"], "credential": json.RawMessage(answer)}, bearer(sess)),
		200, "")
	return d
}

// asserted answers a new challenge with a device.
func (s *server) asserted(d *device) obj {
	s.Helper()
	ask := s.call("POST", "/passkeys/authentication/options", nil)
	s.want(ask, 200, "")
	o, err := vw.ParseAssertionOptions(wrapped(s, ask.body["options"]))
	if err != nil {
		s.Fatal(err)
	}
	answer := vw.CreateAssertionResponse(party, d.Authenticator, d.cred, *o)
	return obj{"challenge_id": ask.body["challenge_id"], "credential": json.RawMessage(answer)}
}

// A passkey of the account makes a session fresh for ten minutes: the account's
// own, once, for the session that shows it.
func TestProof_passkey(t *testing.T) {
	onBoth(t, func(c *identity.Config) { c.Passkeys = true }, func(s *server) {
		sess, other := s.signUp("a@x.example"), s.signUp("b@x.example")
		mine, foreign := s.passkeyOf(sess), s.passkeyOf(other)
		beside := s.in("a@x.example")
		s.sleep(11 * time.Minute)
		change := func(of obj) reply { return s.call("POST", "/factors", obj{"factor_type": "totp"}, bearer(of)) }
		show := func(of obj, proof obj) reply { return s.call("POST", "/reauthenticate", proof, bearer(of)) }

		s.want(change(sess), 400, "reauthentication_needed")
		s.want(show(sess, s.asserted(foreign)), 400, "webauthn_verification_failed")
		s.want(show(sess, obj{"challenge_id": "01a1fdd3-49a8-71f7-afb0-243f4650b256",
			"credential": s.asserted(mine)["credential"]}), 400,
			"webauthn_challenge_not_found")
		s.want(change(sess), 400, "reauthentication_needed")

		proof := s.asserted(mine)
		s.want(show(sess, proof), 200, "")
		s.want(change(beside), 400, "reauthentication_needed") // the proof of another session
		s.want(show(sess, proof), 400, "webauthn_challenge_not_found")
		s.want(show(beside, proof), 400, "webauthn_challenge_not_found")
		s.want(change(sess), 200, "")
		if n := s.rows("SELECT COUNT(*) FROM audit WHERE action = 'session.proved'"); n != 1 {
			s.Errorf("%d audit rows of proofs, want 1", n)
		}
		s.sleep(11 * time.Minute)
		s.want(s.call("POST", "/passkeys/registration/options", obj{}, bearer(sess)), 400, "reauthentication_needed")
	})
}
