// Package redis holds the connection to a Redis server that may be away: at
// the start, for a while, or for good. Whoever uses it has another way to do
// its work meanwhile.
//
// It is a client of its own because the one the Redis organisation keeps adds
// ten megabytes to the binary for commands that nobody here sends; it speaks
// the five forms of RESP2 (redis.io/docs/latest/develop/reference/protocol-spec)
// to one server, and pipelines what concurrent callers ask.
package redis

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Patience with a server that does not answer. Requests wait far less: their
// own deadlines are in the packages that make them.
const (
	dialTimeout  = time.Second
	writeTimeout = time.Second
	redialEvery  = time.Second
	// lostAfter ends a connection on which an answer is overdue.
	lostAfter = 3 * time.Second
)

// ErrAway is the error of every call while there is no connection.
var ErrAway = errors.New("redis: the server is away")

// Conn is a connection, made in the background and made again when it breaks.
// It is safe for concurrent use.
type Conn struct {
	at     address
	link   atomic.Pointer[link]
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// Open reads a redis:// or rediss:// URL (host, port, user, password, number
// of the database) and begins to connect. Only a URL that cannot be read is an
// error: a server that is away is connected to later.
func Open(url string) (*Conn, error) {
	at, err := parse(url)
	if err != nil {
		return nil, err
	}
	c := &Conn{at: at}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.dial(); err != nil {
		slog.Warn("Redis is away; it will be tried again every second", "error", err)
	}
	c.work.Go(c.keep)
	return c, nil
}

func (c *Conn) dial() error {
	conn, r, err := c.at.dial(c.ctx)
	if err != nil {
		return err
	}
	c.link.Store(newLink(conn, r))
	return nil
}

// keep makes the connection, again whenever it was lost: at once, but not
// twice within redialEvery.
func (c *Conn) keep() {
	tick := time.NewTicker(redialEvery)
	defer tick.Stop()
	tried := time.Now()
	for {
		broken := make(<-chan struct{})
		l := c.link.Load()
		if l != nil {
			broken = l.broken
		}
		select {
		case <-c.ctx.Done():
			return
		case <-broken:
			c.link.Store(nil)
			if time.Since(tried) < redialEvery {
				continue
			}
		case <-tick.C:
			if l != nil {
				l.watch()
				continue
			}
		}
		tried = time.Now()
		if err := c.dial(); err != nil {
			slog.Debug("Redis is away", "error", err)
		}
	}
}

// Up reports whether there is a connection.
func (c *Conn) Up() bool { return c.link.Load() != nil }

// Do sends a command and waits for its answer. An error that the server
// answers is an Error.
func (c *Conn) Do(ctx context.Context, args ...string) (Value, error) {
	call, err := c.send(args)
	if err != nil {
		return Value{}, err
	}
	return call.wait(ctx)
}

func (c *Conn) send(args []string) (*call, error) {
	l := c.link.Load()
	if l == nil {
		return nil, ErrAway
	}
	return l.send(args), nil
}

// Subscribe hears what is published on a channel until ctx ends or the
// connection, which is one of its own, breaks; that is its error.
func (c *Conn) Subscribe(ctx context.Context, channel string, hear func(message string)) error {
	conn, r, err := c.at.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write(command(nil, []string{"SUBSCRIBE", channel})); err != nil {
		return err
	}
	for {
		v, err := r.value()
		if err != nil {
			return err
		}
		if err := v.Err(); err != nil {
			return err
		}
		if len(v.List) == 3 && v.List[0].Text == "message" {
			hear(v.List[2].Text)
		}
	}
}

// Database is the number of the database that the URL names.
func (c *Conn) Database() int { return c.at.database }

// Close ends the connection.
func (c *Conn) Close() {
	c.cancel()
	c.work.Wait()
	if l := c.link.Load(); l != nil {
		l.end(net.ErrClosed)
	}
}
