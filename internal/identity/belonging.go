package identity

import "holdfast/internal/db"

// belonging is what is asked of an account that begins a session: where it
// belongs and by which rules, and whether its domain signs in at a provider only.
type belonging struct {
	email    string           // the account's, when it was asked
	members  []Member         // active, oldest first
	rules    map[string]rules // by tenant
	enforced bool
	glass    string // who is let in all the same, to repair the provider
}

// queueBelonging asks at the next flush, in one round trip with what else is
// queued.
func queueBelonging(tx *db.Tx, id, email string) *belonging {
	st := &belonging{email: email, rules: map[string]rules{}}
	if email != "" {
		tx.Queue(`SELECT c.break_glass_user_id FROM sso_domains d JOIN sso_connections c ON c.tenant_id = d.tenant_id AND c.id = d.connection_id
			WHERE d.domain = $1 AND d.verified_at IS NOT NULL AND c.enforced = $2 AND c.status = 'active'`, []any{domainOf(email), true}, func(r *db.Row) error {
			st.enforced, st.glass = true, r.Text(0)
			return nil
		})
	}
	queueMemberships(tx, id, func(m Member) { st.members = append(st.members, m) })
	tx.Queue(`SELECT lower(key), value, tenant_id FROM settings
		WHERE section = 'security' AND tenant_id IN (SELECT tenant_id FROM members WHERE user_id = $1)`, []any{id}, func(r *db.Row) error {
		ru := st.rules[r.Text(2)]
		err := ru.add(r)
		st.rules[r.Text(2)] = ru
		return err
	})
	return st
}

// belongingOf asks now.
func belongingOf(tx *db.Tx, u *User) (*belonging, error) {
	st := queueBelonging(tx, u.ID, u.Email)
	return st, tx.Flush()
}

// home chooses where a session works: the tenant used last, else the one the
// user's metadata wishes for, else the oldest membership, an active tenant's
// before a suspended one's. No tenant is for who belongs to none.
func (st *belonging) home(u *User) Member {
	for _, want := range []string{u.lastTenant, wish(u.UserMetadata)} {
		for _, m := range st.members {
			if want != "" && m.TenantID == want {
				return m
			}
		}
	}
	for _, m := range st.members {
		if m.Status == "active" {
			return m
		}
	}
	if len(st.members) > 0 {
		return st.members[0]
	}
	return Member{}
}

// settledIn notes where an account works.
func (u *User) settledIn(tx *db.Tx, tenantID string) {
	if tenantID == "" || tenantID == u.lastTenant {
		return
	}
	u.lastTenant = tenantID
	tx.Queue("UPDATE users SET last_tenant_id = $2 WHERE id = $1", []any{u.ID, tenantID}, nil)
}

// elsewhere refuses an address of an enforced domain. The break-glass owner of
// the connection is let through: somebody has to repair a broken provider.
func (st *belonging) elsewhere(u *User) error {
	if !st.enforced || st.glass == u.ID {
		return nil
	}
	return ssoRequired()
}
