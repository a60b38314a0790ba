package identity

import (
	"context"
	"fmt"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
	"holdfast/internal/identity/sms"
)

// Addresses proves and changes the addresses and numbers of accounts.
type Addresses struct {
	*Base
	accounts    *Accounts
	codes       *Codes
	invitations *Invitations
}

// CanonicalPhone returns the one spelling of a telephone number, digits with
// the country code first (ITU-T E.164: at most 15, the first from 1 to 9).
func CanonicalPhone(raw string) (string, error) {
	s := strings.TrimSpace(raw)
	if rest, ok := strings.CutPrefix(s, "+"); ok {
		s = rest
	} else {
		s = strings.TrimPrefix(s, "00")
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			b.WriteRune(r)
		case strings.ContainsRune(" -./()", r):
		default:
			return "", badPhone()
		}
	}
	if n := b.Len(); n < 7 || n > 15 || b.String()[0] == '0' {
		return "", badPhone()
	}
	return b.String(), nil
}

func badPhone() error {
	return fault.New(fault.Invalid, "validation_failed", "Invalid phone number format (E.164 required)")
}

func (s *Accounts) phonesOn() error {
	if !s.cfg.Phone {
		return fault.New(fault.Invalid, "phone_provider_disabled", "Phone logins are disabled")
	}
	return nil
}

// PhoneRequest asks for a code by text message.
type PhoneRequest struct {
	Phone   string
	Channel string         // sms ("") or whatsapp
	Data    map[string]any // metadata of an account made for it
	Create  bool           // make an account for an unknown number
	Again   bool           // the code of a sign-up once more
}

func userByPhone(tx *db.Tx, phone string) (*User, error) {
	return userBy(tx, byNumber, phone, false)
}

// OTPPhone sends a sign-in code. The answer, an id for the message, is the
// same whether the number is known or not, unless the operator wants it told.
func (s *OTP) OTPPhone(ctx context.Context, in PhoneRequest, c Client) (string, error) {
	if err := s.accounts.phonesOn(); err != nil {
		return "", err
	}
	phone, err := CanonicalPhone(in.Phone)
	if err != nil {
		return "", err
	}
	if err := checkChannel(&in.Channel); err != nil {
		return "", err
	}
	data, err := merge(nil, in.Data)
	if err != nil {
		return "", err
	}
	if !in.Create && !in.Again {
		if err := s.tellUnknown(ctx, phone, CanonicalPhone, userByPhone); err != nil {
			return "", err
		}
	}
	if err := asText(s.post.spaced(ctx, "sms", phoneAccount+phone, c)); err != nil {
		return "", err
	}
	return newID(), s.post.outbox.Add(func(ctx context.Context) error {
		return s.textCode(ctx, phone, func(tx *db.Tx) (*User, codeOrder, error) {
			kind := kindSMS
			u, err := userByPhone(tx, phone)
			if err == nil && in.Again && u.PhoneConfirmedAt.IsZero() {
				kind = kindSMSSignup
			}
			if fault.Is(err, fault.NotFound) && in.Create && s.cfg.SignupEnabled {
				u, err = s.newByPhone(tx, phone, data, c)
				kind = kindSMSSignup
			}
			if fault.Is(err, fault.NotFound) {
				return nil, codeOrder{}, nil
			}
			if err == nil {
				var lately bool
				if lately, err = s.post.askedLately(tx, u, kind, c); lately {
					return nil, codeOrder{}, err
				}
			}
			return u, codeOrder{kind: kind, address: phone, from: c.place(), digits: s.cfg.PhoneCodes[phone], channel: in.Channel}, err
		})
	})
}

// asText names the refusal of a second mail as one of a second text message.
func asText(err error) error {
	if f := fault.As(err); f != nil && f.Code == "over_email_send_rate_limit" {
		f.Code = "over_sms_send_rate_limit"
	}
	return err
}

func (s *OTP) newByPhone(tx *db.Tx, phone string, data map[string]any, c Client) (*User, error) {
	u := s.accounts.draft("", data)
	u.Phone = phone
	s.accounts.signedUpBy(tx, u, c)
	return u, insertUser(tx, u)
}

