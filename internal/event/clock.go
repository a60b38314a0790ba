package event

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"holdfast/internal/backoff"
	"holdfast/internal/db"
)

// Bounds of what time itself raises.
const (
	clockEvery     = 30 * time.Second // how late it may be
	mostClockPause = 5 * time.Minute  // between two looks while they fail
	lookBack       = 5 * time.Minute  // a record may be committed so long after its due time
	wrongBy        = 5 * time.Minute  // a clock that far ahead of this node's was set by one that went wrong
)

func (n *Notifier) watchClock(ctx context.Context) {
	t := time.NewTicker(clockEvery)
	defer t.Stop()
	looks := n.clockLooks()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			watched(ctx, looks)
		}
	}
}

// clockLook raises one sort of event that time itself brings.
type clockLook struct {
	pace  *backoff.Backoff
	raise func(context.Context) error
}

func (n *Notifier) clockLooks() []clockLook {
	return []clockLook{
		{backoff.New(nil, "announce overdue actions", clockEvery, mostClockPause), n.Overdue},
		{backoff.New(nil, "announce lots that expire", clockEvery, mostClockPause), n.Expiring},
	}
}

// watched raises what the clock has brought.
func watched(ctx context.Context, looks []clockLook) {
	for _, look := range looks {
		if look.pace.IsReady() {
			look.pace.Note(ctx, recoverPanic(func() error { return look.raise(ctx) }))
		}
	}
}

// Expiring announces lots that will have expired within 30 days from today and was
// further off when it last looked. Days are of UTC.
func (n *Notifier) Expiring(ctx context.Context) error {
	now := n.outbox.now().UTC()
	today := now.Format(time.DateOnly)
	if last := n.looked.Load(); last != nil && *last == today {
		return nil
	}
	if err := n.raiseExpiring(ctx, now); err != nil {
		return err
	}
	n.looked.Store(&today)
	return nil
}

func (n *Notifier) raiseExpiring(ctx context.Context, now time.Time) error {
	return n.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		since, err := moveClock(tx, "lot.expiring", now)
		if err != nil || expiryHorizon(since) >= expiryHorizon(now) {
			return err
		}
		var near []Emitted
		err = tx.Query(db.FillWords(`
			SELECT l.tenant_id, l.{columns}
			FROM tenants t
			JOIN lots l ON l.tenant_id = t.id AND l.status IN ('released', 'quarantine') AND l.expires_on > $1
				AND l.expires_on <= $2
			WHERE t.status = 'active'
			ORDER BY l.expires_on, l.id`, "{columns}", strings.Join(lotFields, ", l.")),
			[]any{expiryHorizon(since), expiryHorizon(now)},
			func(r *db.Row) error {
				row := map[string]any{}
				for i, f := range lotFields {
					if !r.Null(i + 1) {
						row[f] = r.Text(i + 1)
					}
				}
				near = append(near, Emitted{Tenant: r.Text(0), Type: "lot.expiring",
					Data: fieldSubset(row, lotFields)}.raisedBy(row))
				return nil
			})
		if err != nil {
			return err
		}
		return n.emitNew(tx, "lots", near)
	})
}

const overdueSQL = `
	SELECT actions.tenant_id, actions.id, actions.action_no, actions.title, actions.type,
		actions.priority, actions.status, actions.incident_id, actions.assignee_user_id,
		actions.due_at, actions.verifier_user_id, actions.created_by
	FROM tenants
	JOIN actions ON actions.tenant_id = tenants.id AND actions.status IN ('open', 'in_progress') AND actions.due_at > $1
		AND actions.due_at <= $2
	WHERE tenants.status = 'active'
	ORDER BY actions.due_at, actions.id`

// overdueColumns are the columns of overdueSQL, in its order.
var overdueColumns = []string{
	"tenant_id", "id", "action_no", "title", "type", "priority", "status", "incident_id",
	"assignee_user_id", "due_at", "verifier_user_id", "created_by",
}

// Overdue announces actions whose due time has passed since it last looked, or
// a little before. Several nodes may call it: the clock's row lets one look at a
// time, and each action is told of once.
func (n *Notifier) Overdue(ctx context.Context) error {
	now := n.outbox.now().UTC()
	return n.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		since, err := moveClock(tx, "action.overdue", now)
		if err != nil {
			return err
		}
		var late []Emitted
		err = tx.Query(overdueSQL, []any{since.Add(-lookBack), now}, func(r *db.Row) error {
			row := map[string]any{}
			for i, f := range overdueColumns {
				if !r.Null(i) {
					row[f] = r.Text(i)
				}
			}
			late = append(late, overdueEvent(row))
			return nil
		})
		if err != nil {
			return err
		}
		return n.emitNew(tx, "actions", late)
	})
}

