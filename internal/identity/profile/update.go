package profile

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/mfa"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/tenants"
)

// startPhoneChange begins the move of an account to a number; it moves when
// the code sent there comes back.
func (s *Store) startPhoneChange(tx *db.Tx, u *accounts.User, in Update, a actor.Actor) error {
	phone := in.Phone
	if s.Config.SignupTellsTaken {
		if _, err := accounts.UserByPhone(tx, phone); !fault.Is(err, fault.NotFound) {
			if err == nil {
				err = accounts.ErrPhoneTaken()
			}
			return err
		}
	}
	if err := accounts.AsText(s.Post.ThrottleTx(tx, codes.KindPhoneChange, phone)); err != nil {
		return err
	}
	u.NewPhone, u.PhoneChangeSentAt = phone, accounts.Time{Time: s.Now()}
	s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: u.ID, Action: "user.phone_change_started", Entity: "user",
		EntityID: u.ID, Client: accounts.ClientOf(a)})
	if _, err := tx.Exec("UPDATE users SET new_phone = $2 WHERE id = $1", u.ID, phone); err != nil {
		return err
	}
	id := u.ID
	tx.After(func() {
		s.Links.Ours(s.Post.Outbox.Add(func(ctx context.Context) error {
			return s.OTP.TextCode(ctx, phone, func(tx *db.Tx) (*accounts.User, codes.CodeOrder, error) {
				u, err := accounts.UserByID(tx, id)
				return u, codes.CodeOrder{Kind: codes.KindPhoneChange, Address: phone, From: accounts.ClientOf(a).Place(),
					Digits: s.Config.PhoneCodes[phone], Channel: in.Channel}, err
			})
		}))
	})
	return nil
}

// Store is what people do with their own account.
type Store struct {
	*accounts.Base
	Accounts  *accounts.Store
	Addresses *tenants.Addresses
	Codes     *codes.Store
	Factors   *mfa.Factors
	Links     *accounts.Links
	OTP       *signin.OTP
	Passkeys  *mfa.Passkeys
	Passwords *accounts.Passwords
	Post      *codes.Post
	Proofs    *accounts.Proofs
	Sessions  *sessions.Store
	Tenants   *tenants.Store
	profiles  profiles
}

// User returns the caller's own account, with the session's tenant in
// app_metadata.
func (s *Store) User(ctx context.Context, a actor.Actor) (*accounts.User, error) {
	var u *accounts.User
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		if u, err = accounts.UserByID(tx, a.UserID); err != nil {
			return err
		}
		return s.showTenant(tx, u, a.SessionID)
	})
	if fault.HasCode(err, "user_not_found") {
		return nil, fault.New(fault.Unauthorized, "user_not_found", "User from sub claim in JWT does not exist")
	}
	return u, err
}

