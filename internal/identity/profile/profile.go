package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/identity/accounts"
)

// profileRoom is how many sessions' accounts are kept as JSON.
const profileRoom = 10000

// profiles keeps accounts as GET /user answers them, by session. An entry is
// good as long as this node has changed no account since it was read, and no
// longer than StandingTTL, which bounds what another node has changed.
type profiles struct {
	mu   sync.RWMutex
	kept map[string]profile
}

type profile struct {
	body    []byte
	changes uint64 // of tokenCache, from before it was read
	at      time.Time
}

func (p *profiles) getProfile(session string) profile {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.kept[session]
}

func (p *profiles) putProfile(session string, made profile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil || len(p.kept) >= profileRoom {
		p.kept = map[string]profile{}
	}
	p.kept[session] = made
}

// UserJSON is User as a JSON text, which must not be changed.
func (s *Store) UserJSON(ctx context.Context, a actor.Actor) ([]byte, error) {
	changes, now := s.Tokens.Changes.Load(), s.Now()
	if p := s.profiles.getProfile(a.SessionID); p.body != nil && p.changes == changes {
		if age := now.Sub(p.at); age >= 0 && age < accounts.StandingTTL {
			return p.body, nil
		}
	}
	u, err := s.User(ctx, a)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(u)
	if err != nil {
		return nil, fmt.Errorf("identity: encode user: %w", err)
	}
	s.profiles.putProfile(a.SessionID, profile{body, changes, now})
	return body, nil
}
