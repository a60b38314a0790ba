package programme

import (
	"context"
	"fmt"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// serverActor is the server itself, working for a tenant.
func serverActor(tenant string) actor.Actor {
	return actor.Actor{Role: actor.Service, TenantID: tenant, KeyID: "nightly"}
}

// Owing lists the active tenants in which a schedule has runs to be made, or
// an inspection may have been missed.
func (p *Programme) Owing(ctx context.Context) ([]string, error) {
	now := p.now().UTC()
	return p.listTenants(ctx, `(EXISTS (
			SELECT 1 FROM checklist_schedules s
			WHERE s.tenant_id = t.id AND s.status = 'active' AND s.next_due_at <= $1)
		OR EXISTS (
			SELECT 1 FROM checklist_runs r
			WHERE r.tenant_id = t.id AND r.status IN ('scheduled', 'in_progress') AND r.due_at < $2))`,
		now.Add(safety.PlanAhead), now)
}

// listTenants lists the active tenants that a condition on t names.
func (p *Programme) listTenants(ctx context.Context, where string, args ...any) (out []string, err error) {
	err = p.store.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = nil
		return tx.Query("SELECT t.id FROM tenants t WHERE t.status = 'active' AND ("+where+") ORDER BY t.id", args, func(r *db.Row) error {
			out = append(out, r.Text(0))
			return nil
		})
	})
	return out, err
}

// Inspections makes the runs that a tenant's schedules owe for the next seven
// days, and marks those that nobody did in time. It is safe to repeat.
func (p *Programme) Inspections(ctx context.Context, tenant string) error {
	a := serverActor(tenant)
	for planned := 1; planned > 0; {
		err := p.write(ctx, a, func(tx *db.Tx) (err error) {
			planned, err = safety.PlanSchedules(p.store.In(tx, a))
			return err
		})
		if err != nil {
			return fmt.Errorf("programme: plan inspections: %w", err)
		}
	}
	if _, err := p.MissChecklists(ctx, tenant); err != nil {
		return fmt.Errorf("programme: missed inspections: %w", err)
	}
	return nil
}

// renewAhead is how long before a certificate runs out its holder is told and
// the course assigned again.
const renewAhead = 30

// RemindTraining tells of certificates that run out within 30 days, once each
// (training.expiring), and assigns the course again to those who neither have
// it open nor hold a later certificate. It returns how many it told of.
func (p *Programme) RemindTraining(ctx context.Context, tenant string) (int, error) {
	return p.changeInBatches(ctx, tenant, "training_assignments", store.Row{"reminded_at": p.now().UTC()}, func(tx *db.Tx, each func(id string)) error {
		today, err := p.localToday(tx, tenant)
		if err != nil {
			return err
		}
		last := today.AddDays(renewAhead).String()
		var renewals []store.Row
		const same = "SELECT 1 FROM training_assignments n WHERE n.tenant_id = a.tenant_id AND (n.user_id = a.user_id OR n.worker_id = a.worker_id) AND " +
			"n.course_id = a.course_id"
		err = tx.Query("SELECT a.id, a.course_id, a.user_id, a.expires_on, c.title, "+
			"EXISTS ("+same+" AND n.status IN ('assigned', 'in_progress', 'failed')), c.status, a.worker_id "+
			"FROM training_assignments a JOIN courses c ON c.tenant_id = a.tenant_id AND c.id = a.course_id "+
			"WHERE a.tenant_id = $1 AND a.status = 'completed' AND a.expires_on >= $2 AND a.expires_on <= $3 AND a.reminded_at IS NULL "+
			"AND NOT EXISTS ("+same+" AND n.status = 'completed' AND (n.expires_on IS NULL OR n.expires_on > a.expires_on)) AND ("+
			"EXISTS (SELECT 1 FROM members m WHERE m.tenant_id = a.tenant_id AND m.user_id = a.user_id AND m.status = 'active') OR a.user_id IS NULL AND "+
			"EXISTS (SELECT 1 FROM workers w WHERE w.tenant_id = a.tenant_id AND w.id = a.worker_id AND w.status <> 'left')) ORDER BY a.expires_on, a.id LIMIT 500",
			[]any{tenant, today.String(), last}, func(r *db.Row) error {
				each(r.Text(0))
				if !r.Bool(5) && r.Text(6) == "active" {
					renewals = append(renewals, store.Row{"course_id": r.Text(1), "user_id": orNull(r.Text(2)), "worker_id": orNull(r.Text(7)),
						"assignment_type": "renewal", "due_on": r.Text(3),
						"assignment_reason": fmt.Sprintf("the certificate for %s runs out on %s", r.Text(4), r.Text(3))})
				}
				return nil
			})
		if err != nil {
			return err
		}
		_, err = p.insertRows(tx, serverActor(tenant), "training_assignments", firstRenewals(renewals))
		return err
	})
}

// firstRenewals keeps one renewal of a course for a person.
func firstRenewals(rows []store.Row) []store.Row {
	seen := map[string]bool{}
	var out []store.Row
	for _, r := range rows {
		if k := fmt.Sprint(r["course_id"], r["user_id"], r["worker_id"]); !seen[k] {
			seen[k] = true
			out = append(out, r)
		}
	}
	return out
}

// localToday is the date where the tenant is.
func (p *Programme) localToday(tx *db.Tx, tenant string) (localtime.Date, error) {
	st := queueSettings(tx, tenant)
	err := tx.Flush()
	return localtime.DateOf(p.now(), localtime.Zone(st.place)), err
}

func orNull(id string) any {
	if id == "" {
		return nil
	}
	return id
}
