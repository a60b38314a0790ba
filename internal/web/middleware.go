package web

import (
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"holdfast/internal/fault"
	"holdfast/internal/trace"
)

// Front is what stands before every route.
type Front struct {
	Proxies []netip.Prefix // whose X-Forwarded-For and -Proto count
	Origins []string       // CORS; "*" admits any origin, without credentials
	Log     *slog.Logger   // one line per request; nil = none
	HTTPS   bool           // the public URL is https
	Observe Observer       // may be nil
	Shape   Shape          // of what is refused here
	Leaving *atomic.Bool   // set when the server stops: answers end their connection; may be nil
	Pace    *MinBodyRate   // of bodies; nil = 8 KB a second after 10 s, half an hour in all
	Trace   *trace.Tracer  // begins a trace with each request; nil = none
	// AuditHook gets, before the answer leaves, what an audit log keeps: a
	// known caller was refused (403), or was given records as a file. May be nil.
	AuditHook func(context.Context, AuditedRequest)
	// Used is told of every request that was made with an API key. May be nil.
	Used func(AuditedRequest)
}

func (f *Front) bodyPace() MinBodyRate {
	if f.Pace != nil {
		return *f.Pace
	}
	return standardPace()
}

// An Observer is told of every request.
type Observer interface {
	Began()
	Ended(Seen)
}

// Seen is what became of a request. Route is a pattern, "" where nothing is
// served; Cache is the answer's X-Cache.
type Seen struct {
	Route, Method, Cache string
	Status               int
	Took                 time.Duration
	Panicked             bool
}

// Handler wraps next with request ids, security headers, CORS and the log.
func (f *Front) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &recorder{ResponseWriter: w, leaving: f.Leaving, packs: mayPack(r)}
		if f.Observe != nil {
			f.Observe.Began()
			defer func() { f.Observe.Ended(rec.seenRequest(r.Method, start)) }() // also of a request that is cut off
		}
		r = identifyRequest(rec, r, f.Proxies)
		h := w.Header()
		h["X-Content-Type-Options"] = noSniff
		h["Referrer-Policy"] = noReferrer
		if len(r.TransferEncoding) > 0 {
			// Its length may have been given too, which net/http drops. Whoever goes
			// by that sees another end of the request (RFC 9112, 6.1).
			h["Connection"] = closing
		}
		if f.HTTPS {
			h["Strict-Transport-Security"] = hsts
		}
		if f.answerCORS(rec, r) {
			return
		}
		if f.Trace != nil {
			var end func()
			r, end = f.beginSpan(rec, r)
			defer end() // also of a request that is cut off
		}
		paceBody(rec, r, f.bodyPace())
		next.ServeHTTP(rec, r)
		rec.endPacking()
		f.reportAudited(rec, r)
		f.logRequest(rec, r, start)
	})
}

// beginSpan begins the request's span. A trusted proxy may say which trace it is
// of; from anybody else the headers are ignored, or a stranger could have all
// that he asks recorded.
func (f *Front) beginSpan(rec *recorder, r *http.Request) (*http.Request, func()) {
	var parent, state string
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && isTrusted(peer.Addr(), f.Proxies) {
		parent, state = r.Header.Get("Traceparent"), r.Header.Get("Tracestate")
	}
	ctx, span := f.Trace.Request(r.Context(), parent, state)
	return r.WithContext(ctx), func() {
		if span.On() {
			span.Name(strings.TrimSpace(clipText(r.Method, 10) + " " + rec.route))
			span.Text("http.request.method", clipText(r.Method, 10))
			span.Text("http.route", rec.route)
			span.Number("http.response.status_code", rec.status)
			if !isUnsigned(ctx) {
				span.Text("holdfast.request_id", RequestID(ctx))
			}
		}
		if rec.status >= http.StatusInternalServerError || rec.panicked {
			span.Failed()
		}
		span.End(nil)
	}
}

var (
	noSniff    = []string{"nosniff"}
	closing    = []string{"close"}
	noReferrer = []string{"no-referrer"}
	hsts       = []string{"max-age=31536000"}
)

const (
	// allowHeaders are named to a preflight that asks for none.
	allowHeaders = "authorization, apikey, content-type, x-client-info, x-supabase-api-version, x-retry-count, accept-profile, " +
		"content-profile, prefer, range, x-region, x-request-id, idempotency-key, if-match, if-none-match, cache-control"
	// exposeHeaders are what a page of another origin may read, beside those that
	// it always may (Fetch, "CORS-safelisted response-header name").
	exposeHeaders = "X-Total-Count, Link, X-Supabase-Api-Version, X-Cache, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, " +
		"X-RateLimit-Used, Retry-After, Content-Range, Location, Preference-Applied, X-Request-Id, ETag, Age, " +
		"Idempotent-Replayed, Proxy-Status, WWW-Authenticate, Server-Timing, Content-Disposition, Content-Encoding, Allow, " +
		"X-Sb-Error-Code, Date"
	// preflightKept is how long a browser may remember a preflight, in seconds;
	// Chromium keeps none for longer.
	preflightKept = "7200"
	maxAsked      = 8 << 10 // bytes of headers that a preflight may ask for
)

