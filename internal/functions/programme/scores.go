package programme

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/functions/output"
	"holdfast/internal/query"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// ScoresIn asks for scores.
type ScoresIn struct {
	EntityType string `query:"entity_type" oneof:"zone driver worker equipment" doc:"Type of entity; all when absent."`
	EntityID   string `query:"entity_id" format:"uuid" doc:"One entity; all when absent. Not a person for managers, who may not know a person's score."`
	PeriodDays int64  `query:"period_days" default:"30" min:"1" max:"365" doc:"Length of the window that ends now, in days of 24 hours."`
	Run        string `query:"run" oneof:"official look" doc:"look is not kept; absent: official where it may be."`
}

// ScoresOut is the answer of calculate-predictive-safety-scores.
type ScoresOut struct {
	Success  bool                  `json:"success" doc:"true."`
	Tenant   string                `json:"tenant_id" format:"uuid" doc:"The tenant."`
	Official bool                  `json:"official" doc:"Whether it is kept, and clusters, rules and training go by it."`
	Computed int                   `json:"scores_computed" doc:"Entities that were scored."`
	Scores   output.Rows[ScoreOut] `json:"scores" doc:"The scores, highest first; for managers without single people."`
	Model    ModelsOut             `json:"model" doc:"The model that the scores come from."`
	Teams    *[]TeamMean           `json:"team_means,omitempty" doc:"For those who may not see single people: means of teams with enough of them."`
	// Suppressed is set where Teams is.
	Suppressed *int `json:"suppressed,omitempty" doc:"Teams left out of team_means, see min_group."`
}

// ScoreOut is an entity's score with what it can be recomputed from.
type ScoreOut struct {
	EntityType  string       `json:"entity_type" enum:"zone,driver,worker,equipment" doc:"Type of the entity."`
	Entity      uuid.UUID    `json:"entity_id" format:"uuid" doc:"The entity."`
	Score       float64      `json:"score" unit:"0 to 100" doc:"Its risk; higher is worse."`
	Confidence  float64      `json:"confidence" unit:"0 to 1" doc:"How much the score rests on."`
	ScoreLow    float64      `json:"score_low" unit:"0 to 100" doc:"The score at the lower 90 % limits of its parts."`
	ScoreHigh   float64      `json:"score_high" unit:"0 to 100" doc:"The score at the upper limits."`
	Inputs      score.Inputs `json:"inputs" doc:"What was counted in the period."`
	Cluster     string       `json:"cluster" enum:"Critical,High,Medium,Low,Unclear" doc:"Unclear: too little is known."`
	Model       string       `json:"model_kind" doc:"Kind of the model."`
	Rate        *float64     `json:"rate_per_200k,omitempty" unit:"incidents per 200,000 hours" doc:"Expected rate; of statistical models."`
	Low         *float64     `json:"interval_low,omitempty" unit:"incidents per 200,000 hours" doc:"Lower bound of the rate; of statistical models."`
	High        *float64     `json:"interval_high,omitempty" unit:"incidents per 200,000 hours" doc:"Upper bound of the rate; of statistical models."`
	Probability *float64     `json:"probability,omitempty" unit:"0 to 1" doc:"Of an incident in the period ahead; of statistical models."`
	History     *HistoryOut  `json:"history,omitempty" doc:"What a statistical score is made of beside the inputs."`
	Terms       []score.Term `json:"terms" doc:"What each input adds; the points add up to the score, whatever the model."`
}

// HistoryOut is what a statistical score is made of beside the inputs.
type HistoryOut struct {
	Events   *float64  `json:"events,omitempty" doc:"Incidents of the past, older ones counting less."`
	Units    *float64  `json:"units,omitempty" unit:"200,000 hours" doc:"Exposure of the past, older hours counting less."`
	Features []float64 `json:"features,omitempty" doc:"Features of the regression, in the order of its coefficients."`
}

// scored is the entities of one type with their scores.
type scored struct {
	*group
	model   *model
	why     string // why the weighted model speaks
	est     []score.Estimate
	explain func(i int) []score.Term
	// history is what a statistical score is made of, beside the inputs: decayed
	// events and exposure, and the regression's features; nil for the weighted.
	history func(i int) (score.Exposure, []float64)
	run     string
}

// officialDays is the period of official scores: the default of the request.
const officialDays = 30

// official reports whether a run counts for everybody: asked for by the nightly
// round or by a role that may see every score, over all entities of a type and
// the default period. Any other request is a look: it is answered and not kept,
// so that nobody moves an entity into another cluster by the period chosen.
func (in *ScoresIn) official(a actor.Actor) bool {
	return in.Run != lookRun && in.refuseOfficial(a) == nil
}

