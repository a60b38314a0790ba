package db

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// Claim says that its process lives: others see it end as soon as the server
// sees the process's connection end, also after kill -9. It is an advisory
// lock in a transaction that stays open (PostgreSQL, 13.3.5): so it holds
// behind a transaction pooler too. An idle transaction that read nothing keeps
// no snapshot, and so keeps nothing from being vacuumed.
type Claim struct {
	Key  int64
	conn *pgx.Conn
}

// claimCare bounds what is done to take, check and end a claim.
const claimCare = 5 * time.Second

// Claim takes a claim of its own key, on a connection outside the pool. On the
// embedded engine it is nil: there Alone tells.
func (d *DB) Claim(ctx context.Context) (*Claim, error) {
	p, ok := d.eng.(*postgres)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, claimCare)
	defer cancel()
	cfg := p.pool.Config().ConnConfig.Copy()
	if err := trustAnew(p.url, cfg); err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = "holdfast claim"
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, classifyError(fmt.Errorf("db: claim: %w", err))
	}
	c := &Claim{Key: rand.Int64N(1<<62) + 1, conn: conn}
	for _, sql := range []string{"BEGIN", "SET LOCAL idle_in_transaction_session_timeout = 0",
		// A host that is gone says nothing: the server asks within the minute.
		"SET LOCAL tcp_keepalives_idle = 20", "SET LOCAL tcp_keepalives_interval = 10", "SET LOCAL tcp_keepalives_count = 3",
		fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", c.Key)} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			c.Close()
			return nil, classifyError(fmt.Errorf("db: claim: %w", err))
		}
	}
	return c, nil
}

// Held reports whether the claim's connection still stands.
func (c *Claim) Held(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, claimCare)
	defer cancel()
	_, err := c.conn.Exec(ctx, "SELECT 1")
	return err == nil
}

// Close ends the claim.
func (c *Claim) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), claimCare)
	defer cancel()
	_ = c.conn.Close(ctx) // the server ends it with the connection in any case
}

// Unclaimed reports that nobody holds the claim of a key. The process that
// holds it finds it claimed too.
func (t *Tx) Unclaimed(key int64) (bool, error) {
	free := false
	if t.db.kind != PostgreSQL {
		return false, nil
	}
	err := t.Query("SELECT pg_try_advisory_xact_lock($1)", []any{key}, func(r *Row) error { free = r.Bool(0); return nil })
	if err != nil {
		return false, fmt.Errorf("db: look for a claim: %w", err)
	}
	return free, nil
}
