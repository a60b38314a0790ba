package sso

import (
	"encoding/json"

	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// endAll ends the sessions that the connection began, and the codes and
// requests that would begin one.
func (s *Service) endAll(tx *db.Tx, c *Connection) error {
	for _, table := range []string{"sessions", "flow_states"} {
		tx.Queue(db.FillWords(`
			DELETE FROM {table}
			WHERE user_id IN (SELECT user_id FROM sso_accounts WHERE connection_id = $1)`, "{table}", table),
			[]any{c.ID}, nil)
	}
	tx.Queue(`
		DELETE FROM sso_requests
		WHERE connection_id = $1
			AND tester_id IS NULL`, []any{c.ID}, nil)
	tx.After(s.ident.ForgetAll)
	return tx.Flush()
}

// endOthers ends the sessions that accounts of those domains that are proved
// began elsewhere, save the break-glass owner's.
func (s *Service) endOthers(tx *db.Tx, c *Connection, domains ...Domain) error {
	for _, d := range domains {
		if d.VerifiedAt.IsZero() {
			continue
		}
		tx.Queue(`
			DELETE FROM sessions
			WHERE user_id IN (SELECT id FROM users WHERE is_sso = $1 AND id <> $2 AND email LIKE $3)`,
			[]any{false, c.BreakGlass, "%@" + d.Domain}, nil)
	}
	tx.After(s.ident.ForgetAll)
	return tx.Flush()
}

// checkEnforced holds a connection, as it is stored by now, to what enforcement asks
// for, where it begins or the draft touches that: one that broke while enforced
// can be repaired otherwise.
func (s *Service) checkEnforced(tx *db.Tx, id string, begins bool, d Draft) error {
	if !begins && d.Domains == nil && d.BreakGlass == nil {
		return nil
	}
	c, err := s.byID(tx, id)
	if err != nil {
		return err
	}
	if err := checkEnforced(tx, c, begins); err != nil || !begins && d.BreakGlass == nil {
		return err
	}
	return s.endOthers(tx, c, c.Domains...)
}

// checkEnforced refuses to lock people out: the domain has to be proved, an
// owner with a password has to stay, and where enforcement begins the connection
// has to have been tried.
func checkEnforced(tx *db.Tx, c *Connection, begins bool) error {
	refuse := func(msg string) error { return fault.New(fault.Unprocessable, "validation_failed", "%s", msg) }
	proved := false
	for _, d := range c.Domains {
		proved = proved || !d.VerifiedAt.IsZero()
	}
	var test struct {
		Outcome string `json:"outcome"`
	}
	switch {
	case !proved:
		return refuse("Prove a domain before sign-in is enforced for it")
	case begins && (json.Unmarshal(c.LastTest, &test) != nil || test.Outcome != "ok"):
		return refuse("Make a test sign-in that succeeds before sign-in is enforced")
	case c.BreakGlass == "":
		return refuse("Name break_glass_user_id: an owner who can still sign in when the provider is broken")
	}
	err := tx.One(`SELECT m.id FROM members m JOIN users u ON u.id = m.user_id
		WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.role = 'owner' AND m.status = 'active'
		AND u.is_sso = $3 AND u.password_hash IS NOT NULL AND u.email_confirmed_at IS NOT NULL AND u.deleted_at IS NULL`,
		[]any{c.TenantID, c.BreakGlass, false}, func(*db.Row) error { return nil })
	if fault.Is(err, fault.NotFound) {
		return refuse("break_glass_user_id must be an active owner of the tenant with a password")
	}
	return err
}
