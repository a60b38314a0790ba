// Package access is what every API request passes: who is asking, and how often
// that caller may ask. The counts are the interface's rolling windows.
//
// Layer: catalog and access. Begin at [New].
package access

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/ratelimit"
	"holdfast/internal/web"
)

// Gate lets callers in.
type Gate struct {
	// Authenticate says who is asking; an error is fault.Unauthorized.
	Authenticate func(r *http.Request) (actor.Actor, error)
	// Limits counts requests and statements; nil switches limits off.
	Limits ratelimit.Counter
	// Custom reads the limits of a tenant whose plan is custom; nil where there
	// are none.
	Custom func(ctx context.Context, tenant string) (ratelimit.Plan, error)
	// Exceeded hears, beside the request, that a caller or a tenant was refused: once a
	// minute for each category at most, in the whole fleet. May be nil.
	Exceeded func(Exceeded)
	// Known refuses a tenant id that nobody has: a service key names the tenant
	// it is for. nil takes any.
	Known func(ctx context.Context, tenant string) error

	plans   map[string]ratelimit.Plan
	attempt ratelimit.Plan // of it, one address' attempts to authenticate
	custom  cache.Memo[ratelimit.Plan]
	exists  cache.Memo[bool]
	told    cache.Memo[bool]
}

// Exceeded is what a caller or a whole tenant was refused.
type Exceeded struct {
	Tenant    string
	Category  ratelimit.Category
	PerMinute int             // what the plan allows the one that State speaks of
	State     ratelimit.State // Ceiling: the whole tenant
}

// New returns a gate; l may be nil.
func New(auth func(*http.Request) (actor.Actor, error), l ratelimit.Counter) *Gate {
	if m, ok := l.(*ratelimit.Limiter); ok && m == nil {
		l = nil
	}
	return &Gate{Authenticate: auth, Limits: l, attempt: ratelimit.Standard(), plans: map[string]ratelimit.Plan{
		"standard": ratelimit.Standard(), "enterprise": ratelimit.Enterprise(),
	}}
}

// Refusal is the interface's 429 body.
type Refusal struct {
	Error      string `json:"error"`
	Message    string `json:"message"`
	RetryAfter int    `json:"retry_after"`
	Limit      int    `json:"limit"`
	Remaining  int    `json:"remaining"`
	ResetAt    string `json:"reset_at"`
}

// How long a tenant's own limits are remembered, and how soon they are read
// again when that failed.
const (
	customTTL   = time.Minute
	customRetry = 2 * time.Second
	customRead  = time.Second
)

// existsTTL is how long it is remembered that there is a tenant.
const existsTTL = 5 * time.Second

// Exists refuses a tenant id that nobody has. A tenant that is there is not
// looked for with every request, so that a kept answer needs no database.
func (g *Gate) Exists(ctx context.Context, tenant string) error {
	if g.Known == nil {
		return nil
	}
	began := time.Now()
	if _, ok := g.exists.Get(tenant, began); ok {
		return nil
	}
	if err := g.Known(ctx, tenant); err != nil {
		return err
	}
	g.exists.PutSince(tenant, true, began, began.Add(existsTTL))
	return nil
}

// Plan returns the caller's plan; an unknown one counts as standard.
func (g *Gate) Plan(a actor.Actor) ratelimit.Plan {
	if p, ok := g.plans[a.Plan]; ok {
		return p
	}
	if a.Plan == "custom" && a.TenantID != "" && g.Custom != nil {
		return g.ownPlan(a.TenantID)
	}
	return g.plans["standard"]
}

func (g *Gate) ownPlan(tenant string) ratelimit.Plan {
	if p, ok := g.custom.Get(tenant, time.Now()); ok {
		return p
	}
	ctx, cancel := context.WithTimeout(context.Background(), customRead)
	defer cancel()
	p, err := g.Custom(ctx, tenant)
	life := customTTL
	if err != nil {
		slog.Warn("a tenant's own limits cannot be read; it has the standard ones", "tenant", tenant, "error", err)
		p, life = g.plans["standard"], customRetry
	}
	g.custom.Put(tenant, p, time.Now().Add(life))
	return p
}

// Forget makes the next request read a tenant's own limits anew; "" those of
// all tenants.
func (g *Gate) Forget(tenant string) { g.custom.Forget(tenant) }

// serviceKey is the caller that a service key is counted as.
const serviceKey = "service"

// callerOf is who of a tenant is counted: a person, or the account of a key.
func callerOf(tenant, user string) ratelimit.Caller {
	if user == "" {
		user = serviceKey
	}
	return ratelimit.Caller{Tenant: tenant, Name: user}
}

