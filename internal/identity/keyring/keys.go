package keyring

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

// Keyring holds the keys that sign access tokens and the API keys, and counts the
// uses of these.
type Keyring struct {
	*accounts.Base
	Signing atomic.Pointer[SigningKeys]
	apiKeys atomic.Pointer[apiKeys]
	KeyUses keyUses
}

// SigningKeys is a loaded set of signing keys.
type SigningKeys struct {
	*token.Keys
	At time.Time // when it was read from the database
}

// PrepareKeys makes what a first start needs and loads it.
func (s *Keyring) PrepareKeys(ctx context.Context) error {
	if len(s.Config.SigningKeys) > 0 {
		if err := s.ReplaceSigningKeys(s.Config.SigningKeys); err != nil {
			return err
		}
	}
	err := s.Write(ctx, func(tx *db.Tx) error {
		if err := s.begun(tx); err != nil {
			return err
		}
		if len(s.Config.SigningKeys) == 0 {
			if err := s.ensureSigningKey(tx); err != nil {
				return err
			}
		}
		return s.ensureAPIKeys(tx)
	})
	if err != nil {
		return fmt.Errorf("identity: prepare keys: %w", err)
	}
	if err := s.LoadKeys(ctx); err != nil {
		return err
	}
	return s.loadAPIKeys(ctx)
}

// begun notes in the log of the platform that the installation begins: with
// this row its chain starts, see package chain.
func (s *Keyring) begun(tx *db.Tx) error {
	n := int64(0)
	err := tx.One("SELECT COUNT(*) FROM api_keys", nil, func(r *db.Row) error { n = r.Int(0); return nil })
	if err == nil && n == 0 {
		s.Audit(tx, accounts.Event{Action: audit.PlatformCreated, Details: map[string]any{"version": s.Config.Version}})
	}
	return err
}

// ReplaceSigningKeys takes a configured key set in place of the one before: the
// first key signs, the others verify. It fails, changing nothing, for a set
// that cannot sign and where the keys are kept in the database.
func (s *Keyring) ReplaceSigningKeys(set []byte) error {
	if len(s.Config.SigningKeys) == 0 {
		return fault.New(fault.Conflict, "conflict",
			"The signing keys are kept in the database; a configured set is taken at start only")
	}
	keys, err := token.ParseSet(set)
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
	s.Signing.Store(&SigningKeys{ks, s.Now()})
	s.Tokens.Clear()
	return nil
}

// sharedSecret signs and verifies API keys in JWT form, and nothing else.
func (s *Keyring) sharedSecret() string {
	if s.Config.JWTSecret != "" {
		return s.Config.JWTSecret
	}
	return s.Secrets.Shared
}

// ensureSigningKey makes the first key. Two servers that start at once make
// one: the unique index on the active state decides.
func (s *Keyring) ensureSigningKey(tx *db.Tx) error {
	n := int64(0)
	if err := tx.One("SELECT COUNT(*) FROM signing_keys WHERE state = 'active'", nil, func(r *db.Row) error {
		n = r.Int(0)
		return nil
	}); err != nil || n > 0 {
		return err
	}
	return s.insertSigningKey(tx)
}

func (s *Keyring) insertSigningKey(tx *db.Tx) error {
	id := db.NewID()
	k, err := token.Generate(id)
	if err != nil {
		return err
	}
	plain, err := k.MarshalJSON()
	if err != nil {
		return fmt.Errorf("identity: encode signing key: %w", err)
	}
	_, err = tx.Exec(`
		INSERT INTO signing_keys (id, kid, state, sealed, created_at)
		VALUES ($1, $2, 'active', $3, $4)
		ON CONFLICT DO NOTHING`, id, id,
		s.Secrets.Close(secrets.SigningKey, plain, id), s.Now())
	return err
}

// LoadKeys reads the signing keys; the active one first, because the first
// signs.
func (s *Keyring) LoadKeys(ctx context.Context) error {
	if len(s.Config.SigningKeys) > 0 {
		return nil
	}
	var keys []jose.JSONWebKey
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		keys = nil
		return tx.Query(`
			SELECT id, sealed
			FROM signing_keys
			ORDER BY CASE state WHEN 'active' THEN 0 ELSE 1 END, created_at DESC NULLS LAST`, nil,
			func(r *db.Row) error {
				plain, err := s.Secrets.Open(secrets.SigningKey, r.Bytes(1), r.Text(0))
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
	s.Signing.Store(&SigningKeys{ks, s.Now()})
	return nil
}

// RotateKeys makes a new signing key. The old one verifies until every token
// it signed has expired; Sweep then removes it.
func (s *Keyring) RotateKeys(ctx context.Context) error {
	if len(s.Config.SigningKeys) > 0 {
		return fault.New(fault.Conflict, "conflict", "The signing keys are configured; rotate them in their file")
	}
	err := s.Write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(`
			UPDATE signing_keys
			SET state = 'retired', retired_at = $1
			WHERE state = 'active'`,
			s.Now()); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Action: "keys.rotated"})
		return s.insertSigningKey(tx)
	})
	if err != nil {
		return fmt.Errorf("identity: rotate keys: %w", err)
	}
	return s.keysChanged(ctx)
}

// keysChanged reads the keys here and lets the other nodes know.
func (s *Keyring) keysChanged(ctx context.Context) error {
	if s.Tokens.Told != nil {
		s.Tokens.Told("", "")
	}
	return s.ReadKeys(ctx)
}

// ReadKeys reads signing keys and API keys again. When the signing keys are
// others, what was verified with the old ones is forgotten.
func (s *Keyring) ReadKeys(ctx context.Context) error {
	before := s.JWKS()
	if err := s.LoadKeys(ctx); err != nil {
		return err
	}
	if !bytes.Equal(before, s.JWKS()) {
		s.Tokens.Clear()
	}
	return s.loadAPIKeys(ctx)
}

// JWKS returns the public keys, a JSON text that must not be changed.
func (s *Keyring) JWKS() []byte { return s.Signing.Load().JWKS() }
