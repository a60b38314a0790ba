package safety

import (
	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// followUpDays is when an action that follows one without effect is due.
const followUpDays = 14

// followActions keeps an action's due moment and stamps, and holds it to the
// conditions of its next state: a reason for what is dropped, four eyes for what
// is verified. What shows that it is done is held by package evidence.
func followActions(tx *store.Tx, changes []store.Change) error {
	if err := dueMoments(tx.Tx, tx.TenantID, changes); err != nil {
		return err
	}
	now := query.FormatTime(tx.Now())
	for _, c := range record.Changes[record.Action](changes) {
		noteSuggestedBy(tx.Actor, c)
		endEscalation(c, now)
		if err := stepAction(tx.Actor, c, now); err != nil {
			return err
		}
		if err := checkEffectiveness(c, now); err != nil {
			return err
		}
	}
	return checkSources(tx.Tx, tx.TenantID, changes)
}

// endEscalation forgets that the next level was told where an action has time again:
// it is told anew when that is over.
func endEscalation(c record.Change[record.Action], now string) {
	due := c.After.DueAt()
	if c.Op == store.Update && c.After.DueAt() != c.Before.DueAt() && (due == "" || due > now) {
		c.After.ClearEscalatedTo()
		c.After.ClearEscalatedAt()
	}
}

// stepAction stamps one action's step and holds it to the step's conditions.
func stepAction(a actor.Actor, c record.Change[record.Action], now string) error {
	ac := c.After
	if handedOver(c) {
		return NotReady("an action that is done keeps who did it: put it back in progress to assign it again")
	}
	switch {
	case Becomes(c.Change, "done"):
		if !ac.HasAssigneeUserID() {
			ac.SetAssigneeUserIDOrNull(db.Null(a.UserID))
		}
		ac.SetCompletedAt(now)
		ac.SetCompletedByOrNull(ac.AssigneeUserIDOrNull())
		if a.UserID != "" {
			ac.SetCompletedBy(a.UserID)
		}
	case Becomes(c.Change, "in_progress") && c.Before.Status() == "done":
		ac.ClearCompletedAt()
		ac.ClearCompletedBy()
	case Becomes(c.Change, "verified"):
		if err := fourEyes(a, c.Before, ac); err != nil {
			return err
		}
		ac.SetVerifiedAt(now)
	case Becomes(c.Change, "cancelled") && !ac.HasCancelReason():
		return NotReady("say why the action is cancelled: cancel_reason")
	}
	return nil
}

// noteSuggestedBy notes the picker or driver who proposes an action himself.
func noteSuggestedBy(a actor.Actor, c record.Change[record.Action]) {
	if c.Op == store.Insert && c.After.Source() == "manual" && (a.Role == actor.Operator || a.Role == actor.Driver) {
		c.After.SetSuggestedByOrNull(db.Null(a.UserID))
	}
}

// checkEffectiveness is judged once, of what was verified.
func checkEffectiveness(c record.Change[record.Action], now string) error {
	if c.After.EffectivenessOrNull() == c.Before.EffectivenessOrNull() {
		return nil
	}
	switch {
	case c.Before.HasEffectiveness():
		return NotReady("the effectiveness of the action was judged: an action that follows it can be judged again")
	case c.After.Status() != "verified" || Becomes(c.Change, "verified"):
		return NotReady("an action is verified before its effectiveness is judged")
	}
	c.After.SetReviewedAt(now)
	return nil
}

// followUp opens an action behind each that had no effect.
func followUp(tx *store.Tx, changes []store.Change) error {
	var rows []record.Action
	for _, c := range record.Changes[record.Action](changes) {
		if c.Op == store.Update && !c.Before.HasEffectiveness() && c.After.Effectiveness() == "not_effective" {
			row := record.Action{"follows_id": c.After.IDOrNull(), "description": "The action before had no effect."}
			for _, f := range [...]string{"title", "type", "source", "source_id", "incident_id", "priority", "assignee_user_id"} {
				row[f] = c.After[f]
			}
			if row.Source() == "incident" && row.HasIncidentID() {
				row.SetSourceIDOrNull(row.IncidentIDOrNull()) // of actions from before the two were one
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	today, err := ReadToday(tx.Tx, tx.TenantID, tx.Now())
	if err != nil {
		return err
	}
	for _, row := range rows {
		row.SetDueOn(today.AddDays(followUpDays).String())
	}
	return InsertRecords(tx, rows)
}

// sourceTable is where the records are that an action can come from.
var sourceTable = map[string]string{"incident": "incidents", "checklist_answer": "checklist_answers", "compliance_event": "compliance_events",
	"score": "predictive_scores", "talk": "toolbox_talks"}

// ofIncident makes an action that comes from an incident one of that incident,
// which does not close before it. Actions from before that was so stay as they
// are until it is theirs that changes.
func ofIncident(c record.Change[record.Action], id, kind string) error {
	if id == "" || kind != "incident" || sameSource(c) && c.Before.IncidentID() == c.After.IncidentID() {
		return nil
	}
	if was := c.Before.IncidentIDOrNull(); was != nil && was == c.Before.SourceIDOrNull() &&
		was == c.After.IncidentIDOrNull() {
		c.After.ClearIncidentID() // it goes with its source
	}
	switch c.After.IncidentIDOrNull() {
	case nil:
		c.After.SetIncidentID(id)
	case any(id):
	default:
		return badRun("incident_id", "names another incident than source_id")
	}
	return nil
}

// sameSource reports an update that leaves an action's source as it was.
func sameSource(c record.Change[record.Action]) bool {
	return c.Op == store.Update && c.Before.SourceID() == c.After.SourceID() &&
		c.Before.SourceOrNull() == c.After.SourceOrNull()
}

// checkSources refuses an action whose source is no record of the tenant.
func checkSources(tx *db.Tx, tenant string, changes []store.Change) error {
	asked := map[string]map[string]bool{}
	for _, c := range record.Changes[record.Action](changes) {
		id, kind := c.After.SourceID(), c.After.Source()
		if err := ofIncident(c, id, kind); err != nil {
			return err
		}
		if id == "" || sameSource(c) {
			continue
		}
		if sourceTable[kind] == "" {
			return badRun("source_id", "goes with a source; a manual action has none")
		}
		if asked[kind] == nil {
			asked[kind] = map[string]bool{}
		}
		asked[kind][id] = true
	}
	for kind, ids := range asked {
		tx.Queue(db.FillWords(`
			SELECT id
			FROM {source table}
			WHERE tenant_id = $1
				AND id IN {ids $2}`, "{source table}", sourceTable[kind]),
			[]any{tenant, query.List(sortedKeys(ids))},
			func(r *db.Row) error {
				delete(ids, r.Text(0))
				return nil
			})
	}
	if len(asked) == 0 {
		return nil
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	for kind, ids := range asked {
		if len(ids) > 0 {
			return badRun("source_id", "names no %s", kind)
		}
	}
	return nil
}

// handedOver reports another assignee for work that is done already: four eyes
// need to know whose it was.
func handedOver(c record.Change[record.Action]) bool {
	if c.Op != store.Update || c.Before.Status() != "done" && c.Before.Status() != "verified" {
		return false
	}
	return c.After.Status() != "in_progress" && c.Before.HasAssigneeUserID() &&
		c.Before.AssigneeUserID() != c.After.AssigneeUserID()
}

// fourEyes keeps the people who did the work from verifying it: who marked it
// done, and whose it was. Neither the assignee before the verification nor the
// one it names may be the verifier, so handing the action over in the same step
// changes nothing. The service key may name a verifier; a machine's account is none.
func fourEyes(a actor.Actor, was, ac record.Action) error {
	if a.Role != actor.Service && !a.Person() {
		return fault.New(fault.Forbidden, "42501", "a person verifies an action, not a key")
	}
	if a.UserID != "" && (!ac.HasVerifierUserID() || a.Role != actor.Service) {
		ac.SetVerifierUserID(a.UserID)
	}
	for _, who := range []any{was.CompletedByOrNull(), was.AssigneeUserIDOrNull(), ac.AssigneeUserIDOrNull()} {
		if who != nil && (who == ac.VerifierUserIDOrNull() || a.UserID != "" && who == any(a.UserID)) {
			return fault.New(fault.Forbidden, "42501", "who marked an action done, or whom it is assigned to, may not verify it").
				At("verifier_user_id", "must be somebody else")
		}
	}
	return nil
}

// dueMoments turns a due day into the last moment of that day where the tenant
// is. A moment that is given alone stands, and the day that stood before goes.
func dueMoments(tx *db.Tx, tenant string, changes []store.Change) error {
	var dated []record.Action
	for _, c := range record.Changes[record.Action](changes) {
		day, was := c.After.DueOnOrNull(), c.Before.DueOnOrNull()
		momentGiven := c.After.DueAt() != c.Before.DueAt()
		switch {
		case day != nil && (c.Op == store.Insert || day != was):
			dated = append(dated, c.After)
		case day != nil && momentGiven:
			c.After.ClearDueOn()
		case day == nil && was != nil && !momentGiven:
			c.After.ClearDueAt()
		}
	}
	if len(dated) == 0 {
		return nil
	}
	zone := "UTC"
	store.QueueZone(tx, tenant, &zone)
	if err := tx.Flush(); err != nil {
		return err
	}
	for _, ac := range dated {
		day, err := localtime.ParseDate(ac.DueOn())
		if err != nil {
			return fault.New(fault.Invalid, "22007", "due_on is not a date").At("due_on", "is not a date")
		}
		ac.SetDueAt(query.FormatTime(day.End(localtime.Zone(zone))))
	}
	return nil
}
