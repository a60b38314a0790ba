package programme

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/score"
)

// latest is the newest score of one entity.
type latest struct {
	kind             string
	entity, id, user uuid.UUID // user Nil = nobody signs in as it
	score            float64   // as published, one decimal
	days             int64     // period of its run
	standing         score.Standing
}

// newestRunSQL selects the newest run of a type. $1 tenant, $2 type.
const newestRunSQL = `
	SELECT run.id
	FROM score_runs AS run
	WHERE run.tenant_id = $1
		AND run.entity_type = $2
	ORDER BY run.id DESC
	LIMIT 1`

// newestRuns returns the newest official run of each of these types; only
// official runs are kept.
func newestRuns(tx *db.Tx, tenant string, kinds []string) ([]string, error) {
	var runs []string
	for _, kind := range kinds {
		tx.Queue(newestRunSQL, []any{tenant, kind}, func(r *db.Row) error {
			runs = append(runs, r.Text(0))
			return nil
		})
	}
	err := tx.Flush()
	return runs, err
}

// readLatest returns the newest score of every entity of these types, or of
// one entity, that is at least least.
func readLatest(tx *db.Tx, tenant string, kinds []string, entity string, least float64) ([]latest, error) {
	runs, err := newestRuns(tx, tenant, kinds)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	args := []any{tenant, query.List(runs)}
	only := selector{id: entity}.entityCondition("s.entity_id", &args)
	out := []latest{}
	var kind []byte
	err = tx.Query(db.FillWords(`
		SELECT s.entity_type, s.entity_id, s.id, s.user_id, s.score, r.period_days, s.confidence, s.model_kind,
			CASE WHEN s.inputs LIKE '%"critical_count"%' THEN 1 ELSE 0 END
		FROM predictive_scores s
		JOIN score_runs r ON r.tenant_id = s.tenant_id AND r.id = s.run_id
		WHERE s.tenant_id = $1
			AND r.tenant_id = $1
			AND s.run_id IN {ids $2} {only}
		ORDER BY s.run_id`, "{only}", only), args, func(r *db.Row) error {
		kind = r.AppendText(kind[:0], 0)
		k := slices.IndexFunc(kinds, func(k string) bool { return k == string(kind) })
		x := latest{kind: kinds[k], entity: r.UUID(1), id: r.UUID(2), user: r.UUID(3), score: r.Dec(4).Float(),
			days: r.Int(5)}
		x.standing = score.Standing{Score: x.score, Confidence: r.Dec(6).Float(), IsRelative: r.Text(7) != kindWeighted,
			HasCritical: r.Bool(8)}
		if x.score >= least {
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

// purgeRuns is how many runs one transaction removes the scores of.
const purgeRuns = 5

// PurgeScores removes the scores, and their runs, that are past the tenant's
// time (setting scoring.score_retention_days), and returns how many scores. The
// newest of each type stay, and those that training was assigned for.
func (p *Programme) PurgeScores(ctx context.Context, tenant string) (int, error) {
	total, last := 0, db.NoTenant
	for {
		n, next, err := p.purgeSome(ctx, tenant, last)
		total += n
		if err != nil || next == last {
			return total, err
		}
		last = next
	}
}

const purgeSomeSQL = `
	SELECT r.id
	FROM score_runs r
	WHERE r.tenant_id = $1 AND r.id > $2 AND r.computed_at < $3 AND r.id < (SELECT f.id
		FROM score_runs f
		WHERE f.tenant_id = $1 AND f.entity_type = r.entity_type
		ORDER BY f.id DESC
		LIMIT 1)
	ORDER BY r.id
	LIMIT %d`

const deletePredictiveScoresSQL = `
	DELETE FROM predictive_scores
	WHERE tenant_id = $1 AND run_id IN {ids $2} AND id NOT IN (SELECT source_score_id
		FROM training_assignments
		WHERE tenant_id = $1 AND source_score_id IS NOT NULL)`

const deleteScoreRunsSQL = `
	DELETE FROM score_runs
	WHERE tenant_id = $1 AND id IN {ids $2} AND NOT EXISTS (SELECT 1
		FROM predictive_scores
		WHERE predictive_scores.tenant_id = $1 AND predictive_scores.run_id = score_runs.id)`

// purgeSome goes through the runs behind after and returns how many scores went
// and the last run it saw.
func (p *Programme) purgeSome(ctx context.Context, tenant, after string) (n int, last string, err error) {
	err = p.write(ctx, actor.Actor{Role: actor.Service, TenantID: tenant}, func(tx *db.Tx) error {
		n, last = 0, after
		st := queueSettings(tx, tenant)
		if err := tx.Flush(); err != nil {
			return err
		}
		st.repairSettings()
		var runs []string
		err := tx.Query(fmt.Sprintf(purgeSomeSQL, purgeRuns),
			[]any{tenant, after, p.now().UTC().AddDate(0, 0, -int(st.keepDays))}, func(r *db.Row) error {
				runs = append(runs, r.Text(0))
				return nil
			})
		if err != nil || len(runs) == 0 {
			return err
		}
		last = runs[len(runs)-1]
		ids := query.List(runs)
		gone, err := tx.Exec(deletePredictiveScoresSQL, tenant, ids)
		if err != nil {
			return err
		}
		n = int(gone)
		_, err = tx.Exec(deleteScoreRunsSQL, tenant, ids)
		return err
	})
	return n, last, err
}
