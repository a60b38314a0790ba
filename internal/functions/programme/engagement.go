package programme

import (
	"context"
	"encoding/json"
	"sort"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/score"
)

// EngagementIn is empty: safety-engagement takes no parameters.
type EngagementIn struct{}

// Period is a calendar month of a tenant's time zone.
type Period struct {
	Name     string    // YYYY-MM
	From, To time.Time // [From, To)
	Start    string    // first and last day
	End      string
}

// PeriodOf returns the month that a moment lies in.
func PeriodOf(at time.Time, loc *time.Location) Period {
	y, m, _ := at.In(loc).Date()
	first := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	// The day begins where the one before it ends, also where midnight is missing.
	begin := safety.EndOfDay(first.AddDate(0, 0, -1), loc).Add(time.Microsecond)
	return Period{first.Format("2006-01"), begin, safety.EndOfDay(last, loc).Add(time.Microsecond), first.Format(time.DateOnly), last.Format(time.DateOnly)}
}

// UserScore is min(100, 100 x points / target), 0-100, one decimal; our own
// measure.
func UserScore(points, target int64) float64 {
	if target <= 0 {
		return 0
	}
	return min(100, score.Round(100*float64(points)/float64(target), 1))
}

// TeamScore is (sum of member scores + 3 x tenant mean) / (n + 3), one decimal:
// small teams are drawn to the mean, as by a credibility estimate (Buehlmann
// 1967, ASTIN 4:199-207) in which the mean weighs as three people.
func TeamScore(sum float64, n int, mean float64) float64 {
	return score.Round((sum+3*mean)/float64(n+3), 1)
}

// ZoneScore is 0.5 x (100 - mean predictive score) + 0.3 x checklist
// compliance + 0.2 x actions in time, 0-100, one decimal; the weights are our
// own. Without a predictive score the other two keep their proportion.
func ZoneScore(risk *float64, checklists, actions float64) float64 {
	if risk == nil {
		return score.Round((0.3*checklists+0.2*actions)/0.5, 1)
	}
	return score.Round(0.5*(100-*risk)+0.3*checklists+0.2*actions, 1)
}

type pointOut struct {
	ID         string `json:"id"`
	Kind       string `json:"kind"`
	Points     int64  `json:"points"`
	SourceType string `json:"source_type"`
	SourceID   string `json:"source_id"`
	OccurredAt string `json:"occurred_at"`
}

type badgeOut struct {
	ID          string `json:"id"`
	Code        string `json:"code"`
	Name        string `json:"name"`
	Description string `json:"description"`
	AwardedAt   string `json:"awarded_at"`
}

type userScoreOut struct {
	Score float64 `json:"score"`
	Start string  `json:"period_start"`
	End   string  `json:"period_end"`
}

type teamOut struct {
	TeamID string  `json:"team_id"`
	Code   string  `json:"code"`
	Name   string  `json:"name"`
	Score  float64 `json:"score"`
	N      int     `json:"n"`
	Start  string  `json:"period_start"`
	End    string  `json:"period_end"`
	sum    float64
}

type zoneOut struct {
	ZoneID string    `json:"zone_id"`
	Code   string    `json:"code"`
	Name   string    `json:"name"`
	Score  float64   `json:"score"`
	N      int64     `json:"n"`
	Parts  zoneParts `json:"parts"`
	Start  string    `json:"period_start"`
	End    string    `json:"period_end"`
	risk   float64
	runs   int64
	ok     int64
	due    int64
	acted  int64
	asked  int64
}

type zoneParts struct {
	Risk       *float64 `json:"predictive_score"`
	Checklists float64  `json:"checklist_compliance"`
	Actions    float64  `json:"actions_on_time"`
}

type engagementOut struct {
	Tenant    string       `json:"tenant_id"`
	User      *string      `json:"user_id"`
	Timestamp string       `json:"timestamp"`
	Score     userScoreOut `json:"user_score"`
	Total     int64        `json:"total_points"`
	Recent    []pointOut   `json:"recent_points"`
	Badges    []badgeOut   `json:"badges"`
	Teams     *[]*teamOut  `json:"team_scores,omitempty"`
	Zones     *[]*zoneOut  `json:"zone_scores,omitempty"`
}

