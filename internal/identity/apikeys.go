package identity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/token"
	"holdfast/internal/seal"
)

// Kinds of API keys.
const (
	kindPublishable = "publishable"
	kindSecret      = "secret"
)

// Ids of keys that have no row: the secret one of the configuration, and those in
// JWT form that the operator made himself, by their role.
const (
	configuredKey = "configured"
	jwtKey        = "jwt:"
)

// apiKeys are the valid opaque keys by hash, and the ids of valid keys.
type apiKeys struct {
	byHash map[string]apiKey
	byID   map[string]apiKey
	at     time.Time
}

type apiKey struct {
	id, kind string
	until    time.Time // zero = no end
}

// live reports a key that has not ended.
func (k apiKey) live(now time.Time) bool {
	return k.id != "" && (k.until.IsZero() || now.Before(k.until))
}

func prefixOf(kind string) string {
	if kind == kindSecret {
		return token.SecretPrefix
	}
	return token.PublishablePrefix
}

func (s *Keyring) ensureAPIKeys(tx *db.Tx) error {
	for _, kind := range []string{kindPublishable, kindSecret} {
		id := newID()
		tx.Queue(`INSERT INTO api_keys (id, kind, name, hash, created_at) VALUES ($1, $2, 'default', $3, $4) ON CONFLICT DO NOTHING`,
			[]any{id, kind, seal.Digest(token.Opaque(prefixOf(kind), id, s.secrets.API)), s.now()}, nil)
	}
	return tx.Flush()
}

func (s *Keyring) loadAPIKeys(ctx context.Context) error {
	k := &apiKeys{byHash: map[string]apiKey{}, byID: map[string]apiKey{}, at: s.now()}
	for _, fixed := range []struct{ id, kind, key string }{{configuredKey + ":publishable", kindPublishable, s.cfg.PublishableKey},
		{configuredKey, kindSecret, s.cfg.SecretKey}} {
		if fixed.key != "" {
			k.byHash[seal.Digest(fixed.key)] = apiKey{id: fixed.id, kind: fixed.kind}
		}
	}
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		return tx.Query("SELECT id, kind, hash, revoked_at FROM api_keys WHERE revoked_at IS NULL OR revoked_at > $1", []any{k.at}, func(r *db.Row) error {
			key := apiKey{r.Text(0), r.Text(1), r.Time(3)}
			k.byHash[r.Text(2)], k.byID[key.id] = key, key
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("identity: load API keys: %w", err)
	}
	s.apiKeys.Store(k)
	return nil
}

// currentAPIKeys returns keys at most 5 s old, so that a revocation on another
// node holds here as fast as one of a session.
func (s *Keyring) currentAPIKeys(ctx context.Context) (*apiKeys, error) {
	k := s.apiKeys.Load()
	if age := s.now().Sub(k.at); age >= 0 && age < standingTTL {
		return k, nil
	}
	if err := s.loadAPIKeys(ctx); err != nil {
		return nil, err
	}
	return s.apiKeys.Load(), nil
}

// RenewAPIKey makes another default key of a kind, publishable or secret, in
// the place of the one there is. The old one, in both of its forms, is refused
// from overlap on, 0 = at once, so that clients can be given the new one first.
// An unknown kind or an overlap below 0 is fault.Invalid.
func (s *Keyring) RenewAPIKey(ctx context.Context, kind string, overlap time.Duration) error {
	if kind != kindPublishable && kind != kindSecret {
		return fault.New(fault.Invalid, "validation_failed", "%q is no kind of key: publishable and secret are", kind)
	}
	if overlap < 0 {
		return fault.New(fault.Invalid, "validation_failed", "the old key cannot end before now")
	}
	err := s.write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec("UPDATE api_keys SET revoked_at = $2 WHERE kind = $1 AND name = 'default' AND revoked_at IS NULL", kind,
			s.now().Add(overlap)); err != nil {
			return err
		}
		s.record(tx, event{action: "api_key.renewed", details: map[string]any{"kind": kind, "overlap_seconds": int(overlap.Seconds())}})
		return s.ensureAPIKeys(tx)
	})
	if err != nil {
		return fmt.Errorf("identity: renew API key: %w", err)
	}
	return s.keysChanged(ctx)
}

