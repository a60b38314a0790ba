package identity

import (
	"cmp"
	"context"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/password"
)

// Administration is what service keys and the command line do with any account.
type Administration struct {
	*Base
	accounts    *Accounts
	addresses   *Addresses
	codes       *Codes
	invitations *Invitations
	otp         *OTP
	passwords   *Passwords
	post        *Post
	tenants     *Tenants
}

// requireService admits the service key alone: a tenant's administrator has no
// say over accounts, which belong to people.
func requireService(a actor.Actor) error {
	if a.Role != actor.Service {
		return fault.New(fault.Forbidden, "not_admin", "User not allowed")
	}
	return nil
}

// UserPage asks for a page of accounts, newest first unless Sort says else.
type UserPage struct {
	Page, PerPage int    // from 1
	Filter        string // part of the address
	Sort          string // "created_at desc", "email asc", ...
}

// Users returns a page of accounts and how many there are.
func (s *Administration) Users(ctx context.Context, a actor.Actor, in UserPage) (list []*User, total int64, err error) {
	if err := requireService(a); err != nil {
		return nil, 0, err
	}
	order, err := userOrder(in.Sort)
	if err != nil {
		return nil, 0, err
	}
	where := "deleted_at IS NULL AND (CAST($1 AS text) = '' OR email LIKE $1 ESCAPE '\\')"
	pattern := ""
	if in.Filter != "" {
		pattern = "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(strings.ToLower(in.Filter)) + "%"
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
		list = []*User{}
		tx.Queue("SELECT COUNT(*) FROM users WHERE "+where, []any{pattern}, func(r *db.Row) error { total = r.Int(0); return nil })
		err := tx.Query("SELECT "+userColumns+" FROM users WHERE "+where+" ORDER BY "+order+", id LIMIT $2 OFFSET $3",
			[]any{pattern, in.PerPage, (in.Page - 1) * in.PerPage}, func(r *db.Row) error {
				list = append(list, scanUser(r))
				return nil
			})
		if err != nil || len(list) == 0 {
			return err
		}
		return withIdentities(tx, list)
	})
	return list, total, err
}

func userOrder(sort string) (string, error) {
	if sort == "" {
		return "created_at DESC NULLS LAST", nil
	}
	col, dir, _ := strings.Cut(strings.ToLower(strings.TrimSpace(sort)), " ")
	switch col {
	case "created_at", "updated_at", "last_sign_in_at", "email":
	default:
		return "", fault.New(fault.Invalid, "validation_failed", "Bad Sort Field: %s", cut(col, 40))
	}
	switch dir {
	case "", "desc":
		return col + " DESC NULLS LAST", nil
	case "asc":
		return col + " ASC NULLS LAST", nil
	}
	return "", fault.New(fault.Invalid, "validation_failed", "Bad Sort Direction: %s", cut(dir, 40))
}

// UserByID returns one account; one that was softly deleted too, whose row says
// when and keeps its id from being anybody else's.
func (s *Administration) UserByID(ctx context.Context, a actor.Actor, id string) (u *User, err error) {
	if err := requireService(a); err != nil {
		return nil, err
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		u, err = flushed(tx, queueUser(tx, "id = $1", "$1", id))
		return err
	})
	return u, err
}

// AdminUser is what the service key may set of an account. Nil leaves alone.
type AdminUser struct {
	ID           string
	Email        *string
	Phone        *string
	Password     *string
	PasswordHash *string // bcrypt or argon2 in PHC form
	EmailConfirm bool
	PhoneConfirm bool
	UserMetadata map[string]any
	AppMetadata  map[string]any
	Role         *string
	BanDuration  *string // Go duration, or "none"
}

// prepare checks the input and hashes the password; no strength is asked of an
// administrator's choice.
func (s *Administration) prepare(ctx context.Context, in *AdminUser) (hash string, err error) {
	if in.Phone != nil && *in.Phone != "" {
		phone, err := CanonicalPhone(*in.Phone)
		if err != nil {
			return "", err
		}
		in.Phone = &phone
	}
	if in.Email != nil && *in.Email != "" {
		email, err := Canonical(*in.Email)
		if err != nil {
			return "", err
		}
		in.Email = &email
	}
	if in.PasswordHash != nil && *in.PasswordHash != "" {
		if in.Password != nil && *in.Password != "" {
			return "", fault.New(fault.Invalid, "validation_failed", "Only a password or a password hash should be provided")
		}
		return *in.PasswordHash, password.Importable(*in.PasswordHash)
	}
	if in.Password == nil || *in.Password == "" {
		return "", nil
	}
	if err := password.TooLong(*in.Password); err != nil {
		return "", err
	}
	return s.passwords.hasher.Hash(ctx, *in.Password)
}

