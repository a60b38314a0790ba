package identity

import (
	"context"
	"net/url"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/redirect"
	"holdfast/internal/identity/token"
)

func (s *OAuth) linkingOn() error {
	if !s.cfg.ManualLinking {
		return fault.New(fault.NotFound, "manual_linking_disabled", "Manual linking is disabled")
	}
	return nil
}

// AuthorizeLink starts the linking of a further identity to the caller's
// account. With PKCE the link is made when the code is redeemed with its
// verifier, so a stranger who is led through somebody else's flow links
// nothing; without, the flow's cookie binds it to the browser.
func (s *OAuth) AuthorizeLink(ctx context.Context, a actor.Actor, in Authorize) (AuthStart, error) {
	if err := s.linkingOn(); err != nil {
		return AuthStart{}, err
	}
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		u, err := userByID(tx, a.UserID)
		if err != nil {
			return err
		}
		if u.sso {
			return errManaged()
		}
		if err := needAAL2(u, a, fault.Forbidden, "AAL2 required to link an identity"); err != nil {
			return err
		}
		return s.proofs.own(tx, u, a, "Linking an identity")
	})
	if err != nil {
		return AuthStart{}, err
	}
	in.LinkTo = a.UserID
	return s.Authorize(ctx, in)
}

func errManaged() error {
	return fault.New(fault.Unprocessable, "user_sso_managed", "This account is managed by its organisation's identity provider")
}

// arriveLink takes the provider's answer for a flow that links.
func (s *OAuth) arriveLink(ctx context.Context, f flow, who oidc.Person, c Client) (string, error) {
	var g *grant
	loc := ""
	err := s.write(ctx, func(tx *db.Tx) error {
		g, loc = nil, ""
		u, err := locked(tx, f.linkUser)
		if err != nil {
			return err
		}
		if u.banned(s.now()) {
			return errBanned()
		}
		if f.challenge != "" {
			sealed := s.codes.sealFlow(f.id, flowSecrets{AccessToken: who.AccessToken, RefreshToken: who.RefreshToken, Person: &who})
			tx.Queue("UPDATE flow_states SET user_id = $2, secrets = $3 WHERE id = $1", []any{f.id, u.ID, sealed}, nil)
			code, err := s.codes.issueCode(tx, f)
			loc = redirect.WithQuery(f.redirect, url.Values{"code": {code}})
			return err
		}
		if err := s.attach(tx, u, f.provider, who, c); err != nil {
			return err
		}
		if g, err = s.sessions.begin(tx, u, token.Method{Method: "oauth", Provider: f.provider}, c); err != nil {
			return err
		}
		g.providerToken, g.providerRefresh = who.AccessToken, who.RefreshToken
		_, err = tx.Exec("DELETE FROM flow_states WHERE id = $1", f.id)
		return err
	})
	if err != nil || g == nil {
		return loc, err
	}
	sess, err := s.sessions.issue(g)
	if err != nil {
		return "", err
	}
	return s.links.fragment(sess, f.redirect, ""), nil
}

// attach links an identity to an account whose owner asked for it. An
// anonymous account becomes one with the identity's address, if that is proved
// and free.
func (s *OAuth) attach(tx *db.Tx, u *User, provider string, who oidc.Person, c Client) error {
	p := s.providers[provider]
	if p == nil {
		return fault.New(fault.Invalid, "provider_disabled", "The provider is not enabled any more")
	}
	if u.sso {
		return errManaged()
	}
	cfg := p.Config()
	owner := ""
	err := tx.Query("SELECT user_id FROM identities WHERE provider = $1 AND issuer = $2 AND subject = $3", []any{cfg.Name, cfg.Issuer, who.Subject},
		func(r *db.Row) error {
			owner = r.Text(0)
			return nil
		})
	switch {
	case err != nil:
		return err
	case owner == u.ID:
		return fault.New(fault.Unprocessable, "identity_already_exists", "Identity is already linked")
	case owner != "":
		return fault.New(fault.Unprocessable, "identity_already_exists", "Identity is already linked to another user")
	}
	email := ""
	if addr, err := Canonical(who.Email); err == nil {
		email = addr
	}
	if u.IsAnonymous {
		if email == "" || !who.EmailVerified || !answersFor(cfg, email) || !sameSpelling(who.Email, email) {
			return fault.New(fault.Unprocessable, "provider_email_needs_verification", "The provider does not vouch for an email address; add one to the account first")
		}
		if err := s.addresses.adoptAddress(tx, u, email, c); err != nil {
			return err
		}
	}
	s.post.alert(tx, u, letter.Linked, cfg.Name)
	return s.link(tx, u, cfg, who, email, c)
}

