package signin

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/mailtemplate"
)

// OTP sends one-time passwords by mail and text, to those who ask for them.
type OTP struct {
	*accounts.Base
	Accounts *accounts.Store
	Codes    *codes.Store
	Post     *codes.Post
}

// MailRequest asks for a mail with a code, by address.
type MailRequest struct {
	Email    string
	PKCE     codes.PKCE
	Redirect string         // resolved by Target
	Data     map[string]any // metadata of an account made by OTP
	Create   bool           // OTP: make an account for an unknown address
}

// queueWork checks a request and takes it off the request path: what follows
// depends on whether the address is known, and must not show.
func (s *OTP) queueWork(
	ctx context.Context, purpose string, in MailRequest, c accounts.Client,
	work func(ctx context.Context, email string) error,
) error {
	if err := s.Accounts.EmailOn(fault.Invalid); err != nil {
		return err
	}
	email, err := accounts.Canonical(in.Email)
	if err != nil {
		return err
	}
	if err := in.PKCE.Check(); err != nil {
		return err
	}
	if err := s.Post.Spaced(ctx, purpose, email, c); err != nil {
		return err
	}
	return s.Post.Outbox.Add(func(ctx context.Context) error { return work(ctx, email) })
}

// Recover mails a link to choose a new password, if there is an account.
func (s *OTP) Recover(ctx context.Context, in MailRequest, c accounts.Client) error {
	return s.queueWork(ctx, "recovery", in, c, func(ctx context.Context, email string) error {
		return s.mailCode(ctx, email, c, func(tx *db.Tx, u *accounts.User) (mailtemplate.Kind, codes.CodeOrder, error) {
			if lately, err := s.Post.AskedLately(tx, u, codes.KindRecovery, c); err != nil || lately {
				return "", codes.CodeOrder{}, err
			}
			s.Audit(tx, accounts.Event{User: u.ID, Action: "user.recovery_requested", Entity: "user", EntityID: u.ID, Client: c})
			return mailtemplate.Recovery, codes.CodeOrder{Kind: codes.KindRecovery, Address: email, From: c.Place(),
				PKCE: in.PKCE, Redirect: in.Redirect}, nil
		})
	})
}

// mailCode finds the account, lets choose decide and mails the code. An
// unknown address, or an empty kind, mails nothing.
func (s *OTP) mailCode(ctx context.Context, email string, _ accounts.Client,
	choose func(tx *db.Tx, u *accounts.User) (mailtemplate.Kind, codes.CodeOrder, error)) error {
	var l mailtemplate.Letter
	err := s.Write(ctx, func(tx *db.Tx) error {
		l = mailtemplate.Letter{}
		u, err := accounts.UserByEmail(tx, email)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		kind, o, err := choose(tx, u)
		if err != nil || kind == "" {
			return err
		}
		made, err := s.Codes.MakeCode(tx, u, o)
		l = mailtemplate.Letter{Kind: kind, User: u.ID, To: o.Address, Link: made.Link, Code: made.Digits,
			Valid: s.Config.CodeTTL}
		return err
	})
	if err != nil || l.Kind == "" {
		return err
	}
	return s.Post.Deliver(ctx, l)
}

// OTP mails a sign-in link and code; an unknown address gets an account first
// when in.Create is set and sign-up is open. Strangers see success, unless the
// operator wants the unknown told.
func (s *OTP) OTP(ctx context.Context, in MailRequest, c accounts.Client) error {
	if _, err := accounts.MergeUserData(nil, in.Data); err != nil {
		return err
	}
	if err := s.Accounts.EmailOn(fault.Unprocessable); err != nil {
		return err
	}
	if !in.Create {
		if err := s.tellUnknown(ctx, in.Email, accounts.Canonical, accounts.UserByEmail); err != nil {
			return err
		}
	}
	return s.queueWork(ctx, "recovery", in, c, func(ctx context.Context, email string) error {
		made := false
		if in.Create && s.Config.SignupEnabled && accounts.Legible(email) == nil {
			var err error
			if made, err = s.makeUnknown(ctx, email, in.Data, c); err != nil {
				return err
			}
		}
		return s.mailCode(ctx, email, c, func(tx *db.Tx, u *accounts.User) (mailtemplate.Kind, codes.CodeOrder, error) {
			o := codes.CodeOrder{Kind: codes.KindMagicLink, Address: email, From: c.Place(), PKCE: in.PKCE,
				Redirect: in.Redirect}
			if u.EmailConfirmedAt.IsZero() {
				o.Kind = codes.KindSignup
				if made {
					return mailtemplate.Confirmation, o, nil
				}
				if _, err := s.Accounts.Disown(tx, u); err != nil {
					return "", o, err
				}
				if lately, err := s.Post.AskedLately(tx, u, codes.KindSignup, c); err != nil || lately {
					return "", o, err
				}
				return mailtemplate.Confirmation, o, nil
			}
			if lately, err := s.Post.AskedLately(tx, u, codes.KindMagicLink, c); err != nil || lately {
				return "", o, err
			}
			return mailtemplate.MagicLink, o, nil
		})
	})
}

// tellUnknown refuses an address or number without an account, where the operator
// wants that told.
func (s *OTP) tellUnknown(
	ctx context.Context, given string, canonical func(string) (string, error),
	find func(*db.Tx, string) (*accounts.User, error),
) error {
	if !s.Config.OTPTellsUnknown {
		return nil
	}
	at, err := canonical(given)
	if err != nil {
		return err
	}
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		_, err := find(tx, at)
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.Unprocessable, "otp_disabled", "Signups not allowed for otp")
	}
	return err
}

