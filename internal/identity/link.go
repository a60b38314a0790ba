package identity

import (
	"context"
	"encoding/json"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/letter"
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
	User             *User  `json:"-"`
	ActionLink       string `json:"action_link"`
	EmailOTP         string `json:"email_otp"`
	HashedToken      string `json:"hashed_token"`
	VerificationType string `json:"verification_type"`
	RedirectTo       string `json:"redirect_to"`
}

// MarshalJSON flattens the user into the link.
func (l Link) MarshalJSON() ([]byte, error) {
	type own Link
	return json.Marshal(struct {
		*User
		own
	}{l.User, own(l)})
}

// GenerateLink makes a link for the service key to hand on by itself.
func (s *Administration) GenerateLink(ctx context.Context, a actor.Actor, in LinkRequest) (Link, error) {
	if err := requireService(a); err != nil {
		return Link{}, err
	}
	email, err := Canonical(in.Email)
	if err != nil {
		return Link{}, err
	}
	in.Email = email
	if in.Data, err = merge(nil, in.Data); err != nil {
		return Link{}, err
	}
	hash := ""
	if in.Type == kindSignup && in.Password != "" {
		if err := s.passwords.checkPassword(in.Password, []string{email}, in.Data); err != nil {
			return Link{}, err
		}
		if hash, err = s.passwords.hasher.Hash(ctx, in.Password); err != nil {
			return Link{}, err
		}
	}
	var out Link
	err = s.write(ctx, func(tx *db.Tx) error {
		u, o, err := s.linkOrder(tx, a, in, hash)
		if err != nil {
			return err
		}
		o.redirect = in.Redirect
		made, err := s.codes.makeCode(tx, u, o)
		out = Link{User: u, ActionLink: made.link, EmailOTP: made.digits, HashedToken: made.hash, VerificationType: o.kind, RedirectTo: in.Redirect}
		s.record(tx, event{key: a.KeyID, action: "link.generated", entity: "user", entityID: u.ID, details: map[string]any{"type": o.kind}, client: clientOf(a)})
		return err
	})
	return out, err
}

// linkOrder finds or makes the account a link is for.
func (s *Administration) linkOrder(tx *db.Tx, a actor.Actor, in LinkRequest, hash string) (*User, codeOrder, error) {
	email, o := in.Email, codeOrder{kind: in.Type, address: in.Email}
	u, err := userByEmail(tx, email)
	unknown := fault.Is(err, fault.NotFound)
	if err != nil && !unknown {
		return nil, o, err
	}
	switch in.Type {
	case kindMagicLink:
		if unknown || u.EmailConfirmedAt.IsZero() {
			o.kind = kindSignup
		}
		if unknown {
			u = s.accounts.draft(email, in.Data).addressed()
			return u, o, insertUser(tx, u)
		}
		if u.EmailConfirmedAt.IsZero() {
			_, err = s.accounts.disown(tx, u)
		}
		return u, o, err
	case kindRecovery:
		return u, o, err
	case kindSignup:
		switch {
		case !unknown && !u.EmailConfirmedAt.IsZero():
			return nil, o, errTaken()
		case !unknown:
			return u, o, s.signUpAgain(tx, a, u, in, hash)
		case hash == "":
			return nil, o, fault.New(fault.Invalid, "validation_failed", "Signup requires a valid password")
		}
		u = s.accounts.draft(email, in.Data)
		u.hash = hash
		s.record(tx, event{key: a.KeyID, action: "user.created", entity: "user", entityID: u.ID, client: clientOf(a)})
		return u.addressed(), o, insertUser(tx, u)
	case kindInvite:
		return s.inviteOrder(tx, in, email, u, unknown)
	case kindChangeCurrent, kindChangeNew:
		if unknown {
			return nil, o, err
		}
		return s.changeOrder(tx, in, u)
	}
	return nil, o, fault.New(fault.Invalid, "validation_failed", "Invalid email action link type requested: %s", cut(in.Type, 40))
}