// RevokeAPIKey ends a key now that RenewAPIKey left for a while. The default
// key of a kind is renewed, never revoked: fault.Conflict.
func (s *Keyring) RevokeAPIKey(ctx context.Context, id string) error {
	canonical, ok := canonicalID(id)
	if !ok {
		return fault.New(fault.Invalid, "validation_failed", "%q is no key's id", cut(id, 40))
	}
	err := s.write(ctx, func(tx *db.Tx) error {
		var until time.Time
		err := tx.One("SELECT revoked_at FROM api_keys WHERE id = $1", []any{canonical}, func(r *db.Row) error { until = r.Time(0); return nil })
		if err == nil && until.IsZero() {
			err = fault.New(fault.Conflict, "conflict", "this is the default key of its kind: renew it instead")
		}
		if err != nil {
			return err
		}
		s.record(tx, event{action: "api_key.revoked", entity: "api_key", entityID: canonical})
		_, err = tx.Exec("UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at > $2", canonical, s.now())
		return err
	})
	if err != nil {
		return fmt.Errorf("identity: revoke API key: %w", err)
	}
	return s.keysChanged(ctx)
}

// KeyInfo is a key without its secret part.
type KeyInfo struct {
	ID    string
	Kind  string // signing, publishable, secret
	State string // active; retired: verifies, or is taken, until Until; revoked
	Made  time.Time
	Until time.Time // zero = no end
}

// ListKeys returns the signing keys and the API keys, newest first.
func (s *Keyring) ListKeys(ctx context.Context) (list []KeyInfo, err error) {
	now := s.now()
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		list = nil
		err := tx.Query("SELECT kid, state, created_at, retired_at FROM signing_keys ORDER BY created_at DESC NULLS LAST, id", nil, func(r *db.Row) error {
			k := KeyInfo{ID: r.Text(0), Kind: "signing", State: r.Text(1), Made: r.Time(2)}
			if at := r.Time(3); !at.IsZero() {
				k.Until = at.Add(s.cfg.AccessTokenTTL)
			}
			list = append(list, k)
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Query("SELECT id, kind, created_at, revoked_at FROM api_keys ORDER BY kind NULLS LAST, created_at DESC NULLS LAST, id", nil, func(r *db.Row) error {
			k := KeyInfo{ID: r.Text(0), Kind: r.Text(1), State: "active", Made: r.Time(2), Until: r.Time(3)}
			switch {
			case k.Until.IsZero():
			case now.Before(k.Until):
				k.State = "retired"
			default:
				k.State = "revoked"
			}
			list = append(list, k)
			return nil
		})
	})
	return list, err
}

// Keys are the API keys in both forms, as `holdfast status` prints them.
type Keys struct {
	AnonKey        string // JWT, role anon
	ServiceRoleKey string // JWT, role service_role
	PublishableKey string // sb_publishable_...
	SecretKey      string // sb_secret_...
}

// Keys derives the default API keys again; the database holds their hashes.
func (s *Keyring) Keys(ctx context.Context) (Keys, error) {
	var out Keys
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		return tx.Query("SELECT id, kind, created_at FROM api_keys WHERE name = 'default' AND revoked_at IS NULL", nil, func(r *db.Row) (err error) {
			id, kind := r.Text(0), r.Text(1)
			opaque := token.Opaque(prefixOf(kind), id, s.secrets.API)
			if kind == kindSecret {
				out.SecretKey = opaque
				out.ServiceRoleKey, err = token.KeyJWT(token.RoleService, id, r.Time(2), s.sharedSecret())
				return err
			}
			out.PublishableKey = opaque
			out.AnonKey, err = token.KeyJWT(token.RoleAnon, id, r.Time(2), s.sharedSecret())
			return err
		})
	})
	if s.cfg.SecretKey != "" {
		out.SecretKey = s.cfg.SecretKey
	}
	if s.cfg.PublishableKey != "" {
		out.PublishableKey = s.cfg.PublishableKey
	}
	if err == nil && (out.SecretKey == "" || out.PublishableKey == "") {
		err = fault.New(fault.NotFound, "", "no API keys")
	}
	if err != nil {
		return Keys{}, fmt.Errorf("identity: API keys: %w", err)
	}
	return out, nil
}

// opaque reports a key that is no JWT.
func opaque(key string) bool {
	return strings.HasPrefix(key, token.SecretPrefix) || strings.HasPrefix(key, token.TenantPrefix) || strings.HasPrefix(key, token.PublishablePrefix)
}
