package admin

import (
	"context"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/tenants"
)

// The verbs of the command line. Whoever can run them holds the data
// directory, so no actor is asked.

// Admin is an owner or administrator of a tenant.
type Admin struct {
	Email  string
	Tenant string // slug
	Role   actor.Role
}

// checkAccount is CheckPassword for an address that may have an account, and
// the tenant (id, slug or name) that it gets.
func (s *Administration) checkAccount(ctx context.Context, pw, addr, tenant string) error {
	words, data := []string{addr}, map[string]any{}
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		names, err := tenants.TenantNames(tx, tenant)
		if err != nil {
			return err
		}
		words = append([]string{addr, tenant}, names...)
		u, err := accounts.UserByEmail(tx, addr)
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
	return s.Passwords.CheckPassword(pw, words, data)
}

// CreateAdmin makes a confirmed account, or gives an existing one a new
// password, and makes it owner of the tenant (id, slug or name), which is made
// where there is none. All of it is one transaction. An empty tenant makes no
// membership.
func (s *Administration) CreateAdmin(ctx context.Context, email, pw, tenant string) (*accounts.User, error) {
	addr, err := accounts.Canonical(email)
	if err != nil {
		return nil, err
	}
	if err := s.checkAccount(ctx, pw, addr, tenant); err != nil {
		return nil, err
	}
	hash, err := s.Passwords.Hasher.Hash(ctx, pw)
	if err != nil {
		return nil, err
	}
	return s.enrol(ctx, enrolment{email: addr, hash: hash, role: actor.Owner, tenant: tenant, find: s.Tenants.FindOrMake})
}

// An enrolment asks for an account and its membership.
type enrolment struct {
	email  string
	hash   string // of the new password; "" leaves the password alone
	tenant string // id, slug or name; "" makes no membership
	role   actor.Role
	find   func(tx *db.Tx, tenant string) (tenants.Tenant, error)
	first  bool // refused where there is an administrator
}

// enrol makes sure of the account and its membership.
func (s *Administration) enrol(ctx context.Context, e enrolment) (u *accounts.User, err error) {
	err = s.Write(ctx, func(tx *db.Tx) error {
		if err := e.admit(tx); err != nil {
			return err
		}
		u, err = accounts.UserByEmail(tx, e.email)
		switch {
		case fault.Is(err, fault.NotFound):
			u = s.Accounts.Draft(e.email, nil)
			u.Hash, u.EmailConfirmedAt, u.ConfirmedAt = e.hash, u.CreatedAt, u.CreatedAt
			u.Identities = []accounts.Identity{accounts.EmailIdentity(u, u.CreatedAt.Time)}
			u.Derive()
			err = accounts.InsertUser(tx, u)
		case err == nil && e.hash != "":
			tx.Queue(`
				UPDATE users
				SET email_confirmed_at = COALESCE(email_confirmed_at, $2)
				WHERE id = $1`,
				[]any{u.ID, s.Now()}, nil)
			err = s.Passwords.SetPassword(tx, u, e.hash, actor.Actor{KeyID: "cli"})
		}
		if err != nil || e.tenant == "" {
			return err
		}
		t, err := e.find(tx, e.tenant)
		if err != nil {
			return err
		}
		return s.Tenants.SetRole(tx, t.ID, u, e.role)
	})
	return u, err
}

// admit lets the first administrator be made once: two who try at the same time
// wait for one another at the signing keys, which every installation has.
func (e enrolment) admit(tx *db.Tx) error {
	if !e.first {
		return nil
	}
	if err := tx.Query("SELECT id FROM signing_keys {for update}", nil, func(*db.Row) error { return nil }); err != nil {
		return err
	}
	has, err := hasAdministrator(tx)
	if err == nil && has {
		err = errSetupLink()
	}
	return err
}

// AddMember makes an account a member of a tenant (id, slug or name); the account is
// made without a password when there is none.
func (s *Administration) AddMember(ctx context.Context, tenant, email string, role actor.Role) (*accounts.User, error) {
	addr, err := accounts.Canonical(email)
	if err != nil {
		return nil, err
	}
	if !role.Valid() {
		return nil, fault.New(fault.Invalid, "validation_failed", "role %q is not one of %s", role, roleList())
	}
	return s.enrol(ctx, enrolment{email: addr, tenant: tenant, role: role, find: tenants.TenantBy})
}

func roleList() string {
	var names []string
	for _, r := range actor.Members {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// SetupLink returns a link, good for a day, by which the owner of the address
// sets a password; with a tenant, which is made where there is none, the account
// becomes its owner.
func (s *Administration) SetupLink(ctx context.Context, email, tenant string) (string, error) {
	addr, err := accounts.Canonical(email)
	if err != nil {
		return "", err
	}
	u, err := s.enrol(ctx, enrolment{email: addr, tenant: tenant, role: actor.Owner, find: s.Tenants.FindOrMake})
	if err != nil {
		return "", err
	}
	var made codes.Code
	err = s.Write(ctx, func(tx *db.Tx) (err error) {
		made, err = s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindRecovery, Address: addr, TTL: tenants.InviteLife,
			Redirect: s.Config.Console()})
		return err
	})
	return made.Link, err
}

// ResetPassword sets a password and ends every session of the account.
func (s *Administration) ResetPassword(ctx context.Context, email, pw string) error {
	addr, err := accounts.Canonical(email)
	if err != nil {
		return err
	}
	if err := s.checkAccount(ctx, pw, addr, ""); err != nil {
		return err
	}
	hash, err := s.Passwords.Hasher.Hash(ctx, pw)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.UserByEmail(tx, addr)
		if err != nil {
			return err
		}
		return s.Passwords.SetPassword(tx, u, hash, actor.Actor{KeyID: "cli"})
	})
}

const withPasswordSQL = `
	SELECT password_hash, COALESCE(email, phone, CAST(id AS text))
	FROM users
	WHERE id IN {ids $1} AND password_hash <> '' AND deleted_at IS NULL
	ORDER BY id`

// WithPassword returns the addresses of those of the accounts, named by id, that
// can be signed in to with the password.
func (s *Administration) WithPassword(ctx context.Context, ids []string, pw string) (list []string, err error) {
	var hashes, names []string
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		hashes, names = nil, nil
		return tx.Query(withPasswordSQL, []any{accounts.WriteJSON(ids)}, func(r *db.Row) error {
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
			if ok, err = s.Passwords.Hasher.Check(ctx, h, pw); err != nil {
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
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		list = nil
		return tx.Query(`SELECT u.email, t.slug, m.role FROM members m JOIN tenants t ON t.id = m.tenant_id JOIN users u ON u.id = m.user_id
			WHERE m.role IN ('owner', 'admin') AND m.status = 'active' AND u.deleted_at IS NULL
				ORDER BY t.slug NULLS LAST, u.email NULLS LAST`, nil, func(r *db.Row) error {
			list = append(list, Admin{Email: r.Text(0), Tenant: r.Text(1), Role: actor.Role(r.Text(2))})
			return nil
		})
	})
	return list, err
}
