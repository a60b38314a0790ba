package identity

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/factor"
	"holdfast/internal/identity/letter"
	"holdfast/internal/identity/passkey"
)

// proofLife is how long a session that has shown a credential may change what
// opens the account or protects a tenant.
const proofLife = 10 * time.Minute

// Proofs say whether the person behind a session has shown lately who he is:
// by signing in, by a second factor, or by Renew.
type Proofs struct{ *Base }

// sessionTimes are the columns that lastProof reads.
const sessionTimes = "created_at, raised_at, proved_at"

// lastProof is when a session last showed a credential; the row holds
// sessionTimes from column at on.
func lastProof(r *db.Row, at int) time.Time {
	last := r.Time(at)
	for i := at + 1; i < at+3; i++ {
		if t := r.Time(i); t.After(last) {
			last = t
		}
	}
	return last
}

func (s *Proofs) fresh(at time.Time) bool {
	age := s.now().Sub(at)
	return age >= 0 && age <= proofLife
}

func errUnproved(kind fault.Kind, what string) error {
	return fault.New(kind, "reauthentication_needed", "%s requires reauthentication", what).
		With("", "POST /auth/v1/reauthenticate with password, passkey, or the code of GET /auth/v1/reauthenticate as nonce; then try again")
}

// Admit lets a person change what protects a tenant: its security settings,
// its providers, its keys, its owners and administrators. The session has to
// have shown a credential within proofLife, and the second factor where the
// account has one. Keys are no sessions, and are held by their own rights.
func (s *Proofs) Admit(a actor.Actor) error {
	switch {
	case a.SessionID == "":
		return nil
	case a.Guarded && a.AAL != aal2:
		return fault.New(fault.Forbidden, "insufficient_aal", "AAL2 required to change what protects a tenant: verify your second factor, then try again")
	case !s.fresh(a.Proved):
		return errUnproved(fault.Forbidden, "A change of what protects a tenant")
	}
	return nil
}

// lacks refuses a session of one factor where two are asked for: by the tenant,
// or by the account itself, which has a second. A tenant that does not say what
// it wants has its administrators enrol one within mfaGrace, but for those who
// sign in at its provider.
func (s *Proofs) lacks(ru rules, m Member, guarded, managed bool) error {
	grace := ru.grace(m)
	switch {
	case ru.demands(m.Role), !managed && !grace.IsZero() && !s.now().Before(grace):
		return fault.New(fault.Forbidden, "insufficient_aal",
			"Your organisation requires a second factor: enrol one at /auth/v1/factors, or verify the one you have, then try again")
	case guarded && !ru.selfIgnored:
		return fault.New(fault.Forbidden, "insufficient_aal", "Your account has a second factor: verify it at /auth/v1/factors, then try again")
	}
	return nil
}

// own is Admit for what opens the caller's account. An anonymous account has
// nothing to show.
func (s *Proofs) own(tx *db.Tx, u *User, a actor.Actor, what string) error {
	if u.IsAnonymous || a.SessionID == "" {
		return nil
	}
	var at time.Time
	err := tx.One("SELECT "+sessionTimes+" FROM sessions WHERE id = $1", []any{a.SessionID}, func(r *db.Row) error {
		at = lastProof(r, 0)
		return nil
	})
	if err != nil {
		return sessionGone(err)
	}
	if !s.fresh(at) {
		return errUnproved(fault.Invalid, what)
	}
	return nil
}

// mayUpdate is own for a change that may bring its proof: the password, or a
// mailed nonce, which takeNonce uses up with the change.
func (s *Profile) mayUpdate(ctx context.Context, a actor.Actor, in Update, what string) error {
	var u *User
	err := s.db.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		if u, err = userByID(tx, a.UserID); err != nil || in.proves() || what != "" && !in.opens(u) {
			return err
		}
		return s.proofs.own(tx, u, a, what)
	})
	if err != nil || !in.proves() {
		return err
	}
	return s.entitled(ctx, a, u, session{}, in)
}

// opens reports an update that changes who can come into an account.
func (in Update) opens(u *User) bool {
	return in.Email != "" && in.Email != u.Email || in.Phone != "" && in.Phone != u.Phone || len(in.Remove) > 0
}

// proves reports an update that brings a proof.
func (in Update) proves() bool { return in.CurrentPassword != "" || in.Nonce != "" }

// Proof is a credential shown again: one of them.
type Proof struct {
	Password    string
	Nonce       string // what Reauthenticate mailed
	ChallengeID string // of AskPasskey, with
	Credential  json.RawMessage
}

// RenewProof takes a proof and makes the caller's session a fresh one.
func (s *Profile) RenewProof(ctx context.Context, a actor.Actor, in Proof) error {
	switch {
	case in.ChallengeID != "":
		return s.proveByPasskey(ctx, a, in)
	case in.Password == "" && in.Nonce == "":
		return fault.New(fault.Invalid, "validation_failed", "Reauthentication takes a password, a nonce or a passkey")
	}
	up := Update{CurrentPassword: in.Password, Nonce: in.Nonce}
	if err := s.mayUpdate(ctx, a, up, ""); err != nil {
		return err
	}
	return s.write(ctx, func(tx *db.Tx) error {
		if err := s.takeNonce(tx, a.UserID, up); err != nil {
			return err
		}
		method := "password"
		if in.Password == "" {
			method = "nonce"
		}
		return s.proofs.mark(tx, a, method)
	})
}

