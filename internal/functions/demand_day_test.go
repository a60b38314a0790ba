package functions_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/store"
)

// What went out in the first and in the last second of a day went out on one day where the
// tenant is, also where the clock passes over midnight or shows it twice: the spread of the
// demand, the days that were observed and the days of a fast mover go by the tenant's days.
func TestDemandGoesByTheTenantsDay(t *testing.T) {
	each(t, func(k *kit) {
		bin := k.add("zones", store.Row{"code": "A", "name": "A"})
		for i, c := range []struct{ zone, day string }{
			{"UTC", "2026-03-29"},
			{"Atlantic/Azores", "2026-03-29"}, {"Atlantic/Azores", "2026-10-25"}, {"Atlantic/Azores", "2026-10-24"},
			{"Africa/Cairo", "2026-04-24"}, {"Africa/Cairo", "2026-10-29"}, {"Africa/Cairo", "2026-04-20"},
			{"America/Santiago", "2026-09-06"}, {"America/Santiago", "2026-04-04"}, {"America/Santiago", "2026-09-01"},
			{"America/St_Johns", "2026-03-08"}, {"America/St_Johns", "2026-11-01"}, {"America/St_Johns", "2026-03-05"},
		} {
			zone := localtime.Zone(c.zone)
			day, err := localtime.ParseDate(c.day)
			if err != nil {
				t.Fatal(err)
			}
			k.set("tenants", k.as.TenantID, store.Row{"timezone": c.zone})
			k.now = day.AddDays(9).End(zone)
			item := k.add("items", store.Row{"sku": fmt.Sprint("DAY-", i), "name": c.zone})
			k.add("stock_movements", store.Row{"type": "receipt", "item_id": item, "to_zone_id": bin, "quantity": "10",
				"occurred_at": day.Start(zone).Format(time.RFC3339)})
			for _, at := range []time.Time{day.Start(zone), day.End(zone), noonOf(day, 2, zone), noonOf(day, 3, zone),
				noonOf(day, 4, zone)} {
				k.add("stock_movements", store.Row{"type": "ship", "item_id": item, "from_zone_id": bin, "quantity": "2",
					"occurred_at": at.Format(time.RFC3339Nano)})
			}
			// Ten days: 4 on one and 2 on each of three, (4 x 4 + 3 x 2 x 2 - 10) / 9 = 2 = 1.41 x 1.41.
			was := k.as
			k.as = manager()
			k.as.TenantID = was.TenantID
			plan := k.call("inventory-plan", "item_id="+item)
			if got := fmt.Sprint(plan.at("items.0.observed_days"), plan.at("items.0.demand_per_day"),
				plan.at("items.0.demand_sd")); got != "10 1 1.41" {
				t.Errorf("%s %s: days, mean and deviation are %s", c.zone, c.day, got)
			}
			health := k.call("admin-dashboard-summary", "")
			if got := health.at("inventory.health.fast_movers"); got != 0.0 {
				t.Errorf("%s %s: four days make %v fast movers", c.zone, c.day, got)
			}
			k.as = was
			k.set("items", item, store.Row{"status": "discontinued"})
		}
	})
}

func noonOf(day localtime.Date, days int, zone *time.Location) time.Time {
	return day.AddDays(days).Start(zone).Add(12 * time.Hour)
}
