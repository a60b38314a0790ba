package programme

import (
	"fmt"
	"math"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/score"
)

// table is a metric's values by entity of one type. An entity without a row
// has the value 0 for counts, and none for what needs data.
type table struct {
	values []float64
	known  []bool
	hours  []float64 // nil where the rule does not ask for them
	zero   bool      // an entity without a row has the value 0
	total  float64
	any    bool    // total is known
	work   float64 // hours of the whole tenant
}

func newTable(entities int) *table {
	return &table{values: make([]float64, entities), known: make([]bool, entities)}
}

// metricTables holds what was measured, by rule and type: two rules that read
// alike share a table.
type metricTables struct{ by map[string]*table }

// key says what a table depends on.
func tableKey(r *safety.Rule, kind string) string {
	f := r.Scope.Filter
	return fmt.Sprint(r.Metric, kind, r.WindowDays, r.Per, f.Kind, f.SeverityMin, f.Checklist, r.Due, r.State, r.Normalize != "none" || r.MinExposureHours > 0)
}

// measureMetrics reads the metrics of all rules: a statement or two for each distinct
// metric, window and filter.
func (s *scan) measureMetrics(tx *db.Tx) error {
	s.tables = &metricTables{by: map[string]*table{}}
	for _, r := range s.regs {
		kinds := r.rule.Scope.EntityTypes
		if r.rule.Per == "tenant" {
			kinds = []string{score.Zone}
		}
		for _, kind := range kinds {
			k := tableKey(r.rule, kind)
			if s.tables.by[k] != nil || s.groups[kind] == nil {
				continue
			}
			t := newTable(len(s.groups[kind].list))
			s.tables.by[k] = t
			if err := s.queueMetric(tx, r.rule, kind, t); err != nil {
				return err
			}
		}
	}
	return tx.Flush()
}

// readingOf returns the reading of the ith entity.
func (t *table) readingOf(i int) safety.Reading {
	r := safety.Reading{Value: t.values[i], Known: t.known[i] || t.zero}
	if t.hours != nil {
		r.Hours = t.hours[i]
	}
	return r
}

// tenantReading returns the reading over the whole tenant.
func (m *metricTables) tenantReading(r *safety.Rule) safety.Reading {
	t := m.by[tableKey(r, score.Zone)]
	if t == nil {
		return safety.Reading{}
	}
	return safety.Reading{Value: t.total, Known: t.any || t.zero, Hours: t.work}
}

// putValue enters the value of the ith entity, or with -1 of the tenant, whose value
// is else the worst, or the sum of counts.
func (t *table) putValue(i int, v float64) {
	if i >= 0 {
		t.values[i], t.known[i] = v, true
	}
	if t.zero {
		t.total += v
	} else if !t.any || v > t.total {
		t.total = v
	}
	t.any = true
}

// queueMetric asks for one metric.
func (s *scan) queueMetric(tx *db.Tx, r *safety.Rule, kind string, t *table) error {
	if r.Normalize != "none" || r.MinExposureHours > 0 {
		s.fillHours(tx, r, kind, t)
	}
	switch r.Metric {
	case "predictive_score":
		return s.fillScores(tx, kind, t)
	case "incident_count", "near_miss_count", "near_miss_ratio":
		s.fillCounts(tx, r, kind, t)
	case "open_critical_hazards":
		s.fillIncidents(tx, r, kind, t, "i.kind = 'hazard' AND i.severity = 'critical' AND i.status IN ('reported', 'triaged', 'investigating', "+
			"'action_pending')", countOne)
	case "report_delay_hours":
		s.fillIncidents(tx, r, kind, t, "i.occurred_at > $4", delayHours)
	case "log_delay_days":
		s.fillIncidents(tx, r, kind, t, "i.occurred_at > $4 AND i.kind IN ('injury', 'illness')", s.calendarDays)
	case "osha_death_notice_hours":
		s.fillNotices(tx, r, kind, t, deathNotice)
	case "osha_treatment_notice_hours":
		s.fillNotices(tx, r, kind, t, treatmentNotice)
	case "overdue_actions":
		s.fillActions(tx, r, kind, t)
	case "days_since_checklist", "checklist_compliance":
		s.fillChecklists(tx, r, kind, t)
	case "zone_utilization":
		s.fillUtilization(tx, t)
	case "weekly_hours_max":
		s.fillWeeks(tx, r, kind, t)
	case "rest_hours_min":
		s.fillRest(tx, r, kind, t)
	case "driving_day_hours", "driving_week_hours", "driving_fortnight_hours", "driving_stint_hours", "driving_rest_hours":
		s.fillDriving(tx, r, t)
	case "expired_certifications":
		s.fillExpired(tx, kind, t)
	case "training_coverage":
		s.fillCoverage(tx, r, kind, t)
	case "trir", "dart":
		s.fillRates(tx, r, kind, t)
	case "calendar_deadline":
		s.fillDeadline(tx, r, t)
	}
	return nil
}

