package accounts

import (
	"context"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// proofLife is how long a session that has shown a credential may change what
// opens the account or protects a tenant.
const proofLife = 10 * time.Minute

// Proofs say whether the person behind a session has shown lately who he is:
// by signing in, by a second factor, or by Renew.
type Proofs struct{ *Base }

// SessionTimes are the columns that LastProof reads.
const SessionTimes = "created_at, raised_at, proved_at"

// LastProof is when a session last showed a credential; the row holds
// SessionTimes from column at on.
func LastProof(r *db.Row, at int) time.Time {
	last := r.Time(at)
	for i := at + 1; i < at+3; i++ {
		if t := r.Time(i); t.After(last) {
			last = t
		}
	}
	return last
}

func (s *Proofs) fresh(at time.Time) bool {
	age := s.Now().Sub(at)
	return age >= 0 && age <= proofLife
}

func errUnproved(kind fault.Kind, what string) error {
	return fault.New(kind, "reauthentication_needed", "%s requires reauthentication", what).
		With("", "POST /auth/v1/reauthenticate with password, passkey, or the code of GET /auth/v1/reauthenticate as nonce; then try again")
}

// Admit lets a person change what protects a tenant: its security settings,
// its providers, its keys, its owners and administrators. The session has to
// have shown a credential within proofLife, and a second factor where the
// account has one and where the tenant does not say that it asks for none, in
// the days of grace too. Keys are no sessions, and are held by their own rights.
func (s *Proofs) Admit(a actor.Actor) error {
	switch {
	case a.SessionID == "":
		return nil
	case a.Guarded && a.AAL != AAL2:
		return fault.New(fault.Forbidden, "insufficient_aal",
			"AAL2 required to change what protects a tenant: enrol a second factor or verify the one you have, then try again")
	case !s.fresh(a.Proved):
		return errUnproved(fault.Forbidden, "A change of what protects a tenant")
	}
	return nil
}

// Lacks refuses a session of one factor where two are asked for: by the tenant,
// or by the account itself, which has a second. A tenant that does not say what
// it wants has its administrators enrol one within mfaGrace, but for those who
// sign in at its provider.
func (s *Proofs) Lacks(ru Rules, m Member, guarded, managed bool) error {
	grace := ru.Grace(m)
	if ru.Demands(m.Role) || !managed && !grace.IsZero() && !s.Now().Before(grace) {
		return fault.New(fault.Forbidden, "insufficient_aal",
			"Your organisation requires a second factor: enrol one at /auth/v1/factors, or verify the one you have, then try again")
	}
	if guarded && !ru.selfIgnored {
		return fault.New(fault.Forbidden, "insufficient_aal",
			"Your account has a second factor: verify it at /auth/v1/factors, then try again")
	}
	return nil
}

// OwnAccount is Admit for what opens the caller's account. An anonymous account has
// nothing to show.
func (s *Proofs) OwnAccount(tx *db.Tx, u *User, a actor.Actor, what string) error {
	if u.IsAnonymous || a.SessionID == "" {
		return nil
	}
	var at time.Time
	err := tx.One(db.FillWords(`
		SELECT {session times}
		FROM sessions
		WHERE id = $1`, "{session times}", SessionTimes), []any{a.SessionID}, func(r *db.Row) error {
		at = LastProof(r, 0)
		return nil
	})
	if err != nil {
		return SessionGone(err)
	}
	if !s.fresh(at) {
		return errUnproved(fault.Invalid, what)
	}
	return nil
}

// Mark notes the proof of a session.
func (s *Proofs) Mark(tx *db.Tx, a actor.Actor, method string) error {
	s.Audit(tx, Event{Tenant: a.TenantID, User: a.UserID, Action: "session.proved", Entity: "session",
		EntityID: a.SessionID, Details: map[string]any{"method": method}, Client: ClientOf(a)})
	n, err := tx.Exec(`
		UPDATE sessions
		SET proved_at = $2, updated_at = $2
		WHERE id = $1
			AND user_id = $3`, a.SessionID,
		s.Now(), a.UserID)
	if err == nil && n == 0 {
		err = SessionGone(nil)
	}
	tx.After(func() { s.Forget(a.UserID) })
	return err
}

// Things that Update.Remove names.
const (
	RemovePasskeys   = "passkeys"
	RemoveFactors    = "factors"
	RemoveIdentities = "identities"
)

// Answered notes that an access token of a session's last refresh is in use, so
// that the refresh token before it is good for nothing any more.
func (s *Proofs) Answered(ctx context.Context, session string) error {
	return s.DB.Write(ctx, Everywhere, func(tx *db.Tx) error {
		_, err := tx.Exec(`
			UPDATE sessions
			SET arrived_at = $2
			WHERE id = $1
				AND arrived_at IS NULL`, session, s.Now())
		return err
	})
}

// AAL2 is the assurance level of a session with a second factor.
const AAL2 = "aal2"
