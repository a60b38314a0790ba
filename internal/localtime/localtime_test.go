package localtime

import (
	"testing"
	"time"
)

// zones are places whose clocks do something at or near midnight, and some whose
// offset from UTC is no whole hour.
var zones = []string{"UTC", "Europe/Berlin", "Atlantic/Azores", "Africa/Cairo", "America/Santiago", "America/St_Johns",
	"America/Sao_Paulo", "Asia/Beirut", "Asia/Gaza", "Asia/Kathmandu", "Asia/Tokyo", "Australia/Lord_Howe", "Pacific/Apia",
	"Pacific/Chatham", "Pacific/Kiritimati"}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func date(t *testing.T, text string) Date {
	t.Helper()
	d, err := ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The rules are the IANA time zone database's.
func TestDay(t *testing.T) {
	for _, c := range []struct{ zone, now, from, to string }{
		{"UTC", "2026-03-01T12:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"No/Where", "2026-03-01T12:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"Asia/Kathmandu", "2026-03-01T18:14:59Z", "2026-02-28T18:15:00Z", "2026-03-01T18:15:00Z"},
		{"Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}, // 25 hours
		// Midnight does not exist: 23:59:59 is followed by 01:00.
		{"America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		{"Asia/Beirut", "2022-03-27T12:00:00Z", "2022-03-26T22:00:00Z", "2022-03-27T21:00:00Z"},
		{"Atlantic/Azores", "2026-03-29T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
		{"Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},
		{"America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		// Midnight comes twice on one date, which begins with the first.
		{"Atlantic/Azores", "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"},
		// The last hour of a date comes twice.
		{"Africa/Cairo", "2026-10-29T20:30:00Z", "2026-10-28T21:00:00Z", "2026-10-29T22:00:00Z"},
		{"America/Santiago", "2026-04-05T03:30:00Z", "2026-04-04T03:00:00Z", "2026-04-05T04:00:00Z"},
		{"America/St_Johns", "2026-03-08T12:00:00Z", "2026-03-08T03:30:00Z", "2026-03-09T02:30:00Z"},
		// At 00:01 the clock was set back to 23:01 of the day before.
		{"America/St_Johns", "2010-11-07T02:30:30Z", "2010-11-06T02:30:00Z", "2010-11-07T03:30:00Z"},
		// Samoa left out 30 December 2011.
		{"Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		from, to := Day(moment(t, c.now), Zone(c.zone))
		if !from.Equal(moment(t, c.from)) || !to.Equal(moment(t, c.to)) {
			t.Errorf("%s %s = %s, %s, want %s, %s", c.zone, c.now, from, to, c.from, c.to)
		}
	}
}

// Every moment lies in its day, the next day begins where one ends, and no moment
// after the start of a date shows an earlier one.
func TestDayHoldsItsMoment(t *testing.T) {
	for _, name := range zones {
		zone := Zone(name)
		for at := moment(t, "2006-01-01T00:00:00Z"); at.Year() < 2028; at = at.Add(11*time.Hour + 13*time.Minute) {
			from, to := Day(at, zone)
			if at.Before(from) || !at.Before(to) {
				t.Fatalf("%s: %s is not in [%s, %s)", name, at, from, to)
			}
			if next, _ := Day(to, zone); !next.Equal(to) {
				t.Fatalf("%s: a day ends at %s, the next begins at %s", name, to, next)
			}
			if d := DateOf(at, zone); d.Start(zone).After(at) && !DateOf(from, zone).Before(d) {
				t.Fatalf("%s: %s lies before the start of its date, %s", name, at, d.Start(zone))
			}
		}
	}
}

func TestDateEnd(t *testing.T) {
	got := date(t, "2018-11-03").End(Zone("America/Sao_Paulo"))
	if want := moment(t, "2018-11-04T02:59:59.999999Z"); !got.Equal(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDateArithmetic(t *testing.T) {
	for _, c := range []struct {
		from   string
		months int
		want   string
	}{{"2025-08-31", 6, "2026-02-28"}, {"2023-08-31", 6, "2024-02-29"}, {"2026-01-15", 12, "2027-01-15"},
		{"2026-12-31", 2, "2027-02-28"},
		{"2026-03-31", -1, "2026-02-28"}, {"2026-02-28", 1, "2026-03-28"}} {
		if got := date(t, c.from).AddMonths(c.months); got.String() != c.want {
			t.Errorf("%s and %d months = %s, want %s", c.from, c.months, got, c.want)
		}
	}
	if got := date(t, "2026-12-31").AddDays(60).DaysSince(date(t, "2026-12-31")); got != 60 {
		t.Errorf("%d days, want 60", got)
	}
	if d := NewDate(2026, 2, 1); d != date(t, "2026-02-01") || d.Before(d) || d.IsZero() || !(Date{}).IsZero() {
		t.Errorf("%v is not itself", d)
	}
}

// The day of a place and of UTC differ, and so may the month and the year.
func TestMonthAndYear(t *testing.T) {
	at := moment(t, "2026-12-31T16:00:00Z")
	for _, c := range []struct {
		zone, first, last string
		year              int
	}{{"Asia/Tokyo", "2027-01-01", "2027-01-31", 2027}, {"Europe/Berlin", "2026-12-01", "2026-12-31", 2026}} {
		first, last := Month(at, Zone(c.zone))
		if first.String() != c.first || last.String() != c.last || Year(at, Zone(c.zone)) != c.year {
			t.Errorf("%s: %s to %s of %d", c.zone, first, last, Year(at, Zone(c.zone)))
		}
	}
	if earliest, latest := Dates(at); earliest.String() != "2026-12-31" || latest.String() != "2027-01-01" {
		t.Errorf("it is %s to %s", earliest, latest)
	}
	for _, name := range zones {
		if d := DateOf(at, Zone(name)); d.Before(date(t, "2026-12-31")) || date(t, "2027-01-01").Before(d) {
			t.Errorf("%s shows %s", name, d)
		}
	}
}

// By the offsets of a span every moment of it shows the date that the calendar shows.
func TestOffsets(t *testing.T) {
	for _, name := range zones {
		zone := Zone(name)
		from, to := moment(t, "2010-01-01T00:00:00Z"), moment(t, "2012-01-01T00:00:00Z")
		offsets := Offsets(from, to, zone)
		for at := from; !at.After(to); at = at.Add(47*time.Minute + 13*time.Second) {
			i := 0
			for !offsets[i].Until.IsZero() && !at.Before(offsets[i].Until) {
				i++
			}
			if got, want := DateOf(at.Add(offsets[i].Ahead), time.UTC), DateOf(at, zone); got != want {
				t.Fatalf("%s at %s: %s, want %s", name, at, got, want)
			}
		}
	}
}

// Rows of a list each ask for their tenant's zone: it is read once. Names that are none
// are not kept, nor more names than there are zones.
func TestZonesAreReadOnce(t *testing.T) {
	read := Zone("America/Sao_Paulo")
	if again := testing.AllocsPerRun(10, func() { Zone("America/Sao_Paulo") }); again != 0 || read.String() != "America/Sao_Paulo" {
		t.Errorf("%s again: %.0f allocations", read, again)
	}
	for _, name := range []string{"", "Local", "Nowhere/Town", "../UTC"} {
		if zone := Zone(name); zone != time.UTC || zoneByName[name] != nil {
			t.Errorf("zone %q is %s", name, zone)
		}
	}
}
