package mfa

import (
	"context"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/codes"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/mailtemplate"
	"holdfast/internal/identity/passkey"
	"holdfast/internal/identity/sessions"
	"holdfast/internal/web"
)

// Factors enrols second factors and asks for them.
type Factors struct {
	*accounts.Base
	Post     *codes.Post
	Proofs   *accounts.Proofs
	Sessions *sessions.Store
	Keeper   *factor.Keeper
}

// own is the caller's account with its session, both rows locked.
type own struct {
	*accounts.User
	sess sessions.Row
	from string // the group of the caller's address
}

func (o own) owner() factor.Owner {
	return factor.Owner{UserID: o.ID, SessionID: o.sess.ID, Email: o.Email, From: o.from}
}

// ownAccount locks the account of the caller, who must not be anonymous: a
// second factor protects an account somebody can come back to.
func ownAccount(tx *db.Tx, a actor.Actor) (own, error) {
	u, err := accounts.LockedUser(tx, a.UserID)
	if err != nil {
		return own{}, err
	}
	if u.IsAnonymous {
		return own{}, fault.New(fault.Forbidden, "no_authorization", "Anonymous users cannot have factors or passkeys")
	}
	sess, err := sessions.SessionBy(tx, a.SessionID)
	if err != nil {
		return own{}, accounts.SessionGone(err)
	}
	return own{u, sess, web.AddressKey(a.Address)}, nil
}

// asOwn runs f on the caller's account in one transaction.
func (s *Factors) asOwn(ctx context.Context, a actor.Actor, f func(tx *db.Tx, me own) error) error {
	return s.Write(ctx, func(tx *db.Tx) error {
		me, err := ownAccount(tx, a)
		if err != nil {
			return err
		}
		return f(tx, me)
	})
}

// EnrolFactor begins the enrolment of a second factor. Where there is one
// already, it has to have been used.
func (s *Factors) EnrolFactor(ctx context.Context, a actor.Actor, in factor.Enrol) (out factor.Enrolled, err error) {
	if in.Kind == factor.Phone && s.Config.MFAPhoneEnroll {
		if in.Phone, err = accounts.CanonicalPhone(in.Phone); err != nil {
			return out, err
		}
	}
	err = s.asOwn(ctx, a, func(tx *db.Tx, me own) error {
		if err := accounts.NeedAAL2(me.User, a, fault.Forbidden, "AAL2 required to enroll a new factor"); err != nil {
			return err
		}
		if err := s.Proofs.OwnAccount(tx, me.User, a, "Enrolling a second factor"); err != nil {
			return err
		}
		if out, err = s.Keeper.Enrol(tx, me.owner(), in); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: me.ID, Action: "mfa.enrolment_started", Entity: "factor",
			EntityID: out.ID, Details: map[string]any{"type": out.Kind}, Client: accounts.ClientOf(a)})
		return nil
	})
	return out, err
}

// Offer is what a client asks for with a challenge: a browser that has a
// security key, by what it knows of the site, which has to be what is
// configured; one with a telephone, by the channel of the message.
type Offer struct {
	RPID    string
	Origins []string
	Channel string // sms ("") or whatsapp
}

func (s *Factors) checkOffer(o *Offer) error {
	if err := accounts.CheckChannel(&o.Channel); err != nil {
		return err
	}
	if o.RPID != "" && o.RPID != s.Config.WebAuthnID {
		return fault.New(fault.Invalid, "validation_failed", "webauthn.rpId must be %s", s.Config.WebAuthnID)
	}
	for _, origin := range o.Origins {
		ok := false
		for _, have := range s.Config.WebAuthnOrigins {
			ok = ok || have == origin
		}
		if !ok {
			return fault.New(fault.Invalid, "validation_failed", "webauthn.rpOrigins: %q is not configured",
				accounts.CutText(origin, 100))
		}
	}
	return nil
}

