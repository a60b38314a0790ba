package sessions

import (
	"context"
	"encoding/json"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/identity/accounts"
	"holdfast/internal/identity/token"
)

// OpenSession is one of a user's sessions as its owner sees it.
type OpenSession struct {
	ID          string         `json:"id"`
	Current     bool           `json:"current"`
	TenantID    string         `json:"tenant_id,omitempty"`
	AAL         string         `json:"aal"`
	AMR         []token.Method `json:"amr"`
	UserAgent   string         `json:"user_agent,omitempty"` // of the sign-in
	Address     string         `json:"address,omitempty"`    // of the sign-in
	CreatedAt   accounts.Time  `json:"created_at"`
	RefreshedAt accounts.Time  `json:"refreshed_at,omitzero"`
	NotAfter    accounts.Time  `json:"not_after"`
}

// List lists the caller's sessions, the latest first, 1000 at most.
func (s *Store) List(ctx context.Context, a actor.Actor) (list []OpenSession, err error) {
	err = s.DB.Read(ctx, accounts.Everywhere, func(tx *db.Tx) (err error) {
		list, err = s.openSessions(tx, a, a.UserID, "")
		return err
	})
	return list, err
}

// maxListed is how many sessions a list shows: an account that a script signs in
// may have any number.
const maxListed = 1000

// openSessions are a user's latest, those of one tenant alone unless tenant is "".
func (s *Store) openSessions(tx *db.Tx, a actor.Actor, userID, tenant string) ([]OpenSession, error) {
	list := []OpenSession{}
	err := tx.Query(`SELECT id, tenant_id, aal, amr, user_agent, address, created_at, refreshed_at, not_after FROM sessions
		WHERE user_id = $1 AND not_after > $2 AND (tenant_id = $3 OR $4 = 1) ORDER BY created_at DESC NULLS LAST, id LIMIT $5`,
		[]any{userID, s.Now(), db.Null(tenant), boolToInt(tenant == ""), maxListed}, func(r *db.Row) error {
			o := OpenSession{ID: r.Text(0), TenantID: r.Text(1), AAL: r.Text(2), UserAgent: r.Text(4), Address: r.Text(5),
				CreatedAt: accounts.Time{Time: r.Time(6)}, RefreshedAt: accounts.Time{Time: r.Time(7)},
				NotAfter: accounts.Time{Time: r.Time(8)}}
			o.Current = o.ID == a.SessionID
			list = append(list, o)
			return json.Unmarshal([]byte(r.Text(3)), &list[len(list)-1].AMR)
		})
	return list, err
}

// EndSession ends one of the caller's sessions. Its code for an unknown one is
// not session_not_found, which makes clients forget the session they have.
func (s *Store) EndSession(ctx context.Context, a actor.Actor, id string) error {
	id, ok := accounts.CanonicalID(id)
	return s.Write(ctx, func(tx *db.Tx) error {
		n := int64(0)
		var err error
		if ok {
			n, err = tx.Exec("DELETE FROM sessions WHERE id = $1 AND user_id = $2", id, a.UserID)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.NotFound, "not_found", "You have no such session")
		}
		tx.After(func() { s.Forget(a.UserID) })
		s.Audit(tx, accounts.Event{Tenant: a.TenantID, User: a.UserID, Action: "session.ended", Entity: "session",
			EntityID: id, Details: map[string]any{"scope": "one"}, Client: accounts.ClientOf(a)})
		return nil
	})
}
