package store_test

import (
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/store"
)

// fixture fills the north tenant with a few of everything, and the south one
// with rows that must never show.
func fixture(k *kit) {
	m, v := as(north, actor.Manager), as(south, actor.Manager)
	k.must(m, "POST", "zones?columns=id,code,name,x,parent_id,hazard_tags,status", "missing=default", `[
		{"id":"`+id(1)+`","code":"A-01","name":"Dock","x":1.5,"status":"blocked"},
		{"id":"`+id(2)+`","code":"A-02","name":"Rack \"two\"","parent_id":"`+id(1)+`","hazard_tags":["acid","hot,wet"]},
		{"id":"`+id(3)+`","code":"b_03","name":"Übergang","x":-0.25,"parent_id":"`+id(1)+`","hazard_tags":["acid"]}]`)
	k.must(m, "POST", "items", "", `[
		{"id":"`+id(11)+`","sku":"S-1","name":"Bolt","unit_cost":2.5,"abc_class":"A","has_expiry":true,
			"shelf_life_days":30,"barcodes":[{"value":"123","n":7,"on":true}]},
		{"id":"`+id(12)+`","sku":"S-2","name":"bolt, long","unit_cost":0.0001,"abc_class":null,"has_expiry":false,"shelf_life_days":null,"barcodes":[]},
		{"id":"`+id(13)+`","sku":"S-3","name":"100% nut_a","unit_cost":12,"abc_class":"B","has_expiry":false,"shelf_life_days":400,"barcodes":[{"value":"9"}]}]`)
	k.must(m, "POST", "orders", "", `[
		{"id":"`+id(21)+`","order_no":"O-1","priority":1,"promised_at":"2026-03-05T10:00:00+02:00","tags":["vip","eu"]},
		{"id":"`+id(22)+`","order_no":"O-2","priority":2,"promised_at":null,"tags":[]},
		{"id":"`+id(23)+`","order_no":"O-3","priority":2,"promised_at":"2026-03-04T00:00:00Z","tags":["eu"]}]`)
	k.must(m, "POST", "order_lines", "", `[
		{"id":"`+id(31)+`","order_id":"`+id(21)+`","line_no":1,"item_id":"`+id(11)+`","qty_ordered":5},
		{"id":"`+id(32)+`","order_id":"`+id(21)+`","line_no":2,"item_id":"`+id(12)+`","qty_ordered":2.25},
		{"id":"`+id(33)+`","order_id":"`+id(23)+`","line_no":1,"item_id":"`+id(13)+`","qty_ordered":1}]`)
	k.must(v, "POST", "zones", "", `{"id":"`+id(91)+`","code":"A-01","name":"canary"}`)
	k.must(v, "POST", "items", "", `{"id":"`+id(92)+`","sku":"S-1","name":"canary"}`)
	k.must(v, "POST", "orders", "", `{"id":"`+id(93)+`","order_no":"O-1"}`)
	k.must(v, "POST", "order_lines", "", `{"id":"`+id(94)+`","order_id":"`+id(93)+`","line_no":1,"item_id":"`+id(92)+`","qty_ordered":9}`)
}

// short makes the fixture's ids readable in wants.
func short(s string) string { return strings.ReplaceAll(s, "0190c000-0000-7000-8000-0000000000", "#") }

