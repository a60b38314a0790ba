package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/cluster"
	"holdfast/internal/db"
	"holdfast/internal/event"
	"holdfast/internal/fault"
	"holdfast/internal/ratelimit"
	"holdfast/internal/redis"
	"holdfast/internal/store"
)

// fleet joins this node to the others: limits that are counted together, and
// notices of what has changed.
type fleet struct {
	redis  *redis.Conn      // nil without one
	limits *ratelimit.Fleet // nil where each node counts for itself
	bus    atomic.Pointer[cluster.Cluster]
}

// openLimits makes the gate, whose counts are in this process or, where Redis
// is configured, in Redis.
func (a *App) openLimits(mode Mode) error {
	var counter ratelimit.Counter
	if a.Config.RedisURL != "" && mode == Server {
		var err error
		if a.fleet.redis, err = redis.Open(a.Config.RedisURL); err != nil {
			return err
		}
	}
	if a.Config.RateLimits == "on" {
		local := ratelimit.New(ratelimit.Options{})
		counter = local
		if a.fleet.redis != nil {
			a.fleet.limits = ratelimit.NewFleet(ratelimit.FleetOptions{Redis: a.fleet.redis, Local: local,
				Nodes: a.fleet.countNodes, Patience: a.Config.RedisTimeout})
			counter = a.fleet.limits
		}
	}
	if counter != nil && a.metrics != nil {
		counter = a.metrics.Counting(counter)
	}
	a.gate = access.New(a.authenticateRequest, counter)
	minute, burst, err := a.Config.SigninRule()
	if err != nil {
		return err
	}
	a.gate.Allow(ratelimit.Rule{Minute: minute, Burst: burst})
	a.gate.Custom, a.gate.Exceeded, a.gate.Known = a.readLimits, a.tellLimited, a.knownTenant
	return nil
}

// countNodes is how many servers share the database.
func (f *fleet) countNodes() int {
	if b := f.bus.Load(); b != nil {
		return b.Nodes()
	}
	return 1
}

// openBus joins the other nodes; a tool only tells them.
func (a *App) openBus(ctx context.Context, mode Mode) error {
	// Joining waits for the end of a change of the master key.
	b, err := cluster.Open(db.Patient(ctx, wholeTenant), cluster.Options{DB: a.DB, Redis: a.fleet.redis,
		Subscribe: a.handleNotice, PublishOnly: mode != Server, Now: a.now})
	if err != nil {
		return err
	}
	a.fleet.bus.Store(b)
	a.Identity.OnForget(a.publishForgotten)
	if mode == Server {
		return a.Identity.Keyring.ReadKeys(ctx) // Rekey, which may have held up the joining, sealed them anew
	}
	return nil
}

// publishNotice lets the other nodes know what this one has done already.
func (f *fleet) publishNotice(n cluster.Notice) {
	if b := f.bus.Load(); b != nil {
		b.Publish(n)
	}
}

// handleNotice does what another node tells.
func (a *App) handleNotice(n cluster.Notice) {
	switch n.Kind {
	case cluster.Changed:
		a.functions.Changed(n.Tenant, n.Names)
	case cluster.Cleared:
		a.functions.Forget(n.Tenant)
	case cluster.Keys:
		logFailure(context.Background(), "read keys", a.runGuarded("read keys", a.Identity.Keyring.ReadKeys))
	case cluster.Members:
		a.gate.Forget(n.Tenant)
		a.Identity.ForgetHere("", n.Tenant)
	case cluster.User:
		for _, user := range n.Names {
			a.Identity.ForgetHere(user, "")
		}
	case cluster.All:
		a.forgetAll()
	}
}

// forgetAll forgets whatever is kept of the database.
func (a *App) forgetAll() {
	a.functions.Forget("")
	a.Identity.ForgetAll()
	a.gate.Forget("")
	logFailure(context.Background(), "read keys", a.runGuarded("read keys", a.Identity.Keyring.ReadKeys))
}

