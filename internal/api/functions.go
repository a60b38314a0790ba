package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/api/route"
	"holdfast/internal/cache"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/functions/output"
	"holdfast/internal/idempotency"
	"holdfast/internal/trace"
	"holdfast/internal/web"
)

// functionBody bounds a function's request body.
const functionBody = 1 << 20

// Functions serves the interface's edge functions under /functions/v1.
type Functions struct {
	gate  *access.Gate
	cache *cache.Cache
	keys  *idempotency.Keys
	list  []functions.Function
	named map[string]*functions.Function
	reads map[string][]string // collection -> functions whose answer it changes

	inputs cache.Memo[string] // query -> input in canonical form
}

// NewFunctions serves list; answers of functions with a TTL are kept in c,
// those of functions that change something by keys; nil where there are none.
func NewFunctions(g *access.Gate, c *cache.Cache, keys *idempotency.Keys, list []functions.Function) *Functions {
	f := &Functions{gate: g, cache: c, keys: keys, list: list, named: map[string]*functions.Function{},
		reads: map[string][]string{}}
	for i := range list {
		fn := &list[i]
		f.named[fn.Name] = fn
		if fn.Alias != "" {
			f.named[fn.Alias] = fn
		}
		for _, r := range fn.Reads {
			f.reads[r] = append(f.reads[r], fn.Name)
		}
	}
	return f
}