func TestSelect(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		for _, c := range []struct{ path, want string }{
			// columns, aliases, escapes, decimals
			{"zones?select=code,x&order=code", `[{"code":"A-01","x":1.5},{"code":"A-02","x":0},{"code":"b_03","x":-0.25}]`},
			{"zones?select=c:code,name&code=eq.A-02", `[{"c":"A-02","name":"Rack \"two\""}]`},
			{"items?select=unit_cost&order=sku", `[{"unit_cost":2.5},{"unit_cost":0.0001},{"unit_cost":12}]`},
			{"orders?select=promised_at,tags&order_no=eq.O-1",
				`[{"promised_at":"2026-03-05T08:00:00.000000Z","tags":["vip","eu"]}]`},
			{"items?select=sku,sku&sku=eq.S-1", `[{"sku":"S-1","sku":"S-1"}]`},
			{"items?select=sku::text,u:unit_cost::text,i:unit_cost::int,has_expiry::text,n:barcodes::text&sku=eq.S-1",
				`[{"sku":"S-1","u":"2.5","i":3,"has_expiry":"true","n":"[{\"value\":\"123\",\"n\":7,\"on\":true}]"}]`},
			{"orders?select=promised_at::date&order_no=eq.O-1", `[{"promised_at":"2026-03-05"}]`},
			// comparisons; null never matches, also under not
			{"items?select=sku&unit_cost=gt.2.5", `[{"sku":"S-3"}]`},
			{"items?select=sku&unit_cost=gte.2.5&order=sku", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"items?select=sku&unit_cost=lt.2.5", `[{"sku":"S-2"}]`},
			{"items?select=sku&abc_class=neq.A", `[{"sku":"S-3"}]`},
			{"items?select=sku&abc_class=not.eq.A", `[{"sku":"S-3"}]`},
			{"items?select=sku&abc_class=isdistinct.A&order=sku", `[{"sku":"S-2"},{"sku":"S-3"}]`},
			{"items?select=sku&abc_class=is.null", `[{"sku":"S-2"}]`},
			{"items?select=sku&abc_class=not.is.null&order=sku", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"items?select=sku&abc_class=is.NOT_NULL&order=sku", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"items?select=sku&has_expiry=is.true", `[{"sku":"S-1"}]`},
			{"items?select=sku&has_expiry=not.is.true&order=sku", `[{"sku":"S-2"},{"sku":"S-3"}]`},
			{"items?select=sku&has_expiry=eq.true", `[{"sku":"S-1"}]`},
			{"items?select=sku&has_expiry=is.unknown", `[]`},
			{"items?select=sku&name=eq.bolt,%20long", `[{"sku":"S-2"}]`},
			{"orders?select=order_no&promised_at=eq.2026-03-05T08:00:00Z", `[{"order_no":"O-1"}]`},
			{"orders?select=order_no&promised_at=lt.2026-03-05T00:00:00%2B02:00", `[{"order_no":"O-3"}]`},
			{"zones?select=code&id=eq." + strings.ToUpper(id(2)), `[{"code":"A-02"}]`},
			// patterns: like minds case, * is %
			{"items?select=sku&name=like.Bolt*", `[{"sku":"S-1"}]`},
			{"items?select=sku&name=ilike.bolt*&order=sku", `[{"sku":"S-1"},{"sku":"S-2"}]`},
			{"items?select=sku&name=like.100\\%25*", `[{"sku":"S-3"}]`},
			{"items?select=sku&name=like.*nut_a", `[{"sku":"S-3"}]`},
			{"items?select=sku&name=like(any).{B*,100*}&order=sku", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"items?select=sku&name=ilike(all).{*o*,*t}", `[{"sku":"S-1"}]`},
			{"items?select=sku&name=match.%5E[Bb]olt&order=sku", `[{"sku":"S-1"},{"sku":"S-2"}]`},
			{"items?select=sku&name=imatch.LONG$", `[{"sku":"S-2"}]`},
			// lists
			{"items?select=sku&sku=in.(S-1,S-3,none)&order=sku", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"items?select=sku&name=in.(\"bolt, long\",Bolt)&order=sku", `[{"sku":"S-1"},{"sku":"S-2"}]`},
			{"items?select=sku&sku=in.()", `[]`},
			{"items?select=sku&sku=not.in.()&limit=1&order=sku", `[{"sku":"S-1"}]`},
			{"items?select=sku&shelf_life_days=in.(30,%20400)&order=sku", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"items?select=sku&shelf_life_days=eq(any).{30,400}&order=sku", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"items?select=sku&sku=eq(any).{}", `[]`},
			// arrays
			{"orders?select=order_no&tags=cs.{eu}&order=order_no", `[{"order_no":"O-1"},{"order_no":"O-3"}]`},
			{"orders?select=order_no&tags=cs.{eu,vip}", `[{"order_no":"O-1"}]`},
			{"orders?select=order_no&tags=cd.{eu,x}&order=order_no", `[{"order_no":"O-2"},{"order_no":"O-3"}]`},
			{"orders?select=order_no&tags=ov.{vip,x}", `[{"order_no":"O-1"}]`},
			{"zones?select=code&hazard_tags=cs.{\"hot,wet\"}", `[{"code":"A-02"}]`},
			{"orders?select=order_no&tags=eq.{eu}", `[{"order_no":"O-3"}]`},
			// logic
			{"items?select=sku&or=(sku.eq.S-1,unit_cost.gt.10)&order=sku", `[{"sku":"S-1"},{"sku":"S-3"}]`},
			{"items?select=sku&not.or=(sku.eq.S-1,unit_cost.gt.10)", `[{"sku":"S-2"}]`},
			{"items?select=sku&or=(sku.eq.S-1,and(unit_cost.gt.10,name.not.like.x*))&or=(sku.eq.S-3,sku.eq.S-2)",
				`[{"sku":"S-3"}]`},
			{"items?select=sku&or=(name.eq.\"bolt, long\",abc_class.is.null)", `[{"sku":"S-2"}]`},
			// order: nulls last going up, first going down
			{"items?select=sku&order=abc_class", `[{"sku":"S-1"},{"sku":"S-3"},{"sku":"S-2"}]`},
			{"items?select=sku&order=abc_class.desc", `[{"sku":"S-2"},{"sku":"S-3"},{"sku":"S-1"}]`},
			{"items?select=sku&order=abc_class.desc.nullslast", `[{"sku":"S-3"},{"sku":"S-1"},{"sku":"S-2"}]`},
			{"orders?select=order_no&order=priority.desc,order_no.desc",
				`[{"order_no":"O-3"},{"order_no":"O-2"},{"order_no":"O-1"}]`},
			{"items?select=name&order=name", `[{"name":"100% nut_a"},{"name":"Bolt"},{"name":"bolt, long"}]`},
			{"items?select=sku&order=sku&offset=1&limit=1", `[{"sku":"S-2"}]`},
			{"items?select=sku&limit=0", `[]`},
			{"items?select=sku&offset=9", `[]`},
			// JSON paths
			{"items?select=barcodes->0->>value,barcodes->0->n,t:barcodes->0->>n&sku=eq.S-1", `[{"value":"123","n":7,"t":"7"}]`},
			{"items?select=sku&barcodes->0->>on=eq.true", `[{"sku":"S-1"}]`},
			{"items?select=sku&barcodes->0->>value=in.(9,8)", `[{"sku":"S-3"}]`},
			// -> compares, sorts and shows JSON as it was sent, without blanks
			{"items?select=sku,b:barcodes->0&sku=eq.S-1", `[{"sku":"S-1","b":{"value":"123","n":7,"on":true}}]`},
			{`items?select=sku&barcodes->0=eq.{"value":"123","n":7,"on":true}`, `[{"sku":"S-1"}]`},
			{`items?select=sku&barcodes->0=in.("{\"value\":\"9\"}")`, `[{"sku":"S-3"}]`},
			{`items?select=sku&barcodes->0->value=eq."9"`, `[{"sku":"S-3"}]`},
			{"items?select=sku&barcodes->0=like.*%22n%22:7*", `[{"sku":"S-1"}]`},
			{"items?select=sku&barcodes->0=not.is.null&order=barcodes->0.desc", `[{"sku":"S-3"},{"sku":"S-1"}]`},
			{"items?select=sku&barcodes->0->>value=is.null", `[{"sku":"S-2"}]`},
			{"items?select=sku&order=barcodes->0->>value.desc.nullslast", `[{"sku":"S-3"},{"sku":"S-1"},{"sku":"S-2"}]`},
			// count
			{"items?select=count", `[{"count":3}]`},
			{"items?select=n:count()&abc_class=not.is.null", `[{"n":2}]`},
			{"orders?select=order_no,order_lines(count)&order=order_no",
				`[{"order_no":"O-1","order_lines":[{"count":2}]},{"order_no":"O-2","order_lines":[{"count":0}]},{"order_no":"O-3","order_lines":[{"count":1}]}]`},
			// embeds
			{"order_lines?select=line_no,orders(order_no),items(sku)&order=id",
				`[{"line_no":1,"orders":{"order_no":"O-1"},"items":{"sku":"S-1"}},` +
					`{"line_no":2,"orders":{"order_no":"O-1"},"items":{"sku":"S-2"}},{"line_no":1,"orders":{"order_no":"O-3"},"items":{"sku":"S-3"}}]`},
			{"order_lines?select=item:item_id(sku)&line_no=eq.2", `[{"item":{"sku":"S-2"}}]`},
			{"order_lines?select=order_lines_item_id_fkey(sku)&line_no=eq.2", `[{"order_lines_item_id_fkey":{"sku":"S-2"}}]`},
			{"order_lines?select=items!item_id(sku)&line_no=eq.2", `[{"items":{"sku":"S-2"}}]`},
			{"orders?select=order_no,lines:order_lines(qty_ordered,items(sku))&order=order_no",
				`[{"order_no":"O-1","lines":[{"qty_ordered":5,"items":{"sku":"S-1"}},{"qty_ordered":2.25,"items":{"sku":"S-2"}}]},` +
					`{"order_no":"O-2","lines":[]},{"order_no":"O-3","lines":[{"qty_ordered":1,"items":{"sku":"S-3"}}]}]`},
			{"orders?select=order_no,order_lines(line_no)&order_lines.line_no=eq.2&order=order_no",
				`[{"order_no":"O-1","order_lines":[{"line_no":2}]},{"order_no":"O-2","order_lines":[]},{"order_no":"O-3","order_lines":[]}]`},
			{"orders?select=order_no,l:order_lines(line_no)&l.order=line_no.desc&l.limit=1&order=order_no",
				`[{"order_no":"O-1","l":[{"line_no":2}]},{"order_no":"O-2","l":[]},{"order_no":"O-3","l":[{"line_no":1}]}]`},
			{"orders?select=order_no,l:order_lines(line_no)&order_lines.order=line_no.desc&l.offset=1&order=order_no&limit=1",
				`[{"order_no":"O-1","l":[{"line_no":1}]}]`},
			{"orders?select=order_no,l:order_lines(line_no)&l.or=(line_no.eq.2,qty_ordered.eq.1)&order=order_no",
				`[{"order_no":"O-1","l":[{"line_no":2}]},{"order_no":"O-2","l":[]},{"order_no":"O-3","l":[{"line_no":1}]}]`},
			{"orders?select=order_no,order_lines!inner(line_no)&order_lines.line_no=eq.2",
				`[{"order_no":"O-1","order_lines":[{"line_no":2}]}]`},
			{"orders?select=order_no,order_lines!inner(items!inner(sku))&order_lines.items.sku=eq.S-3",
				`[{"order_no":"O-3","order_lines":[{"items":{"sku":"S-3"}}]}]`},
			{"orders?select=order_no,order_lines()&order_lines=is.null", `[{"order_no":"O-2"}]`},
			{"orders?select=order_no,order_lines()&order_lines=not.is.null&order=order_no",
				`[{"order_no":"O-1"},{"order_no":"O-3"}]`},
			{"orders?select=order_no,order_lines()&or=(order_lines.is.null,priority.eq.1)&order=order_no",
				`[{"order_no":"O-1"},{"order_no":"O-2"}]`},
			{"zones?select=code,zones(code)&order=code&zones.order=code",
				`[{"code":"A-01","zones":[{"code":"A-02"},{"code":"b_03"}]},{"code":"A-02","zones":[]},{"code":"b_03","zones":[]}]`},
			{"zones?select=code,parent:parent_id(code)&order=code",
				`[{"code":"A-01","parent":null},{"code":"A-02","parent":{"code":"A-01"}},{"code":"b_03","parent":{"code":"A-01"}}]`},
			{"order_lines?select=line_no,...items(sku,n:name)&line_no=eq.2", `[{"line_no":2,"sku":"S-2","n":"bolt, long"}]`},
			{"zones?select=...parent_id(p:code),code&order=code&limit=2",
				`[{"p":null,"code":"A-01"},{"p":"A-01","code":"A-02"}]`},
			{"order_lines?select=line_no,items(sku)&order=items(sku).desc",
				`[{"line_no":1,"items":{"sku":"S-3"}},{"line_no":2,"items":{"sku":"S-2"}},{"line_no":1,"items":{"sku":"S-1"}}]`},
			{"order_lines?select=line_no&tenant_id=eq." + south, `[]`},
		} {
			if got := short(k.do(m, "GET", c.path, "", "").String()); got != c.want {
				a := k.do(m, "GET", c.path, "", "")
				k.Errorf("%s\n got %s\nwant %s", c.path, got, c.want)
				if a.err != nil {
					k.Errorf("     %s; %s; %v", a.err.Msg, a.err.Details, a.err.Err)
				}
			}
		}
	})
}

