package ratelimit

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/redis"
	"holdfast/internal/testkit/redistest"
)

// node is one node's counter on a Redis, and what it logs.
type node struct {
	*Fleet
	local *Limiter
	log   *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// nodes opens n counters as n processes would: each has its own connection.
func nodes(t testing.TB, s *redistest.Server, n int) []node { return counters(t, s, n, 0) }

// patient opens counters that wait for a slow machine's Redis.
func patient(t testing.TB, s *redistest.Server, n int) []node {
	return counters(t, s, n, 30*time.Second)
}

func counters(t testing.TB, s *redistest.Server, n int, patience time.Duration) []node {
	t.Helper()
	out := make([]node, n)
	for i := range out {
		conn, err := redis.Open(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		log, local := &buffer{}, New(Options{})
		f := NewFleet(FleetOptions{Redis: conn, Local: local, Nodes: func() int { return n },
			Log: slog.New(slog.NewTextHandler(log, nil)), Patience: patience})
		t.Cleanup(f.Close)
		out[i] = node{f, local, log}
	}
	return out
}

func custom(t testing.TB, rules map[Category]Rule) Plan {
	t.Helper()
	p, err := Custom(rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// 1,200 requests over two nodes within a minute.
func TestTwoNodesAdmitOneLimit(t *testing.T) {
	fleet := patient(t, redistest.Start(t), 2)
	plan := custom(t, map[Category]Rule{API: {Minute: 1000, Burst: 1000}})
	var passed, clients atomic.Int64
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			n := fleet[clients.Add(1)%2]
			for range 100 {
				if n.Take("k", API, plan, 1).OK {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d of 1,200 admitted", passed.Load())
	if n := passed.Load(); n < 990 || n > 1010 {
		t.Errorf("%d admitted, want 1,000 +-1 %%", n)
	}
}

// The counters of one process and of many answer alike.
func TestCountersAgree(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T) Counter
	}{
		{"memory", func(*testing.T) Counter { return New(Options{}) }},
		{"Redis", func(t *testing.T) Counter { return patient(t, redistest.Start(t), 1)[0] }},
	} {
		t.Run(c.name, func(t *testing.T) { conform(t, c.make(t)) })
	}
}

func conform(t *testing.T, c Counter) {
	plan := custom(t, map[Category]Rule{API: {Minute: 20, Burst: 10}, Read: {Minute: 6, Burst: 3}})
	if s := c.Peek("new", API, plan); !s.OK || s.Used != 0 || s.Remaining != 20 || s.Limit != 20 ||
		time.Until(s.Reset) > time.Second {
		t.Errorf("a new key: %+v", s)
	}
	ann, ben := Caller{"k", "ann"}, Caller{"k", "ben"}
	for i := range 10 {
		s, room := c.Pass(ann, API, Read, plan)
		if !s.OK || s.Limit != 20 || s.Used != i+1 || s.Remaining != 19-i || s.RetryAfter != 0 || !room.OK ||
			room.Limit != 6 {
			t.Fatalf("request %d: %+v, reads %+v", i+1, s, room)
		}
		if left := time.Until(s.Reset); left < 58*time.Second || left > 61*time.Second {
			t.Errorf("all is free in %v", left)
		}
	}
	s, _ := c.Pass(ann, API, Read, plan)
	if s.OK || s.Limit != 10 || s.Used != 10 || s.Remaining != 0 {
		t.Errorf("request 11 of a burst of 10: %+v", s)
	}
	if s.RetryAfter < 8*time.Second || s.RetryAfter > 11*time.Second || s.Reset.After(time.Now().Add(s.RetryAfter)) {
		t.Errorf("wait %v, reset in %v", s.RetryAfter, time.Until(s.Reset))
	}
	if s, _ := c.Pass(ben, API, Read, plan); !s.OK || s.Used != 1 {
		t.Errorf("a colleague: %+v", s)
	}
	if s := c.Take("plain", API, plan, 11); s.OK || s.RetryAfter != 0 {
		t.Errorf("more than the rule ever allows: %+v", s)
	}
	if s := c.Take("other", API, plan, 10); !s.OK {
		t.Errorf("another key: %+v", s)
	}
	c.Add("reads", Read, 2)
	if s := c.Peek("reads", Read, plan); !s.OK || s.Used != 2 || s.Remaining != 4 {
		t.Errorf("after two reads: %+v", s)
	}
	c.Add("reads", Read, 5)
	c.Spend(ann, Read, 7)
	if s := c.Room(ann, Read, plan); s.OK || s.Used != 7 || s.Limit != 6 || s.RetryAfter == 0 || s.Ceiling {
		t.Errorf("after seven reads: %+v", s)
	}
	if _, room := c.Pass(ben, API, Read, plan); !room.OK || room.Used != 0 {
		t.Errorf("reads of a colleague: %+v", room)
	}
	if s := c.Peek("reads", Read, plan); s.OK || s.Remaining != 0 {
		t.Errorf("after seven reads: %+v", s)
	}
	if s := c.Take("k", Auth, Plan{}, 1); s.OK {
		t.Error("the zero plan allows")
	}
	conformCeiling(t, c)
}

// conformCeiling holds that a tenant's callers share the plan's ceiling, and that what it
// refuses is counted nowhere.
func conformCeiling(t *testing.T, c Counter) {
	plan, err := Parse(`{
		"api":  {"minute": 10, "burst": 10, "ceiling": 15},
		"read": {"minute": 6, "burst": 6, "ceiling": 8}
	}`)
	if err != nil {
		t.Fatal(err)
	}
	ann, ben := Caller{"shared", "ann"}, Caller{"shared", "ben"}
	for _, turn := range []struct {
		who  Caller
		pass int
	}{{ann, 10}, {ben, 5}} {
		for i := range turn.pass {
			if s, _ := c.Pass(turn.who, API, Read, plan); !s.OK || s.Used != i+1 || s.Limit != 10 {
				t.Fatalf("%s, request %d: %+v", turn.who.Name, i+1, s)
			}
		}
	}
	if s, _ := c.Pass(ann, API, Read, plan); s.OK || s.Ceiling || s.Limit != 10 {
		t.Errorf("a caller above its own limit: %+v", s)
	}
	for range 3 {
		if s, _ := c.Pass(ben, API, Read, plan); s.OK || !s.Ceiling || s.Limit != 15 || s.Used != 15 || s.RetryAfter == 0 {
			t.Errorf("above the ceiling: %+v", s)
		}
	}
	if s := c.Room(ben, API, plan.withRoom(t)); !s.OK || s.Used != 5 {
		t.Errorf("what the ceiling refused is counted: %+v", s)
	}

	c.Spend(ann, Read, 4)
	c.Spend(ben, Read, 4)
	if s := c.Room(ann, Read, plan); s.OK || !s.Ceiling || s.Limit != 8 {
		t.Errorf("reads of both: %+v", s)
	}
}

// withRoom is a plan with the same limits for a caller and a ceiling that is far away.
func (p Plan) withRoom(t *testing.T) Plan {
	t.Helper()
	wide, err := p.withCeilings(map[Category]int{API: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return wide
}

// The script against the plain window, on the same requests in real time: both
// are exact, so they differ at most where a slot begins between the two.
func TestTheWindowOfTheScriptRolls(t *testing.T) {
	f := patient(t, redistest.Start(t), 1)[0]
	plan := custom(t, map[Category]Rule{API: {Minute: 60, Burst: 20}})
	random := rand.New(rand.NewPCG(5, 6))
	// Redis counts a request at some moment between the two.
	var asked, answered []time.Time
	within := func(at []time.Time, now time.Time, span time.Duration) (n int) {
		for _, p := range at {
			if now.Sub(p) < span {
				n++
			}
		}
		return n
	}
	const skew = 40 * time.Millisecond // between the request and Redis' reading of its clock
	begin := time.Now()
	for time.Since(begin) < 13*time.Second || len(asked) <= 20 && time.Since(begin) < time.Minute {
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		before := time.Now()
		ok := f.Take("k", API, plan, 1).OK
		now := time.Now()
		if n := within(asked, now, 10*time.Second-skew); ok && n >= 20 {
			t.Fatalf("passed with %d in 10 s", n)
		}
		if n := within(answered, before, 10*time.Second+slot+skew); !ok && n < 20 {
			t.Fatalf("refused with %d in 10 s", n)
		}
		if ok {
			asked, answered = append(asked, before), append(answered, now)
		}
	}
	if len(asked) <= 20 {
		t.Errorf("only %d passed: nothing has left the window", len(asked))
	}
}

func TestAddsOfAllNodesMeet(t *testing.T) {
	fleet := patient(t, redistest.Start(t), 2)
	fleet[0].Add("k", Read, 30)
	fleet[1].Add("k", Read, 12)
	var used int
	for range 100 {
		if used = fleet[1].Peek("k", Read, Standard()).Used; used == 42 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d units of two nodes, want 42", used)
}

// Redis gone: each node allows its share by what it has counted itself; back:
// by itself, together. Killed, hanging, and away from the start.
func TestRedisGoesAndComesBack(t *testing.T) {
	plan := custom(t, map[Category]Rule{API: {Minute: 100, Burst: 100}})
	for _, c := range []struct {
		name       string
		away, back func(*redistest.Server)
	}{
		{"killed", (*redistest.Server).Stop, (*redistest.Server).Start},
		{"hanging", (*redistest.Server).Hang, (*redistest.Server).Wake},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := redistest.Start(t)
			fleet := nodes(t, s, 2)
			for range 10 {
				fleet[0].Take("k", API, plan, 1)
			}
			c.away(s)
			admitted := [2]int{}
			for range 200 {
				for i := range fleet {
					if s := fleet[i].Take("k", API, plan, 1); s.OK {
						admitted[i]++
					} else if s.Limit != 50 || s.RetryAfter == 0 {
						t.Fatalf("refused with %+v", s)
					}
				}
			}
			if admitted != [2]int{40, 50} {
				t.Errorf("admitted %v, want 40 and 50: a half each, less what the first had counted", admitted)
			}
			c.back(s)
			for i := range fleet {
				returned(t, fleet[i])
				if log := fleet[i].log.String(); strings.Count(log, "ALARM") == 0 ||
					strings.Count(log, "ALARM") != strings.Count(log, "Redis is back") {
					t.Errorf("node %d logs:\n%s", i, log)
				}
			}
			together(t, fleet, plan)
		})
	}
	t.Run("from the start", func(t *testing.T) {
		s := redistest.Away(t)
		f := nodes(t, s, 1)[0]
		if s := f.Take("k", API, plan, 1); !s.OK || !f.Away() {
			t.Errorf("%+v", s)
		}
		s.Start()
		returned(t, f)
	})
}

// together waits until sixty units at each of two nodes are more than a hundred:
// a slow machine may lose Redis again for a moment.
func together(t *testing.T, fleet []node, plan Plan) {
	t.Helper()
	for i := range 100 {
		key := fmt.Sprintf("together %d", i)
		if fleet[0].Take(key, API, plan, 60).OK && !fleet[1].Take(key, API, plan, 60).OK && !fleet[0].Away() &&
			!fleet[1].Away() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the nodes do not count together again")
}

func returned(t *testing.T, f node) {
	t.Helper()
	for range 1200 {
		if !f.Away() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("Redis is back and not used:\n%s", f.log.String())
}

func TestOnceInTheFleet(t *testing.T) {
	fleet := patient(t, redistest.Start(t), 2)
	if !fleet[0].Once("a", time.Minute) || fleet[1].Once("a", time.Minute) || fleet[0].Once("a", time.Minute) ||
		!fleet[1].Once("b", time.Minute) {
		t.Error("told twice, or not at all")
	}
}

func TestKeysInRedisNameNobody(t *testing.T) {
	if p := redisKey(name{API, "11111111-1111-4111-8111-111111111111", "ann@example.com"}); strings.Contains(p, "ann") {
		t.Error(p)
	}
	if p := redisKey(plainName(Auth, "account:ann@example.com")); strings.Contains(p, "ann") {
		t.Error(p)
	}
	if p := redisKey(plainName(API, "192.0.2.7")); strings.Contains(p, "192") {
		t.Error(p)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct{ nodes, minute, burst int }{{0, 1000, 200}, {1, 1000, 200}, {2, 500, 100}, {3, 333, 66},
		{5000, 1, 1}} {
		if got := Standard().Share(c.nodes).Rule(API); got != (Rule{c.minute, c.burst}) {
			t.Errorf("%d nodes: %+v", c.nodes, got)
		}
	}
}

func BenchmarkFleet(b *testing.B) {
	f := nodes(b, redistest.Start(b), 1)[0]
	plan := custom(b, map[Category]Rule{API: {Minute: most, Burst: most}, Read: {Minute: most, Burst: most}})
	b.Run("one at a time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.Pass(Caller{"0192f3a4-0000-7000-8000-000000000001", "ann"}, API, Read, plan)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(p *testing.PB) {
			for i := rand.Int(); p.Next(); i++ {
				f.Pass(Caller{fmt.Sprint("tenant ", i%1000), "ann"}, API, Read, plan)
			}
		})
	})
}
