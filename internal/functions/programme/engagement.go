package programme

import (
	"context"
	"slices"
	"sort"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/localtime"
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
	first, last := localtime.Month(at, loc)
	return Period{first.String()[:7], first.Start(loc), last.AddDays(1).Start(loc), first.String(), last.String()}
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

// PointOut is a deed that brought points.
type PointOut struct {
	ID         string `json:"id" format:"uuid" doc:"The record of the points."`
	Kind       string `json:"kind" doc:"What they are for."`
	Points     int64  `json:"points" doc:"How many."`
	SourceType string `json:"source_type" doc:"Kind of record that they are for."`
	SourceID   string `json:"source_id" format:"uuid" doc:"That record."`
	OccurredAt string `json:"occurred_at" format:"date-time" doc:"When."`
}

// BadgeOut is a badge that was awarded.
type BadgeOut struct {
	ID          string `json:"id" format:"uuid" doc:"The badge."`
	Code        string `json:"code" doc:"Its code."`
	Name        string `json:"name" doc:"Its name."`
	Description string `json:"description" doc:"What it is for."`
	AwardedAt   string `json:"awarded_at" format:"date-time" doc:"When it was awarded."`
}

// UserScoreOut is a person's engagement in a month.
type UserScoreOut struct {
	Score float64 `json:"score" unit:"0 to 100" doc:"Points of the month in per cent of the target, at most 100."`
	Start string  `json:"period_start" format:"date" doc:"First day of the month."`
	End   string  `json:"period_end" format:"date" doc:"Last day of the month."`
}

// TeamOut is a team's engagement in a month.
type TeamOut struct {
	TeamID string  `json:"team_id" format:"uuid" doc:"The team."`
	Code   string  `json:"code" doc:"Its code."`
	Name   string  `json:"name" doc:"Its name."`
	Score  float64 `json:"score" unit:"0 to 100" doc:"Mean of its members, drawn to the tenant's mean where they are few."`
	N      int     `json:"n" doc:"Members who sign in."`
	Start  string  `json:"period_start" format:"date" doc:"First day of the month."`
	End    string  `json:"period_end" format:"date" doc:"Last day of the month."`
	sum    float64
}

// ZoneOut is how safe a zone is kept in a month.
type ZoneOut struct {
	ZoneID string    `json:"zone_id" format:"uuid" doc:"The zone."`
	Code   string    `json:"code" doc:"Its code."`
	Name   string    `json:"name" doc:"Its name."`
	Score  float64   `json:"score" unit:"0 to 100" doc:"Predictive score, inspections and actions together; higher is better."`
	N      int64     `json:"n" doc:"Figures that it rests on."`
	Parts  ZoneParts `json:"parts" doc:"What it is made of."`
	Start  string    `json:"period_start" format:"date" doc:"First day of the month."`
	End    string    `json:"period_end" format:"date" doc:"Last day of the month."`
	risk   float64
	runs   int64
	ok     int64
	due    int64
	acted  int64
	asked  int64
}

// ZoneParts are what a zone's score is made of.
type ZoneParts struct {
	Risk       *float64 `json:"predictive_score" unit:"0 to 100" doc:"Mean predictive score of the month; null without one."`
	Checklists float64  `json:"checklist_compliance" unit:"percent" doc:"Inspections completed in time."`
	Actions    float64  `json:"actions_on_time" unit:"percent" doc:"Actions completed in time."`
}

// EngagementOut is the answer of safety-engagement.
type EngagementOut struct {
	Tenant    string       `json:"tenant_id" format:"uuid" doc:"The tenant."`
	User      *string      `json:"user_id" format:"uuid" doc:"Whom the points are of; null for a service key."`
	Timestamp string       `json:"timestamp" format:"date-time" doc:"When the answer was made."`
	Score     UserScoreOut `json:"user_score" doc:"The caller's month."`
	Total     int64        `json:"total_points" doc:"The caller's points of all time."`
	Recent    []PointOut   `json:"recent_points" doc:"The caller's last ten."`
	Badges    []BadgeOut   `json:"badges" doc:"The caller's badges, newest first."`
	Teams     *[]*TeamOut  `json:"team_scores,omitempty" doc:"Teams, best first; for administrators."`
	Zones     *[]*ZoneOut  `json:"zone_scores,omitempty" doc:"Zones, worst first; for administrators."`
	// Suppressed is set where Teams is.
	Suppressed *int `json:"suppressed,omitempty" doc:"Teams left out of team_scores, see min_group."`
}

// Engagement answers safety-engagement: the caller's points and badges, and to
// administrators the teams and zones of the current month.
func (p *Programme) Engagement(ctx context.Context, a actor.Actor, _ *EngagementIn) (*EngagementOut, error) {
	now := p.now().UTC()
	out := &EngagementOut{Tenant: a.TenantID, Timestamp: query.FormatTime(now), Recent: []PointOut{}, Badges: []BadgeOut{}}
	err := p.read(ctx, a, func(tx *db.Tx) error {
		st := queueSettings(tx, a.TenantID)
		if err := tx.Flush(); err != nil {
			return err
		}
		pd := PeriodOf(now, localtime.Zone(st.place))
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
		b, err := computeScoreboards(tx, a.TenantID, st, pd, now)
		out.Teams, out.Zones, out.Suppressed = &b.teams, &b.zones, &b.suppressed
		out.Score.Score = UserScore(month, st.points.MonthlyTarget)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

const queueOwnSQL = `
	SELECT CAST(coalesce(SUM(points), 0) AS bigint), CAST(coalesce(SUM(points) FILTER (WHERE occurred_at >= $3
		AND occurred_at < $4), 0) AS bigint)
	FROM point_events
	WHERE tenant_id = $1 AND user_id = $2 AND reversed_at IS NULL`

const selectPointEventsSQL = `
	SELECT id, kind, points, source_type, source_id, occurred_at
	FROM point_events
	WHERE tenant_id = $1 AND user_id = $2 AND reversed_at IS NULL
	ORDER BY occurred_at DESC, id DESC
	LIMIT 10`

const selectUserBadgesSQL = `
	SELECT badges.id, badges.code, badges.name, badges.description, user_badges.awarded_at
	FROM user_badges
	JOIN badges ON badges.tenant_id = user_badges.tenant_id AND badges.id = user_badges.badge_id
	WHERE user_badges.tenant_id = $1 AND user_badges.user_id = $2
	ORDER BY user_badges.awarded_at DESC, lower(badges.code)`

// queueOwn asks for the caller's own points and badges.
func (o *EngagementOut) queueOwn(tx *db.Tx, a actor.Actor, pd Period, month *int64) {
	args := []any{a.TenantID, a.UserID}
	tx.Queue(queueOwnSQL, append(args, pd.From, pd.To), func(r *db.Row) error {
		o.Total, *month = r.Int(0), r.Int(1)
		return nil
	})
	tx.Queue(selectPointEventsSQL, args, func(r *db.Row) error {
		o.Recent = append(o.Recent, PointOut{r.Text(0), r.Text(1), r.Int(2), r.Text(3), r.Text(4), r.Text(5)})
		return nil
	})
	tx.Queue(selectUserBadgesSQL, args, func(r *db.Row) error {
		o.Badges = append(o.Badges, BadgeOut{r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Text(4)})
		return nil
	})
}

const computeScoreboardsSQL = `
	SELECT user_id, CAST(SUM(points) AS bigint)
	FROM point_events
	WHERE tenant_id = $1 AND occurred_at >= $2 AND occurred_at < $3 AND reversed_at IS NULL
	GROUP BY user_id`

const selectWorkersToComputeScoreboardsSQL = `
	SELECT user_id, team_id
	FROM workers
	WHERE tenant_id = $1 AND user_id IS NOT NULL AND status <> 'left' AND archived_at IS NULL`

// boards are the teams and zones of a month.
type boards struct {
	teams      []*TeamOut // best first
	zones      []*ZoneOut // worst first
	suppressed int        // teams left out, see [mingroup.Least.Choose]
}

// computeScoreboards works out the teams and zones of a month.
func computeScoreboards(tx *db.Tx, tenant string, st *settings, pd Period, now time.Time) (*boards, error) {
	points, people := map[string]int64{}, map[string]string{}
	var teams []*TeamOut
	tx.Queue(computeScoreboardsSQL, []any{tenant, pd.From, pd.To}, func(r *db.Row) error {
		points[r.Text(0)] = r.Int(1)
		return nil
	})
	tx.Queue(selectWorkersToComputeScoreboardsSQL, []any{tenant},
		func(r *db.Row) error {
			people[r.Text(0)] = r.Text(1)
			return nil
		})
	tx.Queue(`
		SELECT id, code, name
		FROM teams
		WHERE tenant_id = $1
			AND archived_at IS NULL`, []any{tenant}, func(r *db.Row) error {
		teams = append(teams, &TeamOut{TeamID: r.Text(0), Code: r.Text(1), Name: r.Text(2), Start: pd.Start, End: pd.End})
		return nil
	})
	zones := queueZones(tx, tenant, pd, now)
	if err := tx.Flush(); err != nil {
		return nil, err
	}
	b := &boards{zones: rankZones(zones)}
	b.rankTeams(st, teams, people, points)
	return b, nil
}

// rankTeams scores the teams that have somebody who signs in, and keeps those
// that are large enough. People of no team, or of an archived one, are in the mean
// that small teams are drawn to.
func (b *boards) rankTeams(st *settings, teams []*TeamOut, people map[string]string, points map[string]int64) {
	byID := map[string]*TeamOut{}
	for _, t := range teams {
		byID[t.TeamID] = t
	}
	var sum float64
	var others int64
	for user, team := range people {
		s := UserScore(points[user], st.points.MonthlyTarget)
		sum += s
		if t := byID[team]; t != nil {
			t.N++
			t.sum += s
		} else {
			others++
		}
	}
	teams = slices.DeleteFunc(teams, func(t *TeamOut) bool { return t.N == 0 })
	sort.Slice(teams, func(i, j int) bool { return teams[i].Code < teams[j].Code })
	sizes := make([]int64, len(teams))
	for i, t := range teams {
		sizes[i] = int64(t.N)
	}

	var shown []bool
	shown, b.suppressed = st.minGroup.Choose(sizes, others)
	b.teams = []*TeamOut{}
	for i, t := range teams {
		if shown[i] {
			t.Score = TeamScore(t.sum, t.N, sum/float64(len(people)))
			b.teams = append(b.teams, t)
		}
	}
	sort.SliceStable(b.teams, func(i, j int) bool { return b.teams[i].Score > b.teams[j].Score })
}

// boardZones are the zones of the board: areas and docks, and any bin or aisle
// with a report in the month or the 30 days before it, which the month's
// predictive scores still count. $2 is the beginning of those.
const boardZones = "(z.kind IN ('area', 'dock', 'staging', 'quarantine') OR z.id IN (SELECT e.entity_id FROM incident_entities e " +
	"WHERE e.tenant_id = $1 AND e.entity_type = 'zone' AND e.at > $2 AND e.at <= $3))"

const queueZonesSQL = `
	SELECT zone_id, COUNT(*) FILTER (WHERE on_time), COUNT(*)
	FROM checklist_runs
	WHERE tenant_id = $1
		AND deadline_at >= $2
		AND deadline_at <= $3
		AND status <> 'cancelled'
		AND zone_id IS NOT NULL
	GROUP BY zone_id`

const selectActionsToQueueZonesSQL = `
	SELECT incidents.zone_id, COUNT(*) FILTER (WHERE actions.completed_at <= actions.due_at),
		COUNT(*)
	FROM actions
	JOIN incidents ON incidents.tenant_id = actions.tenant_id AND incidents.id = actions.incident_id
	WHERE actions.tenant_id = $1
		AND incidents.tenant_id = $1
		AND actions.due_at >= $2
		AND actions.due_at <= $3
		AND actions.status <> 'cancelled'
		AND incidents.zone_id IS NOT NULL
	GROUP BY incidents.zone_id`

// queueZones asks what zone scores are made of.
func queueZones(tx *db.Tx, tenant string, pd Period, now time.Time) map[string]*ZoneOut {
	zones := map[string]*ZoneOut{}
	to := pd.To
	if now.Before(to) {
		to = now
	}
	args := []any{tenant, pd.From, to}
	board := []any{tenant, pd.From.AddDate(0, 0, -30), to, pd.From}
	tx.Queue(db.FillWords(`
		SELECT z.id, z.code, z.name
		FROM zones z
		WHERE z.tenant_id = $1
			AND z.status <> 'archived'
			AND {board zones}`, "{board zones}", boardZones), board[:3], func(r *db.Row) error {
		zones[r.Text(0)] = &ZoneOut{ZoneID: r.Text(0), Code: r.Text(1), Name: r.Text(2), Start: pd.Start, End: pd.End}
		return nil
	})
	at := func(f func(z *ZoneOut, r *db.Row)) func(*db.Row) error {
		return func(r *db.Row) error {
			if z := zones[r.Text(0)]; z != nil {
				f(z, r)
			}
			return nil
		}
	}
	tx.Queue(db.FillWords(`
		SELECT s.entity_id, CAST(SUM(s.score) AS bigint), COUNT(*)
		FROM score_runs r
		JOIN predictive_scores s ON s.tenant_id = r.tenant_id AND s.run_id = r.id
		JOIN zones z ON z.tenant_id = s.tenant_id AND z.id = s.entity_id AND {board zones}
		WHERE r.tenant_id = $1
			AND s.tenant_id = $1
			AND z.tenant_id = $1
			AND r.entity_type = 'zone'
			AND r.computed_at >= $4
			AND r.computed_at <= $3
		GROUP BY s.entity_id`, "{board zones}", boardZones), board,
		at(func(z *ZoneOut, r *db.Row) { z.risk, z.runs = r.Dec(1).Float(), r.Int(2) }))
	tx.Queue(queueZonesSQL, args, at(func(z *ZoneOut, r *db.Row) { z.ok, z.due = r.Int(1), r.Int(2) }))
	tx.Queue(selectActionsToQueueZonesSQL, args,
		at(func(z *ZoneOut, r *db.Row) { z.acted, z.asked = r.Int(1), r.Int(2) }))
	return zones
}

func rankZones(zones map[string]*ZoneOut) []*ZoneOut {
	out := []*ZoneOut{}
	for _, z := range zones {
		z.Parts = ZoneParts{Checklists: safety.Percent(z.ok, z.due).Float(), Actions: safety.Percent(z.acted, z.asked).Float()}
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