func TestSelect_refused(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		for path, code := range map[string]string{
			"zone":              "PGRST205",
			"zones?nope=eq.1":   "42703",
			"zones?select=nope": "42703",
			"zones?order=nope":  "42703",
			"zones?id=eq.7":     "22P02",
			"zones?x=eq.abc":    "22P02",
			"zones?x=eq.1e30":   "22003",
			"zones?pick_sequence=eq.99999999999999999999":             "22003",
			"zones?created_at=eq.yesterday":                           "22007",
			"zones?created_at=eq.2026-13-01T00:00:00Z":                "22008",
			"lots?expires_on=eq.2026-02-30":                           "22008",
			"items?has_expiry=eq.maybe":                               "22P02",
			"items?has_expiry=is.maybe":                               "PGRST100",
			"items?sku=is.true":                                       "42804",
			"zones?id=like.1*":                                        "42883",
			"zones?code=cs.{1}":                                       "42883",
			"zones?code->a=eq.1":                                      "42883",
			"items?barcodes=cs.{1}":                                   "22P02",
			"items?name=match.(":                                      "2201B",
			"items?name=like.x\\":                                     "22025",
			"items?select=sku::nonsense":                              "42704",
			"items?select=sku::int":                                   "42846",
			"items?select=tenants(*)":                                 "PGRST200",
			"items?select=drivers(*)":                                 "PGRST200",
			"stock_movements?select=zones(code)":                      "PGRST201",
			"orders?order_lines.line_no=eq.1":                         "PGRST108",
			"orders?order=order_lines(line_no)":                       "PGRST108",
			"orders?select=order_lines(*)&order=order_lines(line_no)": "PGRST118",
			"orders?select=order_lines(*)&order_lines=eq.1":           "PGRST120",
			"orders?select=...order_lines(*)":                         "PGRST127",
			"orders?order=(select 1)":                                 "PGRST100",
			"orders?limit=-1":                                         "PGRST103",
		} {
			a := k.do(m, "GET", path, "", "")
			if a.err == nil || a.err.Code != code {
				t.Errorf("%s: got %v, want %s", path, a, code)
			}
		}
	})
}

