package identity

import (
	"context"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/token"
)

// Refresh exchanges a refresh token for a new pair. The session row holds one
// counter: an equal token moves it on. The one before is forgiven, for tabs that
// refresh at once and for answers that were lost, as long as nothing issued with
// the current one was used: no access token on any surface, nor the refresh token.
// From then on it is a copy, like any older one, and ends the session; within the
// reuse interval it gets nothing and ends nothing, since it may be a tab's that has
// not read yet what another tab keeps.
func (s *Sessions) Refresh(ctx context.Context, raw string, c Client) (*Session, error) {
	t, err := token.ParseRefresh(raw)
	if err != nil {
		return nil, err
	}
	var g *grant
	var refused error
	err = s.db.Write(ctx, everywhere, func(tx *db.Tx) (err error) {
		g, refused, err = s.advance(tx, t, c)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return nil, refused
	}
	return s.issue(g)
}

func refreshNotFound() error {
	return fault.New(fault.Invalid, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
}

// advance returns a refusal apart from an error: ending a session is a change
// that has to commit.
func (s *Sessions) advance(tx *db.Tx, t token.Refresh, c Client) (g *grant, refused, err error) {
	sess, err := sessionBy(tx, t.Session)
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
	u, err := userByID(tx, sess.user)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, refreshNotFound(), nil
	case err != nil:
		return nil, nil, err
	case u.banned(s.now()):
		return nil, fault.New(fault.Invalid, "user_banned", "Invalid Refresh Token: User Banned"), nil
	}
	if refused := s.expired(sess); refused != nil {
		return nil, refused, s.endSessions(tx, u.ID, " AND id = $2", sess.id)
	}
	if copied, late := s.copied(sess, t); copied {
		s.record(tx, event{tenant: sess.tenant, user: u.ID, action: "session.refresh_replayed", outcome: "refused", entity: "session", entityID: sess.id, client: c})
		refused = fault.New(fault.Invalid, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
		if late {
			return nil, refused, nil
		}
		return nil, refused, s.endSessions(tx, u.ID, " AND id = $2", sess.id)
	}
	g.user = u
	refused, err = s.renew(tx, g, t, c)
	return g, refused, err
}

// last is when the session was begun or refreshed.
func (s session) last() time.Time {
	if s.refreshed.After(s.created) {
		return s.refreshed
	}
	return s.created
}

// expired checks the session's end, its time without use, and that the
// provider it began at is still configured.
func (s *Sessions) expired(sess session) error {
	last := sess.last()
	for _, m := range sess.amr {
		if m.Provider != "" && !federated(m) && s.providers[m.Provider] == nil {
			return fault.New(fault.Invalid, "session_expired", "Invalid Refresh Token: Session Expired (Provider Disabled)")
		}
	}
	switch now := s.now(); {
	case !now.Before(sess.notAfter):
		return fault.New(fault.Invalid, "session_expired", "Invalid Refresh Token: Session Expired")
	case now.Sub(last) > s.cfg.RefreshTokenTTL:
		return fault.New(fault.Invalid, "session_expired", "Invalid Refresh Token: Session Expired (Inactivity)")
	}
	return nil
}

// copied reports a token that somebody else may hold: one from before the session
// was raised, one whose answer is in use, any older one. Late is one that a tab may
// still have by right, within the reuse interval of what made it old.
func (s *Sessions) copied(sess session, t token.Refresh) (copied, late bool) {
	switch n, current := t.Counter, uint64(sess.counter); {
	case n < uint64(sess.floor):
		return true, s.lately(sess.raised)
	case n == current, n+1 == current && sess.arrived.IsZero():
		return false, false
	}
	return true, s.lately(sess.refreshed)
}

func (s *Sessions) lately(at time.Time) bool {
	since := s.now().Sub(at)
	return since >= 0 && since <= s.cfg.RefreshReuseInterval
}

// answered notes that an access token of a session's last refresh is in use, so
// that the refresh token before it is good for nothing any more.
func (s *Proofs) answered(ctx context.Context, session string) error {
	return s.db.Write(ctx, everywhere, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE sessions SET arrived_at = $2 WHERE id = $1 AND arrived_at IS NULL", session, s.now())
		return err
	})
}

// renew moves the session of a grant on, unless it was only to be told again.
func (s *Sessions) renew(tx *db.Tx, g *grant, t token.Refresh, c Client) (refused, err error) {
	u, sess := g.user, g.sess
	// A session whose membership has ended works where a new one would.
	if g.member.TenantID == "" {
		st, err := belongingOf(tx, u)
		if err != nil {
			return nil, err
		}
		g.member = st.home(u)
		g.rules = st.rules[g.member.TenantID]
		g.sess.tenant = g.member.TenantID
		u.settledIn(tx, g.sess.tenant)
		tx.After(func() { s.tokens.changes.Add(1) }) // the account shows the tenant
		if err := s.alone(tx, sess, g.member, g.rules); err != nil {
			return nil, err
		}
	}
	if g.rules.over(sess.created, sess.refreshed, s.now()) {
		refused = fault.New(fault.Invalid, "session_expired", "Invalid Refresh Token: Session Expired (Tenant Policy)")
		return refused, s.endSessions(tx, u.ID, " AND id = $2", sess.id)
	}
	if t.Counter != uint64(sess.counter) {
		return nil, nil
	}
	g.sess.counter++
	tx.Queue("UPDATE sessions SET counter = $2, refreshed_at = $3, updated_at = $3, tenant_id = $4, arrived_at = NULL WHERE id = $1",
		[]any{sess.id, g.sess.counter, s.now(), null(g.sess.tenant)}, nil)
	if last := sess.last(); !last.Truncate(time.Hour).Equal(s.now().Truncate(time.Hour)) {
		s.seen(tx, g.sess.tenant, u.ID, false) // once an hour is enough
	}
	return nil, nil
}
