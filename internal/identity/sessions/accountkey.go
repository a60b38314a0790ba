package sessions

import (
	"cmp"
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/token"
	"holdfast/internal/secrets"
)

const revokeKeysSQL = `
	UPDATE service_keys
	SET revoked_at = $3
	WHERE tenant_id = $1 AND account_id = $2 AND (revoked_at IS NULL OR revoked_at > $3)`

// revokeKeys has the keys of an account refused from a moment on.
func revokeKeys(tx *db.Tx, tenant, account string, from time.Time) {
	tx.Queue(revokeKeysSQL, []any{tenant, account, from}, nil)
}

// maxOverlap is how long the keys before may stay beside a new one.
const maxOverlap = 30 * 24 * time.Hour

const renewSQL = `
	SELECT COUNT(*)
	FROM service_keys
	WHERE tenant_id = $1
		AND account_id = $2
		AND revoked_at > $3
		AND (expires_at IS NULL OR expires_at > $3)`

const insertServiceKeysSQL = `
	INSERT INTO service_keys (tenant_id, id, account_id, hash, created_at, created_by, expires_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7)`

// Renew makes a key of an account; those before it are refused from overlap
// on, 0 = at once. Its secret is answered this once.
func (s *ServiceAccounts) Renew(
	ctx context.Context, a actor.Actor, id string, overlap time.Duration, expires *string,
) (ServiceKey, error) {
	if err := s.requireAdministrator(a, true); err != nil {
		return ServiceKey{}, err
	}
	if overlap < 0 || overlap > maxOverlap {
		return ServiceKey{}, fault.New(fault.Invalid, "validation_failed", "overlap_seconds: 0 to %d",
			int(maxOverlap.Seconds())).
			At("overlap_seconds", "out of range")
	}
	until, err := s.parseEnd(expires)
	if err != nil {
		return ServiceKey{}, err
	}
	now := s.Now()
	k := ServiceKey{ID: db.NewID(), State: "active", CreatedAt: accounts.Time{Time: now}, CreatedBy: a.UserID,
		Secret: token.TenantPrefix + secrets.RandomHex(32)}
	if !until.IsZero() {
		k.ExpiresAt = &accounts.Time{Time: until}
	}
	return k, s.Write(ctx, func(tx *db.Tx) error {
		if err := s.lockAccount(tx, a, id); err != nil {
			return err
		}
		revokeKeys(tx, a.TenantID, id, now.Add(overlap))
		live := int64(0)
		err := tx.One(renewSQL, []any{a.TenantID, id, now}, func(r *db.Row) error { live = r.Int(0); return nil })
		if err == nil && live >= maxAccountKeys {
			err = fault.New(fault.Unprocessable, "validation_failed", "An account has at most %d valid keys: revoke one first",
				maxAccountKeys)
		}
		if err != nil {
			return err
		}
		tx.Queue(insertServiceKeysSQL,
			[]any{a.TenantID, k.ID, id, secrets.Digest(k.Secret), now, a.UserID, nullableTime(until)}, nil)
		s.auditChange(tx, a, accounts.Event{Action: "service_key.made", Entity: "service_account", EntityID: id,
			Details: map[string]any{"key_id": k.ID, "overlap_seconds": int(overlap.Seconds()),
				"expires_at": cmp.Or(textOrEmpty(expires), "never")}})
		return tx.Flush()
	})
}

func textOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

const revokeSQL = `
	UPDATE service_keys
	SET revoked_at = $4
	WHERE tenant_id = $1
		AND account_id = $2
		AND id = $3
		AND (revoked_at IS NULL OR revoked_at > $4)`

// Revoke ends a key now.
func (s *ServiceAccounts) Revoke(ctx context.Context, a actor.Actor, id, keyID string) error {
	if err := s.requireAdministrator(a, true); err != nil {
		return err
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		if err := s.lockAccount(tx, a, id); err != nil {
			return err
		}
		n, err := tx.Exec(revokeSQL, a.TenantID, id, keyID, s.Now())
		if err == nil && n == 0 {
			err = fault.New(fault.NotFound, "not_found", "The account has no such key that is valid")
		}
		if err == nil {
			s.auditChange(tx, a, accounts.Event{Action: "service_key.revoked", Entity: "service_account", EntityID: id,
				Details: map[string]any{"key_id": keyID}})
		}
		return err
	})
}
