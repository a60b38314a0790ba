package cache

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var kpis = Key{Tenant: "north", Function: "safety-kpis", Role: "viewer", Params: "days=30"}

const minute = time.Minute

// says makes an answer at once and counts the makings.
func says(text string, made *atomic.Int32) Build {
	return func(context.Context) (Answer, error) {
		made.Add(1)
		return Answer{Miss: []byte("miss " + text), Hit: []byte("hit " + text)}, nil
	}
}

// fill expects no error and returns the body as text.
func fill(t *testing.T, c *Cache, k Key, build Build) (string, bool) {
	t.Helper()
	b, hit, err := c.Fill(t.Context(), k, minute, build)
	if err != nil {
		t.Fatal(err)
	}
	return string(b.Plain()), hit
}

func opened(t *testing.T, o Options) *Cache {
	t.Helper()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func TestMissThenHit(t *testing.T) {
	c := opened(t, Options{})
	var made atomic.Int32
	if _, ok := c.Get(kpis); ok {
		t.Error("hit in an empty cache")
	}
	if got, hit := fill(t, c, kpis, says("a", &made)); got != "miss a" || hit {
		t.Errorf("%q %v", got, hit)
	}
	if b, ok := c.Get(kpis); !ok || string(b.Plain()) != "hit a" {
		t.Error("no hit")
	}
	if got, hit := fill(t, c, kpis, says("b", &made)); got != "hit a" || !hit || made.Load() != 1 {
		t.Errorf("%q %v", got, hit)
	}
	if s := c.Stats(); s.Hits != 2 || s.Misses != 1 || s.Entries != 1 || s.Bytes < 10 {
		t.Errorf("%+v", s)
	}
}

func TestEveryPartOfTheKeyCounts(t *testing.T) {
	c := opened(t, Options{})
	var made atomic.Int32
	fill(t, c, kpis, says("a", &made))
	for _, other := range []Key{
		{"south", kpis.Function, kpis.Role, kpis.User, kpis.Params},
		{kpis.Tenant, "safety-engagement", kpis.Role, kpis.User, kpis.Params},
		{kpis.Tenant, kpis.Function, "admin", kpis.User, kpis.Params},
		{kpis.Tenant, kpis.Function, kpis.Role, "anna", kpis.Params},
		{kpis.Tenant, kpis.Function, kpis.Role, kpis.User, "days=7"},
		{kpis.Tenant, kpis.Function, "viewerd", "", "ays=30"},
	} {
		if _, ok := c.Get(other); ok {
			t.Errorf("%+v gives another's answer", other)
		}
	}
}

func TestTimeToLiveIsAnUpperBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Sweep: time.Hour})
		defer c.Close()
		early := 0
		for i := range 100 {
			k := kpis
			k.Params = fmt.Sprint(i)
			slow := func(context.Context) (Answer, error) {
				time.Sleep(5 * time.Second) // the age counts from before it
				return Answer{Hit: []byte("x")}, nil
			}
			began := time.Now()
			fill(t, c, k, slow)
			time.Sleep(59*time.Second + 100*time.Millisecond - time.Since(began))
			if _, ok := c.Get(k); !ok {
				t.Fatalf("gone after 59 seconds of a minute")
			}
			time.Sleep(500 * time.Millisecond)
			if _, ok := c.Get(k); !ok {
				early++
			}
			time.Sleep(minute - time.Since(began))
			if _, ok := c.Get(k); ok {
				t.Fatal("older than its time to live")
			}
		}
		if early < 20 || early > 80 {
			t.Errorf("%d of 100 ended in the first half of the last moments", early)
		}
	})
}

func TestCallersShareOneMaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		defer c.Close()
		var made atomic.Int32
		build := func(ctx context.Context) (Answer, error) {
			time.Sleep(time.Second)
			return says("a", &made)(ctx)
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if got, hit := fill(t, c, kpis, build); got != "miss a" || hit {
					t.Errorf("%q %v", got, hit)
				}
			})
		}
		all.Wait()
		if s := c.Stats(); made.Load() != 1 || s.Shared != 49 || s.Misses != 50 {
			t.Errorf("made %d times, %+v", made.Load(), s)
		}
	})
}

func TestMakingOutlivesItsFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		defer c.Close()
		build := func(ctx context.Context) (Answer, error) {
			select {
			case <-ctx.Done():
				return Answer{}, ctx.Err()
			case <-time.After(time.Second):
				return Answer{Hit: []byte("done")}, nil
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, _, err := c.Fill(ctx, kpis, minute, build); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller who left: %v", err)
		}
		time.Sleep(2 * time.Second)
		if b, ok := c.Get(kpis); !ok || string(b.Plain()) != "done" {
			t.Error("the making ended with its caller")
		}
	})
}

func TestMakingHasADeadlineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{FillTimeout: 3 * time.Second})
		defer c.Close()
		began := time.Now()
		_, _, err := c.Fill(t.Context(), kpis, minute, func(ctx context.Context) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestFailuresAreNotKept(t *testing.T) {
	c := opened(t, Options{})
	broken := errors.New("broken")
	for name, build := range map[string]Build{
		"error": func(context.Context) (Answer, error) { return Answer{Hit: []byte("x")}, broken },
		"panic": func(context.Context) (Answer, error) { panic("at the disco") },
	} {
		_, _, err := c.Fill(t.Context(), kpis, minute, build)
		if err == nil || name == "error" && !errors.Is(err, broken) || name == "panic" &&
			!strings.Contains(err.Error(), "disco") {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := c.Get(kpis); ok {
			t.Errorf("%s kept", name)
		}
	}
	var made atomic.Int32
	if got, _ := fill(t, c, kpis, says("a", &made)); got != "miss a" {
		t.Errorf("after failures: %q", got)
	}
}

// The promise that read-your-own-writes rests on: what was begun before a clear
// is given to those who asked before it, and to nobody after.
func TestWhatWasBegunBeforeAClearIsNotKept(t *testing.T) {
	for name, clear := range map[string]func(*Cache){
		"tenant":   func(c *Cache) { c.ClearTenant("north") },
		"function": func(c *Cache) { c.Clear("north", "other", "safety-kpis") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Options{})
				defer c.Close()
				var row atomic.Value
				row.Store("old")
				build := func(context.Context) (Answer, error) {
					read := row.Load().(string)
					time.Sleep(time.Second)
					return Answer{Miss: []byte(read), Hit: []byte(read)}, nil
				}
				var before sync.WaitGroup
				before.Go(func() { fill(t, c, kpis, build) })
				synctest.Wait()
				row.Store("new")
				clear(c)
				if got, _ := fill(t, c, kpis, build); got != "new" {
					t.Errorf("a caller after the clear got %q", got)
				}
				before.Wait()
				if b, ok := c.Get(kpis); !ok || string(b.Plain()) != "new" {
					t.Error("the old answer took the new one's place")
				}
			})
		})
	}
}

func TestClearsReachNoFurther(t *testing.T) {
	c := opened(t, Options{})
	var made atomic.Int32
	south, board := kpis, kpis
	south.Tenant = "south"
	board.Function = "admin-dashboard-summary"
	for _, k := range []Key{kpis, south, board} {
		fill(t, c, k, says("a", &made))
	}
	kept := func() (out string) {
		for _, k := range []Key{kpis, south, board} {
			if _, ok := c.Get(k); ok {
				out += "+"
			} else {
				out += "-"
			}
		}
		return out
	}
	c.Clear("north", "safety-kpis", "unknown")
	if got := kept(); got != "-++" {
		t.Error(got)
	}
	c.ClearTenant("north")
	if got := kept(); got != "-+-" {
		t.Error(got)
	}
	c.ClearTenant("nobody")
	c.Clear("nobody", "x")
	c.ClearTenant("south")
	if s := c.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("empty, but %+v", s)
	}
}

func TestRefreshMakesAnewAndKeeps(t *testing.T) {
	c := opened(t, Options{})
	var made atomic.Int32
	fill(t, c, kpis, says("a", &made))
	b, err := c.Refresh(t.Context(), kpis, minute, says("b", &made))
	if err != nil || string(b.Plain()) != "miss b" {
		t.Fatalf("%v %v", b, err)
	}
	if b, ok := c.Get(kpis); !ok || string(b.Plain()) != "hit b" {
		t.Error("the refreshed answer is not kept")
	}
	if s := c.Stats(); s.Entries != 1 {
		t.Errorf("%+v", s)
	}
}

