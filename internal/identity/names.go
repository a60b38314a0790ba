package identity

import (
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/password"
)

// Passwords hashes, checks and changes passwords, and says which are too weak.
type Passwords struct {
	*Base
	hasher *password.Hasher
	policy password.Policy
}

// nameKeys are the metadata that clients and providers call a person by.
var nameKeys = []string{"name", "full_name", "display_name", "given_name", "family_name", "first_name", "last_name", "nickname",
	"preferred_username", "user_name", "username"}

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

// checkPassword holds a new password against the policy and what an attacker
// knows of the account: words, names in its metadata, and the product's name.
func (s *Passwords) checkPassword(pw string, words []string, data ...map[string]any) error {
	return s.policy.Check(pw, append(append(words, namesIn(data...)...), s.cfg.Name)...)
}

// tenantNames are the name and the slug of a tenant, by id or slug; none for a
// tenant that there is not.
func tenantNames(tx *db.Tx, tenant string) ([]string, error) {
	if tenant == "" {
		return nil, nil
	}
	t, err := tenantBy(tx, tenant)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return []string{t.Name, t.Slug}, err
}

// HashApart makes passwords be hashed in a process of their own, beside a server
// that has answered so many requests; see password.Hasher.Apart. Call it before
// the service is used.
func (s *Passwords) HashApart(answered func() int64) error { return s.hasher.Apart(answered) }
