package sessions

import (
	"context"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/token"
)

// Refresh exchanges a refresh token for a new pair. The session row holds one
// counter: an equal token moves it on. The one before is forgiven, for tabs that
// refresh at once and for answers that were lost, as long as nothing issued with
// the current one was used: no access token on any surface, nor the refresh token.
// From then on it is a copy, like any older one, and ends the session; within the
// reuse interval it gets nothing and ends nothing, since it may be a tab's that has
// not read yet what another tab keeps.
func (s *Store) Refresh(ctx context.Context, raw string, c accounts.Client) (*Session, error) {
	t, err := token.ParseRefresh(raw)
	if err != nil {
		return nil, err
	}
	var g *Grant
	var refused error
	err = s.DB.Write(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		g, refused, err = s.advanceSession(tx, t, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	return s.Issue(g)
}

func refreshNotFound() error {
	return fault.New(fault.Invalid, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
}

// advanceSession returns a refusal apart from an error: ending a session is a change
// that has to commit.
func (s *Store) advanceSession(tx *db.Tx, t token.Refresh, c accounts.Client) (g *Grant, refused, err error) {
	sess, err := SessionBy(tx, t.Session)
	if fault.Is(err, fault.NotFound) {
		return nil, refreshNotFound(), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !t.SignedBy(s.refreshKey(sess)) || t.Counter > uint64(sess.counter) {
		return nil, refreshNotFound(), nil
	}
	g = queueGrant(tx, sess)
	u, err := accounts.UserByID(tx, sess.user)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, refreshNotFound(), nil
	case err != nil:
		return nil, nil, err
	case u.Banned(s.Now()):
		return nil, fault.New(fault.Invalid, "user_banned", "Invalid Refresh Token: User Banned"), nil
	}
	if refused := s.checkExpired(sess); refused != nil {
		return nil, refused, s.EndSessionsWhere(tx, u.ID, " AND id = $2", sess.ID)
	}
	if copied, late := s.isCopied(sess, t); copied {
		s.Audit(tx, accounts.Event{Tenant: sess.Tenant, User: u.ID, Action: "session.refresh_replayed", Outcome: "refused",
			Entity: "session", EntityID: sess.ID, Client: c})
		refused = fault.New(fault.Invalid, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
		if late {
			return nil, refused, nil
		}
		return nil, refused, s.EndSessionsWhere(tx, u.ID, " AND id = $2", sess.ID)
	}
	g.user = u
	refused, err = s.renewGrant(tx, g, t, c)
	return g, refused, err
}

// lastUse is when the session was begun or refreshed.
func (s Row) lastUse() time.Time {
	if s.refreshed.After(s.Created) {
		return s.refreshed
	}
	return s.Created
}

// checkExpired checks the session's end, its time without use, and that the
// provider it began at is still configured.
func (s *Store) checkExpired(sess Row) error {
	last := sess.lastUse()
	for _, m := range sess.AMR {
		if m.Provider != "" && !AtProvider(m) && s.Providers[m.Provider] == nil {
			return fault.New(fault.Invalid, "session_expired", "Invalid Refresh Token: Session Expired (Provider Disabled)")
		}
	}
	if now := s.Now(); !now.Before(sess.notAfter) {
		return fault.New(fault.Invalid, "session_expired", "Invalid Refresh Token: Session Expired")
	} else if now.Sub(last) > s.Config.RefreshTokenTTL {
		return fault.New(fault.Invalid, "session_expired", "Invalid Refresh Token: Session Expired (Inactivity)")
	}
	return nil
}

// isCopied reports a token that somebody else may hold: one from before the session
// was raised, one whose answer is in use, any older one. Late is one that a tab may
// still have by right, within the reuse interval of what made it old.
func (s *Store) isCopied(sess Row, t token.Refresh) (copied, late bool) {
	if n, current := t.Counter, uint64(sess.counter); n < uint64(sess.floor) {
		return true, s.isRecent(sess.raised)
	} else if n == current || n+1 == current && sess.arrived.IsZero() {
		return false, false
	}
	return true, s.isRecent(sess.refreshed)
}

func (s *Store) isRecent(at time.Time) bool {
	since := s.Now().Sub(at)
	return since >= 0 && since <= s.Config.RefreshReuseInterval
}

// renewGrant moves the session of a grant on, unless it was only to be told again.
func (s *Store) renewGrant(tx *db.Tx, g *Grant, t token.Refresh, c accounts.Client) (refused, err error) {
	u, sess := g.user, g.sess
	// A session whose membership has ended works where a new one would.
	if g.member.TenantID == "" {
		st, err := accounts.MembershipsOf(tx, u)
		if err != nil {
			return nil, err
		}
		g.member = st.Home(u)
		g.rules = st.Rules[g.member.TenantID]
		g.sess.Tenant = g.member.TenantID
		u.SettledIn(tx, g.sess.Tenant)
		tx.After(func() { s.Tokens.Changes.Add(1) }) // the account shows the tenant
		if err := s.endOtherSessions(tx, sess, g.member, g.rules); err != nil {
			return nil, err
		}
	}
	if g.rules.Over(sess.Created, sess.refreshed, s.Now()) {
		refused = fault.New(fault.Invalid, "session_expired", "Invalid Refresh Token: Session Expired (Tenant Policy)")
		return refused, s.EndSessionsWhere(tx, u.ID, " AND id = $2", sess.ID)
	}
	if t.Counter != uint64(sess.counter) {
		return nil, nil
	}
	g.sess.counter++
	tx.Queue(`
		UPDATE sessions
		SET counter = $2, refreshed_at = $3, updated_at = $3, tenant_id = $4, arrived_at = NULL
		WHERE id = $1`,
		[]any{sess.ID, g.sess.counter, s.Now(), db.Null(g.sess.Tenant)}, nil)
	if last := sess.lastUse(); !last.Truncate(time.Hour).Equal(s.Now().Truncate(time.Hour)) {
		s.noteSeen(tx, g.sess.Tenant, u.ID, false) // once an hour is enough
	}
	return nil, nil
}