// Many refreshes at once are one making, which begins after they asked: when
// the one under way ends.
func TestRefreshesShareAMaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		defer c.Close()
		var made, busy atomic.Int32
		slow := func(ctx context.Context) (Answer, error) {
			if busy.Add(1) > 1 {
				t.Error("two makings at once")
			}
			defer busy.Add(-1)
			time.Sleep(10 * time.Second)
			return says(fmt.Sprint(made.Load()+1), &made)(ctx)
		}
		var all sync.WaitGroup
		ask := func(want string, left bool) {
			all.Go(func() {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				if left {
					time.AfterFunc(time.Second, leave)
				}
				b, err := c.Refresh(ctx, kpis, minute, slow)
				if left != (err != nil) || err == nil && string(b.Plain()) != "miss "+want {
					t.Errorf("%v %v, want the making %s", b, err, want)
				}
			})
			synctest.Wait()
		}
		ask("1", false)
		for i := range 50 {
			ask("2", i%2 == 0)
		}
		time.Sleep(11 * time.Second) // the second is under way
		ask("3", false)
		if b, hit, err := c.Fill(t.Context(), kpis, minute, slow); err != nil || !hit || string(b.Plain()) != "hit 1" {
			t.Errorf("meanwhile: %v %v %v", b, hit, err)
		}
		all.Wait()
		if b, ok := c.Get(kpis); made.Load() != 3 || !ok || string(b.Plain()) != "hit 3" {
			t.Errorf("%d makings, kept %v", made.Load(), b)
		}
	})
}

// A refresh that waits for its turn when its answers are cleared is made and
// given to its caller; what was made afterwards stays, and nothing else is kept.
func TestClearedWhileARefreshWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		defer c.Close()
		var made atomic.Int32
		slow := func(text string) Build {
			return func(ctx context.Context) (Answer, error) {
				time.Sleep(10 * time.Second)
				return says(text, &made)(ctx)
			}
		}
		var all sync.WaitGroup
		ask := func(want string, ask func() (*Body, error)) {
			all.Go(func() {
				if b, err := ask(); err != nil || string(b.Plain()) != "miss "+want {
					t.Errorf("%v %v, want %s", b, err, want)
				}
			})
			synctest.Wait()
		}
		ask("first", func() (*Body, error) { b, _, err := c.Fill(t.Context(), kpis, minute, slow("first")); return b, err })
		ask("waits", func() (*Body, error) { return c.Refresh(t.Context(), kpis, minute, slow("waits")) })
		c.Clear(kpis.Tenant, kpis.Function)
		ask("after", func() (*Body, error) { b, _, err := c.Fill(t.Context(), kpis, minute, slow("after")); return b, err })
		all.Wait()
		b, ok := c.Get(kpis)
		if s := c.Stats(); made.Load() != 3 || !ok || string(b.Plain()) != "hit after" || s.Entries != 1 {
			t.Errorf("%d makings, kept %v, %+v", made.Load(), b, s)
		}
		time.Sleep(10 * time.Minute)
		if s := c.Stats(); s.Entries != 0 || s.Bytes != 0 || len(c.tenants) != 0 {
			t.Errorf("at the end %+v, %d tenants", s, len(c.tenants))
		}
	})
}

func TestBounds(t *testing.T) {
	sized := func(n int) Build {
		return func(context.Context) (Answer, error) { return Answer{Hit: make([]byte, n)}, nil }
	}
	key := func(tenant, i int) Key {
		return Key{Tenant: fmt.Sprint(tenant), Function: fmt.Sprint("f", i%3), Params: fmt.Sprint(i)}
	}
	t.Run("tenant", func(t *testing.T) {
		c := opened(t, Options{TenantEntries: 10, TenantBytes: 100_000})
		fill(t, c, key(2, 0), sized(10))
		for i := range 40 {
			fill(t, c, key(1, i), sized(10))
		}
		if s := c.Stats(); s.Entries != 11 {
			t.Errorf("%+v", s)
		}
		if _, ok := c.Get(key(1, 39)); !ok {
			t.Error("the newest is gone")
		}
		for i := range 40 {
			fill(t, c, key(1, i+100), sized(10_000))
		}
		if s := c.Stats(); s.Bytes > 102_000 || s.Entries < 4 {
			t.Errorf("%+v", s)
		}
		fill(t, c, key(1, 999), sized(60_000)) // alone above the bound
		if _, ok := c.Get(key(1, 999)); ok {
			t.Error("kept what no tenant may")
		}
		if _, ok := c.Get(key(2, 0)); !ok {
			t.Error("another tenant paid")
		}
	})
	t.Run("overall", func(t *testing.T) {
		c := opened(t, Options{Entries: 50, Bytes: 1_000_000})
		for i := range 6 {
			fill(t, c, key(i, 0), sized(10))
		}
		for i := range 100 {
			fill(t, c, key(99, i), sized(100))
		}
		if s := c.Stats(); s.Entries > 50 {
			t.Errorf("%+v", s)
		}
		for i := range 6 {
			if _, ok := c.Get(key(i, 0)); !ok {
				t.Error("a small tenant paid for the large one")
			}
		}
		for i := range 100 {
			fill(t, c, key(i, 7), sized(20_000))
		}
		if s := c.Stats(); s.Bytes > 1_000_000 {
			t.Errorf("%+v", s)
		}
	})
}

func TestJanitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		var made atomic.Int32
		fill(t, c, kpis, says("a", &made))
		time.Sleep(4*time.Minute + 50*time.Second)
		if s := c.Stats(); s.Entries != 1 {
			t.Errorf("before the sweep: %+v", s)
		}
		young := kpis
		young.Tenant = "south"
		fill(t, c, young, says("a", &made))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if s := c.Stats(); s.Entries != 1 || len(c.tenants) != 1 {
			t.Errorf("after the sweep: %+v, %d tenants", s, len(c.tenants))
		}
		c.Close()
		c.Close()
		time.Sleep(10 * time.Minute) // no janitor is left, or the bubble would not end
		fill(t, c, kpis, says("b", &made))
		if _, ok := c.Get(kpis); !ok {
			t.Error("a closed cache does not answer")
		}
	})
}

func TestGzip(t *testing.T) {
	long := bytes.Repeat([]byte(`{"id":"0190"},`), 500)
	b := Body{plain: long}
	z := b.Gzip()
	r, err := gzip.NewReader(bytes.NewReader(z))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, long) || len(z) > len(long)/10 {
		t.Errorf("%d bytes of %d: %v", len(z), len(long), err)
	}
	if short := (&Body{plain: []byte("{}")}); short.Gzip() != nil {
		t.Error("a short body was compressed")
	}
}

func TestParallelUse(t *testing.T) {
	c := opened(t, Options{Entries: 40, TenantEntries: 8, Sweep: time.Millisecond})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2_000 {
				k := Key{Tenant: fmt.Sprint(i % 11), Function: fmt.Sprint(i % 3), Params: fmt.Sprint(i % 17)}
				switch i % 7 {
				case 0:
					c.ClearTenant(k.Tenant)
				case 1:
					c.Clear(k.Tenant, k.Function)
				default:
					b, _, err := c.Fill(context.Background(), k, time.Duration(i%3)*time.Millisecond,
						func(context.Context) (Answer, error) {
							return Answer{Miss: []byte(k.Params), Hit: []byte(k.Params)}, nil
						})
					if err != nil || string(b.Plain()) != k.Params {
						t.Errorf("%d: %v", g, err)
					}
				}
			}
		})
	}
	all.Wait()
	for i := range 11 {
		c.ClearTenant(fmt.Sprint(i))
	}
	if s := c.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("the books do not balance: %+v", s)
	}
}

func TestHitAllocatesNothing(t *testing.T) {
	c := opened(t, Options{})
	var made atomic.Int32
	fill(t, c, kpis, says(strings.Repeat("a", 5_000), &made))
	n := testing.AllocsPerRun(100, func() {
		b, ok := c.Get(kpis)
		if !ok || len(b.Plain()) == 0 || len(b.Gzip()) == 0 {
			t.Fatal("no hit")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHit(b *testing.B) {
	c := New(Options{})
	defer c.Close()
	if _, _, err := c.Fill(b.Context(), kpis, time.Hour, func(context.Context) (Answer, error) {
		return Answer{Hit: make([]byte, 48_000)}, nil
	}); err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			c.Get(kpis)
		}
	})
}

// Both forms of an answer are one to a client that has it.
func TestTag(t *testing.T) {
	c := New(Options{})
	defer c.Close()
	answer := func(s string) Build {
		return func(context.Context) (Answer, error) {
			return Answer{Miss: []byte(s + "miss"), Hit: []byte(s + "hit")}, nil
		}
	}
	miss, _, err := c.Fill(t.Context(), kpis, minute, answer("a"))
	if err != nil {
		t.Fatal(err)
	}
	hit, ok := c.Get(kpis)
	if !ok || miss.Tag()[0] != hit.Tag()[0] || !strings.HasPrefix(hit.Tag()[0], `W/"`) {
		t.Errorf("miss %s, hit %s", miss.Tag(), hit.Tag())
	}
	other, err := c.Refresh(t.Context(), kpis, minute, answer("b"))
	if err != nil || other.Tag()[0] == hit.Tag()[0] {
		t.Errorf("another answer has the same tag: %s %v", other.Tag(), err)
	}
}