// askedHeaders are the header names that a preflight asks for. The server keeps no
// cookies, and any header but the credentials changes nothing for the caller: all
// are allowed (Fetch, "CORS-preflight request").
func askedHeaders(r *http.Request) (string, error) {
	asked := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ",")
	if asked == "" {
		return allowHeaders, nil
	}
	if len(asked) > maxAsked {
		return "", badAsked("names more than %d bytes of headers", maxAsked)
	}
	var names []string
	for name := range strings.SplitSeq(asked, ",") {
		name = strings.TrimSpace(name)
		if !httpguts.ValidHeaderFieldName(name) {
			return "", badAsked("names %q, which is no header", clipText(name, 60))
		}
		names = append(names, name)
	}
	return strings.Join(names, ", "), nil
}

func badAsked(format string, args ...any) error {
	const header = "Access-Control-Request-Headers"
	why := fmt.Sprintf(format, args...)
	return fault.New(fault.Invalid, "", "%s %s", header, why).At(header, "%s", why)
}

// isPreflight reports a request by which a browser asks whether it may send
// another. It carries no credentials.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" &&
		r.Header.Get("Authorization") == "" && r.Header.Get("Apikey") == ""
}

// answerCORS answers a preflight and marks the answer of an allowed origin. It
// reports whether the request is done.
func (f *Front) answerCORS(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	switch {
	case slices.Contains(f.Origins, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
	case slices.Contains(f.Origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
	default:
		return false
	}
	h.Set("Access-Control-Expose-Headers", exposeHeaders)
	if !isPreflight(r) {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	asked, err := askedHeaders(r)
	if err != nil {
		Fail(w, r, f.Shape, err)
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Headers", asked)
	h.Set("Access-Control-Max-Age", preflightKept)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// logRequest logs the request: the route's pattern, never its values.
func (f *Front) logRequest(w *recorder, r *http.Request, start time.Time) {
	if f.Log == nil || !f.Log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	now := time.Now()
	var attrs [12]slog.Attr
	n := 0
	put := func(a slog.Attr) {
		attrs[n] = a
		n++
	}
	add := func(key, v string) {
		if v != "" {
			put(slog.String(key, v))
		}
	}
	unsigned := isUnsigned(r.Context())
	if !unsigned {
		add("request_id", RequestID(r.Context()))
	}
	put(slog.String("method", clipText(r.Method, 10)))
	put(slog.String("route", w.route))
	put(slog.Int("status", w.status))
	put(slog.Int64("bytes", w.bytes))
	put(slog.Int64("us", now.Sub(start).Microseconds()))
	add("tenant", w.tenant)
	if !unsigned {
		add("user", w.user)
		add("key", w.key)
	}
	add("cache", w.Header().Get("X-Cache"))
	add("code", w.cause)
	// Not LogAttrs: it looks up the line of code that called it, for no reader.
	line := slog.NewRecord(now, slog.LevelInfo, "request", 0)
	line.AddAttrs(attrs[:n]...)
	f.Log.Handler().Handle(context.Background(), line) // a log that fails stops nobody
}

func clipText(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// recorder remembers what the log line needs.
type recorder struct {
	http.ResponseWriter
	status            int
	bytes             int64
	route             string
	tenant, user, key string
	cause             string
	panicked          bool
	leaving           *atomic.Bool
	packs             bool         // the caller takes a packed answer
	packer            *gzip.Writer // of this answer, or nil
}

func (r *recorder) seenRequest(method string, start time.Time) Seen {
	return Seen{Route: r.route, Method: method, Cache: r.Header().Get("X-Cache"), Status: r.status,
		Took: time.Since(start), Panicked: r.panicked}
}

// beginAnswer is called before the answer's first byte.
func (r *recorder) beginAnswer(code int) {
	r.status = code
	if r.leaving != nil && r.leaving.Load() {
		r.Header().Set("Connection", "close")
	}
}

func (r *recorder) WriteHeader(code int) {
	if r.status == 0 {
		r.beginAnswer(code)
		r.beginPacking(code)
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.beginAnswer(http.StatusOK)
		r.beginPacking(http.StatusOK)
	}
	if r.packer != nil {
		n, err := r.packer.Write(b)
		r.bytes += int64(n)
		return n, err
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Note tells the log which route answered and for whom.
func Note(w http.ResponseWriter, route, tenant, user, key string) {
	if _, path, ok := strings.Cut(route, " "); ok {
		route = path // a pattern with its method
	}
	if r := recorderOf(w); r != nil {
		r.route, r.tenant, r.user, r.key = route, tenant, user, key
	}
}

// recorderOf finds the Front's recorder under what others have put around it,
// or nil.
func recorderOf(w http.ResponseWriter) *recorder {
	for {
		if r, ok := w.(*recorder); ok {
			return r
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = u.Unwrap()
	}
}

// Allow refuses methods outside the list with a 405-ready Allow header value.
func Allow(methods []string) string {
	list := slices.Clone(methods)
	if slices.Contains(list, http.MethodGet) && !slices.Contains(list, http.MethodHead) {
		list = append(list, http.MethodHead)
	}
	if !slices.Contains(list, http.MethodOptions) {
		list = append(list, http.MethodOptions)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
