package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// insert makes a record and returns it.
func (k *clocked) insert(collection string, row map[string]any) (made map[string]any) {
	k.Helper()
	body, err := json.Marshal(row)
	if err != nil {
		k.Fatal(err)
	}
	w := k.call("POST", "/v1/"+collection, string(body))
	var rows []map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &rows); w.Code != 201 || err != nil || len(rows) != 1 {
		k.Fatalf("insert into %s: %d %s, %v", collection, w.Code, w.Body, err)
	}
	return rows[0]
}

// liveIn moves the tenant to a time zone.
func (k *clocked) liveIn(zone string) {
	k.Helper()
	if w := k.call("PATCH", "/v1/tenants?id=eq."+demo.North, fmt.Sprintf(`{"timezone":%q}`, zone)); w.Code >= 300 {
		k.Fatalf("move to %s: %d %s", zone, w.Code, w.Body)
	}
}

// yearEnds is 16:30 UTC on the last day of a year, when the next one has begun in
// Tokyo.
func yearEnds() time.Time {
	now := time.Now().UTC()
	end := time.Date(now.Year(), time.December, 31, 16, 30, 0, 0, time.UTC)
	if end.Before(now) {
		end = end.AddDate(1, 0, 0)
	}
	return end
}

// A business number has the year that it is where the tenant is, whoever makes
// the record.
func TestNumbersHaveTheTenantsYear(t *testing.T) {
	fromClock(t, testkit.As(actor.Admin), yearEnds, func(k *clocked) {
		year := time.Now().UTC().Year()
		check := func(zone string, year int) {
			k.Helper()
			k.liveIn(zone)
			want := fmt.Sprintf("SO-%d-", year)
			if no := k.insert("orders", map[string]any{})["order_no"].(string); !strings.HasPrefix(no, want) {
				k.Errorf("an order of %s at %s is %s, want %s", zone, time.Now().UTC(), no, want)
			}
		}
		check("Asia/Tokyo", year+1)
		check("Europe/Berlin", year)
		check("America/St_Johns", year)
		time.Sleep(8 * time.Hour) // 00:30 UTC
		k.signIn(testkit.As(actor.Admin))
		check("Atlantic/Azores", year)
		check("America/Santiago", year)
		check("Africa/Cairo", year+1)
		check("Europe/Berlin", year+1)
		time.Sleep(time.Hour)
		k.signIn(testkit.As(actor.Admin))
		check("Atlantic/Azores", year+1)
	})
}

// Goods are promised that last until the day on which they leave, where the
// tenant is, and as many days longer as their item asks for.
func TestAllocationGoesByTheTenantsDay(t *testing.T) {
	fromClock(t, testkit.As(actor.Admin), yearEnds, func(k *clocked) {
		year := time.Now().UTC().Year()
		bin := k.insert("zones", map[string]any{"code": "DAY-BIN", "name": "Bin"})["id"]
		for i, c := range []struct {
			zone     string
			promised string // a moment in January, "" = now
			keep     int
			expires  string // a day in January, "" = the last of the year before
			want     float64
		}{
			{"Asia/Tokyo", "", 0, "", 0},
			{"Asia/Tokyo", "", 0, "01", 1},
			{"Asia/Tokyo", "", 5, "05", 0},
			{"Asia/Tokyo", "", 5, "06", 1},
			{"Europe/Berlin", "", 0, "", 1},
			{"Asia/Tokyo", "04T20:00:00Z", 0, "04", 0},
			{"Asia/Tokyo", "04T14:00:00Z", 0, "04", 1},
			{"Asia/Tokyo", "04T20:00:00Z", 3, "07", 0},
			{"Asia/Tokyo", "04T20:00:00Z", 3, "08", 1},
			{"Atlantic/Azores", "05T00:30:00Z", 0, "04", 1},
			{"America/St_Johns", "05T02:00:00Z", 0, "04", 1},
			{"America/Santiago", "05T02:00:00Z", 2, "06", 1},
			{"Africa/Cairo", "04T22:30:00Z", 0, "04", 0},
		} {
			k.liveIn("UTC") // where none of the lots is over yet when it comes in
			expires := fmt.Sprintf("%d-12-31", year)
			if c.expires != "" {
				expires = fmt.Sprintf("%d-01-%s", year+1, c.expires)
			}
			item := k.insert("items", map[string]any{"sku": fmt.Sprint("DAY-", i), "name": "Milk", "tracking": "lot",
				"min_remaining_days": c.keep})["id"]
			lot := k.insert("lots", map[string]any{"item_id": item, "lot_no": "L", "expires_on": expires})["id"]
			k.insert("stock_movements", map[string]any{"type": "receipt", "item_id": item, "lot_id": lot, "to_zone_id": bin,
				"quantity": 1})
			order := map[string]any{"party_name": "Receiver"}
			if c.promised != "" {
				order["promised_at"] = fmt.Sprintf("%d-01-%s", year+1, c.promised)
			}
			id := k.insert("orders", order)["id"]
			k.insert("order_lines", map[string]any{"order_id": id, "line_no": 1, "item_id": item, "qty_ordered": 1})
			k.liveIn(c.zone)
			if w := k.call("POST", "/v1/rpc/confirm_order", fmt.Sprintf(`{"order_id":%q}`, id)); w.Code != 200 {
				k.Fatalf("confirm: %d %s", w.Code, w.Body)
			}
			var rows []struct {
				Allocated float64 `json:"qty_allocated"`
			}
			w := k.call("GET", fmt.Sprintf("/v1/orders?select=qty_allocated&id=eq.%s", id), "")
			if err := json.Unmarshal(w.Body.Bytes(), &rows); err != nil || len(rows) != 1 || rows[0].Allocated != c.want {
				k.Errorf("%+v: %s is promised, want %v", c, w.Body, c.want)
			}
		}
	})
}

