package programme

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/functions/programme/trial"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// Kinds of model, as records name them.
const (
	kindWeighted = "weighted"
	kindBayes    = "eb"
	kindPoisson  = "poisson"
)

// model is a score_models row.
type model struct {
	ID         string
	Kind       string
	EntityType string // "" = every type
	Weights    score.Weights
	Params     json.RawMessage
}

// models are a tenant's models.
type models struct {
	active map[string]*model // by entity type; "" holds the weighted one for all types
	why    map[string]string // why no statistical model speaks for a type, by its last trial
}

// modelOf is the model that counts for a type: its own, else the one for all, else
// a weighted one that is still to be written.
func (m models) modelOf(entityType string) *model {
	if x := m.active[entityType]; x != nil {
		return x
	}
	return m.weightedModel()
}

func (m models) weightedModel() *model {
	if m.active[""] == nil {
		m.active[""] = &model{Kind: kindWeighted}
	}
	return m.active[""]
}

// untried is why the weighted model speaks for a type that was never tried.
const untried = "no statistical model could be fitted: it takes reports and hours worked in five periods of 28 days"

// whyWeighted says why no statistical model speaks for a type.
func (m models) whyWeighted(entityType string) string {
	return cmp.Or(m.why[entityType], untried)
}

// queueModelsSQL selects the active models, and of the others the trial that they
// did not win. $1 tenant.
const queueModelsSQL = `
	SELECT id, kind, entity_type, weight_incident, weight_near_miss, weight_shift_hours, weight_load,
		params, status, CASE WHEN status = 'shadow' THEN metrics ELSE NULL END
	FROM score_models
	WHERE tenant_id = $1 AND status IN ('active', 'shadow')
	ORDER BY id`

func queueModels(tx *db.Tx, tenant string) models {
	m := models{map[string]*model{}, map[string]string{}}
	tx.Queue(queueModelsSQL, []any{tenant}, func(r *db.Row) error {
		if r.Text(8) == "shadow" {
			var report score.Report
			if err := json.Unmarshal([]byte(r.Text(9)), &report); err != nil {
				slog.Warn("the trial of a model cannot be read", "tenant", tenant, "model", r.Text(0), "error", err)
				return nil
			}
			m.why[r.Text(2)] = report.Why()
			return nil
		}
		m.active[r.Text(2)] = &model{ID: r.Text(0), Kind: r.Text(1), EntityType: r.Text(2), Params: json.RawMessage(r.Text(7)),
			Weights: score.Weights{Incident: r.Dec(3).Float(), NearMiss: r.Dec(4).Float(), ShiftHours: r.Dec(5).Float(), Load: r.Dec(6).Float()}}
		return nil
	})
	return m
}

// weightedParams are what, beside the weights, a weighted score is recomputed
// with.
type weightedParams struct {
	Bounds   map[string]score.Bounds `json:"bounds"`
	Standard map[string]float64      `json:"standard_units_per_hour"`
	Cuts     score.Cuts              `json:"cuts"`
}

func (s *settings) modelParams() (json.RawMessage, error) {
	return json.Marshal(weightedParams{s.bounds, s.standard, s.cuts})
}

// settleModel makes the record of the weighted model agree with the settings: when
// those changed, a new model replaces the old one.
func (p *Programme) settleModel(tx *db.Tx, a actor.Actor, st *settings, groups []*scored) error {
	params, err := st.modelParams()
	if err != nil {
		return err
	}
	active := queueModels(tx, a.TenantID)
	if err := tx.Flush(); err != nil {
		return err
	}
	old := active.active[""]
	var used []*scored
	for _, s := range groups {
		if s.model.Kind == kindWeighted {
			used = append(used, s)
		}
	}
	if len(used) == 0 {
		return nil
	}
	m := old
	if old == nil || old.Kind != kindWeighted || old.Weights != st.weights || !bytes.Equal(old.Params, params) {
		if m, err = p.newWeighted(tx, a, st, params, old); err != nil {
			return err
		}
	}
	for _, s := range used {
		s.model = m
	}
	return nil
}

// describeWeighted names the weights of a look, which writes no model: those of
// the active model where they are the settings', else the settings' with no
// record.
func describeWeighted(st *settings, groups []*scored) error {
	params, err := st.modelParams()
	if err != nil {
		return err
	}
	for _, s := range groups {
		if s.model.Kind == kindWeighted && (s.model.Weights != st.weights || !bytes.Equal(s.model.Params, params)) {
			s.model = &model{Kind: kindWeighted, Weights: st.weights, Params: params}
		}
	}
	return nil
}

