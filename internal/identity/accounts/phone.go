package accounts

import (
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/sms"
)

// CheckChannel completes what carries a text message; the operator's carrier
// is told.
func CheckChannel(channel *string) error {
	switch *channel {
	case "":
		*channel = sms.SMS
	case sms.SMS, sms.WhatsApp:
	default:
		return fault.New(fault.Invalid, "validation_failed", "channel: use sms or whatsapp")
	}
	return nil
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

// UserByPhone finds the account of a canonical number.
func UserByPhone(tx *db.Tx, phone string) (*User, error) {
	return UserBy(tx, ByNumber, phone, false)
}

// AsText names the refusal of a second mail as one of a second text message.
func AsText(err error) error {
	if f := fault.As(err); f != nil && f.Code == "over_email_send_rate_limit" {
		f.Code = "over_sms_send_rate_limit"
	}
	return err
}

// PhoneIdentity is the identity of an account that signs in by its number.
func PhoneIdentity(u *User) Identity {
	return Identity{IdentityID: db.NewID(), ID: u.ID, UserID: u.ID, Provider: "phone", CreatedAt: u.CreatedAt,
		UpdatedAt: u.CreatedAt,
		Data: map[string]any{"sub": u.ID, "phone": u.Phone, "email_verified": false,
			"phone_verified": !u.PhoneConfirmedAt.IsZero()}}
}