// What was done for an owner of goods is told by the tenant's days, also where
// the clock passes over midnight or shows it twice.
func TestOwnerActivityAcrossChangesOfTheClock(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		m := testkit.As(actor.Manager)
		bin := k.Insert(t, m, "zones", map[string]any{"code": "CLOCK-BIN", "name": "Bin"})
		for i, c := range []struct{ zone, before, day, after, from, to string }{
			{"Atlantic/Azores", "2026-03-28", "2026-03-29", "2026-03-30", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
			{"Atlantic/Azores", "2026-10-24", "2026-10-25", "2026-10-26", "2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"},
			{"Africa/Cairo", "2026-04-23", "2026-04-24", "2026-04-25", "2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},
			{"Africa/Cairo", "2026-10-28", "2026-10-29", "2026-10-30", "2026-10-28T21:00:00Z", "2026-10-29T22:00:00Z"},
			{"America/Santiago", "2026-09-05", "2026-09-06", "2026-09-07", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
			{"America/St_Johns", "2026-03-07", "2026-03-08", "2026-03-09", "2026-03-08T03:30:00Z", "2026-03-09T02:30:00Z"},
			{"Asia/Tokyo", "2026-05-31", "2026-06-01", "2026-06-02", "2026-05-31T15:00:00Z", "2026-06-01T15:00:00Z"},
		} {
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/tenants?id=eq." + demo.North, As: testkit.As(actor.Admin),
				Body: map[string]any{"timezone": c.zone}})
			if r.Status >= 300 {
				t.Fatalf("move to %s: %d %s", c.zone, r.Status, r.Body)
			}
			code := fmt.Sprint("CLOCK-", i)
			owner := k.Insert(t, m, "goods_owners", map[string]any{"code": code, "name": c.zone})
			item := k.Insert(t, m, "items", map[string]any{"sku": code, "name": c.zone, "owner_id": owner})
			for quantity, at := range map[int]string{1: c.from, 10: c.to} {
				moment, err := time.Parse(time.RFC3339, at)
				testkit.Must(t, err)
				// One movement in the last second of a day, one in the first of the next.
				for n, occurred := range []time.Time{moment.Add(-time.Second), moment} {
					k.Insert(t, m, "stock_movements", map[string]any{"type": "receipt", "item_id": item, "owner_id": owner,
						"to_zone_id": bin,
						"quantity":   quantity * (1 + 2*n), "occurred_at": occurred.Format(time.RFC3339)})
				}
			}
			var out struct {
				Days []struct {
					On      string
					Closing float64 `json:"closing_quantity"`
				}
			}
			k.Say(t, m, "owner_activity", map[string]any{"owner_id": owner, "from": c.before, "to": c.after}, 200, &out)
			if got, want := fmt.Sprint(out.Days), fmt.Sprintf("[{%s 1} {%s 14} {%s 44}]", c.before, c.day,
				c.after); got != want {
				t.Errorf("%s: %s, want %s", c.zone, got, want)
			}
		}
	})
}
