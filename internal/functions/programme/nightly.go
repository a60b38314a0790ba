package programme

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Night is what one nightly round did.
type Night struct {
	Switched []string // entity types whose model changed
	Missed   int      // inspections that were not done in time
	Expired  int      // certificates that ran out
	Purged   int      // scores past the time that they are kept
	Reminded int      // certificates that soon will
	Told     int      // overdue actions that the next level was told of
	Due      int      // services, inspections and licences told of
}

// Nightly does a tenant's round: inspections nobody did are missed,
// certificates that ran out expire, what is due soon or long overdue is told, absences that last
// are counted to today, legal clocks follow, models are trained, everything is scored and grouped,
// rules are checked, training assigned, the month's boards and badges kept, and
// scores past their time removed. Each step is safe to repeat; one that fails
// does not stop the others, the errors come back together, and the round is due
// again sooner: then without the heavy ones that succeeded.
func (p *Programme) Nightly(ctx context.Context, tenant string) (Night, error) {
	a := serverActor(tenant)
	ctx = db.Patient(ctx, nightPatience)
	var n Night
	done, err := p.nightBegins(ctx, a)
	if err != nil {
		return n, fmt.Errorf("programme: note that the night begins: %w", err)
	}
	began := p.now()
	var errs []error
	step := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("programme: %s: %w", name, err))
		}
	}
	n.Missed, err = p.MissChecklists(ctx, tenant)
	step("missed inspections", err)
	n.Expired, err = p.ExpireTraining(ctx, tenant)
	step("expired training", err)
	n.Reminded, err = p.RemindTraining(ctx, tenant)
	step("expiring training", err)
	n.Due, err = p.RemindDeadlines(ctx, tenant)
	step("deadlines", err)
	n.Told, err = p.EscalateActions(ctx, tenant)
	step("overdue actions", err)
	step("days of absences", p.RecountAbsences(ctx, tenant))
	step("legal clocks", p.RefreshClocks(ctx, tenant))
	// Requests of other tenants come in between.
	heavy := func(name string, work func() error) {
		if slices.Contains(done, name) {
			return
		}
		step(name, func() error {
			end, err := p.takeLargeTenantSlot(ctx, a, true)
			if err != nil {
				return err
			}
			defer end()
			if err := work(); err != nil {
				return err
			}
			if name == "scores" {
				done = slices.DeleteFunc(done, onScores)
			}
			done = append(done, name)
			return p.noteDone(ctx, a, done)
		}())
	}
	heavy("train models", func() (err error) { n.Switched, err = p.Train(ctx, a); return err })
	heavy("scores", func() error { _, err := p.calculateScores(ctx, a, &ScoresIn{PeriodDays: officialDays}); return err })
	heavy("clusters", func() error { _, err := p.assignClusters(ctx, a, &ClustersIn{MaxScore: 100}); return err })
	heavy("compliance", func() error { _, err := p.checkCompliance(ctx, a, &ComplianceIn{}); return err })
	heavy("training", func() error { _, err := p.assignTraining(ctx, a, &TrainingIn{}); return err })
	step("boards", p.KeepBoards(ctx, tenant))
	n.Purged, err = p.PurgeScores(ctx, tenant)
	step("old scores", err)
	if len(errs) == 0 {
		step("note that the night is over", p.nightEnds(ctx, a, began))
	}
	return n, errors.Join(errs...)
}

// again are the waits before a round that did not come to its end, or failed in
// a step, is tried again; after the last it rests until the next night.
var again = [...]time.Duration{10 * time.Minute, time.Hour, 4 * time.Hour}

// night is how long a tenant's round rests.
const night = 24 * time.Hour

// onScores reports a step whose result stands on the scores.
func onScores(step string) bool { return step != "train models" && step != "scores" }

// nightBegins puts off the tenant's next round, so that one that breaks off, or
// takes the server down with it, is not begun over and over. It returns the
// heavy steps that this night has behind it.
func (p *Programme) nightBegins(ctx context.Context, a actor.Actor) (done []string, err error) {
	return done, p.write(ctx, a, func(tx *db.Tx) error {
		tries := 0
		done = nil
		err := tx.Query("SELECT tries, done FROM nights WHERE tenant_id = $1", []any{a.TenantID}, func(r *db.Row) error {
			if tries = max(int(r.Int(0)), 0); tries > 0 && r.Text(1) != "" {
				done = strings.Split(r.Text(1), ",")
			}
			return nil
		})
		if err != nil {
			return err
		}
		wait := night
		if tries < len(again) {
			wait = again[tries]
			tries++
		} else {
			tries = 0
		}
		return nextNight(tx, a, p.now().Add(wait), tries, done)
	})
}