func (s *scan) windowStart(days int) time.Time { from, _ := windowOf(s.now, int64(days)); return from }

// fillHours asks for the hours of closed shifts in the rule's window.
func (s *scan) fillHours(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	if r.Per == "tenant" {
		tx.Queue("SELECT CAST(coalesce(SUM(hours), 0) AS bigint) FROM shifts WHERE tenant_id = $1 AND ended_at > $2 AND ended_at <= $3",
			[]any{s.tenant, s.windowStart(r.WindowDays), s.now}, func(row *db.Row) error { t.work = row.Dec(0).Float(); return nil })
		return
	}
	t.hours = make([]float64, len(t.values))
	sel := selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}
	queueHours(tx, sel, s.windowStart(r.WindowDays), s.now, func(i int, h, _ float64) { t.hours[i] = h }, s.groups[kind])
}

func (s *scan) fillScores(tx *db.Tx, kind string, t *table) error {
	list, err := readLatest(tx, s.tenant, s.st.keepScored([]string{kind}), s.in.EntityID, 0)
	for _, x := range list {
		if i, ok := s.groups[kind].at[x.entity]; ok {
			t.putValue(int(i), x.score)
		}
	}
	return err
}

// fillCounts asks for incidents or near misses by entity; a ratio is near
// misses for each incident, unknown without one.
func (s *scan) fillCounts(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	kinds := "kind NOT IN ('near_miss', 'hazard')"
	if r.Metric == "near_miss_count" {
		kinds = "kind IN ('near_miss', 'hazard')"
	}
	if len(r.Scope.Filter.Kind) > 0 {
		kinds = "kind IN (" + quoteWords(r.Scope.Filter.Kind) + ")"
	}
	t.zero = r.Metric != "near_miss_ratio"
	severities := ""
	if r.Scope.Filter.SeverityMin != "" {
		severities = " AND severity IN (" + quoteWords(r.Scope.Filter.Severities()) + ")"
	}
	args := []any{s.tenant, kind, s.windowStart(r.WindowDays), s.now}
	base := ""
	if r.Per == "tenant" {
		base = "SELECT NULL, COUNT(*) FILTER (WHERE " + kinds + "), COUNT(*) FILTER (WHERE kind IN ('near_miss', 'hazard')) FROM incidents " +
			"WHERE tenant_id = $1 AND occurred_at > $2 AND occurred_at <= $3 AND status <> 'void'" + severities
		args = []any{s.tenant, s.windowStart(r.WindowDays), s.now}
	} else {
		source, entity := incidentSource(tx, selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}, &args)
		base = "SELECT " + entity + ", COUNT(*) FILTER (WHERE i." + kinds + "), COUNT(*) FILTER (WHERE i.kind IN ('near_miss', 'hazard')) FROM " +
			source + severities + " GROUP BY " + entity
	}
	g := s.groups[kind]
	tx.Queue(base, args, func(row *db.Row) error {
		i := -1
		if r.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		n, near := float64(row.Int(1)), float64(row.Int(2))
		if t.zero {
			t.putValue(i, n)
		} else if n > 0 {
			t.putValue(i, near/n)
		}
		return nil
	})
}

// quoteWords writes words of a closed set as SQL texts.
func quoteWords(words []string) string { return "'" + strings.Join(words, "', '") + "'" }

