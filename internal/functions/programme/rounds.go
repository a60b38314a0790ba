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
			WHERE r.tenant_id = t.id AND r.status IN ('scheduled', 'in_progress') AND r.due_at < $2 AND r.deadline_at < $2))`,
		now.Add(safety.PlanAhead), now)
}

// listTenants lists the active tenants that a condition on t names.
func (p *Programme) listTenants(ctx context.Context, where string, args ...any) (out []string, err error) {
	err = p.store.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		out = nil
		return tx.Query(db.FillWords(`
			SELECT t.id
			FROM tenants t
			WHERE t.status = 'active'
				AND ({where})
			ORDER BY t.id`, "{where}", where), args, func(r *db.Row) error {
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

// expiringCertificatesSQL lists certificates that run out between two days, have no later
// one and were not reminded of, of people who are still there: $1 tenant, $2 and $3
// the days. Its sixth column says whether the course is open for the person already.
const expiringCertificatesSQL = `
	SELECT a.id, a.course_id, a.user_id, a.expires_on, course.title,
		EXISTS (
			SELECT 1
			FROM training_assignments AS again
			WHERE again.tenant_id = a.tenant_id
				AND (again.user_id = a.user_id OR again.worker_id = a.worker_id)
				AND again.course_id = a.course_id
				AND again.status IN ('assigned', 'in_progress', 'failed')
		),
		course.status, a.worker_id
	FROM training_assignments AS a
	JOIN courses AS course ON course.tenant_id = a.tenant_id AND course.id = a.course_id
	WHERE a.tenant_id = $1
		AND a.status = 'completed'
		AND a.expires_on >= $2
		AND a.expires_on <= $3
		AND a.reminded_at IS NULL
		AND NOT EXISTS (
			SELECT 1
			FROM training_assignments AS later
			WHERE later.tenant_id = a.tenant_id
				AND (later.user_id = a.user_id OR later.worker_id = a.worker_id)
				AND later.course_id = a.course_id
				AND later.status = 'completed'
				AND (later.expires_on IS NULL OR later.expires_on > a.expires_on)
		)
		AND (
			EXISTS (
				SELECT 1
				FROM members
				WHERE members.tenant_id = a.tenant_id AND members.user_id = a.user_id AND members.status = 'active'
			)
			OR a.user_id IS NULL AND EXISTS (
				SELECT 1
				FROM workers
				WHERE workers.tenant_id = a.tenant_id AND workers.id = a.worker_id AND workers.status <> 'left'
			)
		)
	ORDER BY a.expires_on, a.id
	LIMIT 500`

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
		err = tx.Query(expiringCertificatesSQL, []any{tenant, today.String(), last}, func(r *db.Row) error {
			each(r.Text(0))
			if !r.Bool(5) && r.Text(6) == "active" {
				renewals = append(renewals, store.Row{
					"course_id": r.Text(1), "user_id": orNull(r.Text(2)), "worker_id": orNull(r.Text(7)),
					"assignment_type": "renewal", "due_on": r.Text(3),
					"assignment_reason": fmt.Sprintf("the certificate for %s runs out on %s", r.Text(4), r.Text(3)),
				})
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
