package admin

import (
	"context"
	"encoding/json"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/signin"
	"holdfast/internal/identity/tenants"
)

// LinkRequest asks for a link without mailing it (POST /admin/generate_link).
type LinkRequest struct {
	Type     string // signup, invite, magiclink, recovery, email_change_current, email_change_new
	Email    string
	Password string // signup of an unknown address
	NewEmail string // e-mail changes
	Data     map[string]any
	Redirect string // resolved by Target
}

// Link is the made link; its JSON is the user's fields and these together.
type Link struct {
	User             *accounts.User `json:"-"`
	ActionLink       string         `json:"action_link"`
	EmailOTP         string         `json:"email_otp"`
	HashedToken      string         `json:"hashed_token"`
	VerificationType string         `json:"verification_type"`
	RedirectTo       string         `json:"redirect_to"`
}

// MarshalJSON flattens the user into the link.
func (l Link) MarshalJSON() ([]byte, error) {
	type own Link
	return json.Marshal(struct {
		*accounts.User
		own
	}{l.User, own(l)})
}

// GenerateLink makes a link for the service key to hand on by itself.
func (s *Administration) GenerateLink(ctx context.Context, a actor.Actor, in LinkRequest) (Link, error) {
	if err := accounts.RequireService(a); err != nil {
		return Link{}, err
	}
	email, err := accounts.Canonical(in.Email)
	if err != nil {
		return Link{}, err
	}
	in.Email = email
	if in.Data, err = accounts.MergeUserData(nil, in.Data); err != nil {
		return Link{}, err
	}
	hash := ""
	if in.Type == codes.KindSignup && in.Password != "" {
		if err := s.Passwords.CheckPassword(in.Password, []string{email}, in.Data); err != nil {
			return Link{}, err
		}
		if hash, err = s.Passwords.Hasher.Hash(ctx, in.Password); err != nil {
			return Link{}, err
		}
	}
	var out Link
	err = s.Write(ctx, func(tx *db.Tx) error {
		u, o, err := s.linkOrder(tx, a, in, hash)
		if err != nil {
			return err
		}
		o.Redirect = in.Redirect
		made, err := s.Codes.MakeCode(tx, u, o)
		out = Link{User: u, ActionLink: made.Link, EmailOTP: made.Digits, HashedToken: made.Hash, VerificationType: o.Kind,
			RedirectTo: in.Redirect}
		s.Audit(tx, accounts.Event{Key: a.KeyID, Action: "link.generated", Entity: "user", EntityID: u.ID,
			Details: map[string]any{"type": o.Kind}, Client: accounts.ClientOf(a)})
		return err
	})
	return out, err
}

// linkOrder finds or makes the account a link is for.
func (s *Administration) linkOrder(
	tx *db.Tx, a actor.Actor, in LinkRequest, hash string,
) (*accounts.User, codes.CodeOrder, error) {
	email, o := in.Email, codes.CodeOrder{Kind: in.Type, Address: in.Email}
	u, err := accounts.UserByEmail(tx, email)
	unknown := fault.Is(err, fault.NotFound)
	if err != nil && !unknown {
		return nil, o, err
	}
	switch in.Type {
	case codes.KindMagicLink:
		if unknown || u.EmailConfirmedAt.IsZero() {
			o.Kind = codes.KindSignup
		}
		if unknown {
			u = s.Accounts.Draft(email, in.Data).Addressed()
			return u, o, accounts.InsertUser(tx, u)
		}
		if u.EmailConfirmedAt.IsZero() {
			_, err = s.Accounts.Disown(tx, u)
		}
		return u, o, err
	case codes.KindRecovery:
		return u, o, err
	case codes.KindSignup:
		switch {
		case !unknown && !u.EmailConfirmedAt.IsZero():
			return nil, o, accounts.ErrTaken()
		case !unknown:
			return u, o, s.signUpAgain(tx, a, u, in, hash)
		case hash == "":
			return nil, o, fault.New(fault.Invalid, "validation_failed", "Signup requires a valid password")
		}
		u = s.Accounts.Draft(email, in.Data)
		u.Hash = hash
		s.Audit(tx, accounts.Event{Key: a.KeyID, Action: "user.created", Entity: "user", EntityID: u.ID,
			Client: accounts.ClientOf(a)})
		return u.Addressed(), o, accounts.InsertUser(tx, u)
	case codes.KindInvite:
		return s.inviteOrder(tx, in, email, u, unknown)
	case codes.KindChangeCurrent, codes.KindChangeNew:
		if unknown {
			return nil, o, err
		}
		return s.changeOrder(tx, in, u)
	}
	return nil, o, fault.New(fault.Invalid, "validation_failed", "Invalid email action link type requested: %s",
		accounts.CutText(in.Type, 40))
}

