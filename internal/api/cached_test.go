package api

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/cache"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/functions"
	"holdfast/internal/functions/output"
	"holdfast/internal/store"
	"holdfast/internal/web"
)

const tenant = "11111111-1111-4111-8111-111111111111"

// kitchen is the function surface with a function that counts its runs.
type kitchen struct {
	http.Handler
	runs atomic.Int64
	fail atomic.Bool
	took time.Duration
	who  actor.Actor
	kept []string // tenants whose own figures were forgotten
}

// dish is what the function answers.
type dish struct {
	output.Kept
	Run  int64  `json:"run"`
	Text string `json:"text"`
}

// table is the interface's, over no database.
func table() []functions.Function {
	return functions.Table(functions.Deps{Store: store.New(nil, catalog.Default(), store.Effects{}, time.Now),
		Now: time.Now})
}

func cook(t *testing.T, ttl time.Duration) *kitchen {
	k := &kitchen{who: actor.Actor{UserID: "u", TenantID: tenant, Role: actor.Manager}}
	c := cache.New(cache.Options{})
	t.Cleanup(c.Close)
	fn := table()[0]
	fn.Name, fn.TTL, fn.Personal = "test", ttl, false
	fn.Run = func(context.Context, actor.Actor, any) (any, error) {
		n := k.runs.Add(1)
		time.Sleep(k.took)
		if k.fail.Load() {
			return nil, errors.New("no")
		}
		return &dish{Kept: output.Kept{Head: output.Head{TenantID: tenant, Timestamp: "2026-11-21T10:00:00.000000Z"}}, Run: n,
			Text: strings.Repeat("x", 3000)}, nil
	}
	fn.Forget = func(tenant string) { k.kept = append(k.kept, tenant) }
	f := NewFunctions(access.New(func(*http.Request) (actor.Actor, error) {
		return k.who, nil
	}, nil), c, nil, []functions.Function{fn})
	mux := http.NewServeMux()
	mux.Handle("/functions/v1/{name}", web.Wrap(route.FunctionShape, f.serveFunction))
	k.Handler = mux
	return k
}

// ask sends a GET with headers in pairs.
func (k *kitchen) ask(query string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/functions/v1/test"+query, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	k.ServeHTTP(w, r)
	return w
}

// A change of what a function reads drops what its answers are made of, of that tenant.
func TestChangesDropWhatAnswersAreMadeOf(t *testing.T) {
	c := cache.New(cache.Options{})
	t.Cleanup(c.Close)
	list := table()
	dropped := map[string][]string{}
	for i := range list {
		if fn := &list[i]; fn.Changed != nil {
			fn.Changed = func(tenant string) { dropped[fn.Name] = append(dropped[fn.Name], tenant) }
		}
	}
	f := NewFunctions(nil, c, nil, list)

	for _, read := range []struct {
		collection string
		want       []string
	}{
		{"stock_movements", []string{"admin-dashboard-summary", "site-overview"}},
		{"incidents", []string{"site-overview"}},
		{"badges", nil},
	} {
		clear(dropped)
		f.Changed(tenant, []string{read.collection})
		if got := slices.Sorted(maps.Keys(dropped)); !slices.Equal(got, read.want) {
			t.Errorf("%s: %v dropped, want %v", read.collection, got, read.want)
		}
		for name, tenants := range dropped {
			if !slices.Equal(tenants, []string{tenant}) {
				t.Errorf("%s: dropped of %v", name, tenants)
			}
		}
	}
}

// For each kept function: there one second before its
// time to live, gone one second after. What the interface says of it comes
// first; safety-rates and what follows it are not in the interface.
func TestTimeToLive(t *testing.T) {
	want := map[string]time.Duration{"get-dashboard-snapshot-v2": time.Minute, "admin-dashboard-summary": 30 * time.Second,
		"site-overview": 30 * time.Second,
		"safety-kpis":   time.Minute, "safety-engagement": time.Minute, "safety-rates": time.Minute,
		"training-matrix": time.Minute, "safety-overview": time.Minute,
		"inventory-plan": time.Minute, "warehouse-kpis": time.Minute}
	for _, fn := range table() {
		if fn.TTL != want[fn.Name] {
			t.Errorf("%s lives %v, want %v", fn.Name, fn.TTL, want[fn.Name])
		}
	}
	for name, ttl := range want {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for range 20 { // the end is a little random
					k := cook(t, ttl)
					if x := k.ask("").Header().Get("X-Cache"); x != "MISS" {
						t.Fatal(x)
					}
					time.Sleep(ttl - time.Second)
					w := k.ask("")
					if age := w.Header().Get("Age"); w.Header().Get("X-Cache") != "HIT" || age != fmt.Sprint(int(ttl/time.Second)-1) ||
						!strings.Contains(w.Body.String(), `"cached":true`) {
						t.Fatalf("after %v: %v", ttl-time.Second, w.Header())
					}
					time.Sleep(2 * time.Second)
					if x := k.ask("").Header(); x.Get("X-Cache") != "MISS" || x.Get("Age") != "" {
						t.Fatalf("after %v: %v", ttl+time.Second, x)
					}
				}
			})
		})
	}
}