// makeUnknown makes an account without a password for an address that has
// none. made tells whether it did.
func (s *OTP) makeUnknown(
	ctx context.Context, email string, data map[string]any, c accounts.Client,
) (made bool, err error) {
	err = s.Accounts.OnceMore(func() error {
		return s.Write(ctx, func(tx *db.Tx) error {
			made = false
			_, err := accounts.UserByEmail(tx, email)
			if !fault.Is(err, fault.NotFound) {
				return err
			}
			u := s.Accounts.Draft(email, data)
			s.Audit(tx, accounts.Event{User: u.ID, Action: "user.signed_up", Entity: "user", EntityID: u.ID, Client: c})
			made = true
			return accounts.InsertUser(tx, u.SignedUp())
		})
	})
	return made, err
}

// Resend mails a confirmation (type signup) or both halves of an e-mail change
// (type email_change) again.
func (s *OTP) Resend(ctx context.Context, typ string, in MailRequest, c accounts.Client) error {
	switch typ {
	case "signup":
		return s.queueWork(ctx, "confirmation", in, c, func(ctx context.Context, email string) error {
			return s.mailCode(ctx, email, c, func(tx *db.Tx, u *accounts.User) (mailtemplate.Kind, codes.CodeOrder, error) {
				if !u.EmailConfirmedAt.IsZero() {
					return "", codes.CodeOrder{}, nil
				}
				if lately, err := s.Post.AskedLately(tx, u, codes.KindSignup, c); err != nil || lately {
					return "", codes.CodeOrder{}, err
				}
				return mailtemplate.Confirmation, codes.CodeOrder{Kind: codes.KindSignup, Address: email, From: c.Place(),
					PKCE: in.PKCE, Redirect: in.Redirect}, nil
			})
		})
	case "email_change":
		return s.queueWork(ctx, "email_change", in, c, func(ctx context.Context, email string) error {
			return s.resendChange(ctx, email, in, c)
		})
	case "sms", "phone_change":
		return fault.New(fault.Invalid, "phone_provider_disabled", "Phone logins are disabled")
	}
	return fault.New(fault.Invalid, "validation_failed",
		"Missing or unsupported type; one of signup, email_change is required")
}

func (s *OTP) resendChange(ctx context.Context, email string, in MailRequest, c accounts.Client) error {
	var letters []mailtemplate.Letter
	err := s.Write(ctx, func(tx *db.Tx) error {
		letters = nil
		u, err := accounts.UserByEmail(tx, email)
		if fault.Is(err, fault.NotFound) || err == nil && (u.NewEmail == "" || s.Post.SentLately(u.EmailChangeSentAt)) {
			return nil
		}
		if err != nil {
			return err
		}
		if held, err := s.Post.HeldElsewhere(tx, u, codes.KindChangeNew, c); err != nil || held {
			return err
		}
		letters, err = s.ChangeCodes(tx, u, u.NewEmail, in, c)
		return err
	})
	for _, l := range letters {
		if err == nil {
			err = s.Post.Deliver(ctx, l)
		}
	}
	return err
}

// ChangeCodes makes the codes of a pending e-mail change: one for the new
// address, and one for the current when it is proved. Who has the new address
// already is told that instead, by mail.
func (s *OTP) ChangeCodes(
	tx *db.Tx, u *accounts.User, email string, in MailRequest, c accounts.Client,
) ([]mailtemplate.Letter, error) {
	made, err := s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindChangeNew, Address: email, From: c.Place(),
		PKCE: in.PKCE, Redirect: in.Redirect})
	if err != nil {
		return nil, err
	}
	out := []mailtemplate.Letter{{Kind: mailtemplate.EmailChangeNew, User: u.ID, To: email,
		Other: u.Email, Link: made.Link, Code: made.Digits, Valid: s.Config.CodeTTL}}
	owner, err := accounts.UserByEmail(tx, email)
	switch {
	case err == nil && owner.ID != u.ID: // nobody gets the code: the change never comes about
		out[0] = mailtemplate.Letter{Kind: mailtemplate.Known, User: owner.ID, To: email, Link: s.Config.Home()}
	case err != nil && !fault.Is(err, fault.NotFound):
		return nil, err
	}
	if u.Email == "" || u.EmailConfirmedAt.IsZero() {
		return out, nil
	}
	made, err = s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindChangeCurrent, Address: u.Email, From: c.Place(),
		PKCE: in.PKCE, Redirect: in.Redirect})
	return append(out, mailtemplate.Letter{Kind: mailtemplate.EmailChangeCurrent, User: u.ID, To: u.Email, Other: email,
		Link: made.Link, Code: made.Digits, Valid: s.Config.CodeTTL}), err
}

// Reauthenticate mails a code that PUT /user takes as nonce.
func (s *OTP) Reauthenticate(ctx context.Context, a actor.Actor) error {
	var l mailtemplate.Letter
	err := s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.LockedUser(tx, a.UserID)
		if err != nil {
			return err
		}
		switch {
		case u.Email == "" && u.Phone == "":
			return fault.New(fault.Invalid, "validation_failed",
				"Reauthentication requires the user to have an email or a phone number")
		case u.Email == "" || u.EmailConfirmedAt.IsZero():
			return fault.New(fault.Invalid, "email_not_confirmed", "Reauthentication requires a confirmed email address")
		}
		if err := s.Post.ThrottleTx(tx, "reauthentication", u.Email); err != nil {
			return err
		}
		made, err := s.Codes.MakeCode(tx, u, codes.CodeOrder{Kind: codes.KindReauth, Address: u.Email})
		l = mailtemplate.Letter{Kind: mailtemplate.Reauthentication, User: u.ID, To: u.Email, Code: made.Digits,
			Valid: s.Config.CodeTTL}
		return err
	})
	if err != nil {
		return err
	}
	return s.Post.Send(l)
}