// signedUpBy completes the draft of an account by telephone number.
func (s *Accounts) signedUpBy(tx *db.Tx, u *User, c Client) {
	u.Identities = []Identity{phoneIdentity(u)}
	u.derive()
	s.record(tx, event{user: u.ID, action: "user.signed_up", entity: "user", entityID: u.ID, details: map[string]any{"method": "phone"}, client: c})
}

func phoneIdentity(u *User) Identity {
	return Identity{IdentityID: newID(), ID: u.ID, UserID: u.ID, Provider: "phone", CreatedAt: u.CreatedAt, UpdatedAt: u.CreatedAt,
		Data: map[string]any{"sub": u.ID, "phone": u.Phone, "email_verified": false, "phone_verified": !u.PhoneConfirmedAt.IsZero()}}
}

// textCode makes the code that choose asks for and sends it; no account, no
// message.
func (s *OTP) textCode(ctx context.Context, to string, choose func(tx *db.Tx) (*User, codeOrder, error)) error {
	digits, locale, channel := "", "", ""
	err := s.write(ctx, func(tx *db.Tx) error {
		digits = ""
		u, o, err := choose(tx)
		if err != nil || u == nil {
			return err
		}
		made, err := s.codes.makeCode(tx, u, o)
		tag, _ := u.UserMetadata["locale"].(string)
		digits, locale, channel = made.digits, letter.LocaleOf(tag), o.channel
		return err
	})
	if err != nil || digits == "" || s.cfg.PhoneCodes[to] != "" {
		return err
	}
	m := sms.Message{To: to, Channel: channel, Text: letter.Text(locale, s.cfg.Name, digits, int(s.cfg.CodeTTL.Minutes()))}
	if err := s.cfg.SMS.Send(ctx, m); err != nil {
		return fmt.Errorf("identity: text message: %w", err)
	}
	return nil
}

// ResendPhone sends a code again: type sms or phone_change.
func (s *OTP) ResendPhone(ctx context.Context, typ, phone string, c Client) (string, error) {
	switch typ {
	case kindSMS:
		return s.OTPPhone(ctx, PhoneRequest{Phone: phone, Again: true}, c)
	case kindPhoneChange:
	default:
		return "", fault.New(fault.Invalid, "validation_failed", "Missing or unsupported type; one of sms, phone_change is required")
	}
	if err := s.accounts.phonesOn(); err != nil {
		return "", err
	}
	phone, err := CanonicalPhone(phone)
	if err != nil {
		return "", err
	}
	if err := asText(s.post.spaced(ctx, kindPhoneChange, phoneAccount+phone, c)); err != nil {
		return "", err
	}
	return newID(), s.post.outbox.Add(func(ctx context.Context) error {
		return s.textCode(ctx, phone, func(tx *db.Tx) (*User, codeOrder, error) {
			u, err := userBy(tx, "new_phone = $1 AND deleted_at IS NULL", phone)
			if fault.Is(err, fault.NotFound) {
				return nil, codeOrder{}, nil
			}
			if err != nil {
				return nil, codeOrder{}, err
			}
			if held, err := s.post.heldElsewhere(tx, u, kindPhoneChange, c); err != nil || held {
				return nil, codeOrder{}, err
			}
			return u, codeOrder{kind: kindPhoneChange, address: phone, from: c.place(), digits: s.cfg.PhoneCodes[phone], channel: sms.SMS}, err
		})
	})
}