func (p *Programme) nightEnds(ctx context.Context, a actor.Actor, began time.Time) error {
	return p.write(ctx, a, func(tx *db.Tx) error { return nextNight(tx, a, began.Add(night), 0, nil) })
}

const nextNightSQL = `
	INSERT INTO nights (tenant_id, due_at, tries, done)
	VALUES ($1, $2, $3, $4)
	ON CONFLICT (tenant_id) DO UPDATE SET due_at = excluded.due_at, tries = excluded.tries,
		done = excluded.done`

func nextNight(tx *db.Tx, a actor.Actor, due time.Time, tries int, done []string) error {
	_, err := tx.Exec(nextNightSQL, a.TenantID, due.UTC(), tries,
		strings.Join(done, ","))
	return err
}

func (p *Programme) noteDone(ctx context.Context, a actor.Actor, done []string) error {
	return p.write(ctx, a, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE nights SET done = $2 WHERE tenant_id = $1", a.TenantID, strings.Join(done, ","))
		return err
	})
}

// Due lists the active tenants whose nightly round is due: 24 hours after the
// last one began, sooner after one that failed.
func (p *Programme) Due(ctx context.Context) ([]string, error) {
	return p.listTenants(
		ctx,
		"NOT EXISTS (SELECT 1 FROM nights n WHERE n.tenant_id = t.id AND (n.due_at > $1 OR n.tries < 0 AND n.due_at > $2))",
		p.now().UTC(),
		p.now().Add(-night).UTC(),
	)
}

// sweepStep is how many records one transaction of a sweep moves.
const sweepStep = 500

const missChecklistsSQL = `
	SELECT id
	FROM checklist_runs
	WHERE tenant_id = $1
		AND status IN ('scheduled', 'in_progress')
		AND due_at < $2
		AND deadline_at < $2
	ORDER BY due_at, id
	LIMIT 500`

// MissChecklists moves inspections whose deadline has passed to missed, and returns
// how many.
func (p *Programme) MissChecklists(ctx context.Context, tenant string) (int, error) {
	now, missed := p.now().UTC(), store.Row{"status": "missed"}
	return p.changeInBatches(ctx, tenant, "checklist_runs", missed, func(tx *db.Tx, each func(id string)) error {
		return tx.Query(missChecklistsSQL, []any{tenant, now}, func(r *db.Row) error { each(r.Text(0)); return nil })
	})
}

const expireTrainingSQL = `
	SELECT id
	FROM training_assignments
	WHERE tenant_id = $1 AND status = 'completed' AND expires_on < $2
	ORDER BY expires_on, id
	LIMIT 500`

// ExpireTraining moves certificates whose last day has passed where the tenant
// is to expired, and returns how many.
func (p *Programme) ExpireTraining(ctx context.Context, tenant string) (int, error) {
	return p.changeInBatches(ctx, tenant, "training_assignments", store.Row{"status": "expired"}, func(tx *db.Tx, each func(id string)) error {
		today, err := p.localToday(tx, tenant)
		if err != nil {
			return err
		}
		return tx.Query(expireTrainingSQL, []any{tenant, today.String()},
			func(r *db.Row) error { each(r.Text(0)); return nil })
	})
}

// changeInBatches changes the records that find names, some at a time, until there are
// none: what it sets must take them out of what find looks for.
func (p *Programme) changeInBatches(
	ctx context.Context,
	tenant, resource string,
	set store.Row,
	find func(tx *db.Tx, each func(id string)) error,
) (int, error) {
	a := serverActor(tenant)
	r, err := p.resource(resource)
	if err != nil {
		return 0, err
	}
	total := 0
	for {
		var ids []string
		err := p.write(ctx, a, func(tx *db.Tx) error {
			ids = nil
			if err := find(tx, func(id string) { ids = append(ids, id) }); err != nil {
				return err
			}
			if len(ids) > sweepStep {
				ids = ids[:sweepStep]
			}
			err := p.store.In(tx, a).UpdateRows(r.Name, ids, set)
			return err
		})
		if err != nil || len(ids) == 0 {
			return total, err
		}
		total += len(ids)
	}
}

