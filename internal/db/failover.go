package db

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast/internal/fault"
)

const (
	// connLife is how long a connection is used, and the most that it stays with a server
	// which an address led to before: nothing else takes reads away from one that lives on.
	connLife       = 5 * time.Minute
	connLifeJitter = time.Minute // so that they do not all end at once
	// Between two departures from a server that takes no writes is the first of these at the
	// least; twice as long after each that did not help, to the second. A primary may be
	// read-only on purpose.
	leaveEvery  = time.Second
	leaveSeldom = 2 * time.Minute
)

// followPrimary has connections go to the server that takes writes, unless the URL or
// the environment choose otherwise (target_session_attrs, pool_max_conn_lifetime).
func followPrimary(cfg *pgxpool.Config, url string) {
	if !strings.Contains(url, "pool_max_conn_lifetime") {
		cfg.MaxConnLifetime, cfg.MaxConnLifetimeJitter = connLife, connLifeJitter
	}
	c := cfg.ConnConfig
	if strings.Contains(url, "target_session_attrs") || os.Getenv("PGTARGETSESSIONATTRS") != "" {
		return
	}
	isWanted := pgconn.ValidateConnectTargetSessionAttrsPrimary
	if hasSeveralHosts(c) {
		isWanted = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if err := isWanted(ctx, conn); err != nil {
			return unavailableFault(err, "25006", "the database server takes no writes: it is a standby")
		}
		return nil
	}
}

// hasSeveralHosts reports whether another host is there when one takes no writes. The
// only one is kept for reads where it is a primary that somebody made read-only.
func hasSeveralHosts(c *pgx.ConnConfig) bool {
	for _, other := range c.Fallbacks { // the same host is there twice where TLS is a choice
		if other.Host != c.Host || other.Port != c.Port {
			return true
		}
	}
	return false
}

// leaveReadOnly has all connections replaced when a server refuses a write that it took
// before: its address leads elsewhere since a failover, and those that are open stay.
func (p *postgres) leaveReadOnly(tx *Tx, err error) {
	var refused *pgconn.PgError
	if tx.reads || !errors.As(err, &refused) || refused.Code != "25006" {
		return
	}
	if !p.left.isDue(time.Now()) {
		return
	}
	slog.Warn("the database server takes no writes any more; its connections are left", "error", fault.As(err).Msg)
	p.pool.Reset()
}

// departures are the times when all connections were left for others.
type departures struct {
	mu    sync.Mutex
	last  time.Time
	pause time.Duration
}

// isDue reports whether connections are to be left now, and notes that they are. The pause
// is short again once no write was refused for twice as long as it is.
func (d *departures) isDue(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := now.Sub(d.last)
	if since < d.pause {
		return false
	}
	if d.pause *= 2; d.pause == 0 || since > d.pause {
		d.pause = leaveEvery
	}
	d.last, d.pause = now, min(d.pause, leaveSeldom)
	return true
}
