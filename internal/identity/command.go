package identity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// The verbs of the command line. Whoever can run them holds the data
// directory, so no actor is asked.

// Admin is an owner or administrator of a tenant.
type Admin struct {
	UserID     string
	Email      string
	Tenant     string // slug
	Role       actor.Role
	LastSignIn time.Time // zero = never
}

// tenantBy finds a tenant by id or slug.
func tenantBy(tx *db.Tx, name string) (Tenant, error) {
	where := "slug = $1"
	if id, ok := canonicalID(name); ok {
		where, name = "id = $1", id
	}
	var t Tenant
	err := tx.One("SELECT id, name, slug, plan, status, join_policy FROM tenants WHERE "+where, []any{name}, func(r *db.Row) error {
		t = Tenant{ID: r.Text(0), Name: r.Text(1), Slug: r.Text(2), Plan: r.Text(3), Status: r.Text(4), JoinPolicy: r.Text(5)}
		return nil
	})
	if fault.Is(err, fault.NotFound) {
		return t, fault.New(fault.NotFound, "tenant_not_found", "there is no tenant %q", name)
	}
	return t, err
}

// checkAccount is checkPassword for an address that may have an account, and
// the tenant (id or slug) that it gets.
func (s *Administration) checkAccount(ctx context.Context, pw, addr, tenant string) error {
	words, data := []string{addr}, map[string]any{}
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		names, err := tenantNames(tx, tenant)
		if err != nil {
			return err
		}
		words = append([]string{addr, tenant}, names...)
		u, err := userByEmail(tx, addr)
		if err == nil {
			data = u.UserMetadata
		} else if !fault.Is(err, fault.NotFound) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.passwords.checkPassword(pw, words, data)
}

// CreateAdmin makes a confirmed account, or gives an existing one a new
// password, and makes it owner of the tenant (id or slug).
func (s *Administration) CreateAdmin(ctx context.Context, email, pw, tenant string) (*User, error) {
	addr, err := Canonical(email)
	if err != nil {
		return nil, err
	}
	if err := s.checkAccount(ctx, pw, addr, tenant); err != nil {
		return nil, err
	}
	hash, err := s.passwords.hasher.Hash(ctx, pw)
	if err != nil {
		return nil, err
	}
	return s.enrol(ctx, addr, hash, tenant, actor.Owner)
}

// enrol makes sure of the account and its membership. An empty hash leaves the
// password alone; an empty tenant makes no membership.
func (s *Administration) enrol(ctx context.Context, email, hash, tenant string, role actor.Role) (u *User, err error) {
	err = s.write(ctx, func(tx *db.Tx) error {
		u, err = userByEmail(tx, email)
		switch {
		case fault.Is(err, fault.NotFound):
			u = s.accounts.draft(email, nil)
			u.hash, u.EmailConfirmedAt, u.ConfirmedAt = hash, u.CreatedAt, u.CreatedAt
			u.Identities = []Identity{emailIdentity(u, u.CreatedAt.Time)}
			u.derive()
			err = insertUser(tx, u)
		case err == nil && hash != "":
			tx.Queue("UPDATE users SET email_confirmed_at = COALESCE(email_confirmed_at, $2) WHERE id = $1", []any{u.ID, s.now()}, nil)
			err = s.passwords.setPassword(tx, u, hash, actor.Actor{KeyID: "cli"})
		}
		if err != nil || tenant == "" {
			return err
		}
		t, err := tenantBy(tx, tenant)
		if err != nil {
			return err
		}
		return s.tenants.setRole(tx, t.ID, u, role)
	})
	return u, err
}

