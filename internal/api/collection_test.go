package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/idempotency"
	"holdfast/internal/store"
	"holdfast/internal/web"
)

const (
	testTenant = "0190a000-0000-7000-8000-000000000001"
	testUser   = "0190b000-0000-7000-8000-000000000001"
	zoneOne    = "0190c000-0000-7000-8000-000000000001"
)

// collections serves a fresh store at the routes of the product; who is the
// caller of every request.
func collections(t *testing.T, who actor.Actor) http.Handler {
	t.Helper()
	d, err := db.Open(context.Background(), db.Options{Dir: t.TempDir(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	s := store.New(d, catalog.Default(), store.Effects{},
		func() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) })
	err = d.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := s.In(tx, actor.Actor{Role: actor.Service}).InsertRows("tenants",
			[]store.Row{{"id": testTenant, "name": "T", "slug": "t"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h := NewCollections(s, idempotency.New(s.DB(), s.Now), hashed).Handler()
	mux := http.NewServeMux()
	for _, p := range []string{"/v1/{name}", "/v1/{name}/{id}", "/rest/v1/{name}"} {
		mux.Handle(p, h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(w, web.WithActor(r, who)) })
}

var boss = actor.Actor{UserID: testUser, TenantID: testTenant, Role: actor.Owner}

// ask makes one request; headers are "Name: value" lines.
func ask(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		k, v, _ := strings.Cut(line, ": ")
		if k == "Content-Type" {
			r.Header.Del(k)
		}
		r.Header.Add(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestCollections_overHTTP(t *testing.T) {
	h := collections(t, boss)
	const one = `[{"id":"` + zoneOne + `","code":"A","name":"a"},{"id":null,"code":"B","name":"b"},{"id":null,"code":"C","name":"c"}]`
	object := "Accept: application/vnd.pgrst.object+json"
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		want                       string // body, "" = empty, "*" = any
		head                       map[string]string
	}{
		{"insert many", "POST", "/rest/v1/zones", one, []string{"Prefer: count=exact"}, 201, "",
			map[string]string{"Content-Range": "*/3", "Preference-Applied": "count=exact"}},
		{"page", "GET", "/v1/zones?select=code&order=code&limit=2", "", []string{"Prefer: count=exact"}, 206,
			`[{"code":"A"},{"code":"B"}]`,
			map[string]string{"Content-Range": "0-1/3", "Content-Type": "application/json; charset=utf-8",
				"Vary": "Accept, Prefer, Range"}},
		{"no count", "GET", "/v1/zones?select=code&order=code&offset=2", "", nil, 200, `[{"code":"C"}]`,
			map[string]string{"Content-Range": "2-2/*"}},
		{"an order without an index", "GET", "/v1/zones?select=code&order=name&limit=1", "", nil, 200, "*",
			map[string]string{"Server-Timing": `sort;desc="no index keeps the order by name"`}},
		{"an order with one", "GET", "/v1/zones?select=code&order=created_at.desc&limit=1", "", nil, 200, "*",
			map[string]string{"Server-Timing": ""}},
		{"nothing", "GET", "/v1/zones?code=eq.X", "", nil, 200, `[]`, map[string]string{"Content-Range": "*/*"}},
		{"head", "HEAD", "/v1/zones?limit=1", "", []string{"Prefer: count=exact"}, 206, "",
			map[string]string{"Content-Range": "0-0/3"}},
		{"past the end", "GET", "/v1/zones?offset=9", "", []string{"Prefer: count=exact"}, 416, "*",
			map[string]string{"Content-Range": "*/3"}},
		{"range header", "GET", "/v1/zones?select=code&order=code", "", []string{"Range: 1-1"}, 200, `[{"code":"B"}]`,
			map[string]string{"Content-Range": "1-1/*"}},
		{"range and limit meet", "GET", "/v1/zones?select=code&order=code&limit=2", "", []string{"Range: 1-"}, 200,
			`[{"code":"B"}]`, nil},
		{"bytes range is ignored", "GET", "/v1/zones?select=code&order=code&limit=1", "", []string{"Range: bytes=0-1"}, 200,
			`[{"code":"A"}]`, nil},
		{"upside down range", "GET", "/v1/zones", "", []string{"Range: 5-1"}, 416, "*", nil},
		{"single", "GET", "/v1/zones?select=code&code=eq.A", "", []string{object}, 200, `{"code":"A"}`,
			map[string]string{"Content-Type": "application/vnd.pgrst.object+json; charset=utf-8"}},
		{"single of none", "GET", "/v1/zones?code=eq.X", "", []string{object}, 406, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=PGRST116"}},
		{"csv", "GET", "/v1/zones?select=code,name&order=code&limit=1", "", []string{"Accept: text/csv"}, 200,
			"code,name\nA,a",
			map[string]string{"Content-Type": "text/csv; charset=utf-8"}},
		{"first acceptable", "GET", "/v1/zones?select=code&limit=1&order=code", "", []string{"Accept: text/html, */*;q=0.8"},
			200, `[{"code":"A"}]`, nil},
		{"not acceptable", "GET", "/v1/zones", "", []string{"Accept: application/geo+json"}, 406, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=PGRST107"}},
		{"profile public", "GET", "/rest/v1/zones?select=code&limit=1&order=code", "", []string{"Accept-Profile: public"},
			200, `[{"code":"A"}]`, nil},
		{"profile other", "GET", "/v1/zones", "", []string{"Accept-Profile: auth"}, 406, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=PGRST106"}},
		{"representation", "PATCH", "/v1/zones?code=eq.B&select=name", `{"name":"bb"}`,
			[]string{"Prefer: return=representation, count=exact"}, 200,
			`[{"name":"bb"}]`,
			map[string]string{"Content-Range": "0-0/1", "Preference-Applied": "return=representation, count=exact"}},
		{"minimal", "PATCH", "/v1/zones?code=eq.none", `{"name":"bb"}`, nil, 204, "",
			map[string]string{"Content-Range": "*/*"}},
		{"headers only", "POST", "/v1/zones", `{"id":"0190c000-0000-7000-8000-000000000009","code":"D","name":"d"}`,
			[]string{"Prefer: return=headers-only"}, 201, "",
			map[string]string{"Location": "/zones?id=eq.0190c000-0000-7000-8000-000000000009",
				"Preference-Applied": "return=headers-only"}},
		{"csv in", "POST", "/v1/zones?select=name", "code,name\nE,\"x,y\"\n",
			[]string{"Content-Type: text/csv", "Prefer: return=representation"}, 201,
			`[{"name":"x,y"}]`, nil},
		{"delete", "DELETE", "/v1/zones?code=in.(D,E)", "", []string{"Content-Type: application/json"}, 204, "", nil},
		{"upsert", "POST", "/v1/zones?on_conflict=code&select=name", `{"code":"a","name":"aa"}`,
			[]string{"Prefer: resolution=merge-duplicates", "Prefer: return=representation"}, 200, `[{"name":"aa"}]`,
			map[string]string{"Preference-Applied": "resolution=merge-duplicates, return=representation"}},
		{"one record", "GET", "/v1/zones/" + zoneOne + "?select=code", "", nil, 200, `{"code":"a"}`,
			map[string]string{"Content-Type": "application/json; charset=utf-8"}},
		{"change one record", "PATCH", "/v1/zones/" + zoneOne + "?select=name", `{"name":"third"}`,
			[]string{`If-Match: "2"`}, 200, `{"name":"third"}`, nil},
		{"stale change", "PATCH", "/v1/zones/" + zoneOne, `{"name":"x"}`, []string{`If-Match: "2"`}, 409, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=HF008"}},
		{"unknown record", "GET", "/v1/zones/0190c000-0000-7000-8000-0000000000ff", "", nil, 404,
			`{"code":"PGRST116","message":"no such record","details":"The result contains 0 rows","hint":null}` + "\n", nil},
		{"unknown record, delete", "DELETE", "/v1/zones/0190c000-0000-7000-8000-0000000000ff", "", nil, 404, "*", nil},
		{"no id", "GET", "/v1/zones/first", "", nil, 404, "*", nil},
		{"delete one record", "DELETE", "/v1/zones/" + zoneOne, "", nil, 204, "", nil},
		{"options", "OPTIONS", "/v1/zones", "", nil, 200, "", map[string]string{"Allow": collectionMethods}},
		{"method", "TRACE", "/v1/zones", "", nil, 405, "*",
			map[string]string{"Allow": collectionMethods, "Proxy-Status": "Holdfast; error=PGRST117"}},
		{"part of a method", "ETE", "/v1/zones?code=eq.B", "", nil, 405, "*", nil},
		{"end of a method", "E", "/v1/zones/" + zoneOne, "", nil, 405, "*", nil},
		{"small letters", "delete", "/v1/zones?code=eq.B", "", nil, 405, "*", nil},
		{"method on a record", "POST", "/v1/zones/" + zoneOne, "{}", nil, 405, "*",
			map[string]string{"Allow": recordMethods}},
		{"dashes", "GET", "/v1/import-jobs?select=id", "", nil, 200, `[]`, nil},
		{"unknown collection", "GET", "/v1/zoness", "", nil, 404,
			`{"code":"PGRST205","message":"no collection is called \"zoness\"","details":null,"hint":"perhaps \"zones\" is meant"}` + "\n", nil},
		{"several readings", "GET", "/v1/stock_movements?select=zones(id)", "", nil, 300, "*", nil},
		{"broken escape on delete", "DELETE", "/v1/zones?code=eq.x%zz", "", nil, 400, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=PGRST100"}},
		{"no filter on delete", "DELETE", "/v1/zones", "", nil, 400, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=21000"}},
		{"empty body", "POST", "/v1/zones", "", []string{"Content-Type: application/json"}, 400, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=PGRST102"}},
		{"form body", "POST", "/v1/zones", "a=b", []string{"Content-Type: application/x-www-form-urlencoded"}, 400, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=PGRST102"}},
		{"strict", "GET", "/v1/zones", "", []string{"Prefer: handling=strict, nonsense=1"}, 400, "*",
			map[string]string{"Proxy-Status": "Holdfast; error=PGRST122"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ask(h, c.method, c.target, c.body, c.headers...)
			if w.Code != c.status {
				t.Fatalf("%d %s, want %d", w.Code, w.Body, c.status)
			}
			if c.want != "*" && w.Body.String() != c.want {
				t.Errorf("body %s, want %s", w.Body, c.want)
			}
			for k, v := range c.head {
				if got := w.Header().Get(k); got != v {
					t.Errorf("%s: %q, want %q", k, got, v)
				}
			}
			if c.status >= 400 && c.method != "HEAD" {
				wellFormed(t, w)
			}
		})
	}
}

// wellFormed holds an error to the four members clients read.
func wellFormed(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	var keys []string
	for _, k := range []string{"code", "message", "details", "hint"} {
		if _, ok := body[k]; ok {
			keys = append(keys, k)
		}
	}
	if d := cmp.Diff([]string{"code", "message", "details", "hint"}, keys); d != "" || len(body) != 4 {
		t.Errorf("%s in %s", d, w.Body)
	}
	for _, leak := range []string{"SELECT", "SQLSTATE", "constraint failed", "near \""} {
		if strings.Contains(w.Body.String(), leak) {
			t.Errorf("the driver's words got out: %s", w.Body)
		}
	}
}

func TestCollections_anonymous(t *testing.T) {
	for _, who := range []actor.Actor{{}, {Role: actor.Anon}} {
		h := collections(t, who)
		for _, target := range []string{"/v1/zones", "/v1/nothing", "/v1/zones?a=%zz"} {
			w := ask(h, "GET", target, "")
			if w.Code != 401 || w.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: %d %s", target, w.Code, w.Body)
			}
		}
	}
	w := ask(collections(t, actor.Actor{UserID: testUser, Role: actor.Viewer}), "GET", "/v1/zones", "")
	if w.Code != 403 {
		t.Errorf("no tenant: %d %s", w.Code, w.Body)
	}
}

// Whatever is sent, the answer is never a 5xx.
func TestCollections_badInput(t *testing.T) {
	h := collections(t, boss)
	deep := strings.Repeat("[", 100_000)
	for _, c := range [][3]string{
		{"POST", "/v1/zones", deep},
		{"POST", "/v1/zones", `{"code":` + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 101)},
		{"POST", "/v1/zones", "{\"code\":\"\xff\"}"},
		{"POST", "/v1/zones", `{"code":"x","name":"\ud800"}`},
		{"POST", "/v1/zones", `{"code":"x","name":"n","x":1e999}`},
		{"POST", "/v1/zones", `{"code":"x","name":"n","pick_sequence":-0}`},
		{"POST", "/v1/zones", strings.Repeat(" ", 5<<20)},
		{"POST", "/v1/zones?columns=" + strings.Repeat("a,", 300), `{}`},
		{"GET", "/v1/zones?" + strings.Repeat("code=eq.1&", 600), ""},
		{"GET", "/v1/zones?id=in.(" + strings.Repeat(zoneOne+",", 6000) + ")", ""},
		{"GET", "/v1/zones?or=" + strings.Repeat("(and", 30), ""},
		{"GET", "/v1/zones?code=match.(a*)*$", ""},
		{"GET", "/v1/zones?select=" + strings.Repeat("zones(", 30), ""},
		{"GET", "/v1/zones?offset=99999999999999999999", ""},
		{"GET", "/v1/zones?limit=9223372036854775807&offset=2147483647", ""},
		{"GET", "/v1/zones?created_at=gt.0000-00-00", ""},
		{"GET", "/v1/zones?created_at=gt.9999-12-31T23:59:59-23:59", ""},
		{"GET", "/v1/zones?x=eq.NaN", ""},
		{"GET", "/v1/zones?code=like.%25%5C", ""},
		{"PATCH", "/v1/zones?code=eq.x", `[1,2]`},
		{"PUT", "/v1/zones?id=eq.x", `{"id":"x"}`},
	} {
		w := ask(h, c[0], c[1], c[2])
		if w.Code >= 500 {
			t.Errorf("%s %.80s: %d %s", c[0], c[1], w.Code, w.Body)
		}
		if w.Code >= 400 {
			wellFormed(t, w)
		}
	}
	if w := ask(h, "GET", "/v1/zones?id=in.("+strings.TrimSuffix(strings.Repeat(zoneOne+",", 3000), ",")+")&select=count",
		""); w.Code != 200 {
		t.Errorf("3,000 ids: %d %s", w.Code, w.Body)
	}
}

// hashed stands for the keyed hash of an installation.
func hashed(parts ...string) []byte {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return sum[:]
}