func (p *Programme) newWeighted(tx *db.Tx, a actor.Actor, st *settings, params json.RawMessage, old *model) (*model, error) {
	if old != nil {
		if err := p.moveModels(tx, a, []string{old.ID}, "retired"); err != nil {
			return nil, err
		}
	}
	m := &model{ID: db.NewID(), Kind: kindWeighted, Weights: st.weights, Params: params}
	_, err := p.insertRows(tx, a, "score_models", []store.Row{m.modelRow("active")})
	return m, err
}

func (m *model) modelRow(status string) store.Row {
	r := store.Row{"id": m.ID, "kind": m.Kind, "params": m.Params, "status": status,
		"weight_incident": decimal.FromFloat(m.Weights.Incident), "weight_near_miss": decimal.FromFloat(m.Weights.NearMiss),
		"weight_shift_hours": decimal.FromFloat(m.Weights.ShiftHours), "weight_load": decimal.FromFloat(m.Weights.Load)}
	if m.EntityType != "" {
		r["entity_type"] = m.EntityType
	}
	return r
}

func (p *Programme) moveModels(tx *db.Tx, a actor.Actor, ids []string, status string) error {
	r, err := p.resource("score_models")
	if err != nil || len(ids) == 0 {
		return err
	}
	err = p.store.In(tx, a).UpdateRows(r.Name, ids, store.Row{"status": status})
	return err
}

// ModelOut is a model of scores.
type ModelOut struct {
	score.Weights
	Kind       string          `json:"kind" doc:"Kind of the model."`
	ID         string          `json:"id,omitempty" format:"uuid" doc:"Its record; absent for the one shipped."`
	EntityType string          `json:"entity_type,omitempty" enum:"zone,driver,worker,equipment" doc:"Whose scores it makes; absent for all."`
	Params     json.RawMessage `json:"params" doc:"Its parameters, by kind."`
	Why        string          `json:"why,omitempty" doc:"Why the weighted model speaks and no statistical one."`
}

// ModelsOut is the model of an answer's scores, and that of each type where they
// differ.
type ModelsOut struct {
	ModelOut
	ByType []ModelOut `json:"by_type,omitempty" doc:"The models by type of entity, where they differ."`
}

func modelsOut(st *settings, groups []*scored) ModelsOut {
	out := ModelsOut{ModelOut: ModelOut{Weights: st.weights, Kind: kindWeighted}}
	// Plain structs always marshal.
	out.Params, _ = st.modelParams()
	for i, s := range groups {
		m := ModelOut{s.model.Weights, s.model.Kind, s.model.ID, s.kind, s.model.Params, s.why}
		if i == 0 {
			out.ModelOut = m
			out.EntityType = ""
		}
		out.ByType = append(out.ByType, m)
	}
	if len(out.ByType) > 0 && sameModel(out.ByType) {
		out.ByType = nil
	}
	return out
}

func sameModel(list []ModelOut) bool {
	for _, m := range list {
		if m.ID != list[0].ID || m.Why != list[0].Why {
			return false
		}
	}
	return true
}

// days adds up what the rows of one entity and day hold; the rows of a day come
// one after the other.
type days struct {
	i, age int
	sums   [2]int64
	add    func(i, age int, a, b int64)
}

func (d *days) addRow(i, age int, a, b int64) {
	if i != d.i || age != d.age {
		d.endDay()
		d.i, d.age = i, age
	}
	d.sums[0], d.sums[1] = d.sums[0]+a, d.sums[1]+b
}

func (d *days) endDay() {
	if d.i >= 0 {
		d.add(d.i, d.age, d.sums[0], d.sums[1])
	}
	d.i, d.sums = -1, [2]int64{}
}

// span is a time until now, at a place that counts its days.
type span struct {
	from, now time.Time
	zone      *time.Location
}

