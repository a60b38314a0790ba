package accounts

import (
	"encoding/json"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/gotruetime"
	"holdfast/internal/identity/oidc"
	"holdfast/internal/identity/token"
)

// IdentityOf is the id of the account's identity of a person, or "".
func (u *User) IdentityOf(p oidc.Config, who oidc.Person) string {
	for _, i := range u.Identities {
		if i.Provider == p.Name && i.Issuer == p.Issuer && i.ID == who.Subject {
			return i.IdentityID
		}
	}
	return ""
}

// Passkey is a registered passkey as clients see it.
type Passkey struct {
	ID           string `json:"id"`
	FriendlyName string `json:"friendly_name"`
	CreatedAt    Time   `json:"created_at"`
	LastUsedAt   Time   `json:"last_used_at,omitzero"`

	User, Credential string `json:"-"`
}

// Time is an instant in JSON's fixed-width UTC form.
type Time = gotruetime.Time

// User is an account as supabase-js reads it. It never holds a hash or a token
// in its exported part.
type User struct {
	ID                 string          `json:"id"`
	Aud                string          `json:"aud"`
	Role               string          `json:"role"`
	Email              string          `json:"email"`
	EmailConfirmedAt   Time            `json:"email_confirmed_at,omitzero"`
	Phone              string          `json:"phone"`
	PhoneConfirmedAt   Time            `json:"phone_confirmed_at,omitzero"`
	ConfirmedAt        Time            `json:"confirmed_at,omitzero"`
	ConfirmationSentAt Time            `json:"confirmation_sent_at,omitzero"`
	RecoverySentAt     Time            `json:"recovery_sent_at,omitzero"`
	EmailChangeSentAt  Time            `json:"email_change_sent_at,omitzero"`
	NewEmail           string          `json:"new_email,omitempty"`
	NewPhone           string          `json:"new_phone,omitempty"`
	PhoneChangeSentAt  Time            `json:"phone_change_sent_at,omitzero"`
	ReauthSentAt       Time            `json:"reauthentication_sent_at,omitzero"`
	InvitedAt          Time            `json:"invited_at,omitzero"`
	LastSignInAt       Time            `json:"last_sign_in_at,omitzero"`
	AppMetadata        map[string]any  `json:"app_metadata"`
	UserMetadata       map[string]any  `json:"user_metadata"`
	Identities         []Identity      `json:"identities"`
	Factors            []factor.Factor `json:"factors,omitempty"`
	Passkeys           []Passkey       `json:"passkeys,omitempty"` // after a change of password alone
	CreatedAt          Time            `json:"created_at"`
	UpdatedAt          Time            `json:"updated_at"`
	BannedUntil        Time            `json:"banned_until,omitzero"`
	DeletedAt          Time            `json:"deleted_at,omitzero"`
	IsAnonymous        bool            `json:"is_anonymous"`

	Hash           string         `json:"-"`
	SSO            bool           `json:"-"`
	LastTenant     string         `json:"-"`
	From           factor.Places  `json:"-"` // addresses it was signed in to from
	WrongPasswords guesses        `json:"-"` // read for a sign-in by password
	AppData        map[string]any `json:"-"` // app metadata as stored, without derived keys
}

// Identity is one way an account signs in.
type Identity struct {
	IdentityID   string         `json:"identity_id"`
	ID           string         `json:"id"` // the provider's subject; the user id for e-mail
	UserID       string         `json:"user_id"`
	Data         map[string]any `json:"identity_data"`
	Provider     string         `json:"provider"`
	LastSignInAt Time           `json:"last_sign_in_at,omitzero"`
	CreatedAt    Time           `json:"created_at"`
	UpdatedAt    Time           `json:"updated_at"`
	Email        string         `json:"email,omitempty"`

	Issuer string `json:"-"`
}

// errNoUser is raised by code, for callers that must not tell.
func errNoUser() error { return fault.New(fault.NotFound, "user_not_found", "User not found") }

// UserColumns are what ScanUser reads.
const UserColumns = `id, email, phone, role, password_hash, email_confirmed_at, phone_confirmed_at, confirmation_sent_at, recovery_sent_at,
	email_change_sent_at, reauthentication_sent_at, new_email, invited_at, last_sign_in_at, banned_until, deleted_at, app_metadata, user_metadata,
	is_sso, is_anonymous, last_tenant_id, created_at, updated_at, new_phone, phone_change_sent_at, signed_in_from`

