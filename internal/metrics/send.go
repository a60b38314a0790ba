package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"holdfast/internal/trace"
)

// variables that would change what is sent, with the one value that says what is.
var only = map[string]string{
	"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE":        "cumulative",
	"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "explicit_bucket_histogram",
}

// Sender tells an OpenTelemetry collector from time to time what a scrape would
// show. A nil Sender is off.
type Sender struct {
	to      *otlpmetrichttp.Exporter
	numbers sdk.Producer
	about   *resource.Resource
	timeout time.Duration
	end     context.CancelFunc
	ended   chan struct{}
}

// Send begins to tell the collector that the environment names, each
// OTEL_METRIC_EXPORT_INTERVAL (60 s). It returns nil where none is named. The
// caller closes it before what the numbers are read from.
func (m *Metrics) Send(ctx context.Context, version string, getenv func(string) string) (*Sender, error) {
	if wanted, err := trace.Wanted(trace.Metrics, getenv); !wanted {
		return nil, err
	}
	for name, value := range only {
		if how := getenv(name); how != "" && how != value {
			return nil, fmt.Errorf("metrics: %s is %s, not %q", name, value, how)
		}
	}
	interval, err1 := parseMilliseconds("OTEL_METRIC_EXPORT_INTERVAL", time.Minute, getenv)
	timeout, err2 := parseMilliseconds("OTEL_METRIC_EXPORT_TIMEOUT", 30*time.Second, getenv)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	to, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	about, err := trace.About(ctx, version)
	if err != nil {
		return nil, err
	}
	s := &Sender{to: to, about: about, timeout: timeout, ended: make(chan struct{})}
	s.numbers = bridge.NewMetricProducer(bridge.WithGatherer(m.registry))
	ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	go s.sendAtTicks(ctx, interval)
	return s, nil
}

func parseMilliseconds(name string, otherwise time.Duration, getenv func(string) string) (time.Duration, error) {
	text := getenv(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("metrics: %s is a number of milliseconds above 0, not %q", name, text)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// sendAtTicks sends at every tick until ctx ends. The SDK's own reader would bring its
// instruments and views along, a megabyte that nothing uses.
func (s *Sender) sendAtTicks(ctx context.Context, interval time.Duration) {
	defer close(s.ended)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.sendOnce(ctx, s.timeout); err != nil && ctx.Err() == nil {
				otel.Handle(err)
			}
		}
	}
}

func (s *Sender) sendOnce(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now, err := s.numbers.Produce(ctx)
	if err != nil {
		return err
	}
	return s.to.Export(ctx, &metricdata.ResourceMetrics{Resource: s.about, ScopeMetrics: now})
}

// Close sends the numbers once more, and waits for it a short time.
func (s *Sender) Close() {
	if s == nil {
		return
	}
	s.end()
	<-s.ended
	if err := s.sendOnce(context.Background(), trace.CloseTime); err != nil {
		slog.Warn("the last numbers are lost", "error", err)
	}
	s.to.Shutdown(context.Background()) // holds nothing that waits
}
