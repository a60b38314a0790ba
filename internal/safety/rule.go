package safety

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/jobtitle"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/suggest"
)

// CodeRule is the code of a rule that cannot be evaluated.
const CodeRule = "HF011"

// Rule is a regulation's condition in machine-readable form.
type Rule struct {
	Scope            Scope       `json:"scope"`
	Metric           string      `json:"metric"`
	WindowDays       int         `json:"window_days,omitempty"` // 1..730; 30 when absent
	Per              string      `json:"per,omitempty"`         // entity (default), site, tenant, window
	Normalize        string      `json:"normalize,omitempty"`   // none (default), per_200k_hours, per_1m_hours
	MinExposureHours float64     `json:"min_exposure_hours,omitempty"`
	Due              string      `json:"due,omitempty"`   // MM-DD of a calendar_deadline
	State            string      `json:"state,omitempty"` // what must be true by then
	Warn             *Bound      `json:"warn,omitempty"`
	Breach           *Bound      `json:"breach,omitempty"`
	Evidence         *Evidence   `json:"evidence"` // what decides, and what it means that there is none
	AppliesIf        []Condition `json:"applies_if,omitempty"`
}

// Scope says what a rule looks at.
type Scope struct {
	EntityTypes []string `json:"entity_types"`
	Filter      Filter   `json:"filter"`
}

// Filter narrows the records behind a metric, and the entities.
type Filter struct {
	Kind          []string `json:"kind,omitempty"`           // incident kinds
	SeverityMin   string   `json:"severity_min,omitempty"`   // of incidents and actions
	ZoneKind      []string `json:"zone_kind,omitempty"`      // entities: zones of these kinds
	EquipmentKind []string `json:"equipment_kind,omitempty"` // entities: equipment of these kinds
	JobTitle      []string `json:"job_title,omitempty"`      // entities: workers with these jobs (see Jobs)
	Checklist     string   `json:"checklist,omitempty"`      // part of an inspection's title
}

// Bound is a comparison with a value.
type Bound struct {
	Op    string  `json:"op"`
	Value float64 `json:"value"`
}

// Condition is a comparison of a fact.
type Condition struct {
	Fact string `json:"fact"`
	Bound
}

var (
	things  = []string{"zone", "driver", "worker", "equipment"}
	persons = []string{"driver", "worker"}
	places  = []string{"zone"}
)

// metricScope is the closed list of metrics and the entities each is known of.
var metricScope = map[string][]string{
	"predictive_score": things, "incident_count": things, "near_miss_count": things, "near_miss_ratio": things,
	"open_critical_hazards": things, "overdue_actions": things, "report_delay_hours": things, "log_delay_days": things,
	"osha_death_notice_hours": things, "osha_treatment_notice_hours": things,
	"days_since_checklist": {"zone", "equipment"}, "checklist_compliance": places, "zone_utilization": places,
	"training_coverage": persons, "expired_certifications": persons, "weekly_hours_max": persons, "rest_hours_min": persons,
	"driving_day_hours": {"driver"}, "driving_week_hours": {"driver"}, "driving_fortnight_hours": {"driver"}, "driving_stint_hours": {"driver"},
	"driving_rest_hours": {"driver"},
	"trir":               places, "dart": places, "calendar_deadline": places,
}

// Metrics returns the names of the metrics a rule may use, sorted.
func Metrics() []string {
	out := make([]string, 0, len(metricScope))
	for m := range metricScope {
		out = append(out, m)
	}
	sort.Strings(out)
	return out
}

// RuleFacts are the facts that applies_if may ask for: the number of active workers of
// the largest site, with those of no site, and of the tenant; and of an establishment's
// year, 1 where 29 CFR 1904.41(a) has it submit its summary, and its cases, else 0.
var RuleFacts = [...]string{SiteEmployees, "tenant.workers", SubmitsSummary, SubmitsCases}

// Facts of an establishment and a year, which a calendar_deadline works out itself.
const (
	SubmitsSummary = "site.sends_300a"
	SubmitsCases   = "site.sends_300"
)