// signUpAgain gives an account that nobody has proved to whom the service key signs
// up, with the metadata it gives, and the password: this one, or the one it gave
// before. Any other may be a stranger's, and the proof of a sign-up leaves the
// password in the account.
func (s *Administration) signUpAgain(tx *db.Tx, a actor.Actor, u *accounts.User, in LinkRequest, hash string) error {
	disown := s.Accounts.Disown
	if hash == "" {
		disown = func(tx *db.Tx, u *accounts.User) (bool, error) { return s.disownForeign(tx, a, u) }
	}
	taken, err := disown(tx, u)
	if err == nil && taken {
		err = accounts.ErrTaken()
	}
	if err != nil {
		return err
	}
	if u.UserMetadata, err = accounts.Merge(u.UserMetadata, in.Data); err != nil {
		return err
	}
	if hash != "" {
		u.Hash = hash
		s.Audit(tx, accounts.Event{Key: a.KeyID, Action: "user.password_changed", Entity: "user", EntityID: u.ID,
			Client: accounts.ClientOf(a)})
	}
	u.UpdatedAt = accounts.Time{Time: s.Now()}
	_, err = tx.Exec(`
		UPDATE users
		SET password_hash = $2, user_metadata = $3, updated_at = $4
		WHERE id = $1`, u.ID,
		db.Null(u.Hash), accounts.WriteJSON(u.UserMetadata), s.Now())
	return err
}

// disownForeign is disown, but for an account that is the service key's own: of
// that one providers' identities alone go.
func (s *Administration) disownForeign(tx *db.Tx, a actor.Actor, u *accounts.User) (taken bool, err error) {
	own, err := keyMade(tx, a, u)
	switch {
	case err != nil:
		return false, err
	case !own:
		return s.Accounts.Disown(tx, u)
	case !u.ConfirmedAt.IsZero():
		return true, nil
	}
	return false, s.Accounts.WithoutProviders(tx, u, "")
}

func (s *Administration) inviteOrder(
	tx *db.Tx, in LinkRequest, email string, u *accounts.User, unknown bool,
) (*accounts.User, codes.CodeOrder, error) {
	o := codes.CodeOrder{Kind: codes.KindInvite, Address: email, TTL: tenants.InviteLife}
	if !unknown {
		if !u.EmailConfirmedAt.IsZero() {
			return nil, o, accounts.ErrTaken()
		}
		if _, err := s.Accounts.Disown(tx, u); err != nil {
			return nil, o, err
		}
		u.InvitedAt = accounts.Time{Time: s.Now()}
		_, err := tx.Exec("UPDATE users SET invited_at = $2 WHERE id = $1", u.ID, s.Now())
		return u, o, err
	}
	u, err := s.Invitations.MakeInvited(tx, email, in.Data)
	return u, o, err
}

// changeOrder makes an e-mail change to another address than before a pending
// one, by new codes for both halves: a proof of before was of another change.
func (s *Administration) changeOrder(
	tx *db.Tx, in LinkRequest, u *accounts.User,
) (*accounts.User, codes.CodeOrder, error) {
	o := codes.CodeOrder{Kind: in.Type}
	next, err := accounts.Canonical(in.NewEmail)
	if err != nil {
		return nil, o, err
	}
	if _, err := accounts.UserByEmail(tx, next); !fault.Is(err, fault.NotFound) {
		if err == nil {
			err = accounts.ErrTaken()
		}
		return nil, o, err
	}
	if u.NewEmail != next {
		u.NewEmail = next
		if _, err := tx.Exec("UPDATE users SET new_email = $2 WHERE id = $1", u.ID, next); err != nil {
			return nil, o, err
		}
		if _, err := s.OTP.ChangeCodes(tx, u, next, signin.MailRequest{Redirect: in.Redirect},
			accounts.Client{}); err != nil {
			return nil, o, err
		}
	}
	o.Address = next
	if in.Type == codes.KindChangeCurrent {
		o.Address = u.Email
	}
	return u, o, nil
}

// InviteUser makes an account and mails its invitation (POST /invite, service
// key). It joins no tenant.
func (s *Administration) InviteUser(ctx context.Context, a actor.Actor, in LinkRequest) (*accounts.User, error) {
	in.Type = codes.KindInvite
	l, err := s.GenerateLink(ctx, a, in)
	if err != nil {
		return nil, err
	}
	return l.User, s.Post.Send(mailtemplate.Letter{Kind: mailtemplate.Invite, User: l.User.ID, To: l.User.Email,
		Link: l.ActionLink, Code: l.EmailOTP, Valid: tenants.InviteLife})
}
