package identity

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
)

// Profile is what people do with their own account.
type Profile struct {
	*Base
	accounts  *Accounts
	addresses *Addresses
	codes     *Codes
	factors   *Factors
	links     *Links
	otp       *OTP
	passkeys  *Passkeys
	passwords *Passwords
	post      *Post
	proofs    *Proofs
	sessions  *Sessions
	tenants   *Tenants
	profiles  profiles
}

// User returns the caller's own account, with the session's tenant in
// app_metadata.
func (s *Profile) User(ctx context.Context, a actor.Actor) (*User, error) {
	var u *User
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		if u, err = userByID(tx, a.UserID); err != nil {
			return err
		}
		return s.showTenant(tx, u, a.SessionID)
	})
	if fault.HasCode(err, "user_not_found") {
		return nil, fault.New(fault.Unauthorized, "user_not_found", "User from sub claim in JWT does not exist")
	}
	return u, err
}

func (s *Profile) showTenant(tx *db.Tx, u *User, sessionID string) error {
	tenant := ""
	err := tx.One("SELECT tenant_id FROM sessions WHERE id = $1", []any{sessionID}, func(r *db.Row) error {
		tenant = r.Text(0)
		return nil
	})
	if err != nil {
		return sessionGone(err)
	}
	var m Member
	if tenant != "" {
		if m, err = memberOf(tx, u.ID, tenant); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	u.in(m)
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
	PKCE            PKCE
	Redirect        string   // resolved by Target
	Remove          []string // of what else opens the account: passkeys, factors, identities
}

// needsProof reports a change of where the account's mails and texts go, or of
// what else opens it.
func (in Update) needsProof() bool { return in.Email != "" || in.Phone != "" || len(in.Remove) > 0 }

// freshFor is how long after its sign-in a session may change the password
// without further proof.
const freshFor = 24 * time.Hour

// UpdateUser changes the caller's account. A tenant_id in Data that is a UUID
// switches the session to that tenant; where the caller is no member, nothing
// at all is changed. Any other value is inert text.
func (s *Profile) UpdateUser(ctx context.Context, a actor.Actor, in Update) (*User, error) {
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
	var u *User
	var mails []letter.Letter
	err = s.write(ctx, func(tx *db.Tx) (err error) {
		mails = nil
		if u, err = locked(tx, a.UserID); err != nil {
			return err
		}
		if in.needsProof() || hash != "" {
			if err := needAAL2(u, a, fault.Unauthorized, "AAL2 session is required to update email, phone or password when MFA is enabled."); err != nil {
				return err
			}
		}
		if u.IsAnonymous && hash != "" && (in.Email == "" || !s.cfg.Autoconfirm) {
			return fault.New(fault.Unprocessable, "validation_failed", "Updating password of an anonymous user without an email or phone is not allowed")
		}
		if u.sso && (in.Email != "" || in.Phone != "" || hash != "") {
			return fault.New(fault.Unprocessable, "user_sso_managed", "Updating email, phone or password of a SSO account is only possible via the provider")
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
			if err := s.passwords.setPassword(tx, u, hash, a); err != nil {
				return err
			}
			ways, err := s.ways(tx, u)
			if err != nil {
				return err
			}
			mails = append(mails, letter.Letter{Kind: letter.PasswordChanged, User: u.ID, To: u.Email, Ways: ways})
		}
		if in.Phone != "" && in.Phone != u.Phone {
			if err := s.startPhoneChange(tx, u, in, a); err != nil {
				return err
			}
		}
		if in.Email != "" && in.Email != u.Email {
			more, err := s.startChange(tx, u, in, clientOf(a))
			if err != nil {
				return err
			}
			mails = append(mails, more...)
		}
		return s.showTenant(tx, u, a.SessionID)
	})
	if fault.HasCode(err, "tenant_forbidden") {
		if err := s.sessions.denied(ctx, a, wish(in.Data)); err != nil {
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
		if err := s.post.send(l); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func (s *Profile) checkUpdate(in *Update) (err error) {
	switch {
	case in.AppMetadata != nil:
		return fault.New(fault.Forbidden, "not_admin", "Updating app_metadata requires admin privileges")
	}
	if in.Phone != "" {
		if err := s.accounts.phonesOn(); err != nil {
			return err
		}
		if in.Phone, err = CanonicalPhone(in.Phone); err != nil {
			return err
		}
		if err := checkChannel(&in.Channel); err != nil {
			return err
		}
	}
	if in.Email != "" {
		if in.Email, err = Canonical(in.Email); err != nil {
			return err
		}
	}
	if err := checkRemove(in.Remove); err != nil {
		return err
	}
	return in.PKCE.check()
}

// newHash checks a new password and what entitles the caller to set it, and
// hashes it; "" when none is asked for. All hashing happens here, outside any
// transaction.
func (s *Profile) newHash(ctx context.Context, a actor.Actor, in Update) (string, error) {
	if in.Password == "" {
		return "", nil
	}
	var u *User
	var sess session
	var words []string
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		if u, err = userByID(tx, a.UserID); err != nil {
			return err
		}
		if words, err = tenantNames(tx, a.TenantID); err != nil {
			return err
		}
		return tx.One("SELECT created_at, amr FROM sessions WHERE id = $1", []any{a.SessionID}, func(r *db.Row) error {
			sess.created = r.Time(0)
			return json.Unmarshal([]byte(r.Text(1)), &sess.amr)
		})
	})
	if err != nil {
		return "", sessionGone(err)
	}
	if err := s.passwords.checkPassword(in.Password, append(words, u.Email, u.Phone), u.UserMetadata, in.Data); err != nil {
		return "", err
	}
	// Before any hash is compared: an old session, or a stolen one, must not
	// find out by trial which password is the right one.
	if err := s.entitled(ctx, a, u, sess, in); err != nil {
		return "", err
	}
	if u.hash != "" {
		if same, err := s.passwords.hasher.Check(ctx, u.hash, in.Password); err != nil {
			return "", err
		} else if same {
			return "", fault.New(fault.Unprocessable, "same_password", "New password should be different from the old password.")
		}
	}
	return s.passwords.hasher.Hash(ctx, in.Password)
}

// entitled asks for the old password, a mailed nonce, which takeNonce uses up with
// the change, or a sign-in of today.
func (s *Profile) entitled(ctx context.Context, a actor.Actor, u *User, sess session, in Update) error {
	switch {
	case in.CurrentPassword != "":
		return s.passwords.ownPassword(ctx, a, u, in.CurrentPassword)
	case in.Nonce != "":
		return s.checkNonce(ctx, u, in.Nonce)
	case s.now().Sub(sess.created) > freshFor:
		return fault.New(fault.Invalid, "reauthentication_needed", "Password update requires reauthentication")
	case s.cfg.PasswordCurrent && u.hash != "" && !sess.mailed():
		return fault.New(fault.Invalid, "current_password_required", "Current password required when setting new password.")
	}
	return nil
}

// mailed reports a session that began without a password, by a proof that was
// mailed or texted: its owner may have forgotten the password.
func (sess session) mailed() bool {
	first := sess.amr[max(0, len(sess.amr)-1):] // the newest stands first
	return len(first) == 1 && slices.Contains([]string{"otp", "recovery", "magiclink", "invite"}, first[0].Method)
}

// checkNonce compares a nonce and commits the count of a wrong one.
func (s *Profile) checkNonce(ctx context.Context, u *User, nonce string) error {
	ok := false
	err := s.write(ctx, func(tx *db.Tx) (err error) {
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
func (s *Profile) takeNonce(tx *db.Tx, userID string, in Update) error {
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
	return consume(tx, t)
}

func (s *Profile) findNonce(tx *db.Tx, userID, nonce string) (t oneTime, ok bool, err error) {
	t, err = codeBy(tx, "user_id = $1 AND slot = 'reauthentication'", userID)
	if fault.Is(err, fault.NotFound) {
		return t, false, nil
	}
	if err == nil {
		ok, err = s.codes.matchDigits(tx, t, nonce, t.from)
	}
	return t, ok, err
}

func errNonce() error {
	return fault.New(fault.Unprocessable, "reauthentication_not_valid", "Nonce has expired or is invalid")
}

func (s *Profile) applyData(tx *db.Tx, a actor.Actor, u *User, data map[string]any) error {
	if data == nil {
		return nil
	}
	if text, ok := data["tenant_id"].(string); ok {
		if id, ok := canonicalID(text); ok {
			if _, err := s.sessions.switchTo(tx, a, id); err != nil {
				return err
			}
		}
	}
	m, err := merge(u.UserMetadata, data)
	if err != nil {
		return err
	}
	u.UserMetadata, u.UpdatedAt = m, Time{Time: s.now()}
	_, err = tx.Exec("UPDATE users SET user_metadata = $2, updated_at = $3 WHERE id = $1", u.ID, writeJSON(m), u.UpdatedAt.Time)
	return err
}

// setPassword stores a hash and ends what the old password may have given
// away: other sessions and outstanding codes.
func (s *Passwords) setPassword(tx *db.Tx, u *User, hash string, a actor.Actor) error {
	now := s.now()
	u.hash, u.UpdatedAt = hash, Time{Time: now}
	tx.Queue("UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1", []any{u.ID, hash, now}, nil)
	s.record(tx, event{tenant: a.TenantID, user: u.ID, key: a.KeyID, action: "user.password_changed", entity: "user", entityID: u.ID, client: clientOf(a)})
	if err := clearCodes(tx, u.ID); err != nil {
		return err
	}
	if a.UserID == u.ID && a.SessionID != "" {
		return s.endSessions(tx, u.ID, " AND id <> $2", a.SessionID)
	}
	return s.endSessions(tx, u.ID, "")
}

// startChange begins an e-mail change, which is pending until both addresses
// agree. One to an address that somebody has does as well, and its owner is told
// by mail: the answer tells nobody else, unless the operator wants it to. With autoconfirm an anonymous account takes its address at once, as a
// sign-up does.
func (s *Profile) startChange(tx *db.Tx, u *User, in Update, c Client) ([]letter.Letter, error) {
	if s.cfg.Autoconfirm && u.IsAnonymous {
		return nil, s.addresses.setAddress(tx, u, in.Email, c)
	}
	if s.cfg.SignupTellsTaken {
		if _, err := userByEmail(tx, in.Email); !fault.Is(err, fault.NotFound) {
			if err == nil {
				err = errTaken()
			}
			return nil, err
		}
	}
	if err := s.post.throttleTx(tx, "email_change", u.ID); err != nil {
		return nil, err
	}
	s.record(tx, event{user: u.ID, action: "user.email_change_started", entity: "user", entityID: u.ID, client: c})
	u.NewEmail, u.EmailChangeSentAt = in.Email, Time{Time: s.now()}
	if _, err := tx.Exec("UPDATE users SET new_email = $2 WHERE id = $1", u.ID, in.Email); err != nil {
		return nil, err
	}
	return s.otp.changeCodes(tx, u, in.Email, MailRequest{PKCE: in.PKCE, Redirect: in.Redirect}, c)
}
