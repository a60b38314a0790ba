package safety

import (
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// holdTalks names the maker of a talk as who gives it, unless somebody else is.
func holdTalks(tx *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.ToolboxTalk](changes) {
		if c.Op == store.Insert && c.After.LeaderUserIDOrNull() == nil {
			c.After.SetLeaderUserIDOrNull(db.Null(tx.UserID))
		}
	}
	return nil
}

const signTalksSQL = `
	SELECT id, held_at FROM toolbox_talks WHERE tenant_id = $1 AND id IN {ids $2}`

// signTalks holds signatures to talks that were held. A worker signs for
// himself, now; somebody else enters the name as it was signed before him.
func signTalks(tx *store.Tx, changes []store.Change) error {
	var rows []record.TalkAttendance
	for _, c := range record.Changes[record.TalkAttendance](changes) {
		if c.Before.SignedAt() != c.After.SignedAt() {
			rows = append(rows, c.After)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	held := map[string]string{}
	err := tx.Query(signTalksSQL, []any{tx.TenantID, query.List(distinctIDs(rows, "talk_id"))},
		func(r *db.Row) error {
			held[r.Text(0)] = query.FormatTime(r.Time(1))
			return nil
		})
	if err != nil {
		return err
	}
	now := query.FormatTime(tx.Now())
	for _, c := range record.Changes[record.TalkAttendance](changes) {
		at := c.After
		if c.Before.SignedAt() == at.SignedAt() {
			continue
		}
		if c.Before.HasSignedAt() {
			return NotReady("a signature stays as it was given")
		}
		if tx.WorkerID != "" && at.WorkerIDOrNull() == any(tx.WorkerID) {
			at.SetSignedAt(now)
		} else if !at.HasSignature() {
			return NotReady("a signature for somebody else needs the name as signed: signature").At("signature", "is required")
		}
		at.SetSignedByOrNull(db.Null(tx.UserID))
		begun, known := held[at.TalkID()]
		switch {
		case !known: // the foreign key says so
		case begun > now:
			return NotReady("the talk has not been held yet").At("signed_at", "lies before the talk")
		case at.SignedAt() < begun:
			return badRun("signed_at", "lies before the talk")
		case IsAhead(at.SignedAt(), tx.Now()):
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
	var rows []record.TalkAttendance
	for _, c := range record.Changes[record.TalkAttendance](changes) {
		if !c.Before.HasSignedAt() && c.After.HasSignedAt() {
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
		list = append(list, award{users[at.WorkerID()], "talk", "talk_attendances", at.ID(),
			func(p Points) int64 { return p.Talk }})
	}
	return grantPoints(tx, list)
}