// ChallengeFactor puts a question to one of the caller's factors; a telephone
// is sent the code.
func (s *Factors) ChallengeFactor(
	ctx context.Context, a actor.Actor, id string, o Offer,
) (out factor.Challenge, err error) {
	if err := s.checkOffer(&o); err != nil {
		return out, err
	}
	var u *accounts.User
	var f factor.Factor
	err = s.asOwn(ctx, a, func(tx *db.Tx, me own) (err error) {
		u = me.User
		if f, err = s.Keeper.Find(tx, me.ID, id); err != nil {
			return err
		}
		if out, err = s.Keeper.Challenge(tx, me.owner(), f); err != nil || out.Digits == "" {
			return err
		}
		return s.throttleFactor(tx, f, me.from)
	})
	if err == nil && out.Digits != "" {
		err = s.textFactor(u, f.Phone, o.Channel, out.Digits)
	}
	return out, err
}

// VerifyFactor takes the answer to a challenge and raises the session to two
// factors: same session, new tokens. The first answer of a factor enrols it
// and ends every session of the account that knows one factor only.
func (s *Factors) VerifyFactor(
	ctx context.Context, a actor.Actor, id string, in factor.Answer,
) (*sessions.Session, error) {
	return s.raiseSession(ctx, a, func(tx *db.Tx, me own) (raised, error, error) {
		f, err := s.Keeper.Find(tx, me.ID, id)
		if err != nil {
			return raised{}, nil, err
		}
		r := raised{method: methodOf(f), factor: f.ID, first: f.Status == factor.Unverified}
		if r.first {
			// Begun before the account was protected, or it would be a way past
			// the factor that protects it.
			if err := accounts.NeedAAL2(me.User, a, fault.Forbidden, "AAL2 required to enroll a new factor"); err != nil {
				return r, err, nil
			}
		}
		refused, err := s.Keeper.Answer(tx, me.owner(), f, in)
		return r, refused, err
	})
}

// methodOf is the authentication method a factor counts as.
func methodOf(f factor.Factor) string {
	if f.Kind == factor.TOTP {
		return "totp"
	}
	return "mfa/" + f.Kind
}

// raised is what lifted a session.
type raised struct {
	method, factor string
	first          bool
}

