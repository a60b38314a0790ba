package programme

import (
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
const actionsToEscalateSQL = `
	SELECT id, action_no, title, due_at, escalated_to
	FROM actions
	WHERE tenant_id = $1
		AND status IN ('open', 'in_progress')
		AND (due_at <= $2 AND escalated_to IS NULL OR due_at <= $3 AND escalated_to = 'safety')
	ORDER BY due_at, id
	LIMIT 500`

// escalation is what one transaction tells of actions that are overdue for long.
type escalation struct {
	*digest
	managersFrom time.Time // an action that was due by then is told to managers, too
	levels       map[string][]string
}

// EscalateActions tells the next level of actions that are overdue for as many days as
// the setting escalate_after_days says: safety, and after twice as many managers. Each
// level is told once of an action, by the event action.escalated and, where mails can be
// sent, by mail; the record says which was told and when. It returns how many actions
// were told of.
func (p *Programme) EscalateActions(ctx context.Context, tenant string) (total int, err error) {
	for n := sweepStep; n == sweepStep; total += n {
		err := p.write(ctx, serverActor(tenant), func(tx *db.Tx) (err error) {
			n, err = p.escalateBatch(tx, tenant)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("programme: escalate actions: %w", err)
		}
	}
	return total, nil
}

func (p *Programme) escalateBatch(tx *db.Tx, tenant string) (int, error) {
	settings := queueSettings(tx, tenant)
	words := wording.QueueWords(tx, tenant)
	people := queueMembers(tx, tenant)
	if err := tx.Flush(); err != nil {
		return 0, err
	}
	if settings.escalateDays < 1 {
		return 0, nil
	}

	now := p.now().UTC()
	e := &escalation{
		digest: &digest{tenant: tenant, now: now, local: now.In(localtime.Zone(settings.place)), people: people,
			lines: map[string]map[wording.Topic][]wording.Line{}},
		managersFrom: now.AddDate(0, 0, -2*settings.escalateDays),
		levels:       map[string][]string{},
	}
	first, n, err := e.listActions(tx, now.AddDate(0, 0, -settings.escalateDays))
	if err != nil || n == 0 {
		return n, err
	}
	for level, ids := range e.levels {
		told := store.Row{"escalated_to": level, "escalated_at": query.FormatTime(now)}
		if err := p.store.In(tx, serverActor(tenant)).UpdateRows("actions", ids, told); err != nil {
			return 0, err
		}
	}
	if p.hooks.CanMail() {
		_, err = p.queueMemberMails(tx, e.digest, *words, memberMail{"escalation", "escalation:" + e.dateIn(0) + ":" + first})
	}
	return n, err
}

// listActions reads the actions that are to be told of, and whom of each.
func (e *escalation) listActions(tx *db.Tx, safetyFrom time.Time) (first string, n int, err error) {
	args := []any{e.tenant, safetyFrom, e.managersFrom}
	err = tx.Query(actionsToEscalateSQL, args, func(r *db.Row) error {
		if n++; n == 1 {
			first = r.Text(0)
		}
		due := r.Time(3)
		line := wording.Line{What: r.Text(1) + " " + r.Text(2), On: e.date(due).String()}
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
	return first, n, err
}
