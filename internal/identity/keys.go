package identity

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/seal"
	"holdfast/internal/identity/token"
)

// keyring is a loaded set of signing keys.
type keyring struct {
	*token.Keys
	at time.Time // when it was read from the database
}

// prepareKeys makes what a first start needs and loads it.
func (s *Service) prepareKeys(ctx context.Context) error {
	if len(s.cfg.SigningKeys) > 0 {
		keys, err := token.ParseSet(s.cfg.SigningKeys)
		if err != nil {
			return fmt.Errorf("identity: signing keys: %w", err)
		}
		ks, err := token.New(keys, s.sharedSecret())
		if err != nil {
			return fmt.Errorf("identity: signing keys: %w", err)
		}
		if ks.KeyID() == "" {
			return fmt.Errorf("identity: the imported signing keys hold no private ES256 or RS256 key")
		}
		s.keys.Store(&keyring{ks, s.now()})
	}
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		if len(s.cfg.SigningKeys) == 0 {
			if err := s.ensureSigningKey(tx); err != nil {
				return err
			}
		}
		return s.ensureAPIKeys(tx)
	})
	if err != nil {
		return fmt.Errorf("identity: prepare keys: %w", err)
	}
	if err := s.loadKeys(ctx); err != nil {
		return err
	}
	return s.loadAPIKeys(ctx)
}

// sharedSecret signs and verifies API keys in JWT form, and nothing else.
func (s *Service) sharedSecret() string {
	if s.cfg.JWTSecret != "" {
		return s.cfg.JWTSecret
	}
	return s.secrets.Shared
}

// ensureSigningKey makes the first key. Two servers that start at once make
// one: the unique index on the active state decides.
func (s *Service) ensureSigningKey(tx *db.Tx) error {
	n := int64(0)
	if err := tx.One("SELECT COUNT(*) FROM signing_keys WHERE state = 'active'", nil, func(r *db.Row) error { n = r.Int(0); return nil }); err != nil || n > 0 {
		return err
	}
	return s.insertSigningKey(tx)
}

func (s *Service) insertSigningKey(tx *db.Tx) error {
	id := newID()
	k, err := token.Generate(id)
	if err != nil {
		return err
	}
	plain, err := k.MarshalJSON()
	if err != nil {
		return fmt.Errorf("identity: encode signing key: %w", err)
	}
	_, err = tx.Exec("INSERT INTO signing_keys (id, kid, state, sealed, created_at) VALUES ($1, $2, 'active', $3, $4) ON CONFLICT DO NOTHING", id, id, s.secrets.Close(plain, id), s.now())
	return err
}

// loadKeys reads the signing keys; the active one first, because the first
// signs.
func (s *Service) loadKeys(ctx context.Context) error {
	if len(s.cfg.SigningKeys) > 0 {
		return nil
	}
	var keys []jose.JSONWebKey
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		keys = nil
		return tx.Query("SELECT id, sealed FROM signing_keys ORDER BY CASE state WHEN 'active' THEN 0 ELSE 1 END, created_at DESC NULLS LAST", nil, func(r *db.Row) error {
			plain, err := s.secrets.Open(r.Bytes(1), r.Text(0))
			if err != nil {
				return err
			}
			var k jose.JSONWebKey
			if err := k.UnmarshalJSON(plain); err != nil {
				return fmt.Errorf("identity: signing key %s: %w", r.Text(0), err)
			}
			keys = append(keys, k)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("identity: load signing keys: %w", err)
	}
	ks, err := token.New(keys, s.sharedSecret())
	if err != nil {
		return fmt.Errorf("identity: load signing keys: %w", err)
	}
	s.keys.Store(&keyring{ks, s.now()})
	return nil
}

// RotateKeys makes a new signing key. The old one verifies until every token
// it signed has expired; Sweep then removes it.
func (s *Service) RotateKeys(ctx context.Context) error {
	if len(s.cfg.SigningKeys) > 0 {
		return fault.New(fault.Conflict, "conflict", "The signing keys are configured; rotate them in their file")
	}
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		if _, err := tx.Exec("UPDATE signing_keys SET state = 'retired', retired_at = $1 WHERE state = 'active'", s.now()); err != nil {
			return err
		}
		s.record(tx, event{action: "keys.rotated"})
		return s.insertSigningKey(tx)
	})
	if err != nil {
		return fmt.Errorf("identity: rotate keys: %w", err)
	}
	return s.keysChanged(ctx)
}

