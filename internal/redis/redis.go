// Package redis holds the connections to a Redis server that may be away: at
// the start, for a while, or for good. Whoever uses it has another way to do
// its work meanwhile.
//
// Layer: foundations. Begin at [Open].
package redis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Patience with a server that does not answer. Requests wait far less: their
// own deadlines are in the packages that make them.
const (
	dialTimeout  = time.Second
	writeTimeout = time.Second
	probeEvery   = time.Second
	// lostAfter ends a connection on which an answer is overdue.
	lostAfter = 3 * time.Second
)

// connections are how many there are at most; the same number may stay open.
const connections = 32

// ErrAway is the error of every call while the server is away.
var ErrAway = errors.New("redis: the server is away")

// Conn reaches one server, by connections that are made when they are needed.
// It is safe for concurrent use.
type Conn struct {
	at     address
	pool   *redis.Pool
	up     atomic.Bool
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// Open reads a redis:// or rediss:// URL (host, port, user, password, number
// of the database) and tries the server. Only a URL that cannot be read is an
// error: a server that is away is tried every second.
func Open(url string) (*Conn, error) {
	at, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	c := &Conn{at: at}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.pool = &redis.Pool{DialContext: at.dialServer, MaxActive: connections, MaxIdle: connections, Wait: true}
	if err := c.probeServer(); err != nil {
		slog.Warn("Redis is away; it will be tried again every second", "error", err)
	}
	c.work.Go(c.watchServer)
	return c, nil
}

// probeServer asks whether the server answers. It knows a server that is away, and
// that it is back, also when nobody asks anything.
func (c *Conn) probeServer() error {
	ctx, cancel := context.WithTimeout(c.ctx, dialTimeout)
	defer cancel()
	_, err := c.doCommand(ctx, "PING")
	c.up.Store(err == nil)
	return err
}

func (c *Conn) watchServer() {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		if err := c.probeServer(); err != nil {
			slog.Debug("Redis is away", "error", err)
		}
	}
}

// Up reports whether the server answered lately.
func (c *Conn) Up() bool { return c.up.Load() }

// Do sends a command and waits for its answer: nil, an int64, a string, a
// []byte, or a []any of these.
func (c *Conn) Do(ctx context.Context, command string, args ...any) (any, error) {
	if !c.Up() {
		return nil, ErrAway
	}
	return c.doCommand(ctx, command, args...)
}

func (c *Conn) doCommand(ctx context.Context, command string, args ...any) (reply any, err error) {
	err = c.withConn(ctx, func(conn redis.Conn) error {
		reply, err = redis.DoContext(conn, ctx, command, args...)
		return err
	})
	return reply, err
}

// withConn lends one connection. One that broke, or whose caller left, is not used
// again.
func (c *Conn) withConn(ctx context.Context, use func(redis.Conn) error) error {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return use(conn)
}

// Script is a Lua script, which the server keeps by its hash.
type Script struct{ script *redis.Script }

// NewScript returns a script to be run with Eval.
func NewScript(text string) *Script { return &Script{redis.NewScript(-1, text)} }

// Run is what a script is run with.
type Run struct{ Keys, Args []string }

func (r Run) scriptArgs() []any {
	args := make([]any, 0, 1+len(r.Keys)+len(r.Args))
	args = append(args, len(r.Keys))
	for _, k := range r.Keys {
		args = append(args, k)
	}
	for _, a := range r.Args {
		args = append(args, a)
	}
	return args
}

// Eval runs a script that answers with a list.
func (c *Conn) Eval(ctx context.Context, s *Script, r Run) (list []any, err error) {
	if !c.Up() {
		return nil, ErrAway
	}
	err = c.withConn(ctx, func(conn redis.Conn) error {
		list, err = redis.Values(s.script.DoContext(ctx, conn, r.scriptArgs()...))
		return err
	})
	return list, err
}

// atOnce is how many runs of a script EvalAll sends before it reads their
// answers.
const atOnce = 1000

// EvalAll runs a script many times without waiting in between, and returns the
// first error after it has heard of all.
func (c *Conn) EvalAll(ctx context.Context, s *Script, runs []Run) error {
	if !c.Up() {
		return ErrAway
	}
	return c.withConn(ctx, func(conn redis.Conn) error {
		if err := s.script.Load(conn); err != nil {
			return err
		}
		var first error
		for len(runs) > 0 && conn.Err() == nil {
			n := min(len(runs), atOnce)
			if err := evalSome(ctx, conn, s, runs[:n]); err != nil && first == nil {
				first = err
			}
			runs = runs[n:]
		}
		return first
	})
}

func evalSome(ctx context.Context, conn redis.Conn, s *Script, runs []Run) error {
	for _, r := range runs {
		if err := s.script.SendHash(conn, r.scriptArgs()...); err != nil {
			return err
		}
	}
	if err := conn.Flush(); err != nil {
		return err
	}
	var first error
	for range runs {
		if _, err := redis.ReceiveContext(conn, ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Subscribe hears what is published on a channel until ctx ends or the
// connection, which is one of its own, breaks; that is its error.
func (c *Conn) Subscribe(ctx context.Context, channel string, hear func(message string)) error {
	conn, err := c.at.dialServer(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	sub := redis.PubSubConn{Conn: conn}
	if err := sub.Subscribe(channel); err != nil {
		return err
	}
	for {
		switch m := sub.ReceiveWithTimeout(0).(type) {
		case redis.Message:
			hear(string(m.Data))
		case error:
			return m
		}
	}
}

// Number reads a number of an answer.
func Number(reply any) (int64, error) { return redis.Int64(reply, nil) }

// Text reads a text of an answer.
func Text(reply any) (string, error) { return redis.String(reply, nil) }

// Database is the number of the database that the URL names.
func (c *Conn) Database() int { return c.at.database }

// Close ends the connections.
func (c *Conn) Close() {
	c.cancel()
	c.work.Wait()
	c.pool.Close()
}
