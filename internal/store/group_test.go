package store_test

import (
	"context"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/fault"
	"holdfast/internal/prefer"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Groups, and what their rows are worth together.
func TestGroups(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		for _, c := range []struct{ path, want string }{
			// every aggregate, cast and named; of no rows
			{"items?select=unit_cost.sum(),unit_cost.avg(),unit_cost.min(),unit_cost.max(),unit_cost.count()",
				`[{"sum":14.5001,"avg":4.8333666666666667,"min":0.0001,"max":12,"count":3}]`},
			{"items?select=shelf_life_days.sum(),shelf_life_days.avg(),shelf_life_days.count(),count()",
				`[{"sum":430,"avg":215,"count":2,"count":3}]`},
			{"items?select=a:unit_cost.avg()::int,t:unit_cost.sum()::text,i:unit_cost::int.sum(),n:count()::text",
				`[{"a":5,"t":"14.5001","i":15,"n":"3"}]`},
			{"items?select=unit_cost.sum(),name.max(),count()&sku=eq.none", `[{"sum":null,"max":null,"count":0}]`},
			{"items?select=abc_class,count()&sku=eq.none", `[]`},
			{"items?select=name.min(),sku.max()", `[{"min":"100% nut_a","max":"S-3"}]`},
			{"orders?select=promised_at.min(),d:promised_at.max()::date",
				`[{"min":"2026-03-04T00:00:00.000000Z","d":"2026-03-05"}]`},
			{"zones?select=x.sum(),x.avg()", `[{"sum":1.25,"avg":0.4166666666666667}]`},
			// groups: null is one, a document's member is, a day is
			{"items?select=abc_class,count()&order=abc_class",
				`[{"abc_class":"A","count":1},{"abc_class":"B","count":1},{"abc_class":null,"count":1}]`},
			{"items?select=has_expiry,unit_cost.sum()&order=has_expiry",
				`[{"has_expiry":false,"sum":12.0001},{"has_expiry":true,"sum":2.5}]`},
			{"orders?select=priority,status,count()&order=priority.desc",
				`[{"priority":2,"status":"draft","count":2},{"priority":1,"status":"draft","count":1}]`},
			{"items?select=v:barcodes->0->>value,count()&order=barcodes->0->>value.desc.nullslast",
				`[{"v":"9","count":1},{"v":"123","count":1},{"v":null,"count":1}]`},
			{"orders?select=day:promised_at::date,count()&order=promised_at",
				`[{"day":"2026-03-04","count":1},{"day":"2026-03-05","count":1},{"day":null,"count":1}]`},
			{"items?select=c:unit_cost::int,count()&order=unit_cost",
				`[{"c":0,"count":1},{"c":3,"count":1},{"c":12,"count":1}]`},
			// order and pages: by a column, by what is folded, then by the groups
			{"orders?select=priority,count()&order=count.desc", `[{"priority":2,"count":2},{"priority":1,"count":1}]`},
			{"order_lines?select=item_id,n:qty_ordered.sum()&order=n.desc&limit=2",
				`[{"item_id":"#11","n":5},{"item_id":"#12","n":2.25}]`},
			{"order_lines?select=item_id,qty_ordered.avg()&order=avg.desc&offset=1&limit=1", `[{"item_id":"#12","avg":2.25}]`},
			{"zones?select=code,x.sum()&order=sum", `[{"code":"b_03","sum":-0.25},{"code":"A-02","sum":0},{"code":"A-01","sum":1.5}]`},
			{"items?select=sku,count()", `[{"sku":"S-1","count":1},{"sku":"S-2","count":1},{"sku":"S-3","count":1}]`},
			// embeds: one that groups share, groups of each parent's rows
			{"order_lines?select=qty_ordered.sum(),orders(order_no)&order=sum.desc",
				`[{"sum":7.25,"orders":{"order_no":"O-1"}},{"sum":1,"orders":{"order_no":"O-3"}}]`},
			{"order_lines?select=count(),...orders(order_no)&order=count.desc",
				`[{"count":2,"order_no":"O-1"},{"count":1,"order_no":"O-3"}]`},
			{"order_lines?select=qty_ordered.sum(),orders!inner()&orders.priority=eq.1", `[{"sum":7.25}]`},
			{"orders?select=order_no,order_lines(qty_ordered.sum(),count())&order=order_no",
				`[{"order_no":"O-1","order_lines":[{"sum":7.25,"count":2}]},{"order_no":"O-2","order_lines":[{"sum":null,"count":0}]},` +
					`{"order_no":"O-3","order_lines":[{"sum":1,"count":1}]}]`},
			{"orders?select=order_no,l:order_lines(line_no,count(),items(sku))&l.order=line_no.desc&l.limit=1&order=order_no",
				`[{"order_no":"O-1","l":[{"line_no":2,"count":1,"items":{"sku":"S-2"}}]},{"order_no":"O-2","l":[]},` +
					`{"order_no":"O-3","l":[{"line_no":1,"count":1,"items":{"sku":"S-3"}}]}]`},
			{"order_lines?select=line_no,orders(count())&line_no=eq.2", `[{"line_no":2,"orders":{"count":1}}]`},
			{"zones?select=code,parent_id(n:count()::text)&order=code&limit=2",
				`[{"code":"A-01","parent_id":{"n":"0"}},{"code":"A-02","parent_id":{"n":"1"}}]`},
		} {
			a := k.do(m, "GET", c.path, "", "")
			if got := short(a.String()); got != c.want {
				k.Errorf("%s\n got %s\nwant %s", c.path, got, c.want)
				if a.err != nil {
					k.Errorf("     %s; %s; %v", a.err.Msg, a.err.Details, a.err.Err)
				}
			}
		}
		a := k.must(m, "GET", "orders?select=priority,count()&limit=1", "count=exact", "")
		if a.Total != 2 || a.Status != store.Part || a.Next != nil {
			t.Errorf("of %d groups, status %d, next %s", a.Total, a.Status, a.Next)
		}
		k.want(k.do(m, "GET", "items?select=abc_class,unit_cost.sum()&order=abc_class", "csv", "").String(),
			"abc_class,sum\nA,2.5\nB,12\n,0.0001")
		k.want(k.do(m, "GET", "items?select=abc_class,n:shelf_life_days.max()&sku=eq.S-2", "stripped", "").String(), `[{}]`)
		k.want(k.do(m, "GET", "items?select=unit_cost.sum()", "one", "").String(), `{"sum":14.5001}`)
		a = k.must(m, "PATCH", "items?sku=neq.none&select=abc_class,count(),unit_cost.sum()&order=abc_class.desc",
			"return=representation", `{"has_expiry":false}`)
		k.want(string(a.Body), `[{"abc_class":null,"count":1,"sum":0.0001},{"abc_class":"B","count":1,"sum":12},{"abc_class":"A","count":1,"sum":2.5}]`)
	})
}

