package osha

import (
	"strconv"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Sheet is a file's header and rows, as text.
type Sheet struct {
	Header []string
	Rows   [][]string
}

// guardTexts guards what a spreadsheet program would run as a formula, in a list that
// people open with one. OSHA's files are not for that: an apostrophe before a text
// would be filed with it.
func (s *Sheet) guardTexts() *Sheet {
	for _, row := range s.Rows {
		for i := range row {
			row[i] = query.Guard(row[i])
		}
	}
	return s
}

var summaryColumns = []string{"establishment_name", "ein", "company_name", "street_address", "city", "state", "zip", "naics_code",
	"industry_description", "size", "establishment_type",
	"year_filing_for", "annual_average_employees", "total_hours_worked", "no_injuries_illnesses", "total_deaths", "total_dafw_cases",
	"total_djtr_cases", "total_other_cases", "total_dafw_days",
	"total_djtr_days", "total_injuries", "total_skin_disorders", "total_respiratory_conditions", "total_poisonings",
	"total_hearing_loss", "total_other_illnesses", "change_reason"}

// SummarySheet is the file of 300A data for OSHA's Injury Tracking Application.
// A certified summary is needed, and every rule of the submission holds before
// a byte is written; the fault names those that do not.
func (b *Book) SummarySheet() (*Sheet, error) {
	s := b.Summary
	if s == nil {
		return nil, fault.New(fault.NotFound, "PGRST116", "there is no summary of %d for this establishment: make one in osha_summaries", b.Year)
	}
	if s.Status() == "open" {
		return nil, refuseEarly("29 CFR 1904.32(b)(3)", "the summary of %d is not certified", b.Year)
	}
	if err := CheckEstablishment(b.Site); err != nil {
		return nil, err
	}
	if err := CheckSummary(s); err != nil {
		return nil, err
	}
	had := "1"
	if countCases(s) == 0 {
		had = "2"
	}
	t := func(name string) string { return store.Row(b.Site).Text(name) }
	row := []string{t("name"), t("ein"), t("company_name"), oneLine(t("address")), t("city"), t("state"), t("zip"), t("naics"),
		t("industry_description"), formatWhole(Size(peakEmployees(s))),
		formatWhole(
			b.Site.EstablishmentType(),
		), formatWhole(b.Year), formatWhole(s.AvgEmployees()), formatWhole(s.HoursWorked()), had}
	for _, name := range totals {
		row = append(row, formatWhole(intField(store.Row(s), name)))
	}
	return &Sheet{summaryColumns, [][]string{append(row, s.ChangeReason())}}, nil
}

var caseColumns = []string{"establishment_name", "year_of_filing", "case_number", "job_title", "date_of_incident", "incident_location",
	"incident_description", "incident_outcome", "dafw_num_away",
	"djtr_num_tr", "type_of_incident", "date_of_birth", "date_of_hire", "sex", "treatment_facility_type", "treatment_in_patient",
	"time_started_work", "time_of_incident", "time_unknown",
	"nar_before_incident", "nar_what_happened", "nar_injury_illness", "nar_object_substance", "date_of_death"}

var (
	outcomeCode = map[string]string{"death": "1", "days_away": "2", "restricted": "3", "other": "4"}
	kindCode    = map[string]string{"injury": "1", "skin_disorder": "2", "respiratory": "3", "poisoning": "4", "hearing_loss": "5", "other_illness": "6"}
)

// needed are the parts of form 301 that case data must have. When work began is
// not among them: an illness has no such time.
var needed = [...]string{"birth_date", "hire_date", "activity_before", "what_happened", "injury_detail", "object_substance"}

// longestLine bounds columns E and F in the file, in characters.
const longestLine = 255

// CaseSheet is the file of 300/301 case data (OSHA, Injury Tracking Application,
// CSV documentation for forms 300 and 301, at osha.gov/injuryreporting; the codes
// were held against two other public implementations of it): incident_outcome 1
// death, 2 days away, 3 restriction or transfer, 4 other; type_of_incident 1
// injury, 2 skin disorder, 3 respiratory condition, 4 poisoning, 5 hearing loss,
// 6 all other illnesses; sex M, F or empty; treatment_facility_type 1 treated in
// an emergency room, else 0; treatment_in_patient 1 hospitalized overnight, else
// 0; days as MM/DD/YYYY, times as HH:MM, time_unknown 1 where there is none.
// Days of those who are still away are as expected, as in the summary that goes with
// the file (29 CFR 1904.7(b)(3)(ix)). It holds no names (29 CFR 1904.41(b)(9)); a privacy case's discreet
// description stands in it. The fault names cases that are not complete.
func (b *Book) CaseSheet() (*Sheet, error) {
	var c complaints
	c.addUnless(b.Site.Name() != "" && countLetters(b.Site.Name()) <= 100, "name",
		"of the establishment is needed, of at most 100 characters")
	sheet := &Sheet{Header: caseColumns}
	for _, e := range b.Entries {
		for _, f := range needed {
			c.addUnless(store.Row(e.Case).Text(f) != "", f, "is missing in case %s", Number(e.Case))
		}
		c.addUnless(
			countLetters(e.Case.WhereOccurred()) <= longestLine,
			"where_occurred",
			"of case %s has more than %d characters",
			Number(e.Case),
			longestLine,
		)
		c.addUnless(
			countLetters(oneLine(Description(e.Case))) <= longestLine,
			"description",
			"of case %s has more than %d characters",
			Number(e.Case),
			longestLine,
		)
		sheet.Rows = append(sheet.Rows, b.caseRow(e))
	}
	if err := c.faultOf("the case data"); err != nil {
		return nil, err
	}
	return sheet, nil
}

func (b *Book) caseRow(e Entry) []string {
	c := e.Case
	t := func(name string) string { return store.Row(c).Text(name) }
	at := b.Time(e)
	days := e.onLog(e.Days.Expected)
	return []string{b.Site.Name(), formatWhole(b.Year), Number(c), t("job_title"), formatAmericanDay(b.Injured(e)),
		t("where_occurred"),
		oneLine(Description(c)), outcomeCode[t("outcome")],
		formatWhole(days.Away), formatWhole(days.Restricted), kindCode[t("illness_type")],
		formatAmericanDay(parseDay(t("birth_date"))), formatAmericanDay(parseDay(t("hire_date"))), t("sex"),
		formatBit(c.EmergencyRoom()), formatBit(boolField(
			store.Row(c),
			"in_patient",
		)), t("work_began"), at, formatBit(at == ""), oneLine(t("activity_before")), oneLine(t("what_happened")), oneLine(t("injury_detail")),
		oneLine(t("object_substance")), formatAmericanDay(parseDay(t("death_date")))}
}

func formatWhole(n int64) string { return strconv.FormatInt(n, 10) }

func formatBit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// formatAmericanDay writes a day as MM/DD/YYYY; the zero time is "".
func formatAmericanDay(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("01/02/2006")
}

// Redact takes out of a book what tells who a case is about, for those to whom
// the log is shown beyond employees and the government
// (29 CFR 1904.29(b)(10)).
func (b *Book) Redact() {
	for i, e := range b.Entries {
		c := record.OSHACase{}
		for k, v := range e.Case {
			c[k] = v
		}
		for _, f := range [...]string{"birth_date", "sex", "employee_address", "hire_date", "physician"} {
			c[f] = nil
		}
		c.SetEmployeeName("Withheld")
		b.Entries[i].Case = c
	}
}
