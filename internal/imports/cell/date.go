package cell

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Orders of day, month and year in a date of three numbers. A year in front has
// two digits: one of four tells itself.
const (
	DMY = "dmy"
	MDY = "mdy"
	YMD = "ymd"
)

var orders = [...]string{DMY, MDY, YMD}

// ErrDate says that a text is no date.
var ErrDate = errors.New("is not a date")

// Dates collects, over a column, what tells the order of day, month and year.
type Dates struct {
	against  [len(orders)]int    // values that do not read in an order
	examples [len(orders)]string // the first that the two orders but this one read differently
	dashed   bool                // the year may stand in front, before a dash
	other    bool                // it may before another mark, and the day or the month as well
}

// Add looks at one value.
func (d *Dates) Add(s string) {
	p, _, ok := splitDate(s)
	if !ok || p.isCertain() {
		return
	}
	var read [len(orders)]date
	some := false
	for i, order := range orders {
		read[i], _ = p.readIn(order)
		some = some || read[i] != date{}
	}
	if !some {
		return
	}
	d.dashed = d.dashed || p.front && p.dashed
	d.other = d.other || p.front && !p.dashed && (read[0] != date{} || read[1] != date{})
	for i, order := range orders {
		if read[i] == (date{}) {
			d.against[i]++
		}
		x, y := read[(i+1)%len(orders)], read[(i+2)%len(orders)]
		if x != (date{}) && y != (date{}) && x != y && d.examples[i] == "" && (p.dashed || order == YMD) {
			d.examples[i] = strings.Clone(strings.TrimSpace(s)) // not the whole row with it
		}
	}
}

// possibleOrders are the orders that all values read in. The year in front is one where
// some value has dashes, as ISO 8601 wants them before it, or where none reads
// otherwise, as 85/03/14: 31/01/25 and 31.01.25 are written with the day in front,
// and 32/01/25 among them is a slip.
func (d *Dates) possibleOrders() []string {
	var out []string
	for i, n := range d.against {
		if n == 0 && (orders[i] != YMD || d.dashed || !d.other) {
			out = append(out, orders[i])
		}
	}
	return out
}

// Orders are those to read the column's values in, where an order may be given:
// that one, unless it is no order of theirs; otherwise what they prove, or do not
// rule out. None is any.
func (d *Dates) Orders(given string) []string {
	left := d.possibleOrders()
	at := slices.Index(orders[:], given)
	switch {
	case at >= 0 && (d.against[at] == 0 || len(left) == 0):
		return orders[at : at+1]
	case at >= 0 && given != YMD && !slices.Equal(left, []string{YMD}):
		return orders[at : at+1] // what has the other of day and month in front is an error
	case len(left) == len(orders):
		return nil
	}
	return left
}

// Unclear reports values with several readings of which none is proven: the
// first of them, and the orders it may be in. Without orders some values prove
// one and some another.
func (d *Dates) Unclear() (example string, in []string, asks bool) {
	in = d.possibleOrders()
	switch len(in) {
	case 0:
		return "", nil, true
	case 1:
		return "", nil, false
	}
	for i, e := range d.examples {
		if e != "" && (len(in) == len(orders) || !slices.Contains(in, orders[i])) {
			return e, in, true
		}
	}
	return "", nil, false
}

// day is a date as written: a and b are day and month in either order unless
// iso or named says which is which (then a is the month); or, in front of last,
// year and month.
type day struct {
	year, a, b int
	last       int
	front      bool // the year may stand in front
	dashed     bool // with dashes between the three
	iso, named bool
	short      bool // the year has two digits
}

func (d day) isCertain() bool { return d.iso || d.named }

// date is a year, month and day of the calendar.
type date struct{ year, month, day int }

