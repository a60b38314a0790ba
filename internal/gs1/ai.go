package gs1

import (
	"strconv"
	"strings"
	"time"
)

// identifier describes what may follow an application identifier (GS1 General
// Specifications section 3).
type identifier struct {
	ai       string // digits; a fourth "n" stands for the number of decimals
	title    string // data title
	min, max int    // characters of the value
	numeric  bool   // digits alone, else character set 82
	check    bool   // ends in a check digit
	date     bool   // YYMMDD
	fixed    bool   // of the predefined length: no separator follows
}

func keyIdentifier(ai, title string, n int) identifier {
	return identifier{ai: ai, title: title, min: n, max: n, numeric: true, check: true, fixed: true}
}

func dateIdentifier(ai, title string) identifier {
	return identifier{ai: ai, title: title, min: 6, max: 6, numeric: true, date: true, fixed: true}
}

func measureIdentifier(ai, title string) identifier {
	return identifier{ai: ai, title: title, min: 6, max: 6, numeric: true, fixed: true}
}

func upTo(ai, title string, n int) identifier {
	return identifier{ai: ai, title: title, min: 1, max: n}
}

func numberIdentifier(ai, title string, n int) identifier {
	return identifier{ai: ai, title: title, min: 1, max: n, numeric: true}
}

// identifiers are the application identifiers that are read.
var identifiers = []identifier{
	keyIdentifier("00", "SSCC", lenSSCC), keyIdentifier("01", "GTIN", lenGTIN), keyIdentifier("02", "CONTENT", lenGTIN),
	upTo("10", "BATCH/LOT", 20),
	dateIdentifier(
		"11",
		"PROD DATE",
	), dateIdentifier("12", "DUE DATE"), dateIdentifier("13", "PACK DATE"), dateIdentifier("15", "BEST BEFORE"),
	dateIdentifier("16", "SELL BY"), dateIdentifier("17", "USE BY"),
	{ai: "20", title: "VARIANT", min: 2, max: 2, numeric: true, fixed: true},
	upTo("21", "SERIAL", 20), upTo("22", "CPV", 20),
	upTo("240", "ADDITIONAL ID", 30), upTo("241", "CUST. PART No.", 30), upTo("250", "SECONDARY SERIAL", 30),
	upTo("251", "REF. TO SOURCE", 30),
	upTo("254", "GLN EXTENSION COMPONENT", 20),
	numberIdentifier("30", "VAR. COUNT", 8), numberIdentifier("37", "COUNT", 8),
	measureIdentifier(
		"310n",
		"NET WEIGHT (kg)",
	), measureIdentifier("311n", "LENGTH (m)"), measureIdentifier("312n", "WIDTH (m)"),
	measureIdentifier("313n", "HEIGHT (m)"),
	measureIdentifier("315n", "NET VOLUME (l)"), measureIdentifier("320n", "NET WEIGHT (lb)"),
	measureIdentifier("330n", "GROSS WEIGHT (kg)"),
	upTo("400", "ORDER NUMBER", 30), upTo("401", "GINC", 30),
	{ai: "402", title: "GSIN", min: lenGSIN, max: lenGSIN, numeric: true, check: true},
	upTo("403", "ROUTE", 30),
	keyIdentifier(
		"410",
		"SHIP TO LOC",
		lenGLN,
	), keyIdentifier("411", "BILL TO", lenGLN), keyIdentifier("412", "PURCHASE FROM", lenGLN),
	keyIdentifier("413", "SHIP FOR LOC", lenGLN),
	keyIdentifier(
		"414",
		"LOC No.",
		lenGLN,
	), keyIdentifier("415", "PAY TO", lenGLN), keyIdentifier("416", "PROD/SERV LOC", lenGLN),
	keyIdentifier("417", "PARTY", lenGLN),
	upTo("420", "SHIP TO POST", 20),
	{ai: "421", title: "SHIP TO POST", min: 4, max: 12},
	{ai: "422", title: "ORIGIN", min: 3, max: 3, numeric: true},
	upTo("90", "INTERNAL", 30), upTo("91", "INTERNAL", 90), upTo("92", "INTERNAL", 90), upTo("93", "INTERNAL", 90),
	upTo("94", "INTERNAL", 90),
	upTo("95", "INTERNAL", 90), upTo("96", "INTERNAL", 90), upTo("97", "INTERNAL", 90), upTo("98", "INTERNAL", 90),
	upTo("99", "INTERNAL", 90),
}

