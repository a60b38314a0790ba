package ratelimit

import (
	"context"
	"crypto/sha256"
	_ "embed" // the script
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/redis"
)

// A Fleet counts for all nodes of a deployment, in Redis and by Redis' clock:
// one script, which is atomic. While Redis is away each node
// allows its share of every limit, by what itself has counted in the last
// minute, so the fleet is neither open nor shut; the log says so, and says when
// it is over.
type Fleet struct {
	o     FleetOptions
	away  atomic.Bool
	ctx   context.Context
	close context.CancelFunc
	work  sync.WaitGroup

	mu      sync.Mutex
	pending map[name]int // units of Add that Redis has not been told of
}

// FleetOptions of NewFleet.
type FleetOptions struct {
	Redis *redis.Conn
	Local *Limiter   // counts this node's own units, for when Redis is away
	Nodes func() int // how many nodes there are; may be nil for one
	Log   *slog.Logger

	// Patience is how long a request waits for Redis; 250 ms when 0. The first
	// that waits in vain spares the others the wait.
	Patience time.Duration
}

const (
	// patience is FleetOptions.Patience when that is 0.
	patience = 250 * time.Millisecond
	// probeEvery is how often a Redis that is away is tried.
	probeEvery = 500 * time.Millisecond
	// addEvery is how often Redis is told of units that no request took along.
	addEvery = 250 * time.Millisecond
	// keep is how many windows may wait to be told of.
	keep = 20_000
)

//go:embed window.lua
var script string

// NewFleet returns a counter over all nodes. Close it.
func NewFleet(o FleetOptions) *Fleet {
	if o.Nodes == nil {
		o.Nodes = func() int { return 1 }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Patience <= 0 {
		o.Patience = patience
	}
	f := &Fleet{o: o, pending: map[name]int{}}
	f.ctx, f.close = context.WithCancel(context.Background())
	f.work.Go(f.publishLoop)
	f.isUp() // says at once when Redis is away from the start
	return f
}

// Close ends the background work. It does not close the connection.
func (f *Fleet) Close() {
	f.close()
	f.work.Wait()
}

// Away reports that Redis is away and each node counts its share.
func (f *Fleet) Away() bool { return f.away.Load() }

// Take implements Counter.
func (f *Fleet) Take(key string, c Category, p Plan, n int) State {
	r := p.Rule(c)
	replies, m, err := f.askRedis(ask{name: plainName(c, key), rule: r, n: n})
	if err != nil {
		return f.o.Local.Take(key, c, p.Share(f.o.Nodes()), n)
	}
	if !replies[0].fits {
		return m.refusedState(replies[0].unpackWindow(m), r, n)
	}
	f.o.Local.Add(key, c, n)
	return m.passedState(r, replies[0].minute, replies[0].newest)
}

// Pass implements Counter. What Spend has counted of next meanwhile is told in
// the same step.
func (f *Fleet) Pass(who Caller, c, next Category, p Plan) (taken, room State) {
	r := p.Rule(c)
	replies, m, err := f.askRedis(
		ask{name: who.ownWindow(c), rule: r, n: 1},
		ask{name: who.tenantWindow(c), rule: p.Ceiling(c), n: 1},
		f.askRoom(who.ownWindow(next), p.Rule(next)),
		f.askRoom(who.tenantWindow(next), p.Ceiling(next)))
	if err != nil {
		return f.o.Local.Pass(who, c, next, p.Share(f.o.Nodes()))
	}
	if !replies[0].fits {
		return m.refusedState(replies[0].unpackWindow(m), r, 1), State{}
	}
	if !replies[1].fits {
		return m.ceilingState(replies[1].unpackWindow(m), p.Ceiling(c)), State{}
	}
	f.o.Local.Spend(who, c, 1)
	return m.passedState(r, replies[0].minute, replies[0].newest), roomOf(replies[2:], m, next, p)
}

// Spend implements Counter. Redis learns of it with the caller's next Pass or Room, or
// within addEvery: the caller does not wait.
func (f *Fleet) Spend(who Caller, c Category, n int) {
	f.o.Local.Spend(who, c, n)
	f.postponeUnits(n, who.ownWindow(c), who.tenantWindow(c))
}

// Room implements Counter.
func (f *Fleet) Room(who Caller, c Category, p Plan) State {
	replies, m, err := f.askRedis(f.askRoom(who.ownWindow(c), p.Rule(c)), f.askRoom(who.tenantWindow(c), p.Ceiling(c)))
	if err != nil {
		return f.o.Local.Room(who, c, p.Share(f.o.Nodes()))
	}
	return roomOf(replies, m, c, p)
}

// askRoom asks how full a window is, and takes along what was counted of it meanwhile.
func (f *Fleet) askRoom(k name, r Rule) ask {
	return ask{name: k, rule: r, n: f.claimCounted(k), forced: true}
}

// roomOf reads the room in a caller's window and in the tenant's.
func roomOf(replies []reply, m moment, c Category, p Plan) State {
	state := replies[0].stateOf(m, p.Rule(c))
	if !state.OK {
		return state
	}
	if all := replies[1].stateOf(m, p.Ceiling(c)); !all.OK {
		all.Ceiling = true
		return all
	}
	return state
}

// Add implements Counter. Redis learns of it with the key's next Peek, or within
// addEvery: the caller does not wait.
func (f *Fleet) Add(key string, c Category, n int) {
	f.o.Local.Add(key, c, n)
	f.postponeUnits(n, plainName(c, key))
}

// postponeUnits keeps units that Redis has not been told of.
func (f *Fleet) postponeUnits(n int, windows ...name) {
	if f.away.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range windows {
		if len(f.pending) < keep {
			f.pending[k] += n
		}
	}
}

// Peek implements Counter.
func (f *Fleet) Peek(key string, c Category, p Plan) State {
	r := p.Rule(c)
	replies, m, err := f.askRedis(f.askRoom(plainName(c, key), r))
	if err != nil {
		return f.o.Local.Peek(key, c, p.Share(f.o.Nodes()))
	}
	return replies[0].stateOf(m, r)
}

// Once reports whether this is the first call for key on any node within d.
// While Redis is away each node answers for itself: true.
func (f *Fleet) Once(key string, d time.Duration) bool {
	if !f.isUp() {
		return true
	}
	ctx, cancel := context.WithTimeout(f.ctx, f.o.Patience)
	defer cancel()
	v, err := f.o.Redis.Do(ctx, "SET", "hf:once:"+key, "1", "NX", "PX", d.Milliseconds())
	return err != nil || v != nil
}

// isUp reports that Redis may be asked, and makes known when it cannot.
func (f *Fleet) isUp() bool {
	if f.away.Load() {
		return false
	}
	if !f.o.Redis.Up() {
		f.reportFailure(redis.ErrAway)
		return false
	}
	return true
}

// claimCounted takes over the telling of what Add has counted.
func (f *Fleet) claimCounted(k name) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.pending[k]
	if n > 0 {
		delete(f.pending, k)
	}
	return n
}

