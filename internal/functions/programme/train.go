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
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// trial is what the history of one entity type says about the models.
type trial struct {
	kind   string
	panel  *score.Panel
	report score.Report
	bayes  *model
	fit    *model // nil while the data do not carry a regression
}

// Train fits the statistical models of every entity type on the last year,
// lets them forecast the last three periods beside the weighted model, keeps
// each with its track record, and makes the champion of a type its active
// model: the one with the least deviance that beats the weighted model and the
// pooled rate in two of three periods; else the weighted one stays and the
// others run in its shadow. It returns the types whose model changed.
func (p *Programme) Train(ctx context.Context, a actor.Actor) ([]string, error) {
	now := p.now().UTC().Truncate(time.Microsecond)
	var trials []*trial
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
				changed = append(changed, t.kind)
			}
		}
		return nil
	})
	return changed, err
}

// readTrials runs the backtests on one snapshot. A type without the data for
// one, or whose data cannot be fitted, is left as it is.
func (p *Programme) readTrials(ctx context.Context, a actor.Actor, now time.Time, out *[]*trial) (*settings, error) {
	var st *settings
	err := p.read(ctx, a, func(tx *db.Tx) error {
		st = queueSettings(tx, a.TenantID)
		groups := map[string]*group{}
		for _, t := range safety.EntityTypes {
			groups[t] = queueEntities(tx, selector{tenant: a.TenantID, kind: t})
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
			t, err := newTrial(kind, panel, st)
			switch {
			case fault.HasCode(err, "too_little_data"):
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

// newTrial backtests the models on the periods that have hours: a tenant that
// began half a year ago has no year to look back on.
func newTrial(kind string, panel *score.Panel, st *settings) (*trial, error) {
	panel, err := sinceFirstHours(panel)
	if err != nil {
		return nil, err
	}
	t := &trial{kind: kind, panel: panel}
	if t.report, err = score.Backtest(panel, score.Models(st.weights), score.Origins); err != nil {
		return nil, err
	}
	xs := make([]score.Exposure, panel.Entities)
	for e := range xs {
		for k := range panel.Periods {
			c := panel.At(e, k)
			w := score.Decay((float64(panel.Periods-k)-0.5)*score.PanelDays, score.HalfLife)
			xs[e].AddEvents(int(c.Events), w)
			xs[e].AddHours(float64(c.Hours), w)
		}
	}
	prior, err := score.FitPrior(xs)
	if err != nil {
		return nil, err
	}
	if t.bayes, err = newFittedModel(kindBayes, kind, st.weights, map[string]any{"prior": prior, "prior_source": prior.Source}); err != nil {
		return nil, err
	}
	switch reg, err := score.FitRegression(panel); {
	case fault.HasCode(err, "too_little_data"):
	case err != nil:
		return nil, err
	default:
		t.fit, err = newFittedModel(kindPoisson, kind, reg.Weights(), reg)
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// sinceFirstHours cuts the periods before the first hours off a panel.
func sinceFirstHours(p *score.Panel) (*score.Panel, error) {
	first := p.Periods
	for e := range p.Entities {
		for t := range first {
			if p.At(e, t).Hours > 0 {
				first = t
				break
			}
		}
	}
	if first == 0 || first == p.Periods {
		return p, nil
	}
	start := p.Start.Add(time.Duration(first) * score.PanelDays * 24 * time.Hour)
	q, err := score.NewPanel(p.Entities, p.Periods-first, start, p.Bounds)
	if err != nil {
		return nil, err
	}
	for e := range q.Entities {
		for t := range q.Periods {
			*q.At(e, t) = *p.At(e, t+first)
		}
	}
	return q, nil
}

func newFittedModel(kind, entityType string, w score.Weights, params any) (*model, error) {
	b, err := json.Marshal(params)
	return &model{ID: db.NewID(), Kind: kind, EntityType: entityType, Weights: w, Params: b}, err
}

// championModel names the kind of model behind a name of the backtest. Where the
// regression had too little data it forecast as the Bayes model.
func (t *trial) championModel() *model {
	if t.report.Champion == score.NameRegression && t.fit != nil {
		return t.fit
	}
	if t.report.Champion == score.NameBayes || t.report.Champion == score.NameRegression {
		return t.bayes
	}
	return nil
}

const keepTrialSQL = `
	SELECT id, kind, status
	FROM score_models
	WHERE tenant_id = $1 AND entity_type = $2 AND status <> 'retired'
	ORDER BY id`

// keepTrial replaces the statistical models of a type by those just fitted.
func (p *Programme) keepTrial(tx *db.Tx, a actor.Actor, st *settings, t *trial, now time.Time) (switched bool, err error) {
	var old []string
	was := kindWeighted
	err = tx.Query(keepTrialSQL, []any{a.TenantID, t.kind}, func(r *db.Row) error {
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
	best := t.championModel()
	var rows []store.Row
	for _, m := range []*model{t.bayes, t.fit} {
		if m == nil {
			continue
		}
		status := "shadow"
		if m == best {
			status = "active"
		}
		row := m.modelRow(status)
		row["trained_from"], row["trained_to"], row["metrics"] = query.FormatTime(t.panel.Start), query.FormatTime(now), t.report
		rows = append(rows, row)
	}
	is := kindWeighted
	if best != nil {
		is = best.Kind
	}
	_, err = p.insertRows(tx, a, "score_models", rows)
	return is != was, err
}
