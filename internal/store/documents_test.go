package store_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"testing"
	"unicode/utf8"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/testkit/pgtest"
)

// odd are keys that a path has to find as they are.
var odd = []string{"a", "A", "0", "-1", `a\`, `q"q`, `a"."b`, `$.a`, "[0]", "", " a", "é", "e\u0301", "\U0001F600",
	"a'b", "a\tb", "#", "a%b", `\u0061`}

// A key is found whatever stands in it, an index reads arrays alone and a
// quoted number objects alone.
func TestDocumentPaths(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		doc := map[string]any{}
		for i, key := range odd {
			doc[key] = i
		}
		doc["list"] = []any{10, []any{"x"}, map[string]any{"0": "zero"}}
		raw, err := json.Marshal(map[string]any{"order_no": "O-1", "ship_to": doc})
		if err != nil {
			t.Fatal(err)
		}
		k.must(m, "POST", "orders", "", string(raw))
		read := func(path, want string) {
			t.Helper()
			a := k.do(m, "GET", "orders?select=v:ship_to"+url.QueryEscape(path), "", "")
			if got := a.String(); got != `[{"v":`+want+`}]` {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		for i, key := range odd {
			read("->"+quoted(key), strconv.Itoa(i))
			read("->>"+quoted(key), `"`+strconv.Itoa(i)+`"`)
		}
		read(`->a\`, "4")
		read("->0", "null")
		read("->list->0", "10")
		read("->list->-1->0", "null")
		read(`->list->-1->"0"`, `"zero"`)
		read(`->list->"0"`, "null")
		read("->list->1->>0", `"x"`)
		read("->a->b", "null")
	})
}

func quoted(key string) string {
	out := []byte{'"'}
	for i := range len(key) {
		if key[i] == '"' || key[i] == '\\' {
			out = append(out, '\\')
		}
		out = append(out, key[i])
	}
	return string(append(out, '"'))
}

// Numbers of a document compare and sort as numbers; what is none is not
// greater than anything.
func TestDocumentNumbers(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		for i, v := range []string{"9", "10.5", "100", "-2", `"50"`, "null", "1e1"} {
			k.must(m, "POST", "orders", "", fmt.Sprintf(`{"order_no":"N-%d","ship_to":{"n":%s}}`, i, v))
		}
		for path, want := range map[string]string{
			"ship_to->n=gt.9&order=ship_to->n":                               "N-6 N-1 N-2",
			"ship_to->n=lt.10&order=ship_to->n":                              "N-3 N-0",
			"ship_to->n=eq.10":                                               "N-6",
			"ship_to->n=in.(9.0,100)&order=id":                               "N-0 N-2",
			"ship_to->n=neq.9&order=id":                                      "N-1 N-2 N-3 N-4 N-5 N-6",
			`ship_to->n=eq."50"`:                                             "N-4",
			"ship_to->n=not.is.null&order=ship_to->n.desc.nullslast&limit=3": "N-2 N-1 N-6",
		} {
			a := k.do(m, "GET", "orders?select=order_no&"+path, "", "")
			if got := numbers(t, a.String()); got != want {
				t.Errorf("%s: %s (%v), want %s", path, got, a.err, want)
			}
		}
		for path, code := range map[string]string{
			"select=ship_to->>n::numeric": "PGRST127", `ship_to->n=gt."50"`: "PGRST127", "ship_to->n=lte.x": "PGRST127",
		} {
			if a := k.do(m, "GET", "orders?"+path, "", ""); a.err == nil || a.err.Code != code {
				t.Errorf("%s: %v, want %s", path, a, code)
			}
		}
	})
}

func numbers(t *testing.T, body string) (out string) {
	t.Helper()
	var rows []struct {
		No string `json:"order_no"`
	}
	if err := json.Unmarshal([]byte(body), &rows); err != nil {
		return body
	}
	for i, r := range rows {
		if i > 0 {
			out += " "
		}
		out += r.No
	}
	return out
}

// What one engine could not read is refused before it is stored; a member that
// is given twice is stored once.
func TestDocumentsAreStoredInOneForm(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		for doc, want := range map[string]string{
			`{"a":1, "b":{"x":1,"x":2},"a":3}`:        `{"a":3,"b":{"x":2}}`,
			`{"a":"\u0041\/\ud83d\ude00","\u0041":1}`: `{"a":"A/😀","A":1}`,
			`{"a":"\\ud800","b":"\\u0000"}`:           `{"a":"\\ud800","b":"\\u0000"}`,
			`{"a":"\ud800"}`:                          "22P02", `{"\udc00":1}`: "22P02", `{"a":"\ud800\ud800"}`: "22P02",
			`{"a":["\udfff x"]}`: "22P02",
			`{"a":1e999}`:        "22P02", `{"a":"\u0000"}`: "22P05",
			`{"lat":"north"}`: `{"lat":"north"}`, `{"city":5}`: "23514", `[1]`: "23514", `"text"`: "23514",
		} {
			a := k.do(m, "POST", "orders?select=ship_to", "return=representation", `{"ship_to":`+doc+`}`)
			got := a.String()
			if a.err != nil {
				got, want = a.err.Code, want+""
			} else {
				want = `[{"ship_to":` + want + `}]`
			}
			if got != want {
				t.Errorf("%s: %s %v, want %s", doc, got, a.err, want)
			}
		}
		if a := k.do(m, "POST", "zones", "", `{"code":"\ud800","name":"x"}`); a.err == nil || a.err.Code != "22P02" {
			t.Errorf("half of a pair in a text: %v", a)
		}
	})
}

// A document that came there by other means than a write, with escapes that are
// no characters, is read, and so are the rows beside it.
func TestDocumentsThatAreIllegible(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		docs := []string{`{"a":"\ud800x"}`, `{"a":"\ude00\ud83d"}`, `{"a":"\ud83d\ude00"}`,
			`{"a":"\\ud800 \\\ud800"}`, `{"a":"x\u0000y"}`, `{"a":"\u0041"}`, `{"a":"plain"}`}
		for i, doc := range docs {
			k.must(m, "POST", "orders", "", fmt.Sprintf(`{"order_no":"I-%d","ship_to":{"a":"x"}}`, i))
			err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
				tx.Queue("UPDATE orders SET ship_to = $3 WHERE tenant_id = $1 AND order_no = $2",
					[]any{north, fmt.Sprint("I-", i), doc}, nil)
				return tx.Flush()
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		want := `[{"v":"\ufffdx"},{"v":"\ufffd\ufffd"},{"v":"\ud83d\ude00"},{"v":"\\ud800 \\\ufffd"},{"v":"x\ufffdy"},{"v":"A"},{"v":"plain"}]`
		for _, path := range []string{"orders?select=v:ship_to->>a&order=order_no",
			"orders?select=v:ship_to->>a&order=order_no&ship_to->>a=neq.z",
			`orders?select=v:ship_to->>a&order=order_no&ship_to=cs.{}`} {
			var got, expected []map[string]string
			body := k.get(m, path)
			if !utf8.ValidString(body) {
				t.Errorf("%s: not UTF-8: %q", path, body)
			}
			if err := cmp.Or(json.Unmarshal([]byte(body), &got), json.Unmarshal([]byte(want), &expected)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, expected) {
				t.Errorf("%s: %q, want %q", path, got, expected)
			}
		}
		if got := numbers(t, k.get(m, "orders?select=order_no&ship_to->>a=eq.plain")); got != "I-6" {
			t.Errorf("found %s", got)
		}
	})
}

// A document contains another as jsonb's @> has it.
func TestDocumentContainment(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		m := as(north, actor.Manager)
		for i, doc := range []string{`[{"value":"4006381333931","type":"ean13"},{"value":"B-1"}]`,
			`[{"value":"B-1","n":1.0,"x":[1,[2,3]]}]`, `[]`} {
			k.must(m, "POST", "items", "", fmt.Sprintf(`{"sku":"C-%d","name":"x","barcodes":%s}`, i, doc))
		}
		for filter, want := range map[string]string{
			`cs.[{"value":"B-1"}]`: "C-0 C-1", `cs.[{"value":"B-1","n":1}]`: "C-1", `cs.[]`: "C-0 C-1 C-2", `cs.{}`: "",
			`cs.[{"x":[[3]]}]`: "C-1",
			`cs.[{"x":[3]}]`:   "", `cs.[{"x":1}]`: "", `not.cs.[{"value":"B-1"}]`: "C-2", `cd.[]`: "C-2",
			`cd.[{"value":"B-1","n":1,"x":[1,[2,3,4]],"y":0}]`: "C-1 C-2",
			`cs."x"`: "",
		} {
			a := k.do(m, "GET", "items?select=order_no:sku&order=sku&barcodes="+url.QueryEscape(filter), "", "")
			if got := numbers(t, a.String()); got != want {
				t.Errorf("%s: %s (%v), want %s", filter, got, a.err, want)
			}
		}
		for filter, code := range map[string]string{"cs.{a,b}": "22P02", "cs.": "22P02", `cs.["\ud800"]`: "22P02",
			"ov.[1]": "42883"} {
			if a := k.do(m, "GET", "items?barcodes="+url.QueryEscape(filter), "", ""); a.err == nil || a.err.Code != code {
				t.Errorf("%s: %v, want %s", filter, a, code)
			}
		}
	})
}

// rounds is how many random requests both engines are asked.
func rounds(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("HOLDFAST_AGREE_ROUNDS"))
	if err != nil && os.Getenv("HOLDFAST_AGREE_ROUNDS") != "" {
		t.Fatal(err)
	}
	return max(n, 1500)
}

// Both engines answer alike about documents of every kind, and refuse alike to
// store them.
func TestEnginesAgreeOnDocuments(t *testing.T) {
	lite := openKit(t, db.Options{Dir: t.TempDir(), Migrate: true})
	server := openKit(t, db.Options{URL: pgtest.DSN(t), Migrate: true, PoolSize: 2})
	m := as(north, actor.Manager)
	g := &documents{rand.New(rand.NewPCG(7, 7))}
	both := func(method, path, prefer, body string) {
		t.Helper()
		one, two := lite.do(m, method, path, prefer, body), server.do(m, method, path, prefer, body)
		if one.String() != two.String() || one.err != nil && one.err.Code == "" {
			t.Errorf("%s %s %s\nsqlite   %s %v\npostgres %s %v", method, path, body, one, one.err, two, two.err)
		}
	}
	for i := range 60 {
		both("POST", "orders?select=ship_to", "return=representation",
			fmt.Sprintf(`{"id":%q,"order_no":"O-%d","ship_to":%s}`, id(10+i), i, g.object(3)))
	}
	for range rounds(t) {
		path := "ship_to" + g.path()
		q := "orders?select=order_no,v:" + url.QueryEscape(path)
		switch g.IntN(3) {
		case 0:
			q += "&order=" + url.QueryEscape(path) + g.pick("", ".desc", ".nullsfirst", ".desc.nullslast") + ",order_no"
		case 1:
			if g.IntN(3) == 0 {
				q += "&order=order_no&ship_to=" + url.QueryEscape(g.pick("", "not.")+g.pick("cs.", "cd.")+g.value(2))
				break
			}
			q += "&order=order_no&" + url.QueryEscape(path) + "=" + url.QueryEscape(g.pick("", "not.")+g.comparison())
		default:
			q += "&order=order_no"
		}
		both("GET", q, "", "")
	}
}

// documents makes random ones.
type documents struct{ *rand.Rand }

func (g *documents) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *documents) path() (out string) {
	for n := g.IntN(3); n >= 0; n-- {
		arrow := "->"
		if n == 0 {
			arrow = g.pick("->", "->>")
		}
		out += arrow + g.pick(g.pick("0", "1", "-1", "-2"), quoted(g.pick(odd...)), quoted(g.pick(odd...)))
	}
	return out
}

func (g *documents) comparison() string {
	return g.pick("is.null", "not_null", "in.(1,2,x)",
		g.pick("eq.", "neq.", "gt.", "lte.", "isdistinct.", "like.", "ilike.")+
			g.pick("1", "1.0", "-0", "x", `"x"`, "null", "true", "", "É", "*", "{}", "1e1", "9007199254740993", "[1,2]"))
}

func (g *documents) value(depth int) string {
	if depth > 0 && g.IntN(2) == 0 {
		if g.IntN(2) == 0 {
			return g.object(depth - 1)
		}
		return "[" + g.value(depth-1) + "," + g.value(depth-1) + "]"
	}
	return g.pick("0", "-0", "1", "1.0", "1.50", "1e1", "-2", "9007199254740993", "1e300", "1e-300",
		"12345678901234567890.123", "null", "true", "false",
		`""`, `"x"`, `"X"`, `"é"`, `"e\u0301"`, `"\ud83d\ude00"`, `"\ud800"`, `"1"`, `"\\"`, `"a\nb"`, `"\u0000"`, "[]",
		"{}", "1e400")
}

func (g *documents) object(depth int) string {
	out := "{"
	for i := range 1 + g.IntN(5) {
		if i > 0 {
			out += ","
		}
		key, err := json.Marshal(g.pick(odd...))
		if err != nil {
			panic(err)
		}
		out += string(key) + ":" + g.value(depth)
	}
	return out + "}"
}