// What is no group is refused by name, and nobody adds up what he may not see.
func TestGroups_refused(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		for path, code := range map[string]string{
			"items?select=*,count()":                                  "PGRST127",
			"items?select=unit_cost.median()":                         "PGRST100",
			"items?select=unit_cost.sum":                              "PGRST100",
			"items?select=unit_cost.sum(":                             "PGRST100",
			"items?select=unit_cost.sum(1)":                           "PGRST100",
			"items?select=unit_cost.sum().sum()":                      "PGRST100",
			"items?select=unit_cost.sum()::nonsense":                  "42704",
			"items?select=unit_cost.sum()::uuid":                      "42846",
			"items?select=unit_cost::text.sum()":                      "PGRST127",
			"items?select=name.sum()":                                 "42883",
			"items?select=has_expiry.max()":                           "42883",
			"items?select=id.min()":                                   "42883",
			"items?select=created_at.avg()":                           "42883",
			"items?select=barcodes.max()":                             "42883",
			"items?select=barcodes->0->n.sum()":                       "PGRST127",
			"items?select=barcodes->0->>n::numeric.sum()":             "PGRST127",
			"incidents?select=lat.sum()":                              "PGRST127",
			"items?select=nope.sum()":                                 "42703",
			"items?select=nope,count()":                               "42703",
			"items?select=count()&order=sku":                          "42803",
			"items?select=abc_class,count()&order=nope":               "42703",
			"items?select=abc_class,count()&order=unit_cost":          "42803",
			"items?select=barcodes->0,count()&order=barcodes->0":      "PGRST127",
			"orders?select=count(),order_lines(line_no)":              "PGRST127",
			"order_lines?select=count(),items(sku)&order=items(sku)":  "PGRST127",
			"order_lines?select=line_no,...orders(count())":           "PGRST127",
			"orders?select=order_lines(nope.sum())":                   "42703",
			"orders?select=order_no,l:order_lines(count())&l.order=x": "42703",
		} {
			k.refused(k.do(m, "GET", path, "", ""), code)
		}
		driver := as(north, actor.Driver)
		for _, path := range []string{"drivers?select=last_lat.max()", "drivers?select=last_lat,count()",
			"drivers?select=last_lat::text,count()",
			"drivers?select=count(),last_lat.count()"} {
			k.refused(k.do(driver, "GET", path, "", ""), "42501")
		}
		k.refused(k.do(driver, "GET", "audit?select=count()", "", ""), "42501")
	})
}