// banUntil reads a ban: zero for "none", ok false when nothing is asked.
func (s *Administration) banUntil(in AdminUser) (until time.Time, ok bool, err error) {
	if in.BanDuration == nil || *in.BanDuration == "" {
		return until, false, nil
	}
	if *in.BanDuration == "none" {
		return until, true, nil
	}
	d, err := time.ParseDuration(*in.BanDuration)
	if err != nil || d < 0 {
		return until, false, fault.New(fault.Invalid, "validation_failed", "invalid format for ban duration: %s", cut(*in.BanDuration, 40))
	}
	return s.now().Add(d), true, nil
}

// CreateUser makes an account for the service key. Without a password the
// account has none that matches.
func (s *Administration) CreateUser(ctx context.Context, a actor.Actor, in AdminUser) (*User, error) {
	if err := requireService(a); err != nil {
		return nil, err
	}
	hash, err := s.prepare(ctx, &in)
	if err != nil {
		return nil, err
	}
	if given(in.Email) == "" && given(in.Phone) == "" {
		return nil, fault.New(fault.Invalid, "validation_failed", "Cannot create a user without either an email or phone")
	}
	u, err := s.build(in, hash)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, func(tx *db.Tx) error {
		if err := free(tx, u); err != nil {
			return err
		}
		s.record(tx, event{key: a.KeyID, action: "user.created", entity: "user", entityID: u.ID, client: clientOf(a)})
		if err := insertUser(tx, u); err != nil || u.ConfirmedAt.IsZero() {
			return err
		}
		return s.invitations.joinAsWished(tx, u, clientOf(a))
	})
	if err != nil {
		return nil, taken(err)
	}
	return u, nil
}

func (s *Administration) build(in AdminUser, hash string) (*User, error) {
	u := s.accounts.draft(given(in.Email), nil)
	u.hash, u.Phone = hash, given(in.Phone)
	if in.ID != "" {
		id, ok := canonicalID(in.ID)
		if !ok {
			return nil, fault.New(fault.Invalid, "validation_failed", "ID must conform to the uuid v4 format")
		}
		u.ID = id
	}
	if in.EmailConfirm && u.Email != "" {
		u.EmailConfirmedAt, u.ConfirmedAt = u.CreatedAt, u.CreatedAt
	}
	if in.PhoneConfirm && u.Phone != "" {
		u.PhoneConfirmedAt, u.ConfirmedAt = u.CreatedAt, u.CreatedAt
	}
	if in.Role != nil && *in.Role != "" {
		u.Role = cut(*in.Role, 64)
	}
	until, _, err := s.banUntil(in)
	if err != nil {
		return nil, err
	}
	u.BannedUntil = Time{Time: until}
	if u.UserMetadata, err = merge(nil, in.UserMetadata); err != nil {
		return nil, err
	}
	if u.app, err = merge(nil, in.AppMetadata); err != nil {
		return nil, err
	}
	if u.Email != "" {
		u.Identities = append(u.Identities, emailIdentity(u, u.CreatedAt.Time))
	}
	if u.Phone != "" {
		u.Identities = append(u.Identities, phoneIdentity(u))
	}
	u.derive()
	return u, nil
}

