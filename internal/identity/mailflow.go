package identity

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
)

// OTP sends one-time passwords by mail and text, to those who ask for them.
type OTP struct {
	*Base
	accounts *Accounts
	codes    *Codes
	post     *Post
}

// MailRequest asks for a mail with a code, by address.
type MailRequest struct {
	Email    string
	PKCE     PKCE
	Redirect string         // resolved by Target
	Data     map[string]any // metadata of an account made by OTP
	Create   bool           // OTP: make an account for an unknown address
}

// order checks a request and takes it off the request path: what follows
// depends on whether the address is known, and must not show.
func (s *OTP) order(ctx context.Context, purpose string, in MailRequest, c Client, work func(ctx context.Context, email string) error) error {
	if err := s.accounts.emailOn(fault.Invalid); err != nil {
		return err
	}
	email, err := Canonical(in.Email)
	if err != nil {
		return err
	}
	if err := in.PKCE.check(); err != nil {
		return err
	}
	if err := s.post.spaced(ctx, purpose, email, c); err != nil {
		return err
	}
	return s.post.outbox.Add(func(ctx context.Context) error { return work(ctx, email) })
}

// Recover mails a link to choose a new password, if there is an account.
func (s *OTP) Recover(ctx context.Context, in MailRequest, c Client) error {
	return s.order(ctx, "recovery", in, c, func(ctx context.Context, email string) error {
		return s.mailCode(ctx, email, c, func(tx *db.Tx, u *User) (letter.Kind, codeOrder, error) {
			if lately, err := s.post.askedLately(tx, u, kindRecovery, c); err != nil || lately {
				return "", codeOrder{}, err
			}
			s.record(tx, event{user: u.ID, action: "user.recovery_requested", entity: "user", entityID: u.ID, client: c})
			return letter.Recovery, codeOrder{kind: kindRecovery, address: email, from: c.place(), pkce: in.PKCE, redirect: in.Redirect}, nil
		})
	})
}

// sentLately holds the mail interval across nodes, where memory does not
// reach; the caller is not told.
func (s *Post) sentLately(at Time) bool {
	return !at.IsZero() && s.cfg.MailInterval > 0 && s.now().Sub(at.Time) < s.cfg.MailInterval
}

// mailCode finds the account, lets choose decide and mails the code. An
// unknown address, or an empty kind, mails nothing.
func (s *OTP) mailCode(ctx context.Context, email string, _ Client, choose func(tx *db.Tx, u *User) (letter.Kind, codeOrder, error)) error {
	var l letter.Letter
	err := s.write(ctx, func(tx *db.Tx) error {
		l = letter.Letter{}
		u, err := userByEmail(tx, email)
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
		made, err := s.codes.makeCode(tx, u, o)
		l = letter.Letter{Kind: kind, User: u.ID, To: o.address, Link: made.link, Code: made.digits, Valid: s.cfg.CodeTTL}
		return err
	})
	if err != nil || l.Kind == "" {
		return err
	}
	return s.post.Deliver(ctx, l)
}

// OTP mails a sign-in link and code; an unknown address gets an account first
// when in.Create is set and sign-up is open. Strangers see success, unless the
// operator wants the unknown told.
func (s *OTP) OTP(ctx context.Context, in MailRequest, c Client) error {
	if err := checkMetadata(in.Data); err != nil {
		return err
	}
	if err := s.accounts.emailOn(fault.Unprocessable); err != nil {
		return err
	}
	if !in.Create {
		if err := s.tellUnknown(ctx, in.Email, Canonical, userByEmail); err != nil {
			return err
		}
	}
	return s.order(ctx, "recovery", in, c, func(ctx context.Context, email string) error {
		made := false
		if in.Create && s.cfg.SignupEnabled && legible(email) == nil {
			var err error
			if made, err = s.makeUnknown(ctx, email, in.Data, c); err != nil {
				return err
			}
		}
		return s.mailCode(ctx, email, c, func(tx *db.Tx, u *User) (letter.Kind, codeOrder, error) {
			o := codeOrder{kind: kindMagicLink, address: email, from: c.place(), pkce: in.PKCE, redirect: in.Redirect}
			if u.EmailConfirmedAt.IsZero() {
				o.kind = kindSignup
				if made {
					return letter.Confirmation, o, nil
				}
				if _, err := s.accounts.disown(tx, u); err != nil {
					return "", o, err
				}
				if lately, err := s.post.askedLately(tx, u, kindSignup, c); err != nil || lately {
					return "", o, err
				}
				return letter.Confirmation, o, nil
			}
			if lately, err := s.post.askedLately(tx, u, kindMagicLink, c); err != nil || lately {
				return "", o, err
			}
			return letter.MagicLink, o, nil
		})
	})
}

