package keyring

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/token"
	"holdfast/internal/web"
)

// KeyUse is what a service key was used for.
type KeyUse struct {
	Key, Address  string
	Method, Route string // "" of a use that was refused before it got to one
	Refused       string // why; "" of one that was not

	Tenant, Account string // of a tenant's key, and its service account; "" of a service key
}

// maxKeyUses bounds the kinds of use of one key that are told apart between two
// writes, so that who has stolen it cannot fill the audit log; what comes on top is
// told by the key alone.
const maxKeyUses = 256

// KeyUses gathers the uses of service keys, so that the audit log has them all and
// no request waits for its row.
type keyUses struct {
	mu    sync.Mutex
	seen  map[KeyUse]KeyUsed // by web.AddressKey in place of the address
	kinds map[KeyUse]int     // how many of them, by the use that sums up the rest
}

// KeyUsed is how often, and since when, a key was used in one way.
type KeyUsed struct {
	Times            int
	Since, Last      time.Time
	Request, Address string // the first one's
}

// Add counts uses of a key.
func (k *keyUses) Add(u KeyUse, more KeyUsed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil {
		k.seen, k.kinds = map[KeyUse]KeyUsed{}, map[KeyUse]int{}
	}
	rest := KeyUse{Key: u.Key, Refused: u.Refused, Tenant: u.Tenant, Account: u.Account}
	u.Address = web.AddressKey(u.Address)
	had, known := k.seen[u]
	if !known && u != rest {
		if k.kinds[rest] < maxKeyUses {
			k.kinds[rest]++
		} else {
			u, more.Address = rest, ""
			had, known = k.seen[u]
		}
	}
	if known {
		had.Times += more.Times
		had.Last = more.Last
		more = had
	}
	k.seen[u] = more
}

func (k *keyUses) take() map[KeyUse]KeyUsed {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.seen
	k.seen, k.kinds = nil, nil
	return out
}

// KeyUsed keeps the use of a service key, or of a tenant's, for WriteKeyUses. Other keys identify a
// project and nobody in it: theirs are not kept.
func (s *Keyring) KeyUsed(u KeyUse, requestID string) {
	if u.Account != "" || s.serviceKey(u.Key) {
		u.Method = accounts.CutText(u.Method, 10)
		s.KeyUses.Add(u, KeyUsed{1, s.Now(), s.Now(), requestID, u.Address})
	}
}

func (s *Keyring) serviceKey(id string) bool {
	switch id {
	case configuredKey, JWTKey + token.RoleService, JWTKey + token.RoleSupabaseAdmin:
		return true
	}
	return s.apiKeys.Load().ByID[id].Kind == KindSecret
}

// WriteKeyUses writes the uses since it was called last to the audit log: one row
// to a key, client address (of IPv6 its /64) and route. Run it every minute. Uses that could not be
// written wait for the next time.
func (s *Keyring) WriteKeyUses(ctx context.Context) error {
	seen := s.KeyUses.take()
	if len(seen) == 0 {
		return nil
	}
	err := s.Write(ctx, func(tx *db.Tx) error {
		for u, n := range seen {
			s.Audit(tx, u.event(n))
			if u.Account != "" && u.Refused == "" {
				s.lastUse(tx, u, n)
			}
		}
		return tx.Flush()
	})
	if err != nil {
		for u, n := range seen {
			s.KeyUses.Add(u, n)
		}
		return fmt.Errorf("identity: write uses of keys: %w", err)
	}
	return nil
}

func (u KeyUse) event(n KeyUsed) accounts.Event {
	e := accounts.Event{Tenant: u.Tenant, User: u.Account, Key: u.Key, Action: "api_key.used",
		Details: map[string]any{"requests": n.Times, "since": n.Since.Format(time.RFC3339)},
		Client:  accounts.Client{Address: n.Address, RequestID: n.Request}}
	network := u.Address
	if network == n.Address {
		network = ""
	}
	for name, v := range map[string]string{"method": u.Method, "route": u.Route, "network": network} {
		if v != "" {
			e.Details[name] = v
		}
	}
	if u.Refused != "" {
		e.Outcome, e.Details["code"], e.Details["reason"] = "refused", "no_authorization", u.Refused
	}
	return e
}

// FromHome reports an address that service keys are taken from.
func (s *Keyring) FromHome(address string) bool {
	if len(s.Config.ServiceAddresses) == 0 {
		return true
	}
	a, err := netip.ParseAddr(address)
	a = a.Unmap().WithZone("")
	return err == nil && slices.ContainsFunc(s.Config.ServiceAddresses, func(p netip.Prefix) bool { return p.Contains(a) })
}

// RefuseKey refuses a service key and keeps for WriteKeyUses that it was shown.
func (s *Keyring) RefuseKey(id, reason string, c accounts.Credential, err error) error {
	s.KeyUses.Add(KeyUse{Key: id, Address: c.Address, Refused: reason},
		KeyUsed{1, s.Now(), s.Now(), c.RequestID, c.Address})
	return err
}

const lastUseSQL = `
	UPDATE service_keys
	SET last_used_at = $3, last_used_from = COALESCE($4, last_used_from)
	WHERE tenant_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < $3)`

func (s *Keyring) lastUse(tx *db.Tx, u KeyUse, n KeyUsed) {
	tx.Queue(lastUseSQL, []any{u.Tenant, u.Key, n.Last, db.Null(n.Address)}, nil)
}
