package mfa

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/passkey"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/identity/token"
)

// Passkeys registers passkeys and signs in by them.
type Passkeys struct {
	*accounts.Base
	Factors  *Factors
	Post     *codes.Post
	Proofs   *accounts.Proofs
	Sessions *sessions.Store
	Relying  *passkey.Relying
}

// maxPasskeys is how many passkeys an account may have.
const maxPasskeys = 10

// Ceremony is a question for a browser and the handle of its answer.
type Ceremony struct {
	ChallengeID string          `json:"challenge_id"`
	Options     json.RawMessage `json:"options"`
	ExpiresAt   int64           `json:"expires_at"` // Unix seconds
}

const passkeyColumns = "id, user_id, friendly_name, credential, created_at, last_used_at"

func scanPasskey(r *db.Row) accounts.Passkey {
	return accounts.Passkey{ID: r.Text(0), User: r.Text(1), FriendlyName: r.Text(2), Credential: r.Text(3),
		CreatedAt: accounts.Time{Time: r.Time(4)}, LastUsedAt: accounts.Time{Time: r.Time(5)}}
}

// PasskeysOf lists the passkeys of an account.
func PasskeysOf(tx *db.Tx, userID string) ([]accounts.Passkey, error) {
	list := []accounts.Passkey{}
	err := tx.Query(db.FillWords(`
		SELECT {passkey columns}
		FROM passkeys
		WHERE user_id = $1
		ORDER BY created_at NULLS LAST, id`, "{passkey columns}", passkeyColumns),
		[]any{userID}, func(r *db.Row) error {
			list = append(list, scanPasskey(r))
			return nil
		})
	return list, err
}

// PasskeysOn refuses where passkeys are switched off.
func (s *Passkeys) PasskeysOn() error {
	if !s.Config.Passkeys {
		return fault.New(fault.NotFound, "passkey_disabled", "Passkeys are disabled")
	}
	return nil
}

// holder is the account as an authenticator sees it. The user handle is the
// random account id, which says nothing of the person.
func holder(u *accounts.User, list []accounts.Passkey) passkey.Person {
	p := passkey.Person{ID: u.ID, Name: u.Email}
	if p.Name == "" {
		p.Name = u.ID
	}
	if name, _ := u.UserMetadata["name"].(string); utf8.RuneCountInString(name) <= 64 {
		p.Display = name
	}
	for _, k := range list {
		p.Known = append(p.Known, k.Credential)
	}
	return p
}

const (
	askCreate = "passkey.create"
	AskGet    = "passkey.get"
)

func (s *Passkeys) ceremony(tx *db.Tx, q factor.Question, c passkey.Ceremony) (Ceremony, error) {
	q.Data = c.State
	q, err := s.Factors.Keeper.Put(tx, q)
	return Ceremony{ChallengeID: q.ID, Options: c.Options, ExpiresAt: q.Expires.Unix()}, err
}

// Answered ends the challenge an answer belongs to; it works once.
func (s *Passkeys) Answered(tx *db.Tx, id, kind, user, session string) (factor.Question, error) {
	q, err := s.Factors.Keeper.Take(tx, id)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return q, err
	}
	gone := fault.New(fault.Invalid, "webauthn_challenge_not_found", "WebAuthn challenge not found")
	if err != nil || q.Kind != kind || q.UserID != user || q.SessionID != session {
		return q, gone
	}
	ok, err := factor.Drop(tx, q)
	switch {
	case err != nil:
		return q, err
	case !ok:
		return q, gone
	case !s.Now().Before(q.Expires):
		return q, fault.New(fault.Invalid, "webauthn_challenge_expired", "WebAuthn challenge has expired")
	}
	return q, nil
}

