package signin

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/token"
)

// PhoneSignUp is a request for an account by telephone number.
type PhoneSignUp struct {
	Phone, Password string
	Channel         string         // sms ("") or whatsapp
	Data            map[string]any // user metadata; tenant_id is a wish
}

// SignUpPhone is SignUp by telephone number: a session where numbers need no
// proof, else the same user-shaped answer for a new, an unconfirmed and a taken
// number, and a text message to the first two.
func (s *SignUps) SignUpPhone(
	ctx context.Context, in PhoneSignUp, c accounts.Client,
) (*sessions.Session, *accounts.User, error) {
	phone, err := s.checkPhoneSignUp(&in)
	if err != nil {
		return nil, nil, err
	}
	if !s.Config.PhoneConfirmed {
		if err := accounts.AsText(s.Post.Spaced(ctx, "sms", accounts.PhoneAccount+phone, c)); err != nil {
			return nil, nil, err
		}
	}
	hash, err := s.Passwords.Hasher.Hash(ctx, in.Password)
	if err != nil {
		return nil, nil, err
	}
	u := s.Accounts.Draft("", in.Data)
	u.Phone, u.Hash = phone, hash
	if s.Config.PhoneConfirmed {
		sess, err := s.signUpPhoneNow(ctx, u, c)
		return sess, nil, err
	}
	answer, err := s.signUpByText(ctx, u, in.Channel, c)
	return nil, answer, err
}

func (s *SignUps) checkPhoneSignUp(in *PhoneSignUp) (string, error) {
	if err := s.Accounts.SignUpOn(); err != nil {
		return "", err
	}
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
	if in.Password == "" {
		return "", fault.New(fault.Invalid, "validation_failed", "Signup requires a valid password")
	}
	if err := s.Passwords.CheckPassword(in.Password, []string{phone}, in.Data); err != nil {
		return "", err
	}
	in.Data, err = accounts.MergeUserData(nil, in.Data)
	return phone, err
}

func (s *SignUps) signUpPhoneNow(ctx context.Context, u *accounts.User, c accounts.Client) (*sessions.Session, error) {
	var g *sessions.Grant
	u.PhoneConfirmedAt, u.ConfirmedAt = u.CreatedAt, u.CreatedAt
	err := s.Accounts.OnceMore(func() error {
		return s.Write(ctx, func(tx *db.Tx) error {
			if _, err := accounts.UserByPhone(tx, u.Phone); !fault.Is(err, fault.NotFound) {
				if err == nil {
					err = fault.New(fault.Unprocessable, "user_already_exists", "User already registered")
				}
				return err
			}
			s.Accounts.SignedUpBy(tx, u, c)
			if err := accounts.InsertUser(tx, u); err != nil {
				return err
			}
			if err := s.Invitations.JoinAsWished(tx, u, c); err != nil {
				return err
			}
			var err error
			g, err = s.Sessions.Begin(tx, u, token.Method{Method: "password"}, c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return s.Sessions.Issue(g)
}

// signUpByText makes the account, or finds the one whose number nobody proved,
// and sends a code. A taken number keeps one decoy id and gets no message.
func (s *SignUps) signUpByText(
	ctx context.Context, draft *accounts.User, channel string, c accounts.Client,
) (*accounts.User, error) {
	answer := *draft
	answer.ConfirmationSentAt = answer.CreatedAt
	owner, taken := "", false
	err := s.Accounts.OnceMore(func() error {
		return s.Write(ctx, func(tx *db.Tx) error {
			owner, taken = "", false
			u, err := accounts.UserByPhone(tx, draft.Phone)
			if err == nil {
				taken, err = s.Accounts.Disown(tx, u)
			} else if fault.Is(err, fault.NotFound) {
				u = draft
				s.Accounts.SignedUpBy(tx, u, c)
				err = accounts.InsertUser(tx, u)
			}
			if err != nil {
				return err
			}
			if taken {
				answer.ID = s.Secrets.UUID("decoy", draft.Phone)
				s.Audit(tx, accounts.Event{Action: "user.sign_up_repeated", Entity: "user", EntityID: u.ID, Client: c})
				return tx.Flush()
			}
			answer.ID, owner = u.ID, u.ID
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if taken && s.Config.SignupTellsTaken {
		answer.HideAsTaken("phone")
		return &answer, nil
	}
	answer.Identities = []accounts.Identity{accounts.PhoneIdentity(&answer)}
	answer.Derive()
	return &answer, s.Post.Outbox.Add(func(ctx context.Context) error {
		return s.OTP.TextCode(ctx, draft.Phone, func(tx *db.Tx) (*accounts.User, codes.CodeOrder, error) {
			if owner == "" {
				return nil, codes.CodeOrder{}, nil
			}
			u, err := accounts.UserByID(tx, owner)
			return u, codes.CodeOrder{Kind: codes.KindSMSSignup, Address: draft.Phone, From: c.Place(),
				Digits: s.Config.PhoneCodes[draft.Phone], Channel: channel}, err
		})
	})
}
