package ratelimit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// clock is a hand that a test moves. It starts at an odd instant, so that no
// promise rests on slots beginning where the test does.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func at(t *testing.T) (*Limiter, *clock) {
	t.Helper()
	c := &clock{t: time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)}
	l := New(Options{Now: c.now})
	c.pass(137 * time.Millisecond)
	return l, c
}

// spend takes n units one by one and returns how many passed.
func spend(l *Limiter, c Category, n int) (passed int) {
	for range n {
		if l.Take("k", c, Standard(), 1).OK {
			passed++
		}
	}
	return passed
}

func TestInterfaceTable(t *testing.T) {
	enterprise := Enterprise()
	for _, row := range []struct {
		plan          Plan
		category      Category
		minute, burst int
	}{
		{Standard(), API, 1000, 200},
		{Standard(), Auth, 60, 10},
		{Standard(), Webhook, 500, 100},
		{Standard(), Read, 5000, 1000},
		{Standard(), Write, 1000, 200},
		{enterprise, API, 10_000, 2_000},
		{enterprise, Auth, 60, 10},
		{enterprise, Webhook, 5_000, 1_000},
		{enterprise, Read, 50_000, 10_000},
		{enterprise, Write, 50_000, 10_000},
	} {
		t.Run(row.plan.name+" "+row.category.String(), func(t *testing.T) {
			l, c := at(t)
			total := 0
			for total < row.minute { // the minute limit is five or six full bursts
				want := min(row.burst, row.minute-total)
				for range want {
					if s := l.Take("k", row.category, row.plan, 1); !s.OK {
						t.Fatalf("unit %d of the minute: refused: %+v", total, s)
					}
					total++
				}
				refused := l.Take("k", row.category, row.plan, 1)
				if refused.OK {
					t.Fatalf("unit %d passed", total+1)
				}
				if total == row.minute {
					if refused.Limit != row.minute || refused.Remaining != 0 || refused.Used != row.minute {
						t.Errorf("minute refused: %+v", refused)
					}
					break
				}
				if refused.Limit != row.burst || refused.Remaining != 0 {
					t.Errorf("burst refused: %+v", refused)
				}
				c.pass(10*time.Second + slot)
			}
		})
	}
}

// The 201st in 10 s and the 1001st spread over a minute
// are refused, none before them.
func TestRefusedExactlyThen(t *testing.T) {
	t.Run("201 in 10 s", func(t *testing.T) {
		l, c := at(t)
		for i := range 200 {
			if s := l.Take("k", API, Standard(), 1); !s.OK {
				t.Fatalf("request %d: %+v", i+1, s)
			}
			c.pass(49 * time.Millisecond) // 9.8 s for all
		}
		if s := l.Take("k", API, Standard(), 1); s.OK {
			t.Errorf("request 201 passed: %+v", s)
		}
	})
	t.Run("1001 in a minute", func(t *testing.T) {
		l, c := at(t)
		for i := range 1000 {
			if s := l.Take("k", API, Standard(), 1); !s.OK {
				t.Fatalf("request %d: %+v", i+1, s)
			}
			c.pass(59 * time.Millisecond)
		}
		s := l.Take("k", API, Standard(), 1)
		if s.OK || s.Limit != 1000 || s.Remaining != 0 || s.Used != 1000 {
			t.Errorf("request 1001: %+v", s)
		}
	})
}

// The window rolls. 200 at second 9 are in the way of 200 at second 11,
// and 1000 at the end of one minute in the way of the next.
func TestRollingNotFixed(t *testing.T) {
	l, c := at(t)
	c.pass(9 * time.Second)
	if n := spend(l, API, 200); n != 200 {
		t.Fatalf("second 9: %d passed", n)
	}
	c.pass(2 * time.Second)
	if n := spend(l, API, 200); n != 0 {
		t.Errorf("second 11: %d passed", n)
	}
	c.pass(8*time.Second + slot)
	if n := spend(l, API, 201); n != 200 {
		t.Errorf("second 19: %d passed", n)
	}
}