// Engagement answers safety-engagement: the caller's points and badges, and to
// administrators the teams and zones of the current month.
func (p *Programme) Engagement(ctx context.Context, a actor.Actor, _ *EngagementIn) ([]byte, error) {
	now := p.now().UTC()
	out := engagementOut{Tenant: a.TenantID, Timestamp: query.FormatTime(now), Recent: []pointOut{}, Badges: []badgeOut{}}
	err := p.read(ctx, a, func(tx *db.Tx) error {
		st := queueSettings(tx, a.TenantID)
		if err := tx.Flush(); err != nil {
			return err
		}
		pd := PeriodOf(now, safety.Location(st.place))
		out.Score.Start, out.Score.End = pd.Start, pd.End
		var month int64
		if a.UserID != "" {
			out.User = &a.UserID
			out.queueOwn(tx, a, pd, &month)
		}
		if !a.Administrator() {
			err := tx.Flush()
			out.Score.Score = UserScore(month, st.points.MonthlyTarget)
			return err
		}
		teams, zones, err := scoreboards(tx, a.TenantID, st, pd, now)
		out.Teams, out.Zones = &teams, &zones
		out.Score.Score = UserScore(month, st.points.MonthlyTarget)
		return err
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// queueOwn asks for the caller's own points and badges.
func (o *engagementOut) queueOwn(tx *db.Tx, a actor.Actor, pd Period, month *int64) {
	args := []any{a.TenantID, a.UserID}
	tx.Queue("SELECT CAST(coalesce(SUM(points), 0) AS bigint), CAST(coalesce(SUM(points) FILTER (WHERE occurred_at >= $3 AND occurred_at < $4), 0) AS bigint) FROM point_events "+
		"WHERE tenant_id = $1 AND user_id = $2 AND reversed_at IS NULL", append(args, pd.From, pd.To), func(r *db.Row) error {
		o.Total, *month = r.Int(0), r.Int(1)
		return nil
	})
	tx.Queue("SELECT id, kind, points, source_type, source_id, occurred_at FROM point_events WHERE tenant_id = $1 AND user_id = $2 AND reversed_at IS NULL "+
		"ORDER BY occurred_at DESC, id DESC LIMIT 10", args, func(r *db.Row) error {
		o.Recent = append(o.Recent, pointOut{r.Text(0), r.Text(1), r.Int(2), r.Text(3), r.Text(4), r.Text(5)})
		return nil
	})
	tx.Queue("SELECT b.id, b.code, b.name, b.description, u.awarded_at FROM user_badges u JOIN badges b ON b.tenant_id = u.tenant_id AND b.id = u.badge_id "+
		"WHERE u.tenant_id = $1 AND u.user_id = $2 ORDER BY u.awarded_at DESC, lower(b.code)", args, func(r *db.Row) error {
		o.Badges = append(o.Badges, badgeOut{r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Text(4)})
		return nil
	})
}

// scoreboards works out the teams and zones of a month.
func scoreboards(tx *db.Tx, tenant string, st *settings, pd Period, now time.Time) ([]*teamOut, []*zoneOut, error) {
	points, people := map[string]int64{}, map[string]string{}
	var teams []*teamOut
	tx.Queue("SELECT user_id, CAST(SUM(points) AS bigint) FROM point_events WHERE tenant_id = $1 AND occurred_at >= $2 AND occurred_at < $3 AND reversed_at IS NULL GROUP BY user_id",
		[]any{tenant, pd.From, pd.To}, func(r *db.Row) error {
			points[r.Text(0)] = r.Int(1)
			return nil
		})
	tx.Queue("SELECT user_id, team_id FROM workers WHERE tenant_id = $1 AND user_id IS NOT NULL AND status <> 'left' AND archived_at IS NULL", []any{tenant}, func(r *db.Row) error {
		people[r.Text(0)] = r.Text(1)
		return nil
	})
	tx.Queue("SELECT id, code, name FROM teams WHERE tenant_id = $1 AND archived_at IS NULL", []any{tenant}, func(r *db.Row) error {
		teams = append(teams, &teamOut{TeamID: r.Text(0), Code: r.Text(1), Name: r.Text(2), Start: pd.Start, End: pd.End})
		return nil
	})
	zones := queueZones(tx, tenant, pd, now)
	if err := tx.Flush(); err != nil {
		return nil, nil, err
	}
	return rankTeams(teams, people, points, st.points.MonthlyTarget), rankZones(zones), nil
}

// rankTeams scores the teams that have somebody who signs in.
func rankTeams(teams []*teamOut, people map[string]string, points map[string]int64, target int64) []*teamOut {
	byID := map[string]*teamOut{}
	for _, t := range teams {
		byID[t.TeamID] = t
	}
	var sum float64
	for user, team := range people {
		s := UserScore(points[user], target)
		sum += s
		if t := byID[team]; t != nil {
			t.N++
			t.sum += s
		}
	}
	out := []*teamOut{}
	for _, t := range teams {
		if t.N > 0 {
			t.Score = TeamScore(t.sum, t.N, sum/float64(len(people)))
			out = append(out, t)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Score > out[j].Score || out[i].Score == out[j].Score && out[i].Code < out[j].Code
	})
	return out
}

// boardZones are the zones of the board: areas and docks, and any bin or aisle
// with a report in the month or the 30 days before it, which the month's
// predictive scores still count. $2 is the beginning of those.
const boardZones = "(z.kind IN ('area', 'dock', 'staging', 'quarantine') OR z.id IN (SELECT e.entity_id FROM incident_entities e " +
	"WHERE e.tenant_id = $1 AND e.entity_type = 'zone' AND e.at > $2 AND e.at <= $3))"

// queueZones asks what zone scores are made of.
func queueZones(tx *db.Tx, tenant string, pd Period, now time.Time) map[string]*zoneOut {
	zones := map[string]*zoneOut{}
	to := pd.To
	if now.Before(to) {
		to = now
	}
	args := []any{tenant, pd.From, to}
	board := []any{tenant, pd.From.AddDate(0, 0, -30), to, pd.From}
	tx.Queue("SELECT z.id, z.code, z.name FROM zones z WHERE z.tenant_id = $1 AND z.status <> 'archived' AND "+boardZones, board[:3], func(r *db.Row) error {
		zones[r.Text(0)] = &zoneOut{ZoneID: r.Text(0), Code: r.Text(1), Name: r.Text(2), Start: pd.Start, End: pd.End}
		return nil
	})
	at := func(f func(z *zoneOut, r *db.Row)) func(*db.Row) error {
		return func(r *db.Row) error {
			if z := zones[r.Text(0)]; z != nil {
				f(z, r)
			}
			return nil
		}
	}
	tx.Queue("SELECT s.entity_id, CAST(SUM(s.score) AS bigint), COUNT(*) FROM score_runs r JOIN predictive_scores s ON s.tenant_id = r.tenant_id AND s.run_id = r.id "+
		"JOIN zones z ON z.tenant_id = s.tenant_id AND z.id = s.entity_id AND "+boardZones+
		" WHERE r.tenant_id = $1 AND s.tenant_id = $1 AND z.tenant_id = $1 AND r.entity_type = 'zone' AND r.computed_at >= $4 AND r.computed_at <= $3 GROUP BY s.entity_id", board,
		at(func(z *zoneOut, r *db.Row) { z.risk, z.runs = r.Dec(1).Float(), r.Int(2) }))
	tx.Queue("SELECT zone_id, COUNT(*) FILTER (WHERE on_time), COUNT(*) FROM checklist_runs WHERE tenant_id = $1 AND due_at >= $2 AND due_at <= $3 AND status <> 'cancelled' "+
		"AND zone_id IS NOT NULL GROUP BY zone_id", args, at(func(z *zoneOut, r *db.Row) { z.ok, z.due = r.Int(1), r.Int(2) }))
	tx.Queue("SELECT i.zone_id, COUNT(*) FILTER (WHERE a.completed_at <= a.due_at), COUNT(*) FROM actions a JOIN incidents i ON i.tenant_id = a.tenant_id AND i.id = a.incident_id "+
		"WHERE a.tenant_id = $1 AND i.tenant_id = $1 AND a.due_at >= $2 AND a.due_at <= $3 AND a.status <> 'cancelled' AND i.zone_id IS NOT NULL GROUP BY i.zone_id", args,
		at(func(z *zoneOut, r *db.Row) { z.acted, z.asked = r.Int(1), r.Int(2) }))
	return zones
}

func rankZones(zones map[string]*zoneOut) []*zoneOut {
	out := []*zoneOut{}
	for _, z := range zones {
		z.Parts = zoneParts{Checklists: safety.Percent(z.ok, z.due).Float(), Actions: safety.Percent(z.acted, z.asked).Float()}
		if z.runs > 0 {
			mean := score.Round(z.risk/float64(z.runs), 1)
			z.Parts.Risk = &mean
		}
		z.N = z.runs + z.due + z.asked
		z.Score = ZoneScore(z.Parts.Risk, z.Parts.Checklists, z.Parts.Actions)
		out = append(out, z)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Score < out[j].Score || out[i].Score == out[j].Score && out[i].Code < out[j].Code
	})
	return out
}
