package identity

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// Tenants makes tenants and says who belongs to them.
type Tenants struct {
	*Base
	proofs *Proofs
}

// Member is an active membership in a tenant that is not closed: the only
// source of tenancy, for metadata is what users write themselves.
type Member struct {
	TenantID string
	Name     string
	Slug     string
	Plan     string
	Status   string // the tenant's: active or suspended
	Role     actor.Role
	WorkerID string
	ZoneIDs  []string
	Since    time.Time // of the tenant or the membership, whichever is younger

	// Of Memberships alone: whether the tenant asks the member for a second
	// factor, and from when on where it does not do so yet.
	NeedsFactor bool
	Grace       time.Time
}

const memberQuery = `SELECT m.tenant_id, t.name, t.slug, t.plan, t.status, m.role, m.worker_id, m.zone_ids, t.created_at, m.joined_at
	FROM members m JOIN tenants t ON t.id = m.tenant_id WHERE m.status = 'active' AND t.status <> 'closed' AND `

func scanMember(r *db.Row) (Member, error) {
	m := Member{TenantID: r.Text(0), Name: r.Text(1), Slug: r.Text(2), Plan: r.Text(3), Status: r.Text(4), Role: actor.Role(r.Text(5))}
	m.WorkerID, m.Since = r.Text(6), r.Time(8)
	if joined := r.Time(9); joined.After(m.Since) {
		m.Since = joined
	}
	err := json.Unmarshal([]byte(r.Text(7)), &m.ZoneIDs)
	return m, err
}

// memberOf returns the membership a user has in a tenant, or NotFound.
func memberOf(tx *db.Tx, userID, tenantID string) (Member, error) {
	var m Member
	err := tx.One(memberQuery+"m.tenant_id = $1 AND m.user_id = $2", []any{tenantID, userID}, func(r *db.Row) (err error) {
		m, err = scanMember(r)
		return err
	})
	return m, err
}

// memberships returns every active membership of a user, oldest first.
func memberships(tx *db.Tx, userID string) ([]Member, error) {
	var list []Member
	queueMemberships(tx, userID, func(m Member) { list = append(list, m) })
	return list, tx.Flush()
}

// queueMemberships is memberships at the next flush.
func queueMemberships(tx *db.Tx, userID string, each func(Member)) {
	tx.Queue(memberQuery+"m.user_id = $1 ORDER BY m.joined_at NULLS LAST, m.tenant_id", []any{userID}, func(r *db.Row) error {
		m, err := scanMember(r)
		each(m)
		return err
	})
}

// Memberships lists where the caller belongs, for a tenant picker.
func (s *Tenants) Memberships(ctx context.Context, a actor.Actor) (list []Member, err error) {
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		st := queueBelonging(tx, a.UserID, "")
		if err := tx.Flush(); err != nil {
			return err
		}
		list = st.members
		for i, m := range list {
			ru := st.rules[m.TenantID]
			list[i].Grace = ru.grace(m)
			list[i].NeedsFactor = ru.demands(m.Role) || !list[i].Grace.IsZero()
		}
		return nil
	})
	return list, err
}

// wish reads data.tenant_id: one canonical UUID, or "".
func wish(data map[string]any) string {
	text, _ := data[wishedTenant].(string)
	id, ok := canonicalID(text)
	if !ok || id == db.NoTenant {
		return ""
	}
	return id
}

// Members of a sign-up's data that say where the account is to belong.
const (
	wishedTenant = "tenant_id"
	wishedInvite = "invite_token"
)

// unwished takes out of metadata what they wish for.
func unwished(data map[string]any) {
	delete(data, wishedTenant)
	delete(data, wishedInvite)
}

// joinAsWished acts on data.invite_token and data.tenant_id once, when the
// address or the number is first proved. Nobody is told whether the tenant
// exists; an invitation that does not stand is passed over.
func (s *Invitations) joinAsWished(tx *db.Tx, u *User, c Client) error {
	if token, ok := u.UserMetadata[wishedInvite].(string); ok {
		if err := s.takeUp(tx, u, token, c); err != nil && !fault.HasCode(err, "invite_not_found") {
			return err
		}
		delete(u.UserMetadata, wishedInvite)
		tx.Queue("UPDATE users SET user_metadata = $2 WHERE id = $1", []any{u.ID, writeJSON(u.UserMetadata)}, nil)
	}
	id := wish(u.UserMetadata)
	if id == "" {
		return tx.Flush()
	}
	if list, err := s.received(tx, u, " AND i.tenant_id = $4", id); err != nil || len(list) > 0 {
		if err != nil {
			return err
		}
		return s.accepted(tx, u, list[0], c)
	}
	return s.joinOpen(tx, u, id, c)
}

