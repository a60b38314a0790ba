package providers

import (
	"context"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/token"
)

func (s *OAuth) linkingOn() error {
	if !s.Config.ManualLinking {
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
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		u, err := accounts.UserByID(tx, a.UserID)
		if err != nil {
			return err
		}
		if u.SSO {
			return accounts.ErrManaged()
		}
		if err := accounts.NeedAAL2(u, a, fault.Forbidden, "AAL2 required to link an identity"); err != nil {
			return err
		}
		return s.Proofs.OwnAccount(tx, u, a, "Linking an identity")
	})
	if err != nil {
		return AuthStart{}, err
	}
	in.LinkTo = a.UserID
	return s.Authorize(ctx, in)
}

// arriveLink takes the provider's answer for a flow that links.
func (s *OAuth) arriveLink(ctx context.Context, f codes.Flow, who oidc.Person, c accounts.Client) (string, error) {
	var g *sessions.Grant
	loc := ""
	err := s.Write(ctx, func(tx *db.Tx) error {
		g, loc = nil, ""
		u, err := accounts.LockedUser(tx, f.LinkUser)
		if err != nil {
			return err
		}
		if u.Banned(s.Now()) {
			return accounts.ErrBanned()
		}
		if f.Challenge != "" {
			sealed := s.Codes.SealFlow(f.ID, codes.FlowSecrets{AccessToken: who.AccessToken, RefreshToken: who.RefreshToken,
				Person: &who})
			loc, err = s.handCode(tx, f, u, sealed)
			return err
		}
		if err := s.attachIdentity(tx, u, f.Provider, who, c); err != nil {
			return err
		}
		if g, err = s.Sessions.Begin(tx, u, token.Method{Method: "oauth", Provider: f.Provider}, c); err != nil {
			return err
		}
		g.ProviderToken, g.ProviderRefresh = who.AccessToken, who.RefreshToken
		_, err = s.Codes.EndFlow(tx, f.ID)
		return err
	})
	if err != nil || g == nil {
		return loc, err
	}
	sess, err := s.Sessions.Issue(g)
	if err != nil {
		return "", err
	}
	return signin.Fragment(s.Links, sess, f.Redirect, ""), nil
}

// attachIdentity links an identity to an account whose owner asked for it. An
// anonymous account becomes one with the identity's address, if that is proved
// and free.
func (s *OAuth) attachIdentity(tx *db.Tx, u *accounts.User, provider string, who oidc.Person, c accounts.Client) error {
	p := s.Providers[provider]
	if p == nil {
		return fault.New(fault.Invalid, "provider_disabled", "The provider is not enabled any more")
	}
	if u.SSO {
		return accounts.ErrManaged()
	}
	cfg := p.Config()
	owner, err := ownerOf(tx, cfg.Name, cfg.Issuer, who.Subject)
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return err
	case owner == u.ID:
		return fault.New(fault.Unprocessable, "identity_already_exists", "Identity is already linked")
	case owner != "":
		return fault.New(fault.Unprocessable, "identity_already_exists", "Identity is already linked to another user")
	}
	email := ""
	if addr, err := accounts.Canonical(who.Email); err == nil {
		email = addr
	}
	if u.IsAnonymous {
		if email == "" || !who.EmailVerified || !answersFor(cfg, email) || !accounts.SameSpelling(who.Email, email) {
			return fault.New(fault.Unprocessable, "provider_email_needs_verification",
				"The provider does not vouch for an email address; add one to the account first")
		}
		if err := s.Addresses.AdoptAddress(tx, u, email, c); err != nil {
			return err
		}
	}
	s.Post.Alert(tx, u, mailtemplate.Linked, cfg.Name)
	return s.linkIdentity(tx, u, cfg, who, email, c)
}

// Unlink removes an identity from the caller's account, never the last one. An
// address or password that came with it goes as well.
func (s *OAuth) Unlink(ctx context.Context, a actor.Actor, identityID string) error {
	if err := s.linkingOn(); err != nil {
		return err
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.LockedUser(tx, a.UserID)
		if err != nil {
			return err
		}
		if err := accounts.NeedAAL2(u, a, fault.Forbidden, "AAL2 required to unlink an identity"); err != nil {
			return err
		}
		at := slices.IndexFunc(u.Identities, func(i accounts.Identity) bool { return i.IdentityID == identityID })
		switch {
		case u.SSO:
			return accounts.ErrManaged()
		case at < 0:
			return fault.New(fault.Unprocessable, "identity_not_found", "Identity doesn't exist")
		case len(u.Identities) == 1:
			return fault.New(fault.Unprocessable, "single_identity_not_deletable",
				"User must have at least 1 identity after unlinking")
		}
		gone := u.Identities[at]
		u.Identities = slices.Delete(u.Identities, at, at+1)
		if err := s.withoutIdentity(tx, u, gone); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: u.ID, Action: "user.identity_unlinked", Entity: "user",
			EntityID: u.ID, Details: map[string]any{"provider": gone.Provider}, Client: accounts.ClientOf(a)})
		s.Post.Alert(tx, u, mailtemplate.Unlinked, gone.Provider)
		accounts.DropIdentity(tx, gone.IdentityID)
		return tx.Flush()
	})
}

// withoutIdentity takes back what only the removed identity stood for.
func (s *OAuth) withoutIdentity(tx *db.Tx, u *accounts.User, gone accounts.Identity) error {
	if gone.Provider == "email" {
		tx.Queue(`
			UPDATE users
			SET password_hash = NULL, updated_at = $2
			WHERE id = $1`, []any{u.ID, s.Now()}, nil)
		if err := accounts.ClearCodes(tx, u.ID); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(u.Identities, func(i accounts.Identity) bool { return i.Email == u.Email }) {
		return nil
	}
	next := slices.IndexFunc(u.Identities, s.provesAddress)
	if next < 0 {
		return fault.New(fault.Unprocessable, "email_conflict_identity_not_deletable",
			"Unable to unlink identity: no other identity has a proved email address")
	}
	if err := s.Addresses.SetAddress(tx, u, u.Identities[next].Email, accounts.Client{}); fault.HasCode(err,
		"email_exists") {
		return fault.New(fault.Unprocessable, "email_conflict_identity_not_deletable",
			"Unable to unlink identity due to email conflict")
	} else if err != nil {
		return err
	}
	return nil
}

// provesAddress reports an identity whose address its provider has proved and is
// trusted for, as the operator has configured it now.
func (s *OAuth) provesAddress(i accounts.Identity) bool {
	if i.Email == "" || i.Data["email_verified"] != true {
		return false
	}
	p := s.Providers[i.Provider]
	return i.Provider == "email" || p != nil && p.Config().Issuer == i.Issuer && answersFor(p.Config(), i.Email)
}