// Sums beyond 64 bits are exact, below zero as above.
func TestGroups_sumsAreExact(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		var rows []string
		for i, x := range []string{"922337203685477.5807", "922337203685477.5807", "0.0001", "-922337203685477.5807",
			"-922337203685477.5807", "-0.0002"} {
			name := "up"
			if i > 2 {
				name = "down"
			}
			rows = append(rows, `{"code":"Z-`+string(rune('a'+i))+`","name":"`+name+`","x":`+x+`}`)
		}
		k.must(m, "POST", "zones", "", "["+strings.Join(rows, ",")+"]")
		k.want(k.get(m, "zones?select=name,x.sum(),x.avg(),i:x.sum()::int&order=sum"),
			`[{"name":"down","sum":-1844674407370955.1616,"avg":-614891469123651.7205333333333333,"i":-1844674407370955},`+
				`{"name":"up","sum":1844674407370955.1615,"avg":614891469123651.7205,"i":1844674407370955}]`)
	})
}

// Groups of more rows than may be are refused, however they are asked for;
// numbers of rows are not.
func TestGroups_ofManyRows(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fixture(k)
		m := as(north, actor.Manager)
		for path, code := range map[string]string{
			"items?select=unit_cost.sum()":               "54000",
			"items?select=sku,count()&limit=1":           "54000",
			"items?select=sku,count()&limit=0":           "54000", // by the total
			"items?select=count()":                       "",
			"items?select=sku,count()&sku=neq.S-1":       "",
			"orders?select=order_lines(count())":         "",
			"orders?select=order_lines(line_no.sum())":   "54000",
			"orders?select=order_lines(line_no,count())": "54000",
		} {
			name, raw, _ := strings.Cut(path, "?")
			req, err := query.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			r, _ := k.cat.Get(name)
			q, err := query.BindSelect(k.cat, m, r, req)
			if err != nil {
				t.Fatal(path, err)
			}
			q.Count, q.Root.Most = prefer.Exact, 2
			for _, e := range q.Root.Embeds {
				e.Most = 2
			}
			got := ""
			if _, err := k.s.Select(context.Background(), m, q); err != nil {
				got = fault.As(err).Code
			}
			if got != code {
				t.Errorf("%s: %q, want %q", path, got, code)
			}
		}
	})
}

// A statement for groups looks at one row more than they may be made of.
func TestGroups_lookNoFurther(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for path, limited := range map[string]bool{"items?select=unit_cost.sum()": true, "items?select=sku,count()": true,
			"items?select=count()": false} {
			name, raw, _ := strings.Cut(path, "?")
			req, err := query.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			r, _ := k.cat.Get(name)
			q, err := query.BindSelect(k.cat, as(north, actor.Manager), r, req)
			if err != nil {
				t.Fatal(err)
			}
			st, err := q.Rows(k.d)
			if got := strings.Contains(st.SQL, " LIMIT 1000001) s"); err != nil || got != limited {
				t.Errorf("%s: %v %s", path, err, st.SQL)
			}
		}
	})
}
