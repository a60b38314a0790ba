package admin

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/password"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/tenants"
)

// Administration is what service keys and the command line do with any account.
type Administration struct {
	*accounts.Base
	Accounts    *accounts.Store
	Addresses   *tenants.Addresses
	Codes       *codes.Store
	Invitations *tenants.Invitations
	OTP         *signin.OTP
	Passwords   *accounts.Passwords
	Post        *codes.Post
	Tenants     *tenants.Store

	administered atomic.Bool // there was an administrator when it was last asked
}

// UserPage asks for a page of accounts, newest first unless Sort says else.
type UserPage struct {
	Page, PerPage int    // from 1
	Filter        string // part of the address
	Sort          string // "created_at desc", "email asc", ...
}

// Users returns a page of accounts and how many there are.
func (s *Administration) Users(
	ctx context.Context, a actor.Actor, in UserPage,
) (list []*accounts.User, total int64, err error) {
	if err := accounts.RequireService(a); err != nil {
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
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		list = []*accounts.User{}
		tx.Queue(db.FillWords(`
			SELECT COUNT(*)
			FROM users
			WHERE {where}`, "{where}", where), []any{pattern}, func(r *db.Row) error {
			total = r.Int(0)
			return nil
		})
		err := tx.Query(db.FillWords(`
			SELECT {user columns}
			FROM users
			WHERE {where}
			ORDER BY {order}, id
			LIMIT $2 OFFSET $3`,
			"{user columns}", accounts.UserColumns, "{where}", where, "{order}", order),
			[]any{pattern, in.PerPage, (in.Page - 1) * in.PerPage}, func(r *db.Row) error {
				list = append(list, accounts.ScanUser(r))
				return nil
			})
		if err != nil || len(list) == 0 {
			return err
		}
		return accounts.WithIdentities(tx, list)
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
		return "", fault.New(fault.Invalid, "validation_failed", "Bad Sort Field: %s", accounts.CutText(col, 40))
	}
	switch dir {
	case "", "desc":
		return col + " DESC NULLS LAST", nil
	case "asc":
		return col + " ASC NULLS LAST", nil
	}
	return "", fault.New(fault.Invalid, "validation_failed", "Bad Sort Direction: %s", accounts.CutText(dir, 40))
}

// UserByID returns one account; one that was softly deleted too, whose row says
// when and keeps its id from being anybody else's.
func (s *Administration) UserByID(ctx context.Context, a actor.Actor, id string) (u *accounts.User, err error) {
	if err := accounts.RequireService(a); err != nil {
		return nil, err
	}
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		u, err = accounts.FlushedUser(tx, accounts.QueueUser(tx, "id = $1", "$1", id))
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
		phone, err := accounts.CanonicalPhone(*in.Phone)
		if err != nil {
			return "", err
		}
		in.Phone = &phone
	}
	if in.Email != nil && *in.Email != "" {
		email, err := accounts.Canonical(*in.Email)
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
	return s.Passwords.Hasher.Hash(ctx, *in.Password)
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
		return until, false, fault.New(fault.Invalid, "validation_failed", "invalid format for ban duration: %s",
			accounts.CutText(*in.BanDuration, 40))
	}
	return s.Now().Add(d), true, nil
}

// CreateUser makes an account for the service key. Without a password the
// account has none that matches.
func (s *Administration) CreateUser(ctx context.Context, a actor.Actor, in AdminUser) (*accounts.User, error) {
	if err := accounts.RequireService(a); err != nil {
		return nil, err
	}
	hash, err := s.prepare(ctx, &in)
	if err != nil {
		return nil, err
	}
	if accounts.Given(in.Email) == "" && accounts.Given(in.Phone) == "" {
		return nil, fault.New(fault.Invalid, "validation_failed", "Cannot create a user without either an email or phone")
	}
	u, err := s.build(in, hash)
	if err != nil {
		return nil, err
	}
	err = s.Write(ctx, func(tx *db.Tx) error {
		if err := accounts.CheckFree(tx, u); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Key: a.KeyID, Action: "user.created", Entity: "user", EntityID: u.ID,
			Client: accounts.ClientOf(a)})
		if err := accounts.InsertUser(tx, u); err != nil || u.ConfirmedAt.IsZero() {
			return err
		}
		return s.Invitations.JoinAsWished(tx, u, accounts.ClientOf(a))
	})
	if err != nil {
		return nil, accounts.Conflict(err)
	}
	return u, nil
}

