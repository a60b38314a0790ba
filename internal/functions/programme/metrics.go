package programme

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/score"
)

// table is a metric's values by entity of one type. An entity without a row
// has the value 0 for counts, and none for what needs data.
type table struct {
	kind     string // of the entities
	values   []float64
	known    []bool
	evidence map[int32][]uuid.UUID // the records that decide, by entity; everyEntity = of the tenant
	newest   []uuid.UUID           // the one record that decides where there is no more; nil where no metric says
	hours    []float64             // nil where the rule does not ask for them
	zero     bool                  // an entity without a row has the value 0
	silent   bool                  // nothing is on record that could say 0
	exempt   bool                  // the rule is not about this tenant
	unsure   bool                  // nothing on record says whether it is
	total    float64
	any      bool    // total is known
	work     float64 // hours of the whole tenant
}

func newTable(kind string, entities int) *table {
	return &table{kind: kind, values: make([]float64, entities), known: make([]bool, entities)}
}

// metricTables holds what was measured, by rule and type: two rules that read
// alike share a table.
type metricTables struct{ by map[string]*table }

// key says what a table depends on.
func tableKey(g *regulation, kind string) string {
	r, law := g.rule, ""
	if r.Metric == "log_delay_days" {
		law = g.law
	}
	f := r.Scope.Filter
	return fmt.Sprint(r.Metric, kind, r.WindowDays, r.Per, f.Kind, f.SeverityMin, f.Checklist, r.Due, r.State,
		r.Normalize != "none" || r.MinExposureHours > 0, r.AppliesIf, law)
}

