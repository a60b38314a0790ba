package programme

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme/wording"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// actionsToEscalateSQL selects actions that the next level is to be told of, those that
// are overdue longest first. $1 tenant, $2 and $3 the moments up to which an action was
// due that safety and that managers are told of.
var actionsToEscalateSQL = db.FillWords(`
	SELECT id, action_no, {title}, due_at, escalated_to
	FROM actions
	WHERE tenant_id = $1
		AND status IN ('open', 'in_progress')
		AND (due_at <= $2 AND escalated_to IS NULL OR due_at <= $3 AND escalated_to = 'safety')
	ORDER BY due_at, id
	LIMIT 500`, "{title}", toldTitle)

// escalationWait is how long the mail of a night waits for what else is to be told.
const escalationWait = 10 * time.Minute

// escalation is what one night tells of actions that are overdue for long: what was gathered
// so far, and the levels that one transaction tells.
type escalation struct {
	*digest
	first        string    // action of the night, which names its mails
	managersFrom time.Time // an action that was due by then is told to managers, too
	levels       map[string][]string
}

// EscalateActions tells the next level of actions that are overdue for as many days as
// the setting escalate_after_days says: safety, and after twice as many managers. Both are
// told at once of what is overdue for so long when it is told of first; the record then names
// managers. Each level is told once of an action, by the event action.escalated and, where mails can be sent, by one mail
// a night; the record says which was told and when. It returns how many actions were told of.
func (p *Programme) EscalateActions(ctx context.Context, tenant string) (total int, err error) {
	e := &escalation{digest: &digest{tenant: tenant, now: p.now().UTC(),
		lines: map[string]map[wording.Topic][]wording.Line{}}}
	for n := sweepStep; n == sweepStep; total += n {
		err := p.write(ctx, serverActor(tenant), func(tx *db.Tx) (err error) {
			n, err = p.escalateBatch(tx, e)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("programme: escalate actions: %w", err)
		}
	}
	return total, nil
}

func (p *Programme) escalateBatch(tx *db.Tx, e *escalation) (int, error) {
	settings := queueSettings(tx, e.tenant)
	words := wording.QueueWords(tx, e.tenant)
	e.people = queueMembers(tx, e.tenant)
	if err := tx.Flush(); err != nil {
		return 0, err
	}
	if settings.escalateDays < 1 {
		return 0, nil
	}

	e.local = e.now.In(localtime.Zone(settings.place))
	e.managersFrom = e.now.AddDate(0, 0, -2*settings.escalateDays)
	e.levels = map[string][]string{}
	n, err := e.listActions(tx, e.now.AddDate(0, 0, -settings.escalateDays))
	if err != nil || n == 0 {
		return n, err
	}
	for level, ids := range e.levels {
		told := store.Row{"escalated_to": level, "escalated_at": query.FormatTime(e.now)}
		if err := p.store.In(tx, serverActor(e.tenant)).UpdateRows("actions", ids, told); err != nil {
			return 0, err
		}
	}
	if p.hooks.CanMail() {
		mails := memberMail{kind: "escalation", key: "escalation:" + e.dateIn(0) + ":" + e.first, grows: escalationWait}
		_, err = p.queueMemberMails(tx, e.digest, *words, mails)
	}
	return n, err
}

// listActions reads the actions that are to be told of, and whom of each.
func (e *escalation) listActions(tx *db.Tx, safetyFrom time.Time) (n int, err error) {
	args := []any{e.tenant, safetyFrom, e.managersFrom}
	err = tx.Query(actionsToEscalateSQL, args, func(r *db.Row) error {
		n++
		e.first = cmp.Or(e.first, r.Text(0))
		due := r.Time(3)
		line := wording.Line{What: nameAction(r.Text(1), r.Text(2)), On: e.date(due).String()}
		level := actor.Safety
		if r.Null(4) {
			e.tellAll(wording.EscalatedActions, line, actor.Safety)
		}
		if !due.After(e.managersFrom) {
			level = actor.Manager
			e.tellAll(wording.EscalatedActions, line, actor.Manager)
		}
		e.levels[string(level)] = append(e.levels[string(level)], r.Text(0))
		return nil
	})
	return n, err
}
