package query

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
)

func TestParse_filters(t *testing.T) {
	for raw, want := range map[string]Cond{
		"a=eq.1":                {Column: Column{Name: "a"}, Op: Eq, Value: "1"},
		"a=eq.x,(y)":            {Column: Column{Name: "a"}, Op: Eq, Value: "x,(y)"},
		`a=eq."x"`:              {Column: Column{Name: "a"}, Op: Eq, Value: `"x"`},
		"a=not.lt.2":            {Column: Column{Name: "a"}, Op: Lt, Not: true, Value: "2"},
		"a=eq.one+two%2B;":      {Column: Column{Name: "a"}, Op: Eq, Value: "one two+;"},
		"a=in.(1,2)":            {Column: Column{Name: "a"}, Op: In, List: []string{"1", "2"}},
		`a=in.("x,y",z"q,"w"r)`: {Column: Column{Name: "a"}, Op: In, List: []string{"x,y", `z"q`, `"w"r`}},
		`a=in.("a\"b\\")`:       {Column: Column{Name: "a"}, Op: In, List: []string{`a"b\`}},
		"a=in.()":               {Column: Column{Name: "a"}, Op: In, List: []string{}},
		"a=in.(+)":              {Column: Column{Name: "a"}, Op: In, List: []string{}},
		`a=in.("")`:             {Column: Column{Name: "a"}, Op: In, List: []string{""}},
		"a=in.(x,)":             {Column: Column{Name: "a"}, Op: In, List: []string{"x", ""}},
		`a=eq(any).{1,"b,c"}`: {Column: Column{Name: "a"}, Op: Eq, Quant: true, Value: `{1,"b,c"}`,
			List: []string{"1", "b,c"}},
		"a=like(all).{x*}": {Column: Column{Name: "a"}, Op: Like, Quant: true, All: true, Value: "{x*}",
			List: []string{"x*"}},
		"d->k->>0=eq.v": {Column: Column{Name: "d", Steps: []Step{{Key: "k"}, {Index: 0, IsIndex: true}},
			Text: true}, Op: Eq, Value: "v"},
		`%22a.b%22=is.null`: {Column: Column{Name: "a.b"}, Op: Is, Value: "null"},
		"a=eq.":             {Column: Column{Name: "a"}, Op: Eq},
		"or=(a.eq.1,b.gt.2)": {Join: Or, Kids: []Cond{
			{Column: Column{Name: "a"}, Op: Eq, Value: "1"}, {Column: Column{Name: "b"}, Op: Gt, Value: "2"}}},
		"not.and=( a.eq.1 , not.or(b.in.(1,2),c.cs.{x,y}) )": {Join: And, Not: true, Kids: []Cond{
			{Column: Column{Name: "a"}, Op: Eq, Value: "1 "},
			{Join: Or, Not: true, Kids: []Cond{
				{Column: Column{Name: "b"}, Op: In, List: []string{"1", "2"}},
				{Column: Column{Name: "c"}, Op: Contains, Value: "{x,y}"}}}}},
		`or=(order.eq.1,and.not.is.null,x.eq."a)b")`: {Join: Or, Kids: []Cond{
			{Column: Column{Name: "order"}, Op: Eq, Value: "1"},
			{Column: Column{Name: "and"}, Op: Is, Not: true, Value: "null"},
			{Column: Column{Name: "x"}, Op: Eq, Value: "a)b"}}},
	} {
		req, err := Parse(raw)
		if err != nil {
			t.Errorf("%s: %v %s", raw, err, fault.As(err).Details)
			continue
		}
		if d := cmp.Diff([]Where{{Cond: want}}, req.Wheres); d != "" {
			t.Errorf("%s: %s", raw, d)
		}
	}
}

func TestParse_select(t *testing.T) {
	col := func(n string) Item { return Item{Column: Column{Name: n}} }
	for raw, want := range map[string][]Item{
		"a,b":          {col("a"), col("b")},
		"*":            {{Star: true}},
		"x:a,\"b c\"":  {{Alias: "x", Column: Column{Name: "a"}}, col("b c")},
		"a::text":      {{Column: Column{Name: "a"}, Cast: "text"}},
		"x:a->>k::int": {{Alias: "x", Column: Column{Name: "a", Steps: []Step{{Key: "k"}}, Text: true}, Cast: "int"}},
		"a->-1":        {{Column: Column{Name: "a", Steps: []Step{{Index: -1, IsIndex: true}}}}},
		"r(*)":         {{Column: Column{Name: "r"}, Embed: &EmbedItem{Items: []Item{{Star: true}}}}},
		"r()":          {{Column: Column{Name: "r"}, Embed: &EmbedItem{Items: []Item{}}}},
		"n:r!h!inner(a,s(b))": {{Alias: "n", Column: Column{Name: "r"},
			Embed: &EmbedItem{Hint: "h", Inner: true, Items: []Item{
				col("a"), {Column: Column{Name: "s"}, Embed: &EmbedItem{Items: []Item{col("b")}}}}}}},
		"...r(a)":              {{Column: Column{Name: "r"}, Embed: &EmbedItem{Spread: true, Items: []Item{col("a")}}}},
		"count":                {col("count")},
		"count()":              {{Column: Column{Name: "count"}, Func: "count", Rows: true}},
		"a.sum()":              {{Column: Column{Name: "a"}, Func: "sum"}},
		"x:a::int.avg()::text": {{Alias: "x", Column: Column{Name: "a"}, Before: "int", Func: "avg", Cast: "text"}},
		"a->>k.max()":          {{Column: Column{Name: "a", Steps: []Step{{Key: "k"}}, Text: true}, Func: "max"}},
		"r(count)":             {{Column: Column{Name: "r"}, Embed: &EmbedItem{Items: []Item{col("count")}}}},
	} {
		req, err := Parse("select=" + strings.NewReplacer(" ", "+").Replace(raw))
		if err != nil {
			t.Errorf("%s: %v %s", raw, err, fault.As(err).Details)
			continue
		}
		if d := cmp.Diff(want, req.Select); d != "" {
			t.Errorf("%s: %s", raw, d)
		}
	}
}

func TestParse_rest(t *testing.T) {
	req, err := Parse("order=a.desc,b.asc.nullsfirst,r(c),d-%3Ek.desc.nullslast&r.order=x" +
		"&r.limit=3&offset=-4&limit=7&columns=\"a\",\"b\"&on_conflict=a,b&r.s.a=eq.1&r.not.or=(a.eq.1)")
	if err != nil {
		t.Fatal(err)
	}
	want := &Request{
		Columns: []string{"a", "b"}, Conflict: []string{"a", "b"},
		Orders: []Order{
			{Terms: []Term{{Column: Column{Name: "a"}, Desc: true, NullsFirst: true},
				{Column: Column{Name: "b"}, NullsFirst: true, NullsGiven: true},
				{Relation: "r", Column: Column{Name: "c"}},
				{Column: Column{Name: "d", Steps: []Step{{Key: "k"}}}, Desc: true, NullsGiven: true}}},
			{Path: []string{"r"}, Terms: []Term{{Column: Column{Name: "x"}}}}},
		Pages: []Page{{Path: []string{"r"}, Limit: 3, Offset: -1}, {Limit: -1, Offset: 0}, {Limit: 7, Offset: -1}},
		Wheres: []Where{
			{Path: []string{"r", "s"}, Cond: Cond{Column: Column{Name: "a"}, Op: Eq, Value: "1"}},
			{Path: []string{"r"}, Cond: Cond{Join: Or, Not: true,
				Kids: []Cond{{Column: Column{Name: "a"}, Op: Eq, Value: "1"}}}}},
	}
	if d := cmp.Diff(want, req); d != "" {
		t.Error(d)
	}
}

func TestParse_refused(t *testing.T) {
	deep := strings.Repeat("and(", 25) + "a.eq.1" + strings.Repeat(")", 25)
	nested := strings.Repeat("r(", 7) + "a" + strings.Repeat(")", 7)
	for raw, code := range map[string]string{
		"name=eq.x%zz":                         "PGRST100", // a dropped filter would delete everything
		"name=eq.x%":                           "PGRST100",
		"a=eq.%ff":                             "PGRST100",
		"a=eq.%00":                             "PGRST100",
		"a":                                    "PGRST100",
		"=eq.1":                                "PGRST100",
		"a=1":                                  "PGRST100",
		"a=like":                               "PGRST100",
		"a=zz.1":                               "PGRST100",
		"a=not.not.eq.1":                       "PGRST100",
		"a=in.1":                               "PGRST100",
		"a=in.(1":                              "PGRST100",
		"a=in.(1)x":                            "PGRST100",
		"a=eq(any).1":                          "PGRST100",
		"a=is(any).{1}":                        "PGRST100",
		"a=fts.x":                              "PGRST127",
		"a=sl.x":                               "PGRST127",
		"or=()":                                "PGRST100",
		"or=(a.eq.1":                           "PGRST100",
		"or=(a.eq.1)x":                         "PGRST100",
		"or=a.eq.1":                            "PGRST100",
		"and=(" + deep + ")":                   "PGRST100",
		"select=a,":                            "PGRST100",
		"select=a b(c":                         "PGRST100",
		"select=a)":                            "PGRST100",
		"select=" + nested:                     "PGRST100",
		"select=a->":                           "PGRST100",
		"select=\"a":                           "PGRST100",
		"select=a&select=b":                    "PGRST100",
		"order=a.up":                           "PGRST100",
		"order=a.asc.desc":                     "PGRST100",
		"order=":                               "PGRST100",
		"limit=x":                              "PGRST100",
		"limit=":                               "PGRST100",
		"offset=1.5":                           "PGRST100",
		"limit=-1":                             "PGRST103",
		"columns=a,":                           "PGRST100",
		"a.b.c.d.e.f.g.h=eq.1":                 "PGRST100",
		"select=" + many("a", 501):             "PGRST100",
		"order=" + many("a", 17):               "PGRST100",
		"columns=" + many("a", 201):            "PGRST100",
		"a=in.(" + many("1", 5001) + ")":       "PGRST100",
		"or=(" + many("a.eq.1", 501) + ")":     "PGRST100",
		"select=" + many("r(a)", 17):           "PGRST100",
		"select=a" + strings.Repeat("->b", 17): "PGRST100",
		"a=eq." + strings.Repeat("x", MaxURL):  "PGRST100",
		strings.Repeat("a=eq.1&", 1200):        "PGRST100",
	} {
		if _, err := Parse(raw); !fault.HasCode(err, code) {
			t.Errorf("%.80s: got %v, want %s", raw, err, code)
		}
	}
}

func many(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

func TestParse_saysWhere(t *testing.T) {
	_, err := Parse("select=a,b(c")
	e := fault.As(err)
	if !strings.Contains(e.Msg, `"select"`) || !strings.Contains(e.Details, "column 6") {
		t.Errorf("%s; %s", e.Msg, e.Details)
	}
}

func TestJSONBody_refused(t *testing.T) {
	for body, code := range map[string]string{
		"":                                "PGRST102",
		" ":                               "PGRST102",
		"{":                               "PGRST102",
		"[1]":                             "PGRST102",
		"7":                               "PGRST102",
		`"x"`:                             "PGRST102",
		`{"a":1,"a":2}`:                   "PGRST102",
		`{"a":1}{"b":2}`:                  "PGRST102",
		`[{"a":1},{"b":1}]`:               "PGRST102",
		`[{"a":1},{"a":1,"b":1}]`:         "PGRST102",
		"{\"a\":\"\xff\"}":                "PGRST102",
		`{"a":` + strings.Repeat("[", 70): "PGRST102",
		`{"a":NaN}`:                       "PGRST102",
	} {
		if _, err := JSONBody([]byte(body), nil); !fault.HasCode(err, code) {
			t.Errorf("%.60s: got %v, want %s", body, err, code)
		}
	}
}

func TestCSVBody(t *testing.T) {
	b, err := CSVBody([]byte("\xef\xbb\xbfa,b\n1,NULL\n\"x\n,y\",\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Row{{"a": "1", "b": nil}, {"a": "x\n,y", "b": ""}}
	if d := cmp.Diff(want, b.Rows); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"", "a,a\n1,2", "a,b\n1", "a\n\"x"} {
		if _, err := CSVBody([]byte(bad), nil); !fault.HasCode(err, "PGRST102") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// FuzzParse holds that no query string panics, and that a parsed one has lost
// no filter.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=eq.1&or=(a.eq.1,b.in.(1,\"2\"))",
		"select=a:b->c::text,r!inner(*)&order=a.desc.nullsfirst", "a=eq(any).{1,2}&limit=3",
		"%61=not.is.null&r.not.and=(a.cs.{1})"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		req, err := Parse(raw)
		if err != nil {
			if fault.As(err).Kind == fault.Internal {
				t.Fatal(err)
			}
			return
		}
		n := 0
		for _, p := range strings.Split(raw, "&") {
			if p != "" {
				n++
			}
		}
		got := len(req.Wheres) + len(req.Orders) + len(req.Pages)
		for _, one := range []bool{req.Select != nil, req.Columns != nil, req.Conflict != nil} {
			if one {
				got++
			}
		}
		if got != n {
			t.Fatalf("%d parameters, %d understood: %q", n, got, raw)
		}
	})
}

// FuzzJSONBody holds our body scanner against encoding/json.
func FuzzJSONBody(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `[{"a":"x\"y","b":[1,{"c":null}]},{"a":"","b":true}]`, ` [ ] `,
		`{"é":-1.5e3 , "b" : "\u0041"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		body, err := JSONBody(b, nil)
		if err != nil {
			return
		}
		var want []map[string]json.RawMessage
		if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
			want = make([]map[string]json.RawMessage, 1)
			err = json.Unmarshal(b, &want[0])
		} else {
			err = json.Unmarshal(b, &want)
		}
		if err != nil {
			t.Fatalf("we read what encoding/json does not: %q", b)
		}
		if len(want) != len(body.Rows) {
			t.Fatalf("%d rows, want %d", len(body.Rows), len(want))
		}
		for i := range want {
			for k, v := range want[i] {
				got, _ := body.Rows[i][k].(json.RawMessage)
				if string(got) != string(v) {
					t.Fatalf("row %d %q: %s, want %s", i, k, got, v)
				}
			}
		}
	})
}