// joinOpen makes an account a member of a tenant that it names, where the
// tenant's join policy lets it; an unknown one is made where sign-ups claim.
func (s *Invitations) joinOpen(tx *db.Tx, u *User, id string, c Client) error {
	var policy, domains, status string
	look := func() error {
		return tx.One("SELECT join_policy, email_domains, status FROM tenants WHERE id = $1", []any{id}, func(r *db.Row) error {
			policy, domains, status = r.Text(0), r.Text(1), r.Text(2)
			return nil
		})
	}
	err := look()
	if fault.Is(err, fault.NotFound) {
		if s.cfg.SignupTenants != TenantsClaim {
			return nil
		}
		made, err := s.tenants.makeTenant(tx, Tenant{ID: id, Name: "Tenant " + id[:8], Slug: "t-" + id, JoinPolicy: "open"}, creator{u.ID, c})
		if err != nil {
			return err
		}
		if made {
			return s.tenants.addMember(tx, id, u, actor.Owner, c)
		}
		err = look()
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if status != "active" {
		return nil
	}
	in := policy == "open"
	if policy == "domain" {
		if in, err = trusts(tx, id, domains, domainOf(u.Email)); err != nil {
			return err
		}
		in = in && !u.EmailConfirmedAt.IsZero()
	}
	if in {
		return s.tenants.addMember(tx, id, u, actor.Viewer, c)
	}
	return nil
}

// trusts reports a domain that the operator has noted for the tenant, or that
// the tenant has proved for its single sign-on.
func trusts(tx *db.Tx, tenantID, noted, domain string) (bool, error) {
	if domain == "" || holds(noted, domain) {
		return domain != "", nil
	}
	proved := false
	err := tx.Query("SELECT 1 FROM sso_domains WHERE tenant_id = $1 AND domain = $2 AND verified_at IS NOT NULL",
		[]any{tenantID, strings.ToLower(domain)}, func(*db.Row) error {
			proved = true
			return nil
		})
	return proved, err
}

func holds(list, domain string) bool {
	var ds []string
	if json.Unmarshal([]byte(list), &ds) != nil {
		return false
	}
	for _, d := range ds {
		if strings.EqualFold(d, domain) && domain != "" {
			return true
		}
	}
	return false
}

// Tenant is an organisation.
type Tenant struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Slug       string `json:"slug"`
	Plan       string `json:"plan"`
	Status     string `json:"status"`
	JoinPolicy string `json:"join_policy"`
	Members    int64  `json:"members"`
}

// A creator is the account that made a tenant, "" for an operator, and from
// where.
type creator struct {
	user   string
	client Client
}

// makeTenant inserts a tenant unless its id is taken.
func (s *Tenants) makeTenant(tx *db.Tx, t Tenant, by creator) (bool, error) {
	n, err := tx.Exec(`INSERT INTO tenants (id, name, slug, plan, status, timezone, currency, jurisdictions, join_policy, email_domains, created_at, updated_at, created_by, version)
		VALUES ($1, $2, $3, 'standard', 'active', 'UTC', 'EUR', '[]', $4, '[]', $5, $5, $6, 1) ON CONFLICT (id) DO NOTHING`,
		t.ID, t.Name, t.Slug, t.JoinPolicy, s.now(), null(by.user))
	if err != nil || n == 0 {
		return false, err
	}
	if s.cfg.OnTenant != nil {
		if err := s.cfg.OnTenant(tx, t.ID); err != nil {
			return false, err
		}
	}
	s.record(tx, event{tenant: t.ID, user: by.user, action: audit.TenantCreated, entity: "tenants", entityID: t.ID, client: by.client})
	return true, nil
}