// ScanUser reads a row of UserColumns.
func ScanUser(r *db.Row) *User {
	at := func(i int) Time { return Time{Time: r.Time(i)} }
	u := &User{
		ID: r.Text(0), Aud: token.Audience, Email: r.Text(1), Phone: r.Text(2), Role: r.Text(3), Hash: r.Text(4),
		EmailConfirmedAt: at(5), PhoneConfirmedAt: at(6),
		ConfirmationSentAt: at(7), RecoverySentAt: at(8), EmailChangeSentAt: at(9), ReauthSentAt: at(10),
		NewEmail: r.Text(11), InvitedAt: at(12),
		LastSignInAt: at(13), BannedUntil: at(14), DeletedAt: at(15), AppData: readMap(r.Text(16)),
		UserMetadata: readMap(r.Text(17)), SSO: r.Bool(18),
		IsAnonymous: r.Bool(19), LastTenant: r.Text(20), CreatedAt: at(21), UpdatedAt: at(22), NewPhone: r.Text(23),
		PhoneChangeSentAt: at(24),
		From:              factor.ReadPlaces(r.Text(25)), Identities: []Identity{},
	}
	u.ConfirmedAt = u.EmailConfirmedAt
	if c := u.PhoneConfirmedAt; !c.IsZero() && (u.ConfirmedAt.IsZero() || c.Before(u.ConfirmedAt.Time)) {
		u.ConfirmedAt = c
	}
	return u
}

// QueueUser reads the account that where names, with its identities and
// factors, at the next flush: in one round trip. id is an expression for its
// id; both are our own texts. found completes what was read.
func QueueUser(tx *db.Tx, where, id string, args ...any) *User {
	u := &User{}
	QueueRow(tx, u, where, args...)
	factor.Queue(tx, "user_id IN ("+id+")", args, func(f factor.Factor) {
		if f.UserID == u.ID {
			u.Factors = append(u.Factors, f)
		}
	})
	queueIdentities(tx, "user_id IN ("+id+")", args, func(i Identity) {
		if i.UserID == u.ID {
			u.Identities = append(u.Identities, i)
		}
	})
	return u
}

// QueueRow reads into u, at the next flush, the account that where names; u
// stays empty where there is none.
func QueueRow(tx *db.Tx, u *User, where string, args ...any) {
	tx.Queue(db.FillWords(`
		SELECT {user columns}
		FROM users
		WHERE {where}`, "{user columns}", UserColumns, "{where}", where), args, func(r *db.Row) error {
		if u.ID == "" {
			*u = *ScanUser(r)
		}
		return nil
	})
}

// found returns an account that QueueUser has read, or errNoUser.
func (u *User) found() (*User, error) {
	if u.ID == "" {
		return nil, errNoUser()
	}
	u.Derive()
	return u, nil
}

// UserBy finds the account of a condition, with its identities.
func UserBy(tx *db.Tx, where string, args ...any) (*User, error) {
	return FlushedUser(tx, QueueUser(tx, where, db.FillWords(`
		SELECT id
		FROM users
		WHERE {where}`, "{where}", where), args...))
}

// FlushedUser sends what is queued and returns the account that was asked for with it.
func FlushedUser(tx *db.Tx, u *User) (*User, error) {
	if err := tx.Flush(); err != nil {
		return nil, err
	}
	return u.found()
}

// Whom an id, an address or a number names; is_sso ($2) is false for those who
// sign in by the latter two.
const (
	liveUser  = "id = $1 AND deleted_at IS NULL"
	ByAddress = "email = $1 AND is_sso = $2 AND deleted_at IS NULL"
	ByNumber  = "phone = $1 AND is_sso = $2 AND deleted_at IS NULL"
)

// UserByID finds an account by its id.
func UserByID(tx *db.Tx, id string) (*User, error) {
	return FlushedUser(tx, QueueUser(tx, liveUser, "$1", id))
}

// UserByEmail finds the account that signs in with an address; SSO accounts
// are never found by address.
func UserByEmail(tx *db.Tx, email string) (*User, error) {
	return UserBy(tx, ByAddress, email, false)
}

// LockedUser is UserByID with the row locked until the transaction ends.
func LockedUser(tx *db.Tx, id string) (*User, error) {
	return FlushedUser(tx, QueueLockedUser(tx, id))
}

// QueueLockedUser is LockedUser within the next round trip.
func QueueLockedUser(tx *db.Tx, id string) *User {
	return QueueUser(tx, liveUser+tx.DB().ForUpdate(), "$1", id)
}

