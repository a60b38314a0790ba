package tenants

import (
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
)

// becomeNamed ends an account's anonymity, in the transaction that gave it an owner.
func (s *Addresses) becomeNamed(tx *db.Tx, u *accounts.User, c accounts.Client) {
	if !u.IsAnonymous {
		return
	}
	u.IsAnonymous = false
	tx.Queue("UPDATE users SET is_anonymous = $2 WHERE id = $1", []any{u.ID, false}, nil)
	s.Audit(tx, accounts.Event{User: u.ID, Action: "user.upgraded", Entity: "user", EntityID: u.ID, Client: c})
}

// AdoptAddress gives an account without an address one that a provider proved.
// It makes no e-mail identity: nobody chose to sign in by mail.
func (s *Addresses) AdoptAddress(tx *db.Tx, u *accounts.User, email string, c accounts.Client) error {
	if _, err := accounts.UserByEmail(tx, email); !fault.Is(err, fault.NotFound) {
		if err == nil {
			err = accounts.ErrTaken()
		}
		return err
	}
	s.becomeNamed(tx, u, c)
	now := s.Now()
	u.Email, u.EmailConfirmedAt, u.ConfirmedAt = email, accounts.Time{Time: now}, accounts.Time{Time: now}
	if _, err := tx.Exec(`
		UPDATE users
		SET email = $2, email_confirmed_at = $3, updated_at = $3
		WHERE id = $1`, u.ID,
		email, now); err != nil {
		return err
	}
	return s.Invitations.JoinAsWished(tx, u, c)
}

// Addresses proves and changes the addresses and numbers of accounts.
type Addresses struct {
	*accounts.Base
	Accounts    *accounts.Store
	Codes       *codes.Store
	Invitations *Invitations
}

// ProvePhone does what a texted code stands for.
func (s *Addresses) ProvePhone(tx *db.Tx, u *accounts.User, t codes.OneTime, c accounts.Client) error {
	if t.Kind != codes.KindPhoneChange && t.Address != u.Phone || t.Kind == codes.KindPhoneChange &&
		t.Address != u.NewPhone {
		return codes.ErrCode()
	}
	if err := accounts.ClearCodes(tx, u.ID); err != nil {
		return err
	}
	if t.Kind != codes.KindPhoneChange && !u.PhoneConfirmedAt.IsZero() {
		return nil
	}
	first := u.ConfirmedAt.IsZero()
	if first && t.Kind == codes.KindSMS {
		if err := s.Unowned(tx, u); err != nil {
			return err
		}
	}
	now := accounts.Time{Time: s.Now()}
	u.Phone, u.NewPhone, u.PhoneConfirmedAt, u.UpdatedAt = t.Address, "", now, now
	if u.ConfirmedAt.IsZero() {
		u.ConfirmedAt = now
	}
	s.becomeNamed(tx, u, c)
	_, err := tx.Exec(`
		UPDATE users
		SET phone = $2, new_phone = NULL, phone_confirmed_at = $3, updated_at = $3
		WHERE id = $1`, u.ID, u.Phone, now.Time)
	if err != nil {
		return accounts.Conflict(err)
	}
	s.Audit(tx, accounts.Event{User: u.ID, Action: "user.phone_confirmed", Entity: "user", EntityID: u.ID, Client: c})
	if err := s.proveNumber(tx, u); err != nil || !first {
		return err
	}
	return s.Invitations.JoinAsWished(tx, u, c)
}

// proveNumber brings the phone identity in line with the account.
func (s *Addresses) proveNumber(tx *db.Tx, u *accounts.User) error {
	for i := range u.Identities {
		if id := &u.Identities[i]; id.Provider == "phone" {
			id.Data["phone"], id.Data["phone_verified"] = u.Phone, true
			_, err := tx.Exec("UPDATE identities SET data = $2, updated_at = $3 WHERE id = $1", id.IdentityID,
				accounts.WriteJSON(id.Data), s.Now())
			return err
		}
	}
	id, now := accounts.PhoneIdentity(u), accounts.Time{Time: s.Now()}
	id.Data["phone_verified"], id.CreatedAt, id.UpdatedAt = true, now, now
	accounts.InsertIdentity(tx, &id)
	u.Identities = append(u.Identities, id)
	u.Derive()
	return tx.Flush()
}

// Unowned takes password, sessions and wish off an account that nobody had
// proved to own: who set them is unknown.
func (s *Addresses) Unowned(tx *db.Tx, u *accounts.User) error {
	if _, err := s.Accounts.Disown(tx, u); err != nil {
		return err
	}
	return s.EndSessionsWhere(tx, u.ID, "")
}

// Apply does what a code was sent for; true = a first half, which alone changes
// nothing.
func (s *Addresses) Apply(tx *db.Tx, t codes.OneTime, c accounts.Client) (*accounts.User, bool, error) {
	u, err := accounts.LockedUser(tx, t.User)
	if fault.Is(err, fault.NotFound) {
		return nil, false, codes.ErrLink()
	}
	if err != nil {
		return nil, false, err
	}
	if u.Banned(s.Now()) {
		return nil, false, accounts.ErrBanned()
	}
	if t.Kind == codes.KindChangeCurrent || t.Kind == codes.KindChangeNew {
		half, err := s.changeAddress(tx, u, t, c)
		return u, half, err
	}
	if t.Kind == codes.KindSMS || t.Kind == codes.KindSMSSignup || t.Kind == codes.KindPhoneChange {
		return u, false, s.ProvePhone(tx, u, t, c)
	}
	if t.Address != u.Email {
		return nil, false, codes.ErrLink()
	}
	return u, false, s.Confirm(tx, u, t, c)
}