// RegisterPasskey begins the registration of a passkey.
func (s *Passkeys) RegisterPasskey(ctx context.Context, a actor.Actor) (out Ceremony, err error) {
	if err := s.PasskeysOn(); err != nil {
		return out, err
	}
	err = s.Factors.asOwn(ctx, a, func(tx *db.Tx, me own) error {
		if me.User.SSO {
			// It would outlive what the organisation ends at its provider.
			return fault.New(fault.Unprocessable, "user_sso_managed",
				"A SSO account signs in through its provider, not with a passkey")
		}
		if err := accounts.NeedAAL2(me.User, a, fault.Forbidden, "AAL2 required to manage passkeys"); err != nil {
			return err
		}
		if err := s.Proofs.OwnAccount(tx, me.User, a, "Registering a passkey"); err != nil {
			return err
		}
		list, err := PasskeysOf(tx, me.ID)
		if err != nil {
			return err
		}
		if len(list) >= maxPasskeys {
			return fault.New(fault.Unprocessable, "too_many_passkeys",
				"Maximum number of passkeys reached, remove one to continue")
		}
		c, err := s.Relying.Register(holder(me.User, list), true)
		if err != nil {
			return err
		}
		out, err = s.ceremony(tx, factor.Question{Kind: askCreate, UserID: me.ID, SessionID: me.sess.ID}, c)
		return err
	})
	return out, err
}

const registeredPasskeySQL = `
	INSERT INTO passkeys (id, user_id, credential_id, friendly_name, credential, created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, $6)`

// RegisteredPasskey finishes the registration.
func (s *Passkeys) RegisteredPasskey(
	ctx context.Context, a actor.Actor, challengeID string, response []byte,
) (accounts.Passkey, error) {
	var out accounts.Passkey
	if err := s.PasskeysOn(); err != nil {
		return out, err
	}
	var refused error
	err := s.Factors.asOwn(ctx, a, func(tx *db.Tx, me own) error {
		if err := accounts.NeedAAL2(me.User, a, fault.Forbidden, "AAL2 required to manage passkeys"); err != nil {
			return err
		}
		q, err := s.Answered(tx, challengeID, askCreate, me.ID, me.sess.ID)
		if refused = Refusal(err); refused != nil || err != nil {
			return CommitRefusal(err, refused)
		}
		list, err := PasskeysOf(tx, me.ID)
		if err != nil {
			return err
		}
		cred, err := s.Relying.Registered(holder(me.User, list), q.Data, response)
		if refused = Refusal(err); refused != nil || err != nil {
			return CommitRefusal(err, refused)
		}
		out = accounts.Passkey{ID: db.NewID(), FriendlyName: fmt.Sprintf("Passkey %d", len(list)+1),
			CreatedAt: accounts.Time{Time: s.Now()}}
		s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: me.ID, Action: "passkey.registered", Entity: "passkey",
			EntityID: out.ID, Client: accounts.ClientOf(a)})
		s.Post.Alert(tx, me.User, mailtemplate.PasskeyAdded, "")
		_, err = tx.Exec(registeredPasskeySQL, out.ID, me.ID, cred.ID, out.FriendlyName, cred.Text, s.Now())
		return err
	})
	if fault.HasCode(err, "23505") {
		return out, fault.New(fault.Unprocessable, "webauthn_credential_exists", "This passkey is registered already")
	}
	if err == nil {
		err = refused
	}
	return out, err
}

// Refusal picks the answers that end a challenge, which has to commit.
func Refusal(err error) error {
	if fault.HasCode(err, "webauthn_verification_failed") || fault.HasCode(err, "webauthn_challenge_expired") {
		return err
	}
	return nil
}

// CommitRefusal has a transaction end well whose answer is a refusal.
func CommitRefusal(err, refused error) error {
	if refused != nil {
		return nil
	}
	return err
}