// An ask is one window's part of a call of the script, which counts those that are not
// forced all or none.
type ask struct {
	name   name
	rule   Rule
	n      int
	forced bool
}

// A reply is one window's part of the script's.
type reply struct {
	fits          bool // or was forced
	minute, burst int
	newest        int64
	full          string
}

// askRedis runs the script for some windows of one tenant or key. Its error means that Redis
// is away, and was made known.
func (f *Fleet) askRedis(asks ...ask) ([]reply, moment, error) {
	if !f.isUp() {
		return nil, moment{}, redis.ErrAway
	}
	replies, m, err := f.runScript(asks)
	if err != nil {
		f.reportFailure(err)
	}
	return replies, m, err
}

// windows is the script; its hash is made once.
var windows = redis.NewScript(script)

func (f *Fleet) runScript(asks []ask) ([]reply, moment, error) {
	keys, args := make([]string, len(asks)), make([]string, 0, 4*len(asks))
	for i, a := range asks {
		keys[i] = redisKey(a.name)
		forced := "0"
		if a.forced {
			forced = "1"
		}
		args = append(args, strconv.Itoa(a.rule.Minute), strconv.Itoa(a.rule.Burst), strconv.Itoa(a.n), forced)
	}
	ctx, cancel := context.WithTimeout(f.ctx, f.o.Patience)
	defer cancel()
	v, err := f.o.Redis.Eval(ctx, windows, redis.Run{Keys: keys, Args: args})
	if err != nil {
		return nil, moment{}, fmt.Errorf("limit: count in Redis: %w", err)
	}
	return parseReplies(v, len(asks))
}

// redisKey is a window's key in Redis. All windows of a tenant are on one slot of a
// cluster, by the braces. Addresses and accounts are personal data, so theirs
// is a hash.
func redisKey(k name) string {
	tenant := k.key
	if len(tenant) != 36 || k.category == Auth {
		tenant = hashName(tenant)
	}
	key := "hf:limit:{" + tenant + "}:" + strconv.Itoa(int(k.category))
	if k.caller == "" {
		return key
	}
	return key + ":" + hashName(k.caller)
}

