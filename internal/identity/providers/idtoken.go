package providers

import (
	"cmp"
	"context"
	"errors"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/sessions"
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

// badIDToken tells whoever configured an app that its client id is missing here;
// of all else that is wrong with a token it tells nothing.
func badIDToken(err error) error {
	msg := "Bad ID token"
	if other := (oidc.OtherAudience{}); errors.As(err, &other) {
		msg = accounts.CutText(other.Error(), 300)
	}
	f := fault.Wrap(err, fault.Invalid, "invalid request", "%s", msg)
	f.Data = sessions.OAuthStyle{}
	return f
}

// SignInIDToken opens a session for whom the token is about, by the rules of a
// sign-in at the provider.
func (s *OAuth) SignInIDToken(ctx context.Context, in IDToken, c accounts.Client) (*sessions.Session, error) {
	p, who, err := s.readIDToken(ctx, in)
	if err != nil {
		return nil, err
	}
	var g *sessions.Grant
	var needs *proof
	err = s.Accounts.OnceMore(func() error {
		return s.Write(ctx, func(tx *db.Tx) (err error) {
			g, needs = nil, nil
			u, err := s.findPerson(tx, p.Config(), who, c)
			if err != nil {
				return err
			}
			if u.Banned(s.Now()) {
				return accounts.ErrBanned()
			}
			if u.ConfirmedAt.IsZero() {
				needs, err = s.askProof(tx, u, codes.Flow{}, "")
				return err
			}
			g, err = s.Sessions.Begin(tx, u, token.Method{Method: "oauth", Provider: p.Config().Name}, c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if needs != nil {
		return nil, s.needsVerification(needs)
	}
	return s.Sessions.Issue(g)
}

// LinkIDToken links whom the token is about to the caller's account.
func (s *OAuth) LinkIDToken(
	ctx context.Context, a actor.Actor, in IDToken, c accounts.Client,
) (*sessions.Session, error) {
	if err := s.linkingOn(); err != nil {
		return nil, err
	}
	p, who, err := s.readIDToken(ctx, in)
	if err != nil {
		return nil, err
	}
	c.SessionID = a.SessionID
	var g *sessions.Grant
	err = s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.LockedUser(tx, a.UserID)
		if err != nil {
			return err
		}
		if err := accounts.NeedAAL2(u, a, fault.Forbidden, "AAL2 required to link an identity"); err != nil {
			return err
		}
		if err := s.Proofs.OwnAccount(tx, u, a, "Linking an identity"); err != nil {
			return err
		}
		if err := s.attachIdentity(tx, u, p.Config().Name, who, c); err != nil {
			return err
		}
		sess, err := sessions.SessionBy(tx, a.SessionID)
		if err != nil {
			return accounts.SessionGone(err)
		}
		g, err = sessions.StandingGrant(tx, u, sess)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Sessions.Issue(g)
}

// providerOf is the provider that the request names, or that has exactly the
// issuer and the client which older applications name instead; nil = none.
func (s *OAuth) providerOf(in IDToken) *oidc.Provider {
	if in.Provider != "" {
		return s.findProvider(in.Provider)
	}
	for _, p := range s.Providers {
		if c := p.Config(); in.Issuer != "" && c.Issuer == in.Issuer && c.Has(in.ClientID) {
			return p
		}
	}
	return nil
}

func (s *OAuth) readIDToken(ctx context.Context, in IDToken) (*oidc.Provider, oidc.Person, error) {
	p := s.providerOf(in)
	if in.Token == "" || in.Provider == "" && (in.ClientID == "" || in.Issuer == "") {
		f := fault.New(fault.Invalid, "invalid request", "id_token and provider required")
		f.Data = sessions.OAuthStyle{}
		return nil, oidc.Person{}, f
	}
	if p == nil {
		return nil, oidc.Person{}, fault.New(fault.Invalid, "provider_disabled", "Provider (issuer %q) is not enabled",
			accounts.CutText(cmp.Or(oidc.KnownIssuer(in.Provider), in.Provider, in.Issuer), 60))
	}
	who, err := p.Verify(ctx, in.Token, in.Nonce, in.AccessToken)
	if fault.HasCode(err, "bad_oauth_callback") {
		err = badIDToken(err)
	}
	return p, who, err
}