// countOne, delay and days say what one incident adds to a metric.
func countOne(_, _ time.Time) float64 { return 1 }

func delayHours(at, told time.Time) float64 { return told.Sub(at).Hours() }

// calendarDays are calendar days where the tenant is.
func (s *scan) calendarDays(from, to time.Time) float64 {
	zone := localtime.Zone(s.st.place)
	return float64(localtime.DateOf(to, zone).DaysSince(localtime.DateOf(from, zone)))
}

// fillIncidents reads the incidents that a condition names and enters the
// worst, or the number, of each entity. $4 is the start of the window.
func (s *scan) fillIncidents(tx *db.Tx, r *safety.Rule, kind string, t *table, where string, of func(at, told time.Time) float64) {
	t.zero = true
	f := &r.Scope.Filter
	if len(f.Kind) > 0 {
		where += " AND i.kind IN (" + quoteWords(f.Kind) + ")"
	}
	where += " AND i.status <> 'void' AND i.severity IN (" + quoteWords(f.Severities()) + ") AND i.occurred_at <= $3"
	// $2 and $4 must be named on both sides: a parameter that is not used has no type.
	args := []any{s.tenant, kind, s.now, s.windowStart(r.WindowDays)}
	if !strings.Contains(where, "$4") {
		args = args[:3]
	}
	from, join := "i.occurred_at, i.reported_at", ""
	if r.Metric == "log_delay_days" { // until it was decided whether the case goes into the log: 29 CFR 1904.29(b)(3)
		from, join = "i.reported_at, coalesce(c.entered_at, $3)", " LEFT JOIN osha_cases c ON c.tenant_id = i.tenant_id AND c.incident_id = i.id"
	}
	sql := "SELECT e.entity_id, " + from + " FROM incidents i" + join + " JOIN incident_entities e ON e.tenant_id = i.tenant_id AND e.incident_id = i.id " +
		"AND e.entity_type = $2 WHERE i.tenant_id = $1 AND " + where
	if r.Per == "tenant" {
		sql = "SELECT NULL, " + from + " FROM incidents i" + join + " WHERE i.tenant_id = $1 AND $2 <> '' AND " + where
	}
	g := s.groups[kind]
	sum := r.Metric == "open_critical_hazards"
	tx.Queue(sql, args, func(row *db.Row) error {
		i := -1
		if r.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		v := of(row.Time(1), row.Time(2))
		if sum {
			t.total += v
		} else {
			t.total = max(t.total, v)
		}
		switch {
		case i < 0:
		case sum:
			t.values[i] += v
		default:
			t.values[i] = max(t.values[i], v)
		}
		return nil
	})
}

// fillActions counts open actions past due by the entities of their incident.
func (s *scan) fillActions(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	t.zero = true
	late := "a.status IN ('open', 'in_progress', 'done') AND a.due_at < $2 AND a.priority IN (" + quoteWords(r.Scope.Filter.Severities()) + ")"
	if r.Per == "tenant" {
		tx.Queue("SELECT COUNT(*) FROM actions a WHERE a.tenant_id = $1 AND "+late, []any{s.tenant, s.now},
			func(row *db.Row) error { t.total = float64(row.Int(0)); return nil })
		return
	}
	g := s.groups[kind]
	tx.Queue("SELECT e.entity_id, COUNT(*) FROM actions a JOIN incident_entities e ON e.tenant_id = a.tenant_id AND e.incident_id = a.incident_id AND "+
		"e.entity_type = $3 "+
		"WHERE a.tenant_id = $1 AND "+late+" GROUP BY e.entity_id", []any{s.tenant, s.now, kind}, func(row *db.Row) error {
		if i := g.findPlace(row, 0); i >= 0 {
			t.putValue(i, float64(row.Int(1)))
		}
		return nil
	})
}

