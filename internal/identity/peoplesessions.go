package identity

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// UserSessions lists the sessions of an account for the service key.
func (s *Sessions) UserSessions(ctx context.Context, a actor.Actor, userID string) ([]OpenSession, error) {
	if err := requireService(a); err != nil {
		return nil, err
	}
	return s.sessionsOf(ctx, a, userID)
}

// EndUserSessions ends one session of an account for the service key, or all
// where id is "".
func (s *Sessions) EndUserSessions(ctx context.Context, a actor.Actor, userID, id string) error {
	if err := requireService(a); err != nil {
		return err
	}
	return s.endSessionsOf(ctx, a, userID, id)
}

// MemberSessions lists the sessions that a member of the caller's tenant has
// there, for its administrators: where else somebody works is not theirs to see.
func (s *Sessions) MemberSessions(ctx context.Context, a actor.Actor, userID string) ([]OpenSession, error) {
	if err := requireAdministrator(a); err != nil {
		return nil, err
	}
	return s.sessionsOf(ctx, a, userID)
}

// EndMemberSessions ends one of the sessions that MemberSessions lists, or all
// where id is "". Nobody ends those of a member with a role above his own.
func (s *Sessions) EndMemberSessions(ctx context.Context, a actor.Actor, userID, id string) error {
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
		return fault.New(fault.Forbidden, "not_admin", "Only an administrator of the tenant may see and end its members' sessions")
	}
	return nil
}

// reach is the account whose sessions the caller asks for. Its membership in the
// caller's tenant bounds them; the service key's reach has none. A stranger to
// the tenant is missing.
type reach struct {
	user string
	Member
}

func reachOf(tx *db.Tx, a actor.Actor, userID string) (r reach, err error) {
	ok := false
	if r.user, ok = canonicalID(userID); !ok {
		return r, fault.New(fault.NotFound, "validation_failed", "user_id must be an UUID")
	}
	if a.Role == actor.Service {
		_, err = userByID(tx, r.user)
		return r, err
	}
	if r.Member, err = memberOf(tx, r.user, a.TenantID); fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, "user_not_found", "User not found")
	}
	return r, err
}

func (s *Sessions) sessionsOf(ctx context.Context, a actor.Actor, userID string) (list []OpenSession, err error) {
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		r, err := reachOf(tx, a, userID)
		if err != nil {
			return err
		}
		list, err = s.openSessions(tx, a, r.user, r.TenantID)
		return err
	})
	return list, err
}

func (s *Sessions) endSessionsOf(ctx context.Context, a actor.Actor, userID, id string) error {
	return s.write(ctx, func(tx *db.Tx) error {
		r, err := reachOf(tx, a, userID)
		if err != nil {
			return err
		}
		if r.TenantID != "" && rank(a.Role) > rank(r.Role) {
			return errAbove()
		}
		one, ok := canonicalID(id)
		if id != "" && !ok {
			return errNoSession()
		}
		n, err := tx.Exec("DELETE FROM sessions WHERE user_id = $1 AND (tenant_id = $2 OR $3 = 1) AND (id = $4 OR $5 = 1)",
			r.user, null(r.TenantID), flag(r.TenantID == ""), null(one), flag(id == ""))
		if err != nil {
			return err
		}
		if id != "" && n == 0 {
			return errNoSession()
		}
		tx.After(func() { s.Forget(r.user) })
		e := event{tenant: r.TenantID, user: a.UserID, key: a.KeyID, action: "session.revoked", entity: "user", entityID: r.user,
			details: map[string]any{"ended": n}, client: clientOf(a)}
		if id != "" {
			e.details["session_id"] = one
		}
		s.record(tx, e)
		return nil
	})
}

func errNoSession() error {
	return fault.New(fault.NotFound, "not_found", "There is no such session")
}

// seen notes on a membership that its member is here, and with entered that he
// has just signed in. The row's version stays: nobody has changed it.
func (s *Sessions) seen(tx *db.Tx, tenant, userID string, entered bool) {
	if tenant == "" {
		return
	}
	tx.Queue("UPDATE members SET last_seen_at = $3, last_sign_in_at = CASE WHEN $4 = 1 THEN $3 ELSE last_sign_in_at END WHERE tenant_id = $1 AND user_id = $2",
		[]any{tenant, userID, s.now(), flag(entered)}, nil)
}

// flag is a condition as a bind.
func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}
