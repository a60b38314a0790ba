package osha

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// totals are the columns of an annual summary that the log adds up to.
var totals = [...]string{"total_deaths", "total_dafw_cases", "total_djtr_cases", "total_other_cases", "total_dafw_days", "total_djtr_days",
	"total_injuries", "total_skin_disorders", "total_respiratory_conditions", "total_poisonings", "total_hearing_loss", "total_other_illnesses"}

var (
	outcomeTotal = map[string]string{
		"death":      "total_deaths",
		"days_away":  "total_dafw_cases",
		"restricted": "total_djtr_cases",
		"other":      "total_other_cases",
	}
	kindTotal = map[string]string{"injury": "total_injuries", "skin_disorder": "total_skin_disorders", "respiratory": "total_respiratory_conditions",
		"poisoning": "total_poisonings", "hearing_loss": "total_hearing_loss", "other_illness": "total_other_illnesses"}
)

// Total fills the totals of a summary from the recordable cases of its
// establishment and year.
func Total(sum record.OSHASummary, log []record.OSHACase) {
	for _, t := range totals {
		sum[t] = int64(0)
	}
	for _, c := range log {
		if c.Recordable() == "yes" && c.SiteIDOrNull() == sum.SiteIDOrNull() && c.YearOrNull() == sum.YearOrNull() {
			enterTotals(sum, line{c.Outcome(), c.IllnessType(), 1, c.DaysAway(), c.DaysRestricted()})
		}
	}
}

// line is n cases of the log that are alike.
type line struct {
	outcome, kind       string
	n, away, restricted int64
}

func enterTotals(sum record.OSHASummary, l line) {
	for name, n := range map[string]int64{outcomeTotal[l.outcome]: l.n, kindTotal[l.kind]: l.n, "total_dafw_days": l.away, "total_djtr_days": l.restricted} {
		if name != "" {
			sum[name] = intField(store.Row(sum), name) + n
		}
	}
}

// Size is the size class of an establishment by the most employees it had at
// any time of the year: 1 under 20, 21 under 100, 22 under 250, else 3 (OSHA
// Injury Tracking Application, data dictionary).
func Size(employees int64) int64 {
	switch {
	case employees < 20:
		return 1
	case employees < 100:
		return 21
	case employees < 250:
		return 22
	}
	return 3
}

// countCases is G+H+I+J.
func countCases(s record.OSHASummary) int64 {
	return s.TotalDeaths() + s.TotalDAFWCases() + s.TotalDJTRCases() + s.TotalOtherCases()
}

// peakEmployees is the most employees of the year, as far as that is known.
func peakEmployees(s record.OSHASummary) int64 {
	return max(s.PeakEmployees(), s.AvgEmployees())
}

// ita cites where the rules of the submission come from.
const ita = "29 CFR 1904.41, Injury Tracking Application"

var (
	poBox     = regexp.MustCompile(`(?i)\bp\.?\s*o\.?\s*box\b|\bpost\s+office\s+box\b`)
	nineDigit = regexp.MustCompile(`^[0-9]{9}$`)
	sixDigit  = regexp.MustCompile(`^[0-9]{6}$`)
	zipCode   = regexp.MustCompile(`^[0-9]{5}(-?[0-9]{4})?$`)
	stateCode = regexp.MustCompile(`^[A-Z]{2}$`)
)

