package functions

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/safety/osha"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// SafetyPeriod is a stretch of time in figures.
type SafetyPeriod struct {
	From       string           `json:"from_at" format:"date-time" doc:"Its first moment."`
	Until      string           `json:"until_at" format:"date-time" doc:"The moment after it, or after now."`
	IsPartial  bool             `json:"partial" doc:"Whether it still lasts."`
	Reports    int64            `json:"reports" doc:"Incidents reported that are not void."`
	Kinds      map[string]int64 `json:"by_category" doc:"Reports by kind; injury, near_miss and hazard always."`
	Severities map[string]int64 `json:"by_severity" doc:"Reports by severity; all four always."`
	NearMisses *decimal.Dec     `json:"near_misses_per_injury" doc:"Null without an injury."`

	ActionsDue    int64        `json:"actions_due" doc:"Actions whose due_at lies in it, cancelled ones left out."`
	ActionsInTime int64        `json:"actions_in_time" doc:"Those that were completed by then."`
	ActionShare   *decimal.Dec `json:"actions_in_time_share" unit:"percent" doc:"Null: none was due."`

	InspectionsDue    int64        `json:"inspections_due" doc:"Whose deadline_at lies in it, without cancelled ones."`
	InspectionsInTime int64        `json:"inspections_in_time" doc:"Those that were completed by then."`
	InspectionShare   *decimal.Dec `json:"inspections_in_time_share" unit:"percent" doc:"Null: none was due."`

	Work *PeriodWork `json:"work" doc:"Hours and recordable cases; null where work_withheld."`
}

// PeriodWork is how much was worked in a period, and which cases are on record of it.
// Rates are null without hours.
type PeriodWork struct {
	Hours    *float64   `json:"hours_worked" unit:"hours" doc:"Approved shifts; null: some lack."`
	Cases    int64      `json:"recordable_cases" doc:"Recordable cases that happened in it."`
	DART     int64      `json:"dart_cases" doc:"Those with days away, restriction or transfer."`
	LostTime int64      `json:"lost_time_injuries" doc:"Injuries with lost time, deaths included."`
	TRIRate  score.Rate `json:"trir" unit:"cases per 200,000 hours" doc:"Total recordable incident rate."`
	DARTRate score.Rate `json:"dart" unit:"cases per 200,000 hours" doc:"Days away, restricted or transferred."`
	LTIRate  score.Rate `json:"ltifr" unit:"injuries per 1,000,000 hours" doc:"Lost time injury frequency rate."`
}

// period is a month on its way into the answer.
type period struct {
	from, until time.Time
	out         SafetyPeriod
	work        *osha.Work
}

// Kinds of incident whose ratio is shown.
const (
	injuryKind   = "injury"
	nearMissKind = "near_miss"
)

func newSafetyPeriod(from, until time.Time) SafetyPeriod {
	return SafetyPeriod{From: query.FormatTime(from), Until: query.FormatTime(until),
		Kinds:      map[string]int64{injuryKind: 0, nearMissKind: 0, "hazard": 0},
		Severities: map[string]int64{"low": 0, "medium": 0, "high": 0, "critical": 0}}
}

// queuePeriods asks for the figures of the months up to now where a tenant is.
func (o *safetyOverview) queuePeriods(d *dashboard, tx *store.Tx, months int64, zone *time.Location) {
	o.periods = o.periods[:0]
	current, _ := localtime.Month(o.now, zone)
	end := o.now.Add(time.Microsecond)
	for back := int(months) - 1; back >= 0; back-- {
		p := &period{from: current.AddMonths(-back).Start(zone), until: current.AddMonths(1 - back).Start(zone)}
		isPartial := p.until.After(end)
		if isPartial {
			p.until = end
		}
		p.out = newSafetyPeriod(p.from, p.until)
		p.out.IsPartial = isPartial
		p.queueReports(d, tx, o.site)
		p.queueInspections(d, tx, o.site)
		p.queueActions(tx, o.site)
		p.work = osha.QueueWork(tx.Tx, osha.Period{Tenant: tx.TenantID, Site: o.site, From: p.from, Until: p.until})
		o.periods = append(o.periods, p)
	}
}

// siteReportsSQL counts the reports of an establishment: the one that the incident names,
// else that of its zone. $1 tenant, $2 from, $3 until, $4 establishment.
const siteReportsSQL = `
	SELECT incident.kind || ':' || incident.severity, COUNT(*)
	FROM incidents AS incident
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = incident.zone_id
	WHERE incident.tenant_id = $1
		AND incident.reported_at >= $2
		AND incident.reported_at < $3
		AND incident.status <> 'void'
		AND CAST(coalesce(incident.site_id, zone.site_id) AS text) = $4
	GROUP BY incident.kind, incident.severity`

// queueReports counts reports; those of the whole tenant are counted already.
func (p *period) queueReports(d *dashboard, tx *store.Tx, site string) {
	add := func(part string, n int64) {
		kind, severity, _ := strings.Cut(part, ":")
		if n == 0 {
			return
		}
		p.out.Reports += n
		p.out.Kinds[kind] += n
		p.out.Severities[severity] += n
	}
	p.queueCounted(tx, counted{d.reports, siteReportsSQL, site}, add)
}