// fillChecklists reads inspections of zones or equipment: days since the last
// one, or the share done in time. A zone is not inspected by looking at a truck
// that stands in it.
func (s *scan) fillChecklists(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	by, group := "zone_id", " AND zone_id IS NOT NULL AND equipment_id IS NULL AND vehicle_id IS NULL GROUP BY zone_id"
	switch {
	case r.Per == "tenant":
		by, group = "NULL", ""
	case kind == score.Equipment:
		by, group = "equipment_id", " AND equipment_id IS NOT NULL GROUP BY equipment_id"
	case kind != score.Zone:
		return
	}
	args := []any{s.tenant, s.windowStart(r.WindowDays), s.now}
	title := ""
	if c := r.Scope.Filter.Checklist; c != "" {
		args = append(args, "%"+escapeLike(strings.ToLower(c))+"%")
		title = ` AND lower(title) LIKE $4 ESCAPE '\'`
	}
	sql := "SELECT " + by + ", MAX(completed_at), 0, COUNT(*) FROM checklist_runs WHERE tenant_id = $1 AND status = 'completed' AND completed_at > $2 AND " +
		"completed_at <= $3" + title + group
	share := r.Metric == "checklist_compliance"
	if share {
		sql = "SELECT " + by + ", NULL, COUNT(*) FILTER (WHERE on_time), COUNT(*) FROM checklist_runs WHERE tenant_id = $1 AND status <> 'cancelled' AND " +
			"due_at > $2 AND due_at <= $3" + title + group
	}
	g := s.groups[kind]
	tx.Queue(sql, args, func(row *db.Row) error {
		i := -1
		if r.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		switch {
		case row.Int(3) == 0: // nothing on record
		case share:
			t.putValue(i, safety.ChecklistCompliance(row.Int(2), row.Int(3)).Float())
		default:
			t.putValue(i, math.Floor(s.now.Sub(row.Time(1)).Hours()/24))
		}
		return nil
	})
}

func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(s)
}

func (s *scan) fillUtilization(tx *db.Tx, t *table) {
	tx.Queue("SELECT id, utilization FROM zones WHERE tenant_id = $1 AND utilization IS NOT NULL", []any{s.tenant}, func(row *db.Row) error {
		if i := s.groups[score.Zone].findPlace(row, 0); i >= 0 {
			t.putValue(i, row.Dec(1).Float())
		}
		return nil
	})
}

// fillWeeks reads weekly hours of people: the most in any seven days from
// Monday to Sunday (UTC days of the shifts' ends), or with per window the mean
// over the window.
func (s *scan) fillWeeks(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	g := s.groups[kind]
	sel := selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}
	from := s.windowStart(r.WindowDays)
	if r.Per == "window" {
		queueHours(tx, sel, from, s.now, func(i int, h, _ float64) { t.putValue(i, 7*h/float64(r.WindowDays)) }, g)
		return
	}
	args := []any{s.tenant, from, s.now}
	source, entity := shiftSource(tx, sel, &args)
	type week struct{ i, year, week int }
	var last week
	var hours decimal.Dec
	tx.Queue("SELECT "+entity+", s.ended_at, s.hours FROM "+source+" ORDER BY "+entity+", s.ended_at", args, func(row *db.Row) error {
		i := g.findPlace(row, 0)
		if i < 0 {
			return nil
		}
		now := week{i: i}
		now.year, now.week = row.Time(1).ISOWeek()
		if now != last {
			last, hours = now, 0
		}
		hours += row.Dec(2)
		t.values[i], t.known[i] = max(t.values[i], hours.Float()), true
		return nil
	})
}

// fillRest reads the shortest rest between two shifts of a person.
func (s *scan) fillRest(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	g := s.groups[kind]
	args := []any{s.tenant, s.windowStart(r.WindowDays), s.now}
	source, entity := shiftSource(tx, selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}, &args)
	who, ended := -1, time.Time{}
	tx.Queue("SELECT "+entity+", s.started_at, s.ended_at FROM "+source+" ORDER BY "+entity+", s.started_at", args, func(row *db.Row) error {
		i := g.findPlace(row, 0)
		if i >= 0 && i == who {
			rest := row.Time(1).Sub(ended).Hours()
			if !t.known[i] || rest < t.values[i] {
				t.putValue(i, rest)
			}
		}
		who, ended = i, row.Time(2)
		return nil
	})
}

// people is where a type's persons stand: entities are e, $1 is the tenant.
type people struct{ from, worker, title string }

