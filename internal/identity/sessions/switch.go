package sessions

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/tenants"
)

// SwitchTo moves a session to a tenant its user is an active member of.
func (s *Store) SwitchTo(tx *db.Tx, a actor.Actor, tenantID string) (accounts.Member, error) {
	m, err := accounts.MemberOf(tx, a.UserID, tenantID)
	if fault.Is(err, fault.NotFound) || err == nil && m.Status != "active" {
		return accounts.Member{}, tenants.ErrNoTenant()
	}
	if err != nil {
		return accounts.Member{}, err
	}
	if _, err := s.readTenantRules(tx, Row{ID: a.SessionID, user: a.UserID}, m); err != nil {
		return accounts.Member{}, err
	}
	now := s.Now()
	tx.Queue("UPDATE sessions SET tenant_id = $2, updated_at = $3 WHERE id = $1", []any{a.SessionID, tenantID, now}, nil)
	accounts.WorksIn(tx, a.UserID, tenantID)
	s.noteSeen(tx, tenantID, a.UserID, false)
	s.Audit(tx, accounts.Event{Tenant: tenantID, User: a.UserID, Action: "tenant.switched", Entity: "session",
		EntityID: a.SessionID, Client: accounts.ClientOf(a)})
	tx.After(func() { s.Forget(a.UserID) })
	return m, tx.Flush()
}

// Denied notes a refused switch: in the tenant the session works in, because
// the one asked for may be nobody's business.
func (s *Store) Denied(ctx context.Context, a actor.Actor, asked string) error {
	return s.AuditAlone(ctx, accounts.Event{Tenant: a.TenantID, User: a.UserID, Action: "tenant.switch_denied",
		Outcome: "refused", Entity: "session", EntityID: a.SessionID,
		Details: map[string]any{"asked": asked}, Client: accounts.ClientOf(a)})
}

// SwitchTenant moves the caller's session and returns tokens that say so. The
// refresh counter stays: the tokens the caller holds are not spoilt.
func (s *Store) SwitchTenant(ctx context.Context, a actor.Actor, tenantID string) (*Session, error) {
	id, ok := accounts.CanonicalID(tenantID)
	if !ok {
		return nil, fault.New(fault.Invalid, "validation_failed", "tenant_id must be a UUID")
	}
	var g *Grant
	err := s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.LockedUser(tx, a.UserID)
		if err != nil {
			return err
		}
		m, err := s.SwitchTo(tx, a, id)
		if err != nil {
			return err
		}
		sess, err := SessionBy(tx, a.SessionID)
		if err != nil {
			return accounts.SessionGone(err)
		}
		g = &Grant{user: u, sess: sess, member: m}
		g.rules, err = accounts.RulesOf(tx, m.TenantID)
		return err
	})
	if fault.HasCode(err, "tenant_forbidden") {
		if err := s.Denied(ctx, a, id); err != nil {
			return nil, err
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return s.Issue(g)
}