// adoptAddress gives an account without an address one that a provider proved.
// It makes no e-mail identity: nobody chose to sign in by mail.
func (s *Addresses) adoptAddress(tx *db.Tx, u *User, email string, c Client) error {
	if _, err := userByEmail(tx, email); !fault.Is(err, fault.NotFound) {
		if err == nil {
			err = errTaken()
		}
		return err
	}
	s.becomeNamed(tx, u, c)
	now := s.now()
	u.Email, u.EmailConfirmedAt, u.ConfirmedAt = email, Time{Time: now}, Time{Time: now}
	if _, err := tx.Exec("UPDATE users SET email = $2, email_confirmed_at = $3, updated_at = $3 WHERE id = $1", u.ID, email, now); err != nil {
		return err
	}
	return s.invitations.joinAsWished(tx, u, c)
}

// Unlink removes an identity from the caller's account, never the last one. An
// address or password that came with it goes as well.
func (s *OAuth) Unlink(ctx context.Context, a actor.Actor, identityID string) error {
	if err := s.linkingOn(); err != nil {
		return err
	}
	return s.write(ctx, func(tx *db.Tx) error {
		u, err := locked(tx, a.UserID)
		if err != nil {
			return err
		}
		if err := needAAL2(u, a, fault.Forbidden, "AAL2 required to unlink an identity"); err != nil {
			return err
		}
		at := slices.IndexFunc(u.Identities, func(i Identity) bool { return i.IdentityID == identityID })
		switch {
		case u.sso:
			return errManaged()
		case at < 0:
			return fault.New(fault.Unprocessable, "identity_not_found", "Identity doesn't exist")
		case len(u.Identities) == 1:
			return fault.New(fault.Unprocessable, "single_identity_not_deletable", "User must have at least 1 identity after unlinking")
		}
		gone := u.Identities[at]
		u.Identities = slices.Delete(u.Identities, at, at+1)
		if err := s.withoutIdentity(tx, u, gone); err != nil {
			return err
		}
		s.record(tx, event{tenant: a.TenantID, user: u.ID, action: "user.identity_unlinked", entity: "user", entityID: u.ID,
			details: map[string]any{"provider": gone.Provider}, client: clientOf(a)})
		s.post.alert(tx, u, letter.Unlinked, gone.Provider)
		_, err = tx.Exec("DELETE FROM identities WHERE id = $1", gone.IdentityID)
		return err
	})
}

// withoutIdentity takes back what only the removed identity stood for.
func (s *OAuth) withoutIdentity(tx *db.Tx, u *User, gone Identity) error {
	if gone.Provider == "email" {
		tx.Queue("UPDATE users SET password_hash = NULL, updated_at = $2 WHERE id = $1", []any{u.ID, s.now()}, nil)
		if err := clearCodes(tx, u.ID); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(u.Identities, func(i Identity) bool { return i.Email == u.Email }) {
		return nil
	}
	next := slices.IndexFunc(u.Identities, s.proves)
	if next < 0 {
		return fault.New(fault.Unprocessable, "email_conflict_identity_not_deletable", "Unable to unlink identity: no other identity has a proved email address")
	}
	if err := s.addresses.setAddress(tx, u, u.Identities[next].Email, Client{}); fault.HasCode(err, "email_exists") {
		return fault.New(fault.Unprocessable, "email_conflict_identity_not_deletable", "Unable to unlink identity due to email conflict")
	} else if err != nil {
		return err
	}
	return nil
}

// proves reports an identity whose address its provider has proved and is
// trusted for, as the operator has configured it now.
func (s *OAuth) proves(i Identity) bool {
	if i.Email == "" || i.Data["email_verified"] != true {
		return false
	}
	p := s.providers[i.Provider]
	return i.Provider == "email" || p != nil && p.Config().Issuer == i.issuer && answersFor(p.Config(), i.Email)
}