// AskPasskey begins a sign-in: any passkey of the site will do, so nobody is
// named and nothing is told.
func (s *Passkeys) AskPasskey(ctx context.Context) (out Ceremony, err error) {
	if err := s.PasskeysOn(); err != nil {
		return out, err
	}
	c, err := s.Relying.Ask(nil)
	if err != nil {
		return out, err
	}
	err = s.Write(ctx, func(tx *db.Tx) error {
		out, err = s.ceremony(tx, factor.Question{Kind: AskGet}, c)
		return err
	})
	return out, err
}

// SignInPasskey signs in with a passkey. Its authenticator has recognised who
// holds it, so the session has two factors from the start (NIST SP 800-63B
// section 5.1.9, multi-factor cryptographic devices).
func (s *Passkeys) SignInPasskey(
	ctx context.Context, challengeID string, response []byte, c accounts.Client,
) (*sessions.Session, error) {
	if err := s.PasskeysOn(); err != nil {
		return nil, err
	}
	credID, userID, err := passkey.Holder(response)
	if err != nil {
		return nil, err
	}
	var g *sessions.Grant
	var refused error
	err = s.Write(ctx, func(tx *db.Tx) (err error) {
		g, refused = nil, nil
		q, err := s.Answered(tx, challengeID, AskGet, "", "")
		if err == nil {
			g, err = s.byPasskey(tx, q, credID, userID, response, c)
		}
		if refused = Refusal(err); refused != nil {
			s.Audit(tx, accounts.Event{Action: "session.refused", Outcome: "refused",
				Details: map[string]any{"method": "passkey"}, Client: c})
		}
		return CommitRefusal(err, refused)
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	return s.Sessions.Issue(g)
}

func (s *Passkeys) byPasskey(
	tx *db.Tx, q factor.Question, credID, userID string, response []byte, c accounts.Client,
) (*sessions.Grant, error) {
	u, k, err := s.Asserted(tx, q, credID, userID, response)
	if err != nil {
		return nil, err
	}
	return s.Sessions.BeginBy(tx, u, sessions.Entrance{How: token.Method{Method: "passkey"}, Passkey: k.ID}, c)
}

// ErrPasskey refuses a passkey, whatever is wrong with it.
func ErrPasskey() error {
	return fault.New(fault.Invalid, "webauthn_verification_failed", "WebAuthn verification failed")
}

// Asserted is the account whose passkey answers a question, and the passkey.
func (s *Passkeys) Asserted(
	tx *db.Tx, q factor.Question, credID, userID string, response []byte,
) (*accounts.User, accounts.Passkey, error) {
	var k accounts.Passkey
	err := tx.One(db.FillWords(`
		SELECT {passkey columns}
		FROM passkeys
		WHERE credential_id = $1
		{for update}`, "{passkey columns}", passkeyColumns), []any{credID},
		func(r *db.Row) error {
			k = scanPasskey(r)
			return nil
		})
	if fault.Is(err, fault.NotFound) || err == nil && k.User != userID {
		return nil, k, ErrPasskey()
	}
	if err != nil {
		return nil, k, err
	}
	u, err := accounts.LockedUser(tx, k.User)
	if err != nil {
		return nil, k, err
	}
	cred, err := s.Relying.Asserted(holder(u, []accounts.Passkey{k}), q.Data, response)
	if err != nil {
		return nil, k, err
	}
	if u.Banned(s.Now()) {
		return nil, k, accounts.ErrBanned()
	}
	_, err = tx.Exec(`
		UPDATE passkeys
		SET credential = $2, last_used_at = $3
		WHERE id = $1`, k.ID, cred.Text, s.Now())
	return u, k, err
}

// List lists the caller's passkeys.
func (s *Passkeys) List(ctx context.Context, a actor.Actor) (list []accounts.Passkey, err error) {
	if err := s.PasskeysOn(); err != nil {
		return nil, err
	}
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		list, err = PasskeysOf(tx, a.UserID)
		return err
	})
	return list, err
}

func errNoPasskey() error {
	return fault.New(fault.NotFound, "webauthn_credential_not_found", "Passkey not found")
}