// raiseSession counts an attempt, lets prove look at the answer and, when it is
// right, raises the session. A refusal commits: the count stays.
func (s *Factors) raiseSession(
	ctx context.Context, a actor.Actor, prove func(tx *db.Tx, me own) (r raised, refused, err error),
) (*sessions.Session, error) {
	var g *sessions.Grant
	var refused error
	err := s.asOwn(ctx, a, func(tx *db.Tx, me own) (err error) {
		if me.Banned(s.Now()) {
			return accounts.ErrBanned()
		}
		if refused, err = s.Keeper.Attempt(tx, me.ID); refused != nil || err != nil {
			return err
		}
		var r raised
		r, refused, err = prove(tx, me)
		if err != nil {
			return err
		}
		e := accounts.Event{Tenant: a.TenantID, User: me.ID, Action: "mfa.verified", Entity: "session", EntityID: me.sess.ID,
			Details: map[string]any{"method": r.method}, Client: accounts.ClientOf(a)}
		if refused != nil {
			e.Action, e.Outcome = "mfa.refused", "refused"
			s.Audit(tx, e)
			return tx.Flush()
		}
		s.Audit(tx, e)
		g, err = s.raiseOwn(tx, me, r, accounts.ClientOf(a))
		return err
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	return s.Sessions.Issue(g)
}

func (s *Factors) raiseOwn(tx *db.Tx, me own, r raised, c accounts.Client) (*sessions.Grant, error) {
	if r.first {
		s.Audit(tx, accounts.Event{Tenant: me.sess.Tenant, User: me.ID, Action: "mfa.enrolled", Entity: "factor",
			EntityID: r.factor, Client: c})
		s.Post.Alert(tx, me.User, mailtemplate.FactorAdded, "")
		if err := s.EndSessionsWhere(tx, me.ID, " AND id <> $2 AND aal <> 'aal2'", me.sess.ID); err != nil {
			return nil, err
		}
	}
	if err := s.Sessions.Raise(tx, &me.sess, r.method, r.factor); err != nil {
		return nil, err
	}
	if err := me.KnownFrom(tx, c); err != nil {
		return nil, err
	}
	list, err := factor.List(tx, me.ID)
	if err != nil {
		return nil, err
	}
	me.Factors = list
	return sessions.StandingGrant(tx, me.User, me.sess)
}

// UnenrolFactor deletes one of the caller's factors. A verified one takes a
// session of two factors; sessions it raised fall back to one.
func (s *Factors) UnenrolFactor(ctx context.Context, a actor.Actor, id string) error {
	return s.asOwn(ctx, a, func(tx *db.Tx, me own) error {
		f, err := s.Keeper.Find(tx, me.ID, id)
		if err != nil {
			return err
		}
		if f.Status == factor.Verified && a.AAL != accounts.AAL2 {
			return fault.New(fault.Unprocessable, "insufficient_aal", "AAL2 required to unenroll verified factor")
		}
		if f.Status == factor.Verified {
			s.Post.Alert(tx, me.User, mailtemplate.FactorRemoved, "")
		}
		return s.DropFactor(tx, f, accounts.Event{Tenant: a.TenantID, User: me.ID, Client: accounts.ClientOf(a)})
	})
}

// DropFactor removes a factor, and from sessions the level that it gave; e says by
// whom.
func (s *Factors) DropFactor(tx *db.Tx, f factor.Factor, e accounts.Event) error {
	e.Action, e.Entity, e.EntityID, e.Details = "mfa.unenrolled", "factor", f.ID,
		map[string]any{"type": f.Kind, "status": f.Status, "of": f.UserID}
	s.Audit(tx, e)
	if err := s.Keeper.Remove(tx, f); err != nil {
		return err
	}
	return s.Sessions.Lower(tx, f.UserID, f.ID, methodOf(f))
}

// List lists the caller's factors.
func (s *Factors) List(ctx context.Context, a actor.Actor) (list []factor.Factor, err error) {
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		list, err = factor.List(tx, a.UserID)
		return err
	})
	return list, err
}

// NewRecoveryCodes makes ten single-use codes that stand in for a lost factor,
// in place of any made before. They are shown here and never again.
func (s *Factors) NewRecoveryCodes(ctx context.Context, a actor.Actor) (codes []string, err error) {
	err = s.asOwn(ctx, a, func(tx *db.Tx, me own) error {
		if !factor.On(me.Factors) {
			return fault.New(fault.Unprocessable, "mfa_factor_not_found", "Enroll a factor before making recovery codes")
		}
		if err := accounts.NeedAAL2(me.User, a, fault.Forbidden, "AAL2 required to make recovery codes"); err != nil {
			return err
		}
		if err := s.Proofs.OwnAccount(tx, me.User, a, "Making recovery codes"); err != nil {
			return err
		}
		s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: me.ID, Action: "mfa.recovery_codes_made", Entity: "user",
			EntityID: me.ID, Client: accounts.ClientOf(a)})
		s.Post.Alert(tx, me.User, mailtemplate.CodesMade, "")
		codes, err = s.Keeper.NewCodes(tx, me.ID)
		return err
	})
	return codes, err
}

// RecoveryCodesLeft counts the caller's codes that were not used.
func (s *Factors) RecoveryCodesLeft(ctx context.Context, a actor.Actor) (n int, err error) {
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		n, err = factor.CodesLeft(tx, a.UserID)
		return err
	})
	return n, err
}

