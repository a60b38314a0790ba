package tenants

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/store"
)

// TenantBy finds a tenant by what an operator calls it: its id, its slug or its
// name, in this order. Blanks around it and capitals make no difference. A name
// of several tenants is fault.Conflict, and none is tenant_not_found.
func TenantBy(tx *db.Tx, given string) (Tenant, error) {
	given = strings.TrimSpace(given)
	if id, ok := accounts.CanonicalID(given); ok {
		if list, err := listTenants(tx, "WHERE id = $1", id); err != nil || len(list) > 0 {
			return cmp.Or(list...), err
		}
	}
	all, err := listTenants(tx, "ORDER BY slug NULLS LAST")
	if err != nil {
		return Tenant{}, err
	}
	called := func(name func(Tenant) string) (found []Tenant) {
		for _, t := range all {
			if strings.EqualFold(name(t), given) {
				found = append(found, t)
			}
		}
		return found
	}
	if found := called(func(t Tenant) string { return t.Slug }); len(found) > 0 {
		return found[0], nil
	}
	switch found := called(func(t Tenant) string { return t.Name }); len(found) {
	case 0:
		return Tenant{}, fault.New(fault.NotFound, "tenant_not_found",
			"there is no tenant %q; `holdfast tenant list` shows them", given)
	case 1:
		return found[0], nil
	default:
		return Tenant{}, fault.New(fault.Conflict, "conflict", "%d tenants have the name %q: name one by its slug, %q or %q",
			len(found), given, found[0].Slug, found[1].Slug)
	}
}

func listTenants(tx *db.Tx, tail string, args ...any) (list []Tenant, err error) {
	err = tx.Query(db.FillWords(`
		SELECT id, name, slug, plan, status, join_policy
		FROM tenants {tail}`, "{tail}", tail), args, func(r *db.Row) error {
		list = append(list, Tenant{ID: r.Text(0), Name: r.Text(1), Slug: r.Text(2), Plan: r.Text(3), Status: r.Text(4),
			JoinPolicy: r.Text(5)})
		return nil
	})
	return list, err
}

// FindOrMake finds a tenant as TenantBy does, and makes one of this name where
// there is none.
func (s *Store) FindOrMake(tx *db.Tx, given string) (Tenant, error) {
	found, err := TenantBy(tx, given)
	if !fault.Is(err, fault.NotFound) {
		return found, err
	}
	t, err := draftTenant(given, "", "")
	if err != nil {
		return Tenant{}, err
	}
	_, err = s.makeTenant(tx, t, creator{})
	return t, slugTaken(err, t.Slug)
}