func (s *Administration) build(in AdminUser, hash string) (*accounts.User, error) {
	u := s.Accounts.Draft(accounts.Given(in.Email), nil)
	u.Hash, u.Phone = hash, accounts.Given(in.Phone)
	if in.ID != "" {
		id, ok := accounts.CanonicalID(in.ID)
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
		u.Role = accounts.CutText(*in.Role, 64)
	}
	until, _, err := s.banUntil(in)
	if err != nil {
		return nil, err
	}
	u.BannedUntil = accounts.Time{Time: until}
	if u.UserMetadata, err = accounts.MergeUserData(nil, in.UserMetadata); err != nil {
		return nil, err
	}
	if u.AppData, err = accounts.Merge(nil, in.AppMetadata); err != nil {
		return nil, err
	}
	if u.Email != "" {
		u.Identities = append(u.Identities, accounts.EmailIdentity(u, u.CreatedAt.Time))
	}
	if u.Phone != "" {
		u.Identities = append(u.Identities, accounts.PhoneIdentity(u))
	}
	u.Derive()
	return u, nil
}

// expireSessions ends the sessions of a banned account where they stand: their
// refresh tokens are told of the ban, and the ban's own end brings none back.
func (s *Administration) expireSessions(tx *db.Tx, userID string) error {
	codes.EndFlows(tx, userID)
	_, err := tx.Exec(`
		UPDATE sessions
		SET not_after = $2
		WHERE user_id = $1
			AND not_after > $2`, userID, s.Now())
	tx.After(func() { s.Forget(userID) })
	return err
}