// CheckSummary holds the totals of a summary to the arithmetic that OSHA's
// Injury Tracking Application asks for. The fault names every broken rule.
func CheckSummary(s record.OSHASummary) error {
	n := func(name string) int64 { return intField(store.Row(s), name) }
	kinds := int64(0)
	for _, k := range kindTotal {
		kinds += n(k)
	}
	g, h, i, k, l := n("total_deaths"), n("total_dafw_cases"), n("total_djtr_cases"), n("total_dafw_days"), n("total_djtr_days")
	perHead := 0.0
	if n("avg_employees") > 0 {
		perHead = float64(n("hours_worked")) / float64(n("avg_employees"))
	}
	var c complaints
	c.addUnless(g >= 0 && kinds == countCases(s), "total_injuries", "M1 to M6 add up to %d, G to J to %d: they must agree", kinds, countCases(s))
	c.addUnless((h > 0) == (k > 0), "total_dafw_days", "%d cases with days away and %d days away: both or neither", h, k)
	c.addUnless(k >= h, "total_dafw_days", "%d days away for %d cases: at least one for each", k, h)
	c.addUnless(i == 0 || l > 0, "total_djtr_days", "%d cases of restricted work need days of it", i)
	c.addUnless(l == 0 || h+i > 0, "total_djtr_cases", "%d days of restricted work need a case with days away or restricted", l)
	c.addUnless(perHead > 500 && perHead < 8760, "hours_worked", "%.0f hours for each employee; it must be more than 500 and less than 8,760", perHead)
	return c.faultOf("the summary")
}

// noteDoubt writes down what a summary states that may be right and is seldom so: it
// is shown beside the figures and stops no certification. Three people with three
// cases in a year are as lawful as any: 29 CFR 1904.32(a) asks for the cases as they
// were.
func noteDoubt(s record.OSHASummary) {
	var doubt any
	if cases, employees := countCases(s), s.AvgEmployees(); cases > 0 && employees <= cases {
		doubt = fmt.Sprintf("as many cases (%d) as employees (%d) or more, which is rare", cases, employees)
	}
	s.SetDoubtOrNull(doubt)
}

// CheckEstablishment holds a site to what the submission needs of it. The fault
// names every broken rule.
func CheckEstablishment(site record.Site) error {
	var c complaints
	t := func(name string) string { return store.Row(site).Text(name) }
	c.addUnless(t("name") != "" && countLetters(t("name")) <= 100, "name", "is needed, of at most 100 characters")
	c.addUnless(countLetters(t("company_name")) <= 100, "company_name", "has more than 100 characters")
	c.addUnless(t("ein") == "" || nineDigit.MatchString(t("ein")), "ein", "must have nine digits")
	street := oneLine(t("address"))
	c.addUnless(street != "" && countLetters(street) <= 100, "address", "is needed, of at most 100 characters")
	c.addUnless(!poBox.MatchString(street), "address", "must be a street: no post office box")
	c.addUnless(t("city") != "" && countLetters(t("city")) <= 100, "city", "is needed")
	c.addUnless(stateCode.MatchString(t("state")), "state", "must be two capital letters")
	c.addUnless(zipCode.MatchString(t("zip")), "zip", "must have five or nine digits")
	c.addUnless(sixDigit.MatchString(t("naics")), "naics", "must have six digits")
	c.addUnless(countLetters(t("industry_description")) <= 300, "industry_description", "has more than 300 characters")
	n := site.EstablishmentType()
	c.addUnless(n >= 1 && n <= 3, "establishment_type", "must be 1 (not a government), 2 (state) or 3 (local)")
	return c.faultOf("the establishment")
}

func countLetters(s string) int { return utf8.RuneCountInString(s) }

// complaints gathers broken rules, so that they can be mended in one go.
type complaints []fault.Field

func (c *complaints) addUnless(ok bool, field, format string, args ...any) {
	if !ok {
		f := fault.New(fault.Invalid, "", "").At(field, format, args...)
		*c = append(*c, f.Fields...)
	}
}

func (c complaints) faultOf(what string) error {
	if len(c) == 0 {
		return nil
	}
	say := make([]string, len(c))
	for i, f := range c {
		say[i] = f.Name + " " + f.Msg
	}
	f := fault.New(fault.Invalid, CodeRule, "%s breaks rules of the submission: %s (%s)", what, strings.Join(say, "; "), ita).With("rule: "+ita, "")
	f.Fields = c
	return f
}

// oneLine joins the lines of an address.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
