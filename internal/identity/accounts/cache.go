package accounts

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/actor"
)

// StandingTTL is how long a node may answer from what it read of a session,
// its user and membership. It bounds what a lost notice of a change costs.
const StandingTTL = 5 * time.Second

// cacheRoom is how many verified tokens are remembered, in two generations.
const cacheRoom = 20000

type tokenHash = [sha256.Size]byte

// Verified is a token whose signature and claims were checked once. What it
// may still do is its standing, read again every few seconds.
type Verified struct {
	User, Session, Tenant string
	Expires               int64 // Unix seconds
	Issued                int64 // Unix seconds
	Role, AAL             string
	Key                   string // API key in JWT form, or the one a service account's token is from: its id
	Scope                 string // of a service account's token
	Standing              atomic.Pointer[Standing]
}

// Standing is the state of session, user and membership at one moment: an
// actor, or why there is none.
type Standing struct {
	Actor actor.Actor
	Err   error
	MFA   error // the tenant wants a second factor that the session lacks
	At    time.Time
}

// tokenCache remembers verified tokens by their SHA-256. When the younger
// generation is full it becomes the older and the older is forgotten; a token
// in use is carried over. gen changes with every drop, so that a standing read
// before a change is not stored after it.
type tokenCache struct {
	mu         sync.RWMutex
	young, old map[tokenHash]*Verified
	Gen        atomic.Uint64
	Changes    atomic.Uint64             // of accounts, by this node or told by another
	Told       func(user, tenant string) // of Forget and ForgetTenant; may be nil
}

// NewTokenCache returns one that remembers nothing yet.
func NewTokenCache() *tokenCache {
	return &tokenCache{young: map[tokenHash]*Verified{}, old: map[tokenHash]*Verified{}}
}

// Get returns what is known of a token; nil = nothing.
func (c *tokenCache) Get(h tokenHash) *Verified {
	c.mu.RLock()
	v, young := c.young[h]
	if !young {
		v = c.old[h]
	}
	c.mu.RUnlock()
	if v != nil && !young {
		c.Put(h, v)
	}
	return v
}

// Put remembers a token that was verified.
func (c *tokenCache) Put(h tokenHash, v *Verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= cacheRoom/2 {
		c.old, c.young = c.young, make(map[tokenHash]*Verified, cacheRoom/2)
	}
	c.young[h] = v
}

// drop forgets the standing of the tokens that match.
func (c *tokenCache) drop(match func(*Verified) bool) {
	c.Gen.Add(1)
	c.Changes.Add(1)
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, m := range []map[tokenHash]*Verified{c.young, c.old} {
		for _, v := range m {
			if match(v) {
				v.Standing.Store(nil)
			}
		}
	}
}

// Clear forgets the tokens themselves, after a change of keys.
func (c *tokenCache) Clear() {
	c.Gen.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = map[tokenHash]*Verified{}, map[tokenHash]*Verified{}
}

// OnForget sets who is told of Forget and ForgetTenant, the other argument
// being "", and of changed keys, both being "": other nodes remember too. Call
// it before the service is used.
func (s *Base) OnForget(told func(user, tenant string)) { s.Tokens.Told = told }

// Forget empties the cache of one user: call it after any change to the
// account, its sessions or its memberships.
func (s *Base) Forget(userID string) {
	s.ForgetHere(userID, "")
	if s.Tokens.Told != nil {
		s.Tokens.Told(userID, "")
	}
}

// ForgetTenant empties the cache of everyone who works in a tenant.
func (s *Base) ForgetTenant(tenantID string) {
	s.ForgetHere("", tenantID)
	if s.Tokens.Told != nil {
		s.Tokens.Told("", tenantID)
	}
}

// ForgetHere is Forget, or ForgetTenant, for what another node has told.
func (s *Base) ForgetHere(userID, tenantID string) {
	s.ServiceKeys.Forget("")
	s.Tokens.drop(func(v *Verified) bool {
		return userID != "" && v.User == userID || tenantID != "" && v.Tenant == tenantID
	})
}

// ForgetAll empties the cache of everyone: another process has written.
func (s *Base) ForgetAll() {
	s.ServiceKeys.Forget("")
	s.Tokens.drop(func(*Verified) bool { return true })
}
