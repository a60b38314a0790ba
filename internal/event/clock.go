package event

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"holdfast/internal/db"
)

// clockEvery is how late an event that time itself raises may be.
const clockEvery = 30 * time.Second

func (n *Notifier) watchClock(ctx context.Context) {
	t := time.NewTicker(clockEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			n.watched(ctx)
		}
	}
}

// watched raises what the clock has brought.
func (n *Notifier) watched(ctx context.Context) {
	for what, look := range map[string]func(context.Context) error{"overdue actions": n.Overdue, "what expires": n.Expiring} {
		if err := guarded(func() error { return look(ctx) }); err != nil && ctx.Err() == nil {
			slog.Warn("the clock's events wait", "events", what, "error", err)
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
	if err := n.expire(ctx, now); err != nil {
		return err
	}
	n.looked.Store(&today)
	return nil
}

func (n *Notifier) expire(ctx context.Context, now time.Time) error {
	return n.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		since, err := tick(tx, "lot.expiring", now)
		if err != nil || horizon(since) >= horizon(now) {
			return err
		}
		var near []Emitted
		err = tx.Query("SELECT l.tenant_id, l."+strings.Join(lotFields, ", l.")+" FROM tenants t JOIN lots l ON l.tenant_id = t.id AND l.status IN ('released', 'quarantine') AND l.expires_on > $1 AND l.expires_on <= $2 "+
			"WHERE t.status = 'active' ORDER BY l.expires_on, l.id", []any{horizon(since), horizon(now)}, func(r *db.Row) error {
			row := map[string]any{}
			for i, f := range lotFields {
				if !r.Null(i + 1) {
					row[f] = r.Text(i + 1)
				}
			}
			near = append(near, Emitted{Tenant: r.Text(0), Type: "lot.expiring", Data: subset(row, lotFields)})
			return nil
		})
		if err != nil {
			return err
		}
		return n.outbox.EmitAll(tx, near)
	})
}

// Overdue announces actions whose due time has passed since it last looked.
// Several nodes may call it: the clock's row lets one look at a time, and each
// action is found once.
func (n *Notifier) Overdue(ctx context.Context) error {
	now := n.outbox.now().UTC()
	return n.db.Write(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		since, err := tick(tx, "action.overdue", now)
		if err != nil || !since.Before(now) {
			return err
		}
		var late []Emitted
		err = tx.Query("SELECT a.tenant_id, a.id, a.action_no, a.title, a.type, a.priority, a.status, a.incident_id, a.assignee_user_id, a.due_at, a.verifier_user_id, a.created_by "+
			"FROM tenants t JOIN actions a ON a.tenant_id = t.id AND a.status IN ('open', 'in_progress') AND a.due_at > $1 AND a.due_at <= $2 "+
			"WHERE t.status = 'active' ORDER BY a.due_at, a.id",
			[]any{since, now}, func(r *db.Row) error {
				row := map[string]any{}
				for i, f := range []string{"tenant_id", "id", "action_no", "title", "type", "priority", "status", "incident_id", "assignee_user_id", "due_at", "verifier_user_id", "created_by"} {
					if !r.Null(i) {
						row[f] = r.Text(i)
					}
				}
				late = append(late, overdue(row))
				return nil
			})
		if err != nil {
			return err
		}
		return n.outbox.EmitAll(tx, late)
	})
}

func overdue(row map[string]any) Emitted {
	who := map[string]string{}
	for _, c := range []string{"assignee_user_id", "verifier_user_id", "created_by"} {
		if id := text(row, c); id != "" {
			who[c] = id
		}
	}
	return Emitted{Tenant: text(row, "tenant_id"), Type: "action.overdue", Data: subset(row, actionFields), Audience: who}
}

// tick moves a clock to now and returns where it stood; a new clock starts
// now. The row is locked until the transaction ends.
func tick(tx *db.Tx, kind string, now time.Time) (since time.Time, err error) {
	if err := tx.Query("INSERT INTO outbox_clock (kind, until_at) VALUES ($1, $2) ON CONFLICT (kind) DO NOTHING", []any{kind, now}, nil); err != nil {
		return since, err
	}
	if err := tx.One("SELECT until_at FROM outbox_clock WHERE kind = $1"+tx.DB().ForUpdate(), []any{kind}, func(r *db.Row) error {
		since = r.Time(0)
		return nil
	}); err != nil {
		return since, err
	}
	tx.Queue("UPDATE outbox_clock SET until_at = $2 WHERE kind = $1 AND until_at < $2", []any{kind, now}, nil)
	return since, nil
}