// YearlyFact is the fact of an establishment's year that the rule asks to be 1; "" for
// none.
func (r *Rule) YearlyFact() string {
	for _, c := range r.AppliesIf {
		if isYearly(c.Fact) {
			return c.Fact
		}
	}
	return ""
}

func isYearly(fact string) bool { return fact == SubmitsSummary || fact == SubmitsCases }

// RuleFactsSQL counts the people of the largest site, those of no site with them, and of
// the tenant. $1 tenant.
const RuleFactsSQL = `
	SELECT CAST(coalesce(MAX(placed), 0) + coalesce(SUM(loose), 0) AS bigint),
		CAST(coalesce(SUM(placed + loose), 0) AS bigint)
	FROM (
		SELECT COUNT(site_id) AS placed, COUNT(*) - COUNT(site_id) AS loose
		FROM workers
		WHERE tenant_id = $1 AND status = 'active'
		GROUP BY site_id
	) x`

// SiteEmployees is the fact of how many people a site has.
const SiteEmployees = "site.avg_employees"

var (
	ruleOps   = []string{">", ">=", "<", "<=", "=="}
	kinds     = []string{"injury", "illness", "near_miss", "hazard", "property_damage", "environmental", "fire", "security"}
	zoneKinds = []string{"area", "aisle", "rack", "bin", "dock", "staging", "quarantine", "virtual"}
)

func badRule(format string, args ...any) error {
	return fault.New(fault.Invalid, CodeRule, "the rule "+format, args...).At("rule", format, args...)
}

