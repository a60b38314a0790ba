package keyring

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// Kinds of API keys.
const (
	kindPublishable = "publishable"
	KindSecret      = "secret"
)

// Ids of keys that have no row: the secret one of the configuration, and those in
// JWT form that the operator made himself, by their role.
const (
	configuredKey = "configured"
	JWTKey        = "jwt:"
)

// apiKeys are the valid opaque keys by hash, and the ids of valid keys.
type apiKeys struct {
	ByHash map[string]apiKey
	ByID   map[string]apiKey
	at     time.Time
}

type apiKey struct {
	ID, Kind string
	until    time.Time // zero = no end
}

// Live reports a key that has not ended.
func (k apiKey) Live(now time.Time) bool {
	return k.ID != "" && (k.until.IsZero() || now.Before(k.until))
}

func prefixOf(kind string) string {
	if kind == KindSecret {
		return token.SecretPrefix
	}
	return token.PublishablePrefix
}

func (s *Keyring) ensureAPIKeys(tx *db.Tx) error {
	for _, kind := range []string{kindPublishable, KindSecret} {
		id := db.NewID()
		tx.Queue(`
			INSERT INTO api_keys (id, kind, name, hash, created_at)
			VALUES ($1, $2, 'default', $3, $4)
			ON CONFLICT DO NOTHING`,
			[]any{id, kind, secrets.Digest(token.Opaque(prefixOf(kind), id, s.Secrets.API)), s.Now()}, nil)
	}
	return tx.Flush()
}

func (s *Keyring) loadAPIKeys(ctx context.Context) error {
	k := &apiKeys{ByHash: map[string]apiKey{}, ByID: map[string]apiKey{}, at: s.Now()}
	for _, fixed := range []struct{ id, kind, key string }{{configuredKey + ":publishable", kindPublishable,
		s.Config.PublishableKey}, {configuredKey, KindSecret, s.Config.SecretKey}} {
		if fixed.key != "" {
			k.ByHash[secrets.Digest(fixed.key)] = apiKey{ID: fixed.id, Kind: fixed.kind}
		}
	}
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT id, kind, hash, revoked_at
			FROM api_keys
			WHERE (revoked_at IS NULL OR revoked_at > $1)`,
			[]any{k.at}, func(r *db.Row) error {
				key := apiKey{r.Text(0), r.Text(1), r.Time(3)}
				k.ByHash[r.Text(2)], k.ByID[key.ID] = key, key
				return nil
			})
	})
	if err != nil {
		return fmt.Errorf("identity: load API keys: %w", err)
	}
	s.apiKeys.Store(k)
	return nil
}

// CurrentAPIKeys returns keys at most 5 s old, so that a revocation on another
// node holds here as fast as one of a session.
func (s *Keyring) CurrentAPIKeys(ctx context.Context) (*apiKeys, error) {
	k := s.apiKeys.Load()
	if age := s.Now().Sub(k.at); age >= 0 && age < accounts.StandingTTL {
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
	if kind != kindPublishable && kind != KindSecret {
		return fault.New(fault.Invalid, "validation_failed", "%q is no kind of key: publishable and secret are", kind)
	}
	if overlap < 0 {
		return fault.New(fault.Invalid, "validation_failed", "the old key cannot end before now")
	}
	err := s.Write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(`
			UPDATE api_keys
			SET revoked_at = $2
			WHERE kind = $1
				AND name = 'default'
				AND revoked_at IS NULL`, kind,
			s.Now().Add(overlap)); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Action: "api_key.renewed",
			Details: map[string]any{"kind": kind, "overlap_seconds": int(overlap.Seconds())}})
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
	canonical, ok := accounts.CanonicalID(id)
	if !ok {
		return fault.New(fault.Invalid, "validation_failed", "%q is no key's id", accounts.CutText(id, 40))
	}
	err := s.Write(ctx, func(tx *db.Tx) error {
		var until time.Time
		err := tx.One("SELECT revoked_at FROM api_keys WHERE id = $1", []any{canonical}, func(r *db.Row) error {
			until = r.Time(0)
			return nil
		})
		if err == nil && until.IsZero() {
			err = fault.New(fault.Conflict, "conflict", "this is the default key of its kind: renew it instead")
		}
		if err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Action: "api_key.revoked", Entity: "api_key", EntityID: canonical})
		_, err = tx.Exec(`
			UPDATE api_keys
			SET revoked_at = $2
			WHERE id = $1
				AND revoked_at > $2`, canonical, s.Now())
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
	now := s.Now()
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		list = nil
		err := tx.Query(`
			SELECT kid, state, created_at, retired_at
			FROM signing_keys
			ORDER BY created_at DESC NULLS LAST, id`,
			nil, func(r *db.Row) error {
				k := KeyInfo{ID: r.Text(0), Kind: "signing", State: r.Text(1), Made: r.Time(2)}
				if at := r.Time(3); !at.IsZero() {
					k.Until = at.Add(s.Config.AccessTokenTTL)
				}
				list = append(list, k)
				return nil
			})
		if err != nil {
			return err
		}
		return tx.Query(`
			SELECT id, kind, created_at, revoked_at
			FROM api_keys
			ORDER BY kind NULLS LAST, created_at DESC NULLS LAST, id`, nil, func(r *db.Row) error {
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
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT id, kind, created_at
			FROM api_keys
			WHERE name = 'default'
				AND revoked_at IS NULL`, nil,
			func(r *db.Row) (err error) {
				id, kind := r.Text(0), r.Text(1)
				opaque := token.Opaque(prefixOf(kind), id, s.Secrets.API)
				if kind == KindSecret {
					out.SecretKey = opaque
					out.ServiceRoleKey, err = token.KeyJWT(token.RoleService, id, r.Time(2), s.sharedSecret())
					return err
				}
				out.PublishableKey = opaque
				out.AnonKey, err = token.KeyJWT(token.RoleAnon, id, r.Time(2), s.sharedSecret())
				return err
			})
	})
	if s.Config.SecretKey != "" {
		out.SecretKey = s.Config.SecretKey
	}
	if s.Config.PublishableKey != "" {
		out.PublishableKey = s.Config.PublishableKey
	}
	if err == nil && (out.SecretKey == "" || out.PublishableKey == "") {
		err = fault.New(fault.NotFound, "", "no API keys")
	}
	if err != nil {
		return Keys{}, fmt.Errorf("identity: API keys: %w", err)
	}
	return out, nil
}
