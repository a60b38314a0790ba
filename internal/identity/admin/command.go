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
// the tenant (id or slug) that it gets.
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
// password, and makes it owner of the tenant (id or slug).
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
	return s.enrol(ctx, addr, hash, tenant, actor.Owner)
}

// enrol makes sure of the account and its membership. An empty hash leaves the
// password alone; an empty tenant makes no membership.
func (s *Administration) enrol(ctx context.Context, email, hash, tenant string, role actor.Role) (u *accounts.User, err error) {
	err = s.Write(ctx, func(tx *db.Tx) error {
		u, err = accounts.UserByEmail(tx, email)
		switch {
		case fault.Is(err, fault.NotFound):
			u = s.Accounts.Draft(email, nil)
			u.Hash, u.EmailConfirmedAt, u.ConfirmedAt = hash, u.CreatedAt, u.CreatedAt
			u.Identities = []accounts.Identity{accounts.EmailIdentity(u, u.CreatedAt.Time)}
			u.Derive()
			err = accounts.InsertUser(tx, u)
		case err == nil && hash != "":
			tx.Queue("UPDATE users SET email_confirmed_at = COALESCE(email_confirmed_at, $2) WHERE id = $1", []any{u.ID, s.Now()}, nil)
			err = s.Passwords.SetPassword(tx, u, hash, actor.Actor{KeyID: "cli"})
		}
		if err != nil || tenant == "" {
			return err
		}
		t, err := tenants.TenantBy(tx, tenant)
		if err != nil {
			return err
		}
		return s.Tenants.SetRole(tx, t.ID, u, role)
	})
	return u, err
}

// AddMember makes an account a member of a tenant (id or slug); the account is
// made without a password when there is none.
func (s *Administration) AddMember(ctx context.Context, tenant, email string, role actor.Role) (*accounts.User, error) {
	addr, err := accounts.Canonical(email)
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
	addr, err := accounts.Canonical(email)
	if err != nil {
		return "", err
	}
	u, err := s.enrol(ctx, addr, "", tenant, actor.Owner)
	if err != nil {
		return "", err
	}
	var made codes.Code
	err = s.Write(ctx, func(tx *db.Tx) (err error) {
		made, err = s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindRecovery, Address: addr, TTL: tenants.InviteLife})
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

// WithPassword returns the addresses of those of the accounts, named by id, that
// can be signed in to with the password.
func (s *Administration) WithPassword(ctx context.Context, ids []string, pw string) (list []string, err error) {
	var hashes, names []string
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		hashes, names = nil, nil
		return tx.Query("SELECT password_hash, COALESCE(email, phone, CAST(id AS text)) FROM users WHERE "+tx.DB().InUUID("id", 1)+
			" AND password_hash <> '' AND deleted_at IS NULL ORDER BY id",
			[]any{accounts.WriteJSON(ids)}, func(r *db.Row) error {
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