// siteInspectionsSQL counts the inspections of an establishment by whether they were done
// in time: the one that is named, else that of the zone, or of where the equipment stands.
// $1 tenant, $2 from, $3 until, $4 establishment.
const siteInspectionsSQL = `
	SELECT CASE WHEN run.on_time THEN 'true' ELSE '' END, COUNT(*)
	FROM checklist_runs AS run
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = run.zone_id
	LEFT JOIN equipment AS machine ON machine.tenant_id = $1 AND machine.id = run.equipment_id
	LEFT JOIN zones AS stand ON stand.tenant_id = $1 AND stand.id = machine.zone_id
	WHERE run.tenant_id = $1
		AND run.deadline_at >= $2
		AND run.deadline_at < $3
		AND run.status <> 'cancelled'
		AND CAST(coalesce(run.site_id, zone.site_id, stand.site_id) AS text) = $4
	GROUP BY CASE WHEN run.on_time THEN 'true' ELSE '' END`

func (p *period) queueInspections(d *dashboard, tx *store.Tx, site string) {
	p.queueCounted(tx, counted{d.checklists, siteInspectionsSQL, site}, func(onTime string, n int64) {
		p.out.InspectionsDue += n
		if onTime == "true" {
			p.out.InspectionsInTime += n
		}
	})
}

// counted is a count that is kept for the whole tenant, and made for one establishment.
type counted struct {
	all     *store.Timed
	siteSQL string
	site    string
}

func (p *period) queueCounted(tx *store.Tx, c counted, add func(part string, n int64)) {
	if c.site == "" {
		c.all.Queue(tx.Tx, tx.TenantID, p.from.Add(-time.Microsecond), p.until.Add(-time.Microsecond), add)
		return
	}
	tx.Queue(c.siteSQL, []any{tx.TenantID, p.from, p.until, c.site}, func(r *db.Row) error {
		add(r.Text(0), r.Int(1))
		return nil
	})
}

// dueActionsSQL counts the actions that were due, and those that were completed by then.
// An action is of the establishment of its incident. $1 tenant, $2 from, $3 until, $4
// establishment, empty for all.
const dueActionsSQL = `
	SELECT COUNT(*), COUNT(*) FILTER (WHERE action.completed_at <= action.due_at)
	FROM actions AS action
	LEFT JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = action.incident_id
	LEFT JOIN zones AS zone ON zone.tenant_id = $1 AND zone.id = incident.zone_id
	WHERE action.tenant_id = $1
		AND action.status <> 'cancelled'
		AND action.due_at >= $2
		AND action.due_at < $3
		AND ($4 = '' OR CAST(coalesce(incident.site_id, zone.site_id) AS text) = $4)`

func (p *period) queueActions(tx *store.Tx, site string) {
	tx.Queue(dueActionsSQL, []any{tx.TenantID, p.from, p.until, site}, func(r *db.Row) error {
		p.out.ActionsDue, p.out.ActionsInTime = r.Int(0), r.Int(1)
		return nil
	})
}

// addPeriod adds the counts of a month to those of several.
func (s *SafetyPeriod) addPeriod(m *SafetyPeriod) {
	s.Reports += m.Reports
	for kind, n := range m.Kinds {
		s.Kinds[kind] += n
	}
	for severity, n := range m.Severities {
		s.Severities[severity] += n
	}
	s.ActionsDue += m.ActionsDue
	s.ActionsInTime += m.ActionsInTime
	s.InspectionsDue += m.InspectionsDue
	s.InspectionsInTime += m.InspectionsInTime
}

// fillShares works out what is a share of something; of nothing there is none.
func (s *SafetyPeriod) fillShares() {
	share := func(part, whole int64) *decimal.Dec {
		if whole == 0 {
			return nil
		}
		d := safety.Percent(part, whole)
		return &d
	}
	s.ActionShare = share(s.ActionsInTime, s.ActionsDue)
	s.InspectionShare = share(s.InspectionsInTime, s.InspectionsDue)
	if injuries := s.Kinds[injuryKind]; injuries > 0 {
		ratio := decimal.Dec((s.Kinds[nearMissKind]*20 + injuries) / (2 * injuries) * 1000)
		s.NearMisses = &ratio
	}
}

// showsWork reports whether the caller is told of hours and cases by month. A caller who
// reads single cases is; other leaders are where no month tells of a few people, and not of
// one establishment, since whoever has all but one knows that one.
func (o *safetyOverview) showsWork(a actor.Actor) bool {
	if o.maySites {
		return true
	}
	if !slices.Contains(actor.Leaders, a.Role) || o.site != "" {
		return false
	}
	for _, p := range o.periods {
		isEmpty := p.work.People == 0 && workOf(p.work).countCases() == 0
		if !isEmpty && !o.least.Shows(p.work.People) {
			return false
		}
	}
	return true
}

