package accounts

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/token"
)

// ClearCodes ends every outstanding code of an account, as a change of
// password or address does.
func ClearCodes(tx *db.Tx, userID string) error {
	_, err := tx.Exec("DELETE FROM one_time_tokens WHERE user_id = $1", userID)
	return err
}

// PhonesOn refuses where numbers do not sign in.
func (s *Store) PhonesOn() error {
	if !s.Config.Phone {
		return fault.New(fault.Invalid, "phone_provider_disabled", "Phone logins are disabled")
	}
	return nil
}

// SignedUpBy completes the draft of an account by telephone number.
func (s *Store) SignedUpBy(tx *db.Tx, u *User, c Client) {
	u.Identities = []Identity{PhoneIdentity(u)}
	u.Derive()
	s.Audit(tx, Event{User: u.ID, Action: "user.signed_up", Entity: "user", EntityID: u.ID,
		Details: map[string]any{"method": "phone"}, Client: c})
}

// Store drafts accounts, and takes from them what their owner has not proved.
type Store struct {
	*Base
}

// SignUpOn refuses where strangers may not sign up.
func (s *Store) SignUpOn() error {
	if !s.Config.SignupEnabled {
		return fault.New(fault.Unprocessable, "signup_disabled", "Signups not allowed for this instance")
	}
	return nil
}

// EmailOn refuses where addresses do not sign in. Clients expect one code with
// two statuses: the kind is the endpoint's.
func (s *Store) EmailOn(k fault.Kind) error {
	if s.Config.EmailOff {
		return fault.New(k, "email_provider_disabled", "Email logins are disabled")
	}
	return nil
}

// Draft is a new account, not yet stored. Its id is random throughout: a
// UUIDv7 would tell when the account was made, and so tell a decoy from it.
func (s *Store) Draft(email string, data map[string]any) *User {
	now := s.Now()
	u := &User{ID: uuid.NewString(), Aud: token.Audience, Role: token.Audience, Email: email, AppData: map[string]any{},
		UserMetadata: map[string]any{}, CreatedAt: Time{Time: now}, UpdatedAt: Time{Time: now}}
	for k, v := range data {
		u.UserMetadata[k] = v
	}
	return u
}

// SignedUp completes a draft as a sign-up by address does.
func (u *User) SignedUp() *User {
	u.UserMetadata["sub"], u.UserMetadata["email"] = u.ID, u.Email
	u.UserMetadata["email_verified"], u.UserMetadata["phone_verified"] = !u.EmailConfirmedAt.IsZero(), false
	return u.Addressed()
}

// Addressed completes a draft that a service key asks for: its metadata are what
// the key gave and nothing else.
func (u *User) Addressed() *User {
	u.Identities = []Identity{EmailIdentity(u, u.CreatedAt.Time)}
	u.Derive()
	return u
}

// HideAsTaken makes of the answer for a new account the one by which applications for
// supabase-js know that the address or number is taken: it has no identities,
// no role and an id of nobody's.
func (u *User) HideAsTaken(provider string) {
	u.ID, u.Role, u.Identities = uuid.NewString(), "", []Identity{}
	u.AppMetadata = map[string]any{"provider": provider, "providers": []string{provider}}
}

const disownSQL = `
	UPDATE users
	SET password_hash = NULL, user_metadata = $2
	WHERE id = $1 AND email_confirmed_at IS NULL AND phone_confirmed_at IS NULL`

// Disown takes password, wishes and providers' identities off an unconfirmed
// account that somebody signs up for once more. Nobody has proved the address,
// so the first password may be a stranger's who waits for the owner to open the
// mailed link, and so may the second. The link signs the owner in; he chooses a
// password then. An account that somebody has proved, by address or by number,
// is taken and stays as it is.
func (s *Store) Disown(tx *db.Tx, u *User) (taken bool, err error) {
	bare := maps.Clone(u.UserMetadata)
	Unwished(bare)
	n, err := tx.Exec(disownSQL, u.ID, WriteJSON(bare))
	if err != nil || n == 0 {
		return err == nil, err
	}
	u.Hash, u.UserMetadata = "", bare
	return false, s.WithoutProviders(tx, u, "")
}

// OnceMore runs a sign-up again when another one with the same address came
// first: the second run finds the account.
func (s *Store) OnceMore(f func() error) error {
	err := f()
	if fault.HasCode(err, "23505") {
		err = f()
	}
	return err
}

// WithoutProviders takes the identities of providers off an account that nobody
// has proved, all but keep. An account that a provider's sign-in had made is one
// that signs in by its address from then on.
func (s *Store) WithoutProviders(tx *db.Tx, u *User, keep string) error {
	if keep == "" {
		keep = db.NoTenant // the id of none
	}
	n, err := tx.Exec(`
		DELETE FROM identities
		WHERE user_id = $1
			AND provider NOT IN ('email', 'phone')
			AND id <> $2`,
		u.ID, keep)
	if err != nil || n == 0 {
		return err
	}
	u.Identities = slices.DeleteFunc(u.Identities, func(i Identity) bool {
		return i.Provider != "email" && i.Provider != "phone" && i.IdentityID != keep
	})
	u.Derive()
	if len(u.Identities) > 0 {
		return nil
	}
	u.UserMetadata = map[string]any{}
	InsertIdentity(tx, &u.SignedUp().Identities[0])
	_, err = tx.Exec("UPDATE users SET user_metadata = $2 WHERE id = $1", u.ID, WriteJSON(u.UserMetadata))
	return err
}

// DropIdentity deletes an identity of an account.
func DropIdentity(tx *db.Tx, id string) {
	tx.Queue("DELETE FROM identities WHERE id = $1", []any{id}, nil)
}

// WriteMetadata writes what the account says of itself, changed at a moment.
func (u *User) WriteMetadata(tx *db.Tx, at time.Time) error {
	_, err := tx.Exec(`
		UPDATE users
		SET user_metadata = $2, updated_at = $3
		WHERE id = $1`, u.ID,
		WriteJSON(u.UserMetadata), at)
	return err
}