// Values of the parameter run.
const (
	officialRun = "official"
	lookRun     = "look"
)

// refuseOfficial returns why a request cannot be an official run, nil when it can.
func (in *ScoresIn) refuseOfficial(a actor.Actor) error {
	switch {
	case !seesPeople(a.Role):
		return fault.New(fault.Forbidden, "42501", "role %q may look at scores, not make them official", a.Role).
			At("run", "is not for role %s", a.Role)
	case in.EntityID != "":
		return fault.New(fault.Invalid, "", "official scores are of all entities of a type, not of one").
			At("entity_id", "must be absent for an official run")
	case in.PeriodDays != officialDays:
		return fault.New(fault.Invalid, "", "official scores are of %d days", officialDays).
			At("period_days", "must be %d for an official run", officialDays)
	}
	return nil
}

// Scores computes scores and answers calculate-predictive-safety-scores. An
// official run is kept for each type. Every score can be recomputed from the
// answer: inputs, weights and bounds are in it, and terms add up to the score.
func (p *Programme) Scores(ctx context.Context, a actor.Actor, in *ScoresIn) (*ScoresOut, error) {
	if in.Run == officialRun {
		if err := in.refuseOfficial(a); err != nil {
			return nil, err
		}
	}
	return inTurn(ctx, p, a, in.EntityID, func() (*ScoresOut, error) { return p.calculateScores(ctx, a, in) })
}

func (p *Programme) calculateScores(ctx context.Context, a actor.Actor, in *ScoresIn) (*ScoresOut, error) {
	now := p.now().UTC().Truncate(time.Microsecond)
	st, groups, err := p.computeScores(ctx, a, in, now)
	if err != nil {
		return nil, err
	}
	if in.official(a) {
		err = p.keepOfficial(ctx, a, st, groups, now)
	} else {
		err = describeWeighted(st, groups)
	}
	if err != nil {
		return nil, err
	}
	out := scoresOut(a, st, groups)
	out.Official = in.official(a)
	return out, nil
}

// keepOfficial writes the runs, their scores, and the record of the weighted
// model where the settings changed.
func (p *Programme) keepOfficial(ctx context.Context, a actor.Actor, st *settings, groups []*scored, now time.Time) error {
	return p.write(ctx, a, func(tx *db.Tx) error {
		lockTenant(tx, a.TenantID)
		if err := p.settleModel(tx, a, st, groups); err != nil {
			return err
		}
		if err := p.keepRuns(tx, a, groups, now); err != nil {
			return err
		}
		return keepScores(tx, a, st, groups, now)
	})
}