// UseRecoveryCode raises the session with a recovery code.
func (s *Factors) UseRecoveryCode(ctx context.Context, a actor.Actor, code string) (*sessions.Session, error) {
	return s.raiseSession(ctx, a, func(tx *db.Tx, me own) (raised, error, error) {
		r := raised{method: "recovery_code"}
		s.Post.Alert(tx, me.User, mailtemplate.CodeTried, "")
		ok, err := s.Keeper.UseCode(tx, me.ID, code)
		if err != nil {
			return r, nil, err
		}
		if !ok {
			return r, fault.New(fault.Unprocessable, "mfa_verification_failed", "Invalid recovery code entered"), nil
		}
		return r, nil, s.Keeper.Passed(tx, me.ID)
	})
}

// UserFactors lists an account's factors for the service key.
func (s *Factors) UserFactors(ctx context.Context, a actor.Actor, userID string) (list []factor.Factor, err error) {
	if err := accounts.RequireService(a); err != nil {
		return nil, err
	}
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) error {
		if _, err := accounts.UserByID(tx, userID); err != nil {
			return err
		}
		list, err = factor.List(tx, userID)
		return err
	})
	return list, err
}

// FactorChange is what the service key may change of a factor; nil leaves it.
type FactorChange struct {
	FriendlyName, Phone *string
}

// ChangeUserFactor changes a factor of an account for the service key.
func (s *Factors) ChangeUserFactor(
	ctx context.Context, a actor.Actor, userID, id string, in FactorChange,
) (f factor.Factor, err error) {
	return s.onFactor(ctx, a, userID, id, func(tx *db.Tx, f factor.Factor) (factor.Factor, error) {
		e := accounts.Event{User: a.UserID, Key: a.KeyID, Action: "mfa.renamed", Entity: "factor", EntityID: id,
			Details: map[string]any{"of": userID}, Client: accounts.ClientOf(a)}
		if in.FriendlyName != nil {
			s.Audit(tx, e)
			if f, err = s.Keeper.Rename(tx, f, *in.FriendlyName); err != nil {
				return f, err
			}
		}
		if in.Phone == nil {
			return f, tx.Flush()
		}
		phone, err := accounts.CanonicalPhone(*in.Phone)
		if err != nil {
			return f, err
		}
		e.Action = "mfa.moved"
		s.Audit(tx, e)
		return s.Keeper.Move(tx, f, phone)
	})
}

// RemoveUserFactor deletes a factor for the service key: the way back for who
// lost it and the recovery codes.
func (s *Factors) RemoveUserFactor(ctx context.Context, a actor.Actor, userID, id string) (factor.Factor, error) {
	return s.onFactor(ctx, a, userID, id, func(tx *db.Tx, f factor.Factor) (factor.Factor, error) {
		if err := s.Keeper.Passed(tx, userID); err != nil {
			return f, err
		}
		return f, s.DropFactor(tx, f, accounts.Event{User: a.UserID, Key: a.KeyID, Client: accounts.ClientOf(a)})
	})
}

func (s *Factors) onFactor(ctx context.Context, a actor.Actor, userID, id string,
	do func(tx *db.Tx, f factor.Factor) (factor.Factor, error)) (f factor.Factor, err error) {
	if err := accounts.RequireService(a); err != nil {
		return f, err
	}
	err = s.Write(ctx, func(tx *db.Tx) error {
		if _, err := accounts.LockedUser(tx, userID); err != nil {
			return err
		}
		if f, err = s.Keeper.Find(tx, userID, id); err != nil {
			return err
		}
		f, err = do(tx, f)
		return err
	})
	return f, err
}

// NewKeeper keeps factors as the configuration has it.
func NewKeeper(b *accounts.Base, relying *passkey.Relying) *factor.Keeper {
	c := &b.Config
	texts := factor.Texts{Enrol: c.MFAPhoneEnroll, Verify: c.MFAPhoneVerify, Digits: c.OTPLength, Fixed: c.PhoneCodes}
	k := &factor.Keeper{Keys: b.Secrets, Now: b.Now, Life: c.ChallengeTTL, Issuer: c.ProductName, Texts: texts,
		Apps: c.MFAAppsOff, SameAddress: c.MFASameAddress}
	if !c.MFAKeysOff {
		k.Web = relying
	}
	return k
}
