package identity

import (
	"holdfast/internal/identity/accounts"
)

// Hashes is how many passwords were hashed or checked so far.
func (s *Service) Hashes() int64 { return s.Passwords.Hasher.Made() }

// Taken is what a service key is told of a conflict.
var Taken = accounts.Conflict