// setRole makes an account an active member with this role, whatever it was.
func (s *Tenants) setRole(tx *db.Tx, tenantID string, u *User, role actor.Role) error {
	was, err := memberOf(tx, u.ID, tenantID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err := s.addMember(tx, tenantID, u, role, Client{}); err != nil {
		return err
	}
	if was.Role == "" || was.Role == role {
		return nil
	}
	tx.Queue("UPDATE members SET role = $3, updated_at = $4, version = version + 1 WHERE tenant_id = $1 AND user_id = $2",
		[]any{tenantID, u.ID, string(role), s.now()}, nil)
	if err := s.TellMember(tx, tenantID, u.ID, "role", string(was.Role)); err != nil {
		return err
	}
	if was.Role != actor.Owner {
		return tx.Flush()
	}
	return keepOwner(tx, tenantID)
}

// AddMember makes an account a member of a tenant (id or slug); the account is
// made without a password when there is none.
func (s *Administration) AddMember(ctx context.Context, tenant, email string, role actor.Role) (*User, error) {
	addr, err := Canonical(email)
	if err != nil {
		return nil, err
	}
	if !role.Valid() {
		return nil, fault.New(fault.Invalid, "validation_failed", "role %q is not one of %s", role, roleList())
	}
	return s.enrol(ctx, addr, "", tenant, role)
}

func roleList() string {
	var names []string
	for _, r := range actor.Members {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// SetupLink returns a link, good for a day, by which the owner of the address
// sets a password; with a tenant the account becomes its owner.
func (s *Administration) SetupLink(ctx context.Context, email, tenant string) (string, error) {
	addr, err := Canonical(email)
	if err != nil {
		return "", err
	}
	u, err := s.enrol(ctx, addr, "", tenant, actor.Owner)
	if err != nil {
		return "", err
	}
	var made code
	err = s.write(ctx, func(tx *db.Tx) (err error) {
		made, err = s.codes.makeCode(tx, u, codeOrder{kind: kindRecovery, address: addr, ttl: inviteLife})
		return err
	})
	return made.link, err
}

// ResetPassword sets a password and ends every session of the account.
func (s *Administration) ResetPassword(ctx context.Context, email, pw string) error {
	addr, err := Canonical(email)
	if err != nil {
		return err
	}
	if err := s.checkAccount(ctx, pw, addr, ""); err != nil {
		return err
	}
	hash, err := s.passwords.hasher.Hash(ctx, pw)
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx *db.Tx) error {
		u, err := userByEmail(tx, addr)
		if err != nil {
			return err
		}
		return s.passwords.setPassword(tx, u, hash, actor.Actor{KeyID: "cli"})
	})
}

// WithPassword returns the addresses of those of the accounts, named by id, that
// can be signed in to with the password.
func (s *Administration) WithPassword(ctx context.Context, ids []string, pw string) (list []string, err error) {
	var hashes, names []string
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		hashes, names = nil, nil
		return tx.Query("SELECT password_hash, COALESCE(email, phone, CAST(id AS text)) FROM users WHERE "+tx.DB().InUUID("id", 1)+
			" AND password_hash <> '' AND deleted_at IS NULL ORDER BY id",
			[]any{writeJSON(ids)}, func(r *db.Row) error {
				hashes, names = append(hashes, r.Text(0)), append(names, r.Text(1))
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	opens := map[string]bool{}
	for i, h := range hashes {
		ok, known := opens[h]
		if !known {
			if ok, err = s.passwords.hasher.Check(ctx, h, pw); err != nil {
				return nil, err
			}
			opens[h] = ok
		}
		if ok {
			list = append(list, names[i])
		}
	}
	return list, nil
}

// ListAdmins returns the active owners and administrators of every tenant.
func (s *Administration) ListAdmins(ctx context.Context) (list []Admin, err error) {
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		list = nil
		return tx.Query(`SELECT u.id, u.email, t.slug, m.role, u.last_sign_in_at FROM members m JOIN tenants t ON t.id = m.tenant_id JOIN users u ON u.id = m.user_id
			WHERE m.role IN ('owner', 'admin') AND m.status = 'active' AND u.deleted_at IS NULL ORDER BY t.slug NULLS LAST, u.email NULLS LAST`, nil, func(r *db.Row) error {
			list = append(list, Admin{UserID: r.Text(0), Email: r.Text(1), Tenant: r.Text(2), Role: actor.Role(r.Text(3)), LastSignIn: r.Time(4)})
			return nil
		})
	})
	return list, err
}

// CreateTenant makes a tenant. An empty slug is made from the name, an empty
// id is made.
func (s *Tenants) CreateTenant(ctx context.Context, name, slug, id string) (Tenant, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > 200 {
		return Tenant{}, fault.New(fault.Invalid, "validation_failed", "a tenant needs a name of at most 200 characters")
	}
	if slug == "" {
		slug = slugOf(name)
	}
	if slug == "" || slug != slugOf(slug) {
		return Tenant{}, fault.New(fault.Invalid, "validation_failed", "slug %q: use lower-case letters, digits and dashes", slug)
	}
	t := Tenant{ID: newID(), Name: name, Slug: slug, Plan: "standard", Status: "active", JoinPolicy: "invite"}
	if id != "" {
		given, ok := canonicalID(id)
		if !ok || given == db.NoTenant {
			return Tenant{}, fault.New(fault.Invalid, "validation_failed", "tenant id %q is not a UUID", id)
		}
		t.ID = given
	}
	err := s.write(ctx, func(tx *db.Tx) error {
		made, err := s.makeTenant(tx, t, creator{})
		if err == nil && !made {
			err = fault.New(fault.Conflict, "conflict", "there is a tenant with id %s", t.ID)
		}
		return err
	})
	if fault.HasCode(err, "23505") {
		return Tenant{}, fault.New(fault.Conflict, "conflict", "there is a tenant with slug %q", slug)
	}
	return t, err
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
func (s *Tenants) ListTenants(ctx context.Context) (list []Tenant, err error) {
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		list = nil
		return tx.Query(`SELECT t.id, t.name, t.slug, t.plan, t.status, t.join_policy, COUNT(m.id) FROM tenants t LEFT JOIN members m ON m.tenant_id = t.id AND m.status = 'active'
			GROUP BY t.id, t.name, t.slug, t.plan, t.status, t.join_policy ORDER BY t.slug NULLS LAST`, nil, func(r *db.Row) error {
			list = append(list, Tenant{ID: r.Text(0), Name: r.Text(1), Slug: r.Text(2), Plan: r.Text(3), Status: r.Text(4), JoinPolicy: r.Text(5), Members: r.Int(6)})
			return nil
		})
	})
	return list, err
}

