package osha

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/store"
)

// made is the date inside a form's file: the same records give the same bytes.
func (b *Book) made() time.Time { return time.Date(int(b.Year), 12, 31, 0, 0, 0, 0, time.UTC) }

func (b *Book) establishment() string {
	return joined(b.Site.Text("name"), b.Site.Text("city"), b.Site.Text("state"))
}

const confidential = "Confidential: holds information on employees' health. Use it for safety and health only (29 CFR 1904.29(b)(10))."

var logColumns = []column{{"(A)\nNo.", 9, "R"}, {"(B)\nEmployee", 31, "L"}, {"(C)\nJob title", 25, "L"}, {"(D)\nDate", 12, "L"},
	{"(E)\nWhere it happened", 31, "L"},
	{"(F)\nInjury or illness, parts of the body, object or substance", 58.4, "L"}, {"(G)\nDeath", 10, "C"}, {"(H)\nDays away", 9.5,
		"C"}, {"(I)\nTransf. restr.", 11, "C"}, {"(J)\nOther", 10, "C"},
	{"(K)\nDays away", 9.5, "R"}, {"(L)\nDays restr.", 10, "R"}, {"(M)\n1", 7, "C"}, {"\n2", 6, "C"}, {"\n3", 6, "C"}, {"\n4", 6, "C"}, {"\n5", 6,
		"C"}, {"\n6", 6, "C"}}

// Form300 draws the log as PDF, US letter. A privacy case shows no name
// (29 CFR 1904.29(b)(6)).
func (b *Book) Form300() ([]byte, error) {
	p, err := newPage("L", "OSHA form 300", confidential, b.made())
	if err != nil {
		return nil, err
	}
	p.pdf.AddPage()
	p.heading("OSHA Form 300: log of work-related injuries and illnesses", b.establishment()+
		"\nEvery recordable case, entered within seven calendar days. Days are calendar days, the day of the injury left out, at most 180. One outcome, "+
		"the most serious.\nColumn M: 1 injury, 2 skin disorder, 3 respiratory condition, 4 poisoning, 5 hearing loss, 6 all other illnesses.",
		fmt.Sprintf("Year %d", b.Year))
	t := &table{page: p, columns: logColumns, size: 7}
	t.header()
	for _, e := range b.Entries {
		t.row(b.line(e), "")
	}
	if len(b.Entries) == 0 {
		cells := make([]string, len(logColumns))
		cells[5] = "No recordable cases."
		t.row(cells, "")
	}
	t.row(b.totalsLine(), "B")
	return p.bytes()
}

func (b *Book) line(e Entry) []string {
	c := e.Case
	cells := []string{Number(c), Name(c), c.Text("job_title"), b.Injured(e).Format("01/02"), c.Text("where_occurred"), Description(c)}
	for _, o := range [...]string{"death", "days_away", "restricted", "other"} {
		cells = append(cells, cross(c.Text("outcome") == o))
	}
	cells = append(cells, days(c, "days_away"), days(c, "days_restricted"))
	for _, k := range [...]string{"injury", "skin_disorder", "respiratory", "poisoning", "hearing_loss", "other_illness"} {
		cells = append(cells, cross(c.Text("illness_type") == k))
	}
	return cells
}

func cross(yes bool) string {
	if yes {
		return "X"
	}
	return ""
}

func days(c store.Row, name string) string {
	if n := number(c, name); n > 0 {
		return whole(n)
	}
	return ""
}

// totalsLine adds up the log itself: it may have gone on after the summary was
// certified.
func (b *Book) totalsLine() []string {
	sum := (&Book{Site: b.Site, Year: b.Year, Entries: b.Entries}).Sum()
	cells := []string{"", "", "", "", "", "Totals"}
	for _, name := range totals {
		cells = append(cells, whole(number(sum, name)))
	}
	return cells
}

// Form300A draws the annual summary as PDF, US letter. It holds totals only.
func (b *Book) Form300A() ([]byte, error) {
	s := b.Sum()
	foot := "Posted from 1 February to 30 April of the year after (29 CFR 1904.32(b)(6)). Employees and their representatives may see the log (29 CFR 1904.35)."
	p, err := newPage("P", "OSHA form 300A", foot, b.made())
	if err != nil {
		return nil, err
	}
	p.pdf.AddPage()
	p.heading("OSHA Form 300A: summary of work-related injuries and illnesses",
		"Totals of the log (form 300) of this establishment. Zero means that there were none.", fmt.Sprintf("Year %d", b.Year))
	if s.Text("status") != "certified" && s.Text("status") != "submitted" {
		p.font("B", 12)
		p.pdf.SetTextColor(170, 20, 20)
		p.pdf.CellFormat(0, 7, "DRAFT: not certified", "", 1, "L", false, 0, "")
		p.pdf.SetTextColor(0, 0, 0)
	}
	counts := func(title string, columns []column, names ...string) {
		p.section(title)
		cells := make([]string, len(names))
		for i, n := range names {
			cells[i] = whole(number(s, n))
		}
		t := &table{page: p, columns: columns, size: 10}
		t.header()
		t.row(cells, "B")
	}
	counts("Number of cases", even(4, "(G) Deaths", "(H) Days away from work", "(I) Transfer or restriction", "(J) Other recordable"), totals[0:4]...)
	counts("Number of days", even(2, "(K) Days away from work", "(L) Days of transfer or restriction"), totals[4:6]...)
	counts("Types of injury and illness",
		even(6, "(M1) Injuries", "(M2) Skin disorders", "(M3) Respiratory", "(M4) Poisonings", "(M5) Hearing loss", "(M6) All other"), totals[6:12]...)
	b.establishmentPart(p, s)
	b.certificate(p, s)
	return p.bytes()
}

