package programme

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// ScoresIn asks for scores.
type ScoresIn struct {
	EntityType string `query:"entity_type" oneof:"zone driver worker equipment" doc:"Type of entity; all when absent."`
	EntityID   string `query:"entity_id" format:"uuid" doc:"One entity; all when absent. Not a person for managers, who may not know a person's score."`
	PeriodDays int64  `query:"period_days" default:"30" min:"1" max:"365" doc:"Length of the window that ends now, in days of 24 hours."`
}

// scored is the entities of one type with their scores.
type scored struct {
	*group
	model   *model
	est     []score.Estimate
	explain func(i int) []score.Term
	// history is what a statistical score is made of, beside the inputs: decayed
	// events and exposure, and the regression's features; nil for the weighted.
	history func(i int) (score.Exposure, []float64)
	run     string
}

// Scores computes scores, keeps them as a run for each type, and answers
// calculate-predictive-safety-scores. Every score can be recomputed from the
// answer: inputs, weights and bounds are in it, and terms add up to the score.
func (p *Programme) Scores(ctx context.Context, a actor.Actor, in *ScoresIn) (io.WriterTo, error) {
	return inTurn(ctx, p, a, in.EntityID, func() (io.WriterTo, error) { return p.scores(ctx, a, in) })
}

func (p *Programme) scores(ctx context.Context, a actor.Actor, in *ScoresIn) (io.WriterTo, error) {
	now := p.now().UTC().Truncate(time.Microsecond)
	st, groups, err := p.compute(ctx, a, in, now)
	if err != nil {
		return nil, err
	}
	err = p.write(ctx, a, func(tx *db.Tx) error {
		lock(tx, a.TenantID)
		if err := p.settle(tx, a, st, groups); err != nil {
			return err
		}
		if err := p.keepRuns(tx, a, in, groups, now); err != nil {
			return err
		}
		return keepScores(tx, a, st, groups, now)
	})
	if err != nil {
		return nil, err
	}
	return answer(func(o *output) { writeScores(o, a, st, groups) }), nil
}