// startPhoneChange begins the move of an account to a number; it moves when
// the code sent there comes back.
func (s *Profile) startPhoneChange(tx *db.Tx, u *User, in Update, a actor.Actor) error {
	phone := in.Phone
	if s.cfg.SignupTellsTaken {
		if _, err := userByPhone(tx, phone); !fault.Is(err, fault.NotFound) {
			if err == nil {
				err = errPhoneTaken()
			}
			return err
		}
	}
	if err := asText(s.post.throttleTx(tx, kindPhoneChange, phone)); err != nil {
		return err
	}
	u.NewPhone, u.PhoneChangeSentAt = phone, Time{Time: s.now()}
	s.record(tx, event{tenant: a.TenantID, user: u.ID, action: "user.phone_change_started", entity: "user", entityID: u.ID, client: clientOf(a)})
	if _, err := tx.Exec("UPDATE users SET new_phone = $2 WHERE id = $1", u.ID, phone); err != nil {
		return err
	}
	id := u.ID
	tx.After(func() {
		s.links.ours(s.post.outbox.Add(func(ctx context.Context) error {
			return s.otp.textCode(ctx, phone, func(tx *db.Tx) (*User, codeOrder, error) {
				u, err := userByID(tx, id)
				return u, codeOrder{kind: kindPhoneChange, address: phone, from: clientOf(a).place(), digits: s.cfg.PhoneCodes[phone], channel: in.Channel}, err
			})
		}))
	})
	return nil
}

// provePhone does what a texted code stands for.
func (s *Addresses) provePhone(tx *db.Tx, u *User, t oneTime, c Client) error {
	if t.kind != kindPhoneChange && t.address != u.Phone || t.kind == kindPhoneChange && t.address != u.NewPhone {
		return errCode()
	}
	if err := clearCodes(tx, u.ID); err != nil {
		return err
	}
	if t.kind != kindPhoneChange && !u.PhoneConfirmedAt.IsZero() {
		return nil
	}
	first := u.ConfirmedAt.IsZero()
	if first && t.kind == kindSMS {
		if err := s.unowned(tx, u); err != nil {
			return err
		}
	}
	now := Time{Time: s.now()}
	u.Phone, u.NewPhone, u.PhoneConfirmedAt, u.UpdatedAt = t.address, "", now, now
	if u.ConfirmedAt.IsZero() {
		u.ConfirmedAt = now
	}
	s.becomeNamed(tx, u, c)
	_, err := tx.Exec("UPDATE users SET phone = $2, new_phone = NULL, phone_confirmed_at = $3, updated_at = $3 WHERE id = $1", u.ID, u.Phone, now.Time)
	if err != nil {
		return taken(err)
	}
	s.record(tx, event{user: u.ID, action: "user.phone_confirmed", entity: "user", entityID: u.ID, client: c})
	if err := s.proveNumber(tx, u); err != nil || !first {
		return err
	}
	return s.invitations.joinAsWished(tx, u, c)
}

// proveNumber brings the phone identity in line with the account.
func (s *Addresses) proveNumber(tx *db.Tx, u *User) error {
	for i := range u.Identities {
		if id := &u.Identities[i]; id.Provider == "phone" {
			id.Data["phone"], id.Data["phone_verified"] = u.Phone, true
			_, err := tx.Exec("UPDATE identities SET data = $2, updated_at = $3 WHERE id = $1", id.IdentityID, writeJSON(id.Data), s.now())
			return err
		}
	}
	id, now := phoneIdentity(u), Time{Time: s.now()}
	id.Data["phone_verified"], id.CreatedAt, id.UpdatedAt = true, now, now
	insertIdentity(tx, &id)
	u.Identities = append(u.Identities, id)
	u.derive()
	return tx.Flush()
}

// unowned takes password, sessions and wish off an account that nobody had
// proved to own: who set them is unknown.
func (s *Addresses) unowned(tx *db.Tx, u *User) error {
	if _, err := s.accounts.disown(tx, u); err != nil {
		return err
	}
	return s.endSessions(tx, u.ID, "")
}

func errPhoneTaken() error {
	return fault.New(fault.Unprocessable, "phone_exists", "A user with this phone number has already been registered")
}

// setNumber gives an account the number an administrator says it has; its
// codes and those of a number before die.
func (s *Addresses) setNumber(tx *db.Tx, u *User, in AdminUser, c Client) error {
	phone := given(in.Phone)
	if phone == "" {
		phone = u.Phone
	}
	if phone == "" || phone == u.Phone && (!in.PhoneConfirm || !u.PhoneConfirmedAt.IsZero()) {
		return nil
	}
	if phone != u.Phone {
		if err := free(tx, &User{Phone: phone}); err != nil {
			return err
		}
	}
	u.NewPhone = phone
	return s.provePhone(tx, u, oneTime{kind: kindPhoneChange, address: phone}, c)
}
