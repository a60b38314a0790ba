package regimes

import (
	"fmt"
	"math"
	"slices"
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/safety/absence"
)

// Regime is the figures of a country, over the establishments that are there.
type Regime struct {
	Country     string    `json:"country" doc:"ISO 3166-1 alpha-2, of the establishments."`
	SiteIDs     []string  `json:"site_ids" format:"uuid" doc:"The establishments."`
	From        string    `json:"from" format:"date" doc:"First day, in each establishment's time zone."`
	To          string    `json:"to" format:"date" doc:"Last day; today while the year lasts."`
	Hours       *float64  `json:"hours_worked" unit:"hours" doc:"Approved shifts, additional_hours; no contractors."`
	Employees   *float64  `json:"avg_employees" doc:"People employed on average; contractors left out."`
	Equivalents *float64  `json:"full_time_equivalents" doc:"As the establishments' summaries state it."`
	Accidents   int64     `json:"accidents" doc:"Injuries of the year with a case, recordable or not, commuting left out."`
	Commuting   int64     `json:"commuting" doc:"Injuries of the year on the way between home and work: in no rate."`
	WithoutCase int64     `json:"without_case" doc:"Injuries of the year that have no case, and so are in no figure."`
	Assumed     int64     `json:"assumed_days" doc:"Accidents with days but no dates: taken to follow."`
	Figures     []*Figure `json:"figures" doc:"In the order of the country's own reports."`

	zone      *time.Location
	sites     []*site
	accidents []*Accident
}

// Figure is one figure with what it stands on.
type Figure struct {
	Code        string   `json:"code" doc:"What the figure is called here."`
	Name        string   `json:"name" doc:"What it is called in its country."`
	Status      string   `json:"status" oneof:"ok insufficient_data" doc:"Unknown without its denominator."`
	Value       *float64 `json:"value" doc:"Two decimals, rounded half up."`
	Low         *float64 `json:"low" doc:"Exact Poisson 90 % limit; null for days and plain counts."`
	High        *float64 `json:"high" doc:"Likewise."`
	Unit        string   `json:"unit" doc:"Count and denominator."`
	Count       int64    `json:"count" doc:"What is divided: accidents, or days."`
	Counts      string   `json:"counts" doc:"Which accidents or days count."`
	Denominator string   `json:"denominator" doc:"The member that divides, full_time_workers, or none."`
	Exposure    *float64 `json:"exposure" doc:"The denominator's value."`
	Basis       string   `json:"basis" doc:"How the denominator was come by; with insufficient_data, what is missing."`
	Citation    string   `json:"citation" doc:"Where the formula, or what counts, is written."`
}

// Denominators.
const (
	byHours       = "hours_worked"
	byEmployees   = "avg_employees"
	byEquivalents = "full_time_equivalents"
	byWorkers     = "full_time_workers"
	byNothing     = "none"
)

// fillFigures works out the figures of the country's rules.
func (r *Regime) fillFigures(a Asked) {
	first, last := yearStart(a.Year, time.UTC), yearStart(a.Year+1, time.UTC).AddDate(0, 0, -1)
	to := last
	if today := localtime.DateOf(a.Now, r.zone).UTC(); today.Before(last) && !today.Before(first) {
		to = today
	}
	r.To = absence.WriteDay(to)
	for _, c := range r.accidents {
		switch {
		case !c.thisYear:
			continue
		case c.Journey == commuting:
			r.Commuting++
		default:
			r.Accidents++
		}
		if c.isAssumed {
			r.Assumed++
		}
	}
	known := r.measureYear(a.Year, nil)
	r.Hours, r.Employees, r.Equivalents = known[byHours].value, known[byEmployees].value, known[byEquivalents].value
	for _, rule := range figuresOf(r.Country) {
		f := &Figure{Code: rule.code, Name: rule.name, Status: "ok", Unit: rule.unit, Counts: rule.counts,
			Denominator: rule.by, Citation: rule.citation}
		counted := map[string]bool{} // sites
		for _, c := range r.accidents {
			if !c.thisYear && !rule.anyYear {
				continue
			}
			if n := rule.count(c, first, last); n > 0 {
				f.Count += n
				counted[c.site] = true
			}
		}
		f.divideBy(a, rule, r.measureYear(a.Year, counted)[rule.by])
		r.Figures = append(r.Figures, f)
	}
}

// measure is a denominator: nil when it is not known, and how it was come by.
type measure struct {
	value *float64
	basis string
}