// SetRole makes an account an active member with this role, whatever it was.
func (s *Store) SetRole(tx *db.Tx, tenantID string, u *accounts.User, role actor.Role) error {
	was, err := accounts.MemberOf(tx, u.ID, tenantID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := s.AddMember(tx, tenantID, u, role, accounts.Client{}); err != nil {
		return err
	}
	if was.Role == "" || was.Role == role {
		return nil
	}
	if err := s.ChangeRole(tx, tenantID, u.ID, role, was.Role); err != nil {
		return err
	}
	if was.Role != actor.Owner {
		return tx.Flush()
	}
	return KeepOwner(tx, tenantID)
}

// CreateTenant makes a tenant. An empty slug is made from the name, an empty
// id is made.
func (s *Store) CreateTenant(ctx context.Context, name, slug, id string) (Tenant, error) {
	t, err := draftTenant(name, slug, id)
	if err != nil {
		return Tenant{}, err
	}
	err = s.Write(ctx, func(tx *db.Tx) error {
		made, err := s.makeTenant(tx, t, creator{})
		if err == nil && !made {
			err = fault.New(fault.Conflict, "conflict", "there is a tenant with id %s", t.ID)
		}
		return err
	})
	return t, slugTaken(err, t.Slug)
}

// draftTenant checks and completes what CreateTenant is given. A name without
// one letter or digit of ASCII gets a slug of its id.
func draftTenant(name, slug, id string) (Tenant, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > 200 {
		return Tenant{}, fault.New(fault.Invalid, "validation_failed", "a tenant needs a name of at most 200 characters")
	}
	t := Tenant{ID: db.NewID(), Name: name, Plan: "standard", Status: "active", JoinPolicy: "invite"}
	if id != "" {
		given, ok := accounts.CanonicalID(id)
		if !ok || given == db.NoTenant {
			return Tenant{}, fault.New(fault.Invalid, "validation_failed", "tenant id %q is not a UUID", id)
		}
		t.ID = given
	}
	if slug != "" && slug != slugOf(slug) {
		return Tenant{}, fault.New(fault.Invalid, "validation_failed", "slug %q: use lower-case letters, digits and dashes",
			slug)
	}
	t.Slug = cmp.Or(slug, slugOf(name), "t-"+t.ID)
	return t, nil
}

// slugTaken words the refusal of a slug that another tenant has.
func slugTaken(err error, slug string) error {
	if fault.HasCode(err, "23505") {
		return fault.New(fault.Conflict, "conflict",
			"there is a tenant with slug %q; `holdfast tenant create NAME --slug SLUG` makes another", slug)
	}
	return err
}

// slugOf keeps lower-case letters and digits and joins them by single dashes.
func slugOf(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := strings.Trim(b.String(), "-")
	if len(out) > 48 {
		out = strings.Trim(out[:48], "-")
	}
	return out
}

// ListTenants returns every tenant with its active members counted.
func (s *Store) ListTenants(ctx context.Context) (list []Tenant, err error) {
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		list = nil
		return tx.Query(`SELECT t.id, t.name, t.slug, t.plan, t.status, t.join_policy, COUNT(m.id) FROM tenants t
			LEFT JOIN members m ON m.tenant_id = t.id AND m.status = 'active'
			GROUP BY t.id, t.name, t.slug, t.plan, t.status, t.join_policy ORDER BY t.slug NULLS LAST`, nil, func(r *db.Row) error {
			list = append(list, Tenant{ID: r.Text(0), Name: r.Text(1), Slug: r.Text(2), Plan: r.Text(3), Status: r.Text(4),
				JoinPolicy: r.Text(5), Members: r.Int(6)})
			return nil
		})
	})
	return list, err
}

// Store makes tenants and says who belongs to them.
type Store struct {
	*accounts.Base
	Proofs *accounts.Proofs
}

// Memberships lists where the caller belongs, for a tenant picker.
func (s *Store) Memberships(ctx context.Context, a actor.Actor) (list []accounts.Member, err error) {
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		st := accounts.QueueMemberships(tx, a.UserID, "")
		if err := tx.Flush(); err != nil {
			return err
		}
		list = st.Members
		for i, m := range list {
			ru := st.Rules[m.TenantID]
			list[i].Grace = ru.Grace(m)
			list[i].NeedsFactor = ru.Demands(m.Role) || !list[i].Grace.IsZero()
		}
		return nil
	})
	return list, err
}

// isTrustedDomain reports a domain that the operator has noted for the tenant, or that
// the tenant has proved for its single sign-on.
func isTrustedDomain(tx *db.Tx, tenantID, noted, domain string) (bool, error) {
	if domain == "" || holdsDomain(noted, domain) {
		return domain != "", nil
	}
	proved := false
	err := tx.Query(`
		SELECT 1
		FROM sso_domains
		WHERE tenant_id = $1
			AND domain = $2
			AND verified_at IS NOT NULL`,
		[]any{tenantID, strings.ToLower(domain)}, func(*db.Row) error {
			proved = true
			return nil
		})
	return proved, err
}

func holdsDomain(list, domain string) bool {
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
	client accounts.Client
}

