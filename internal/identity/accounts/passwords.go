package accounts

import (
	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/identity/password"
)

// Passwords hashes, checks and changes passwords, and says which are too weak.
type Passwords struct {
	*Base
	Hasher *password.Hasher
	Policy password.Policy
}

// nameKeys are the metadata that clients and providers call a person by.
var nameKeys = []string{"name", "full_name", "display_name", "given_name", "family_name", "first_name", "last_name",
	"nickname", "preferred_username", "user_name", "username"}

// namesIn are the names in metadata, for password.Policy.
func namesIn(list ...map[string]any) (out []string) {
	for _, data := range list {
		for _, k := range nameKeys {
			if name, ok := data[k].(string); ok && name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// CheckPassword holds a new password against the policy and what an attacker
// knows of the account: words, names in its metadata, and the product's name.
func (s *Passwords) CheckPassword(pw string, words []string, data ...map[string]any) error {
	return s.Policy.Check(pw, append(append(words, namesIn(data...)...), s.Config.ProductName)...)
}

// HashApart makes passwords be hashed in a process of their own, beside a server
// that has answered so many requests; see password.Hasher.Apart. Call it before
// the service is used.
func (s *Passwords) HashApart(answered func() int64) error { return s.Hasher.Apart(answered) }

// SetPassword stores a hash and ends what the old password may have given
// away: other sessions and outstanding codes.
func (s *Passwords) SetPassword(tx *db.Tx, u *User, hash string, a actor.Actor) error {
	now := s.Now()
	u.Hash, u.UpdatedAt = hash, Time{Time: now}
	tx.Queue(`
		UPDATE users
		SET password_hash = $2, updated_at = $3
		WHERE id = $1`, []any{u.ID, hash, now}, nil)
	s.Audit(tx, Event{Tenant: a.TenantID, User: u.ID, Key: a.KeyID, Action: "user.password_changed", Entity: "user",
		EntityID: u.ID, Client: ClientOf(a)})
	if err := ClearCodes(tx, u.ID); err != nil {
		return err
	}
	if a.UserID == u.ID && a.SessionID != "" {
		return s.EndSessionsWhere(tx, u.ID, " AND id <> $2", a.SessionID)
	}
	return s.EndSessionsWhere(tx, u.ID, "")
}