// divideBy gives a figure its value.
func (f *Figure) divideBy(a Asked, rule figureRule, by measure) {
	f.Exposure, f.Basis = by.value, by.basis
	if rule.by == byNothing {
		n := float64(f.Count)
		f.Value, f.Exposure, f.Basis = &n, nil, "a plain count"
		return
	}
	if by.value == nil {
		f.Status = "insufficient_data"
		return
	}
	if rule.anyYear {
		f.Value = a.RateDays(f.Count, *by.value, rule.per)
		return
	}
	f.Value, f.Low, f.High = a.RateCount(f.Count, *by.value, rule.per)
}

// measureYear works out the denominators of a year. One that an establishment lacks
// that had accidents, or where a figure counted anything, is not known, for what the
// others have would make the figure too high: days of an accident of last year need the
// hours of their own establishment as well.
func (r *Regime) measureYear(year int64, counted map[string]bool) map[string]measure {
	isMeant := func(s *site) bool { return s.accidents > 0 || counted[s.id] }
	known := map[string]measure{
		byHours: r.sumSites("hours worked: approved shifts, and additional_hours of the year's summary",
			func(s *site) (float64, bool) { return s.hours, isMeant(s) }),
		byEmployees: r.sumSites("people employed: avg_employees of the year's summary, else the workers' dates of hire",
			func(s *site) (float64, bool) { return s.employees, isMeant(s) }),
		byEquivalents: r.sumSites("full_time_equivalents of the year's summary",
			func(s *site) (float64, bool) { return s.equivalents, isMeant(s) || s.employees > 0 }),
	}
	hours := known[byHours]
	workers := measure{basis: hours.basis}
	if hours.value != nil {
		reference := referenceOf(year)
		n := roundToHundredths(*hours.value / reference.hours)
		workers = measure{&n, fmt.Sprintf("hours worked / %g, the reference value of %d", reference.hours, reference.year)}
	}
	known[byWorkers] = workers
	return known
}

// sumSites sums a measure of the establishments; of says its value, and whether one
// that has none makes the sum unknown.
func (r *Regime) sumSites(what string, of func(*site) (value float64, isNeeded bool)) measure {
	sum, missing := 0.0, 0
	for _, s := range r.sites {
		n, isNeeded := of(s)
		if n == 0 && isNeeded {
			missing++
		}
		sum += n
	}
	if missing > 0 {
		return measure{basis: fmt.Sprintf("missing at %d of %d establishments: %s", missing, len(r.sites), what)}
	}
	if sum == 0 {
		return measure{basis: "missing: " + what}
	}
	sum = roundToHundredths(sum)
	return measure{&sum, what}
}

func roundToHundredths(x float64) float64 { return math.Round(x*100) / 100 }

// reference is the hours that a full-time worker works in a year.
type reference struct {
	year  int64
	hours float64
}

// references are the reference values (Richtwerte) for full-time workers, by year;
// the DGUV publishes one each year.
var references = []reference{{2022, 1490}, {2023, 1500}}

// referenceOf is the reference value of a year; of the newest year before it that is
// known here, or the first.
func referenceOf(year int64) reference {
	found := references[0]
	for _, r := range references {
		if r.year <= year {
			found = r
		}
	}
	return found
}

// figureRule is a figure as a country counts it.
type figureRule struct {
	code, name, unit, counts, citation string

	by      string
	per     float64
	anyYear bool // counts days that fall in the year, whatever year the accident was
	count   func(c *Accident, first, last time.Time) int64
}

// countIf makes a rule's count from a condition.
func countIf(counts func(c *Accident) bool) func(*Accident, time.Time, time.Time) int64 {
	return func(c *Accident, _, _ time.Time) int64 {
		if counts(c) {
			return 1
		}
		return 0
	}
}

var esawRule = figureRule{code: "ESAW", name: "Incidence rate of accidents at work",
	unit:     "accidents per 100,000 employed",
	counts:   "accidents with at least 4 calendar days away, or death within a year; commuting left out",
	citation: "Regulation (EU) 349/2011, annex; Eurostat, ESAW summary methodology", by: byEmployees, per: 1e5,
	count: countIf(func(c *Accident) bool {
		return c.IsAtWork() && (c.allAway() >= europeDays || c.HasDiedInAYear())
	})}

// What two figures of a country have alike.
const (
	stoppedWords = "accidents with at least one calendar day of arrêt after the day of the accident, or death; " +
		"commuting left out"
	reportableWords = "reportable accidents: more than 3 calendar days away, day of the accident left out, or death; " +
		"commuting left out"
)