// tellUnknown refuses an address or number without an account, where the operator
// wants that told.
func (s *OTP) tellUnknown(ctx context.Context, given string, canonical func(string) (string, error), find func(*db.Tx, string) (*User, error)) error {
	if !s.cfg.OTPTellsUnknown {
		return nil
	}
	at, err := canonical(given)
	if err != nil {
		return err
	}
	err = s.db.Read(ctx, everywhere, func(tx *db.Tx) error {
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
func (s *OTP) makeUnknown(ctx context.Context, email string, data map[string]any, c Client) (made bool, err error) {
	err = s.accounts.onceMore(func() error {
		return s.write(ctx, func(tx *db.Tx) error {
			made = false
			_, err := userByEmail(tx, email)
			if !fault.Is(err, fault.NotFound) {
				return err
			}
			u := s.accounts.draft(email, data)
			s.record(tx, event{user: u.ID, action: "user.signed_up", entity: "user", entityID: u.ID, client: c})
			made = true
			return insertUser(tx, u.signedUp())
		})
	})
	return made, err
}

// Resend mails a confirmation (type signup) or both halves of an e-mail change
// (type email_change) again.
func (s *OTP) Resend(ctx context.Context, typ string, in MailRequest, c Client) error {
	switch typ {
	case "signup":
		return s.order(ctx, "confirmation", in, c, func(ctx context.Context, email string) error {
			return s.mailCode(ctx, email, c, func(tx *db.Tx, u *User) (letter.Kind, codeOrder, error) {
				if !u.EmailConfirmedAt.IsZero() {
					return "", codeOrder{}, nil
				}
				if lately, err := s.post.askedLately(tx, u, kindSignup, c); err != nil || lately {
					return "", codeOrder{}, err
				}
				return letter.Confirmation, codeOrder{kind: kindSignup, address: email, from: c.place(), pkce: in.PKCE, redirect: in.Redirect}, nil
			})
		})
	case "email_change":
		return s.order(ctx, "email_change", in, c, func(ctx context.Context, email string) error { return s.resendChange(ctx, email, in, c) })
	case "sms", "phone_change":
		return fault.New(fault.Invalid, "phone_provider_disabled", "Phone logins are disabled")
	}
	return fault.New(fault.Invalid, "validation_failed", "Missing or unsupported type; one of signup, email_change is required")
}

func (s *OTP) resendChange(ctx context.Context, email string, in MailRequest, c Client) error {
	var letters []letter.Letter
	err := s.write(ctx, func(tx *db.Tx) error {
		letters = nil
		u, err := userByEmail(tx, email)
		if fault.Is(err, fault.NotFound) || err == nil && (u.NewEmail == "" || s.post.sentLately(u.EmailChangeSentAt)) {
			return nil
		}
		if err != nil {
			return err
		}
		if held, err := s.post.heldElsewhere(tx, u, kindChangeNew, c); err != nil || held {
			return err
		}
		letters, err = s.changeCodes(tx, u, u.NewEmail, in, c)
		return err
	})
	for _, l := range letters {
		if err == nil {
			err = s.post.Deliver(ctx, l)
		}
	}
	return err
}

// changeCodes makes the codes of a pending e-mail change: one for the new
// address, and one for the current when it is proved. Who has the new address
// already is told that instead, by mail.
func (s *OTP) changeCodes(tx *db.Tx, u *User, email string, in MailRequest, c Client) ([]letter.Letter, error) {
	made, err := s.codes.makeCode(tx, u, codeOrder{kind: kindChangeNew, address: email, from: c.place(), pkce: in.PKCE, redirect: in.Redirect})
	if err != nil {
		return nil, err
	}
	out := []letter.Letter{{Kind: letter.EmailChangeNew, User: u.ID, To: email, Other: u.Email, Link: made.link, Code: made.digits, Valid: s.cfg.CodeTTL}}
	owner, err := userByEmail(tx, email)
	switch {
	case err == nil && owner.ID != u.ID: // nobody gets the code: the change never comes about
		out[0] = letter.Letter{Kind: letter.Known, User: owner.ID, To: email, Link: s.cfg.SiteURL}
	case err != nil && !fault.Is(err, fault.NotFound):
		return nil, err
	}
	if u.Email == "" || u.EmailConfirmedAt.IsZero() {
		return out, nil
	}
	made, err = s.codes.makeCode(tx, u, codeOrder{kind: kindChangeCurrent, address: u.Email, from: c.place(), pkce: in.PKCE, redirect: in.Redirect})
	return append(out, letter.Letter{Kind: letter.EmailChangeCurrent, User: u.ID, To: u.Email, Other: email, Link: made.link, Code: made.digits,
		Valid: s.cfg.CodeTTL}), err
}

// Reauthenticate mails a code that PUT /user takes as nonce.
func (s *OTP) Reauthenticate(ctx context.Context, a actor.Actor) error {
	var l letter.Letter
	err := s.write(ctx, func(tx *db.Tx) error {
		u, err := locked(tx, a.UserID)
		if err != nil {
			return err
		}
		switch {
		case u.Email == "" && u.Phone == "":
			return fault.New(fault.Invalid, "validation_failed", "Reauthentication requires the user to have an email or a phone number")
		case u.Email == "" || u.EmailConfirmedAt.IsZero():
			return fault.New(fault.Invalid, "email_not_confirmed", "Reauthentication requires a confirmed email address")
		}
		if err := s.post.throttleTx(tx, "reauthentication", u.Email); err != nil {
			return err
		}
		made, err := s.codes.makeCode(tx, u, codeOrder{kind: kindReauth, address: u.Email})
		l = letter.Letter{Kind: letter.Reauthentication, User: u.ID, To: u.Email, Code: made.digits, Valid: s.cfg.CodeTTL}
		return err
	})
	if err != nil {
		return err
	}
	return s.post.send(l)
}
