package programme

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/functions/programme/trial"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// Train fits the statistical models of every entity type on the last year,
// lets them forecast the last three periods beside the weighted model, keeps
// each with its track record, and makes the champion of a type its active
// model, see [score.Champion]; else the weighted one speaks and the others run in
// its shadow. It returns the types whose model changed.
func (p *Programme) Train(ctx context.Context, a actor.Actor) ([]string, error) {
	now := p.now().UTC().Truncate(time.Microsecond)
	var trials []*trial.Trial
	st, err := p.readTrials(ctx, a, now, &trials)
	if err != nil {
		return nil, err
	}
	var changed []string
	err = p.write(ctx, a, func(tx *db.Tx) error {
		changed = nil
		lockTenant(tx, a.TenantID)
		for _, t := range trials {
			switched, err := p.keepTrial(tx, a, st, t, now)
			if err != nil {
				return err
			}
			if switched {
				changed = append(changed, t.Kind)
			}
		}
		return nil
	})
	return changed, err
}

// readTrials runs the backtests on one snapshot, of everybody who was there: those
// who left since had their accidents too. A type without the data for one loses its
// champion; one whose data cannot be fitted is left as it is.
func (p *Programme) readTrials(ctx context.Context, a actor.Actor, now time.Time, out *[]*trial.Trial) (*settings, error) {
	var st *settings
	err := p.read(ctx, a, func(tx *db.Tx) error {
		st = queueSettings(tx, a.TenantID)
		groups := map[string]*group{}
		for _, t := range safety.EntityTypes {
			groups[t] = queueEntities(tx, selector{tenant: a.TenantID, kind: t, departed: true})
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		st.repairSettings()
		*out = nil
		for _, kind := range safety.EntityTypes {
			if len(groups[kind].list) == 0 || !st.isScored(kind) {
				continue
			}
			panel, err := buildPanel(tx, selector{tenant: a.TenantID, kind: kind, within: st.within}, st, groups[kind], now)
			if err != nil {
				return err
			}
			t, err := trial.New(kind, panel, st.weights)
			if err == nil {
				err = t.ReadReports(tx, a.TenantID, now, st.timeZone())
			}
			switch {
			case fault.HasCode(err, "too_little_data"):
				*out = append(*out, &trial.Trial{Kind: kind, Thin: true})
			case fault.Is(err, fault.Unprocessable), fault.Is(err, fault.Invalid):
				// Its data carry no model: the one it has goes on, and so does the night.
				slog.WarnContext(ctx, "models of a tenant are left as they are", "tenant", a.TenantID, "entities", kind, "because", err)
			case err != nil:
				return fmt.Errorf("programme: train %s: %w", kind, err)
			default:
				*out = append(*out, t)
			}
		}
		return nil
	})
	return st, err
}

func newFittedModel(kind, entityType string, w score.Weights, params any) (*model, error) {
	b, err := json.Marshal(params)
	return &model{ID: db.NewID(), Kind: kind, EntityType: entityType, Weights: w, Params: b}, err
}

// fittedModels are the models of a trial, the Bayes model first, and the champion
// among them, nil where the weighted model speaks.
func fittedModels(t *trial.Trial, st *settings) (list []*model, champion *model, err error) {
	if t.Thin {
		return nil, nil, nil
	}
	bayes, err := newFittedModel(kindBayes, t.Kind, st.weights, map[string]any{"prior": t.Prior, "prior_source": t.Prior.Source})
	if err != nil {
		return nil, nil, err
	}
	list = []*model{bayes}
	if t.Regression != nil {
		fit, err := newFittedModel(kindPoisson, t.Kind, t.Regression.Weights(), t.Regression)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, fit)
	}
	switch t.Champion() {
	case score.NameBayes:
		champion = bayes
	case score.NameRegression:
		champion = list[1]
	}
	return list, champion, nil
}

const keepTrialSQL = `
	SELECT id, kind, status
	FROM score_models
	WHERE tenant_id = $1 AND entity_type = $2 AND status <> 'retired'
	ORDER BY id`

// keepTrial replaces the statistical models of a type by those just fitted.
func (p *Programme) keepTrial(tx *db.Tx, a actor.Actor, st *settings, t *trial.Trial, now time.Time) (switched bool, err error) {
	var old []string
	was := kindWeighted
	err = tx.Query(keepTrialSQL, []any{a.TenantID, t.Kind}, func(r *db.Row) error {
		old = append(old, r.Text(0))
		if r.Text(2) == "active" {
			was = r.Text(1)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if err := p.moveModels(tx, a, old, "retired"); err != nil {
		return false, err
	}
	list, best, err := fittedModels(t, st)
	if err != nil {
		return false, err
	}
	var rows []store.Row
	for _, m := range list {
		status := "shadow"
		if m == best {
			status = "active"
		}
		row := m.modelRow(status)
		row["trained_from"], row["trained_to"], row["metrics"] = query.FormatTime(t.Panel.Start), query.FormatTime(now), t.Report
		rows = append(rows, row)
	}
	is := kindWeighted
	if best != nil {
		is = best.Kind
	}
	_, err = p.insertRows(tx, a, "score_models", rows)
	return is != was, err
}