// signUpAgain gives an account that nobody has proved to whom the service key signs
// up, with the metadata it gives, and the password: this one, or the one it gave
// before. Any other may be a stranger's, and the proof of a sign-up leaves the
// password in the account.
func (s *Administration) signUpAgain(tx *db.Tx, a actor.Actor, u *User, in LinkRequest, hash string) error {
	disown := s.accounts.disown
	if hash == "" {
		disown = func(tx *db.Tx, u *User) (bool, error) { return s.disownForeign(tx, a, u) }
	}
	taken, err := disown(tx, u)
	if err == nil && taken {
		err = errTaken()
	}
	if err != nil {
		return err
	}
	if u.UserMetadata, err = merge(u.UserMetadata, in.Data); err != nil {
		return err
	}
	if hash != "" {
		u.hash = hash
		s.record(tx, event{key: a.KeyID, action: "user.password_changed", entity: "user", entityID: u.ID, client: clientOf(a)})
	}
	u.UpdatedAt = Time{Time: s.now()}
	_, err = tx.Exec("UPDATE users SET password_hash = $2, user_metadata = $3, updated_at = $4 WHERE id = $1", u.ID, null(u.hash),
		writeJSON(u.UserMetadata), s.now())
	return err
}

// disownForeign is disown, but for an account that is the service key's own: of
// that one providers' identities alone go.
func (s *Administration) disownForeign(tx *db.Tx, a actor.Actor, u *User) (taken bool, err error) {
	own, err := keyMade(tx, a, u)
	switch {
	case err != nil:
		return false, err
	case !own:
		return s.accounts.disown(tx, u)
	case !u.ConfirmedAt.IsZero():
		return true, nil
	}
	return false, s.accounts.withoutProviders(tx, u, "")
}

func (s *Administration) inviteOrder(tx *db.Tx, in LinkRequest, email string, u *User, unknown bool) (*User, codeOrder, error) {
	o := codeOrder{kind: kindInvite, address: email, ttl: inviteLife}
	if !unknown {
		if !u.EmailConfirmedAt.IsZero() {
			return nil, o, errTaken()
		}
		if _, err := s.accounts.disown(tx, u); err != nil {
			return nil, o, err
		}
		u.InvitedAt = Time{Time: s.now()}
		_, err := tx.Exec("UPDATE users SET invited_at = $2 WHERE id = $1", u.ID, s.now())
		return u, o, err
	}
	u, err := s.invitations.makeInvited(tx, email, in.Data)
	return u, o, err
}

// changeOrder makes an e-mail change to another address than before a pending
// one, by new codes for both halves: a proof of before was of another change.
func (s *Administration) changeOrder(tx *db.Tx, in LinkRequest, u *User) (*User, codeOrder, error) {
	o := codeOrder{kind: in.Type}
	next, err := Canonical(in.NewEmail)
	if err != nil {
		return nil, o, err
	}
	if _, err := userByEmail(tx, next); !fault.Is(err, fault.NotFound) {
		if err == nil {
			err = errTaken()
		}
		return nil, o, err
	}
	if u.NewEmail != next {
		u.NewEmail = next
		if _, err := tx.Exec("UPDATE users SET new_email = $2 WHERE id = $1", u.ID, next); err != nil {
			return nil, o, err
		}
		if _, err := s.otp.changeCodes(tx, u, next, MailRequest{Redirect: in.Redirect}, Client{}); err != nil {
			return nil, o, err
		}
	}
	o.address = next
	if in.Type == kindChangeCurrent {
		o.address = u.Email
	}
	return u, o, nil
}

// InviteUser makes an account and mails its invitation (POST /invite, service
// key). It joins no tenant.
func (s *Administration) InviteUser(ctx context.Context, a actor.Actor, in LinkRequest) (*User, error) {
	in.Type = kindInvite
	l, err := s.GenerateLink(ctx, a, in)
	if err != nil {
		return nil, err
	}
	return l.User, s.post.send(letter.Letter{Kind: letter.Invite, User: l.User.ID, To: l.User.Email, Link: l.ActionLink, Code: l.EmailOTP, Valid: inviteLife})
}
