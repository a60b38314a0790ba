package osha

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/pdf"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// formDate is the date inside a form's file: the same records give the same bytes.
func (b *Book) formDate() time.Time { return time.Date(int(b.Year), 12, 31, 0, 0, 0, 0, time.UTC) }

func (b *Book) establishmentName() string {
	return joinPresent(b.Site.Name(), b.Site.City(), b.Site.State())
}

const confidential = "Confidential: holds information on employees' health. Use it for safety and health only (29 CFR 1904.29(b)(10))."

var logColumns = []pdf.Column{
	pdf.NewColumn("(A)\nNo.", 9, "R"), pdf.NewColumn("(B)\nEmployee", 31, "L"), pdf.NewColumn("(C)\nJob title", 25, "L"),
	pdf.NewColumn("(D)\nDate", 12, "L"), pdf.NewColumn("(E)\nWhere it happened", 31, "L"),
	pdf.NewColumn("(F)\nInjury or illness, parts of the body, object or substance", 58.4, "L"),
	pdf.NewColumn("(G)\nDeath", 10, "C"), pdf.NewColumn("(H)\nDays away", 9.5, "C"), pdf.NewColumn("(I)\nTransf. restr.", 11, "C"),
	pdf.NewColumn("(J)\nOther", 10, "C"), pdf.NewColumn("(K)\nDays away", 9.5, "R"), pdf.NewColumn("(L)\nDays restr.", 10, "R"),
	pdf.NewColumn("(M)\n1", 7, "C"), pdf.NewColumn("\n2", 6, "C"), pdf.NewColumn("\n3", 6, "C"), pdf.NewColumn("\n4", 6, "C"),
	pdf.NewColumn("\n5", 6, "C"), pdf.NewColumn("\n6", 6, "C"),
}

// Form300 draws the log as PDF, US letter. A privacy case shows no name
// (29 CFR 1904.29(b)(6)).
func (b *Book) Form300() ([]byte, error) {
	p, err := pdf.New(pdf.Paper{Across: true, Size: "Letter", Title: "OSHA form 300", Foot: confidential, Made: b.formDate()})
	if err != nil {
		return nil, err
	}
	p.AddPage()
	p.Heading("OSHA Form 300: log of work-related injuries and illnesses", b.establishmentName()+
		"\nEvery recordable case, entered within seven calendar days. Days are calendar days, the day of the injury left out, at most 180. One outcome, "+
		"the most serious.\nColumn M: 1 injury, 2 skin disorder, 3 respiratory condition, 4 poisoning, 5 hearing loss, 6 all other illnesses.",
		fmt.Sprintf("Year %d", b.Year))
	t := &pdf.Table{Page: p, Columns: logColumns, Size: 7}
	t.Header()
	for _, e := range b.Entries {
		t.Row(b.logLine(e), "")
	}
	if len(b.Entries) == 0 {
		cells := make([]string, len(logColumns))
		cells[5] = "No recordable cases."
		t.Row(cells, "")
	}
	t.Row(b.totalsLine(), "B")
	return p.Bytes()
}

func (b *Book) logLine(e Entry) []string {
	c := e.Case
	cells := []string{Number(c), Name(c), c.JobTitle(), b.Injured(e).Format("01/02"), c.WhereOccurred(), Description(c)}
	for _, o := range [...]string{"death", "days_away", "restricted", "other"} {
		cells = append(cells, crossMark(c.Outcome() == o))
	}
	days := e.onLog(e.Days.ToDate)
	cells = append(cells, dayCount(days.Away), dayCount(days.Restricted))
	for _, k := range [...]string{"injury", "skin_disorder", "respiratory", "poisoning", "hearing_loss", "other_illness"} {
		cells = append(cells, crossMark(c.IllnessType() == k))
	}
	return cells
}

func crossMark(yes bool) string {
	if yes {
		return "X"
	}
	return ""
}

func dayCount(n int64) string {
	if n > 0 {
		return formatWhole(n)
	}
	return ""
}

// totalsLine adds up the log itself: it may have gone on after the summary was
// certified.
func (b *Book) totalsLine() []string {
	sum := b.addUp(daysToDate)
	cells := []string{"", "", "", "", "", "Totals"}
	for _, name := range totals {
		cells = append(cells, formatWhole(intField(store.Row(sum), name)))
	}
	return cells
}

// Form300A draws the annual summary as PDF, US letter. It holds totals only.
func (b *Book) Form300A() ([]byte, error) {
	s := b.Sum()
	foot := "Posted from 1 February to 30 April of the year after (29 CFR 1904.32(b)(6)). Employees and their representatives may see the log (29 CFR 1904.35)."
	p, err := pdf.New(pdf.Paper{Size: "Letter", Title: "OSHA form 300A", Foot: foot, Made: b.formDate()})
	if err != nil {
		return nil, err
	}
	p.AddPage()
	p.Heading("OSHA Form 300A: summary of work-related injuries and illnesses",
		"Totals of the log (form 300) of this establishment. Zero means that there were none.", fmt.Sprintf("Year %d", b.Year))
	if s.Status() != "certified" && s.Status() != "submitted" {
		p.Face("B", 12)
		p.SetTextColor(170, 20, 20)
		p.CellFormat(0, 7, "DRAFT: not certified", "", 1, "L", false, 0, "")
		p.SetTextColor(0, 0, 0)
	}
	counts := func(title string, columns []pdf.Column, names ...string) {
		p.Section(title)
		cells := make([]string, len(names))
		for i, n := range names {
			cells[i] = formatWhole(intField(store.Row(s), n))
		}
		t := &pdf.Table{Page: p, Columns: columns, Size: 10}
		t.Header()
		t.Row(cells, "B")
	}
	counts("Number of cases", evenColumns(4, "(G) Deaths", "(H) Days away from work", "(I) Transfer or restriction", "(J) Other recordable"), totals[0:4]...)
	counts("Number of days", evenColumns(2, "(K) Days away from work", "(L) Days of transfer or restriction"), totals[4:6]...)
	counts("Types of injury and illness",
		evenColumns(6, "(M1) Injuries", "(M2) Skin disorders", "(M3) Respiratory", "(M4) Poisonings", "(M5) Hearing loss", "(M6) All other"), totals[6:12]...)
	b.establishmentPart(p, s)
	b.printCertificate(p, s)
	return p.Bytes()
}

