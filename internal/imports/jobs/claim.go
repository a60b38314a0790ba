package jobs

import (
	"context"
	"sync"

	"holdfast/internal/db"
)

// claims is the claim under which this process works. It is taken with the
// first job and kept; when its connection broke, a new one is taken with the
// next. Without one (the embedded engine, a database without a connection to
// spare) the lease alone tells whether somebody works on a job.
type claims struct {
	mu   sync.Mutex
	now  *db.Claim
	keys map[int64]bool // that were ever ours
	over bool           // no more are taken
}

// claimKey returns the key to work under, nil where there is none. It takes its own
// bounded time: a caller who hangs up would close the connection, and with it
// end the claim on all jobs that this process works on.
func (c *claims) claimKey(ctx context.Context, d *db.DB) any {
	ctx = context.WithoutCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil
	}
	if c.now != nil && !c.now.Held(ctx) {
		c.now.Close()
		c.now = nil
	}
	if c.now == nil {
		var err error
		if c.now, err = d.Claim(ctx); err != nil || c.now == nil {
			c.now = nil
			return nil
		}
		if c.keys == nil {
			c.keys = map[int64]bool{}
		}
		c.keys[c.now.Key] = true
	}
	return c.now.Key
}

// End gives the claim back for good.
func (c *claims) endClaim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.now != nil {
		c.now.Close()
		c.now = nil
	}
}

// isOurs reports a key that this process works or worked under.
func (c *claims) isOurs(key int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys[key]
}
