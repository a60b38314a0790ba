package identity

import (
	"holdfast/internal/actor"
	"holdfast/internal/db"
)

// belonging is what is asked of an account that begins a session: what it is
// invited to, where it belongs and by which rules, and whether its domain signs
// in at a provider only.
type belonging struct {
	email    string // the account's, when it was asked
	offers   []offer
	members  []Member         // active, oldest first
	rules    map[string]rules // by tenant
	enforced bool
	glass    string // who is let in all the same, to repair the provider
}

// offer is a pending invitation.
type offer struct {
	tenant, id string
	role       actor.Role
}

// queueBelonging asks at the next flush, in one round trip with what else is
// queued.
func (s *Service) queueBelonging(tx *db.Tx, id, email string) *belonging {
	st := &belonging{email: email, rules: map[string]rules{}}
	if email != "" {
		tx.Queue(`SELECT i.tenant_id, i.id, i.role FROM invitations i JOIN tenants t ON t.id = i.tenant_id
			WHERE i.email = $1 AND i.status = 'pending' AND i.expires_at > $2 AND t.status = 'active'`, []any{email, s.now()}, func(r *db.Row) error {
			st.offers = append(st.offers, offer{r.Text(0), r.Text(1), actor.Role(r.Text(2))})
			return nil
		})
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
func (s *Service) belongingOf(tx *db.Tx, u *User) (*belonging, error) {
	st := s.queueBelonging(tx, u.ID, u.Email)
	return st, tx.Flush()
}

// enter accepts what the account is invited to and chooses its tenant.
func (s *Service) enter(tx *db.Tx, u *User, st *belonging, c Client) (Member, error) {
	if len(st.offers) > 0 && !u.EmailConfirmedAt.IsZero() && !u.sso {
		if err := s.joinOffered(tx, u, st.offers, c); err != nil {
			return Member{}, err
		}
		now, err := s.belongingOf(tx, u)
		if err != nil {
			return Member{}, err
		}
		*st = *now
	}
	return st.home(u), nil
}

// home chooses where a new session works: the tenant used last, else the one
// the user's metadata wishes for, else the only one there is. A choice among
// several is never made for the user.
func (st *belonging) home(u *User) Member {
	for _, want := range []string{u.lastTenant, wish(u.UserMetadata)} {
		for _, m := range st.members {
			if want != "" && m.TenantID == want {
				return m
			}
		}
	}
	if len(st.members) == 1 {
		return st.members[0]
	}
	return Member{}
}

// elsewhere refuses an address of an enforced domain. The break-glass owner of
// the connection is let through: somebody has to repair a broken provider.
func (st *belonging) elsewhere(u *User) error {
	if !st.enforced || st.glass == u.ID {
		return nil
	}
	return ssoRequired()
}

// joinOffered turns pending invitations of a proved address into memberships.
// Suspended and closed tenants' invitations stay where they are.
func (s *Service) joinOffered(tx *db.Tx, u *User, offers []offer, c Client) error {
	now := s.now()
	for _, o := range offers {
		n, err := tx.Exec("UPDATE invitations SET status = 'accepted', accepted_at = $3, updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND id = $2 AND status = 'pending'", o.tenant, o.id, now)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := s.addMember(tx, o.tenant, u, o.role, c); err != nil {
			return err
		}
	}
	return nil
}
