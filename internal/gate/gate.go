// Package gate is what every API request passes: who is asking, and how often
// that caller may ask. The counts are the interface's rolling windows.
package gate

import (
	"net/http"
	"strconv"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/limit"
	"holdfast/internal/web"
)

// Gate lets callers in.
type Gate struct {
	// Authenticate says who is asking; an error is fault.Unauthorized.
	Authenticate func(r *http.Request) (actor.Actor, error)
	// Limits counts requests and statements; nil switches limits off.
	Limits *limit.Limiter

	plans map[string]limit.Plan
}

// New returns a gate.
func New(auth func(*http.Request) (actor.Actor, error), l *limit.Limiter) *Gate {
	return &Gate{Authenticate: auth, Limits: l, plans: map[string]limit.Plan{
		"standard": limit.Standard(), "enterprise": limit.Enterprise(),
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

// Plan returns the caller's plan; an unknown one counts as standard.
func (g *Gate) Plan(a actor.Actor) limit.Plan {
	if p, ok := g.plans[a.Plan]; ok {
		return p
	}
	return g.plans["standard"]
}

// Key is what a caller is counted by: his tenant, else his address.
func Key(a actor.Actor, address string) string {
	if a.TenantID != "" {
		return a.TenantID
	}
	return web.AddressKey(address)
}

// Enter authenticates a request, counts it and writes the rate-limit headers.
// write says which of the database windows must have room.
func (g *Gate) Enter(w http.ResponseWriter, r *http.Request, write bool) (actor.Actor, error) {
	a, err := g.Authenticate(r)
	a.RequestID, a.Address = web.RequestID(r.Context()), web.ClientAddress(r)
	if lerr := g.count(w, a, write); lerr != nil {
		return a, lerr
	}
	return a, err
}

func (g *Gate) count(w http.ResponseWriter, a actor.Actor, write bool) error {
	if g.Limits == nil {
		return nil
	}
	key, plan := Key(a, a.Address), g.Plan(a)
	s := g.Limits.Take(key, limit.API, plan, 1)
	Headers(w, s)
	if !s.OK {
		return Refuse(s, "requests")
	}
	if a.TenantID == "" {
		return nil
	}
	category, what := limit.Read, "database reads"
	if write {
		category, what = limit.Write, "database writes"
	}
	if d := g.Limits.Peek(key, category, plan); !d.OK {
		Headers(w, d)
		return Refuse(d, what)
	}
	return nil
}

// TakeAuth counts an attempt to authenticate under each key and refuses it
// when any has none left. Keys are an address and a canonical account.
func (g *Gate) TakeAuth(w http.ResponseWriter, keys ...string) error {
	if g.Limits == nil {
		return nil
	}
	for _, k := range keys {
		s := g.Limits.Take(k, limit.Auth, g.plans["standard"], 1)
		Headers(w, s)
		if !s.OK {
			return Refuse(s, "sign-in requests")
		}
	}
	return nil
}

// maxStatements is the most one transaction counts: a bulk write is one wish,
// and must not lock its tenant out of the next minute.
const maxStatements = 10

// Statements counts what a transaction ran; it is the database's observer.
// The plan is checked when the next request enters, so any plan will do here.
func (g *Gate) Statements(s db.Scope, write bool, n int) {
	if g.Limits == nil || s.Tenant == "" || n == 0 {
		return
	}
	category := limit.Read
	if write {
		category = limit.Write
	}
	g.Limits.Add(s.Tenant, category, min(n, maxStatements))
}

// Headers writes the interface's four headers.
func Headers(w http.ResponseWriter, s limit.State) {
	h := w.Header()
	h["X-Ratelimit-Limit"] = []string{strconv.Itoa(s.Limit)}
	h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(s.Remaining)}
	h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(s.Reset.Unix(), 10)}
	h["X-Ratelimit-Used"] = []string{strconv.Itoa(s.Used)}
}

// Refuse is the fault of a caller who has to wait. Its Data is a Refusal.
func Refuse(s limit.State, what string) error {
	wait := s.RetryAfter
	if wait < time.Second {
		wait = time.Second
	}
	seconds := int(wait / time.Second)
	f := fault.New(fault.Limited, "rate_limit_exceeded", "Too many %s: wait %d seconds, then try again", what, seconds)
	f.RetryAfter = wait
	f.Data = Refusal{
		Error: "rate_limit_exceeded", Message: f.Msg, RetryAfter: seconds,
		Limit: s.Limit, Remaining: 0, ResetAt: s.Reset.UTC().Format(time.RFC3339),
	}
	return f
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

// TakeSession counts a request of a session, under the API category.
func (g *Gate) TakeSession(w http.ResponseWriter, a actor.Actor, address string) error {
	if g.Limits == nil {
		return nil
	}
	key := "session:" + a.SessionID
	if a.SessionID == "" {
		key = web.AddressKey(address)
	}
	s := g.Limits.Take(key, limit.API, g.Plan(a), 1)
	Headers(w, s)
	if !s.OK {
		return Refuse(s, "requests")
	}
	return nil
}