func hashName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

func parseReplies(values []any, n int) ([]reply, moment, error) {
	if len(values) != 1+5*n {
		return nil, moment{}, fmt.Errorf("limit: Redis answers %d values, not %d", len(values), 1+5*n)
	}
	ms, err := redis.Number(values[0])
	if err != nil {
		return nil, moment{}, fmt.Errorf("limit: the clock of Redis: %w", err)
	}
	at := time.Duration(ms) * time.Millisecond
	m := moment{now: time.Now(), slot: int64(at / slot), in: at % slot}
	out := make([]reply, n)
	for i := range out {
		v := values[1+5*i:]
		fits, e1 := redis.Number(v[0])
		minute, e2 := redis.Number(v[1])
		burst, e3 := redis.Number(v[2])
		newest, e4 := redis.Number(v[3])
		full, e5 := redis.Text(v[4])
		if err := errors.Join(e1, e2, e3, e4, e5); err != nil {
			return nil, moment{}, fmt.Errorf("limit: a window in Redis: %w", err)
		}
		out[i] = reply{fits == 1, int(minute), int(burst), newest, full}
	}
	return out, m, nil
}

func (a reply) stateOf(m moment, r Rule) State {
	if a.minute >= r.Minute || a.burst >= r.Burst {
		return m.refusedState(a.unpackWindow(m), r, 1)
	}
	return m.passedState(r, a.minute, a.newest)
}

// head is the length of what stands before a window's slots.
const head = 24

// unpackWindow unpacks a full window and moves it to the moment.
func (a reply) unpackWindow(m moment) *window {
	if len(a.full) != head+2*int(minuteSlots) {
		return &window{last: m.slot}
	}
	b := []byte(a.full)
	w := &window{
		last:   int64(binary.BigEndian.Uint64(b)),
		minute: int(binary.BigEndian.Uint32(b[8:])),
		burst:  int(binary.BigEndian.Uint32(b[12:])),
	}
	for i := range w.slots {
		w.slots[i] = binary.BigEndian.Uint16(b[head+2*i:])
	}
	w.advanceTo(m.slot)
	return w
}

// reportFailure makes known that Redis is away and begins to look for it.
func (f *Fleet) reportFailure(err error) {
	if f.ctx.Err() != nil || !f.away.CompareAndSwap(false, true) {
		return
	}
	f.o.Log.Error("ALARM: Redis is away; every node allows its share of the rate limits until it is back", "nodes",
		f.o.Nodes(), "error", err)
	f.work.Go(f.searchRedis)
}

// searchRedis probes with the script itself, because a Redis that has become a
// replica or is full answers a ping and counts nothing.
func (f *Fleet) searchRedis() {
	began := time.Now()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-tick.C:
		}
		if !f.o.Redis.Up() {
			continue
		}
		if _, _, err := f.runScript([]ask{{name: name{key: "probe"}, n: 1, forced: true}}); err != nil {
			continue
		}
		f.o.Log.Info("Redis is back; rate limits are counted together again", "away",
			time.Since(began).Round(time.Millisecond).String())
		f.away.Store(false)
		return
	}
}

// publishLoop tells Redis of what Add has counted.
func (f *Fleet) publishLoop() {
	tick := time.NewTicker(addEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-tick.C:
			f.publishCounts()
		}
	}
}

// takePending returns what Add has counted and nobody else writes to any more.
func (f *Fleet) takePending() map[name]int {
	f.mu.Lock()
	defer f.mu.Unlock()

	if len(f.pending) == 0 {
		return nil
	}
	pending := f.pending
	f.pending = map[name]int{}
	return pending
}

func (f *Fleet) publishCounts() {
	pending := f.takePending()
	if len(pending) == 0 || !f.isUp() {
		return
	}
	// The bounds are out of reach: only refused and full windows are sent back.
	const open = "4000000000"
	runs := make([]redis.Run, 0, len(pending))
	for k, n := range pending {
		runs = append(runs, redis.Run{Keys: []string{redisKey(k)}, Args: []string{open, open, strconv.Itoa(n), "1"}})
	}
	ctx, cancel := context.WithTimeout(f.ctx, 4*f.o.Patience)
	defer cancel()
	if err := f.o.Redis.EvalAll(ctx, windows, runs); err != nil {
		f.reportFailure(err)
	}
}