// Sweep deletes what has expired: sessions, codes, flows, and signing keys no
// token can name any more. Run it every hour or so.
func (s *Service) Sweep(ctx context.Context) error {
	err := s.write(ctx, func(tx *db.Tx) error {
		now := s.now()
		for _, q := range []string{
			// Of who is banned they stay, to be told of it.
			"DELETE FROM sessions WHERE not_after < $1 AND user_id NOT IN (SELECT id FROM users WHERE banned_until > $1)",
			"DELETE FROM one_time_tokens WHERE expires_at < $1",
			// A mailed link can be opened again until it ends itself.
			"DELETE FROM flow_states WHERE expires_at < $1 AND NOT EXISTS (SELECT 1 FROM one_time_tokens t WHERE t.id = flow_states.token_id)"} {
			tx.Queue(q, []any{now}, nil)
		}
		s.Factors.keeper.Sweep(tx)
		tx.Queue("DELETE FROM wrong_passwords WHERE since < $1", []any{now.Add(-guessDay)}, nil)
		tx.Queue("DELETE FROM invitation_mails WHERE made_at < $1", []any{now.Add(-s.cfg.InviteTTL - 24*time.Hour)}, nil)
		tx.Queue("UPDATE invitations SET status = 'expired', updated_at = $1, version = version + 1 WHERE status = 'pending' AND expires_at < $1", []any{now}, nil)
		tx.Queue("DELETE FROM signing_keys WHERE state = 'retired' AND retired_at < $1", []any{now.Add(-s.cfg.AccessTokenTTL - time.Minute)}, nil)
		return tx.Flush()
	})
	if err != nil {
		return fmt.Errorf("identity: sweep: %w", err)
	}
	return s.Keyring.loadKeys(ctx)
}