// Confirm marks the address as proved. What was left in an account before
// anybody proved it came from who knows whom, and goes: a password, when the
// proof is not the sign-up's own mail, and the identities of providers, but for
// the one whose sign-in asked for this proof and got it in the same browser.
func (s *Addresses) Confirm(tx *db.Tx, u *accounts.User, t codes.OneTime, c accounts.Client) error {
	if err := accounts.ClearCodes(tx, u.ID); err != nil || !u.EmailConfirmedAt.IsZero() {
		return err
	}
	now, unowned := s.Now(), u.ConfirmedAt.IsZero()
	u.EmailConfirmedAt, u.ConfirmedAt, u.UpdatedAt = accounts.Time{Time: now}, accounts.Time{Time: now},
		accounts.Time{Time: now}
	if _, there := u.UserMetadata["email_verified"]; there {
		u.UserMetadata["email_verified"] = true
	}
	if unowned {
		if err := s.Accounts.WithoutProviders(tx, u, t.Identity); err != nil {
			return err
		}
	}
	if unowned && t.Kind != codes.KindSignup {
		// So does a wish for a tenant, unless it came with an invitation.
		if t.Kind != codes.KindInvite {
			accounts.Unwished(u.UserMetadata)
		}
		u.Hash = ""
		if err := s.EndSessionsWhere(tx, u.ID, ""); err != nil {
			return err
		}
	}
	tx.Queue(`
		UPDATE users
		SET email_confirmed_at = $2, updated_at = $2, password_hash = $3, user_metadata = $4
		WHERE id = $1`,
		[]any{u.ID, now, db.Null(u.Hash), accounts.WriteJSON(u.UserMetadata)}, nil)
	s.ProveIdentity(tx, u)
	s.Audit(tx, accounts.Event{User: u.ID, Action: "user.confirmed", Entity: "user", EntityID: u.ID, Client: c})
	return s.Invitations.JoinAsWished(tx, u, c)
}

// ProveIdentity brings the e-mail identity in line with the account.
func (s *Addresses) ProveIdentity(tx *db.Tx, u *accounts.User) {
	for i := range u.Identities {
		id := &u.Identities[i]
		if id.Provider != "email" {
			continue
		}
		id.Email = u.Email
		id.Data["email"], id.Data["email_verified"] = u.Email, !u.EmailConfirmedAt.IsZero()
		tx.Queue(`
			UPDATE identities
			SET email = $2, data = $3, updated_at = $4
			WHERE id = $1`,
			[]any{id.IdentityID, db.Null(id.Email), accounts.WriteJSON(id.Data), s.Now()}, nil)
	}
}

// changeAddress takes one half of an e-mail change. The address changes with the
// half that finds the other one proved: that of the new address always, that of
// the old one where it was anybody's. A half that ended unproved counts for
// nothing, or the other would decide alone.
func (s *Addresses) changeAddress(
	tx *db.Tx, u *accounts.User, t codes.OneTime, c accounts.Client,
) (half bool, err error) {
	if u.NewEmail == "" || t.Kind == codes.KindChangeNew && t.Address != u.NewEmail {
		return false, codes.ErrLink()
	}
	other, address := codes.KindChangeNew, u.NewEmail
	if t.Kind == codes.KindChangeNew {
		other, address = codes.KindChangeCurrent, u.Email
	}
	if other == codes.KindChangeCurrent && (u.Email == "" || u.EmailConfirmedAt.IsZero()) {
		return false, s.SetAddress(tx, u, u.NewEmail, c)
	}
	_, err = codes.CodeBy(tx, "user_id = $1 AND slot = $2 AND address = $3 AND code_hash = $4 AND expires_at > $5", u.ID,
		other, address, codes.Proved, s.Now())
	if fault.Is(err, fault.NotFound) {
		return true, s.Codes.KeepProof(tx, t)
	}
	if err != nil {
		return true, err
	}
	return false, s.SetAddress(tx, u, u.NewEmail, c)
}

const setAddressSQL = `
	UPDATE users
	SET email = $2, new_email = NULL, email_confirmed_at = $3, updated_at = $3, user_metadata = $4
	WHERE id = $1`

// SetAddress moves an account to a proved address; every outstanding code
// dies, because codes are bound to the address.
func (s *Addresses) SetAddress(tx *db.Tx, u *accounts.User, email string, c accounts.Client) error {
	if _, err := accounts.UserByEmail(tx, email); !fault.Is(err, fault.NotFound) {
		if err == nil {
			err = accounts.ErrTaken()
		}
		return err
	}
	now, first := s.Now(), u.ConfirmedAt.IsZero()
	old := u.Email
	s.becomeNamed(tx, u, c)
	u.Email, u.NewEmail, u.EmailConfirmedAt, u.ConfirmedAt, u.UpdatedAt = email, "", accounts.Time{Time: now},
		accounts.Time{Time: now}, accounts.Time{Time: now}
	if _, there := u.UserMetadata["email"]; there {
		u.UserMetadata["email"], u.UserMetadata["email_verified"] = email, true
	}
	tx.Queue(setAddressSQL, []any{u.ID, email, now, accounts.WriteJSON(u.UserMetadata)}, nil)
	tx.Queue(`
		UPDATE members
		SET email = $2, updated_at = $3, version = version + 1
		WHERE user_id = $1`,
		[]any{u.ID, email, now}, nil)
	s.ProveIdentity(tx, u)
	s.Audit(tx, accounts.Event{User: u.ID, Action: "user.email_changed", Entity: "user", EntityID: u.ID, Client: c})
	if old == "" {
		id := accounts.EmailIdentity(u, now)
		u.Identities = append(u.Identities, id)
		accounts.InsertIdentity(tx, &id)
	}
	if err := accounts.ClearCodes(tx, u.ID); err != nil || !first {
		return err
	}
	return s.Invitations.JoinAsWished(tx, u, c)
}
