package api

import (
	"context"
	"net/http"
	"time"

	"holdfast/internal/api/route"
	"holdfast/internal/cache"
	"holdfast/internal/fault"
	"holdfast/internal/web"
)

// BackgroundJob is work that is done outside requests. What went wrong in it is
// in the server's log alone: a driver's or a mail server's words name places.
type BackgroundJob struct {
	Kind   string     `json:"kind"`
	Doc    string     `json:"doc" doc:"What jobs of this kind do."`
	Key    string     `json:"key" doc:"Names it among those of its kind."`
	Whose  string     `json:"whose" enum:"tenant,server" doc:"The tenant's own, or the server's for all."`
	Status string     `json:"status" enum:"pending,running,done,failed" doc:"failed: given up."`
	Tries  int64      `json:"tries" doc:"How often it was begun."`
	Made   time.Time  `json:"made_at"`
	Due    time.Time  `json:"due_at" doc:"Not done before."`
	Done   *time.Time `json:"done_at"`
}

// BackgroundJobs is a list of work, the earliest due first.
type BackgroundJobs struct {
	Jobs []BackgroundJob `json:"jobs" doc:"At most 200 of the tenant and 200 of the server."`
}

// DueJobs is how many jobs were made due.
type DueJobs struct {
	Due int64 `json:"due"`
}

// ChainVerdict is what a look at each row of a tenant's audit log found.
type ChainVerdict struct {
	Whole     bool         `json:"whole" doc:"No row was changed, removed or put in."`
	Rows      int64        `json:"rows" doc:"Rows that a seal of the chain holds."`
	Waiting   int64        `json:"waiting" doc:"Rows that are not sealed yet."`
	Head      string       `json:"head" doc:"Hash of the newest seal: kept elsewhere, it tells later whether the whole was set back."`
	SealedAt  *time.Time   `json:"sealed_at"`
	Breaks    []ChainBreak `json:"breaks" doc:"At most 20."`
	CheckedAt time.Time    `json:"checked_at" doc:"Kept for a minute."`
}

// ChainBreak is a place where the log is not as it was written.
type ChainBreak struct {
	No  int64  `json:"no" doc:"Number of the seal; 0 = the row is in none."`
	ID  string `json:"id" doc:"The row, where there is one."`
	Why string `json:"why"`
}

// LimitRefusal is a minute in which requests were refused because a caller or the whole
// tenant was over a limit.
type LimitRefusal struct {
	At         time.Time `json:"at"`
	Category   string    `json:"category" enum:"api,auth,webhook,read,write"`
	Scope      string    `json:"scope" enum:"caller,tenant" doc:"caller (one person or key) or tenant (all)."`
	Limit      int       `json:"limit" doc:"Units per minute."`
	RetryAfter int       `json:"retry_after" doc:"Seconds."`
}

// LimitRefusals is the history of refusals, newest first.
type LimitRefusals struct {
	Refusals []LimitRefusal `json:"refusals" doc:"At most 200, of the last seven days; a minute of each scope once."`
}

// Operation is what administrators may know of the server's work for their
// tenant, and hurry.
type Operation struct {
	Jobs     func(ctx context.Context, tenant, status string) ([]BackgroundJob, error)
	Retry    func(ctx context.Context, tenant, kind, key string) (int64, error)
	Chain    func(ctx context.Context, tenant string) (ChainVerdict, error)
	Refusals func(ctx context.Context, tenant string) ([]LimitRefusal, error)
	Now      func() time.Time

	verdicts cache.Memo[ChainVerdict] // by tenant: each costs a look at every row
}

const verdictKept = time.Minute

// Routes are those of Operation.
func (o *Operation) Routes() []route.Route {
	list := []route.Route{
		{Method: "GET", Pattern: "/v1/jobs", Handle: o.listJobs, Out: BackgroundJobs{}, Tag: "operation",
			Query: map[string]string{"status": "string"},
			Doc:   "Work outside requests: the tenant's own, and the server's schedule (administrators)"},
		{Method: "POST", Pattern: "/v1/jobs/retry", Handle: o.retryJob, Out: DueJobs{}, Tag: "operation",
			Body: map[string]string{"kind": "string", "key": "string"},
			Doc:  "Make the tenant's jobs that wait or were given up due at once: of a kind, or the one named by key (administrators)"},
		{Method: "GET", Pattern: "/v1/audit-chain", Handle: o.showChain, Out: ChainVerdict{}, Tag: "operation",
			Doc: "Whether the tenant's audit log is as it was written (administrators)"},
		{Method: "GET", Pattern: "/v1/rate-limit/refusals", Handle: o.listRefusals, Out: LimitRefusals{}, Tag: "limits",
			Question: true,
			Doc:      "When a caller or the tenant was over a limit; answered when nothing is left, too (administrators)"},
	}
	for i := range list {
		list[i].Who, list[i].Handle = route.TenantMember, forAdministrators(list[i].Handle)
	}
	return list
}

// forAdministrators hands on to h who administers the tenant: people and the service
// key, for no key of a tenant has a scope for this.
func forAdministrators(h route.Handle) route.Handle {
	return func(w http.ResponseWriter, c *route.Call) error {
		if !c.Actor.Administrator() || c.Actor.Scope != nil {
			return fault.New(fault.Forbidden, "42501", "only administrators may ask how the server works for the tenant")
		}
		return h(w, c)
	}
}

func (o *Operation) listJobs(w http.ResponseWriter, c *route.Call) error {
	status := ""
	if given := c.Query["status"]; len(given) > 0 {
		switch status = given[0]; status {
		case "pending", "running", "done", "failed":
		default:
			return fault.New(fault.Invalid, "22023", "status: pending, running, done or failed").At("status",
				"is no state of a job")
		}
	}
	jobs, err := o.Jobs(c.Context(), c.Actor.TenantID, status)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, BackgroundJobs{jobs})
}

func (o *Operation) retryJob(w http.ResponseWriter, c *route.Call) error {
	var in struct {
		Kind string `json:"kind"`
		Key  string `json:"key"`
	}
	if err := web.DecodeExact(c.Request, functionBody, &in); err != nil {
		return err
	}
	if in.Kind == "" {
		return fault.New(fault.Invalid, "22023", "kind is required").At("kind", "is required")
	}
	n, err := o.Retry(c.Context(), c.Actor.TenantID, in.Kind, in.Key)
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.NotFound, "", "no such job of the tenant waits or was given up")
	}
	return web.JSON(w, http.StatusOK, DueJobs{n})
}

func (o *Operation) showChain(w http.ResponseWriter, c *route.Call) error {
	now := o.Now()
	v, ok := o.verdicts.Get(c.Actor.TenantID, now)
	if !ok {
		var err error
		if v, err = o.Chain(c.Context(), c.Actor.TenantID); err != nil {
			return err
		}
		v.CheckedAt = now.UTC()
		o.verdicts.Put(c.Actor.TenantID, v, now.Add(verdictKept))
	}
	return web.JSON(w, http.StatusOK, v)
}

// listRefusals takes nothing from the limits: whoever is over one asks this first.
func (o *Operation) listRefusals(w http.ResponseWriter, c *route.Call) error {
	list, err := o.Refusals(c.Context(), c.Actor.TenantID)
	if err != nil {
		return err
	}
	return web.JSON(w, http.StatusOK, LimitRefusals{list})
}