func given(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// taken says which of an account's unique values another one has, where only the
// index saw it: an id that was given, or what came in the same moment.
func taken(err error) error {
	f := fault.As(err)
	v, ok := f.Data.(*db.Violation)
	if !ok || f.Code != "23505" || v.Table != "users" {
		return err
	}
	switch name := cmp.Or(v.Constraint, "users_"+strings.Join(v.Columns, "_")); {
	case strings.Contains(name, "phone"):
		return errPhoneTaken()
	case strings.Contains(name, "email"):
		return errTaken()
	}
	return fault.Wrap(err, fault.Unprocessable, "user_already_exists", "A user with this id already exists").At("id", "taken")
}

// free refuses an address or a number that another account has.
func free(tx *db.Tx, u *User) error {
	if u.Email != "" {
		if _, err := userByEmail(tx, u.Email); err == nil {
			return errTaken()
		} else if !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	if u.Phone == "" {
		return nil
	}
	if _, err := userByPhone(tx, u.Phone); err == nil {
		return errPhoneTaken()
	} else if !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// expireSessions ends the sessions of a banned account where they stand: their
// refresh tokens are told of the ban, and the ban's own end brings none back.
func (s *Administration) expireSessions(tx *db.Tx, userID string) error {
	tx.Queue("DELETE FROM flow_states WHERE user_id = $1", []any{userID}, nil)
	_, err := tx.Exec("UPDATE sessions SET not_after = $2 WHERE user_id = $1 AND not_after > $2", userID, s.now())
	tx.After(func() { s.Forget(userID) })
	return err
}

// ChangeUser changes an account for the service key. A new password or a ban
// ends all its sessions; anything else empties its cache.
func (s *Administration) ChangeUser(ctx context.Context, a actor.Actor, id string, in AdminUser) (*User, error) {
	if err := requireService(a); err != nil {
		return nil, err
	}
	hash, err := s.prepare(ctx, &in)
	if err != nil {
		return nil, err
	}
	until, ban, err := s.banUntil(in)
	if err != nil {
		return nil, err
	}
	var u *User
	err = s.write(ctx, func(tx *db.Tx) (err error) {
		if u, err = locked(tx, id); err != nil {
			return err
		}
		if ban {
			u.BannedUntil = Time{Time: until}
			if u.banned(s.now()) {
				err = s.expireSessions(tx, u.ID)
			}
		}
		if err != nil {
			return err
		}
		return s.change(tx, a, u, in, hash)
	})
	if err != nil {
		return nil, taken(err)
	}
	return u, nil
}

// proves reports whether the service key says with a change whose address or
// number the account's is.
func (in AdminUser) proves(u *User) bool {
	email, phone := given(in.Email), given(in.Phone)
	return email != "" && email != u.Email || phone != "" && phone != u.Phone || in.EmailConfirm && u.Email != "" || in.PhoneConfirm && u.Phone != ""
}

// firstProof takes off an account that nobody has proved yet what whoever made it
// left in it, before the service key says that it is its owner's. The password of
// an account that the service key made, or gave one, is its own.
func (s *Administration) firstProof(tx *db.Tx, a actor.Actor, u *User, in AdminUser) error {
	if !u.ConfirmedAt.IsZero() || u.IsAnonymous || u.sso || !in.proves(u) {
		return nil
	}
	own, err := keyMade(tx, a, u)
	if err != nil {
		return err
	}
	if own {
		return s.accounts.withoutProviders(tx, u, "")
	}
	return s.addresses.unowned(tx, u)
}

// keyMade reports whether the service key made an account that nobody has
// proved yet, or gave it a password: the one in it is the key's.
func keyMade(tx *db.Tx, a actor.Actor, u *User) (own bool, err error) {
	err = tx.One("SELECT COUNT(*) FROM audit WHERE tenant_id IN ($1, $2) AND entity_id = $3 AND action IN ('user.created', 'user.password_changed')",
		[]any{db.NoTenant, cmp.Or(a.TenantID, db.NoTenant), u.ID}, func(r *db.Row) error { own = r.Int(0) > 0; return nil })
	return own, err
}

func (s *Administration) change(tx *db.Tx, a actor.Actor, u *User, in AdminUser, hash string) (err error) {
	now := s.now()
	if err := s.firstProof(tx, a, u, in); err != nil {
		return err
	}
	if u.UserMetadata, err = merge(u.UserMetadata, in.UserMetadata); err != nil {
		return err
	}
	if u.app, err = merge(u.app, in.AppMetadata); err != nil {
		return err
	}
	if in.Role != nil && *in.Role != "" {
		u.Role = cut(*in.Role, 64)
	}
	u.UpdatedAt = Time{Time: now}
	_, err = tx.Exec("UPDATE users SET user_metadata = $2, app_metadata = $3, role = $4, banned_until = $5, updated_at = $6 WHERE id = $1",
		u.ID, writeJSON(u.UserMetadata), writeJSON(u.app), u.Role, at(u.BannedUntil), now)
	if err != nil {
		return err
	}
	if in.Email != nil && *in.Email != "" && *in.Email != u.Email {
		if err := s.addresses.setAddress(tx, u, *in.Email, clientOf(a)); err != nil {
			return err
		}
	} else if in.EmailConfirm && u.Email != "" && u.EmailConfirmedAt.IsZero() {
		u.EmailConfirmedAt, u.ConfirmedAt = Time{Time: now}, Time{Time: now}
		tx.Queue("UPDATE users SET email_confirmed_at = $2 WHERE id = $1", []any{u.ID, now}, nil)
		s.addresses.proveIdentity(tx, u)
		if err := s.invitations.joinAsWished(tx, u, clientOf(a)); err != nil {
			return err
		}
	}
	if err := s.addresses.setNumber(tx, u, in, clientOf(a)); err != nil {
		return err
	}
	if hash != "" {
		if err := s.passwords.setPassword(tx, u, hash, a); err != nil {
			return err
		}
	}
	u.derive()
	s.record(tx, event{key: a.KeyID, action: "user.updated", entity: "user", entityID: u.ID, details: map[string]any{"banned": u.banned(now)},
		client: clientOf(a)})
	tx.After(func() { s.Forget(u.ID) })
	return tx.Flush()
}

// accountTables hold what belongs to an account alone. Those of package sso say
// what an organisation's provider told of it.
var accountTables = [...]string{"passkeys", "one_time_tokens", "flow_states", "identities", "sso_group_members", "sso_accounts"}

// DeleteUser removes an account, its sessions and identities, and suspends its
// memberships; ids are never used again. A soft delete keeps the bare row. The
// last owner of a tenant is fault.Conflict.
func (s *Administration) DeleteUser(ctx context.Context, a actor.Actor, id string, soft bool) error {
	if err := requireService(a); err != nil {
		return err
	}
	return s.write(ctx, func(tx *db.Tx) error {
		u, err := locked(tx, id)
		if err != nil {
			return err
		}
		if err := s.endSessions(tx, u.ID, ""); err != nil {
			return err
		}
		factor.Forget(tx, u.ID)
		for _, table := range accountTables {
			tx.Queue("DELETE FROM "+table+" WHERE user_id = $1", []any{u.ID}, nil)
		}
		if err := s.leaveTenants(tx, u); err != nil {
			return err
		}
		if soft {
			tx.Queue(`UPDATE users SET email = NULL, phone = NULL, new_email = NULL, new_phone = NULL, password_hash = NULL, user_metadata = '{}', app_metadata = '{}',
				signed_in_from = NULL, deleted_at = $2, updated_at = $2 WHERE id = $1`, []any{u.ID, s.now()}, nil)
		} else {
			tx.Queue("DELETE FROM users WHERE id = $1", []any{u.ID}, nil)
		}
		s.record(tx, event{key: a.KeyID, action: "user.deleted", entity: "user", entityID: u.ID, details: map[string]any{"soft": soft}, client: clientOf(a)})
		return tx.Flush()
	})
}

// leaveTenants suspends an account's memberships, which keep no address of it,
// and leaves every tenant an owner.
func (s *Administration) leaveTenants(tx *db.Tx, u *User) error {
	var owned []string
	err := tx.Query("SELECT tenant_id FROM members WHERE user_id = $1 AND role = 'owner' AND status = 'active' ORDER BY tenant_id NULLS LAST",
		[]any{u.ID}, func(r *db.Row) error {
			owned = append(owned, r.Text(0))
			return nil
		})
	if err != nil {
		return err
	}
	if err := s.tenants.SuspendMembers(tx, "user_id = $1", u.ID); err != nil {
		return err
	}
	for _, tenant := range owned {
		if err := keepOwner(tx, tenant); err != nil {
			return err
		}
	}
	now := s.now()
	tx.Queue(`UPDATE invitations SET status = 'revoked', updated_at = $3, version = version + 1
		WHERE email = $2 AND status = 'pending' AND tenant_id IN (SELECT tenant_id FROM members WHERE user_id = $1)`, []any{u.ID, null(u.Email), now}, nil)
	tx.Queue("UPDATE members SET email = NULL, updated_at = $2, version = version + 1 WHERE user_id = $1", []any{u.ID, now}, nil)
	return nil
}