// compute reads on one snapshot and scores every group that is not switched
// off.
func (p *Programme) compute(ctx context.Context, a actor.Actor, in *ScoresIn, now time.Time) (*settings, []*scored, error) {
	var st *settings
	var list []*scored
	err := p.read(ctx, a, func(tx *db.Tx) error {
		st = queueSettings(tx, a.TenantID)
		models := queueModels(tx, a.TenantID)
		var groups []*group
		for _, t := range types(in.EntityType) {
			groups = append(groups, queueGroup(tx, selector{a.TenantID, t, in.EntityID}, in.PeriodDays, now))
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		st.usable()
		if err := absent(in.EntityType, in.EntityID, groups); err != nil {
			return err
		}
		if in.EntityID != "" && !sees(a.Role) && slices.ContainsFunc(groups, func(g *group) bool { return personal(g.kind) && len(g.list) > 0 }) {
			return fault.New(fault.Forbidden, "42501", "role %q may not score a single person", a.Role).At("entity_id", "is a person")
		}
		list = nil
		for _, g := range groups {
			g.finish(st, in.PeriodDays)
			if !st.scored(g.kind) || in.EntityID != "" && len(g.list) == 0 {
				continue
			}
			s, err := scoreGroup(tx, selector{a.TenantID, g.kind, in.EntityID}, st, models, g, now)
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
func scoreGroup(tx *db.Tx, sel selector, st *settings, ms models, g *group, now time.Time) (*scored, error) {
	switch m := ms.of(g.kind); m.Kind {
	case kindBayes:
		return scoreBayes(tx, sel, m, g, now)
	case kindPoisson:
		s, err := scorePoisson(tx, sel, st, m, g, now)
		if !fault.Is(err, fault.Invalid) {
			return s, err
		}
	}
	return scoreWeighted(st, ms.weighted(), g)
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
		s.est[i] = score.Estimate{Score: r.Score, Confidence: r.Confidence}
	}
	s.explain = func(i int) []score.Term {
		// The inputs were accepted above.
		r, _ := v1.Score(g.list[i].in)
		return r.Terms[:]
	}
	return s, nil
}

// keepRuns writes one run for each type.
func (p *Programme) keepRuns(tx *db.Tx, a actor.Actor, in *ScoresIn, groups []*scored, now time.Time) error {
	var rows []store.Row
	for _, s := range groups {
		s.run = newID()
		row := store.Row{"id": s.run, "entity_type": s.kind, "model_id": s.model.ID, "model_kind": s.model.Kind, "period_days": in.PeriodDays,
			"scores_computed": int64(len(s.list)), "computed_at": query.FormatTime(now)}
		if in.EntityID != "" {
			row["entity_id"] = in.EntityID
		}
		rows = append(rows, row)
	}
	_, err := p.insert(tx, a, "score_runs", rows)
	return err
}

var scoreColumns = []db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"}, {Name: "run_id", Type: "uuid"}, {Name: "entity_type", Type: "text"},
	{Name: "entity_id", Type: "uuid"}, {Name: "score", Type: "bigint"}, {Name: "confidence", Type: "bigint"}, {Name: "inputs", Type: "text"}, {Name: "cluster", Type: "text"},
	{Name: "model_kind", Type: "text"}, {Name: "rate_per_200k", Type: "bigint"}, {Name: "interval_low", Type: "bigint"}, {Name: "interval_high", Type: "bigint"},
	{Name: "probability", Type: "bigint"}, {Name: "user_id", Type: "uuid"}, {Name: "computed_at", Type: "timestamptz"}}

// keepScores writes the scores of each run in the order of the entities, in
// which the index of a run takes them in at its end.
func keepScores(tx *db.Tx, a actor.Actor, st *settings, groups []*scored, now time.Time) error {
	rows := tx.Rows("predictive_scores", scoreColumns, "")
	var inputs []byte
	for _, s := range groups {
		order := make([]int32, len(s.list))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(i, j int32) int { return bytes.Compare(s.list[i].id[:], s.list[j].id[:]) })
		for _, i := range order {
			inputs = s.appendHistory(inputsJSON(inputs[:0], &s.list[i].in), int(i))
			s.appendRow(rows, a.TenantID, int(i), inputs, band(st.cuts, s.est[i].Score), now)
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
	rows.Int(scaled(e.Score))
	rows.Int(scaled(e.Confidence))
	rows.Text(string(inputs))
	rows.Text(cluster)
	rows.Text(s.model.Kind)
	for _, v := range [...]float64{e.Rate, e.Low, e.High, e.Probability} {
		if s.model.Kind == kindWeighted {
			rows.Null()
		} else {
			rows.Int(scaled(v))
		}
	}
	if x.user == uuid.Nil {
		rows.Null()
	} else {
		rows.UUID(x.user)
	}
	rows.Time(now)
}

// appendHistory adds to the object that b ends with what a statistical score is
// recomputed from.
func (s *scored) appendHistory(b []byte, i int) []byte {
	if s.history == nil {
		return b
	}
	x, features := s.history(i)
	if b = b[:len(b)-1]; b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = appendFloat(append(b, `"events":`...), x.Events)
	b = appendFloat(append(b, `,"units":`...), x.Units)
	if features != nil {
		b = append(b, `,"features":[`...)
		for k, f := range features {
			if k > 0 {
				b = append(b, ',')
			}
			b = appendFloat(b, f)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// scaled is a figure as a decimal column holds it; what exceeds it is capped.
func scaled(f float64) int64 { return int64(math.Round(min(f, 1e12) * decimal.Scale)) }

// band names the cluster of a published score: half-open bands.
func band(c score.Cuts, s float64) string {
	switch {
	case s >= c.Critical:
		return "Critical"
	case s >= c.High:
		return "High"
	case s >= c.Medium:
		return "Medium"
	}
	return "Low"
}

func newID() string { return newUUID().String() }

// newUUID panics: a failing random source must not yield a guessable or repeated
// id.
func newUUID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// writeScores writes the interface's answer, worst first, with what explains
// each score. A manager sees the means of teams instead of single people.
func writeScores(o *output, a actor.Actor, st *settings, groups []*scored) {
	n := 0
	for _, s := range groups {
		n += len(s.list)
	}
	o.buf = append(append(o.buf, `{"success":true,"tenant_id":"`...), a.TenantID...)
	o.buf = append(strconv.AppendInt(append(o.buf, `","scores_computed":`...), int64(n), 10), `,"scores":[`...)
	first := true
	for _, x := range ranked(groups) {
		s := groups[x.group]
		if personal(s.kind) && !sees(a.Role) {
			continue
		}
		if !first {
			o.buf = append(o.buf, ',')
		}
		first = false
		o.buf = s.appendScore(o.buf, st, int(x.i))
		if !o.flush() {
			return
		}
	}
	o.buf = append(append(o.buf, `],"model":`...), modelJSON(st, groups)...)
	if !sees(a.Role) {
		o.buf = append(append(o.buf, `,"team_means":`...), teamMeans(st, groups)...)
	}
	o.buf = append(o.buf, '}')
}

type place struct{ group, i int32 }

// ranked lists every score, highest first, ties by id.
func ranked(groups []*scored) []place {
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

func (s *scored) appendScore(b []byte, st *settings, i int) []byte {
	x, e := &s.list[i], &s.est[i]
	b = append(append(b, `{"entity_type":"`...), s.kind...)
	b = db.AppendUUID(append(b, `","entity_id":"`...), x.id)
	b = appendFloat(append(b, `","score":`...), e.Score)
	b = appendFloat(append(b, `,"confidence":`...), e.Confidence)
	b = inputsJSON(append(b, `,"inputs":`...), &x.in)
	b = append(append(append(b, `,"cluster":"`...), band(st.cuts, e.Score)...), '"')
	b = append(append(append(b, `,"model_kind":"`...), s.model.Kind...), '"')
	if s.model.Kind != kindWeighted {
		b = appendFloat(append(b, `,"rate_per_200k":`...), e.Rate)
		b = appendFloat(append(b, `,"interval_low":`...), e.Low)
		b = appendFloat(append(b, `,"interval_high":`...), e.High)
		b = appendFloat(append(b, `,"probability":`...), e.Probability)
		b = s.appendHistory(append(b, `,"history":{}`...), i)
	}
	b = append(b, `,"terms":[`...)
	for k, t := range s.explain(i) {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(append(b, `{"name":"`...), t.Name...)
		b = appendFloat(append(b, `","value":`...), score.Round(t.Value, 4))
		b = appendFloat(append(b, `,"weight":`...), score.Round(t.Weight, 4))
		b = append(appendFloat(append(b, `,"points":`...), score.Round(t.Points, 2)), '}')
	}
	return append(b, "]}"...)
}

// teamMeans are the mean scores of people by team, for teams with enough of
// them that no single score can be told from the mean.
func teamMeans(st *settings, groups []*scored) []byte {
	type sum struct {
		n     int64
		total float64
	}
	type mean struct {
		EntityType string  `json:"entity_type"`
		TeamID     string  `json:"team_id"`
		N          int64   `json:"n"`
		Score      float64 `json:"score"`
	}
	out := []mean{}
	for _, s := range groups {
		if !personal(s.kind) {
			continue
		}
		teams := map[uuid.UUID]*sum{}
		for i := range s.list {
			if t := s.list[i].team; t != uuid.Nil {
				if teams[t] == nil {
					teams[t] = &sum{}
				}
				teams[t].n++
				teams[t].total += s.est[i].Score
			}
		}
		for id, t := range teams {
			if t.n >= st.minGroup {
				out = append(out, mean{s.kind, id.String(), t.n, score.Round(t.total/float64(t.n), 1)})
			}
		}
	}
	slices.SortFunc(out, func(x, y mean) int {
		if x.Score != y.Score {
			return int(math.Copysign(1, y.Score-x.Score))
		}
		return slices.Compare([]byte(x.TeamID), []byte(y.TeamID))
	})
	// Plain structs of this function always marshal.
	b, _ := json.Marshal(out)
	return b
}
