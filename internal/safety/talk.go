package safety

import (
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// holdTalks names the maker of a talk as who gives it, unless somebody else is.
func holdTalks(tx *store.Tx, changes []store.Change) error {
	for _, c := range changes {
		if c.Op == store.Insert && c.After["leader_user_id"] == nil {
			c.After["leader_user_id"] = db.Null(tx.UserID)
		}
	}
	return nil
}

const signTalksSQL = `
	SELECT id, held_at FROM toolbox_talks WHERE tenant_id = $1 AND id IN {ids $2}`

// signTalks holds signatures to talks that were held. A worker signs for
// himself, now; somebody else enters the name as it was signed before him.
func signTalks(tx *store.Tx, changes []store.Change) error {
	var rows []store.Row
	for _, c := range changes {
		if c.Before["signed_at"] != c.After["signed_at"] {
			rows = append(rows, c.After)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	held := map[string]string{}
	err := tx.Query(signTalksSQL, []any{tx.TenantID, query.List(distinctIDs(rows, "talk_id"))}, func(r *db.Row) error {
		held[r.Text(0)] = query.FormatTime(r.Time(1))
		return nil
	})
	if err != nil {
		return err
	}
	now := query.FormatTime(tx.Now())
	for _, c := range changes {
		at := c.After
		if c.Before["signed_at"] == at["signed_at"] {
			continue
		}
		if c.Before["signed_at"] != nil {
			return NotReady("a signature stays as it was given")
		}
		if tx.WorkerID != "" && at["worker_id"] == any(tx.WorkerID) {
			at["signed_at"] = now
		} else if at["signature"] == nil {
			return NotReady("a signature for somebody else needs the name as signed: signature").At("signature", "is required")
		}
		at["signed_by"] = db.Null(tx.UserID)
		begun, known := held[at.Text("talk_id")]
		switch {
		case !known: // the foreign key says so
		case begun > now:
			return NotReady("the talk has not been held yet").At("signed_at", "lies before the talk")
		case at.Text("signed_at") < begun:
			return badRun("signed_at", "lies before the talk")
		case IsAhead(at.Text("signed_at"), tx.Now()):
			return badRun("signed_at", "lies in the future")
		}
	}
	return nil
}

const creditTalksSQL = `
	SELECT id, user_id
	FROM workers
	WHERE tenant_id = $1 AND user_id IS NOT NULL AND id IN {ids $2}`

// creditTalks gives points to those who signed for a talk.
func creditTalks(tx *store.Tx, changes []store.Change) error {
	var rows []store.Row
	for _, c := range changes {
		if c.Before["signed_at"] == nil && c.After["signed_at"] != nil {
			rows = append(rows, c.After)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	users := map[string]string{}
	err := tx.Query(creditTalksSQL, []any{tx.TenantID, query.List(distinctIDs(rows, "worker_id"))},
		func(r *db.Row) error { users[r.Text(0)] = r.Text(1); return nil })
	if err != nil {
		return err
	}
	var list []award
	for _, at := range rows {
		list = append(list, award{users[at.Text("worker_id")], "talk", "talk_attendances", at.Text("id"), func(p Points) int64 { return p.Talk }})
	}
	return grantPoints(tx, list)
}
