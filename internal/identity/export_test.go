package identity

import (
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/admin"
	"holdfast/internal/identity/sessions"
)

// What only tests have to name.
type (
	Link        = admin.Link
	OpenSession = sessions.OpenSession
	Passkey     = accounts.Passkey
)

// Hashes is how many passwords were hashed or checked so far.
func (s *Service) Hashes() int64 { return s.Passwords.Hasher.Made() }

// Taken is what a service key is told of a conflict.
var Taken = accounts.Conflict