// RenamePasskey sets the friendly name of one of the caller's passkeys.
func (s *Passkeys) RenamePasskey(
	ctx context.Context, a actor.Actor, id, name string,
) (out accounts.Passkey, err error) {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > 100 || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool {
			return r < ' ' || r == 0x7f
		}) {
		return out, fault.New(fault.Invalid, "validation_failed",
			"friendly_name: use 1 to 100 characters and no control characters")
	}
	err = s.onPasskey(ctx, a, a.UserID, id, func(tx *db.Tx, _ *accounts.User, k accounts.Passkey) error {
		out = k
		out.FriendlyName = name
		_, err := tx.Exec(`
			UPDATE passkeys
			SET friendly_name = $2, updated_at = $3
			WHERE id = $1`, id, name, s.Now())
		return err
	})
	return out, err
}

// RemovePasskey deletes one of the caller's passkeys and ends the sessions it
// began; the caller's own, if it is one of them, falls back to one factor.
func (s *Passkeys) RemovePasskey(ctx context.Context, a actor.Actor, id string) error {
	return s.onPasskey(ctx, a, a.UserID, id, func(tx *db.Tx, u *accounts.User, k accounts.Passkey) error {
		if err := accounts.NeedAAL2(u, a, fault.Forbidden, "AAL2 required to manage passkeys"); err != nil {
			return err
		}
		return s.DropPasskey(tx, a, u, k)
	})
}

// DropPasskey removes a passkey, ends what it opened but for the caller's own session,
// and tells its owner.
func (s *Passkeys) DropPasskey(tx *db.Tx, a actor.Actor, u *accounts.User, k accounts.Passkey) error {
	s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: a.UserID, Key: a.KeyID, Action: "passkey.removed",
		Entity: "passkey", EntityID: k.ID, Details: map[string]any{"of": u.ID}, Client: accounts.ClientOf(a)})
	s.Post.Alert(tx, u, mailtemplate.PasskeyRemoved, "")
	if _, err := tx.Exec("DELETE FROM passkeys WHERE id = $1", k.ID); err != nil {
		return err
	}
	where, args := " AND factor_id = $2", []any{k.ID}
	if a.SessionID != "" {
		where, args = where+" AND id <> $3", append(args, a.SessionID)
	}
	if err := s.EndSessionsWhere(tx, u.ID, where, args...); err != nil {
		return err
	}
	return s.Sessions.Lower(tx, u.ID, k.ID, "")
}

func (s *Passkeys) onPasskey(
	ctx context.Context, a actor.Actor, userID, id string, do func(tx *db.Tx, u *accounts.User, k accounts.Passkey) error,
) error {
	if err := s.PasskeysOn(); err != nil {
		return err
	}
	return s.Write(ctx, func(tx *db.Tx) error {
		u, err := accounts.LockedUser(tx, userID)
		if err != nil {
			return err
		}
		list, err := PasskeysOf(tx, u.ID)
		if err != nil {
			return err
		}
		for _, k := range list {
			if k.ID == id {
				return do(tx, u, k)
			}
		}
		return errNoPasskey()
	})
}

// UserPasskeys lists an account's passkeys for the service key.
func (s *Passkeys) UserPasskeys(ctx context.Context, a actor.Actor, userID string) ([]accounts.Passkey, error) {
	if err := accounts.RequireService(a); err != nil {
		return nil, err
	}
	return s.List(ctx, actor.Actor{UserID: userID})
}

// RemoveUserPasskey deletes a passkey for the service key.
func (s *Passkeys) RemoveUserPasskey(ctx context.Context, a actor.Actor, userID, id string) error {
	if err := accounts.RequireService(a); err != nil {
		return err
	}
	return s.onPasskey(ctx, a, userID, id, func(tx *db.Tx, u *accounts.User, k accounts.Passkey) error {
		return s.DropPasskey(tx, a, u, k)
	})
}