// readDays reads events and hours of each entity by day of the tenant.
func readDays(
	tx *db.Tx, sel selector, g *group, s span,
	events func(i, age int, n, near int64), hours func(i, age int, h, units float64),
) error {
	counts := &days{i: -1, add: events}
	args := []any{sel.tenant, g.kind, s.from, s.now}
	source, entity := incidentSource(tx, sel, &args)
	tx.Queue(db.FillWords(`
		SELECT {entity}, i.at, CASE WHEN i.kind IN ('near_miss', 'hazard') THEN 1 ELSE 0 END
		FROM {source}
		ORDER BY {entity}, i.at`, "{entity}", entity, "{source}", source), args,
		func(r *db.Row) error {
			if i := g.findPlace(r, 0); i >= 0 {
				near := r.Int(2)
				counts.addRow(i, trial.DaysBefore(s.now, r.Time(1), s.zone), 1-near, near)
			}
			return nil
		})
	work := &days{i: -1, add: func(i, age int, h, units int64) { hours(i, age, decimal.Dec(h).Float(), decimal.Dec(units).Float()) }}
	args = []any{sel.tenant, s.from, s.now}
	source, entity = shiftSource(tx, sel, &args)
	tx.Queue(db.FillWords(`
		SELECT {entity}, s.ended_at, s.hours, coalesce(s.units_done, 0)
		FROM {source}
		ORDER BY {entity}, s.ended_at`, "{entity}", entity, "{source}", source), args, func(r *db.Row) error {
		if i := g.findPlace(r, 0); i >= 0 {
			work.addRow(i, trial.DaysBefore(s.now, r.Time(1), s.zone), r.Int(2), r.Int(3))
		}
		return nil
	})
	err := tx.Flush()
	counts.endDay()
	work.endDay()
	return err
}

// bayesParams are the prior that a trained model keeps.
type bayesParams struct {
	Prior score.Prior `json:"prior"`
}

// scoreBayes scores with the trained prior and each entity's own history of a
// year, decayed by half every 180 days.
func scoreBayes(tx *db.Tx, sel selector, st *settings, m *model, g *group, now time.Time) (*scored, error) {
	var params bayesParams
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return nil, err
	}
	xs, err := readExposures(tx, sel, g, st.spanOf(score.HistoryDays, now))
	if err != nil {
		return nil, err
	}
	s := &scored{group: g, model: m}
	if s.est, err = params.Prior.Score(xs, nextExposure(g)); err != nil {
		return nil, err
	}
	s.explain = func(i int) []score.Term {
		t := params.Prior.Explain(xs[i])
		return t[:]
	}
	s.history = func(i int) (score.Exposure, []float64) { return xs[i], nil }
	return s, nil
}

// spanOf is the time of some days until now, where the tenant is.
func (s *settings) spanOf(days int, now time.Time) span {
	return span{now.Add(-time.Duration(days) * 24 * time.Hour), now, s.timeZone()}
}

func readExposures(tx *db.Tx, sel selector, g *group, s span) ([]score.Exposure, error) {
	xs := make([]score.Exposure, len(g.list))
	return xs, readDays(tx, sel, g, s,
		func(i, age int, n, _ int64) { xs[i].AddEvents(int(n), score.Decay(float64(age), score.HalfLife)) },
		func(i, age int, h, _ float64) { xs[i].AddHours(h, score.Decay(float64(age), score.HalfLife)) })
}

// nextExposure is the exposure of the next period: as many hours as the last had.
func nextExposure(g *group) []float64 {
	next := make([]float64, len(g.list))
	for i := range g.list {
		next[i] = g.list[i].in.ShiftHours / score.HoursUnit
	}
	return next
}

// panelPeriods is a year of 28-day periods, and one more.
const panelPeriods = 14

// buildPanel reads the history of a type as 28-day periods that end now.
func buildPanel(tx *db.Tx, sel selector, st *settings, g *group, now time.Time) (*score.Panel, error) {
	year := st.spanOf(panelPeriods*score.PanelDays, now)
	panel, err := score.NewPanel(max(len(g.list), 1), panelPeriods, year.from, st.bounds[g.kind])
	if err != nil {
		return nil, err
	}
	cell := func(i, age int) *score.Cell {
		t := panelPeriods - 1 - age/score.PanelDays
		return panel.At(i, max(t, 0))
	}
	if err := queueLate(tx, sel.tenant, g, panel, year); err != nil {
		return nil, err
	}
	err = readDays(tx, sel, g, year,
		func(i, age int, n, near int64) {
			c := cell(i, age)
			c.Events += float32(n)
			c.NearMisses += float32(near)
		},
		func(i, age int, h, units float64) {
			c := cell(i, age)
			c.Hours += float32(h)
			c.Workload += float32(units) // units until all are read
		})
	if err != nil {
		return nil, err
	}
	for i := range g.list {
		for t := range panelPeriods {
			c := panel.At(i, t)
			if c.Hours > 0 {
				c.Workload = min(c.Workload/(c.Hours*float32(st.standard[g.kind])), mostLoad)
			} else {
				c.Workload = 0
			}
		}
	}
	return panel, nil
}

