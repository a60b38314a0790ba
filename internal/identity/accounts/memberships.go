package accounts

import (
	"holdfast/internal/db"
)

// UserMemberships is what is asked of an account that begins a session: where it
// belongs and by which rules, and whether its domain signs in at a provider only.
type UserMemberships struct {
	Email      string           // the account's, when it was asked
	Members    []Member         // active, oldest first
	Rules      map[string]Rules // by tenant
	enforced   bool
	breakGlass string // who is let in all the same, to repair the provider
}

// QueueBelonging asks at the next flush, in one round trip with what else is
// queued.
func QueueMemberships(tx *db.Tx, id, email string) *UserMemberships {
	st := &UserMemberships{Email: email, Rules: map[string]Rules{}}
	if email != "" {
		tx.Queue(`SELECT c.break_glass_user_id FROM sso_domains d JOIN sso_connections c ON c.tenant_id = d.tenant_id AND c.id = d.connection_id
			WHERE d.domain = $1 AND d.verified_at IS NOT NULL AND c.enforced = $2 AND c.status = 'active'`, []any{DomainOf(email), true}, func(r *db.Row) error {
			st.enforced, st.breakGlass = true, r.Text(0)
			return nil
		})
	}
	queueMemberships(tx, id, func(m Member) { st.Members = append(st.Members, m) })
	tx.Queue(`SELECT lower(key), value, tenant_id FROM settings
		WHERE section = 'security' AND tenant_id IN (SELECT tenant_id FROM members WHERE user_id = $1)`, []any{id}, func(r *db.Row) error {
		ru := st.Rules[r.Text(2)]
		err := ru.Add(r)
		st.Rules[r.Text(2)] = ru
		return err
	})
	return st
}

// BelongingOf asks now.
func MembershipsOf(tx *db.Tx, u *User) (*UserMemberships, error) {
	st := QueueMemberships(tx, u.ID, u.Email)
	return st, tx.Flush()
}

// Home chooses where a session works: the tenant used last, else the one the
// user's metadata wishes for, else the oldest membership, an active tenant's
// before a suspended one's. No tenant is for who belongs to none.
func (st *UserMemberships) Home(u *User) Member {
	for _, want := range []string{u.LastTenant, RequestedTenant(u.UserMetadata)} {
		for _, m := range st.Members {
			if want != "" && m.TenantID == want {
				return m
			}
		}
	}
	for _, m := range st.Members {
		if m.Status == "active" {
			return m
		}
	}
	if len(st.Members) > 0 {
		return st.Members[0]
	}
	return Member{}
}

// SettledIn notes where an account works.
func (u *User) SettledIn(tx *db.Tx, tenantID string) {
	if tenantID == "" || tenantID == u.LastTenant {
		return
	}
	u.LastTenant = tenantID
	WorksIn(tx, u.ID, tenantID)
}

// WorksIn notes which tenant an account used last.
func WorksIn(tx *db.Tx, userID, tenantID string) {
	tx.Queue("UPDATE users SET last_tenant_id = $2 WHERE id = $1", []any{userID, tenantID}, nil)
}

// Elsewhere refuses an address of an enforced domain. The break-glass owner of
// the connection is let through: somebody has to repair a broken provider.
func (st *UserMemberships) Elsewhere(u *User) error {
	if !st.enforced || st.breakGlass == u.ID {
		return nil
	}
	return ErrSSORequired()
}