func TestSelect_countsAndRanges(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		for _, c := range []struct {
			path   string
			status store.Outcome
			first  int
			count  int
			total  int64
		}{
			{"items?limit=2&order=sku", store.Part, 0, 2, 3},
			{"items?limit=2&offset=2&order=sku", store.Part, 2, 1, 3},
			{"items?sku=eq.S-1", store.Rows, 0, 1, 1},
			{"items?sku=eq.none", store.Rows, 0, 0, 0},
			{"items?offset=3", store.Part, 3, 0, 3},
			{"orders?select=order_lines!inner(id)", store.Rows, 0, 2, 2},
			{"orders?select=order_lines()&order_lines=is.null", store.Rows, 0, 1, 1},
		} {
			a := k.must(m, "GET", c.path, "count=exact", "")
			if a.Status != c.status || a.First != c.first || a.Count != c.count || a.Total != c.total {
				t.Errorf("%s: %s first %d count %d total %d", c.path, a.Status, a.First, a.Count, a.Total)
			}
		}
		a := k.do(m, "GET", "items?offset=4", "count=exact", "")
		k.refused(a, "PGRST103")
		if a.err != nil && a.err.Data != any(int64(3)) {
			t.Errorf("total %v", a.err.Data)
		}
		if a := k.must(m, "GET", "items?limit=1", "", ""); a.Status != store.Rows || a.Total != -1 {
			t.Errorf("%+v", a.Result)
		}
	})
}