// measureMetrics reads the metrics of all rules: a statement or two for each distinct
// metric, window and filter.
func (s *scan) measureMetrics(tx *db.Tx) error {
	s.tables, s.finish = &metricTables{by: map[string]*table{}}, nil
	for _, r := range s.regs {
		kinds := r.rule.Scope.EntityTypes
		if r.rule.Per == "tenant" {
			kinds = []string{score.Zone}
		}
		for _, kind := range kinds {
			k := tableKey(r, kind)
			if s.tables.by[k] != nil || s.groups[kind] == nil {
				continue
			}
			t := newTable(kind, len(s.groups[kind].list))
			s.tables.by[k] = t
			if err := s.queueMetric(tx, r, kind, t); err != nil {
				return err
			}
		}
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	for _, finish := range s.finish {
		finish()
	}
	return nil
}

// readingOf returns the reading of the ith entity.
func (t *table) readingOf(i int) safety.Reading {
	r := safety.Reading{Value: t.values[i], Known: t.known[i] || t.zero && !t.silent, Exempt: t.exempt}
	if t.hours != nil {
		r.Hours = t.hours[i]
	}
	return r
}

// tenantReading returns the reading over the whole tenant.
func (m *metricTables) tenantReading(r *regulation) safety.Reading {
	t := m.by[tableKey(r, score.Zone)]
	if t == nil {
		return safety.Reading{}
	}
	return safety.Reading{Value: t.total, Known: t.any || t.zero && !t.silent, Exempt: t.exempt,
		Unsure: t.unsure, Hours: t.work}
}

// putValue enters the value of the ith entity, or with -1 of the tenant, whose value
// is else the worst, or the sum of counts.
func (t *table) putValue(i int, v float64, evidence ...uuid.UUID) {
	if i >= 0 {
		t.values[i], t.known[i] = v, true
		t.setEvidence(i, evidence)
	}
	if t.zero {
		t.total += v
	} else if !t.any || v > t.total {
		t.total = v
		t.setEvidence(everyEntity, evidence)
	}
	t.any = true
}

// queueMetric asks for one metric.
func (s *scan) queueMetric(tx *db.Tx, g *regulation, kind string, t *table) error {
	r := g.rule
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
		s.fillLogDelays(tx, g, kind, t)
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
		tx.Queue(`
			SELECT CAST(coalesce(SUM(hours), 0) AS bigint)
			FROM shifts
			WHERE tenant_id = $1
				AND ended_at > $2
				AND ended_at <= $3`,
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
			t.putValue(int(i), x.score, x.id)
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
	t.zero, t.silent = r.Metric != "near_miss_ratio", !s.watchesIncidents(r)
	severities := ""
	if r.Scope.Filter.SeverityMin != "" {
		severities = " AND severity IN (" + quoteWords(r.Scope.Filter.Severities()) + ")"
	}
	args := []any{s.tenant, kind, s.windowStart(r.WindowDays), s.now}
	base := ""
	if r.Per == "tenant" {
		base = db.FillWords(`
			SELECT NULL, COUNT(*) FILTER (WHERE {kinds}), COUNT(*) FILTER (WHERE kind IN ('near_miss', 'hazard'))
			FROM incidents
			WHERE tenant_id = $1
				AND occurred_at > $2
				AND occurred_at <= $3
				AND status <> 'void' {severities}`, "{kinds}", kinds, "{severities}", severities)
		args = []any{s.tenant, s.windowStart(r.WindowDays), s.now}
	} else {
		source, entity := incidentSource(tx, selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}, &args)
		base = db.FillWords(`
			SELECT {entity}, COUNT(*) FILTER (WHERE i.{kinds}),
				COUNT(*) FILTER (WHERE i.kind IN ('near_miss', 'hazard'))
			FROM {source} {severities}
			GROUP BY {entity}`,
			"{entity}", entity, "{kinds}", kinds, "{source}", source, "{severities}", severities)
	}
	g := s.groups[kind]
	s.queueCounted(tx, r, kind, t, "i."+kinds+severities)
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
	t.zero, t.silent = true, !s.watchesIncidents(r)
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
	sql := db.FillWords(`
		SELECT e.entity_id, i.occurred_at, i.reported_at, i.id
		FROM incidents i
		JOIN incident_entities e ON e.tenant_id = i.tenant_id AND e.incident_id = i.id AND e.entity_type = $2
		WHERE i.tenant_id = $1
			AND {where}`, "{where}", where)
	if r.Per == "tenant" {
		sql = db.FillWords(`
			SELECT NULL, i.occurred_at, i.reported_at, i.id
			FROM incidents i
			WHERE i.tenant_id = $1
				AND $2 <> ''
				AND {where}`, "{where}", where)
	}
	g := s.groups[kind]
	enter := t.raiseValue
	if r.Metric == "open_critical_hazards" {
		enter = t.addValue
	}
	tx.Queue(sql, args, func(row *db.Row) error {
		i := -1
		if r.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		enter(i, of(row.Time(1), row.Time(2)), row.UUID(3))
		return nil
	})
}

// lateActionsSQL selects the actions past due that are not done, by entity. $1 tenant,
// $2 now, $3 type of entity; the words are the column of the entity, its join, and
// the priorities.
const (
	lateActionsSQL = `
		SELECT %[1]s, a.id
		FROM actions AS a
		%[2]s
		WHERE a.tenant_id = $1
			AND a.status IN ('open', 'in_progress')
			AND a.due_at < $2
			AND a.priority IN (%[3]s)
		ORDER BY 1, a.due_at, a.id`
	actionEntities = `
		JOIN incident_entities AS e ON e.tenant_id = $1
			AND e.incident_id = a.incident_id
			AND e.entity_type = $3`
)

// fillActions counts actions past due that are not done, by the entities of their incident.
// Without a single action on record, none says that none is late.
func (s *scan) fillActions(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	t.zero, t.silent = true, !s.known.actions
	priorities := quoteWords(r.Scope.Filter.Severities())
	if r.Per == "tenant" {
		tx.Queue(fmt.Sprintf(lateActionsSQL, "NULL", "", priorities), []any{s.tenant, s.now}, func(row *db.Row) error {
			t.addValue(everyEntity, 1, row.UUID(1))
			return nil
		})
		return
	}
	g := s.groups[kind]
	sql := fmt.Sprintf(lateActionsSQL, "e.entity_id", actionEntities, priorities)
	tx.Queue(sql, []any{s.tenant, s.now, kind}, func(row *db.Row) error {
		if i := g.findPlace(row, 0); i >= 0 {
			t.addValue(i, 1, row.UUID(1))
		}
		return nil
	})
}

func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(s)
}

func (s *scan) fillUtilization(tx *db.Tx, t *table) {
	tx.Queue(`
		SELECT id, utilization
		FROM zones
		WHERE tenant_id = $1
			AND utilization IS NOT NULL`, []any{s.tenant}, func(row *db.Row) error {
		if i := s.groups[score.Zone].findPlace(row, 0); i >= 0 {
			t.putValue(i, row.Dec(1).Float())
		}
		return nil
	})
}