// Room is what a caller has left of a category. Without a tenant it is what the
// caller's address has left.
func (g *Gate) Room(a actor.Actor, c ratelimit.Category) ratelimit.State {
	plan := g.Plan(a)
	if g.Limits == nil {
		return unusedState(plan.Rule(c))
	}
	if a.TenantID == "" {
		return g.Limits.Peek(web.AddressKey(a.Address), c, plan)
	}
	return g.Limits.Room(callerOf(a.TenantID, a.UserID), c, plan)
}

// RoomOfTenant is what all of a caller's tenant together have left of a category.
func (g *Gate) RoomOfTenant(a actor.Actor, c ratelimit.Category) ratelimit.State {
	plan := g.Plan(a)
	plan = plan.With(c, plan.Ceiling(c))
	if g.Limits == nil {
		return unusedState(plan.Rule(c))
	}
	return g.Limits.Peek(a.TenantID, c, plan)
}

// Enter authenticates a request, counts it and writes the rate-limit headers.
// write says which of the database windows must have room.
func (g *Gate) Enter(w http.ResponseWriter, r *http.Request, write bool) (actor.Actor, error) {
	a, err := g.Authenticate(r)
	a.RequestID, a.Address = web.RequestID(r.Context()), web.ClientAddress(r)
	if lerr := g.countUnits(w, a, categoryOf(r), write); lerr != nil {
		return a, lerr
	}
	if err == nil {
		err = inScope(a.Scope, r)
	}
	return a, err
}

// Count counts a request that nothing is done for, such as one for a path that is
// not served: of the caller whom it shows, else of its address.
func (g *Gate) Count(w http.ResponseWriter, r *http.Request) error {
	a, err := g.Authenticate(r)
	if err != nil {
		a = actor.Actor{Role: actor.Anon}
	}
	a.Address = web.ClientAddress(r)
	return g.countUnits(w, a, categoryOf(r), false)
}

// categoryOf is what a request counts as: webhook endpoints have windows of
// their own, all else is the API.
func categoryOf(r *http.Request) ratelimit.Category {
	for _, prefix := range []string{"/v1/webhooks", "/rest/v1/webhooks"} {
		if rest, ok := strings.CutPrefix(r.URL.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			return ratelimit.Webhook
		}
	}
	return ratelimit.API
}

func (g *Gate) countUnits(w http.ResponseWriter, a actor.Actor, c ratelimit.Category, write bool) error {
	plan := g.Plan(a)
	if g.Limits == nil {
		Headers(w, unusedState(plan.Rule(c)))
		return nil
	}
	if a.TenantID == "" {
		s := g.Limits.Take(web.AddressKey(a.Address), c, plan, 1)
		return g.writeAndRefuse(w, Exceeded{Category: c, State: s})
	}

	next := ratelimit.Read
	if write {
		next = ratelimit.Write
	}
	s, room := g.Limits.Pass(callerOf(a.TenantID, a.UserID), c, next, plan)
	if s.OK && !room.OK {
		c, s = next, room
	}
	rule := plan.Rule(c)
	if s.Ceiling {
		rule = plan.Ceiling(c)
	}
	return g.writeAndRefuse(w, Exceeded{Tenant: a.TenantID, Category: c, PerMinute: rule.Minute, State: s})
}

// unitName is what a refusal calls the units of a category.
func unitName(c ratelimit.Category) string {
	switch c {
	case ratelimit.Auth:
		return "sign-in requests"
	case ratelimit.Webhook:
		return "webhook requests"
	case ratelimit.Read:
		return "database reads"
	case ratelimit.Write:
		return "database writes"
	}
	return "requests"
}

// writeAndRefuse writes the headers and turns a refusal into its fault, of which the
// tenant is told.
func (g *Gate) writeAndRefuse(w http.ResponseWriter, x Exceeded) error {
	Headers(w, x.State)
	if x.State.OK {
		return nil
	}
	g.reportExceeded(x)
	if x.State.Ceiling {
		return Refuse(x.State, unitName(x.Category)+" of your whole organisation")
	}
	return Refuse(x.State, unitName(x.Category))
}

// tellEvery is how often a tenant is told that it is over a limit.
const tellEvery = time.Minute