const queueLateSQL = `
	SELECT incident_entities.entity_id, actions.due_at, actions.completed_at
	FROM actions
	JOIN incident_entities ON incident_entities.tenant_id = actions.tenant_id
		AND incident_entities.incident_id = actions.incident_id
	WHERE actions.tenant_id = $1
		AND incident_entities.tenant_id = $1
		AND incident_entities.entity_type = $2
		AND actions.due_at <= $3
		AND actions.status <> 'cancelled'
		AND (actions.completed_at IS NULL OR actions.completed_at > $4)`

const selectChecklistRunsSQL = `
	SELECT zone_id, {day}, COUNT(*) FILTER (WHERE on_time), COUNT(*)
	FROM checklist_runs
	WHERE tenant_id = $1
		AND deadline_at > $2
		AND deadline_at <= $3
		AND status <> 'cancelled'
		AND zone_id IS NOT NULL
	GROUP BY zone_id, {day}`

// queueLate asks for the open actions past due at the end of each period, and
// in zones for the inspections that were not done in time.
func queueLate(tx *db.Tx, tenant string, g *group, panel *score.Panel, s span) error {
	ends := make([]string, panelPeriods)
	for t := range ends {
		ends[t] = query.FormatTime(panel.Start.Add(time.Duration(t+1) * score.PanelDays * 24 * time.Hour))
	}
	tx.Queue(queueLateSQL, []any{tenant, g.kind, s.now, panel.Start}, func(r *db.Row) error {
		i := g.findPlace(r, 0)
		if i < 0 {
			return nil
		}
		due, done := r.Text(1), r.Text(2)
		for t, end := range ends {
			if due <= end && (done == "" || done > end) {
				panel.At(i, t).Overdue++
			}
		}
		return nil
	})
	if g.kind != score.Zone {
		return nil
	}
	type tally struct{ ok, due float32 }
	runs := map[[2]int]*tally{}
	today := localtime.DateOf(s.now, s.zone)
	day := tx.DB().LocalDay("deadline_at", localtime.Offsets(s.from, s.now, s.zone))
	text := db.FillWords(selectChecklistRunsSQL, "{day}", day)
	tx.Queue(text, []any{tenant, panel.Start, s.now}, func(r *db.Row) error {
		due, err := localtime.ParseDate(r.Text(1))
		if i := g.findPlace(r, 0); i >= 0 && err == nil {
			at := [2]int{i, max(panelPeriods-1-max(today.DaysSince(due), 0)/score.PanelDays, 0)}
			if runs[at] == nil {
				runs[at] = &tally{}
			}
			x := runs[at]
			x.ok, x.due = x.ok+float32(r.Int(2)), x.due+float32(r.Int(3))
			panel.At(at[0], at[1]).ChecklistGap = 1 - x.ok/x.due
		}
		return err
	})
	return nil
}

// scorePoisson scores the period ahead with the regression as it was trained,
// which the answer shows, and each entity's own history.
func scorePoisson(tx *db.Tx, sel selector, st *settings, m *model, g *group, now time.Time) (*scored, error) {
	var reg score.Regression
	if err := json.Unmarshal(m.Params, &reg); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "", "the regression of %s cannot be read", sel.kind)
	}
	panel, err := buildPanel(tx, sel, st, g, now)
	if err != nil {
		return nil, err
	}
	if len(g.list) == 0 {
		return &scored{group: g, model: m}, nil
	}
	if err := reg.Observe(panel); err != nil {
		return nil, err
	}
	hours := make([]float64, len(g.list))
	for i := range hours {
		hours[i] = g.list[i].in.ShiftHours
	}
	s := &scored{group: g, model: m}
	if s.est, err = reg.Score(panel, hours); err != nil {
		return nil, err
	}
	s.explain = func(i int) []score.Term { return reg.Explain(panel, i) }
	s.history = func(i int) (score.Exposure, []float64) { return reg.History(i), reg.Features(panel, i) }
	return s, nil
}