// makeTenant inserts a tenant unless its id is taken.
func (s *Store) makeTenant(tx *db.Tx, t Tenant, by creator) (bool, error) {
	n, err := tx.Exec(`INSERT INTO tenants (id, name, slug, plan, status, timezone, currency, jurisdictions, join_policy,
		email_domains, created_at, updated_at, created_by, version)
		VALUES ($1, $2, $3, 'standard', 'active', 'UTC', 'EUR', '[]', $4, '[]', $5, $5, $6, 1) ON CONFLICT (id) DO NOTHING`,
		t.ID, t.Name, t.Slug, t.JoinPolicy, s.Now(), db.Null(by.user))
	if err != nil || n == 0 {
		return false, err
	}
	if s.Config.OnTenant != nil {
		if err := s.Config.OnTenant(tx, t.ID); err != nil {
			return false, err
		}
	}
	s.Audit(tx, accounts.Event{Tenant: t.ID, User: by.user, Action: audit.TenantCreated, Entity: "tenants", EntityID: t.ID,
		Client: by.client})
	return true, nil
}

// AddMember makes an account a member, or an inactive membership active again as it was,
// within the reach that a waiting invitation says; an active one keeps its role.
func (s *Store) AddMember(tx *db.Tx, tenantID string, u *accounts.User, role actor.Role, c accounts.Client) error {
	reach, err := s.offeredReach(tx, tenantID, u.Email)
	if err != nil {
		return err
	}
	if role != actor.Viewer {
		reach.OwnerID = ""
	}
	_, err = s.addWithin(tx, tenantID, u, joining{role: role, reach: reach}, c)
	return err
}

// joining is as what somebody joins a tenant.
type joining struct {
	role  actor.Role
	reach Reach
}

// addMemberSQL makes a member, or an inactive one active again. Who comes back keeps the
// limits that the new invitation does not replace; a client is a viewer alone.
const addMemberSQL = `
	INSERT INTO members (tenant_id, id, user_id, email, role, worker_id, zone_ids, owner_id, status, joined_at, created_at,
		updated_at, created_by, version)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'active', $9, $9, $9, $3, 1)
	ON CONFLICT (tenant_id, user_id) DO UPDATE
	SET role = excluded.role,
		worker_id = coalesce(excluded.worker_id, members.worker_id),
		zone_ids = CASE WHEN excluded.zone_ids = '[]' THEN members.zone_ids ELSE excluded.zone_ids END,
		owner_id = CASE WHEN excluded.role = 'viewer' THEN coalesce(excluded.owner_id, members.owner_id) END,
		status = 'active',
		joined_at = excluded.joined_at,
		updated_at = excluded.updated_at,
		version = members.version + 1
	WHERE members.status <> 'active'
	RETURNING id`

// addWithin is AddMember with a reach; it reports whether somebody joined who was no active
// member before.
func (s *Store) addWithin(
	tx *db.Tx, tenantID string, u *accounts.User, as joining, c accounts.Client,
) (
	hasJoined bool, err error,
) {
	zones, err := as.reach.zonesText()
	if err != nil {
		return false, err
	}
	role, joined := as.role, ""
	err = tx.Query(addMemberSQL, []any{tenantID, db.NewID(), u.ID, db.Null(u.Email), string(role),
		db.Null(as.reach.WorkerID), zones, db.Null(as.reach.OwnerID), s.Now()}, func(r *db.Row) error {
		joined = r.Text(0)
		return nil
	})
	if err != nil {
		return false, err
	}
	if joined != "" {
		is := store.Row{"tenant_id": tenantID, "id": joined, "user_id": u.ID, "role": string(role), "status": "active"}
		if err := s.TellMembers(tx, []accounts.MemberChange{{After: is}}); err != nil {
			return false, err
		}
	}
	s.Audit(tx, accounts.Event{Tenant: tenantID, User: u.ID, Action: "member.joined", Entity: "user", EntityID: u.ID,
		Details: map[string]any{"role": role}, Client: c})
	tx.After(func() { s.Forget(u.ID) })
	return joined != "", tx.Flush()
}

// ErrNoTenant is one answer for foreign, suspended and unknown tenants.
func ErrNoTenant() error {
	return fault.New(fault.Forbidden, "tenant_forbidden", "You are not an active member of this tenant")
}