// computeScores reads on one snapshot and scores every group that is not switched
// off.
func (p *Programme) computeScores(ctx context.Context, a actor.Actor, in *ScoresIn, now time.Time) (*settings, []*scored, error) {
	var st *settings
	var list []*scored
	err := p.read(ctx, a, func(tx *db.Tx) error {
		st = queueSettings(tx, a.TenantID)
		models := queueModels(tx, a.TenantID)
		if err := tx.Flush(); err != nil { // where incidents count is a setting
			return err
		}
		var groups []*group
		for _, t := range entityTypes(in.EntityType) {
			groups = append(groups, queueGroup(tx, selector{tenant: a.TenantID, kind: t, id: in.EntityID, within: st.within}, in.PeriodDays, now))
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		st.repairSettings()
		if err := refuseAbsent(in.EntityType, in.EntityID, groups); err != nil {
			return err
		}
		if in.EntityID != "" && !seesPeople(a.Role) && slices.ContainsFunc(groups, func(g *group) bool { return isPersonal(g.kind) && len(g.list) > 0 }) {
			return fault.New(fault.Forbidden, "42501", "role %q may not score a single person", a.Role).At("entity_id", "is a person")
		}
		list = nil
		for _, g := range groups {
			g.computeWorkload(st, in.PeriodDays)
			if !st.isScored(g.kind) || in.EntityID != "" && len(g.list) == 0 {
				continue
			}
			s, err := scoreGroup(tx, selector{tenant: a.TenantID, kind: g.kind, id: in.EntityID, within: st.within}, st, models, g, now)
			if err != nil {
				return err
			}
			list = append(list, s)
		}
		return nil
	})
	return st, list, err
}

// scoreGroup scores one type with its active model. For a regression that
// cannot be used, as one kept by another version, the weighted model stands in.
// Where the weighted model speaks, why says what keeps the others from it.
func scoreGroup(tx *db.Tx, sel selector, st *settings, ms models, g *group, now time.Time) (*scored, error) {
	why := ms.whyWeighted(g.kind)
	switch m := ms.modelOf(g.kind); m.Kind {
	case kindBayes:
		return scoreBayes(tx, sel, st, m, g, now)
	case kindPoisson:
		s, err := scorePoisson(tx, sel, st, m, g, now)
		if !fault.Is(err, fault.Invalid) {
			return s, err
		}
		why = "the regression on record cannot be read"
	}
	s, err := scoreWeighted(st, ms.weightedModel(), g)
	if err == nil {
		s.why = why
	}
	return s, err
}

func scoreWeighted(st *settings, m *model, g *group) (*scored, error) {
	v1, err := score.NewWeighted(st.weights, st.bounds[g.kind])
	if err != nil {
		return nil, err
	}
	s := &scored{group: g, model: m, est: make([]score.Estimate, len(g.list))}
	for i := range g.list {
		r, err := v1.Score(g.list[i].in)
		if err != nil {
			return nil, err
		}
		s.est[i] = score.Estimate{Score: r.Score, Confidence: r.Confidence, ScoreLow: r.Low, ScoreHigh: r.High}
	}
	s.explain = func(i int) []score.Term {
		// The inputs were accepted above.
		r, _ := v1.Score(g.list[i].in)
		return r.Terms[:]
	}
	return s, nil
}

// keepRuns writes one run for each type.
func (p *Programme) keepRuns(tx *db.Tx, a actor.Actor, groups []*scored, now time.Time) error {
	var rows []store.Row
	for _, s := range groups {
		s.run = db.NewID()
		rows = append(rows, store.Row{"id": s.run, "entity_type": s.kind, "model_id": s.model.ID, "model_kind": s.model.Kind,
			"period_days": int64(officialDays), "scores_computed": int64(len(s.list)), "computed_at": query.FormatTime(now)})
	}
	_, err := p.insertRows(tx, a, "score_runs", rows)
	return err
}

var scoreColumns = []db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"}, {Name: "run_id", Type: "uuid"},
	{Name: "entity_type", Type: "text"},
	{Name: "entity_id", Type: "uuid"}, {Name: "score", Type: "bigint"}, {Name: "confidence", Type: "bigint"}, {Name: "inputs", Type: "text"},
	{Name: "cluster", Type: "text"},
	{Name: "model_kind", Type: "text"}, {Name: "rate_per_200k", Type: "bigint"}, {Name: "interval_low", Type: "bigint"}, {Name: "interval_high", Type: "bigint"},
	{Name: "probability", Type: "bigint"}, {Name: "user_id", Type: "uuid"}, {Name: "computed_at", Type: "timestamptz"}}

// keepScores writes the scores of each run in the order of the entities, in
// which the index of a run takes them in at its end.
func keepScores(tx *db.Tx, a actor.Actor, st *settings, groups []*scored, now time.Time) error {
	rows := tx.InsertMany("predictive_scores", scoreColumns, "")
	for _, s := range groups {
		order := make([]int32, len(s.list))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(i, j int32) int { return bytes.Compare(s.list[i].id[:], s.list[j].id[:]) })
		for _, i := range order {
			inputs, err := s.keptInputs(int(i))
			if err != nil {
				return err
			}
			s.appendRow(rows, a.TenantID, int(i), inputs, s.bandOf(st.cuts, int(i)), now)
			if err := rows.End(); err != nil {
				return err
			}
		}
	}
	rows.Queue()
	return nil
}

// appendRow sets the columns of the ith score, in the order of scoreColumns.
func (s *scored) appendRow(rows *db.Rows, tenant string, i int, inputs []byte, cluster string, now time.Time) {
	e, x := &s.est[i], &s.list[i]
	rows.Text(tenant)
	rows.UUID(newUUID())
	rows.Text(s.run)
	rows.Text(s.kind)
	rows.UUID(x.id)
	rows.Int(scaledDecimal(e.Score))
	rows.Int(scaledDecimal(e.Confidence))
	rows.Text(string(inputs))
	rows.Text(cluster)
	rows.Text(s.model.Kind)
	for _, v := range [...]float64{e.Rate, e.Low, e.High, e.Probability} {
		if s.model.Kind == kindWeighted {
			rows.Null()
		} else {
			rows.Int(scaledDecimal(v))
		}
	}
	if x.user == uuid.Nil {
		rows.Null()
	} else {
		rows.UUID(x.user)
	}
	rows.Time(now)
}

