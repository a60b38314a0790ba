package identity

import (
	"cmp"
	"context"
	"errors"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/token"
)

// IDToken signs in with a token that an app got from a provider by itself.
type IDToken struct {
	Provider    string
	Token       string
	AccessToken string // compared with the token's at_hash
	Nonce       string // its SHA-256 in hex is the token's nonce; both or neither

	ClientID, Issuer string // which provider, where Provider is empty; both, exactly
}

// OAuthStyle marks a fault that is written as RFC 6749 section 5.2 has it; its
// code is the error member.
type OAuthStyle struct{}

// badIDToken tells whoever configured an app that its client id is missing here;
// of all else that is wrong with a token it tells nothing.
func badIDToken(err error) error {
	msg := "Bad ID token"
	if other := (oidc.OtherAudience{}); errors.As(err, &other) {
		msg = cut(other.Error(), 300)
	}
	f := fault.Wrap(err, fault.Invalid, "invalid request", "%s", msg)
	f.Data = OAuthStyle{}
	return f
}

// SignInIDToken opens a session for whom the token is about, by the rules of a
// sign-in at the provider.
func (s *OAuth) SignInIDToken(ctx context.Context, in IDToken, c Client) (*Session, error) {
	p, who, err := s.readIDToken(ctx, in)
	if err != nil {
		return nil, err
	}
	var g *grant
	var needs *proof
	err = s.accounts.onceMore(func() error {
		return s.write(ctx, func(tx *db.Tx) (err error) {
			g, needs = nil, nil
			u, err := s.findPerson(tx, p.Config(), who, c)
			if err != nil {
				return err
			}
			if u.banned(s.now()) {
				return errBanned()
			}
			if u.ConfirmedAt.IsZero() {
				needs, err = s.askProof(tx, u, flow{}, "")
				return err
			}
			g, err = s.sessions.begin(tx, u, token.Method{Method: "oauth", Provider: p.Config().Name}, c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if needs != nil {
		return nil, s.needsVerification(needs)
	}
	return s.sessions.issue(g)
}

// LinkIDToken links whom the token is about to the caller's account.
func (s *OAuth) LinkIDToken(ctx context.Context, a actor.Actor, in IDToken, c Client) (*Session, error) {
	if err := s.linkingOn(); err != nil {
		return nil, err
	}
	p, who, err := s.readIDToken(ctx, in)
	if err != nil {
		return nil, err
	}
	c.SessionID = a.SessionID
	var g *grant
	err = s.write(ctx, func(tx *db.Tx) error {
		u, err := locked(tx, a.UserID)
		if err != nil {
			return err
		}
		if err := needAAL2(u, a, fault.Forbidden, "AAL2 required to link an identity"); err != nil {
			return err
		}
		if err := s.proofs.own(tx, u, a, "Linking an identity"); err != nil {
			return err
		}
		if err := s.attach(tx, u, p.Config().Name, who, c); err != nil {
			return err
		}
		sess, err := sessionBy(tx, a.SessionID)
		if err != nil {
			return sessionGone(err)
		}
		g, err = standingGrant(tx, u, sess)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.sessions.issue(g)
}

// providerOf is the provider that the request names, or that has exactly the
// issuer and the client which older applications name instead; nil = none.
func (s *OAuth) providerOf(in IDToken) *oidc.Provider {
	if in.Provider != "" {
		return s.provider(in.Provider)
	}
	for _, p := range s.providers {
		if c := p.Config(); in.Issuer != "" && c.Issuer == in.Issuer && c.Has(in.ClientID) {
			return p
		}
	}
	return nil
}

func (s *OAuth) readIDToken(ctx context.Context, in IDToken) (*oidc.Provider, oidc.Person, error) {
	p := s.providerOf(in)
	switch {
	case in.Token == "" || in.Provider == "" && (in.ClientID == "" || in.Issuer == ""):
		f := fault.New(fault.Invalid, "invalid request", "id_token and provider required")
		f.Data = OAuthStyle{}
		return nil, oidc.Person{}, f
	case p == nil:
		return nil, oidc.Person{}, fault.New(fault.Invalid, "provider_disabled", "Provider (issuer %q) is not enabled", cut(cmp.Or(in.Provider, in.Issuer), 60))
	}
	who, err := p.Verify(ctx, in.Token, in.Nonce, in.AccessToken)
	if fault.HasCode(err, "bad_oauth_callback") {
		err = badIDToken(err)
	}
	return p, who, err
}