// ChangeUser changes an account for the service key. A new password or a ban
// ends all its sessions; anything else empties its cache.
func (s *Administration) ChangeUser(
	ctx context.Context, a actor.Actor, id string, in AdminUser,
) (*accounts.User, error) {
	if err := accounts.RequireService(a); err != nil {
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
	var u *accounts.User
	err = s.Write(ctx, func(tx *db.Tx) (err error) {
		if u, err = accounts.LockedUser(tx, id); err != nil {
			return err
		}
		if ban {
			u.BannedUntil = accounts.Time{Time: until}
			if u.Banned(s.Now()) {
				err = s.expireSessions(tx, u.ID)
			}
		}
		if err != nil {
			return err
		}
		return s.change(tx, a, u, in, hash)
	})
	if err != nil {
		return nil, accounts.Conflict(err)
	}
	return u, nil
}

// proves reports whether the service key says with a change whose address or
// number the account's is.
func (in AdminUser) proves(u *accounts.User) bool {
	email, phone := accounts.Given(in.Email), accounts.Given(in.Phone)
	return email != "" && email != u.Email || phone != "" && phone != u.Phone || in.EmailConfirm && u.Email != "" ||
		in.PhoneConfirm && u.Phone != ""
}

// firstProof takes off an account that nobody has proved yet what whoever made it
// left in it, before the service key says that it is its owner's. The password of
// an account that the service key made, or gave one, is its own.
func (s *Administration) firstProof(tx *db.Tx, a actor.Actor, u *accounts.User, in AdminUser) error {
	if !u.ConfirmedAt.IsZero() || u.IsAnonymous || u.SSO || !in.proves(u) {
		return nil
	}
	own, err := keyMade(tx, a, u)
	if err != nil {
		return err
	}
	if own {
		return s.Accounts.WithoutProviders(tx, u, "")
	}
	return s.Addresses.Unowned(tx, u)
}

const keyMadeSQL = `
	SELECT COUNT(*)
	FROM audit
	WHERE tenant_id IN ($1, $2)
		AND entity_id = $3
		AND action IN ('user.created', 'user.password_changed')`

// keyMade reports whether the service key made an account that nobody has
// proved yet, or gave it a password: the one in it is the key's.
func keyMade(tx *db.Tx, a actor.Actor, u *accounts.User) (own bool, err error) {
	err = tx.One(keyMadeSQL,
		[]any{db.NoTenant, cmp.Or(a.TenantID, db.NoTenant), u.ID}, func(r *db.Row) error { own = r.Int(0) > 0; return nil })
	return own, err
}

func (s *Administration) change(tx *db.Tx, a actor.Actor, u *accounts.User, in AdminUser, hash string) (err error) {
	now := s.Now()
	if err := s.firstProof(tx, a, u, in); err != nil {
		return err
	}
	if u.UserMetadata, err = accounts.MergeUserData(u.UserMetadata, in.UserMetadata); err != nil {
		return err
	}
	if u.AppData, err = accounts.Merge(u.AppData, in.AppMetadata); err != nil {
		return err
	}
	if in.Role != nil && *in.Role != "" {
		u.Role = accounts.CutText(*in.Role, 64)
	}
	u.UpdatedAt = accounts.Time{Time: now}
	_, err = tx.Exec(`
		UPDATE users
		SET user_metadata = $2, app_metadata = $3, role = $4, banned_until = $5, updated_at = $6
		WHERE id = $1`,
		u.ID, accounts.WriteJSON(u.UserMetadata), accounts.WriteJSON(u.AppData), u.Role, accounts.NullTime(u.BannedUntil),
		now)
	if err != nil {
		return err
	}
	if in.Email != nil && *in.Email != "" && *in.Email != u.Email {
		if err := s.Addresses.SetAddress(tx, u, *in.Email, accounts.ClientOf(a)); err != nil {
			return err
		}
	} else if in.EmailConfirm && u.Email != "" && u.EmailConfirmedAt.IsZero() {
		u.EmailConfirmedAt, u.ConfirmedAt = accounts.Time{Time: now}, accounts.Time{Time: now}
		tx.Queue("UPDATE users SET email_confirmed_at = $2 WHERE id = $1", []any{u.ID, now}, nil)
		s.Addresses.ProveIdentity(tx, u)
		if err := s.Invitations.JoinAsWished(tx, u, accounts.ClientOf(a)); err != nil {
			return err
		}
	}
	if err := s.setNumber(tx, u, in, accounts.ClientOf(a)); err != nil {
		return err
	}
	if hash != "" {
		if err := s.Passwords.SetPassword(tx, u, hash, a); err != nil {
			return err
		}
	}
	u.Derive()
	s.Audit(tx, accounts.Event{Key: a.KeyID, Action: "user.updated", Entity: "user", EntityID: u.ID,
		Details: map[string]any{"banned": u.Banned(now)}, Client: accounts.ClientOf(a)})
	tx.After(func() { s.Forget(u.ID) })
	return tx.Flush()
}

// setNumber gives an account the number an administrator says it has; its
// codes and those of a number before die.
func (s *Administration) setNumber(tx *db.Tx, u *accounts.User, in AdminUser, c accounts.Client) error {
	phone := accounts.Given(in.Phone)
	if phone == "" {
		phone = u.Phone
	}
	if phone == "" || phone == u.Phone && (!in.PhoneConfirm || !u.PhoneConfirmedAt.IsZero()) {
		return nil
	}
	if phone != u.Phone {
		if err := accounts.CheckFree(tx, &accounts.User{Phone: phone}); err != nil {
			return err
		}
	}
	u.NewPhone = phone
	return s.Addresses.ProvePhone(tx, u, codes.OneTime{Kind: codes.KindPhoneChange, Address: phone}, c)
}