// readIn reads the date in an order; the zero date where it cannot be read so.
func (d day) readIn(order string) (x date, ok bool) {
	switch {
	case d.isCertain() || order == MDY:
		x = date{d.year, d.a, d.b}
	case order == DMY:
		x = date{d.year, d.b, d.a}
	case order == YMD && d.front:
		x = date{fullYear(d.a), d.b, d.last}
	}
	if x.month < 1 || x.month > 12 || x.day < 1 || x.day > 31 {
		return date{}, false
	}
	return x, true
}

// ordersOf are the orders that a text may be in, of some. Where several are
// possible the year stands in front of dashes alone.
func (d day) ordersOf(in []string) []string {
	if len(in) == 0 {
		in = orders[:]
	}
	if n := len(in) - 1; n > 0 && in[n] == YMD && !d.dashed {
		in = in[:n]
	}
	return in
}

// possibleDates are the different dates that a text may be, in some orders.
func (d day) possibleDates(in []string) []date {
	var out []date
	for _, order := range in {
		if x, ok := d.readIn(order); ok && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// Readings are the dates that a text may be in some orders, as people say them.
func Readings(s string, in []string) []string {
	p, _, ok := splitDate(s)
	if !ok {
		return nil
	}
	var out []string
	for _, x := range p.possibleDates(p.ordersOf(in)) {
		out = append(out, fmt.Sprintf("%d %s %d", x.day, time.Month(x.month), x.year))
	}
	return out
}

// Moment is a date with or without time of day.
type Moment struct {
	Date    time.Time // midnight UTC of the calendar day
	Clock   time.Duration
	HasTime bool
	Short   bool           // its year has two digits
	Zone    *time.Location // nil = not said
}

// Exists reports whether clocks in loc showed the time: an hour is left out when
// summer time begins.
func (m Moment) Exists(loc *time.Location) bool {
	if !m.HasTime || m.Zone != nil {
		return true
	}
	at := m.In(loc).In(loc)
	clock := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	return clock == m.Clock.Truncate(time.Minute)
}

// InThePast is the moment with a year of two digits that lies before now, where
// it would lie behind: who was hired on 15/03/58 was so in 1958.
func (m Moment) InThePast(now time.Time) Moment {
	if m.Short && m.Date.After(now.AddDate(0, 0, 1)) {
		m.Date = m.Date.AddDate(-100, 0, 0)
	}
	return m
}

// In is the instant: in its own zone, else in loc.
func (m Moment) In(loc *time.Location) time.Time {
	if m.Zone != nil {
		loc = m.Zone
	}
	y, mo, d := m.Date.Date()
	h, rest := int(m.Clock/time.Hour), m.Clock%time.Hour
	return time.Date(y, mo, d, h, 0, 0, 0, loc).Add(rest).UTC()
}

// Date reads a date with an optional time of day: ISO 8601, three numbers in
// one of the given orders separated by / - or ., and month names in full
// or abbreviated. Years of two digits mean 1970 to 2069. A text that the orders read
// differently is none; no order given is any.
func Date(s string, in ...string) (Moment, error) {
	p, rest, ok := splitDate(s)
	if !ok {
		return Moment{}, ErrDate
	}
	x, err := p.readOnly(in)
	if err != nil {
		return Moment{}, err
	}
	m := Moment{Date: time.Date(x.year, time.Month(x.month), x.day, 0, 0, 0, 0, time.UTC), Short: p.short}
	if m.Date.Day() != x.day || x.year < 1 {
		return Moment{}, errNoDay
	}
	if rest == "" {
		return m, nil
	}
	m.HasTime = true
	m.Clock, m.Zone, err = parseClock(rest)
	return m, err
}

// ErrOrder says that a text is several dates, and nothing tells which.
var ErrOrder = errors.New("may be more than one date: write the year first, with four digits, or say for the whole file which comes first, the day, " +
	"the month or the year (date order)")

var errNoDay = errors.New("is a day that does not exist")

// firsts is what stands first in each order.
var firsts = map[string]string{DMY: "day", MDY: "month", YMD: "year"}

// readOnly is the only date that the text is in some orders.
func (d day) readOnly(in []string) (date, error) {
	in = d.ordersOf(in)
	switch all := d.possibleDates(in); {
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		return date{}, ErrOrder
	case len(d.possibleDates(orders[:])) == 0:
		return date{}, errNoDay
	}
	first := make([]string, len(in))
	for i, order := range in {
		first[i] = firsts[order]
	}
	return date{}, fmt.Errorf("is not a date with the %s first", strings.Join(first, " or the "))
}

// splitDate cuts a text into its date and what follows it.
func splitDate(s string) (d day, rest string, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < 6 || len(s) > 64 {
		return d, "", false
	}
	if s[0] < '0' || s[0] > '9' || hasLetterDate(s) {
		return namedParts(s)
	}
	end := len(s)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == ' ' || c == 'T' || c == 't' {
			end = i
			break
		}
	}
	date := s[:end]
	if end < len(s) {
		rest = strings.TrimSpace(s[end+1:])
	}
	sep := strings.IndexAny(date, "-/.")
	if sep < 0 {
		return readCompact(date, rest)
	}
	f := strings.Split(date, date[sep:sep+1])
	if len(f) != 3 {
		return d, "", false
	}
	n, ok := parseNumbers(f)
	switch {
	case !ok:
		return d, "", false
	case len(f[0]) == 4:
		return day{year: n[0], a: n[1], b: n[2], iso: true}, rest, len(f[1]) <= 2 && len(f[2]) <= 2
	case len(f[2]) == 4:
		return day{year: n[2], a: n[0], b: n[1]}, rest, len(f[0]) <= 2 && len(f[1]) <= 2
	case len(f[2]) == 2:
		d = day{year: fullYear(n[2]), a: n[0], b: n[1], last: n[2], front: len(f[0]) == 2, dashed: date[sep] == '-',
			short: true}
		return d, rest, len(f[0]) <= 2 && len(f[1]) <= 2
	}
	return d, "", false
}

// readCompact reads YYYYMMDD.
func readCompact(date, rest string) (day, string, bool) {
	if len(date) != 8 {
		return day{}, "", false
	}
	n, ok := parseNumbers([]string{date[:4], date[4:6], date[6:]})
	if !ok {
		return day{}, "", false
	}
	return day{year: n[0], a: n[1], b: n[2], iso: true}, rest, true
}

func parseNumbers(f []string) (n [3]int, ok bool) {
	for i, s := range f {
		if s == "" || len(s) > 4 {
			return n, false
		}
		for _, c := range s {
			if c < '0' || c > '9' {
				return n, false
			}
		}
		n[i], _ = strconv.Atoi(s)
	}
	return n, true
}

func fullYear(y int) int {
	if y < 70 {
		return 2000 + y
	}
	return 1900 + y
}

// hasLetterDate reports a month name near the start: "31-Jan-2025".
func hasLetterDate(s string) bool {
	for i := 1; i < len(s) && i < 5; i++ {
		if c := s[i] | 0x20; c >= 'a' && c <= 'z' && c != 't' {
			return true
		}
	}
	return false
}

// namedParts reads "31 Jan 2025", "31-January-25" and "Jan 31, 2025".
func namedParts(s string) (d day, rest string, ok bool) {
	f := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' || r == '/' || r == ',' || r == '.' })
	f = slices.DeleteFunc(f, func(word string) bool {
		return strings.EqualFold(word, "de") || strings.EqualFold(word, "do")
	})
	if len(f) < 3 {
		return d, "", false
	}
	dayText, name := strings.TrimRight(f[0], "ºª°"), f[1]
	dayText = strings.TrimSuffix(dayText, "er") // 1er mars
	if c := f[0][0] | 0x20; c >= 'a' && c <= 'z' {
		dayText, name = f[1], f[0]
	}
	month := monthOf(name)
	n, ok := parseNumbers([]string{dayText, f[2], "0"})
	if month == 0 || !ok || len(dayText) > 2 || len(f[2]) != 2 && len(f[2]) != 4 {
		return d, "", false
	}
	year := n[1]
	if len(f[2]) == 2 {
		year = fullYear(year)
	}
	return day{year: year, a: month, b: n[0], named: true, short: len(f[2]) == 2}, strings.Join(f[3:], " "), true
}

// parseClock reads a time of day: h:mm, with seconds, fractions, am or pm, and a
// zone: Z, +hh:mm, an abbreviation, a region's word or a name (see named).
func parseClock(s string) (time.Duration, *time.Location, error) {
	bad := errors.New("has a time of day that cannot be read")
	body, zone, err := splitZone(strings.TrimSpace(s))
	if err != nil {
		return 0, nil, bad
	}
	body = strings.ToLower(body)
	half := ""
	for _, suffix := range []string{"am", "pm"} {
		if b, ok := strings.CutSuffix(body, suffix); ok {
			body, half = strings.TrimSpace(b), suffix
		}
	}
	f := strings.Split(body, ":")
	if len(f) < 2 || len(f) > 3 {
		return 0, nil, bad
	}
	h, err1 := parseDigits(f[0], 23)
	m, err2 := parseDigits(f[1], 59)
	if err1 != nil || err2 != nil || half != "" && (h < 1 || h > 12) {
		return 0, nil, bad
	}
	if half != "" {
		h %= 12
		if half == "pm" {
			h += 12
		}
	}
	total := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if len(f) == 3 {
		sec, err := parseSeconds(f[2])
		if err != nil {
			return 0, nil, bad
		}
		total += sec
	}
	return total, zone, nil
}

// splitZone takes the zone off the end of a time.
func splitZone(s string) (string, *time.Location, error) {
	if body, word := splitZoneWord(s); word != "" {
		zone := findZone(word)
		if zone == nil {
			return "", nil, ErrDate
		}
		return body, zone, nil
	}
	i := strings.LastIndexAny(s, "+-")
	if i < 0 {
		return s, nil, nil
	}
	off := strings.ReplaceAll(s[i+1:], ":", "")
	if len(off) == 2 {
		off += "00"
	}
	if len(off) != 4 {
		return "", nil, ErrDate
	}
	h, err1 := parseDigits(off[:2], 14)
	m, err2 := parseDigits(off[2:], 59)
	if err1 != nil || err2 != nil {
		return "", nil, ErrDate
	}
	sec := h*3600 + m*60
	if s[i] == '-' {
		sec = -sec
	}
	return strings.TrimSpace(s[:i]), time.FixedZone("", sec), nil
}

// splitZoneWord cuts a time at the word of its zone, which begins with a letter that
// does not say which half of the day it is.
func splitZoneWord(s string) (body, word string) {
	for i := 0; i < len(s); i++ {
		switch c := s[i] | 0x20; {
		case c < 'a' || c > 'z':
			continue
		case (c == 'a' || c == 'p') && i+1 < len(s) && s[i+1]|0x20 == 'm' &&
			(i+2 == len(s) || s[i+2] == ' ' || s[i+2] == '('):
			i++
			continue
		}
		return strings.TrimRight(s[:i], " ("), s[i:]
	}
	return s, ""
}

func parseDigits(s string, most int) (int, error) {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || len(s) > 2 || int(n) > most {
		return 0, ErrDate
	}
	return int(n), nil
}

func parseSeconds(s string) (time.Duration, error) {
	whole, frac, _ := strings.Cut(s, ".")
	n, err := parseDigits(whole, 59)
	if err != nil || len(frac) > 9 {
		return 0, ErrDate
	}
	d := time.Duration(n) * time.Second
	unit := time.Second / 10
	for _, c := range frac {
		if c < '0' || c > '9' {
			return 0, ErrDate
		}
		d += time.Duration(c-'0') * unit
		unit /= 10
	}
	return d, nil
}