// addMember makes an account a member, or an inactive membership active again;
// an active one keeps its role.
func (s *Tenants) addMember(tx *db.Tx, tenantID string, u *User, role actor.Role, c Client) error {
	now := s.now()
	joined := ""
	err := tx.Query(`INSERT INTO members (tenant_id, id, user_id, email, role, status, zone_ids, joined_at, created_at, updated_at, created_by, version)
		VALUES ($1, $2, $3, $4, $5, 'active', '[]', $6, $6, $6, $3, 1)
		ON CONFLICT (tenant_id, user_id) DO UPDATE SET role = excluded.role, status = 'active', joined_at = excluded.joined_at, updated_at = excluded.updated_at,
			version = members.version + 1 WHERE members.status <> 'active' RETURNING id`,
		[]any{tenantID, newID(), u.ID, null(u.Email), string(role), now}, func(r *db.Row) error { joined = r.Text(0); return nil })
	if err != nil {
		return err
	}
	if joined != "" {
		is := store.Row{"tenant_id": tenantID, "id": joined, "user_id": u.ID, "role": string(role), "status": "active"}
		if err := s.tellMembers(tx, []MemberChange{{After: is}}); err != nil {
			return err
		}
	}
	s.record(tx, event{tenant: tenantID, user: u.ID, action: "member.joined", entity: "user", entityID: u.ID, details: map[string]any{"role": role}, client: c})
	tx.After(func() { s.Forget(u.ID) })
	return tx.Flush()
}

// errNoTenant is one answer for foreign, suspended and unknown tenants.
func errNoTenant() error {
	return fault.New(fault.Forbidden, "tenant_forbidden", "You are not an active member of this tenant")
}

// switchTo moves a session to a tenant its user is an active member of.
func (s *Sessions) switchTo(tx *db.Tx, a actor.Actor, tenantID string) (Member, error) {
	m, err := memberOf(tx, a.UserID, tenantID)
	if fault.Is(err, fault.NotFound) || err == nil && m.Status != "active" {
		return Member{}, errNoTenant()
	}
	if err != nil {
		return Member{}, err
	}
	if _, err := s.settle(tx, session{id: a.SessionID, user: a.UserID}, m); err != nil {
		return Member{}, err
	}
	now := s.now()
	tx.Queue("UPDATE sessions SET tenant_id = $2, updated_at = $3 WHERE id = $1", []any{a.SessionID, tenantID, now}, nil)
	tx.Queue("UPDATE users SET last_tenant_id = $2 WHERE id = $1", []any{a.UserID, tenantID}, nil)
	s.seen(tx, tenantID, a.UserID, false)
	s.record(tx, event{tenant: tenantID, user: a.UserID, action: "tenant.switched", entity: "session", entityID: a.SessionID, client: clientOf(a)})
	tx.After(func() { s.Forget(a.UserID) })
	return m, tx.Flush()
}

// denied notes a refused switch: in the tenant the session works in, because
// the one asked for may be nobody's business.
func (s *Sessions) denied(ctx context.Context, a actor.Actor, asked string) error {
	return s.note(ctx, event{tenant: a.TenantID, user: a.UserID, action: "tenant.switch_denied", outcome: "refused", entity: "session", entityID: a.SessionID,
		details: map[string]any{"asked": asked}, client: clientOf(a)})
}

// SwitchTenant moves the caller's session and returns tokens that say so. The
// refresh counter stays: the tokens the caller holds are not spoilt.
func (s *Sessions) SwitchTenant(ctx context.Context, a actor.Actor, tenantID string) (*Session, error) {
	id, ok := canonicalID(tenantID)
	if !ok {
		return nil, fault.New(fault.Invalid, "validation_failed", "tenant_id must be a UUID")
	}
	var g *grant
	err := s.write(ctx, func(tx *db.Tx) error {
		u, err := locked(tx, a.UserID)
		if err != nil {
			return err
		}
		m, err := s.switchTo(tx, a, id)
		if err != nil {
			return err
		}
		sess, err := sessionBy(tx, a.SessionID)
		if err != nil {
			return sessionGone(err)
		}
		g = &grant{user: u, sess: sess, member: m}
		g.rules, err = rulesOf(tx, m.TenantID)
		return err
	})
	if fault.HasCode(err, "tenant_forbidden") {
		if err := s.denied(ctx, a, id); err != nil {
			return nil, err
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return s.issue(g)
}
