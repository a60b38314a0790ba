// Package metrics counts what the server does, for Prometheus. Labels are
// bounded: routes are patterns, and no tenant, user or other id is one,
// so the number of series does not grow with use.
//
// Layer: installation. Begin at [New].
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"holdfast/internal/ratelimit"
	"holdfast/internal/web"
)

// Metrics are one server's. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	kept     *prometheus.CounterVec
	inFlight prometheus.Gauge
	panics   *prometheus.CounterVec
	refused  *prometheus.CounterVec
	logged   *prometheus.CounterVec
	known    sync.Map // of series by spot: one look-up a request
}

type spot struct {
	route, method string
	status        int
}

type series struct {
	count prometheus.Counter
	took  prometheus.Observer
}

// buckets are the latency histogram's bounds in seconds: cached answers take
// parts of a millisecond, imports seconds.
var buckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}

// New returns the metrics of a server of this version.
func New(version, engine string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	m.requests = counter("holdfast_http_requests_total", "Requests answered.", "route", "method", "status")
	m.kept = counter("holdfast_function_answers_total", "Answers of functions that keep theirs, by X-Cache.", "route",
		"cache")
	m.panics = counter("holdfast_panics_total", "Panics that were caught; the process went on.", "where")
	m.refused = counter("holdfast_limit_refused_total", "Requests refused by a rate limit.", "category")
	m.logged = counter("holdfast_log_lines_total", "Warnings and errors logged.", "level")
	m.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "holdfast_http_request_seconds",
		Help: "Time to answer.", Buckets: buckets}, []string{"route", "method"})
	m.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{Name: "holdfast_http_requests_in_flight",
		Help: "Requests being answered."})
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "holdfast_build_info",
		Help:        "1, with the version and the database engine.",
		ConstLabels: prometheus.Labels{"version": version, "engine": engine}})
	info.Set(1)
	m.registry.MustRegister(m.took, m.inFlight, info, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, where := range []string{"request", "background"} {
		m.panics.WithLabelValues(where)
	}
	for _, level := range []string{"warn", "error"} { // an alarm on the increase sees the first one too
		m.logged.WithLabelValues(level)
	}
	return m
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Began implements web.Observer.
func (m *Metrics) Began() { m.inFlight.Inc() }

// Ended implements web.Observer.
func (m *Metrics) Ended(s web.Seen) {
	m.inFlight.Dec()
	if s.Panicked {
		m.panics.WithLabelValues("request").Inc()
	}
	x := m.seriesAt(spot{s.Route, boundMethod(s.Method), s.Status})
	x.count.Inc()
	x.took.Observe(s.Took.Seconds())
	if s.Cache != "" {
		m.kept.WithLabelValues(s.Route, s.Cache).Inc()
	}
}

func (m *Metrics) seriesAt(at spot) series {
	if x, ok := m.known.Load(at); ok {
		return x.(series)
	}
	route := at.route
	if route == "" {
		route = "none" // nothing is served there
	}
	x := series{m.requests.WithLabelValues(route, at.method, strconv.Itoa(at.status)),
		m.took.WithLabelValues(route, at.method)}
	m.known.Store(at, x)
	return x
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// boundMethod bounds what a client may call a method.
func boundMethod(s string) string {
	if slices.Contains(methods, s) {
		return s
	}
	return "other"
}

// Panicked counts a panic of background work.
func (m *Metrics) Panicked() { m.panics.WithLabelValues("background").Inc() }

// Value is one number that is read when it is asked for.
type Value struct {
	Name, Help string
	Counter    bool // else a gauge
	Read       func() float64
}

// Watch adds values to what a scrape shows.
func (m *Metrics) Watch(values ...Value) {
	for _, v := range values {
		if v.Counter {
			m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: v.Name, Help: v.Help}, v.Read))
			continue
		}
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: v.Name, Help: v.Help}, v.Read))
	}
}

// Vector is a gauge with one label, whose values are read when they are asked for.
type Vector struct {
	Name, Help, Label string
	Read              func() map[string]float64
}

// WatchVectors adds vectors to what a scrape shows.
func (m *Metrics) WatchVectors(list ...Vector) {
	for _, v := range list {
		m.registry.MustRegister(vector{v, prometheus.NewDesc(v.Name, v.Help, []string{v.Label}, nil)})
	}
}

type vector struct {
	Vector
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (v vector) Describe(to chan<- *prometheus.Desc) { to <- v.desc }

// Collect implements prometheus.Collector.
func (v vector) Collect(to chan<- prometheus.Metric) {
	for label, value := range v.Read() {
		to <- prometheus.MustNewConstMetric(v.desc, prometheus.GaugeValue, value, label)
	}
}

// Counting wraps a limiter so that its refusals are counted.
func (m *Metrics) Counting(c ratelimit.Counter) ratelimit.Counter { return counting{c, m} }

type counting struct {
	ratelimit.Counter
	m *Metrics
}

// Take implements ratelimit.Counter.
func (c counting) Take(key string, k ratelimit.Category, p ratelimit.Plan, n int) ratelimit.State {
	s := c.Counter.Take(key, k, p, n)
	c.noteState(k, s)
	return s
}

// Pass implements ratelimit.Counter.
func (c counting) Pass(
	who ratelimit.Caller, k, next ratelimit.Category, p ratelimit.Plan,
) (taken, room ratelimit.State) {
	taken, room = c.Counter.Pass(who, k, next, p)
	if c.noteState(k, taken); taken.OK {
		c.noteState(next, room)
	}
	return taken, room
}

func (c counting) noteState(k ratelimit.Category, s ratelimit.State) {
	if !s.OK {
		c.m.refused.WithLabelValues(k.String()).Inc()
	}
}

// Once is ratelimit.Fleet's; a limiter of one process is always the first.
func (c counting) Once(key string, d time.Duration) bool {
	f, ok := c.Counter.(interface {
		Once(key string, d time.Duration) bool
	})
	return !ok || f.Once(key, d)
}

// Log wraps a log so that its warnings and errors are counted.
func (m *Metrics) Log(h slog.Handler) slog.Handler { return logging{h, m} }

type logging struct {
	slog.Handler
	m *Metrics
}

// Handle implements slog.Handler.
func (l logging) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		l.m.logged.WithLabelValues("error").Inc()
	} else if r.Level >= slog.LevelWarn {
		l.m.logged.WithLabelValues("warn").Inc()
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l logging) WithAttrs(a []slog.Attr) slog.Handler { return logging{l.Handler.WithAttrs(a), l.m} }

// WithGroup implements slog.Handler.
func (l logging) WithGroup(name string) slog.Handler { return logging{l.Handler.WithGroup(name), l.m} }
