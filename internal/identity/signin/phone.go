package signin

import (
	"context"
	"fmt"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/sms"
)

// PhoneRequest asks for a code by text message.
type PhoneRequest struct {
	Phone   string
	Channel string         // sms ("") or whatsapp
	Data    map[string]any // metadata of an account made for it
	Create  bool           // make an account for an unknown number
	Again   bool           // the code of a sign-up once more
}

// OTPPhone sends a sign-in code. The answer, an id for the message, is the
// same whether the number is known or not, unless the operator wants it told.
func (s *OTP) OTPPhone(ctx context.Context, in PhoneRequest, c accounts.Client) (string, error) {
	if err := s.Accounts.PhonesOn(); err != nil {
		return "", err
	}
	phone, err := accounts.CanonicalPhone(in.Phone)
	if err != nil {
		return "", err
	}
	if err := accounts.CheckChannel(&in.Channel); err != nil {
		return "", err
	}
	data, err := accounts.MergeUserData(nil, in.Data)
	if err != nil {
		return "", err
	}
	if !in.Create && !in.Again {
		if err := s.tellUnknown(ctx, phone, accounts.CanonicalPhone, accounts.UserByPhone); err != nil {
			return "", err
		}
	}
	if err := accounts.AsText(s.Post.Spaced(ctx, "sms", accounts.PhoneAccount+phone, c)); err != nil {
		return "", err
	}
	return db.NewID(), s.Post.Outbox.Add(func(ctx context.Context) error {
		return s.TextCode(ctx, phone, func(tx *db.Tx) (*accounts.User, codes.CodeOrder, error) {
			kind := codes.KindSMS
			u, err := accounts.UserByPhone(tx, phone)
			if err == nil && in.Again && u.PhoneConfirmedAt.IsZero() {
				kind = codes.KindSMSSignup
			}
			if fault.Is(err, fault.NotFound) && in.Create && s.Config.SignupEnabled {
				u, err = s.newByPhone(tx, phone, data, c)
				kind = codes.KindSMSSignup
			}
			if fault.Is(err, fault.NotFound) {
				return nil, codes.CodeOrder{}, nil
			}
			if err == nil {
				var lately bool
				if lately, err = s.Post.AskedLately(tx, u, kind, c); lately {
					return nil, codes.CodeOrder{}, err
				}
			}
			return u, codes.CodeOrder{Kind: kind, Address: phone, From: c.Place(), Digits: s.Config.PhoneCodes[phone],
				Channel: in.Channel}, err
		})
	})
}

func (s *OTP) newByPhone(tx *db.Tx, phone string, data map[string]any, c accounts.Client) (*accounts.User, error) {
	u := s.Accounts.Draft("", data)
	u.Phone = phone
	s.Accounts.SignedUpBy(tx, u, c)
	return u, accounts.InsertUser(tx, u)
}

// TextCode makes the code that choose asks for and sends it; no account, no
// message.
func (s *OTP) TextCode(
	ctx context.Context, to string, choose func(tx *db.Tx) (*accounts.User, codes.CodeOrder, error),
) error {
	digits, locale, channel := "", "", ""
	err := s.Write(ctx, func(tx *db.Tx) error {
		digits = ""
		u, o, err := choose(tx)
		if err != nil || u == nil {
			return err
		}
		made, err := s.Codes.MakeCode(tx, u, o)
		tag, _ := u.UserMetadata["locale"].(string)
		digits, locale, channel = made.Digits, mailtemplate.LocaleOf(tag), o.Channel
		return err
	})
	if err != nil || digits == "" || s.Config.PhoneCodes[to] != "" {
		return err
	}
	m := sms.Message{To: to, Channel: channel, Text: mailtemplate.Text(locale, s.Config.ProductName, digits,
		int(s.Config.CodeTTL.Minutes()))}
	if err := s.Config.SMS.Send(ctx, m); err != nil {
		return fmt.Errorf("identity: text message: %w", err)
	}
	return nil
}

// ResendPhone sends a code again: type sms or phone_change.
func (s *OTP) ResendPhone(ctx context.Context, typ, phone string, c accounts.Client) (string, error) {
	switch typ {
	case codes.KindSMS:
		return s.OTPPhone(ctx, PhoneRequest{Phone: phone, Again: true}, c)
	case codes.KindPhoneChange:
	default:
		return "", fault.New(fault.Invalid, "validation_failed",
			"Missing or unsupported type; one of sms, phone_change is required")
	}
	if err := s.Accounts.PhonesOn(); err != nil {
		return "", err
	}
	phone, err := accounts.CanonicalPhone(phone)
	if err != nil {
		return "", err
	}
	if err := accounts.AsText(s.Post.Spaced(ctx, codes.KindPhoneChange, accounts.PhoneAccount+phone, c)); err != nil {
		return "", err
	}
	return db.NewID(), s.Post.Outbox.Add(func(ctx context.Context) error {
		return s.TextCode(ctx, phone, func(tx *db.Tx) (*accounts.User, codes.CodeOrder, error) {
			u, err := accounts.UserBy(tx, "new_phone = $1 AND deleted_at IS NULL", phone)
			if fault.Is(err, fault.NotFound) {
				return nil, codes.CodeOrder{}, nil
			}
			if err != nil {
				return nil, codes.CodeOrder{}, err
			}
			if held, err := s.Post.HeldElsewhere(tx, u, codes.KindPhoneChange, c); err != nil || held {
				return nil, codes.CodeOrder{}, err
			}
			return u, codes.CodeOrder{Kind: codes.KindPhoneChange, Address: phone, From: c.Place(),
				Digits: s.Config.PhoneCodes[phone], Channel: sms.SMS}, err
		})
	})
}
