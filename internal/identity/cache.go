package identity

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/actor"
)

// standingTTL is how long a node may answer from what it read of a session,
// its user and membership. It bounds what a lost notice of a change costs.
const standingTTL = 5 * time.Second

// cacheRoom is how many verified tokens are remembered, in two generations.
const cacheRoom = 20000

type tokenHash = [sha256.Size]byte

// verified is a token whose signature and claims were checked once. What it
// may still do is its standing, read again every few seconds.
type verified struct {
	user, session, tenant string
	expires               int64 // Unix seconds
	issued                int64 // Unix seconds
	role, aal             string
	key                   string // API key in JWT form, or the one a service account's token is from: its id
	scope                 string // of a service account's token
	standing              atomic.Pointer[standing]
}

// standing is the state of session, user and membership at one moment: an
// actor, or why there is none.
type standing struct {
	actor actor.Actor
	err   error
	mfa   error // the tenant wants a second factor that the session lacks
	at    time.Time
}

// tokenCache remembers verified tokens by their SHA-256. When the younger
// generation is full it becomes the older and the older is forgotten; a token
// in use is carried over. gen changes with every drop, so that a standing read
// before a change is not stored after it.
type tokenCache struct {
	mu         sync.RWMutex
	young, old map[tokenHash]*verified
	gen        atomic.Uint64
	changes    atomic.Uint64             // of accounts, by this node or told by another
	told       func(user, tenant string) // of Forget and ForgetTenant; may be nil
}

func newTokenCache() *tokenCache {
	return &tokenCache{young: map[tokenHash]*verified{}, old: map[tokenHash]*verified{}}
}

func (c *tokenCache) get(h tokenHash) *verified {
	c.mu.RLock()
	v, young := c.young[h]
	if !young {
		v = c.old[h]
	}
	c.mu.RUnlock()
	if v != nil && !young {
		c.put(h, v)
	}
	return v
}

func (c *tokenCache) put(h tokenHash, v *verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= cacheRoom/2 {
		c.old, c.young = c.young, make(map[tokenHash]*verified, cacheRoom/2)
	}
	c.young[h] = v
}

// drop forgets the standing of the tokens that match.
func (c *tokenCache) drop(match func(*verified) bool) {
	c.gen.Add(1)
	c.changes.Add(1)
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, m := range []map[tokenHash]*verified{c.young, c.old} {
		for _, v := range m {
			if match(v) {
				v.standing.Store(nil)
			}
		}
	}
}

// clear forgets the tokens themselves, after a change of keys.
func (c *tokenCache) clear() {
	c.gen.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = map[tokenHash]*verified{}, map[tokenHash]*verified{}
}

// OnForget sets who is told of Forget and ForgetTenant, the other argument
// being "", and of changed keys, both being "": other nodes remember too. Call
// it before the service is used.
func (s *Base) OnForget(told func(user, tenant string)) { s.tokens.told = told }

// Forget empties the cache of one user: call it after any change to the
// account, its sessions or its memberships.
func (s *Base) Forget(userID string) {
	s.ForgetHere(userID, "")
	if s.tokens.told != nil {
		s.tokens.told(userID, "")
	}
}

// ForgetTenant empties the cache of everyone who works in a tenant.
func (s *Base) ForgetTenant(tenantID string) {
	s.ForgetHere("", tenantID)
	if s.tokens.told != nil {
		s.tokens.told("", tenantID)
	}
}

// ForgetHere is Forget, or ForgetTenant, for what another node has told.
func (s *Base) ForgetHere(userID, tenantID string) {
	s.serviceKeys.Forget("")
	s.tokens.drop(func(v *verified) bool {
		return userID != "" && v.user == userID || tenantID != "" && v.tenant == tenantID
	})
}

// ForgetAll empties the cache of everyone: another process has written.
func (s *Base) ForgetAll() {
	s.serviceKeys.Forget("")
	s.tokens.drop(func(*verified) bool { return true })
}
