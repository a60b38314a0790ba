package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/backoff"
	"holdfast/internal/db"
	"holdfast/internal/redis"
)

// How often rows are written and read. A notice is with the other nodes within gather, gap and poll
// together, which is less than a second.
const (
	gather    = 20 * time.Millisecond  // what is told together is sent together
	gap       = 200 * time.Millisecond // between two batches of a node
	poll      = 350 * time.Millisecond // between two looks for the others' rows
	heartbeat = db.BeatEvery           // between two signs of life
	dead      = db.DeadAfter           // a node without one counts no more
	keep      = 10 * time.Minute       // rows are kept this long
	lost      = keep / 2               // who has not looked for so long has missed rows
	forget    = time.Hour              // a node that is silent for so long has no row any more

	// mostPause is how late, at most, a node sends and hears again after the
	// database was away: what it keeps may be old meanwhile.
	mostPause = 2 * time.Second
)

// Options of Open.
type Options struct {
	DB          *db.DB
	Redis       *redis.Conn      // may be nil
	Subscribe   func(Notice)     // called for each notice of another node, one at a time
	PublishOnly bool             // publishes and hears nothing: a tool beside the servers, no node of its own
	Now         func() time.Time // time.Now when nil
	Log         *slog.Logger
}

// Cluster is a node's end. It is safe for concurrent use.
type Cluster struct {
	o     Options
	id    string
	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup
	wake  chan struct{}
	nodes atomic.Int64

	recount atomic.Bool // another node has come or gone

	mu      sync.Mutex
	pending batch

	hearing sync.Mutex      // Subscribe is called by two readers
	known   map[string]bool // batches heard of late, where Redis brings them too
	order   []string        // the same, oldest first

	last   int64 // newest row read
	lastID string
	seen   time.Time
	beats  map[string]pulse // other nodes
	beat   int64
	marks  []pulse // how far the rows were read at each beat of the last minutes
}

// pulse is when a number that goes on was first seen: of a node's beats, or of
// the rows.
type pulse struct {
	beat int64
	at   time.Time
}

// Open joins the deployment: what is told from now on is heard. Close it.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	b := &Cluster{o: o, id: db.NewID(), wake: make(chan struct{}, 1), known: map[string]bool{}, beats: map[string]pulse{}}
	b.ctx, b.stop = context.WithCancel(context.Background())
	b.nodes.Store(1)
	if !b.isShared() {
		return b, nil
	}
	if !o.PublishOnly {
		var err error
		if b.last, b.lastID, err = b.readHead(ctx); err != nil {
			return nil, err
		}
		b.seen = time.Now()
		if err := b.recordHeartbeat(ctx); err != nil {
			return nil, err
		}
		b.Publish(Notice{Kind: Joined})
		b.work.Go(b.pollLoop)
		if o.Redis != nil {
			b.work.Go(b.subscribeLoop)
		}
	}
	b.work.Go(b.publishLoop)
	return b, nil
}

// isShared reports that other nodes can be on this database.
func (b *Cluster) isShared() bool { return b.o.DB.Engine() == db.PostgreSQL }

// Nodes is how many nodes live, this one included: 1 or more.
func (b *Cluster) Nodes() int { return int(b.nodes.Load()) }

// Publish lets the other nodes know, soon; the caller does not wait and has done
// itself what the notice asks for.
func (b *Cluster) Publish(n Notice) {
	if !b.isShared() {
		return
	}
	b.mu.Lock()
	b.pending.addNotice(n)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Close sends what is still to be told and leaves.
func (b *Cluster) Close(ctx context.Context) error {
	b.stop()
	b.work.Wait()
	if !b.isShared() {
		return nil
	}
	if b.o.PublishOnly {
		return b.sendBatch(ctx)
	}
	if err := b.removeNode(ctx); err != nil {
		return err
	}
	b.Publish(Notice{Kind: Joined})
	return b.sendBatch(ctx)
}

// publishLoop sends batches until the cluster is closed.
func (b *Cluster) publishLoop() {
	sending := backoff.New(b.o.Log, "write notices for other nodes", gap, mostPause)
	for b.waitFor(b.wake, time.Hour) {
		b.waitFor(nil, gather)
		sending.Note(b.ctx, b.runGuarded(b.sendBatch))
		b.waitFor(nil, gap)
		sending.Wait(b.ctx)
	}
}

// waitFor waits for wake or d and reports whether the cluster is still open.
func (b *Cluster) waitFor(wake <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-b.ctx.Done():
		return false
	case <-wake:
	case <-t.C:
	}
	return true
}

// runGuarded keeps the process alive when something is wrong here.
func (b *Cluster) runGuarded(f func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("bus: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f(b.ctx)
}

// sendBatch writes one batch. What could not be written is told again.
func (b *Cluster) sendBatch(ctx context.Context) error {
	b.mu.Lock()
	sent := b.pending
	b.pending = batch{}
	b.mu.Unlock()
	if sent.isEmpty() {
		return nil
	}
	err := b.writeNotices(ctx, sent.listNotices())
	if err == nil {
		return nil
	}
	for _, n := range sent.listNotices() {
		b.Publish(n)
	}
	return err
}

func (b *Cluster) writeNotices(ctx context.Context, list []Notice) error {
	body, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	id := db.NewID()
	b.publishToRedis(ctx, message{ID: id, Node: b.id, Body: string(body)})
	return b.insertRow(ctx, id, string(body))
}

// deliverOnce gives a batch to the node, once: where there is Redis it comes twice.
func (b *Cluster) deliverOnce(id, body string) {
	b.hearing.Lock()
	defer b.hearing.Unlock()
	if b.known[id] {
		return
	}
	if b.o.Redis != nil && id != "" {
		b.rememberID(id) // the other way brings it too
	}
	for _, n := range parseBody(body) {
		if n.Kind == Joined {
			b.recount.Store(true)
			continue
		}
		b.o.Subscribe(n)
	}
}

// remembered is how many batches are known at most; a row follows its message
// within a second.
const remembered = 4096

func (b *Cluster) rememberID(id string) {
	if len(b.order) >= remembered {
		delete(b.known, b.order[0])
		b.order = b.order[1:]
	}
	b.known[id] = true
	b.order = append(b.order, id)
}
