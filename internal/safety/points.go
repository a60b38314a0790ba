package safety

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Points are what is given for what, each changed by the tenant's setting of
// the same name. Nothing rewards the absence of injuries:
// 29 CFR 1904.35(b)(1)(iv) and OSHA's memorandum of 11 October 2018.
type Points struct {
	NearMiss      int64 // accepted at triage
	Hazard        int64
	InjuryPrompt  int64 // injury or illness reported within 24 hours
	InjuryLate    int64
	ActionOnTime  int64
	ActionLate    int64
	Verified      int64
	Checklist     int64 // completed in time
	Course        int64
	Talk          int64 // attended and signed for
	Suggestion    int64 // by a picker or driver, implemented and verified
	DailyCap      int64 // most points of one person on one local day
	MonthlyTarget int64 // points of a calendar month that make 100
}

// DefaultPoints are the points shipped.
func DefaultPoints() Points { return Points{10, 8, 8, 5, 10, 3, 5, 5, 20, 5, 15, 40, 100} }

// Set takes a tenant's setting; others and values that are no whole number of
// 0..10,000 are passed over. It reports whether the key is one of points.
func (p *Points) Set(key, value string) bool {
	into := map[string]*int64{
		"points_near_miss": &p.NearMiss, "points_hazard": &p.Hazard, "points_injury_prompt": &p.InjuryPrompt, "points_injury_late": &p.InjuryLate,
		"points_action_on_time": &p.ActionOnTime, "points_action_late": &p.ActionLate, "points_action_verified": &p.Verified,
		"points_checklist": &p.Checklist, "points_course": &p.Course, "points_talk": &p.Talk, "points_suggestion": &p.Suggestion,
		"daily_cap": &p.DailyCap, "monthly_target": &p.MonthlyTarget,
	}[key]
	if into == nil {
		return false
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 && n <= 10_000 && (n > 0 || key != "monthly_target") {
		*into = n
	}
	return true
}

// award is points that somebody has earned.
type award struct {
	user, kind, source, id string
	points                 func(Points) int64
}

// creditIncidents gives points for reports when they are accepted, and takes
// them back when a report turns out to be void. Anonymous reports name nobody.
func creditIncidents(tx *store.Tx, changes []store.Change) error {
	var list []award
	var void []string
	for _, c := range record.Changes[record.Incident](changes) {
		in := c.After
		switch {
		case Becomes(c.Change, "void"):
			void = append(void, in.ID())
		case c.Op == store.Update && c.Before.Status() == "reported" && in.Status() != "reported":
			if kind, points := reportPoints(in); kind != "" {
				list = append(list, award{in.ReportedBy(), kind, "incidents", in.ID(), points})
			}
		}
	}
	if err := reversePoints(tx, void); err != nil {
		return err
	}
	return grantPoints(tx, list)
}

func reportPoints(in record.Incident) (kind string, points func(Points) int64) {
	switch in.Kind() {
	case "near_miss":
		return "near_miss", func(p Points) int64 { return p.NearMiss }
	case "hazard":
		return "hazard", func(p Points) int64 { return p.Hazard }
	case "injury", "illness":
		if isReportedWithin(in, 24*time.Hour) {
			return "injury_report", func(p Points) int64 { return p.InjuryPrompt }
		}
		return "injury_report", func(p Points) int64 { return p.InjuryLate }
	}
	return "", nil
}

// isReportedWithin reports an incident told within a time of its happening.
func isReportedWithin(in record.Incident, d time.Duration) bool {
	at, err1 := time.Parse(db.TimeLayout, in.OccurredAt())
	told, err2 := time.Parse(db.TimeLayout, in.ReportedAt())
	return err1 == nil && err2 == nil && told.Sub(at) <= d
}

// creditActions gives points at verification: to the person who did the work,
// more when it was in time, to the one who checked it, and to the one whose
// suggestion it was.
func creditActions(tx *store.Tx, changes []store.Change) error {
	var list []award
	for _, c := range record.Changes[record.Action](changes) {
		if !Becomes(c.Change, "verified") {
			continue
		}
		ac := c.After
		done := award{ac.AssigneeUserID(), "action_done", "actions", ac.ID(),
			func(p Points) int64 { return p.ActionLate }}
		if due := ac.DueAt(); due == "" || ac.CompletedAt() <= due {
			done.points = func(p Points) int64 { return p.ActionOnTime }
		}
		list = append(list, done, award{ac.VerifierUserID(), "action_verified", "actions", ac.ID(),
			func(p Points) int64 { return p.Verified }},
			award{ac.SuggestedBy(), "suggestion", "actions", ac.ID(), func(p Points) int64 { return p.Suggestion }})
	}
	return grantPoints(tx, list)
}

// creditRuns gives points for an inspection, not late, that was asked for: by a
// schedule, or by somebody other than the one who did it.
func creditRuns(tx *store.Tx, changes []store.Change) error {
	var list []award
	for _, c := range record.Changes[record.ChecklistRun](changes) {
		asked := c.After.HasScheduleID() || c.After.CreatedByOrNull() != c.After.CompletedByOrNull()
		if Becomes(c.Change, "completed") && c.After.OnTimeOrNull() != false && asked {
			list = append(list, award{c.After.CompletedBy(), "checklist", "checklist_runs", c.After.ID(),
				func(p Points) int64 { return p.Checklist }})
		}
	}
	return grantPoints(tx, list)
}

func creditTraining(tx *store.Tx, changes []store.Change) error {
	var list []award
	for _, c := range record.Changes[record.TrainingAssignment](changes) {
		if Becomes(c.Change, "completed") {
			list = append(list, award{c.After.UserID(), "course", "training_assignments", c.After.ID(),
				func(p Points) int64 { return p.Course }})
		}
	}
	return grantPoints(tx, list)
}

// purse is what is known before points are given.
type purse struct {
	points Points
	zone   string
	given  map[string]bool  // kind, source and user that have their points
	today  map[string]int64 // points of the local day by user
}

// grantPoints writes point events: one per kind, source and person, and at most the
// daily cap for one person.
func grantPoints(tx *store.Tx, list []award) error {
	var earned []award
	var users, sources []string
	for _, w := range list {
		if w.user != "" {
			earned = append(earned, w)
			users, sources = append(users, w.user), append(sources, w.id)
		}
	}
	r, ok := tx.Store.Catalog().Get("point_events")
	if len(earned) == 0 || !ok {
		return nil
	}
	p, err := openPurse(tx.Tx, tx.TenantID, users, sources, tx.Now())
	if err != nil {
		return err
	}
	rows := p.makePointEvents(earned, query.FormatTime(tx.Now()))
	if len(rows) == 0 {
		return nil
	}
	if _, err = tx.InsertRows(r.Name, rows); err != nil {
		return err
	}
	return AwardBadges(tx, users)
}

// makePointEvents makes the point events of awards: one per kind, source and person, the
// last of a day cut to what its cap leaves.
func (p *purse) makePointEvents(list []award, at string) []store.Row {
	var rows []store.Row
	for _, w := range list {
		n := min(w.points(p.points), p.points.DailyCap-p.today[w.user])
		if key := w.kind + w.id + w.user; n > 0 && !p.given[key] {
			p.given[key] = true
			p.today[w.user] += n
			rows = append(rows, store.Row{"user_id": w.user, "kind": w.kind, "points": n, "source_type": w.source, "source_id": w.id, "occurred_at": at})
		}
	}
	return rows
}

// lockPeople keeps others who would give these people something waiting until the
// transaction ends. SQLite has one writer.
func lockPeople(tx *db.Tx, table, column, tenant string, ids []string) {
	if lock := tx.DB().ForUpdate(); lock != "" {
		tx.Queue(db.FillWords(`
			SELECT id
			FROM {table}
			WHERE tenant_id = $1
				AND {column} IN {ids $2}
			ORDER BY id {lock}`,
			"{table}", table, "{column}", column, "{lock}", lock), []any{tenant, query.List(ids)}, nil)
	}
}

const openPurseSQL = `
	SELECT kind, source_id, user_id
	FROM point_events
	WHERE tenant_id = $1 AND source_id IN {ids $2}`

const selectPointEventsSQL = `
	SELECT user_id, CAST(SUM(points) AS bigint)
	FROM point_events
	WHERE tenant_id = $1
		AND user_id IN {ids $2}
		AND occurred_at >= $3
		AND occurred_at < $4
		AND reversed_at IS NULL
	GROUP BY user_id`

func openPurse(tx *db.Tx, tenant string, users, sources []string, now time.Time) (*purse, error) {
	p := &purse{points: DefaultPoints(), zone: "UTC", given: map[string]bool{}, today: map[string]int64{}}
	lockPeople(tx, "members", "user_id", tenant, users)
	store.QueueZone(tx, tenant, &p.zone)
	tx.Queue(`
		SELECT key, value
		FROM settings
		WHERE tenant_id = $1
			AND section = 'engagement'`, []any{tenant}, func(r *db.Row) error {
		p.points.Set(r.Text(0), r.Text(1))
		return nil
	})
	tx.Queue(openPurseSQL, []any{tenant, query.List(sources)}, func(r *db.Row) error {
		p.given[r.Text(0)+r.Text(1)+r.Text(2)] = true
		return nil
	})
	if err := tx.Flush(); err != nil {
		return nil, err
	}
	from, to := localtime.Day(now, localtime.Zone(p.zone))
	err := tx.Query(selectPointEventsSQL, []any{tenant, query.List(users), from, to}, func(r *db.Row) error {
		p.today[r.Text(0)] = r.Int(1)
		return nil
	})
	return p, err
}

const reversePointsSQL = `
	SELECT id
	FROM point_events
	WHERE tenant_id = $1
		AND source_type = 'incidents'
		AND reversed_at IS NULL
		AND source_id IN {ids $2}`

// reversePoints takes back the points of void reports.
func reversePoints(tx *store.Tx, sources []string) error {
	r, ok := tx.Store.Catalog().Get("point_events")
	if len(sources) == 0 || !ok {
		return nil
	}
	var ids []string
	err := tx.Query(reversePointsSQL, []any{tx.TenantID, query.List(sources)}, func(row *db.Row) error {
		ids = append(ids, row.Text(0))
		return nil
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	err = tx.UpdateRows(r.Name, ids, store.Row{"reversed_at": query.FormatTime(tx.Now()), "reversed_by": db.Null(tx.UserID)})
	return err
}

// badgeRule is a badge's condition: a metric of one person and its least value.
type badgeRule struct {
	Metric  string `json:"metric"`
	AtLeast int64  `json:"at_least"`
}

// shippedBadges are the badges of a new tenant.
var shippedBadges = [...]struct {
	code, name, text string
	rule             badgeRule
}{
	{"first_report", "First report", "Reported something that was accepted.", badgeRule{"reports", 1}},
	{"near_miss_5", "Sharp eye", "Five near misses reported and accepted.", badgeRule{"near_misses", 5}},
	{"checklists_4w", "Four clean weeks", "Four weeks of inspections without a miss.", badgeRule{"checklist_weeks", 4}},
	{"training_valid", "Up to date", "Every training taken is valid and none is open.", badgeRule{"training_valid", 1}},
	{"mentor", "Mentor", "Ten actions verified.", badgeRule{"verifications", 10}},
}

// AwardBadges gives these users (nil = everybody with points) the badges they
// have earned and lack.
func AwardBadges(tx *store.Tx, users []string) error {
	r, ok := tx.Store.Catalog().Get("user_badges")
	if !ok {
		return nil
	}
	b := newBadgeBook(tx.Tx, tx.TenantID, users, tx.Now())
	if err := tx.Flush(); err != nil {
		return err
	}
	rows := b.earnedBadges(query.FormatTime(tx.Now()))
	if len(rows) == 0 {
		return nil
	}
	rows, err := dropGivenBadges(tx.Tx, tx.TenantID, rows)
	if err != nil || len(rows) == 0 {
		return err
	}
	_, err = tx.InsertRows(r.Name, rows)
	return err
}

const dropGivenBadgesSQL = `
	SELECT user_id, badge_id FROM user_badges WHERE tenant_id = $1 AND user_id IN {ids $2}`

// dropGivenBadges leaves out the badges that somebody else gave meanwhile: whoever gives
// a badge holds it until the end of the transaction.
func dropGivenBadges(tx *db.Tx, tenant string, rows []store.Row) ([]store.Row, error) {
	if tx.DB().ForUpdate() == "" {
		return rows, nil
	}
	badges, users := map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		badges[r.Text("badge_id")], users[r.Text("user_id")] = true, true
	}
	lockPeople(tx, "badges", "id", tenant, sortedKeys(badges))
	given := map[string]bool{}
	err := tx.Query(dropGivenBadgesSQL, []any{tenant, query.List(sortedKeys(users))}, func(r *db.Row) error {
		given[r.Text(0)+r.Text(1)] = true
		return nil
	})
	return slices.DeleteFunc(rows, func(r store.Row) bool { return given[r.Text("user_id")+r.Text("badge_id")] }), err
}

// badgeBook gathers the figures that badges ask for.
type badgeBook struct {
	rules  map[string]badgeRule        // by badge id
	has    map[string]bool             // user and badge
	values map[string]map[string]int64 // user -> metric -> value
	weeks  map[string]*streak
}

// streak says of the last weeks, latest first, whether inspections were due
// and whether one was missed.
type streak struct{ due, missed [streakWeeks]bool }

const streakWeeks = 8

func (t *streak) streakWeeksOf() (n int64) {
	for w := 0; w < streakWeeks && t.due[w] && !t.missed[w]; w++ {
		n++
	}
	return n
}

func (b *badgeBook) addMetric(user, metric string, n int64) {
	if b.values[user] == nil {
		b.values[user] = map[string]int64{}
	}
	b.values[user][metric] += n
}

func newBadgeBook(tx *db.Tx, tenant string, users []string, now time.Time) *badgeBook {
	b := &badgeBook{rules: map[string]badgeRule{}, has: map[string]bool{}, values: map[string]map[string]int64{}, weeks: map[string]*streak{}}
	args := []any{tenant}
	only := func(col string) string { return "" }
	if users != nil {
		args = append(args, query.List(users))
		only = func(col string) string { return " AND " + tx.DB().InUUID(col, 2) }
	}
	tx.Queue("SELECT id, rule FROM badges WHERE tenant_id = $1", []any{tenant}, func(r *db.Row) error {
		var rule badgeRule
		// A rule that does not parse earns nothing.
		if json.Unmarshal([]byte(r.Text(1)), &rule) == nil && rule.AtLeast > 0 {
			b.rules[r.Text(0)] = rule
		}
		return nil
	})
	tx.Queue(db.FillWords(`
		SELECT user_id, badge_id
		FROM user_badges
		WHERE tenant_id = $1 {only}`, "{only}", only("user_id")), args, func(r *db.Row) error {
		b.has[r.Text(0)+r.Text(1)] = true
		return nil
	})
	tx.Queue(db.FillWords(`
		SELECT user_id, kind, COUNT(*)
		FROM point_events
		WHERE tenant_id = $1
			AND reversed_at IS NULL {only}
		GROUP BY user_id, kind`, "{only}", only("user_id")),
		args, func(r *db.Row) error {
			switch user, n := r.Text(0), r.Int(2); r.Text(1) {
			case "near_miss":
				b.addMetric(user, "near_misses", n)
				b.addMetric(user, "reports", n)
			case "hazard", "injury_report":
				b.addMetric(user, "reports", n)
			case "action_verified":
				b.addMetric(user, "verifications", n)
			}
			return nil
		})
	b.queueStreaks(tx, args, only, now)
	tx.Queue(db.FillWords(`
		SELECT user_id, COUNT(*) FILTER (WHERE status = 'completed'), COUNT(*) FILTER (
			WHERE status IN ('assigned', 'in_progress', 'failed')
			OR status = 'expired'
			AND NOT EXISTS (
				SELECT 1
				FROM training_assignments n
				WHERE n.tenant_id = $1
					AND n.user_id = t.user_id
					AND n.course_id = t.course_id
					AND n.status = 'completed'
			)
		)
		FROM training_assignments t
		WHERE tenant_id = $1
			AND user_id IS NOT NULL {only}
		GROUP BY user_id`, "{only}", only("user_id")), args, func(r *db.Row) error {
		if r.Int(1) > 0 && r.Int(2) == 0 {
			b.addMetric(r.Text(0), "training_valid", 1)
		}
		return nil
	})
	return b
}

// streaksSQL selects the inspections of the last weeks that people were to do. $1 tenant.
const streaksSQL = `
	SELECT assignee_user_id, deadline_at, CASE WHEN on_time THEN 1 ELSE 0 END
	FROM checklist_runs
	WHERE tenant_id = $1
		AND assignee_user_id IS NOT NULL {only}
		AND deadline_at > ${from}
		AND deadline_at <= ${to}
		AND status <> 'cancelled'`

// queueStreaks asks how the inspections of the last weeks went: of the seven days that
// end today, and of those before, where the tenant is.
func (b *badgeBook) queueStreaks(tx *db.Tx, args []any, only func(string) string, now time.Time) {
	zone, n := "UTC", len(args)
	store.QueueZone(tx, args[0].(string), &zone)
	text := db.FillWords(streaksSQL, "{only}", only("assignee_user_id"),
		"{from}", strconv.Itoa(n+1), "{to}", strconv.Itoa(n+2))
	args = append(append([]any{}, args...), now.AddDate(0, 0, -7*streakWeeks-1), now)
	tx.Queue(text, args, func(r *db.Row) error {
		place := localtime.Zone(zone)
		week := localtime.DateOf(now, place).DaysSince(localtime.DateOf(r.Time(1), place)) / 7
		if week >= streakWeeks {
			return nil
		}
		t := b.weeks[r.Text(0)]
		if t == nil {
			t = &streak{}
			b.weeks[r.Text(0)] = t
		}
		t.due[week] = true
		t.missed[week] = t.missed[week] || r.Int(2) == 0
		return nil
	})
}

func (b *badgeBook) earnedBadges(at string) []store.Row {
	var rows []store.Row
	for user, t := range b.weeks {
		b.addMetric(user, "checklist_weeks", t.streakWeeksOf())
	}
	for user, values := range b.values {
		for badge, rule := range b.rules {
			if values[rule.Metric] >= rule.AtLeast && !b.has[user+badge] {
				rows = append(rows, store.Row{"user_id": user, "badge_id": badge, "awarded_at": at})
			}
		}
	}
	return rows
}