// even divides the width of an upright page.
func even(n int, titles ...string) []column {
	out := make([]column, n)
	for i, t := range titles {
		out[i] = column{t, (215.9 - 2*margin) / float64(n), "C"}
	}
	return out
}

func (b *Book) establishmentPart(p *page, s store.Row) {
	t := func(name string) string { return b.Site.Text(name) }
	p.section("Establishment")
	p.field("Name", t("name"))
	p.field("Company", t("company_name"))
	p.field("Street, city, state, postal code", joined(oneLine(t("address")), t("city"), strings.TrimSpace(t("state")+" "+t("zip"))))
	p.field("Industry (NAICS)", strings.TrimSpace(t("industry_description")+"  "+t("naics")))
	p.section("Employment")
	p.field("Annual average number of employees", whole(number(s, "avg_employees")))
	p.field("Total hours worked by all employees", whole(number(s, "hours_worked")))
}

func (b *Book) certificate(p *page, s store.Row) {
	p.section("Certification")
	p.font("", 8)
	p.pdf.MultiCell(0, 3.8,
		"By a company executive (29 CFR 1904.32(b)(3)-(4)): I have examined this summary; to the best of my knowledge its entries are true, accurate and "+
			"complete.", "", "L", false)
	p.pdf.Ln(1.5)
	p.field("Name and title", joined(s.Text("certified_name"), s.Text("certified_title")))
	p.field("Phone", s.Text("certified_phone"))
	on := ""
	if at := moment(s, "certified_at"); !at.IsZero() {
		on = at.In(b.Place).Format("01/02/2006")
	}
	p.field("Certified on", on)
}

// Form301 draws the report of each case of the book as PDF, US letter, a new
// page for each.
func (b *Book) Form301() ([]byte, error) {
	p, err := newPage("P", "OSHA form 301", confidential, b.made())
	if err != nil {
		return nil, err
	}
	for _, e := range b.Entries {
		p.pdf.AddPage()
		b.report(p, e)
	}
	return p.bytes()
}

func (b *Book) report(p *page, e Entry) {
	c := e.Case
	t := func(name string) string { return c.Text(name) }
	no := "not recordable or undecided"
	if c["case_no"] != nil {
		no = Number(c)
	}
	p.heading("OSHA Form 301: injury and illness incident report", b.establishment()+
		"\nCompleted within seven calendar days of the report, kept for five years (29 CFR 1904.29(b)(2)-(3), 1904.33).", fmt.Sprintf("Year %d", b.Year))
	p.section("The employee")
	p.field("1  Full name", t("employee_name"))
	p.field("2  Address", t("employee_address"))
	p.field("3, 4  Date of birth, date hired", joined(american(date(t("birth_date"))), american(date(t("hire_date")))))
	p.field("5  Sex", map[string]string{"M": "Male", "F": "Female"}[t("sex")])
	p.section("Treatment")
	p.field("6  Physician or other health care professional", t("physician"))
	p.field("7  Where treatment was given, if away from the worksite", t("facility"))
	p.field("8, 9  Emergency room; hospitalized overnight as in-patient", yesNo(flag(c, "emergency_room"))+"; "+yesNo(flag(c, "in_patient")))
	p.section("The case")
	p.field("10  Case number in the log", no)
	p.field("11  Date of the injury or illness", american(b.Injured(e)))
	at := b.Time(e)
	if at == "" {
		at = "cannot be determined"
	}
	p.field("12, 13  Work began; time of the event", joined(t("work_began"), at))
	p.field("14  What the employee was doing just before", t("activity_before"))
	p.field("15  What happened", t("what_happened"))
	p.field("16  The injury or illness", t("injury_detail"))
	p.field("17  Object or substance that directly harmed the employee", t("object_substance"))
	p.field("18  Date of death", american(date(t("death_date"))))
	p.section("Completed by")
	on := ""
	if at := moment(c, "entered_at"); !at.IsZero() {
		on = american(localDay(at, b.Place))
	}
	p.field("Name, title, phone, date", joined(t("completed_by"), t("completed_title"), t("completed_phone"), on))
}

// joined lists what is there of several parts.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
