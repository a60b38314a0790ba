// Package passkey runs WebAuthn ceremonies (W3C Web Authentication Level 3):
// registration and assertion, for second factors and for passkeys. It keeps
// nothing; what a ceremony has to remember is text for the caller to store.
//
// Layer: domains. Begin at [Relying].
package passkey

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"holdfast/internal/fault"
)

// Relying is the relying party: one domain and the origins served under it.
type Relying struct {
	web *webauthn.WebAuthn
}

// New checks the domain and origins, such as "example.com" and
// "https://app.example.com".
func New(id, name string, origins []string) (*Relying, error) {
	w, err := webauthn.New(&webauthn.Config{RPID: id, RPDisplayName: name, RPOrigins: origins,
		AttestationPreference: protocol.PreferNoAttestation})
	if err != nil {
		return nil, fmt.Errorf("passkey: relying party %s: %w", id, err)
	}
	return &Relying{web: w}, nil
}

// Person is the account a ceremony is about.
type Person struct {
	ID      string // the user handle
	Name    string // what the authenticator shows
	Display string
	Known   []string // its credentials, as Registered and Asserted return them
}

// user is a Person as the library reads one.
type user struct {
	Person
	known []webauthn.Credential
}

func (u user) WebAuthnID() []byte                         { return []byte(u.ID) }
func (u user) WebAuthnName() string                       { return u.Name }
func (u user) WebAuthnDisplayName() string                { return u.Display }
func (u user) WebAuthnCredentials() []webauthn.Credential { return u.known }

func (p Person) toUser() (user, error) {
	u := user{Person: p}
	if u.Display == "" {
		u.Display = u.Name
	}
	for _, text := range p.Known {
		var c webauthn.Credential
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return u, fmt.Errorf("passkey: stored credential: %w", err)
		}
		u.known = append(u.known, c)
	}
	return u, nil
}

// Ceremony is a question for a browser: what to hand to
// navigator.credentials, and what to keep until its answer.
type Ceremony struct {
	Options json.RawMessage // the members of publicKey
	State   string
}

// Register asks for a new credential. A passkey has to be found without a name
// and to check its holder (resident, user verification required); a second
// factor need not.
func (r *Relying) Register(p Person, passkey bool) (Ceremony, error) {
	u, err := p.toUser()
	if err != nil {
		return Ceremony{}, err
	}
	sel := protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementDiscouraged,
		UserVerification: protocol.VerificationPreferred}
	if passkey {
		sel = protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementRequired,
			RequireResidentKey: protocol.ResidentKeyRequired(), UserVerification: protocol.VerificationRequired}
	}
	o, state, err := r.web.BeginRegistration(u, webauthn.WithAuthenticatorSelection(sel),
		webauthn.WithConveyancePreference(protocol.PreferNoAttestation),
		webauthn.WithExclusions(webauthn.Credentials(u.known).CredentialDescriptors()))
	if err != nil {
		return Ceremony{}, fmt.Errorf("passkey: begin registration: %w", err)
	}
	return newCeremony(o.Response, state)
}

func newCeremony(options any, state *webauthn.SessionData) (Ceremony, error) {
	o, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fmt.Errorf("passkey: options: %w", err)
	}
	s, err := json.Marshal(state)
	if err != nil {
		return Ceremony{}, fmt.Errorf("passkey: state: %w", err)
	}
	return Ceremony{Options: o, State: string(s)}, nil
}

func stateOf(text string) (webauthn.SessionData, error) {
	var s webauthn.SessionData
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("passkey: stored ceremony: %w", err)
	}
	return s, nil
}

// Credential is a registered authenticator: its id in base64url, and all that
// has to be kept of it.
type Credential struct {
	ID, Text string
}

func packCredential(c *webauthn.Credential) (Credential, error) {
	text, err := json.Marshal(c)
	return Credential{ID: base64.RawURLEncoding.EncodeToString(c.ID), Text: string(text)}, err
}

// readBegun reads a person and the ceremony that was begun with one.
func (p Person) readBegun(state string) (u user, s webauthn.SessionData, err error) {
	if u, err = p.toUser(); err == nil {
		s, err = stateOf(state)
	}
	return u, s, err
}

// Registered checks the answer to Register (section 7.1).
func (r *Relying) Registered(p Person, state string, response []byte) (Credential, error) {
	u, s, err := p.readBegun(state)
	if err != nil {
		return Credential{}, err
	}
	in, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Credential{}, verificationFailed(err)
	}
	c, err := r.web.CreateCredential(u, s, in)
	if err != nil {
		return Credential{}, verificationFailed(err)
	}
	return packCredential(c)
}

// Ask asks for the use of one of the person's credentials; nil asks for any
// passkey at all, whose holder the authenticator checks.
func (r *Relying) Ask(p *Person) (Ceremony, error) {
	if p == nil {
		o, state, err := r.web.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
		if err != nil {
			return Ceremony{}, fmt.Errorf("passkey: begin sign-in: %w", err)
		}
		return newCeremony(o.Response, state)
	}
	u, err := p.toUser()
	if err != nil {
		return Ceremony{}, err
	}
	o, state, err := r.web.BeginLogin(u, webauthn.WithUserVerification(protocol.VerificationPreferred))
	if err != nil {
		return Ceremony{}, fmt.Errorf("passkey: begin: %w", err)
	}
	return newCeremony(o.Response, state)
}

// Asserted checks the answer to Ask (section 7.2) and returns the credential
// with its signature counter moved on. A counter that went back is a copy of
// the authenticator, and refused.
func (r *Relying) Asserted(p Person, state string, response []byte) (Credential, error) {
	u, s, err := p.readBegun(state)
	if err != nil {
		return Credential{}, err
	}
	in, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return Credential{}, verificationFailed(err)
	}
	var c *webauthn.Credential
	if len(s.UserID) == 0 {
		c, err = r.web.ValidateDiscoverableLogin(func(_, handle []byte) (webauthn.User, error) {
			if string(handle) != u.ID {
				return nil, fmt.Errorf("passkey: another user handle")
			}
			return u, nil
		}, s, in)
	} else {
		c, err = r.web.ValidateLogin(u, s, in)
	}
	if err != nil {
		return Credential{}, verificationFailed(err)
	}
	if c.Authenticator.CloneWarning {
		return Credential{}, verificationFailed(fmt.Errorf("passkey: the signature counter went back"))
	}
	return packCredential(c)
}

// Holder reads whose passkey an answer names, before anything in it is
// believed.
func Holder(response []byte) (credentialID, userID string, err error) {
	in, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return "", "", verificationFailed(err)
	}
	return base64.RawURLEncoding.EncodeToString(in.RawID), string(in.Response.UserHandle), nil
}

func verificationFailed(err error) error {
	return fault.Wrap(err, fault.Invalid, "webauthn_verification_failed", "WebAuthn verification failed")
}