// The promise behind both rules, against a plain list of times: no span of ten
// seconds or a minute ever holds more than its rule, and a request is refused
// only if one a quarter second longer would.
func TestAnySpanAgainstAPlainList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	plan, err := Custom(map[Category]Rule{API: {Minute: 120, Burst: 40}})
	if err != nil {
		t.Fatal(err)
	}
	l, c := at(t)
	var passed []time.Time
	within := func(span time.Duration) (n int) {
		for i := len(passed) - 1; i >= 0 && c.now().Sub(passed[i]) < span; i-- {
			n++
		}
		return n
	}
	for range 20_000 {
		c.pass(time.Duration(random.ExpFloat64() * float64(200*time.Millisecond)))
		if random.IntN(500) == 0 {
			c.pass(time.Duration(random.IntN(90)) * time.Second)
		}
		ok := l.Take("k", API, plan, 1).OK
		if ok && (within(time.Minute) >= 120 || within(10*time.Second) >= 40) {
			t.Fatalf("passed with %d in a minute, %d in 10 s", within(time.Minute), within(10*time.Second))
		}
		if !ok && within(time.Minute+slot) < 120 && within(10*time.Second+slot) < 40 {
			t.Fatalf("refused with %d in a minute, %d in 10 s", within(time.Minute), within(10*time.Second))
		}
		if ok {
			passed = append(passed, c.now())
		}
	}
}

func TestRetryAfterIsTrue(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	l, c := at(t)
	refusals := 0
	for range 20_000 {
		c.pass(time.Duration(random.IntN(80)) * time.Millisecond)
		n := 1 + random.IntN(5)
		s := l.Take("k", API, Standard(), n)
		if s.OK {
			if s.RetryAfter != 0 || s.Remaining != s.Limit-s.Used {
				t.Fatalf("passed with %+v", s)
			}
			continue
		}
		refusals++
		if s.RetryAfter <= 0 || s.RetryAfter > 61*time.Second {
			t.Fatalf("refused with %+v", s)
		}
		if s.Reset.After(c.now().Add(s.RetryAfter)) {
			t.Fatalf("the reset %v is past the wait %v", s.Reset.Sub(c.now()), s.RetryAfter)
		}
		c.pass(s.RetryAfter)
		if s := l.Take("k", API, Standard(), n); !s.OK {
			t.Fatalf("after the wait: %+v", s)
		}
	}
	if refusals < 20 {
		t.Errorf("only %d refusals", refusals)
	}
}

func TestWholeWaitIsNotLongerThanNeeded(t *testing.T) {
	l, c := at(t)
	spend(l, Auth, 10)
	c.pass(4 * time.Second)
	s := l.Take("k", Auth, Standard(), 1)
	if s.RetryAfter < 6*time.Second || s.RetryAfter > 7*time.Second {
		t.Errorf("wait %v four seconds into a full burst", s.RetryAfter)
	}
}

func TestResetIsWhenAllIsFree(t *testing.T) {
	l, c := at(t)
	l.Take("k", API, Standard(), 3)
	c.pass(20 * time.Second)
	s := l.Take("k", API, Standard(), 2)
	c.pass(s.Reset.Sub(c.now()) - slot)
	if p := l.Peek("k", API, Standard()); p.Used == 0 {
		t.Errorf("free before the reset: %+v", p)
	}
	c.pass(slot)
	if p := l.Peek("k", API, Standard()); p.Used != 0 || p.Remaining != 1000 {
		t.Errorf("at the reset: %+v", p)
	}
}

func TestMoreThanTheRuleEverAllows(t *testing.T) {
	l, _ := at(t)
	if s := l.Take("k", Write, Standard(), 201); s.OK || s.RetryAfter != 0 {
		t.Errorf("%+v", s)
	}
	if s := l.Take("k", Write, Standard(), 200); !s.OK {
		t.Errorf("a refused call was counted: %+v", s)
	}
}