// work is what one month or several were like. isBlind says that a month with a case has
// no hours: what the others have would make a rate too high.
type work struct {
	score.Recordables
	lostTime int
	hours    float64
	isBlind  bool
}

func workOf(w *osha.Work) work {
	r := score.Recordables{Deaths: w.Deaths, DaysAway: w.DaysAway, Restricted: w.Restricted, Other: w.Other}
	return work{Recordables: r, lostTime: w.LostTime, hours: w.Hours}
}

func (w work) countCases() int { return w.Deaths + w.DaysAway + w.Restricted + w.Other }

// addMonth adds a month to several.
func (w *work) addMonth(m *osha.Work) {
	w.Deaths += m.Deaths
	w.DaysAway += m.DaysAway
	w.Restricted += m.Restricted
	w.Other += m.Other
	w.lostTime += m.LostTime
	w.hours += m.Hours
	w.isBlind = w.isBlind || m.Hours == 0 && workOf(m).countCases() > 0
}

// fillWork works out the rates of a period.
func (s *SafetyPeriod) fillWork(w work) (err error) {
	s.Work = &PeriodWork{Cases: int64(w.countCases()), DART: int64(w.DaysAway + w.Restricted), LostTime: int64(w.lostTime)}
	if w.hours == 0 || w.isBlind {
		return nil
	}
	hours := score.Round(w.hours, 2)
	s.Work.Hours = &hours
	if s.Work.TRIRate, err = score.TRIR(w.Recordables, w.hours); err != nil {
		return err
	}
	if s.Work.DARTRate, err = score.DART(w.Recordables, w.hours); err != nil {
		return err
	}
	s.Work.LTIRate, err = score.LTIFR(w.lostTime, w.hours)
	return err
}

// RiskOut is a place or a machine with the newest official score.
type RiskOut struct {
	Kind       string          `json:"entity_type" enum:"zone,equipment" doc:"Type of the entity."`
	ID         string          `json:"entity_id" format:"uuid" doc:"The entity."`
	Code       string          `json:"code" doc:"Its code."`
	Name       string          `json:"name" doc:"Its name."`
	Score      decimal.Dec     `json:"score" unit:"0 to 100" doc:"Its risk; higher is worse."`
	Cluster    string          `json:"cluster" enum:"Critical,High,Medium,Low,Unclear" doc:"Unclear: too little known."`
	Confidence decimal.Dec     `json:"confidence" unit:"0 to 1" doc:"How much the score rests on."`
	Inputs     json.RawMessage `json:"inputs" doc:"As in predictive_scores."`
	ComputedAt string          `json:"computed_at" format:"date-time" doc:"When."`
}

// riskSQL selects the entities of a type that score highest in its newest official run.
// $1 tenant, $2 type, $3 establishment, empty for all.
const riskSQL = `
	SELECT entity.id, entity.{code}, entity.name, rated.score, rated.cluster, rated.confidence, rated.inputs,
		rated.computed_at
	FROM predictive_scores AS rated
	JOIN {entities} AS entity ON entity.tenant_id = $1 AND entity.id = rated.entity_id
	{place}
	WHERE rated.tenant_id = $1
		AND rated.run_id = (
			SELECT run.id
			FROM score_runs AS run
			WHERE run.tenant_id = $1
				AND run.entity_type = $2
			ORDER BY run.id DESC
			LIMIT 1
		)
		AND rated.score > 0
		AND ($3 = '' OR CAST({site} AS text) = $3)
	ORDER BY rated.score DESC, entity.{code}, entity.id
	LIMIT 5`

var (
	zoneRisksSQL = db.FillWords(riskSQL, "{entities}", "zones", "{code}", "code", "{place}", "",
		"{site}", "entity.site_id")
	equipmentRisksSQL = db.FillWords(riskSQL, "{entities}", "equipment", "{code}", "asset_no", "{place}",
		"LEFT JOIN zones AS stand ON stand.tenant_id = $1 AND stand.id = entity.zone_id", "{site}", "stand.site_id")
)

// riskRows is how many places and machines are shown.
const riskRows = 5

// queueRisks asks for the places and machines with the highest scores. Whoever has the
// overview reads those of zones and equipment.
func (o *safetyOverview) queueRisks(tx *store.Tx) {
	o.risks = o.risks[:0]
	for kind, sql := range map[string]string{score.Zone: zoneRisksSQL, score.Equipment: equipmentRisksSQL} {
		tx.Queue(sql, []any{tx.TenantID, kind, o.site}, func(r *db.Row) error {
			o.risks = append(o.risks, RiskOut{Kind: kind, ID: r.Text(0), Code: r.Text(1), Name: r.Text(2),
				Score: r.Dec(3), Cluster: r.Text(4), Confidence: r.Dec(5), Inputs: json.RawMessage(r.Text(6)),
				ComputedAt: query.FormatTime(r.Time(7))})
			return nil
		})
	}
}

// worstRisks are the highest scores of all types.
func worstRisks(risks []RiskOut) []RiskOut {
	slices.SortFunc(risks, func(x, y RiskOut) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Code, y.Code))
	})
	return slices.Clone(risks[:min(riskRows, len(risks))])
}