// Concern returns those of the collections that kept answers depend on.
func (f *Functions) Concern(collections []string) []string {
	var out []string
	for _, c := range collections {
		if len(f.reads[c]) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// Changed forgets the tenant's kept answers that these collections go into, and what those
// were made of.
func (f *Functions) Changed(tenant string, collections []string) {
	for _, c := range collections {
		for _, name := range f.reads[c] {
			if fn := f.named[name]; fn.Changed != nil {
				fn.Changed(tenant)
			}
		}
		if names := f.reads[c]; len(names) > 0 {
			f.cache.Clear(tenant, names...)
		}
	}
}

// Forget drops all that is kept of a tenant, answers and what they were made
// of; "" means of all tenants.
func (f *Functions) Forget(tenant string) {
	for _, fn := range f.list {
		if fn.Forget != nil {
			fn.Forget(tenant)
		}
	}
	if tenant == "" {
		f.cache.ClearAll()
		return
	}
	f.cache.ClearTenant(tenant)
}

// runTraced runs a function as a step of what the context traces.
func runTraced(ctx context.Context, fn *functions.Function, a actor.Actor, in any) (any, error) {
	ctx, span := trace.Begin(db.OnBehalf(ctx, a.UserID), "function", fn.Name)
	out, err := fn.Run(ctx, a, in)
	span.End(err)
	return out, err
}

// Serve serves {name} of the request's path.
func (f *Functions) Serve(w http.ResponseWriter, c *route.Call) error {
	return f.serveFunction(w, c.Request)
}

// serveFunction keeps the interface's order: 405, 401, 403, then the parameters.
func (f *Functions) serveFunction(w http.ResponseWriter, r *http.Request) error {
	fn := f.named[r.PathValue("name")]
	if fn == nil {
		return fault.New(fault.NotFound, "", "no function is called %q", r.PathValue("name"))
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", web.Allow(fn.Methods))
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if !slices.Contains(fn.Methods, r.Method) && !(r.Method == http.MethodHead &&
		slices.Contains(fn.Methods, http.MethodGet)) {
		w.Header().Set("Allow", web.Allow(fn.Methods))
		return fault.New(fault.BadMethod, "", "%s is not served by %s; use %s", r.Method, fn.Name,
			strings.Join(fn.Methods, " or "))
	}
	a, err := f.gate.Enter(w, r, fn.Writes)
	web.Note(w, "/functions/v1/"+fn.Name, a.TenantID, a.UserID, a.KeyID)
	if err != nil {
		return err
	}
	return f.callFunction(w, r, fn, a)
}

func (f *Functions) callFunction(w http.ResponseWriter, r *http.Request, fn *functions.Function, a actor.Actor) error {
	if a.Anonymous() {
		return fault.New(fault.Unauthorized, "", "sign in: this function needs a user's access token or a service key")
	}
	if a.Role != actor.Service {
		if err := checkRole(fn, a); err != nil {
			return err
		}
	}
	if !fn.Imports {
		a.Scope = nil // the function looks at what it needs, by the role
	}
	if b := f.readyAnswer(r, fn, a); b != nil {
		return writeKept(w, r, b, true)
	}
	p, err := readParameters(w, r)
	if err != nil {
		return err
	}
	if a.Role == actor.Service {
		if a.TenantID, err = p.namedTenant(r.Context(), f.gate); err != nil {
			return err
		}
	}
	in, err := p.bindInput(fn, a)
	if err != nil {
		return err
	}
	if fn.Patience > 0 {
		extendDeadlines(w, time.Now().Add(fn.Patience))
		r = r.WithContext(db.Patient(r.Context(), fn.Patience))
	}
	if fn.TTL == 0 {
		return f.runFunction(w, r, fn, a, in)
	}
	if wordOnly(r, a) {
		f.inputs.Put(fn.Name+"?"+r.URL.RawQuery, functions.Canonical(in), time.Now().Add(inputKept))
	}
	return f.serveCached(w, r, fn, a, in)
}

// encodeBodies are an answer as it was made and as it is sent when it is kept.
func encodeBodies(out any) (cache.Answer, error) {
	miss, err := output.Encode(out)
	if err != nil || !output.Keep(out) {
		return cache.Answer{Miss: miss, Hit: miss}, err
	}
	hit, err := output.Encode(out)
	return cache.Answer{Miss: miss, Hit: hit}, err
}

// inputKept is how long the reading of a query is remembered.
const inputKept = time.Minute

// wordOnly reports a request whose input is its query alone.
func wordOnly(r *http.Request, a actor.Actor) bool {
	return r.Method == http.MethodGet && a.Role != actor.Service && len(r.URL.RawQuery) < 256 && r.ContentLength == 0
}

// readyAnswer is the kept answer for a query that was read and accepted a moment ago,
// or nil.
func (f *Functions) readyAnswer(r *http.Request, fn *functions.Function, a actor.Actor) *cache.Body {
	if fn.TTL == 0 || !wordOnly(r, a) || bypassesCache(r) {
		return nil
	}
	params, ok := f.inputs.Get(fn.Name+"?"+r.URL.RawQuery, time.Now())
	if !ok {
		return nil
	}
	b, hit := f.cache.Get(keyOf(fn, a, params))
	if !hit {
		return nil
	}
	return b
}

func keyOf(fn *functions.Function, a actor.Actor, params string) cache.Key {
	return cache.Key{Tenant: a.TenantID, Function: fn.Name, Role: string(a.Role), User: fn.User(a), Params: params}
}

// runFunction answers from the function itself. Functions that change something find
// what they did before, so that one that is run again does nothing twice: their
// answers are kept after their effects.
func (f *Functions) runFunction(
	w http.ResponseWriter, r *http.Request, fn *functions.Function, a actor.Actor, in any,
) error {
	do := func(w http.ResponseWriter, _ *idempotency.Claim) error {
		out, err := runTraced(r.Context(), fn, a, in)
		if err != nil {
			return err
		}
		if fn.Streamed {
			return sendEncoded(w, r, out)
		}
		body, err := output.Encode(out)
		if err != nil {
			return err
		}
		return writeJSON(w, r, body, nil)
	}
	if !fn.Writes {
		return do(w, nil)
	}
	return serveIdempotent(f.keys, w, request{r, a, functions.Canonical(in)}, do)
}

// extendDeadlines lets an answer come as late as until. The reading side waits along:
// what ends there counts as the client's hanging up.
func extendDeadlines(w http.ResponseWriter, until time.Time) {
	c := http.NewResponseController(w)
	_ = errors.Join(c.SetWriteDeadline(until), c.SetReadDeadline(until)) // without a connection there is no deadline
}

func checkRole(fn *functions.Function, a actor.Actor) error {
	if a.TenantID == "" {
		return fault.New(fault.Forbidden, "", "you are not a member of a tenant; ask an administrator for an invitation")
	}
	if a.Suspended && fn.Writes {
		return fault.New(fault.Forbidden, "", "the tenant is suspended: nothing can be changed")
	}
	if !a.Scope.Calls(fn.Name) {
		return fault.New(fault.Forbidden, "", "this key has no scope functions:%s", fn.Name)
	}
	if a.Role == actor.Client || len(fn.Roles) > 0 && !slices.Contains(fn.Roles, a.Role) {
		return fault.New(fault.Forbidden, "", "the role %s may not call %s", a.Role, fn.Name)
	}
	return nil
}

// serveCached answers from ready bytes. Looked up after authorisation; the key
// holds everything the answer depends on.
func (f *Functions) serveCached(
	w http.ResponseWriter, r *http.Request, fn *functions.Function, a actor.Actor, in any,
) error {
	k := keyOf(fn, a, functions.Canonical(in))
	build := func(ctx context.Context) (cache.Answer, error) {
		out, err := runTraced(ctx, fn, a, in)
		if err != nil {
			return cache.Answer{}, err
		}
		return encodeBodies(out)
	}
	if bypassesCache(r) {
		b, err := f.cache.Refresh(r.Context(), k, fn.TTL, func(ctx context.Context) (cache.Answer, error) {
			if fn.Forget != nil && !fn.Dated {
				fn.Forget(a.TenantID)
			}
			return build(ctx)
		})
		if err != nil {
			return err
		}
		return writeKept(w, r, b, false)
	}
	b, hit := f.cache.Get(k)
	if !hit {
		var err error
		if b, hit, err = f.cache.Fill(r.Context(), k, fn.TTL, build); err != nil {
			return err
		}
	}
	return writeKept(w, r, b, hit)
}

// bypassesCache reports that the caller wants no kept answer (RFC 9111 section
// 5.2.1.4).
func bypassesCache(r *http.Request) bool {
	for _, v := range r.Header["Cache-Control"] {
		for d := range strings.SplitSeq(v, ",") {
			if name, _, _ := strings.Cut(strings.TrimSpace(d), "="); strings.EqualFold(name, "no-cache") {
				return true
			}
		}
	}
	return false
}

var (
	miss       = []string{"MISS"}
	hitValue   = []string{"HIT"}
	private    = []string{"private, no-cache"}
	vary       = []string{"Accept-Encoding, Authorization"}
	jsonType   = []string{"application/json; charset=utf-8"}
	gzipCoding = []string{"gzip"}
)

// writeKept sends an answer from the cache, or one that went there; 304 to a
// client that has it.
func writeKept(w http.ResponseWriter, r *http.Request, b *cache.Body, hit bool) error {
	h := w.Header()
	h["X-Cache"] = miss
	zipped := (func() []byte)(nil)
	if hit {
		h["X-Cache"] = hitValue
		h["Age"] = []string{strconv.Itoa(int(max(time.Since(b.Made()), 0) / time.Second))}
		zipped = b.Gzip
	}
	h["Etag"] = b.Tag()
	if web.HasTag(r.Header["If-None-Match"], b.Tag()[0]) && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		h["Cache-Control"] = private
		h["Vary"] = append(h["Vary"], vary...)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeJSON(w, r, b.Plain(), zipped)
}

// sendEncoded sends an answer while it is made.
func sendEncoded(w http.ResponseWriter, r *http.Request, out any) error {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Cache-Control"] = private
	h["Vary"] = append(h["Vary"], vary...)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if err := output.Write(w, out); err != nil {
		return fmt.Errorf("api: write answer: %w", err)
	}
	return nil
}

// writeJSON sends ready bytes, in their ready gzip form where the caller takes it.
func writeJSON(w http.ResponseWriter, r *http.Request, body []byte, zipped func() []byte) error {
	return writeAs(w, r, jsonType, body, zipped)
}

func writeAs(w http.ResponseWriter, r *http.Request, kind []string, body []byte, zipped func() []byte) error {
	h := w.Header()
	h["Content-Type"] = kind
	h["Cache-Control"] = private
	h["Vary"] = append(h["Vary"], vary...)
	if zipped != nil && web.TakesGzip(r) {
		if z := zipped(); z != nil {
			h["Content-Encoding"] = gzipCoding
			body = z
		}
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(body)
	if err != nil {
		return fmt.Errorf("api: write answer: %w", err)
	}
	return nil
}

// params are a function's inputs: the query of a GET, the body of a POST.
type params struct {
	query map[string][]string
	body  map[string]json.RawMessage
	sent  []byte // the body as it came
}

// readParameters reads those of a function. A text is read as JSON too: that is what
// supabase-js calls a body that was written for it.
func readParameters(w http.ResponseWriter, r *http.Request) (params, error) {
	return readParams(w, r, functionBody, "text/plain")
}

// readParams reads the query, and a body that is JSON or says that it is of one of
// the other types.
func readParams(w http.ResponseWriter, r *http.Request, limit int64, others ...string) (params, error) {
	p := params{}
	var err error
	if p.query, err = route.Query(r.URL.RawQuery); err != nil {
		return p, err
	}
	if r.ContentLength == 0 {
		return p, nil
	}
	b, err := web.ReadBody(w, r, limit)
	p.sent = b
	if err != nil || len(strings.TrimSpace(string(b))) == 0 {
		return p, err
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return p, fault.New(fault.Invalid, "", "%s takes its parameters in the query, not in a body", r.Method).
			At("body", "is not read with %s", r.Method)
	}
	if err := web.JSONType(r, others...); err != nil {
		return p, err
	}
	if err := web.Unmarshal(b, &p.body); err != nil {
		return p, err
	}
	return p, nil
}

// bindInput reads a function's input, and refuses what the function does not read.
func (p params) bindInput(fn *functions.Function, a actor.Actor) (any, error) {
	if err := fn.CheckNames(p.query, p.body); err != nil {
		return nil, err
	}
	if err := p.checkTenant(a); err != nil {
		return nil, err
	}
	return fn.Bind(p.queryValues, p.body)
}

// tenantParameter names the tenant of a call.
const tenantParameter = "tenant_id"

// checkTenant refuses a tenant_id that is not the tenant of the call: a member's
// token names it.
func (p params) checkTenant(a actor.Actor) error {
	named := slices.Clone(p.queryValues(tenantParameter))
	if raw, ok := p.body[tenantParameter]; ok && string(raw) != "null" {
		var id string
		if json.Unmarshal(raw, &id) != nil {
			return fault.New(fault.Invalid, "", "tenant_id must be a UUID").At("tenant_id", "must be a UUID")
		}
		named = append(named, id)
	}
	for _, id := range named {
		if !strings.EqualFold(id, a.TenantID) {
			return fault.New(fault.Invalid, "", "tenant_id is not the tenant of this call").
				At(tenantParameter, "is not the one of the token, or given twice")
		}
	}
	return nil
}

func (p params) queryValues(name string) []string { return p.query[name] }

// namedTenant reads the tenant a service key must name.
func (p params) namedTenant(ctx context.Context, g *access.Gate) (string, error) {
	var id string
	if raw, ok := p.body[tenantParameter]; ok {
		if err := json.Unmarshal(raw, &id); err != nil {
			id = ""
		}
	} else if v := p.queryValues(tenantParameter); len(v) == 1 {
		id = v[0]
	}
	return route.Tenant(ctx, g, id)
}
