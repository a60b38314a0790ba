package safety

import (
	"testing"
	"time"

	"holdfast/internal/fault"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

// The three zones the domain names (shipment stats), and plain days. The rules
// are the IANA time zone database's.
func TestDay(t *testing.T) {
	for _, c := range []struct{ zone, now, from, to string }{
		{"UTC", "2026-03-01T12:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		// Midnight of 4 November 2018 does not exist: 23:59:59 -03 is followed by 01:00 -02.
		{"America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T02:59:59Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		{"Asia/Beirut", "2022-03-27T12:00:00Z", "2022-03-26T22:00:00Z", "2022-03-27T21:00:00Z"},
		// Samoa left out 30 December 2011.
		{"Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}, // 25 hours
		{"Asia/Kathmandu", "2026-03-01T18:14:59Z", "2026-02-28T18:15:00Z", "2026-03-01T18:15:00Z"},
		{"No/Where", "2026-03-01T12:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
	} {
		from, to := Day(at(c.now), Location(c.zone))
		if !from.Equal(at(c.from)) || !to.Equal(at(c.to)) {
			t.Errorf("%s %s = %s, %s, want %s, %s", c.zone, c.now, from, to, c.from, c.to)
		}
	}
}

// Every moment lies in its day, whatever clocks have done to it.
func TestDayHoldsItsMoment(t *testing.T) {
	for _, zone := range []string{"America/St_Johns", "America/Sao_Paulo", "Asia/Beirut", "Pacific/Apia", "Asia/Gaza", "Australia/Lord_Howe", "Europe/Berlin"} {
		loc := Location(zone)
		for now := at("2006-01-01T00:00:00Z"); now.Year() < 2013; now = now.Add(7*time.Hour + 13*time.Minute) {
			from, to := Day(now, loc)
			if now.Before(from) || !now.Before(to) {
				t.Fatalf("%s: %s is not in [%s, %s)", zone, now, from, to)
			}
			if next, _ := Day(to, loc); !next.Equal(to) {
				t.Fatalf("%s: a day ends at %s, the next begins at %s", zone, to, next)
			}
		}
	}
}

func TestEndOfDay(t *testing.T) {
	got := EndOfDay(at("2018-11-03T00:00:00Z"), Location("America/Sao_Paulo"))
	if want := "2018-11-04T02:59:59.999999Z"; got.Format("2006-01-02T15:04:05.000000Z") != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Domain, safety KPIs: one decimal half up; no runs due = 100.
func TestChecklistCompliance(t *testing.T) {
	for _, c := range []struct {
		onTime, due int64
		want        string
	}{{0, 0, "100"}, {0, 3, "0"}, {1, 3, "33.3"}, {2, 3, "66.7"}, {3, 3, "100"}, {1, 2000, "0.1"}, {1, 2001, "0"}} {
		if got := ChecklistCompliance(c.onTime, c.due).String(); got != c.want {
			t.Errorf("%d of %d = %s, want %s", c.onTime, c.due, got, c.want)
		}
	}
}

func TestRiskRating(t *testing.T) {
	for _, c := range []struct {
		severity   string
		likelihood any
		want       any
	}{{"low", int64(1), int64(1)}, {"critical", int64(5), int64(20)}, {"high", nil, nil}} {
		if got := RiskRating(c.severity, c.likelihood); got != c.want {
			t.Errorf("%v = %v", c, got)
		}
	}
}

func FuzzParseEntities(f *testing.F) {
	const id = "0190a000-0000-7000-8000-000000000001"
	for _, s := range []string{`[]`, `[{"entity_type":"zone","entity_id":"` + id + `","role":"source"}]`, `{}`, `[{"entity_type":"tenant"}]`, `null`, `[1]`, ``, `[{"entity_type":"zone","entity_id":"0190A000-0000-7000-8000-00000000000A"}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := ParseEntities(raw)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		for _, e := range list {
			if len(e.ID) != 36 || e.Type == "" {
				t.Fatalf("%q gave %+v", raw, e)
			}
		}
	})
}
