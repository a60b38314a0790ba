// Package redis holds the connection to a Redis server that may be away: at
// the start, for a while, or for good. Whoever uses it has another way to do
// its work meanwhile.
package redis

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// Patience with a server that does not answer. Requests wait far less: their
// own deadlines are in the packages that make them.
const (
	dialTimeout = time.Second
	redialEvery = time.Second
)

// Conn is a connection, made in the background and made again when it breaks.
// It is safe for concurrent use.
type Conn struct {
	option rueidis.ClientOption
	client atomic.Pointer[rueidis.Client]
	cancel context.CancelFunc
	dialer sync.WaitGroup
}

// Open reads a redis:// or rediss:// URL (host, port, user, password, number
// of the database) and begins to connect. Only a URL that cannot be read is an
// error: a server that is away is connected to later.
func Open(url string) (*Conn, error) {
	option, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("redis: the URL cannot be read: %w", err)
	}
	option.Dialer = net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout}
	option.ConnWriteTimeout = dialTimeout
	option.DisableCache = true // we read nothing twice
	option.DisableRetry = true // the callers know better
	ctx, cancel := context.WithCancel(context.Background())
	c := &Conn{option: option, cancel: cancel}
	if err := c.dial(); err != nil {
		slog.Warn("Redis is away; it will be tried again every second", "error", err)
		c.dialer.Go(func() { c.redial(ctx) })
	}
	return c, nil
}

func (c *Conn) dial() error {
	client, err := rueidis.NewClient(c.option)
	if err != nil {
		return err
	}
	c.client.Store(&client)
	return nil
}

// redial makes the first connection; later ones are the client's own work.
func (c *Conn) redial(ctx context.Context) {
	tick := time.NewTicker(redialEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if c.dial() == nil {
				return
			}
		}
	}
}

// Client returns the client, or false while no connection was ever made.
func (c *Conn) Client() (rueidis.Client, bool) {
	if p := c.client.Load(); p != nil {
		return *p, true
	}
	return nil, false
}

// Database is the number of the database that the URL names.
func (c *Conn) Database() int { return c.option.SelectDB }

// Close ends the connection.
func (c *Conn) Close() {
	c.cancel()
	c.dialer.Wait()
	if client, ok := c.Client(); ok {
		client.Close()
	}
}