// mark notes the proof of a session.
func (s *Proofs) mark(tx *db.Tx, a actor.Actor, method string) error {
	s.record(tx, event{tenant: a.TenantID, user: a.UserID, action: "session.proved", entity: "session", entityID: a.SessionID,
		details: map[string]any{"method": method}, client: clientOf(a)})
	n, err := tx.Exec("UPDATE sessions SET proved_at = $2, updated_at = $2 WHERE id = $1 AND user_id = $3", a.SessionID, s.now(), a.UserID)
	if err == nil && n == 0 {
		err = sessionGone(nil)
	}
	tx.After(func() { s.Forget(a.UserID) })
	return err
}

// proveByPasskey is Renew with a passkey of the caller's own.
func (s *Profile) proveByPasskey(ctx context.Context, a actor.Actor, in Proof) error {
	if err := s.passkeys.passkeysOn(); err != nil {
		return err
	}
	credID, userID, err := passkey.Holder(in.Credential)
	if err != nil {
		return err
	}
	var refused error
	err = s.write(ctx, func(tx *db.Tx) error {
		refused = nil
		q, err := s.passkeys.answered(tx, in.ChallengeID, askGet, "", "")
		if err == nil && userID != a.UserID {
			err = errPasskey()
		}
		if err == nil {
			_, _, err = s.passkeys.asserted(tx, q, credID, userID, in.Credential)
		}
		if err == nil {
			return s.proofs.mark(tx, a, "passkey")
		}
		refused = refusal(err)
		return drop(err, refused)
	})
	if err == nil {
		err = refused
	}
	return err
}

// Things that Update.Remove names.
const (
	removePasskeys   = "passkeys"
	removeFactors    = "factors"
	removeIdentities = "identities"
)

func checkRemove(list []string) error {
	for _, what := range list {
		if !slices.Contains([]string{removePasskeys, removeFactors, removeIdentities}, what) {
			return fault.New(fault.Invalid, "validation_failed", "remove: name passkeys, factors or identities").At("remove", "unknown")
		}
	}
	return nil
}

// removeWays takes off the account what else opens it, as its owner asks who has
// reset the password: a stranger may have added it.
func (s *Profile) removeWays(tx *db.Tx, a actor.Actor, u *User, list []string) error {
	for _, what := range list {
		var err error
		switch what {
		case removePasskeys:
			err = s.removePasskeys(tx, a, u)
		case removeFactors:
			err = s.removeFactors(tx, a, u)
		case removeIdentities:
			err = s.removeIdentities(tx, a, u)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Profile) removePasskeys(tx *db.Tx, a actor.Actor, u *User) error {
	list, err := passkeysOf(tx, u.ID)
	for _, k := range list {
		if err == nil {
			err = s.passkeys.dropPasskey(tx, a, u, k)
		}
	}
	return err
}

func (s *Profile) removeFactors(tx *db.Tx, a actor.Actor, u *User) error {
	list, err := factor.List(tx, u.ID)
	for _, f := range list {
		if err == nil {
			err = s.factors.dropFactor(tx, f, event{tenant: a.TenantID, user: u.ID, client: clientOf(a)})
		}
	}
	u.Factors = nil
	return err
}

// removeIdentities leaves the address and the number. An account that a
// provider's sign-in had made signs in by its address from then on.
func (s *Profile) removeIdentities(tx *db.Tx, a actor.Actor, u *User) error {
	kept := []Identity{}
	for _, i := range u.Identities {
		if i.Provider == "email" || i.Provider == "phone" {
			kept = append(kept, i)
			continue
		}
		s.record(tx, event{tenant: a.TenantID, user: u.ID, action: "user.identity_unlinked", entity: "user", entityID: u.ID,
			details: map[string]any{"provider": i.Provider}, client: clientOf(a)})
		tx.Queue("DELETE FROM identities WHERE id = $1", []any{i.IdentityID}, nil)
	}
	if len(kept) == 0 {
		id := emailIdentity(u, s.now())
		kept = append(kept, id)
		insertIdentity(tx, &id)
	}
	u.Identities = kept
	u.derive()
	return tx.Flush()
}

var wayOf = map[string]letter.WayKind{factor.TOTP: letter.ByApp, factor.WebAuthn: letter.ByKey, factor.Phone: letter.ByPhone}

// ways names what else opens an account, for the mail about a new password.
func (s *Profile) ways(tx *db.Tx, u *User) (list []letter.Way, err error) {
	if u.Passkeys, err = passkeysOf(tx, u.ID); err != nil {
		return nil, err
	}
	for _, k := range u.Passkeys {
		list = append(list, letter.Way{Kind: letter.ByPasskey, Name: k.FriendlyName})
	}
	for _, f := range u.Factors {
		if f.Status == factor.Verified {
			list = append(list, letter.Way{Kind: wayOf[f.Kind], Name: f.FriendlyName})
		}
	}
	for _, i := range u.Identities {
		if i.Provider != "email" && i.Provider != "phone" {
			list = append(list, letter.Way{Kind: letter.ByProvider, Name: i.Provider})
		}
	}
	return list, nil
}
