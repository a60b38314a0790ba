package checklist

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
)

func place(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func first(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return t
}

// Due times keep their local hour across changes of the clock; a time that is
// left out is due with the offset before the gap, one that comes twice is due
// once (RFC 5545 3.3.5).
func TestBetween(t *testing.T) {
	for name, c := range map[string]struct {
		rule, first, place string
		from, to           string
		want               []string
	}{
		"daily into summer": {"FREQ=DAILY", "2026-03-01 08:00", "Europe/Berlin", "2026-03-28T00:00:00Z",
			"2026-03-30T12:00:00Z",
			[]string{"2026-03-28T07:00:00Z", "2026-03-29T06:00:00Z", "2026-03-30T06:00:00Z"}},
		"in the gap": {"FREQ=DAILY", "2026-03-01 02:30", "Europe/Berlin", "2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z",
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"}},
		"the hour that comes twice": {"FREQ=DAILY", "2026-10-01 02:30", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-26T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		"twice a day on weekdays": {"RRULE:FREQ=WEEKLY;BYDAY=MO,TU;BYHOUR=6,14;BYMINUTE=15", "2026-11-01 00:00",
			"America/New_York",
			"2026-11-20T00:00:00Z", "2026-11-25T00:00:00Z",
			[]string{"2026-11-23T11:15:00Z", "2026-11-23T19:15:00Z", "2026-11-24T11:15:00Z", "2026-11-24T19:15:00Z"}},
		"last Friday of the month": {"FREQ=MONTHLY;BYDAY=-1FR", "2026-01-01 09:00", "UTC", "2026-01-01T00:00:00Z",
			"2026-03-31T00:00:00Z",
			[]string{"2026-01-30T09:00:00Z", "2026-02-27T09:00:00Z", "2026-03-27T09:00:00Z"}},
		"every second week": {"FREQ=WEEKLY;INTERVAL=2", "2026-01-05 09:00", "UTC", "2026-02-01T00:00:00Z",
			"2026-02-28T00:00:00Z",
			[]string{"2026-02-02T09:00:00Z", "2026-02-16T09:00:00Z"}},
		"three times": {"FREQ=DAILY;COUNT=3", "2026-01-05 09:00", "UTC", "2026-01-06T00:00:00Z", "2026-02-28T00:00:00Z",
			[]string{"2026-01-06T09:00:00Z", "2026-01-07T09:00:00Z"}},
		"to the end of a day": {"FREQ=DAILY;UNTIL=20260106", "2026-01-05 09:00", "Asia/Tokyo", "2026-01-01T00:00:00Z",
			"2026-02-28T00:00:00Z",
			[]string{"2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"}},
		"to an instant": {"FREQ=DAILY;UNTIL=20260106T000000Z", "2026-01-05 09:00", "Asia/Tokyo", "2026-01-01T00:00:00Z",
			"2026-02-28T00:00:00Z", []string{"2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"}},
		"29 February": {"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "2025-01-01 09:00", "UTC", "2025-01-01T00:00:00Z",
			"2029-01-01T00:00:00Z",
			[]string{"2028-02-29T09:00:00Z"}},
		"a day the calendar lacks": {"FREQ=DAILY", "2011-12-28 08:00", "Pacific/Apia", "2011-12-29T12:00:00Z",
			"2012-01-01T00:00:00Z",
			[]string{"2011-12-29T18:00:00Z", "2011-12-30T18:00:00Z", "2011-12-31T18:00:00Z"}},
	} {
		r, err := Recur(c.rule, first(c.first), place(t, c.place))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		from, _ := time.Parse(time.RFC3339, c.from)
		to, _ := time.Parse(time.RFC3339, c.to)
		for _, at := range r.Between(from, to) {
			got = append(got, at.UTC().Format(time.RFC3339))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A rule that makes dates without measure, or none, is refused as written.
func TestRecurRefuses(t *testing.T) {
	for rule, words := range map[string]string{
		"":                         "NAME=VALUE",
		"every day":                "NAME=VALUE",
		"INTERVAL=2":               "FREQ",
		"FREQ=SECONDLY":            "FREQ",
		"FREQ=MINUTELY":            "FREQ",
		"FREQ=HOURLY":              "FREQ",
		"FREQ=DAILY;BYSECOND=0,30": "BYSECOND",
		"FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11,12;BYMINUTE=0,30": "more than 24",
		"FREQ=DAILY;BYHOUR=24":                            "BYHOUR",
		"FREQ=DAILY;INTERVAL=0":                           "INTERVAL",
		"FREQ=DAILY;INTERVAL=99999999999999999999":        "INTERVAL",
		"FREQ=DAILY;COUNT=1000000":                        "COUNT",
		"FREQ=DAILY;COUNT=2;UNTIL=20270101":               "COUNT and UNTIL",
		"FREQ=DAILY;UNTIL=tomorrow":                       "UNTIL",
		"FREQ=DAILY;FREQ=WEEKLY":                          "twice",
		"FREQ=WEEKLY;BYDAY=XX":                            "weekday",
		"FREQ=DAILY;BYMONTHDAY=3":                         "BYMONTHDAY",
		"FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30":            "never",
		"FREQ=YEARLY;BYMONTH=4;BYMONTHDAY=31":             "never",
		"FREQ=MONTHLY;BYDAY=9MO":                          "weekdays",
		"FREQ=DAILY;INTERVAL=7;BYDAY=MO":                  "never",
		"DTSTART=20260101T000000Z;FREQ=DAILY":             "DTSTART",
		"FREQ=DAILY\nEXDATE:20260101T000000Z":             "FREQ",
		"FREQ=DAILY;BYDAY=" + strings.Repeat("MO,", 5000): "weekday",
	} {
		_, err := Recur(rule, first("2026-01-01 08:00"), time.UTC)
		f := fault.As(err)
		if err == nil || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Name != "rrule" ||
			!strings.Contains(f.Fields[0].Msg, words) {
			t.Errorf("%.60q: %v, want a fault at rrule with %q", rule, err, words)
		}
	}
}

func FuzzRecur(f *testing.F) {
	for _, s := range []string{"FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,-1FR;WKST=SU", "FREQ=MONTHLY;BYSETPOS=-1;BYDAY=MO,TU",
		"FREQ=YEARLY;UNTIL=20300101T000000"} {
		f.Add(s)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, rule string) {
		r, err := Recur(rule, from.Add(8*time.Hour), time.UTC)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%v is no fault of the input", err)
			}
			return
		}
		last := from
		list := r.Between(from, from.AddDate(0, 0, 7))
		for _, at := range list {
			if !at.After(last) {
				t.Fatalf("%s after %s", at, last)
			}
			last = at
		}
		if len(list) > 8*perDay {
			t.Fatalf("%d times in a week", len(list))
		}
	})
}
