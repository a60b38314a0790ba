package identity

// Hashes is how many passwords were hashed or checked so far.
func (s *Service) Hashes() int64 { return s.Passwords.hasher.Made() }

// Taken is what a service key is told of a conflict.
var Taken = taken