var frenchRules = []figureRule{
	{code: "TF", name: "Taux de fréquence (TF1)", unit: "accidents per 1,000,000 hours",
		counts:   stoppedWords,
		citation: "CNAM, statistiques AT/MP (accidents en premier règlement); Code du travail, bilan social",
		by:       byHours, per: 1e6, count: countIf((*Accident).HasStopped)},
	{code: "TF2", name: "Taux de fréquence TF2", unit: "accidents per 1,000,000 hours",
		counts:   "declared accidents, with or without arrêt; commuting and the register of minor accidents left out",
		citation: "custom of the trade; CSS L441-2, D441-1",
		by:       byHours, per: 1e6,
		count: countIf(func(c *Accident) bool { return c.IsAtWork() && (c.HasStopped() || !c.IsMinor) })},
	{code: "TF3", name: "Taux de fréquence TF3", unit: "accidents per 1,000,000 hours",
		counts:   "declared accidents and those of the register of minor accidents; commuting left out",
		citation: "custom of the trade; CSS L441-2, D441-1",
		by:       byHours, per: 1e6, count: countIf((*Accident).IsAtWork)},
	{code: "TG", name: "Taux de gravité", unit: "days per 1,000 hours",
		counts: "calendar days of temporary incapacity that fall in the year, whatever year the accident was, without " +
			"an end of counting; day of the accident and commuting left out",
		citation: "CNAM, statistiques AT/MP (dénombrement); Code du travail, bilan social",
		by:       byHours, per: 1e3, anyYear: true,
		count: func(c *Accident, first, last time.Time) int64 {
			if !c.IsAtWork() {
				return 0
			}
			return c.awayDays(first, last)
		}},
	{code: "IF", name: "Indice de fréquence", unit: "accidents per 1,000 full-time equivalents",
		counts:   stoppedWords,
		citation: "evaluation.securite-sociale.fr, AT-MP 2.1.2",
		by:       byEquivalents, per: 1e3, count: countIf((*Accident).HasStopped)},
}

var germanRules = []figureRule{
	{code: "1000-MANN-QUOTE", name: "1000-Mann-Quote", unit: "accidents per 1,000 full-time workers",
		counts:   reportableWords,
		citation: "SGB VII § 193(1); DGUV, Begriffe und Definitionen (Vollarbeiter)",
		by:       byWorkers, per: 1e3, count: countIf((*Accident).isReportableInGermany)},
	{code: "PER-MILLION-HOURS", name: "Meldepflichtige Arbeitsunfälle je 1 Mio. Arbeitsstunden",
		unit: "accidents per 1,000,000 hours", counts: reportableWords,
		citation: "SGB VII § 193(1); DGUV, Arbeitsunfälle je 1 Million Arbeitsstunden",
		by:       byHours, per: 1e6, count: countIf((*Accident).isReportableInGermany)},
	{code: "ARBSCHG-6-2", name: "Zu erfassende Unfälle", unit: "accidents",
		counts:   "accidents after which somebody was wholly or partly unfit for more than 3 calendar days, or died",
		citation: "ArbSchG § 6(2)", by: byNothing,
		count: countIf((*Accident).IsRecordableInGermany)},
}

var britishRules = []figureRule{
	{code: "RIDDOR-INCIDENCE", name: "RIDDOR incidence rate", unit: "accidents per 100,000 employed",
		counts: "reportable accidents: more than 7 consecutive calendar days away or at restricted work, day of " +
			"the accident left out, a specified injury, or death within a year; commuting and roads left out",
		citation: "RIDDOR 2013 reg. 4, 6, 14(3); HSE, injury frequency rates",
		by:       byEmployees, per: 1e5, count: countIf((*Accident).IsReportableInBritain)},
	{code: "RIDDOR-FREQUENCY", name: "RIDDOR frequency rate", unit: "accidents per 1,000,000 hours",
		counts: "reportable accidents, likewise", citation: "RIDDOR 2013 reg. 4, 6, 14(3); HSE, injury frequency rates",
		by: byHours, per: 1e6, count: countIf((*Accident).IsReportableInBritain)},
	{code: "RIDDOR-RECORD", name: "Over-three-day injuries", unit: "accidents",
		counts:   "accidents with more than 3 consecutive calendar days away or at restricted work: recorded",
		citation: "RIDDOR 2013 reg. 12(1)(c)", by: byNothing,
		count: countIf((*Accident).IsRecordableInBritain)},
}

// unionCountries are those whose accidents go into the European statistics: the Union
// and the European Economic Area.
var unionCountries = []string{"AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE",
	"IS", "IT", "LI", "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK"}

// figuresOf are the rules of a country; none where no figure but OSHA's is known.
func figuresOf(country string) []figureRule {
	var rules []figureRule
	switch country {
	case "FR":
		rules = append(rules, frenchRules...)
	case "DE":
		rules = append(rules, germanRules...)
	case "GB":
		rules = append(rules, britishRules...)
	}
	if slices.Contains(unionCountries, country) {
		rules = append(rules, esawRule)
	}
	return rules
}
