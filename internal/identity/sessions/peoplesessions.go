package sessions

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/tenants"
)

// UserSessions lists the sessions of an account for the service key.
func (s *Store) UserSessions(ctx context.Context, a actor.Actor, userID string) ([]OpenSession, error) {
	if err := accounts.RequireService(a); err != nil {
		return nil, err
	}
	return s.sessionsOf(ctx, a, userID)
}

// EndUserSessions ends one session of an account for the service key, or all
// where id is "".
func (s *Store) EndUserSessions(ctx context.Context, a actor.Actor, userID, id string) error {
	if err := accounts.RequireService(a); err != nil {
		return err
	}
	return s.endSessionsOf(ctx, a, userID, id)
}

// MemberSessions lists the sessions that a member of the caller's tenant has
// there, for its administrators: where else somebody works is not theirs to see.
func (s *Store) MemberSessions(ctx context.Context, a actor.Actor, userID string) ([]OpenSession, error) {
	if err := requireAdministrator(a); err != nil {
		return nil, err
	}
	return s.sessionsOf(ctx, a, userID)
}

// EndMemberSessions ends one of the sessions that MemberSessions lists, or all
// where id is "". Nobody ends those of a member with a role above his own.
func (s *Store) EndMemberSessions(ctx context.Context, a actor.Actor, userID, id string) error {
	if err := requireAdministrator(a); err != nil {
		return err
	}
	if a.Suspended {
		return fault.New(fault.Forbidden, "not_admin", "The tenant is suspended")
	}
	return s.endSessionsOf(ctx, a, userID, id)
}

func requireAdministrator(a actor.Actor) error {
	if !a.Administrator() || a.TenantID == "" {
		return fault.New(fault.Forbidden, "not_admin",
			"Only an administrator of the tenant may see and end its members' sessions")
	}
	return nil
}

// reach is the account whose sessions the caller asks for. Its membership in the
// caller's tenant bounds them; the service key's reach has none. A stranger to
// the tenant is missing.
type reach struct {
	user string
	accounts.Member
}

func reachOf(tx *db.Tx, a actor.Actor, userID string) (r reach, err error) {
	ok := false
	if r.user, ok = accounts.CanonicalID(userID); !ok {
		return r, fault.New(fault.NotFound, "validation_failed", "user_id must be an UUID")
	}
	if a.Role == actor.Service {
		_, err = accounts.UserByID(tx, r.user)
		return r, err
	}
	if r.Member, err = accounts.MemberOf(tx, r.user, a.TenantID); fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, "user_not_found", "User not found")
	}
	return r, err
}

func (s *Store) sessionsOf(ctx context.Context, a actor.Actor, userID string) (list []OpenSession, err error) {
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		r, err := reachOf(tx, a, userID)
		if err != nil {
			return err
		}
		list, err = s.openSessions(tx, a, r.user, r.TenantID)
		return err
	})
	return list, err
}

func (s *Store) endSessionsOf(ctx context.Context, a actor.Actor, userID, id string) error {
	return s.Write(ctx, func(tx *db.Tx) error {
		r, err := reachOf(tx, a, userID)
		if err != nil {
			return err
		}
		if r.TenantID != "" && tenants.Rank(a.Role) > tenants.Rank(r.Role) {
			return tenants.ErrAbove()
		}
		one, ok := accounts.CanonicalID(id)
		if id != "" && !ok {
			return accounts.ErrNoSession()
		}
		n, err := tx.Exec(`
			DELETE FROM sessions
			WHERE user_id = $1
				AND (tenant_id = $2 OR $3 = 1)
				AND (id = $4 OR $5 = 1)`,
			r.user, db.Null(r.TenantID), boolToInt(r.TenantID == ""), db.Null(one), boolToInt(id == ""))
		if err != nil {
			return err
		}
		if id != "" && n == 0 {
			return accounts.ErrNoSession()
		}
		tx.After(func() { s.Forget(r.user) })
		e := accounts.Event{Tenant: r.TenantID, User: a.UserID, Key: a.KeyID, Action: "session.revoked", Entity: "user",
			EntityID: r.user, Details: map[string]any{"ended": n}, Client: accounts.ClientOf(a)}
		if id != "" {
			e.Details["session_id"] = one
		}
		s.Audit(tx, e)
		return nil
	})
}

const noteSeenSQL = `
	UPDATE members
	SET last_seen_at = $3, last_sign_in_at = CASE WHEN $4 = 1 THEN $3 ELSE last_sign_in_at END
	WHERE tenant_id = $1 AND user_id = $2`

// noteSeen notes on a membership that its member is here, and with entered that he
// has just signed in. The row's version stays: nobody has changed it.
func (s *Store) noteSeen(tx *db.Tx, tenant, userID string, entered bool) {
	if tenant == "" {
		return
	}
	tx.Queue(noteSeenSQL, []any{tenant, userID, s.Now(), boolToInt(entered)}, nil)
}

// boolToInt is a condition as a bind.
func boolToInt(on bool) int {
	if on {
		return 1
	}
	return 0
}