func (s *Store) showTenant(tx *db.Tx, u *accounts.User, sessionID string) error {
	tenant := ""
	err := tx.One("SELECT tenant_id FROM sessions WHERE id = $1", []any{sessionID}, func(r *db.Row) error {
		tenant = r.Text(0)
		return nil
	})
	if err != nil {
		return accounts.SessionGone(err)
	}
	var m accounts.Member
	if tenant != "" {
		if m, err = accounts.MemberOf(tx, u.ID, tenant); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	u.WorksIn(m)
	return nil
}

// Update is a change of the caller's own account.
type Update struct {
	Data            map[string]any // shallow merge, null deletes
	Password        string
	CurrentPassword string
	Nonce           string
	Email           string
	Phone           string
	Channel         string         // of the message to Phone: sms ("") or whatsapp
	AppMetadata     map[string]any // refused: not the user's to write
	PKCE            codes.PKCE
	Redirect        string   // resolved by Target
	Remove          []string // of what else opens the account: passkeys, factors, identities
}

// needsProof reports a change of where the account's mails and texts go, or of
// what else opens it.
func (in Update) needsProof() bool { return in.Email != "" || in.Phone != "" || len(in.Remove) > 0 }

// freshFor is how long after its sign-in a session may change the password
// without further proof.
const freshFor = 24 * time.Hour

// UpdateUser changes the caller's account. A tenant_id in Data switches the
// session to that tenant; where the caller is no member, or the value is no UUID,
// nothing at all is changed.
func (s *Store) UpdateUser(ctx context.Context, a actor.Actor, in Update) (*accounts.User, error) {
	if err := s.checkUpdate(&in); err != nil {
		return nil, err
	}
	if in.needsProof() {
		if err := s.mayUpdate(ctx, a, in, "A change of address, or of what opens the account,"); err != nil {
			return nil, err
		}
	}
	hash, err := s.newHash(ctx, a, in)
	if err != nil {
		return nil, err
	}
	var u *accounts.User
	var mails []mailtemplate.Letter
	err = s.Write(ctx, func(tx *db.Tx) (err error) {
		mails = nil
		if u, err = accounts.LockedUser(tx, a.UserID); err != nil {
			return err
		}
		if in.needsProof() || hash != "" {
			if err := accounts.NeedAAL2(u, a, fault.Unauthorized,
				"AAL2 session is required to update email, phone or password when MFA is enabled."); err != nil {
				return err
			}
		}
		if u.IsAnonymous && hash != "" && (in.Email == "" || !s.Config.Autoconfirm) {
			return fault.New(fault.Unprocessable, "validation_failed",
				"Updating password of an anonymous user without an email or phone is not allowed")
		}
		if u.SSO && (in.Email != "" || in.Phone != "" || hash != "") {
			return fault.New(fault.Unprocessable, "user_sso_managed",
				"Updating email, phone or password of a SSO account is only possible via the provider")
		}
		if err := s.applyData(tx, a, u, in.Data); err != nil {
			return err
		}
		if in.needsProof() || hash != "" {
			if err := s.takeNonce(tx, u.ID, in); err != nil {
				return err
			}
		}
		if err := s.removeWays(tx, a, u, in.Remove); err != nil {
			return err
		}
		if hash != "" {
			if err := s.Passwords.SetPassword(tx, u, hash, a); err != nil {
				return err
			}
			ways, err := s.otherWays(tx, u)
			if err != nil {
				return err
			}
			mails = append(mails, mailtemplate.Letter{Kind: mailtemplate.PasswordChanged, User: u.ID, To: u.Email, Ways: ways})
		}
		if in.Phone != "" && in.Phone != u.Phone {
			if err := s.startPhoneChange(tx, u, in, a); err != nil {
				return err
			}
		}
		if in.Email != "" && in.Email != u.Email {
			more, err := s.startChange(tx, u, in, accounts.ClientOf(a))
			if err != nil {
				return err
			}
			mails = append(mails, more...)
		}
		return s.showTenant(tx, u, a.SessionID)
	})
	if fault.HasCode(err, "tenant_forbidden") {
		if err := s.Sessions.Denied(ctx, a, accounts.RequestedTenant(in.Data)); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	for _, l := range mails {
		if l.To == "" {
			continue
		}
		if err := s.Post.Send(l); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func (s *Store) checkUpdate(in *Update) (err error) {
	if in.AppMetadata != nil {
		return fault.New(fault.Forbidden, "not_admin", "Updating app_metadata requires admin privileges")
	}
	if in.Phone != "" {
		if err := s.Accounts.PhonesOn(); err != nil {
			return err
		}
		if in.Phone, err = accounts.CanonicalPhone(in.Phone); err != nil {
			return err
		}
		if err := accounts.CheckChannel(&in.Channel); err != nil {
			return err
		}
	}
	if in.Email != "" {
		if in.Email, err = accounts.Canonical(in.Email); err != nil {
			return err
		}
	}
	if err := accounts.CheckWishedTenant(in.Data); err != nil {
		return err
	}
	if err := checkRemove(in.Remove); err != nil {
		return err
	}
	return in.PKCE.Check()
}

// newHash checks a new password and what entitles the caller to set it, and
// hashes it; "" when none is asked for. All hashing happens here, outside any
// transaction.
func (s *Store) newHash(ctx context.Context, a actor.Actor, in Update) (string, error) {
	if in.Password == "" {
		return "", nil
	}
	var u *accounts.User
	var sess sessions.Row
	var words []string
	err := s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		if u, err = accounts.UserByID(tx, a.UserID); err != nil {
			return err
		}
		if words, err = tenants.TenantNames(tx, a.TenantID); err != nil {
			return err
		}
		return tx.One("SELECT created_at, amr FROM sessions WHERE id = $1", []any{a.SessionID}, func(r *db.Row) error {
			sess.Created = r.Time(0)
			return json.Unmarshal([]byte(r.Text(1)), &sess.AMR)
		})
	})
	if err != nil {
		return "", accounts.SessionGone(err)
	}
	if err := s.Passwords.CheckPassword(in.Password, append(words, u.Email, u.Phone), u.UserMetadata,
		in.Data); err != nil {
		return "", err
	}
	// Before any hash is compared: an old session, or a stolen one, must not
	// find out by trial which password is the right one.
	if err := s.requireEntitled(ctx, a, u, sess, in); err != nil {
		return "", err
	}
	if u.Hash != "" {
		if same, err := s.Passwords.Hasher.Check(ctx, u.Hash, in.Password); err != nil {
			return "", err
		} else if same {
			return "", fault.New(fault.Unprocessable, "same_password", "New password should be different from the old password.")
		}
	}
	return s.Passwords.Hasher.Hash(ctx, in.Password)
}

// requireEntitled asks for the old password, a mailed nonce, which takeNonce uses up with
// the change, or a sign-in of today.
func (s *Store) requireEntitled(
	ctx context.Context, a actor.Actor, u *accounts.User, sess sessions.Row, in Update,
) error {
	switch {
	case in.CurrentPassword != "":
		return s.Passwords.OwnPassword(ctx, a, u, in.CurrentPassword)
	case in.Nonce != "":
		return s.checkNonce(ctx, u, in.Nonce)
	case s.Now().Sub(sess.Created) > freshFor:
		return fault.New(fault.Invalid, "reauthentication_needed", "Password update requires reauthentication")
	case s.Config.PasswordCurrent && u.Hash != "" && !sess.Mailed():
		return fault.New(fault.Invalid, "current_password_required", "Current password required when setting new password.")
	}
	return nil
}

// checkNonce compares a nonce and commits the count of a wrong one.
func (s *Store) checkNonce(ctx context.Context, u *accounts.User, nonce string) error {
	ok := false
	err := s.Write(ctx, func(tx *db.Tx) (err error) {
		_, ok, err = s.findNonce(tx, u.ID, nonce)
		return err
	})
	if err == nil && !ok {
		err = errNonce()
	}
	return err
}

// takeNonce uses up the nonce of a change, if that is what entitled to it, in the
// change's own transaction: what is refused leaves it, and it serves one change.
func (s *Store) takeNonce(tx *db.Tx, userID string, in Update) error {
	if in.CurrentPassword != "" || in.Nonce == "" {
		return nil
	}
	t, ok, err := s.findNonce(tx, userID, in.Nonce)
	if err == nil && !ok {
		err = errNonce()
	}
	if err != nil {
		return err
	}
	return codes.Consume(tx, t)
}

func (s *Store) findNonce(tx *db.Tx, userID, nonce string) (t codes.OneTime, ok bool, err error) {
	t, err = codes.CodeBy(tx, "user_id = $1 AND slot = 'reauthentication'", userID)
	if fault.Is(err, fault.NotFound) {
		return t, false, nil
	}
	if err == nil {
		ok, err = s.Codes.MatchDigits(tx, t, nonce, t.From)
	}
	return t, ok, err
}

func errNonce() error {
	return fault.New(fault.Unprocessable, "reauthentication_not_valid", "Nonce has expired or is invalid")
}

func (s *Store) applyData(tx *db.Tx, a actor.Actor, u *accounts.User, data map[string]any) error {
	if data == nil {
		return nil
	}
	if id := accounts.RequestedTenant(data); id != "" {
		if _, err := s.Sessions.SwitchTo(tx, a, id); err != nil {
			return err
		}
	}
	m, err := accounts.Merge(u.UserMetadata, data)
	if err != nil {
		return err
	}
	u.UserMetadata, u.UpdatedAt = m, accounts.Time{Time: s.Now()}
	return u.WriteMetadata(tx, u.UpdatedAt.Time)
}

// startChange begins an e-mail change, which is pending until both addresses
// agree. One to an address that somebody has does as well, and its owner is told
// by mail: the answer tells nobody else, unless the operator wants it to. With autoconfirm an anonymous account
// takes its address at once, as a
// sign-up does.
func (s *Store) startChange(tx *db.Tx, u *accounts.User, in Update, c accounts.Client) ([]mailtemplate.Letter, error) {
	if s.Config.Autoconfirm && u.IsAnonymous {
		return nil, s.Addresses.SetAddress(tx, u, in.Email, c)
	}
	if s.Config.SignupTellsTaken {
		if _, err := accounts.UserByEmail(tx, in.Email); !fault.Is(err, fault.NotFound) {
			if err == nil {
				err = accounts.ErrTaken()
			}
			return nil, err
		}
	}
	if err := s.Post.ThrottleTx(tx, "email_change", u.ID); err != nil {
		return nil, err
	}
	s.Audit(tx, accounts.Event{User: u.ID, Action: "user.email_change_started", Entity: "user", EntityID: u.ID, Client: c})
	u.NewEmail, u.EmailChangeSentAt = in.Email, accounts.Time{Time: s.Now()}
	if _, err := tx.Exec("UPDATE users SET new_email = $2 WHERE id = $1", u.ID, in.Email); err != nil {
		return nil, err
	}
	return s.OTP.ChangeCodes(tx, u, in.Email, signin.MailRequest{PKCE: in.PKCE, Redirect: in.Redirect}, c)
}
