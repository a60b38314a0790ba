package sessions

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/token"
)

// MethodSAML is the amr method of a SAML sign-in; an OpenID one is oauth.
const MethodSAML = "sso/saml"

// checkConnectionRules holds a beginning session to the rules of its connection: nothing
// begins at one that is disabled, nothing outlives the assertion, and an
// address whose domain is enforced signs in at its provider only. begin calls
// it for every sign-in there is.
func (s *Store) checkConnectionRules(tx *db.Tx, u *accounts.User, st *accounts.UserMemberships, sess *Row) error {
	if !u.SSO {
		return st.Elsewhere(u)
	}
	// A passkey or a linked provider would outlive what the organisation ends.
	if how := sess.AMR[0]; how.Method != MethodSAML && (how.Method != "oauth" || how.Provider != "") {
		return accounts.ErrSSORequired()
	}
	var connection, status string
	var active bool
	var end time.Time
	err := tx.One(`SELECT a.connection_id, a.active, a.not_after, c.status FROM sso_accounts a
		JOIN sso_connections c ON c.tenant_id = a.tenant_id AND c.id = a.connection_id WHERE a.user_id = $1`, []any{u.ID}, func(r *db.Row) error {
		connection, active, end, status = r.Text(0), r.Bool(1), r.Time(2), r.Text(3)
		return nil
	})
	if fault.Is(err, fault.NotFound) || err == nil && (status != "active" || !active) {
		return fault.New(fault.NotFound, "sso_provider_disabled", "The sign-in provider of this account is disabled")
	}
	if err != nil {
		return err
	}
	if !end.IsZero() && end.Before(sess.notAfter) {
		sess.notAfter = end
	}
	if !s.Now().Before(sess.notAfter) {
		return fault.New(fault.Invalid, "session_expired", "The provider's sign-in has expired")
	}
	for i := range sess.AMR {
		if m := &sess.AMR[i]; m.Method == MethodSAML || m.Method == "oauth" {
			m.Provider = connection
		}
	}
	return nil
}

// AtProvider reports an amr entry of a connection: those are named by UUID.
func AtProvider(m token.Method) bool {
	_, ok := accounts.CanonicalID(m.Provider)
	return ok
}