func TestKeysAndCategoriesAreApart(t *testing.T) {
	l, _ := at(t)
	spend(l, API, 200)
	for _, s := range []State{
		l.Take("other", API, Standard(), 1),
		l.Take("k", Read, Standard(), 1),
		l.Take("k", Auth, Standard(), 1),
	} {
		if !s.OK {
			t.Errorf("%+v", s)
		}
	}
	if s := l.Peek("k", API, Standard()); s.OK || s.RetryAfter == 0 {
		t.Errorf("peek at a full burst: %+v", s)
	}
}

func TestPeekCountsNothing(t *testing.T) {
	l, _ := at(t)
	for range 500 {
		if s := l.Peek("k", API, Standard()); !s.OK || s.Used != 0 || s.Remaining != 1000 {
			t.Fatalf("%+v", s)
		}
	}
	for i := range l.shard {
		if n := len(l.shard[i].windows); n != 0 {
			t.Fatalf("a peek is remembered")
		}
	}
}

func TestParallelTakesAreExact(t *testing.T) {
	l, _ := at(t)
	var passed atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 100 {
				if l.Take("k", API, Standard(), 1).OK {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if passed.Load() != 200 {
		t.Errorf("%d of 1600 parallel requests passed", passed.Load())
	}
}

func TestClockThatGoesBack(t *testing.T) {
	l, c := at(t)
	c.pass(time.Minute)
	spend(l, API, 200)
	c.pass(-2 * time.Minute)
	if s := l.Take("k", API, Standard(), 1); s.OK {
		t.Errorf("%+v", s)
	}
}

func TestKeysAreBoundedAndIdleOnesForgotten(t *testing.T) {
	c := &clock{t: time.Unix(1e9, 0)}
	l := New(Options{Now: c.now, MaxKeys: 640})
	count := func() (n int) {
		for i := range l.shard {
			n += len(l.shard[i].windows)
		}
		return n
	}
	l.Take("victim", Auth, Standard(), 10)
	for i := range 20_000 {
		l.Take(fmt.Sprint("flood ", i), Auth, Standard(), 1)
		c.pass(100 * time.Microsecond)
		if i%10 == 0 {
			l.Peek("victim", Auth, Standard())
		}
	}
	if n := count(); n > 640 {
		t.Errorf("%d keys", n)
	}
	if s := l.Take("victim", Auth, Standard(), 1); s.OK {
		t.Error("a flood of keys cleared a count in use")
	}
	c.pass(2 * time.Minute)
	for i := range 2_000 {
		l.Take(fmt.Sprint(i%640), Auth, Standard(), 1)
	}
	if n := count(); n > 640 {
		t.Errorf("%d keys", n)
	}
	c.pass(2 * time.Minute)
	for i := range 500 { // touches every shard
		l.Take(fmt.Sprint("late ", i), Auth, Standard(), 1)
	}
	if n := count(); n > 500 {
		t.Errorf("%d keys: the idle ones are still there", n)
	}
}

func TestAWindowIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(window{}); n > 640 {
		t.Errorf("%d bytes", n)
	}
}

func TestPlans(t *testing.T) {
	if p, ok := Named("enterprise"); !ok || p != Enterprise() {
		t.Error("enterprise")
	}
	if _, ok := Named("platinum"); ok {
		t.Error("platinum")
	}
	p, err := Custom(map[Category]Rule{API: {Minute: 3000}})
	if err != nil || p.Rule(API) != (Rule{3000, 600}) || p.Rule(Read) != Standard().Rule(Read) || p.name != "custom" {
		t.Errorf("%+v %v", p, err)
	}
	for _, r := range []Rule{{}, {Minute: -1}, {Minute: 5, Burst: 6}, {Minute: 5, Burst: -1}} {
		if _, err := Custom(map[Category]Rule{API: r}); err == nil {
			t.Errorf("%+v accepted", r)
		}
	}
	if _, err := Custom(map[Category]Rule{9: {Minute: 5}}); err == nil {
		t.Error("category 9 accepted")
	}
	if s := New(Options{}).Take("k", API, Plan{}, 1); s.OK {
		t.Error("the zero plan allows")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"api": {"minute": 3000}}`, `{"read":{"minute":9,"burst":3},"write":{"minute":1}}`,
		``, `[]`, `null`, `{"api": null}`, `{"api": 5}`, `{"API": {"minute": 5}}`, `{"api": {"minute": -1}}`,
		`{"api": {"minute": 5, "x": 1}}`, `{} {}`,
	} {
		f.Add(s)
		f.Add(strings.Replace(s, "}", `, "ceiling": 5000}`, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		for c := range categories {
			if r := p.Rule(c); r.Minute < 1 || r.Minute > most || r.Burst < 1 || r.Burst > r.Minute {
				t.Errorf("%q: %s %+v", text, c, r)
			}
			if r, all := p.Rule(c), p.Ceiling(c); all.Minute < r.Minute || all.Burst < r.Burst || all.Minute > most {
				t.Errorf("%q: %s %+v below a ceiling of %+v", text, c, r, all)
			}
		}
	})
}

func TestParse(t *testing.T) {
	p, err := Parse(`{"api": {"minute": 3000, "burst": 700}, "write": {"minute": 10}}`)
	if err != nil || p.name != "custom" || p.Rule(API) != (Rule{3000, 700}) || p.Rule(Write) != (Rule{10, 2}) ||
		p.Rule(Read) != Standard().Rule(Read) {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := Parse(`{"api": {"minute": 9}, "auth": {"minute": 600}}`); err != nil || p.Rule(API).Minute != 9 ||
		p.Rule(Auth) != Standard().Rule(Auth) {
		t.Errorf("limits of an earlier version: %+v %v", p, err)
	}
	if _, err := Check(`{"auth": {"minute": 600}}`); err == nil ||
		!strings.Contains(err.Error(), "addresses and accounts") {
		t.Errorf("auth of a tenant: %v", err)
	}
	if p, err := Check(`{"api": {"minute": 100, "ceiling": 250}}`); err != nil || p.Ceiling(API) != (Rule{250, 50}) ||
		p.Ceiling(Read) != (Rule{50_000, 10_000}) {
		t.Errorf("a ceiling: %+v %v", p, err)
	}
	if p, err := Check(`{"api": {"minute": 9}}`); err != nil || p.Rule(API).Minute != 9 {
		t.Errorf("%+v %v", p, err)
	}
	for _, bad := range []string{``, `[]`, `{"api": null}`, `{"api": 5}`, `{"API": {"minute": 5}}`,
		`{"api": {"minute": 0}}`,
		`{"api": {"minute": 5, "x": 1}}`, `{} {}`, `{"api": {"minute": 1e3}, "zone": {}}`,
		`{"api": {"minute": 5, "ceiling": 4}}`, `{"api": {"minute": 5, "ceiling": 0}}`} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s accepted", bad)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	plan, err := Custom(map[Category]Rule{API: {Minute: most, Burst: most}})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("one key", func(b *testing.B) {
		l := New(Options{})
		b.ReportAllocs()
		for b.Loop() {
			l.Take("tenant", API, plan, 1)
		}
	})
	b.Run("parallel keys", func(b *testing.B) {
		l := New(Options{})
		keys := make([]string, 10_000)
		for i := range keys {
			keys[i] = fmt.Sprint("tenant ", i)
		}
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for i := rand.Int(); p.Next(); i++ {
				l.Take(keys[i%len(keys)], API, plan, 1)
			}
		})
	})
	b.Run("refused", func(b *testing.B) {
		l := New(Options{})
		l.Take("k", API, Standard(), 200)
		for b.Loop() {
			l.Take("k", API, Standard(), 1)
		}
	})
}