func overdueEvent(row map[string]any) Emitted {
	who := map[string]string{}
	for _, c := range []string{"assignee_user_id", "verifier_user_id", "created_by"} {
		if id := textField(row, c); id != "" {
			who[c] = id
		}
	}
	return Emitted{Tenant: textField(row, "tenant_id"), Type: "action.overdue", Data: fieldSubset(row, actionFields),
		Audience: who}.raisedBy(row)
}

// moment is the record and the day or moment, as a text, that an event is
// raised by: once, though looks overlap and a clock that was ahead is set back.
type moment struct{ collection, id, due string }

// raisedBy adds to an event that time raises what it is raised by.
func (e Emitted) raisedBy(row map[string]any) Emitted {
	switch e.Type {
	case "action.overdue":
		e.moment = moment{"actions", textField(row, "id"), textField(row, "due_at")}
	case "lot.expiring":
		e.moment = moment{"lots", textField(row, "id"), textField(row, "expires_on")}
	}
	return e
}

const emitNewSQL = `
	SELECT tenant_id, record_id, due_on
	FROM deadline_notices
	WHERE tenant_id IN {ids $1} AND collection = $2 AND record_id IN {ids $3} AND days = 0`

// emitNew emits those events about a collection's records that were not told
// of before.
func (n *Notifier) emitNew(tx *db.Tx, collection string, list []Emitted) error {
	if len(list) == 0 {
		return nil
	}
	var tenants, ids []string
	for _, e := range list {
		tenants, ids = append(tenants, e.Tenant), append(ids, e.moment.id)
	}
	slices.Sort(tenants)
	told := map[[3]string]bool{}
	if err := tx.Query(emitNewSQL,
		[]any{jsonList(slices.Compact(tenants)), collection, jsonList(ids)}, func(r *db.Row) error {
			told[[3]string{r.Text(0), r.Text(1), r.Text(2)}] = true
			return nil
		}); err != nil {
		return err
	}
	return n.outbox.EmitAll(tx, slices.DeleteFunc(list, func(e Emitted) bool {
		return told[[3]string{e.Tenant, e.moment.id, e.moment.due}]
	}))
}

// storeRaised keeps what time has raised.
func storeRaised(tx *db.Tx, list []Emitted, at time.Time) error {
	if !slices.ContainsFunc(list, func(e Emitted) bool { return e.moment.due != "" }) {
		return nil
	}
	notes := tx.InsertMany("deadline_notices",
		[]db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "collection", Type: "text"}, {Name: "record_id", Type: "uuid"},
			{Name: "due_on", Type: "text"},
			{Name: "days", Type: "bigint"}, {Name: "told_at", Type: "timestamptz"}}, "ON CONFLICT DO NOTHING")
	for _, e := range list {
		if e.moment.due == "" {
			continue
		}
		if err := notes.Add(e.Tenant, e.moment.collection, e.moment.id, e.moment.due, int64(0), at); err != nil {
			return err
		}
	}
	notes.Queue()
	return nil
}

// moveClock moves a clock to now and returns where it stood; a new clock starts now,
// and one that was ahead is set back. The row is locked until the transaction
// ends.
func moveClock(tx *db.Tx, kind string, now time.Time) (since time.Time, err error) {
	if err := tx.Query(`
		INSERT INTO outbox_clock (kind, until_at)
		VALUES ($1, $2)
		ON CONFLICT (kind) DO NOTHING`,
		[]any{kind, now}, nil); err != nil {
		return since, err
	}
	if err := tx.One("SELECT until_at FROM outbox_clock WHERE kind = $1 {for update}", []any{kind}, func(r *db.Row) error {
		since = r.Time(0)
		return nil
	}); err != nil {
		return since, err
	}
	if since.After(now.Add(wrongBy)) {
		ahead := since.Sub(now).Round(time.Second)
		tx.After(func() {
			slog.Warn("what falls due was announced ahead of its time: a server's clock is wrong, or was", "event", kind,
				"ahead", ahead)
		})
	} else if !since.Before(now) {
		return since, nil
	}
	tx.Queue("UPDATE outbox_clock SET until_at = $2 WHERE kind = $1", []any{kind, now}, nil)
	if since.After(now) {
		since = now
	}
	return since, nil
}
