package app_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/testkit"
)

// following is the address that an answer's Link leads to, "" at the end.
func following(r testkit.Response) string {
	target, ok := strings.CutSuffix(r.Header.Get("Link"), `>; rel="next"`)
	if !ok {
		return ""
	}
	return strings.TrimPrefix(target, "<")
}

func idsOf(t *testing.T, r testkit.Response) (out []string) {
	t.Helper()
	if r.Status != http.StatusOK && r.Status != http.StatusPartialContent {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	var rows []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(r.Body, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		out = append(out, row.ID)
	}
	return out
}

// A list that is gone through by its links has the rows and the order of the
// whole list, whatever it is ordered by: ties, nulls at either end, members of
// documents, columns of a parent.
func TestCursorsGoThroughLists(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const manager = "manager@north.example"
		for _, list := range []string{
			"orders?select=id", "orders?select=id&order=id.desc", "orders?select=id&order=status",
			"orders?select=id&order=status.desc,priority",
			"orders?select=id&order=promised_at", "orders?select=id&order=promised_at.desc",
			"orders?select=id&order=promised_at.nullsfirst",
			"orders?select=id&order=promised_at.desc.nullslast,status", "orders?select=id&order=ship_to->>city",
			"orders?select=id&order=ship_to->lat.desc",
			"orders?select=id&order=ship_to->city.nullsfirst",
			"orders?select=id,order_lines(line_no)&order=total_value.desc&order_lines.order=line_no",
			"items?order=unit_cost,name.desc", "items?select=id&order=has_expiry.desc,abc_class",
			"items?select=id&order=barcodes", "items?select=id&low_stock=is.false",
			"order_lines?select=id,items(name)&order=items(name).desc,line_no",
			"order_lines?select=id,items(unit_cost)&order=items(unit_cost)&limit=13",
			"incidents?select=id&order=occurred_at.desc", "incidents?select=id&order=zone_id",
			"zones?select=id&order=x,y.desc,utilization.nullsfirst",
			"zones?select=id&order=created_at", "stock_levels?select=id&order=last_counted_at,quantity.desc",
		} {
			if !strings.Contains(list, "limit=") {
				list += "&limit=7"
			}
			whole := strings.Replace(strings.Replace(list, "&limit=7", "", 1), "&limit=13", "", 1) + "&limit=1000"
			want := idsOf(t, k.Get(manager, "/v1/"+whole))
			var got []string
			pages := 0
			for at := "/v1/" + list; at != "" && len(got) < 1000; pages++ {
				r := k.Get(manager, at)
				got = append(got, idsOf(t, r)...)
				at = following(r)
			}
			got = got[:min(len(got), 1000)]
			if !slices.Equal(got, want) || len(want) < 8 {
				t.Errorf("%s: %d rows in %d pages, want %d\n%v\n%v", list, len(got), pages, len(want), got, want)
			}
		}
		// A row that is made before the place moves nothing, and the count and
		// the range are those of the whole list.
		first := k.Call(testkit.Request{Method: "GET", Path: "/v1/items?select=id,sku&order=sku&limit=5", As: manager,
			Header: map[string]string{"Prefer": "count=exact"}})
		sixth := k.Get(manager, "/v1/items?select=id&order=sku&limit=1&offset=5")
		k.Call(testkit.Request{Method: "POST", Path: "/v1/items", As: manager,
			Body: `{"sku":"!FIRST","name":"before all others"}`})
		second := k.Call(testkit.Request{Method: "GET", Path: following(first), As: manager,
			Header: map[string]string{"Prefer": "count=exact"}})
		if idsOf(t, second)[0] != idsOf(t, sixth)[0] || !strings.HasPrefix(second.Header.Get("Content-Range"), "5-9/") {
			t.Errorf("second page: %s %s", second.Header.Get("Content-Range"), second.Body)
		}
		// Across tenants too.
		var all []string
		for at := "/v1/zones?select=id&limit=9"; at != ""; {
			r := k.Call(testkit.Request{Method: "GET", Path: at, Bearer: k.Service()})
			all, at = append(all, idsOf(t, r)...), following(r)
		}
		if want := idsOf(t, k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?select=id",
			Bearer: k.Service()})); !slices.Equal(all, want) {
			t.Errorf("the service key sees %d of %d", len(all), len(want))
		}
	})
}

// A cursor is good for one order of one collection of one tenant, and for lists
// alone.
func TestCursorsAreHeldToTheirList(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const manager = "manager@north.example"
		link := following(k.Get(manager, "/v1/items?select=id&order=sku&limit=3"))
		u, err := url.Parse(link)
		if err != nil || link == "" {
			t.Fatalf("%q %v", link, err)
		}
		cursor := u.Query().Get("cursor")
		refused := func(as, method, path, code string) {
			t.Helper()
			r := k.Call(testkit.Request{Method: method, Path: path, As: as,
				Body: map[string]string{"GET": "", "HEAD": "", "DELETE": ""}[method]})
			if r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), `"`+code+`"`) {
				t.Errorf("%s %s as %s: %d %s, want %s", method, path, as, r.Status, r.Body, code)
			}
		}
		at := func(rest string) string { return "/v1/items?" + rest + "&cursor=" }
		for i := range len(cursor) {
			other := byte('A')
			if cursor[i] == 'A' {
				other = 'B'
			}
			if i == len(cursor)-1 { // the last letter of a signature has bits that say nothing
				continue
			}
			refused(manager, "GET", at("order=sku&limit=3")+cursor[:i]+string(other)+cursor[i+1:], "HF016")
		}
		for _, c := range []string{"", ".", "x", cursor + "x", strings.Repeat("a", 5000), "%00", cursor[:len(cursor)-3]} {
			code := "HF016"
			if c == "%00" {
				code = "PGRST100"
			}
			refused(manager, "GET", at("order=sku")+c, code)
		}
		refused(manager, "GET", at("order=sku.desc")+cursor, "HF016")
		refused(manager, "GET", at("order=sku,name")+cursor, "HF016")
		refused(manager, "GET", at("limit=3")+cursor, "HF016")
		refused(manager, "GET", "/v1/orders?order=order_no&cursor="+cursor, "HF016")
		refused("admin@south.example", "GET", at("order=sku")+cursor, "HF016")
		refused(manager, "GET", at("order=sku&offset=3")+cursor, "PGRST100")
		refused(manager, "GET", at("order=sku&select=sku,count()")+cursor, "PGRST100")
		refused(manager, "GET", at("order=sku&select=count")+cursor, "42803")
		refused(manager, "DELETE", at("order=sku&sku=eq.x")+cursor, "PGRST100")
		refused(manager, "GET", at("order=sku&cursor=x")+cursor, "PGRST100")
		if r := k.Get("viewer@north.example", link); r.Status != http.StatusOK {
			t.Errorf("another member: %d %s", r.Status, r.Body)
		}
	})
}

// Groups are read in the order asked for, by what they are grouped by or by a sum.
func TestGroupsInOrder(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, order := range []string{"zone_id", "zone_id.desc", "sum.desc"} {
			r := k.Get("manager@north.example", "/v1/stock_levels?select=zone_id,quantity.sum()&order="+order+"&limit=3")
			if r.Status != 200 || r.Header.Get("Server-Timing") != "" {
				t.Errorf("%s: %d %v %s", order, r.Status, r.Header, r.Body)
			}
		}
	})
}
