package providers

import (
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/oidc"
)

// ownerOf is the account that a subject of an issuer is linked to, or
// fault.NotFound.
func ownerOf(tx *db.Tx, provider, issuer, subject string) (owner string, err error) {
	err = tx.One(`
		SELECT user_id
		FROM identities
		WHERE provider = $1
			AND issuer = $2
			AND subject = $3`, []any{provider, issuer, subject},
		func(r *db.Row) error { owner = r.Text(0); return nil })
	return owner, err
}

// findPerson finds or makes the account of a person. The same subject of the same
// issuer is the same account. An address links only when both sides have
// proved it and the provider is trusted for its domain.
func (s *OAuth) findPerson(tx *db.Tx, p oidc.Config, who oidc.Person, c accounts.Client) (*accounts.User, error) {
	owner, err := ownerOf(tx, p.Name, p.Issuer, who.Subject)
	if err == nil {
		return s.refreshKnown(tx, owner, p, who)
	}
	if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	email, err := accounts.Canonical(who.Email)
	if err != nil {
		return nil, fault.New(fault.Invalid, "bad_oauth_callback", "The provider gave no usable email address")
	}
	trusted := who.EmailVerified && answersFor(p, email) && accounts.SameSpelling(who.Email, email)
	u, err := accounts.UserByEmail(tx, email)
	switch {
	case fault.Is(err, fault.NotFound):
		return s.newPerson(tx, p, who, email, trusted, c)
	case err != nil:
		return nil, err
	case !trusted:
		return nil, fault.New(fault.Unprocessable, "provider_email_needs_verification",
			"An account with this email address exists; sign in with it first")
	case u.ConfirmedAt.IsZero():
		err = s.reclaimAccount(tx, u, c)
	case u.EmailConfirmedAt.IsZero(): // whose number is proved
		err = s.Addresses.Confirm(tx, u, codes.OneTime{Kind: "oauth"}, c)
	}
	if err != nil {
		return nil, err
	}
	return u, s.linkIdentity(tx, u, p, who, email, c)
}

// answersFor reports a provider that is trusted for the domain of an address.
func answersFor(p oidc.Config, email string) bool {
	return len(p.Domains) == 0 || slices.Contains(p.Domains, accounts.DomainOf(email))
}

// refreshKnown refreshes the account of an identity seen before.
func (s *OAuth) refreshKnown(tx *db.Tx, userID string, p oidc.Config, who oidc.Person) (*accounts.User, error) {
	u, err := accounts.LockedUser(tx, userID)
	if err != nil {
		return nil, err
	}
	for i := range u.Identities {
		if id := &u.Identities[i]; id.IdentityID == u.IdentityOf(p, who) {
			id.Data, id.LastSignInAt = identityData(p, who), accounts.Time{Time: s.Now()}
			tx.Queue(`
				UPDATE identities
				SET data = $2, last_sign_in_at = $3, updated_at = $3
				WHERE id = $1`,
				[]any{id.IdentityID, accounts.WriteJSON(id.Data), s.Now()}, nil)
		}
	}
	return u, s.mergeProfile(tx, u, who)
}

// reclaimAccount takes an unproved account from whoever made it: password, sessions
// and other identities go before the proved owner comes in.
func (s *OAuth) reclaimAccount(tx *db.Tx, u *accounts.User, c accounts.Client) error {
	if _, err := tx.Exec("DELETE FROM identities WHERE user_id = $1", u.ID); err != nil {
		return err
	}
	u.Identities, u.UserMetadata = []accounts.Identity{}, map[string]any{}
	return s.Addresses.Confirm(tx, u, codes.OneTime{Kind: "oauth"}, c)
}

func identityData(p oidc.Config, who oidc.Person) map[string]any {
	m := map[string]any{"sub": who.Subject, "provider_id": who.Subject, "iss": p.Issuer,
		"email": who.Email, "email_verified": who.EmailVerified, "phone_verified": false}
	for k, v := range who.Claims {
		m[k] = v
	}
	return m
}

func (s *OAuth) linkIdentity(
	tx *db.Tx, u *accounts.User, p oidc.Config, who oidc.Person, email string, c accounts.Client,
) error {
	now := s.Now()
	id := accounts.Identity{IdentityID: db.NewID(), ID: who.Subject, UserID: u.ID, Provider: p.Name,
		Issuer: p.Issuer, Email: email, Data: identityData(p, who),
		LastSignInAt: accounts.Time{Time: now}, CreatedAt: accounts.Time{Time: now}, UpdatedAt: accounts.Time{Time: now}}
	accounts.InsertIdentity(tx, &id)
	u.Identities = append(u.Identities, id)
	u.Derive()
	s.Audit(
		tx,
		accounts.Event{User: u.ID, Action: "user.identity_linked", Entity: "user", EntityID: u.ID,
			Details: map[string]any{"provider": p.Name}, Client: c},
	)
	return s.mergeProfile(tx, u, who)
}

// mergeProfile copies name and picture into the user's metadata, never
// anything a tenant depends on.
func (s *OAuth) mergeProfile(tx *db.Tx, u *accounts.User, who oidc.Person) error {
	m, err := accounts.Merge(u.UserMetadata, who.Claims)
	if err != nil {
		return nil // full metadata keep what they have
	}
	u.UserMetadata = m
	return u.WriteMetadata(tx, s.Now())
}

func (s *OAuth) newPerson(
	tx *db.Tx, p oidc.Config, who oidc.Person, email string, trusted bool, c accounts.Client,
) (*accounts.User, error) {
	if !s.Config.SignupEnabled {
		return nil, fault.New(fault.Unprocessable, "signup_disabled", "Signups not allowed for this instance")
	}
	u := s.Accounts.Draft(email, nil)
	if trusted {
		u.EmailConfirmedAt, u.ConfirmedAt = u.CreatedAt, u.CreatedAt
	}
	u.UserMetadata["email"], u.UserMetadata["email_verified"], u.UserMetadata["sub"] = email, trusted, who.Subject
	if err := accounts.InsertUser(tx, u); err != nil {
		return nil, err
	}
	s.Audit(
		tx,
		accounts.Event{User: u.ID, Action: "user.signed_up", Entity: "user", EntityID: u.ID,
			Details: map[string]any{"provider": p.Name}, Client: c},
	)
	return u, s.linkIdentity(tx, u, p, who, email, c)
}