func (g *Gate) reportExceeded(x Exceeded) {
	if g.Exceeded == nil || x.Tenant == "" {
		return
	}
	key := x.Tenant + " " + x.Category.String()
	if x.State.Ceiling {
		key += " ceiling"
	}
	if _, lately := g.told.Get(key, time.Now()); lately {
		return
	}
	g.told.Put(key, true, time.Now().Add(tellEvery))
	go func() {
		defer func() {
			if p := recover(); p != nil {
				slog.Error("telling of a limit panicked", "tenant", x.Tenant, "panic", p, "stack", string(debug.Stack()))
			}
		}()
		fleet, ok := g.Limits.(interface {
			Once(key string, d time.Duration) bool
		})
		if !ok || fleet.Once("told:"+key, tellEvery) {
			g.Exceeded(x)
		}
	}()
}

// Look is Enter for a caller who asks what is left. It must be answered to the
// one who has nothing left, so it is not counted with the others; yet not for
// nothing: such questions have a window of their own, as wide as the API's. The
// headers tell of the API's.
func (g *Gate) Look(w http.ResponseWriter, r *http.Request) (actor.Actor, error) {
	a, err := g.Authenticate(r)
	a.RequestID, a.Address = web.RequestID(r.Context()), web.ClientAddress(r)
	if g.Limits == nil {
		Headers(w, g.Room(a, ratelimit.API))
		return a, err
	}
	if err != nil || a.Anonymous() {
		if lerr := g.countUnits(w, a, ratelimit.API, false); lerr != nil {
			return a, lerr
		}
		return a, err
	}
	if s := g.Limits.Take(questionsOf(a), ratelimit.API, g.Plan(a), 1); !s.OK {
		Headers(w, s)
		return a, Refuse(s, "questions for the rate limits")
	}
	Headers(w, g.Room(a, ratelimit.API))
	return a, nil
}

// questionsOf names the window of a caller's questions for what is left.
func questionsOf(a actor.Actor) string {
	if a.TenantID == "" {
		return "status:" + web.AddressKey(a.Address)
	}
	who := callerOf(a.TenantID, a.UserID)
	return "status:" + who.Tenant + ":" + who.Name
}

// maxStatements is the most one transaction counts: a bulk write is one wish,
// and must not lock its caller out of the next minute.
const maxStatements = 10

// Statements counts what a transaction ran, of its user and of its tenant; it is the
// database's observer. The plan is checked when the next request enters.
func (g *Gate) Statements(s db.Scope, write bool, n int) {
	if g.Limits == nil || s.Tenant == "" || n == 0 {
		return
	}
	category := ratelimit.Read
	if write {
		category = ratelimit.Write
	}
	g.Limits.Spend(callerOf(s.Tenant, s.User), category, min(n, maxStatements))
}

// CountRequest counts one unit of the caller's database window for a wish whose
// transactions are not counted (db.Counted).
func (g *Gate) CountRequest(a actor.Actor, write bool) {
	g.Statements(db.Scope{Tenant: a.TenantID, User: a.UserID}, write, 1)
}

// Headers writes the interface's four headers.
func Headers(w http.ResponseWriter, s ratelimit.State) {
	h := w.Header()
	h["X-Ratelimit-Limit"] = []string{strconv.Itoa(s.Limit)}
	h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(s.Remaining)}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(s.Reset.Unix(), 10)}
	h["X-Ratelimit-Used"] = []string{strconv.Itoa(s.Used)}
}

// IsCounted reports an answer that already says what is left.
func IsCounted(w http.ResponseWriter) bool { return len(w.Header()["X-Ratelimit-Limit"]) > 0 }

// Refuse is the fault of a caller who has to wait. Its Data is a Refusal.
func Refuse(s ratelimit.State, what string) error {
	f := fault.New(fault.Limited, "rate_limit_exceeded", "Too many %s: wait %d seconds, then try again",
		what, fault.WaitSeconds(s.RetryAfter))
	f.RetryAfter = max(s.RetryAfter, time.Second)
	Explain(f, s.Limit, s.Reset)
	return f
}

// Explain gives a refusal the interface's members: how much was allowed, and from
// when the refused call passes. Its RetryAfter is set.
func Explain(f *fault.Error, most int, reset time.Time) {
	f.Data = Refusal{Error: "rate_limit_exceeded", Message: f.Msg, RetryAfter: fault.WaitSeconds(f.RetryAfter),
		Limit: most, ResetAt: reset.UTC().Format(time.RFC3339)}
}

// Guard lets callers through to next with their actor attached (web.Actor).
func (g *Gate) Guard(shape web.Shape, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		a, err := g.Enter(w, r, r.Method != http.MethodGet && r.Method != http.MethodHead)
		web.Note(w, r.Pattern, a.TenantID, a.UserID, a.KeyID)
		if err != nil {
			web.Fail(w, r, shape, err)
			return
		}
		next.ServeHTTP(w, web.WithActor(r, a))
	})
}
