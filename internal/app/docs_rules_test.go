package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"holdfast/internal/jobtitle"
	"holdfast/internal/safety"
	"holdfast/internal/store"
	"holdfast/internal/testkit"
)

// docs/rules.md says of every shipped rule what decides it, what absence means
// and what to record. HOLDFAST_WRITE_RULES=1 writes it anew.
func TestDocsRules(t *testing.T) {
	const path = "../../docs/rules.md"
	want := rulesPage(t)
	if os.Getenv("HOLDFAST_WRITE_RULES") != "" {
		testkit.Must(t, os.WriteFile(path, []byte(want), 0o644))
	}
	page, err := os.ReadFile(path)
	testkit.Must(t, err)
	if d := diff.Diff(string(page), want); d != "" {
		t.Errorf("%s says otherwise (-page +code); where the code is right, run this test with HOLDFAST_WRITE_RULES=1:\n%s",
			path, d)
	}
}

// metricWords are what a metric measures, in which unit, and what to record so
// that it can.
var metricWords = map[string]struct{ measures, unit, record string }{
	"osha_death_notice_hours": {"hours from when a death became known until OSHA was told, or until now; an incident that may be one counts from its report",
		"hours", "Incidents, the OSHA case of each with its outcome, and `osha_told_at`."},
	"osha_treatment_notice_hours": {"hours from when in-patient treatment, an amputation or the loss of an eye became known until OSHA was told, or until now",
		"hours", "Incidents, the OSHA case of each with what was done, and `osha_told_at`."},
	"log_delay_days": {"calendar days from the report of a case until it was decided whether it goes into the log, or until now; the slowest counts",
		"days", "Incidents and, for each injury and illness, its OSHA case: its `entered_at` ends the delay."},
	"calendar_deadline": {"days since the deadline of the first year whose duty is not met, negative before it; " +
		"of the establishments large enough the worst off counts",
		"days", ""}, // what to record is by its state
	"days_since_checklist": {"days since the last completed inspection with answers, however long ago",
		"days", "Inspections of the zone or the equipment, from a template with questions, or with a `score`."},
	"training_coverage": {"percent of the courses that a person needs, by job title and by the equipment of their shifts, with a valid certificate",
		"percent", "Courses with `required_for`, and the trainings of each person, completed by somebody else."},
	"weekly_hours_max": {"mean hours in seven days over the weeks with a shift", "hours",
		"Shifts with their beginning, end and breaks."},
	"rest_hours_min": {"the shortest rest between two shifts", "hours", "Shifts with their beginning and end."},
	"driving_week_hours": {"the most hours at the wheel in a week from Monday to Sunday", "hours",
		"Routes with their beginning, end and minutes at the wheel."},
	"driving_day_hours": {"the most hours at the wheel in a day", "hours",
		"Routes with their beginning, end and minutes at the wheel."},
	"driving_fortnight_hours": {"the most hours at the wheel in two weeks", "hours",
		"Routes with their beginning, end and minutes at the wheel."},
	"driving_stint_hours": {"the most hours at the wheel without a break", "hours",
		"Routes with their beginning, end and minutes at the wheel."},
	"driving_rest_hours": {"the shortest daily rest of a driver", "hours", "Routes with their beginning and end."},
	"predictive_score":   {"the newest official score", "points", "Incidents and shifts; the night computes the scores."},
	"overdue_actions": {"actions that are not done after their due moment", "actions",
		"Actions with a due day; verify what is done."},
}

// stateWords are what to record so that the summary of a year is in the state that a
// deadline asks for.
var stateWords = map[string]string{
	"osha_summary.posted": "The annual summary of each establishment and year: certify it and enter `posted_from`, " +
		"the day on which it was posted.",
	"osha_summary.submitted": "The annual summary of each establishment and year: certify it, submit its file to " +
		"OSHA and set its status to `submitted`.",
	"osha_summary.cases_submitted": "The log and the incident reports of each establishment and year: submit their " +
		"file to OSHA and enter `cases_submitted_on` in the annual summary.",
}

// windowless are the metrics that look at now, or at all that there is.
var windowless = map[string]bool{"calendar_deadline": true, "days_since_checklist": true, "predictive_score": true,
	"overdue_actions": true}

func rulesPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# The shipped rules\n\n" +
		"Written by `HOLDFAST_WRITE_RULES=1 go test ./internal/app -run TestDocsRules` and compared with the code by every " +
		"run of the tests. A new tenant has these regulations, those of its own jurisdictions active, or all where it " +
		"names none. From its first site with a country on they follow the sites: those of a jurisdiction are active " +
		"while a site that is not archived, or `tenants.jurisdictions`, lies in it, and drafts otherwise. US is the " +
		"United States and the territories where the OSH Act applies, EU the Union and the European Economic Area; a " +
		"site without a country is in the tenant's. Global ones are always active, and a tenant without a site keeps " +
		"what it has. Whoever sets the status of a rule, or changes it, has it in their own hands (`follows_sites` is " +
		"false) and no site switches it, until they set `follows_sites` again, without a status. A rule " +
		"that somebody wrote is never switched. At a tenant with sites inside and outside the United States a rule " +
		"of the United States is about accidents, places, things and people there, and one of the EU about none of " +
		"those; who or what is at no site may be under either law. The cited texts decide; a rule is a " +
		"reading of them that can be computed. How a verdict comes about: [formulas](formulas.md#verdicts).\n")
	for _, row := range safety.ShippedRegulations(nil) {
		r, err := safety.ParseRule(row["rule"].(json.RawMessage))
		testkit.Must(t, err)
		words, ok := metricWords[r.Metric]
		if !ok {
			t.Errorf("%s: nothing says what %s measures", row["code"], r.Metric)
		}
		record := words.record
		if r.State != "" {
			record = stateWords[r.State]
		}
		if record == "" {
			t.Errorf("%s: nothing says what to record", row["code"])
		}
		writeRule(&b, row, r, words.measures, words.unit, record)
	}
	return b.String()
}

func writeRule(b *strings.Builder, row store.Row, r *safety.Rule, measures, unit, record string) {
	fmt.Fprintf(b, "\n## %s: %s\n\n%s. Jurisdiction %s, category %s, severity %s.\n\n", row["code"], row["title"],
		row["citation"], row["jurisdiction"],
		row["category"], row["severity"])
	fmt.Fprintf(b, "- **Scope**: %s.\n", scopeWords(r))
	window := ""
	if !windowless[r.Metric] {
		window = fmt.Sprintf(" Looked at: the last %d days.", r.WindowDays)
	}
	fmt.Fprintf(b, "- **Decided by**: `%s`, from `%s`: %s.%s\n", r.Metric, r.Evidence.Of, measures, window)
	if r.Warn != nil {
		fmt.Fprintf(b, "- **Warning**: %s %s.\n", boundWords(r.Warn), unit)
	}
	if r.Breach != nil {
		fmt.Fprintf(b, "- **Breach**: %s %s.\n", boundWords(r.Breach), unit)
	} else {
		b.WriteString("- **Breach**: never; the cited text names no bound.\n")
	}
	if r.Evidence.Absence == safety.Breach {
		b.WriteString("- **Nothing on record**: a breach, for the law asks for the act itself.\n")
	} else {
		b.WriteString("- **Nothing on record**: no verdict, `insufficient_data`.\n")
	}
	fmt.Fprintf(b, "- **Record**: %s\n", record)
}

// scopeWords says whom a rule is about.
func scopeWords(r *safety.Rule) string {
	f := r.Scope.Filter
	of := "each " + strings.Join(r.Scope.EntityTypes, ", ")
	switch r.Per {
	case "tenant":
		of = "the tenant as a whole"
	case "site":
		of = "each site, recorded on its first zone"
	}
	for _, part := range []struct {
		name  string
		words []string
	}{{"incidents of kind", f.Kind}, {"zones of kind", f.ZoneKind}, {"equipment of kind", f.EquipmentKind},
		{"people with the job title", f.JobTitle}} {
		if len(part.words) > 0 {
			of += "; " + part.name + " " + strings.Join(part.words, ", ")
		}
	}
	if len(f.JobTitle) > 0 {
		of += ", in any language and spelling of the catalogue of roles"
		if kinds := jobtitle.EquipmentOf(jobtitle.Of(f.JobTitle[0])); len(kinds) > 0 {
			of += ", or who drove a " + strings.Join(kinds,
				", ") + " in a shift of the last " + strconv.Itoa(r.WindowDays) + " days"
		}
	}
	if f.SeverityMin != "" {
		of += "; from severity " + f.SeverityMin + " up"
	}
	if f.Checklist != "" {
		of += "; inspections with " + strconv.Quote(f.Checklist) + " in their title"
	}
	if r.Due != "" {
		of += "; due on " + r.Due + " of the next year; not where the industry of the establishment keeps no log " +
			"(appendix A to subpart B)"
	}
	for _, c := range r.AppliesIf {
		of += "; where " + conditionWords(&c)
	}
	return of
}

// conditionWords says where a rule applies.
func conditionWords(c *safety.Condition) string {
	switch c.Fact {
	case safety.SubmitsSummary:
		return "the establishment had 250 people or more at any time of the year and keeps a log, or 20 and more " +
			"in an industry of appendix A to subpart E (`naics` of the site, `peak_employees` of the year's summary, " +
			"else the workers' dates of hire and leaving); where nothing says so, `insufficient_data`"
	case safety.SubmitsCases:
		return "the establishment had 100 people or more at any time of the year, in an industry of appendix B to " +
			"subpart E; records from 2023 on; where nothing says so, `insufficient_data`"
	}
	return c.Fact + " is " + boundWords(&c.Bound)
}

func boundWords(b *safety.Bound) string {
	words := map[string]string{">": "above", ">=": "at least", "<": "below", "<=": "at most", "==": "exactly"}
	return words[b.Op] + " " + strconv.FormatFloat(b.Value, 'f', -1, 64)
}
