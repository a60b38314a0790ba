package identity

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/identity/token"
	"holdfast/internal/web"
)

// KeyUse is what a service key was used for.
type KeyUse struct {
	Key, Address  string
	Method, Route string // "" of a use that was refused before it got to one
	refused       string // why; "" of one that was not

	Tenant, Account string // of a tenant's key, and its service account; "" of a service key
}

// maxKeyUses bounds the kinds of use of one key that are told apart between two
// writes, so that who has stolen it cannot fill the audit log; what comes on top is
// told by the key alone.
const maxKeyUses = 256

// keyUses gathers the uses of service keys, so that the audit log has them all and
// no request waits for its row.
type keyUses struct {
	mu    sync.Mutex
	seen  map[KeyUse]keyUsed // by web.AddressKey in place of the address
	kinds map[KeyUse]int     // how many of them, by the use that sums up the rest
}

type keyUsed struct {
	times            int
	since, last      time.Time
	request, address string // the first one's
}

func (k *keyUses) add(u KeyUse, more keyUsed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen == nil {
		k.seen, k.kinds = map[KeyUse]keyUsed{}, map[KeyUse]int{}
	}
	rest := KeyUse{Key: u.Key, refused: u.refused, Tenant: u.Tenant, Account: u.Account}
	u.Address = web.AddressKey(u.Address)
	had, known := k.seen[u]
	if !known && u != rest {
		if k.kinds[rest] < maxKeyUses {
			k.kinds[rest]++
		} else {
			u, more.address = rest, ""
			had, known = k.seen[u]
		}
	}
	if known {
		had.times += more.times
		had.last = more.last
		more = had
	}
	k.seen[u] = more
}

func (k *keyUses) take() map[KeyUse]keyUsed {
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
		u.Method = cut(u.Method, 10)
		s.keyUses.add(u, keyUsed{1, s.now(), s.now(), requestID, u.Address})
	}
}

func (s *Keyring) serviceKey(id string) bool {
	switch id {
	case configuredKey, jwtKey + token.RoleService, jwtKey + token.RoleSupabaseAdmin:
		return true
	}
	return s.apiKeys.Load().byID[id].kind == kindSecret
}

// WriteKeyUses writes the uses since it was called last to the audit log: one row
// to a key, client address (of IPv6 its /64) and route. Run it every minute. Uses that could not be
// written wait for the next time.
func (s *Keyring) WriteKeyUses(ctx context.Context) error {
	seen := s.keyUses.take()
	if len(seen) == 0 {
		return nil
	}
	err := s.write(ctx, func(tx *db.Tx) error {
		for u, n := range seen {
			s.record(tx, u.event(n))
			if u.Account != "" && u.refused == "" {
				s.lastUse(tx, u, n)
			}
		}
		return tx.Flush()
	})
	if err != nil {
		for u, n := range seen {
			s.keyUses.add(u, n)
		}
		return fmt.Errorf("identity: write uses of keys: %w", err)
	}
	return nil
}

func (u KeyUse) event(n keyUsed) event {
	e := event{tenant: u.Tenant, user: u.Account, key: u.Key, action: "api_key.used",
		details: map[string]any{"requests": n.times, "since": n.since.Format(time.RFC3339)},
		client:  Client{Address: n.address, RequestID: n.request}}
	network := u.Address
	if network == n.address {
		network = ""
	}
	for name, v := range map[string]string{"method": u.Method, "route": u.Route, "network": network} {
		if v != "" {
			e.details[name] = v
		}
	}
	if u.refused != "" {
		e.outcome, e.details["code"], e.details["reason"] = "refused", "no_authorization", u.refused
	}
	return e
}

// fromHome reports an address that service keys are taken from.
func (s *Keyring) fromHome(address string) bool {
	if len(s.cfg.ServiceAddresses) == 0 {
		return true
	}
	a, err := netip.ParseAddr(address)
	a = a.Unmap().WithZone("")
	return err == nil && slices.ContainsFunc(s.cfg.ServiceAddresses, func(p netip.Prefix) bool { return p.Contains(a) })
}

// refuseKey refuses a service key and keeps for WriteKeyUses that it was shown.
func (s *Keyring) refuseKey(id, reason string, c Credential, err error) error {
	s.keyUses.add(KeyUse{Key: id, Address: c.Address, refused: reason}, keyUsed{1, s.now(), s.now(), c.RequestID, c.Address})
	return err
}
