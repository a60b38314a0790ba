// Package trace tells an OpenTelemetry collector what a request or a job did,
// step by step, down to its statements. It is off unless the standard OTEL_*
// variables name a collector; then a span is a look at the context and no more.
//
// Spans hold names of routes, verbs and tables, and texts of statements, which
// hold no values. No tenant, user or token is in one.
//
// Layer: foundations. Begin at [Begin].
package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// Tracer begins traces and sends them. A nil Tracer is off. It is safe for
// concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   api.Tracer
	counts   *counts
}

// counts are of spans: ended, and taken by the collector.
type counts struct{ ended, sent atomic.Int64 }

const scope = "holdfast"

// Signal is what a collector can be told of, as the standard variables spell it.
type Signal string

// The signals this program has.
const (
	Traces  Signal = "TRACES"
	Metrics Signal = "METRICS"
)

// variables that are read here; the SDK and its exporters read the rest
// (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables,
// opentelemetry.io/docs/specs/otel/protocol/exporter).
const (
	disabled = "OTEL_SDK_DISABLED"
	otlp     = "OTEL_EXPORTER_OTLP_"
)

// Wanted reports whether the environment names a collector for a signal, and
// refuses what this program cannot do rather than doing something else.
func Wanted(of Signal, getenv func(string) string) (bool, error) {
	own := otlp + string(of) + "_"
	to := ""
	for _, name := range []string{otlp + "ENDPOINT", own + "ENDPOINT"} {
		text := getenv(name)
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return false, fmt.Errorf("trace: %s must be an address such as http://127.0.0.1:4318", name)
		}
		to = text
	}
	exporter := "OTEL_" + string(of) + "_EXPORTER"
	if how := getenv(exporter); strings.EqualFold(getenv(disabled), "true") || to == "" || how == "none" {
		return false, nil
	} else if how != "" && how != "otlp" {
		return false, fmt.Errorf("trace: %s is otlp or none, not %q", exporter, how)
	}
	for _, name := range []string{otlp + "PROTOCOL", own + "PROTOCOL"} {
		if how := getenv(name); how != "" && how != "http/protobuf" {
			return false, fmt.Errorf("trace: %s is http/protobuf, not %q", name, how)
		}
	}
	return true, nil
}

// instance tells the processes of a fleet apart at the collector, unless
// OTEL_RESOURCE_ATTRIBUTES names this one.
var instance = uuid.NewString()

// About is what a collector is told of this process with every signal.
func About(ctx context.Context, version string) (*resource.Resource, error) {
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", scope), attribute.String("service.version", version),
			attribute.String("service.instance.id", instance)),
		resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("trace: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(quiet)
	return about, nil
}

// Open returns the tracer that the environment asks for, or nil. The caller
// closes it.
func Open(ctx context.Context, version string, getenv func(string) string) (*Tracer, error) {
	if wanted, err := Wanted(Traces, getenv); !wanted {
		return nil, err
	}
	out, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	about, err := About(ctx, version)
	if err != nil {
		return nil, err
	}
	c := &counts{}
	p := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithSpanProcessor(c), sdk.WithBatcher(&counted{out, c}))
	return &Tracer{provider: p, tracer: p.Tracer(scope, api.WithInstrumentationVersion(version)), counts: c}, nil
}

// quiet logs what goes wrong on the way to the collector, once a minute.
var quiet = quietly()

func quietly() otel.ErrorHandlerFunc {
	var last atomic.Int64
	return func(err error) {
		now, before := time.Now().Unix(), last.Load()
		if now-before >= 60 && last.CompareAndSwap(before, now) {
			slog.Warn("the collector is not told; requests go on", "error", err)
		}
	}
}

// CloseTime bounds what the end of the server waits for the collector, for each
// signal.
const CloseTime = 2 * time.Second

// Close sends what waits, for a short time.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), CloseTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		slog.Warn("the last traces are lost", "error", err)
	}
}

// Counts are the spans that ended since the start, and those of them that the
// collector took. What is missing waits or is lost.
func (t *Tracer) Counts() (ended, sent int64) { return t.counts.ended.Load(), t.counts.sent.Load() }

// Request begins the span of a request that came in. traceparent and tracestate
// are the headers of W3C Trace Context from a caller that is believed, else "".
func (t *Tracer) Request(ctx context.Context, traceparent, tracestate string) (context.Context, Span) {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent,
		"tracestate": tracestate})
	ctx, s := t.tracer.Start(ctx, "request", api.WithSpanKind(api.SpanKindServer))
	return ctx, Span{s}
}

// Root begins a trace of work that nobody asked for just now. It is off for a
// nil Tracer.
func (t *Tracer) Root(ctx context.Context, kind, name string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := t.tracer.Start(ctx, kind+" "+name, api.WithNewRoot())
	return ctx, Span{s}
}

// Begin begins a step of what the context traces, if it traces anything.
func Begin(ctx context.Context, kind, name string) (context.Context, Span) {
	above := api.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, Span{}
	}
	if name != "" {
		kind += " " + name
	}
	ctx, s := above.TracerProvider().Tracer(scope).Start(ctx, kind)
	return ctx, Span{s}
}

// Span is a step under way. The zero value is none: its methods do nothing.
type Span struct{ of api.Span }

// On reports whether what is told of the step is kept.
func (s Span) On() bool { return s.of != nil && s.of.IsRecording() }

// Name renames the step.
func (s Span) Name(name string) {
	if s.of != nil {
		s.of.SetName(name)
	}
}

// Text tells of the step.
func (s Span) Text(key, value string) {
	if s.of != nil {
		s.of.SetAttributes(attribute.String(key, value))
	}
}

// Number tells of the step.
func (s Span) Number(key string, n int) {
	if s.of != nil {
		s.of.SetAttributes(attribute.Int(key, n))
	}
}

// Client says that the step asks another program.
func Client(ctx context.Context, name string) (context.Context, Span) {
	above := api.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, Span{}
	}
	ctx, s := above.TracerProvider().Tracer(scope).Start(ctx, name, api.WithSpanKind(api.SpanKindClient))
	return ctx, Span{s}
}

// Failed marks the step as one that went wrong. The cause stays in the log: it
// may name what is somebody's.
func (s Span) Failed() {
	if s.of != nil {
		s.of.SetStatus(codes.Error, "")
	}
}

// End ends the step, as failed when there is an error.
func (s Span) End(err error) {
	if s.of == nil {
		return
	}
	if err != nil {
		s.Failed()
	}
	s.of.End()
}

// counts is a sdk.SpanProcessor.

// OnStart implements sdk.SpanProcessor.
func (c *counts) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements sdk.SpanProcessor.
func (c *counts) OnEnd(s sdk.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		c.ended.Add(1)
	}
}

// Shutdown implements sdk.SpanProcessor.
func (c *counts) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdk.SpanProcessor.
func (c *counts) ForceFlush(context.Context) error { return nil }

// counted counts what the collector took.
type counted struct {
	sdk.SpanExporter
	counts *counts
}

// ExportSpans implements sdk.SpanExporter.
func (c *counted) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		c.counts.sent.Add(int64(len(spans)))
	}
	return err
}