// dropChanged drops the tenant's kept answers that changed collections go into,
// here and on the other nodes.
func (a *App) dropChanged(tenant string, collections []string) {
	if a.functions != nil {
		if collections = a.functions.Concern(collections); len(collections) == 0 {
			return
		}
		a.functions.Changed(tenant, collections)
	}
	a.fleet.publishNotice(cluster.Notice{Kind: cluster.Changed, Tenant: tenant, Names: collections})
}

// clearTenant drops all that is kept of a tenant, on all nodes.
func (a *App) clearTenant(tenant string) {
	if a.functions != nil {
		a.functions.Forget(tenant)
	}
	a.fleet.publishNotice(cluster.Notice{Kind: cluster.Cleared, Tenant: tenant})
}

// publishForgotten passes on what the identity service has forgotten: of a user, of
// a tenant, or with neither its keys.
func (a *App) publishForgotten(user, tenant string) {
	if user == "" && tenant == "" {
		a.fleet.publishNotice(cluster.Notice{Kind: cluster.Keys})
		return
	}
	if tenant != "" {
		a.gate.Forget(tenant)
		a.fleet.publishNotice(cluster.Notice{Kind: cluster.Members, Tenant: tenant})
		return
	}
	a.fleet.publishNotice(cluster.Notice{Kind: cluster.User, Names: []string{user}})
}

// readLimits reads the limits of a tenant whose plan is custom.
func (a *App) readLimits(ctx context.Context, tenant string) (ratelimit.Plan, error) {
	text := ""
	err := a.DB.Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		return tx.One("SELECT limits FROM tenants WHERE id = $1", []any{tenant}, func(r *db.Row) error {
			text = r.Text(0)
			return nil
		})
	})
	if err != nil {
		return ratelimit.Plan{}, fmt.Errorf("app: limits of %s: %w", tenant, err)
	}
	if text == "" || text == "null" {
		return ratelimit.Custom(nil)
	}
	return ratelimit.Parse(text)
}

// checkLimits refuses limits that no gate could read.
func checkLimits(_ *store.Tx, changes []store.Change) error {
	own := func(row store.Row) string {
		switch v := row["limits"].(type) {
		case string:
			return v
		case json.RawMessage:
			return string(v)
		}
		return ""
	}
	for _, c := range changes {
		text := own(c.After)
		if text == "" || text == "null" || text == own(c.Before) {
			continue
		}
		if _, err := ratelimit.Check(text); err != nil {
			return fault.Wrap(err, fault.Invalid, "22023",
				"limits must be an object of {minute, burst, ceiling} by category: api, webhook, read, write").
				At("limits", "%s", err)
		}
	}
	return nil
}

// tellLimited makes an event of a tenant's refused requests.
func (a *App) tellLimited(x access.Exceeded) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	scope := "caller"
	if x.State.Ceiling {
		scope = "tenant"
	}
	logFailure(ctx, "tell of exceeded limits", a.runGuarded("tell of exceeded limits", func(ctx context.Context) error {
		return a.Outbox.RateLimited(ctx, a.DB, x.Tenant, event.RateLimit{
			Category: x.Category.String(), Scope: scope, Limit: x.PerMinute,
			RetryAfter: fault.WaitSeconds(x.State.RetryAfter), ResetAt: x.State.Reset.UTC().Format(time.RFC3339),
		})
	}))
}

// leaveFleet tells what is still to be told and leaves the other nodes.
func (f *fleet) leaveFleet() {
	if b := f.bus.Load(); b != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			slog.Warn("other nodes were not told of the last changes", "error", err)
		}
	}
	if f.limits != nil {
		f.limits.Close()
	}
	if f.redis != nil {
		f.redis.Close()
	}
}

// degradedReason says what works less well than it should though requests are
// served; "" when nothing does.
func (f *fleet) degradedReason() string {
	if f.limits != nil && f.limits.Away() {
		return "Redis is away: every node allows its share of the rate limits"
	}
	return ""
}