// historyOf is what the ith score is made of beside its inputs, nil for the
// weighted model.
func (s *scored) historyOf(i int) *HistoryOut {
	if s.history == nil {
		return nil
	}
	x, features := s.history(i)
	return &HistoryOut{&x.Events, &x.Units, features}
}

// keptInputs are the inputs as the record of a score keeps them.
type keptInputs struct {
	score.Inputs
	HistoryOut
}

func (s *scored) keptInputs(i int) ([]byte, error) {
	kept := keptInputs{Inputs: s.list[i].in}
	if h := s.historyOf(i); h != nil {
		kept.HistoryOut = *h
	}
	return output.Encode(&kept)
}

// scaledDecimal is a figure as a decimal column holds it; what exceeds it is capped.
func scaledDecimal(f float64) int64 { return int64(math.Round(min(f, 1e12) * decimal.Scale)) }

// bandOf names the cluster of the ith score.
func (s *scored) bandOf(c score.Cuts, i int) string {
	e := &s.est[i]
	return nameBand(c, score.Standing{Score: e.Score, Confidence: e.Confidence, IsRelative: s.model.Kind != kindWeighted,
		HasCritical: s.list[i].in.CriticalCount > 0})
}

// nameBand names the band of a published score; the settings' cuts are in order.
func nameBand(c score.Cuts, s score.Standing) string {
	band, err := c.BandOf(s)
	if err != nil {
		return score.Unclear.Name
	}
	return band.Name
}

// newUUID panics: a failing random source must not yield a guessable or repeated
// id.
func newUUID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// scoresOut is the interface's answer, worst first, with what explains each
// score. A manager sees the means of teams instead of single people.
func scoresOut(a actor.Actor, st *settings, groups []*scored) *ScoresOut {
	seen := seesPeople(a.Role)
	out := &ScoresOut{Success: true, Tenant: a.TenantID, Model: modelsOut(st, groups), Scores: func(yield func(*ScoreOut) bool) {
		var row scoreRow
		for _, x := range rankScores(groups) {
			s := groups[x.group]
			if isPersonal(s.kind) && !seen {
				continue
			}
			if row.fillScore(s, st, int(x.i)); !yield(&row.ScoreOut) {
				return
			}
		}
	}}
	for _, s := range groups {
		out.Computed += len(s.list)
	}
	if !seen {
		means, suppressed := teamMeans(st, groups)
		out.Teams, out.Suppressed = &means, &suppressed
	}
	return out
}

type place struct{ group, i int32 }

// rankScores lists every score, highest first, ties by id.
func rankScores(groups []*scored) []place {
	n := 0
	for _, s := range groups {
		n += len(s.list)
	}
	out := make([]place, 0, n)
	for g, s := range groups {
		for i := range s.list {
			out = append(out, place{int32(g), int32(i)})
		}
	}
	slices.SortFunc(out, func(p, q place) int {
		x, y := groups[p.group], groups[q.group]
		return cmp.Or(cmp.Compare(y.est[q.i].Score, x.est[p.i].Score), bytes.Compare(x.list[p.i].id[:], y.list[q.i].id[:]))
	})
	return out
}

// scoreRow is a score as the interface shows it, used for one after another.
type scoreRow struct {
	ScoreOut
	estimate score.Estimate
}

// fillScore fills in the ith score of a group.
func (row *scoreRow) fillScore(s *scored, st *settings, i int) {
	x, e := &s.list[i], s.est[i]
	row.estimate = e
	row.ScoreOut = ScoreOut{EntityType: s.kind, Entity: x.id, Score: e.Score, Confidence: e.Confidence,
		ScoreLow: e.ScoreLow, ScoreHigh: e.ScoreHigh, Inputs: x.in, Cluster: s.bandOf(st.cuts, i), Model: s.model.Kind,
		Terms: row.Terms[:0]}
	if s.model.Kind != kindWeighted {
		row.Rate, row.Low, row.High, row.Probability = &row.estimate.Rate, &row.estimate.Low, &row.estimate.High, &row.estimate.Probability
		if row.History = s.historyOf(i); row.History == nil {
			row.History = &HistoryOut{}
		}
	}
	for _, t := range s.explain(i) {
		row.Terms = append(row.Terms, score.Term{Name: t.Name, Value: score.Round(t.Value, 4), Weight: score.Round(t.Weight, 4), Points: score.Round(t.Points, 2)})
	}
}