func TestSelect_shapes(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		k.want(string(k.must(m, "GET", "items?select=sku&sku=eq.S-1", "one", "").Body), `{"sku":"S-1"}`)
		a := k.do(m, "GET", "items?sku=eq.none", "one", "")
		k.refused(a, "PGRST116")
		k.want(a.err.Details, "The result contains 0 rows")
		k.refused(k.do(m, "GET", "items", "one", ""), "PGRST116")
		k.want(string(k.must(m, "GET", "items?select=abc_class,sku,items:order_lines(lots(lot_no),line_no)&order=sku&limit=2", "stripped", "").Body),
			`[{"abc_class":"A","sku":"S-1","items":[{"line_no":1}]},{"sku":"S-2","items":[{"line_no":2}]}]`)
		k.want(string(k.must(m, "GET", "items?select=name,abc_class,unit_cost,order_lines(line_no)&order=sku", "csv",
			"").Body),
			"name,abc_class,unit_cost,order_lines\n"+
				"Bolt,A,2.5,\"[{\"\"line_no\"\":1}]\"\n"+
				"\"bolt, long\",,0.0001,\"[{\"\"line_no\"\":2}]\"\n"+
				"100% nut_a,B,12,\"[{\"\"line_no\"\":1}]\"")
		k.want(string(k.must(m, "GET", "items?select=name,sku&sku=eq.none", "csv", "").Body), "name,sku")
	})
}