// WithIdentities completes a list of accounts.
func WithIdentities(tx *db.Tx, users []*User) error {
	byID, ids := map[string]*User{}, make([]string, len(users))
	for i, u := range users {
		byID[u.ID], ids[i] = u, u.ID
	}
	where, args := tx.DB().InUUID("user_id", 1), []any{WriteJSON(ids)}
	factor.Queue(tx, where, args, func(f factor.Factor) {
		if u := byID[f.UserID]; u != nil {
			u.Factors = append(u.Factors, f)
		}
	})
	queueIdentities(tx, where, args, func(i Identity) {
		if u := byID[i.UserID]; u != nil {
			u.Identities = append(u.Identities, i)
		}
	})
	err := tx.Flush()
	for _, u := range users {
		u.Derive()
	}
	return err
}

// queueIdentities reads identities in order of first use at the next flush.
func queueIdentities(tx *db.Tx, where string, args []any, each func(Identity)) {
	tx.Queue(db.FillWords(`
		SELECT id, user_id, provider, issuer, subject, email, data, last_sign_in_at, created_at, updated_at
		FROM identities
		WHERE {where}
		ORDER BY created_at NULLS LAST, id`, "{where}", where),
		args, func(r *db.Row) error {
			each(Identity{IdentityID: r.Text(0), UserID: r.Text(1), Provider: r.Text(2), Issuer: r.Text(3), ID: r.Text(4),
				Email: r.Text(5), Data: readMap(r.Text(6)),
				LastSignInAt: Time{Time: r.Time(7)}, CreatedAt: Time{Time: r.Time(8)}, UpdatedAt: Time{Time: r.Time(9)}})
			return nil
		})
}

// Derive fills app_metadata: what is stored, and the providers in order of
// first use.
func (u *User) Derive() {
	m := map[string]any{}
	for k, v := range u.AppData {
		m[k] = v
	}
	if len(u.Identities) > 0 {
		seen, list := map[string]bool{}, []string{}
		for _, i := range u.Identities {
			if !seen[i.Provider] {
				seen[i.Provider] = true
				list = append(list, i.Provider)
			}
		}
		m["provider"], m["providers"] = list[0], list
	}
	u.AppMetadata = m
}

// WorksIn shows the session's tenant in app_metadata, where the user cannot write.
func (u *User) WorksIn(m Member) {
	delete(u.AppMetadata, "tenant_id")
	delete(u.AppMetadata, "tenant_role")
	if m.TenantID != "" {
		u.AppMetadata["tenant_id"], u.AppMetadata["tenant_role"] = m.TenantID, string(m.Role)
	}
}

// Banned reports an account that may not sign in now.
func (u *User) Banned(now time.Time) bool { return now.Before(u.BannedUntil.Time) }

// InsertUser writes a new account and, when it has an address, its e-mail
// identity.
func InsertUser(tx *db.Tx, u *User) error {
	tx.Queue(`INSERT INTO users (id, email, role, password_hash, email_confirmed_at, confirmation_sent_at, invited_at, banned_until, app_metadata, user_metadata,
		is_sso, is_anonymous, created_at, updated_at, phone, phone_confirmed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15)`,
		[]any{u.ID, db.Null(u.Email), u.Role, db.Null(u.Hash), NullTime(u.EmailConfirmedAt), NullTime(u.ConfirmationSentAt),
			NullTime(u.InvitedAt), NullTime(u.BannedUntil), WriteJSON(u.AppData),
			WriteJSON(u.UserMetadata), u.SSO, u.IsAnonymous, u.CreatedAt.Time, db.Null(u.Phone), NullTime(u.PhoneConfirmedAt)},
		nil)
	for i := range u.Identities {
		InsertIdentity(tx, &u.Identities[i])
	}
	return tx.Flush()
}

// InsertIdentity queues a new identity.
func InsertIdentity(tx *db.Tx, i *Identity) {
	tx.Queue(`INSERT INTO identities (id, user_id, provider, issuer, subject, email, data, last_sign_in_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`,
		[]any{i.IdentityID, i.UserID, i.Provider, i.Issuer, i.ID, db.Null(i.Email), WriteJSON(i.Data),
			NullTime(i.LastSignInAt), i.CreatedAt.Time}, nil)
}

// EmailIdentity is the identity of an account that signs in by address.
func EmailIdentity(u *User, now time.Time) Identity {
	return Identity{IdentityID: db.NewID(), ID: u.ID, UserID: u.ID, Provider: "email", Email: u.Email,
		CreatedAt: Time{Time: now}, UpdatedAt: Time{Time: now}, LastSignInAt: Time{Time: now},
		Data: map[string]any{"sub": u.ID, "email": u.Email, "email_verified": !u.EmailConfirmedAt.IsZero(),
			"phone_verified": false}}
}

// NullTime is a time as a column holds it: NULL for none.
func NullTime(t Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Time
}

// RawJSON is metadata as an answer holds it.
func RawJSON(m map[string]any) json.RawMessage { return json.RawMessage(WriteJSON(m)) }
