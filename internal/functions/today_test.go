package functions_test

import (
	"testing"
	"time"

	"holdfast/internal/store"
)

// completed_today counts [start of the local day, start of the next): also on
// days whose midnight the clock leaves out, and across a day that a country
// left out altogether. The dates are those of the IANA time zone database:
// Brazil went to summer time at 00:00 of 4 November 2018 and Lebanon at 00:00
// of 27 March 2022, and Samoa crossed the date line over 30 December 2011.
func TestCompletedToday(t *testing.T) {
	each(t, func(k *kit) {
		for _, c := range []struct {
			zone, from, to string // the local day in UTC
			hours          float64
		}{
			{"Pacific/Apia", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", 24}, // 29 December
			{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z", 24}, // the 31st, which came after it
			{"America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z", 23},
			{"Asia/Beirut", "2022-03-26T22:00:00Z", "2022-03-27T21:00:00Z", 23},
			{"Europe/Berlin", "2025-10-25T22:00:00Z", "2025-10-26T23:00:00Z", 25},
		} {
			k.set("tenants", north, store.Row{"timezone": c.zone})
			from, to := moment(c.from), moment(c.to)
			if to.Sub(from).Hours() != c.hours {
				t.Fatalf("%s: the day lasts %s", c.zone, to.Sub(from))
			}
			complete := func(when time.Time) {
				k.now = when
				in := k.add("shipments", store.Row{"direction": "inbound"})
				for _, st := range []string{"in_transit", "arrived", "received"} {
					k.set("shipments", in, store.Row{"status": st})
				}
			}
			today := func(when time.Time) float64 {
				k.now = when
				return k.call("admin-dashboard-summary", "").at("shipments.stats.completed_today").(float64)
			}
			before := today(from)
			complete(from.Add(-time.Microsecond))
			if got := today(from); got != before {
				t.Errorf("%s: %v completed as %s begins, want %v", c.zone, got, c.from, before)
			}
			complete(from)
			complete(to.Add(-time.Microsecond))
			if got := today(to.Add(-time.Microsecond)); got != before+2 {
				t.Errorf("%s: %v completed on the day from %s to %s, want %v", c.zone, got, c.from, c.to, before+2)
			}
			complete(to)
			if got := today(to); got != 1 {
				t.Errorf("%s: %v completed on the day after, want 1", c.zone, got)
			}
		}
	})
}