// What 300 ask for at once is computed once, also when what was kept has just
// ended.
func TestCrowdSharesOneComputation(t *testing.T) {
	for name, before := range map[string]int64{"cold": 0, "at its end": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := cook(t, time.Minute)
				k.took = time.Second
				for range before {
					k.ask("?page=2")
					time.Sleep(time.Minute)
				}
				var all sync.WaitGroup
				var mu sync.Mutex
				bodies := map[string]int{}
				for range 300 {
					all.Go(func() {
						w := k.ask("?page=2")
						mu.Lock()
						defer mu.Unlock()
						bodies[w.Body.String()]++
						if w.Code != 200 || w.Header().Get("X-Cache") != "MISS" {
							t.Errorf("%d %v", w.Code, w.Header())
						}
					})
				}
				all.Wait()
				if n := k.runs.Load() - before; n != 1 || len(bodies) != 1 {
					t.Errorf("%d computations, %d different bodies", n, len(bodies))
				}
			})
		})
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	k := cook(t, time.Minute)
	k.fail.Store(true)
	if w := k.ask(""); w.Code != 500 || w.Header().Get("X-Cache") != "" || w.Header().Get("Etag") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	k.fail.Store(false)
	if w := k.ask(""); w.Code != 200 || w.Header().Get("X-Cache") != "MISS" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestUnchangedAnswerIs304(t *testing.T) {
	k := cook(t, time.Minute)
	first := k.ask("")
	tag := first.Header().Get("Etag")
	for _, c := range []struct {
		name   string
		header []string
		status int
	}{
		{"its tag", []string{"If-None-Match", tag}, 304},
		{"its tag, strong", []string{"If-None-Match", strings.TrimPrefix(tag, "W/")}, 304},
		{"among others", []string{"If-None-Match", `"a", ` + tag, "Accept-Encoding", "gzip"}, 304},
		{"in a second line", []string{"If-None-Match", `"a"`, "If-None-Match", tag}, 304},
		{"any", []string{"If-None-Match", "*"}, 304},
		{"another", []string{"If-None-Match", `W/"a"`}, 200},
		{"none", nil, 200},
		{"not kept", []string{"If-None-Match", tag, "Cache-Control", "no-cache"}, 200},
	} {
		w := k.ask("", c.header...)
		h := w.Header()
		if w.Code != c.status || (w.Body.Len() == 0) != (c.status == 304) || h.Get("Etag") == "" ||
			h.Get("Cache-Control") != "private, no-cache" || h.Get("Vary") == "" {
			t.Errorf("%s: %d, %d bytes, %v", c.name, w.Code, w.Body.Len(), h)
		}
		if c.status == 304 && (h.Get("X-Cache") != "HIT" || h.Get("Age") == "" || h.Get("Etag") != tag) {
			t.Errorf("%s: %v", c.name, h)
		}
	}
}

func TestBypass(t *testing.T) {
	for _, c := range []struct {
		header []string
		runs   int64
	}{
		{nil, 1},
		{[]string{"Cache-Control", "max-age=0"}, 1},
		{[]string{"Cache-Control", "only-if-cached"}, 1},
		{[]string{"Cache-Control", "x-no-cache-really"}, 1},
		{[]string{"Cache-Control", "no-cache"}, 2},
		{[]string{"Cache-Control", "max-age=0, No-Cache"}, 2},
		{[]string{"Cache-Control", "max-age=0", "Cache-Control", "no-cache"}, 2},
	} {
		k := cook(t, time.Minute)
		k.ask("")
		w := k.ask("", c.header...)
		if n := k.runs.Load(); n != c.runs || (w.Header().Get("X-Cache") == "MISS") != (c.runs == 2) {
			t.Errorf("%v: %d computations, %v", c.header, n, w.Header())
		}
		if want := []string{tenant}[:c.runs-1]; !slices.Equal(k.kept, want) {
			t.Errorf("%v: figures of %v were forgotten, want %v", c.header, k.kept, want)
		}
		after := k.ask("") // a bypass refreshes what is kept
		if after.Header().Get("X-Cache") != "HIT" || !strings.Contains(after.Body.String(), fmt.Sprintf(`"run":%d`, c.runs)) {
			t.Errorf("%v, then: %v", c.header, after.Header())
		}
	}
}