// byDigits finds an identifier by its digits, "310n" by "310".
var byDigits = func() map[string]identifier {
	m := make(map[string]identifier, len(identifiers))
	for _, id := range identifiers {
		m[strings.TrimSuffix(id.ai, "n")] = id
	}
	return m
}()

// leadingIdentifier finds the identifier at the start of s and its full digits.
func leadingIdentifier(s string) (id identifier, ai string, ok bool) {
	for n := 2; n <= 3 && n <= len(s); n++ {
		id, ok = byDigits[s[:n]]
		if !ok {
			continue
		}
		if !strings.HasSuffix(id.ai, "n") {
			return id, s[:n], true
		}
		if len(s) > n && s[n] >= '0' && s[n] <= '9' {
			return id, s[:n+1], true
		}
		return id, "", false
	}
	return id, "", false
}

// findIdentifier finds an identifier whose digits are exactly ai.
func findIdentifier(ai string) (identifier, bool) {
	id, full, ok := leadingIdentifier(ai)
	return id, ok && full == ai
}

// valueProblem says what is wrong with a value, "" when nothing is.
func (id identifier) valueProblem(v string) string {
	switch {
	case len(v) < id.min || len(v) > id.max:
		return "has " + strconv.Itoa(len(v)) + " characters, not " + id.describeLength()
	case id.numeric && !areDigits(v):
		return "must be digits"
	case id.check && !Checked(v):
		return "has a wrong check digit"
	case id.date && !validDay(v):
		return "is no date YYMMDD"
	case id.ai == "421" && !areDigits(v[:3]):
		return "must begin with a country of three digits"
	}
	for i := range len(v) {
		if !inSet82(v[i]) {
			return "holds a character that GS1 does not know"
		}
	}
	return ""
}

func (id identifier) describeLength() string {
	if id.min == id.max {
		return strconv.Itoa(id.min)
	}
	return strconv.Itoa(id.min) + "-" + strconv.Itoa(id.max)
}

// inSet82 reports a character of the GS1 AI encodable character set 82 (General
// Specifications figure 7.11-1).
func inSet82(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		strings.IndexByte(`!"%&'()*+,-./_:;<=>?`, c) >= 0
}

// validDay reports YYMMDD, in whatever century: DD 00 is the end of the month.
func validDay(v string) bool {
	_, ok := Day(v, 2000)
	return ok
}

// Day turns YYMMDD into YYYY-MM-DD. DD 00 is the last day of the month. The
// century is that which lies nearest to the year given: two digits 51 or more
// ahead of its own are of the century before, 50 or more behind of the next
// (General Specifications 7.12).
func Day(yymmdd string, year int) (date string, ok bool) {
	if len(yymmdd) != 6 || !areDigits(yymmdd) {
		return "", false
	}
	yy, _ := strconv.Atoi(yymmdd[:2])
	month, _ := strconv.Atoi(yymmdd[2:4])
	d, _ := strconv.Atoi(yymmdd[4:])
	y := year - year%100 + yy
	if ahead := yy - year%100; ahead >= 51 {
		y -= 100
	} else if ahead <= -50 {
		y += 100
	}
	if month < 1 || month > 12 {
		return "", false
	}
	if d == 0 {
		return time.Date(y, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), true
	}
	t := time.Date(y, time.Month(month), d, 0, 0, 0, 0, time.UTC)
	return t.Format(time.DateOnly), int(t.Month()) == month
}

// YYMMDD writes YYYY-MM-DD as element strings hold it. ok is false for a date
// that would be read as one of another century in the year given.
func YYMMDD(date string, year int) (v string, ok bool) {
	if len(date) != len(time.DateOnly) {
		return "", false
	}
	v = date[2:4] + date[5:7] + date[8:10]
	again, ok := Day(v, year)
	return v, ok && again == date
}