func workforceTable(kind string) people {
	if kind == score.Driver {
		return people{"drivers e JOIN workers w ON w.tenant_id = $1 AND w.id = e.worker_id", "w.id", "w.job_title"}
	}
	return people{"workers e", "e.id", "e.job_title"}
}

// localToday is the calendar day where the tenant is.
func (s *scan) localToday() string {
	return localtime.DateOf(s.now, localtime.Zone(s.st.place)).String()
}

// fillExpired counts, for each person, certificates that ran out
// and were not renewed. A driver's licence that ran out counts as one.
func (s *scan) fillExpired(tx *db.Tx, kind string, t *table) {
	t.zero = true
	p := workforceTable(kind)
	g := s.groups[kind]
	enter := func(row *db.Row, v float64) {
		if i := g.findPlace(row, 0); i >= 0 {
			t.putValue(i, v+t.values[i])
		}
	}
	tx.Queue("SELECT e.id, COUNT(DISTINCT a.course_id) FROM "+p.from+" JOIN training_assignments a ON a.tenant_id = e.tenant_id AND a.worker_id = "+
		p.worker+" WHERE e.tenant_id = $1 "+
		"AND a.tenant_id = $1 AND a.status IN ('completed', 'expired') AND a.expires_on < $2 AND NOT EXISTS (SELECT 1 FROM training_assignments n WHERE "+
		"n.tenant_id = $1 AND n.worker_id = a.worker_id "+
		"AND n.course_id = a.course_id AND n.status = 'completed' AND (n.expires_on IS NULL OR n.expires_on >= $2)) GROUP BY e.id", []any{s.tenant, s.localToday()},
		func(row *db.Row) error { enter(row, float64(row.Int(1))); return nil })
	if kind == score.Driver {
		tx.Queue("SELECT e.id FROM drivers e WHERE e.tenant_id = $1 AND e.licence_expires_on < $2", []any{s.tenant, s.localToday()},
			func(row *db.Row) error { enter(row, 1); return nil })
	}
}

// wordIn is a condition: an array of texts has a word. The array's text is
// canonical, so the word as JSON is found in it and nothing else is.
func wordIn(array, word string) string {
	quoted := `'"' || replace(replace(` + word + `, '\', '\\'), '"', '\"') || '"'`
	return "replace(" + array + ", " + quoted + ", '') <> " + array
}

// fillCoverage is 100 x valid required certificates / required ones; nothing
// required is unknown. A course is required by job title, and of those who had a
// shift with a piece of equipment in the rule's window by its kind or its own
// course.
func (s *scan) fillCoverage(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	p := workforceTable(kind)
	g := s.groups[kind]
	tx.Queue("WITH x(id, worker_id, word, course_id) AS (SELECT e.id, "+p.worker+", "+p.title+", CAST(NULL AS uuid) FROM "+p.from+
		" WHERE e.tenant_id = $1 UNION SELECT e.id, "+p.worker+", q.kind, q.required_course_id FROM "+p.from+
		" JOIN shifts s ON s.tenant_id = e.tenant_id AND s.worker_id = "+p.worker+" AND s.ended_at > $3 AND s.ended_at <= $4 "+
		"JOIN equipment q ON q.tenant_id = s.tenant_id AND q.id = s.equipment_id WHERE e.tenant_id = $1), "+
		"need AS (SELECT DISTINCT x.id, x.worker_id, c.id AS course_id FROM x JOIN courses c ON c.tenant_id = $1 AND c.status = 'active' AND c.archived_at IS "+
		"NULL AND (c.id = x.course_id OR "+wordIn("c.required_for", "x.word")+")) "+
		"SELECT n.id, COUNT(*), COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM training_assignments a WHERE a.tenant_id = $1 AND a.worker_id = n.worker_id AND "+
		"a.course_id = n.course_id "+
		"AND a.status = 'completed' AND (a.expires_on IS NULL OR a.expires_on >= $2))) FROM need n GROUP BY n.id",
		[]any{s.tenant, s.localToday(), s.windowStart(r.WindowDays), s.now}, func(row *db.Row) error {
			if i := g.findPlace(row, 0); i >= 0 {
				t.putValue(i, safety.Percent(row.Int(2), row.Int(1)).Float())
			}
			return nil
		})
}