// ParseRule reads a rule. The fault is Invalid and names the member, with the
// nearest known name for an unknown metric.
func ParseRule(raw []byte) (*Rule, error) {
	var r Rule
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var typ *json.UnmarshalTypeError
	if err := d.Decode(&r); errors.As(err, &typ) && typ.Field != "" {
		return nil, badRule("cannot be read: %s cannot be %s", typ.Field, typ.Value)
	} else if err != nil {
		return nil, badRule("cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if r.WindowDays == 0 {
		r.WindowDays = 30
	}
	if r.Per == "" {
		r.Per = "entity"
	}
	if r.Normalize == "" {
		r.Normalize = "none"
	}
	if err := r.checkRule(); err != nil {
		return nil, err
	}
	return &r, nil
}

func (r *Rule) checkRule() error {
	known, ok := metricScope[r.Metric]
	if !ok {
		if near := suggest.Nearest(r.Metric, Metrics()); near != "" {
			return badRule("refers to an unknown metric %q; did you mean %s?", fault.Clip(r.Metric, 60), near)
		}
		return badRule("refers to an unknown metric %q", fault.Clip(r.Metric, 60))
	}
	if len(r.Scope.EntityTypes) == 0 {
		return badRule("needs scope.entity_types")
	}
	for _, t := range r.Scope.EntityTypes {
		if !slices.Contains(known, t) {
			return badRule("cannot use %s for entity type %q; it is known of %s", r.Metric, fault.Clip(t, 60), strings.Join(known, ", "))
		}
	}
	switch {
	case r.WindowDays < 1 || r.WindowDays > 730:
		return badRule("has window_days %d; it must be from 1 to 730", r.WindowDays)
	case !slices.Contains([]string{"entity", "site", "tenant", "window"}, r.Per):
		return badRule("has per %q; it must be entity, site, tenant or window", fault.Clip(r.Per, 60))
	case r.Per == "site" && evidenceOf[r.Metric] != "checklist_runs":
		return badRule("has per site, which is for days_since_checklist and checklist_compliance")
	case r.Per == "window" && r.Metric != "weekly_hours_max":
		return badRule("has per window, which is for weekly_hours_max")
	case (r.Per == "tenant" || r.Per == "site") && !slices.Contains(r.Scope.EntityTypes, "zone"):
		return badRule("has per %s, which is recorded on a zone: name zone in scope.entity_types", r.Per)
	case !slices.Contains([]string{"none", "per_200k_hours", "per_1m_hours"}, r.Normalize):
		return badRule("has normalize %q; it must be none, per_200k_hours or per_1m_hours", fault.Clip(r.Normalize, 60))
	case r.Normalize != "none" && r.Metric != "incident_count" && r.Metric != "near_miss_count":
		return badRule("has normalize, which is for incident_count and near_miss_count")
	case !(r.MinExposureHours >= 0 && r.MinExposureHours <= 1e9):
		return badRule("has min_exposure_hours out of range")
	case r.Warn == nil && r.Breach == nil:
		return badRule("needs warn or breach")
	}
	return r.checkRest()
}

func (r *Rule) checkRest() error {
	for name, b := range map[string]*Bound{"warn": r.Warn, "breach": r.Breach} {
		if b != nil {
			if err := b.checkBound(name); err != nil {
				return err
			}
		}
	}
	for i := range r.AppliesIf {
		c := &r.AppliesIf[i]
		if !slices.Contains(RuleFacts[:], c.Fact) {
			return badRule("refers to an unknown fact %q; known are %s", fault.Clip(c.Fact, 60), strings.Join(RuleFacts[:], ", "))
		}
		if err := c.checkBound("applies_if"); err != nil {
			return err
		}
		if isYearly(c.Fact) && (r.Metric != "calendar_deadline" || c.Bound != Bound{"==", 1}) {
			return badRule("asks for %s, which is for calendar_deadline and can be == 1", c.Fact)
		}
	}
	if _, err := time.Parse("2006-01-02", "2024-"+r.Due); r.Metric == "calendar_deadline" && (err != nil || r.State == "") {
		return badRule("needs due (MM-DD) and state for calendar_deadline")
	}
	if err := r.checkEvidence(); err != nil {
		return err
	}
	return r.Scope.Filter.checkFilter()
}

func (b *Bound) checkBound(name string) error {
	if !slices.Contains(ruleOps, b.Op) {
		return badRule("has the operator %q in %s; it must be one of %s", fault.Clip(b.Op, 60), name, strings.Join(ruleOps, " "))
	}
	if math.IsNaN(b.Value) || math.Abs(b.Value) > 1e9 {
		return badRule("has a value out of range in %s", name)
	}
	return nil
}

func (f *Filter) checkFilter() error {
	for _, k := range f.Kind {
		if !slices.Contains(kinds, k) {
			return badRule("filters by an unknown incident kind %q", fault.Clip(k, 60))
		}
	}
	for _, k := range f.ZoneKind {
		if !slices.Contains(zoneKinds, k) {
			return badRule("filters by an unknown zone kind %q", fault.Clip(k, 60))
		}
	}
	if f.SeverityMin != "" && severity[f.SeverityMin] == 0 {
		return badRule("filters by an unknown severity %q", fault.Clip(f.SeverityMin, 60))
	}
	return nil
}

// Severities returns the severities from SeverityMin up; all when it is empty.
func (f *Filter) Severities() []string {
	var out []string
	for _, s := range [...]string{"low", "medium", "high", "critical"} {
		if severity[s] >= severity[f.SeverityMin] {
			out = append(out, s)
		}
	}
	return out
}

// Jobs returns the jobs that the filter names, as jobtitle.Named gives them.
func (f *Filter) Jobs() []string {
	var out []string
	for _, title := range f.JobTitle {
		out = append(out, jobtitle.Named(title))
	}
	return out
}

func (b *Bound) isMet(v float64) bool {
	switch b.Op {
	case ">":
		return v > b.Value
	case ">=":
		return v >= b.Value
	case "<":
		return v < b.Value
	case "<=":
		return v <= b.Value
	}
	return v == b.Value
}

// checkRegulations refuses a rule that could not be evaluated before it is
// written.
func checkRegulations(_ *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.Regulation](changes) {
		raw := c.After.Rule()
		if c.After == nil || raw == nil {
			continue // the store names what is missing
		}
		if c.Op == store.Update && !IsChanged(c.Change, "rule") {
			continue // it was checked when it was written
		}
		if _, err := ParseRule(raw); err != nil {
			return err
		}
	}
	return nil
}