// evenColumns divides the width of an upright page.
func evenColumns(n int, titles ...string) []pdf.Column {
	out := make([]pdf.Column, n)
	for i, t := range titles {
		out[i] = pdf.NewColumn(t, (215.9-2*pdf.Margin)/float64(n), "C")
	}
	return out
}

func (b *Book) establishmentPart(p *pdf.Page, s record.OSHASummary) {
	t := func(name string) string { return store.Row(b.Site).Text(name) }
	p.Section("Establishment")
	p.Field("Name", t("name"))
	p.Field("Company", t("company_name"))
	p.Field("Street, city, state, postal code", joinPresent(oneLine(t("address")), t("city"), strings.TrimSpace(t("state")+" "+t("zip"))))
	p.Field("Industry (NAICS)", strings.TrimSpace(t("industry_description")+"  "+t("naics")))
	p.Section("Employment")
	p.Field("Annual average number of employees", formatWhole(s.AvgEmployees()))
	p.Field("Total hours worked by all employees", formatWhole(s.HoursWorked()))
}

func (b *Book) printCertificate(p *pdf.Page, s record.OSHASummary) {
	p.Section("Certification")
	p.Face("", 8)
	p.MultiCell(0, 3.8,
		"By a company executive (29 CFR 1904.32(b)(3)-(4)): I have examined this summary; to the best of my knowledge its entries are true, accurate and "+
			"complete.", "", "L", false)
	p.Ln(1.5)
	p.Field("Name and title", joinPresent(s.CertifiedName(), s.CertifiedTitle()))
	p.Field("Phone", s.CertifiedPhone())
	on := ""
	if at := momentField(store.Row(s), "certified_at"); !at.IsZero() {
		on = at.In(b.Place).Format("01/02/2006")
	}
	p.Field("Certified on", on)
}

// Form301 draws the report of each case of the book as PDF, US letter, a new
// page for each.
func (b *Book) Form301() ([]byte, error) {
	p, err := pdf.New(pdf.Paper{Size: "Letter", Title: "OSHA form 301", Foot: confidential, Made: b.formDate()})
	if err != nil {
		return nil, err
	}
	for _, e := range b.Entries {
		p.AddPage()
		b.printReport(p, e)
	}
	return p.Bytes()
}

func (b *Book) printReport(p *pdf.Page, e Entry) {
	c := e.Case
	t := func(name string) string { return store.Row(c).Text(name) }
	no := "not recordable or undecided"
	if c.HasCaseNo() {
		no = Number(c)
	}
	p.Heading("OSHA Form 301: injury and illness incident report", b.establishmentName()+
		"\nCompleted within seven calendar days of the report, kept for five years (29 CFR 1904.29(b)(2)-(3), 1904.33).", fmt.Sprintf("Year %d", b.Year))
	p.Section("The employee")
	p.Field("1  Full name", t("employee_name"))
	p.Field("2  Address", t("employee_address"))
	p.Field("3, 4  Date of birth, date hired", joinPresent(formatAmericanDay(parseDay(t("birth_date"))), formatAmericanDay(parseDay(t("hire_date")))))
	p.Field("5  Sex", map[string]string{"M": "Male", "F": "Female"}[t("sex")])
	p.Section("Treatment")
	p.Field("6  Physician or other health care professional", t("physician"))
	p.Field("7  Where treatment was given, if away from the worksite", t("facility"))
	p.Field("8, 9  Emergency room; hospitalized overnight as in-patient",
		yesNo(c.EmergencyRoom())+"; "+yesNo(c.InPatient()))
	p.Section("The case")
	p.Field("10  Case number in the log", no)
	p.Field("11  Date of the injury or illness", formatAmericanDay(b.Injured(e)))
	at := b.Time(e)
	if at == "" {
		at = "cannot be determined"
	}
	p.Field("12, 13  Work began; time of the event", joinPresent(t("work_began"), at))
	p.Field("14  What the employee was doing just before", t("activity_before"))
	p.Field("15  What happened", t("what_happened"))
	p.Field("16  The injury or illness", t("injury_detail"))
	p.Field("17  Object or substance that directly harmed the employee", t("object_substance"))
	p.Field("18  Date of death", formatAmericanDay(parseDay(t("death_date"))))
	p.Section("Completed by")
	on := ""
	if at := momentField(store.Row(c), "entered_at"); !at.IsZero() {
		on = formatAmericanDay(localtime.DateOf(at, b.Place).UTC())
	}
	p.Field("Name, title, phone, date", joinPresent(t("completed_by"), t("completed_title"), t("completed_phone"), on))
}

// joinPresent lists what is there of several parts.
func joinPresent(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