// Odd codings change the coding of that answer only.
func TestCodings(t *testing.T) {
	k := cook(t, time.Minute)
	k.ask("", "Accept-Encoding", "br, zstd;q=0.9, gzip;q=nonsense")
	for _, c := range []struct {
		accept string
		gzip   bool
	}{
		{"", false}, {"gzip", true}, {"GZIP", true}, {"gzip;q=0", false}, {"gzip;q=0.000", false}, {"gzip; q=0.5", true},
		{"br, gzip", true},
		{"identity", false}, {"*", true}, {"*;q=0", false}, {"gzip;q=0, *", false}, {"not-gzip", false},
		{"br;q=1.0, *;q=0.1", true},
	} {
		w := k.ask("", "Accept-Encoding", c.accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != c.gzip {
			t.Errorf("%q: gzip %v", c.accept, got)
		}
		var body io.Reader = w.Body
		if c.gzip {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = z
		}
		b, err := io.ReadAll(body)
		if err != nil || !strings.Contains(string(b), `"run":1,`) {
			t.Errorf("%q: %.100s %v", c.accept, b, err)
		}
	}
}

// The key is the typed parameters: other spellings of one question are one
// question, other questions another.
func TestKeyIsTheParameters(t *testing.T) {
	k := cook(t, time.Minute)
	for _, c := range []struct {
		query string
		runs  int64
	}{
		{"", 1}, {"?page=1", 1}, {"?pageSize=50", 1}, {"?page=2", 2}, {"?pageSize=50&page=2", 2}, {"?pageSize=200",
			3}, {"?pageSize=5000", 3}, {"?lightweight=true", 4},
	} {
		if w := k.ask(c.query); w.Code != 200 || k.runs.Load() != c.runs {
			t.Errorf("%s: %d, %d computations, want %d: %s", c.query, w.Code, k.runs.Load(), c.runs, w.Body)
		}
	}
	k.who.Role = actor.Viewer
	if k.ask(""); k.runs.Load() != 5 {
		t.Error("another role got the manager's answer")
	}
	k.who.TenantID = "22222222-2222-4222-8222-222222222222"
	if k.ask(""); k.runs.Load() != 6 {
		t.Error("another tenant got this one's answer")
	}
	k.who = actor.Actor{Role: actor.Anon}
	if w := k.ask(""); w.Code != 401 || w.Header().Get("X-Cache") != "" {
		t.Errorf("nobody: %d", w.Code)
	}
}

// A function that is given patience answers after the server's usual time, and
// neither its work nor a statement of it is cut off meanwhile.
func TestPatientFunction(t *testing.T) {
	for _, patience := range []time.Duration{0, time.Minute} {
		fn := table()[0]
		fn.Name, fn.Methods, fn.TTL, fn.Patience = "test", []string{"POST"}, 0, patience
		d, err := db.Open(t.Context(), db.Options{Dir: t.TempDir(), Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		ended, read := make(chan error, 1), make(chan error, 1)
		fn.Run = func(ctx context.Context, _ actor.Actor, _ any) (any, error) {
			time.Sleep(2 * time.Second)
			ended <- ctx.Err()
			read <- d.Read(ctx, db.Scope{}, func(tx *db.Tx) error {
				return tx.Query("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000) SELECT COUNT(*) FROM c", nil, func(*db.Row) error {
					return nil
				})
			})
			return &struct {
				Success bool `json:"success"`
			}{true}, nil
		}
		who := actor.Actor{UserID: "u", TenantID: tenant, Role: actor.Manager}
		f := NewFunctions(access.New(func(*http.Request) (actor.Actor, error) {
			return who, nil
		}, nil), nil, nil, []functions.Function{fn})
		mux := http.NewServeMux()
		mux.HandleFunc("/functions/v1/{name}", func(w http.ResponseWriter, r *http.Request) {
			web.Wrap(route.FunctionShape, f.serveFunction).ServeHTTP(w, r.WithContext(db.Patient(r.Context(), time.Millisecond)))
		})
		s := httptest.NewUnstartedServer(mux)
		s.Config.ReadTimeout, s.Config.WriteTimeout = time.Second, time.Second
		s.Start()
		res, err := http.Post(s.URL+"/functions/v1/test", "application/json", strings.NewReader(`{}`))
		if err == nil {
			res.Body.Close()
		}
		soon := time.After(30 * time.Second)
		await := func(c chan error) error {
			select {
			case err := <-c:
				return err
			case <-soon:
				return errors.New("the work has not come so far")
			}
		}
		if answered, cut := err == nil, await(ended); answered != (patience > 0) || patience > 0 && cut != nil {
			t.Errorf("with %v: %v, the work saw %v", patience, err, cut)
		}
		if err := await(read); patience > 0 && err != nil {
			t.Errorf("with %v a statement: %v", patience, err)
		}
		s.Close()
	}
}
