package identity

import (
	"context"

	"holdfast/internal/db"
	"holdfast/internal/fault"
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
func (s *SignUps) SignUpPhone(ctx context.Context, in PhoneSignUp, c Client) (*Session, *User, error) {
	phone, err := s.checkPhoneSignUp(&in)
	if err != nil {
		return nil, nil, err
	}
	if !s.cfg.PhoneConfirmed {
		if err := asText(s.post.spaced(ctx, "sms", phoneAccount+phone, c)); err != nil {
			return nil, nil, err
		}
	}
	hash, err := s.passwords.hasher.Hash(ctx, in.Password)
	if err != nil {
		return nil, nil, err
	}
	u := s.accounts.draft("", in.Data)
	u.Phone, u.hash = phone, hash
	if s.cfg.PhoneConfirmed {
		sess, err := s.signUpPhoneNow(ctx, u, c)
		return sess, nil, err
	}
	answer, err := s.signUpByText(ctx, u, in.Channel, c)
	return nil, answer, err
}

func (s *SignUps) checkPhoneSignUp(in *PhoneSignUp) (string, error) {
	if err := s.accounts.signUpOn(); err != nil {
		return "", err
	}
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
	if in.Password == "" {
		return "", fault.New(fault.Invalid, "validation_failed", "Signup requires a valid password")
	}
	if err := s.passwords.checkPassword(in.Password, []string{phone}, in.Data); err != nil {
		return "", err
	}
	in.Data, err = merge(nil, in.Data)
	return phone, err
}

func (s *SignUps) signUpPhoneNow(ctx context.Context, u *User, c Client) (*Session, error) {
	var g *grant
	u.PhoneConfirmedAt, u.ConfirmedAt = u.CreatedAt, u.CreatedAt
	err := s.accounts.onceMore(func() error {
		return s.write(ctx, func(tx *db.Tx) error {
			if _, err := userByPhone(tx, u.Phone); !fault.Is(err, fault.NotFound) {
				if err == nil {
					err = fault.New(fault.Unprocessable, "user_already_exists", "User already registered")
				}
				return err
			}
			s.accounts.signedUpBy(tx, u, c)
			if err := insertUser(tx, u); err != nil {
				return err
			}
			if err := s.invitations.joinAsWished(tx, u, c); err != nil {
				return err
			}
			var err error
			g, err = s.sessions.begin(tx, u, token.Method{Method: "password"}, c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return s.sessions.issue(g)
}

// signUpByText makes the account, or finds the one whose number nobody proved,
// and sends a code. A taken number keeps one decoy id and gets no message.
func (s *SignUps) signUpByText(ctx context.Context, draft *User, channel string, c Client) (*User, error) {
	answer := *draft
	answer.ConfirmationSentAt = answer.CreatedAt
	owner, taken := "", false
	err := s.accounts.onceMore(func() error {
		return s.write(ctx, func(tx *db.Tx) error {
			owner, taken = "", false
			u, err := userByPhone(tx, draft.Phone)
			if err == nil {
				taken, err = s.accounts.disown(tx, u)
			} else if fault.Is(err, fault.NotFound) {
				u = draft
				s.accounts.signedUpBy(tx, u, c)
				err = insertUser(tx, u)
			}
			if err != nil {
				return err
			}
			if taken {
				answer.ID = s.secrets.UUID("decoy", draft.Phone)
				s.record(tx, event{action: "user.sign_up_repeated", entity: "user", entityID: u.ID, client: c})
				return tx.Flush()
			}
			answer.ID, owner = u.ID, u.ID
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if taken && s.cfg.SignupTellsTaken {
		answer.tell("phone")
		return &answer, nil
	}
	answer.Identities = []Identity{phoneIdentity(&answer)}
	answer.derive()
	return &answer, s.post.outbox.Add(func(ctx context.Context) error {
		return s.otp.textCode(ctx, draft.Phone, func(tx *db.Tx) (*User, codeOrder, error) {
			if owner == "" {
				return nil, codeOrder{}, nil
			}
			u, err := userByID(tx, owner)
			return u, codeOrder{kind: kindSMSSignup, address: draft.Phone, from: c.place(), digits: s.cfg.PhoneCodes[draft.Phone], channel: channel}, err
		})
	})
}