// KeepBoards writes the month's team and zone scores, gives badges, and in the
// first two days of a month closes the one before.
func (p *Programme) KeepBoards(ctx context.Context, tenant string) error {
	now := p.now().UTC()
	a := serverActor(tenant)
	return p.write(ctx, a, func(tx *db.Tx) error {
		st := queueSettings(tx, tenant)
		if err := tx.Flush(); err != nil {
			return err
		}
		loc := localtime.Zone(st.place)
		periods := []Period{PeriodOf(now, loc)}
		if now.Sub(periods[0].From) < 48*time.Hour {
			periods = append(periods, PeriodOf(periods[0].From.Add(-time.Hour), loc))
		}
		for _, pd := range periods {
			b, err := computeScoreboards(tx, tenant, st, pd, now)
			if err == nil {
				err = keepBoards(tx, tenant, pd, b, now)
			}
			if err != nil {
				return err
			}
		}
		tx.Queue(smallTeamsSQL, []any{tenant, int64(st.minGroup)}, nil)
		tx.After(func() { p.hooks.Changed(tenant, []string{"team_scores", "zone_scores"}) })
		return safety.AwardBadges(p.store.In(tx, a), nil)
	})
}

func boardColumns(subject string) []db.Column {
	return []db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"}, {Name: subject, Type: "uuid"}, {Name: "period", Type: "text"},
		{Name: "period_start", Type: "text"},
		{Name: "period_end", Type: "text"}, {Name: "score", Type: "bigint"}, {Name: "n", Type: "bigint"}, {Name: "parts", Type: "text"},
		{Name: "created_at", Type: "timestamptz"},
		{Name: "updated_at", Type: "timestamptz"}, {Name: "version", Type: "bigint"}}
}

// hiddenTeamsSQL deletes the kept scores of a month of teams that are not shown
// (any more): $1 tenant, $2 month, $3 the teams that are.
const hiddenTeamsSQL = `
	DELETE FROM team_scores
	WHERE tenant_id = $1 AND period = $2 AND NOT team_id IN {ids $3}`

// smallTeamsSQL deletes kept scores of teams that were smaller than the least
// group, of any month: the setting holds for what was kept before it too.
const smallTeamsSQL = `
	DELETE FROM team_scores
	WHERE tenant_id = $1 AND n < $2`

// keepBoards writes the boards of a month. Teams that are not shown are not kept
// either, so that lists, files and events of the kept scores obey the same rule.
func keepBoards(tx *db.Tx, tenant string, pd Period, b *boards, now time.Time) error {
	put := func(table, subject string) *db.Rows {
		return tx.InsertMany(table, boardColumns(subject), "ON CONFLICT (tenant_id, "+subject+", period) DO UPDATE SET score = excluded.score, n = excluded.n, "+
			"parts = excluded.parts, updated_at = excluded.updated_at, version = "+table+".version + 1")
	}
	at := query.FormatTime(now)
	rows := put("team_scores", "team_id")
	shown := make([]string, 0, len(b.teams))
	for _, t := range b.teams {
		shown = append(shown, t.TeamID)
		if err := rows.Add(tenant, db.NewID(), t.TeamID, pd.Name, pd.Start, pd.End, decimal.FromFloat(t.Score), t.N, "{}", at, at, 1); err != nil {
			return err
		}
	}
	rows.Queue()
	tx.Queue(hiddenTeamsSQL, []any{tenant, pd.Name, query.List(shown)}, nil)
	rows = put("zone_scores", "zone_id")
	for _, z := range b.zones {
		parts, err := json.Marshal(z.Parts)
		if err != nil {
			return err
		}
		if err := rows.Add(tenant, db.NewID(), z.ZoneID, pd.Name, pd.Start, pd.End, decimal.FromFloat(z.Score), z.N, string(parts), at, at, 1); err != nil {
			return err
		}
	}
	rows.Queue()
	return tx.Flush()
}