// RenewAPIKey revokes the default key of a kind, publishable or secret, and
// makes another one in its place; the old one is refused at once, in both of
// its forms. An unknown kind is fault.Invalid.
func (s *Service) RenewAPIKey(ctx context.Context, kind string) error {
	if kind != kindPublishable && kind != kindSecret {
		return fault.New(fault.Invalid, "validation_failed", "%q is no kind of key: publishable and secret are", kind)
	}
	err := s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		if _, err := tx.Exec("UPDATE api_keys SET revoked_at = $2 WHERE kind = $1 AND name = 'default' AND revoked_at IS NULL", kind, s.now()); err != nil {
			return err
		}
		s.record(tx, event{action: "api_key.renewed", details: map[string]any{"kind": kind}})
		return s.ensureAPIKeys(tx)
	})
	if err != nil {
		return fmt.Errorf("identity: renew API key: %w", err)
	}
	return s.keysChanged(ctx)
}

// keysChanged reads the keys here and lets the other nodes know.
func (s *Service) keysChanged(ctx context.Context) error {
	if s.tokens.told != nil {
		s.tokens.told("", "")
	}
	return s.ReadKeys(ctx)
}

// ReadKeys reads signing keys and API keys again. When the signing keys are
// others, what was verified with the old ones is forgotten.
func (s *Service) ReadKeys(ctx context.Context) error {
	before := s.JWKS()
	if err := s.loadKeys(ctx); err != nil {
		return err
	}
	if !bytes.Equal(before, s.JWKS()) {
		s.tokens.clear()
	}
	return s.loadAPIKeys(ctx)
}

// JWKS returns the public keys, a JSON text that must not be changed.
func (s *Service) JWKS() []byte { return s.keys.Load().JWKS() }

// Kinds of API keys.
const (
	kindPublishable = "publishable"
	kindSecret      = "secret"
)

// apiKeys are the valid opaque keys by hash, and the ids of valid keys.
type apiKeys struct {
	byHash map[string]apiKey
	ids    map[string]bool
	at     time.Time
}

type apiKey struct{ id, kind string }

func prefixOf(kind string) string {
	if kind == kindSecret {
		return token.SecretPrefix
	}
	return token.PublishablePrefix
}

func (s *Service) ensureAPIKeys(tx *db.Tx) error {
	for _, kind := range []string{kindPublishable, kindSecret} {
		id := newID()
		tx.Queue(`INSERT INTO api_keys (id, kind, name, hash, created_at) VALUES ($1, $2, 'default', $3, $4) ON CONFLICT DO NOTHING`,
			[]any{id, kind, seal.Digest(token.Opaque(prefixOf(kind), id, s.secrets.API)), s.now()}, nil)
	}
	return tx.Flush()
}

func (s *Service) loadAPIKeys(ctx context.Context) error {
	k := &apiKeys{byHash: map[string]apiKey{}, ids: map[string]bool{}, at: s.now()}
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		return tx.Query("SELECT id, kind, hash FROM api_keys WHERE revoked_at IS NULL", nil, func(r *db.Row) error {
			k.byHash[r.Text(2)] = apiKey{r.Text(0), r.Text(1)}
			k.ids[r.Text(0)] = true
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
func (s *Service) currentAPIKeys(ctx context.Context) (*apiKeys, error) {
	k := s.apiKeys.Load()
	if age := s.now().Sub(k.at); age >= 0 && age < standingTTL {
		return k, nil
	}
	if err := s.loadAPIKeys(ctx); err != nil {
		return nil, err
	}
	return s.apiKeys.Load(), nil
}

// Keys are the API keys in both forms, as `holdfast status` prints them.
type Keys struct {
	AnonKey        string // JWT, role anon
	ServiceRoleKey string // JWT, role service_role
	PublishableKey string // sb_publishable_...
	SecretKey      string // sb_secret_...
}

// Keys derives the default API keys again; the database holds their hashes.
func (s *Service) Keys(ctx context.Context) (Keys, error) {
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
	if err == nil && (out.SecretKey == "" || out.PublishableKey == "") {
		err = fault.New(fault.NotFound, "", "no API keys")
	}
	if err != nil {
		return Keys{}, fmt.Errorf("identity: API keys: %w", err)
	}
	return out, nil
}

// opaque reports a key of the sb_ kind.
func opaque(key string) bool {
	return strings.HasPrefix(key, token.SecretPrefix) || strings.HasPrefix(key, token.PublishablePrefix)
}
