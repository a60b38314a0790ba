package main_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"holdfast/internal/testkit/program"
)

// numbers keeps what a collector is told of numbers.
func (c *collector) numbers(t *testing.T, body []byte, err error) {
	sent := &metricpb.MetricsData{} // on the wire the same as a request to export
	if err != nil || proto.Unmarshal(body, sent) != nil {
		t.Errorf("the numbers that were sent cannot be read: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = sent
}

// lines are the numbers of some families in the text form of Prometheus, and the
// attributes of the process that sent them.
func (c *collector) lines(families string) (list []string, about map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	about = map[string]string{}
	for _, rm := range c.last.GetResourceMetrics() {
		for _, a := range rm.Resource.GetAttributes() {
			about[a.Key] = a.Value.GetStringValue()
		}
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				if strings.HasPrefix(m.Name, families) {
					list = append(list, samples(m)...)
				}
			}
		}
	}
	slices.Sort(list)
	return list, about
}

func samples(m *metricpb.Metric) (list []string) {
	line := func(suffix string, labels []*commonpb.KeyValue, le string, value float64) {
		var pairs []string
		for _, a := range labels {
			pairs = append(pairs, fmt.Sprintf("%s=%q", a.Key, a.Value.GetStringValue()))
		}
		if le != "" {
			pairs = append(pairs, fmt.Sprintf("le=%q", le))
		}
		text := ""
		if len(pairs) > 0 {
			text = "{" + strings.Join(pairs, ",") + "}"
		}
		list = append(list, m.Name+suffix+text+" "+strconv.FormatFloat(value, 'g', -1, 64))
	}
	for _, p := range m.GetSum().GetDataPoints() {
		line("", p.Attributes, "", p.GetAsDouble())
	}
	for _, p := range m.GetGauge().GetDataPoints() {
		line("", p.Attributes, "", p.GetAsDouble())
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		below := uint64(0)
		for i, n := range p.BucketCounts {
			below += n
			bound := math.Inf(1)
			if i < len(p.ExplicitBounds) {
				bound = p.ExplicitBounds[i]
			}
			line("_bucket", p.Attributes, strconv.FormatFloat(bound, 'g', -1, 64), float64(below))
		}
		line("_sum", p.Attributes, "", p.GetSum())
		line("_count", p.Attributes, "", float64(p.Count))
	}
	return list
}

// scraped are the lines of some families that /metrics shows.
func scraped(t *testing.T, admin, families string) (list []string) {
	t.Helper()
	for line := range strings.Lines(program.Metrics(t, admin)) {
		if strings.HasPrefix(line, families) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	slices.Sort(list)
	return list
}

// A collector is told the numbers that a scrape shows: counters, histograms and
// gauges, and which process they are of. The last are sent at the end.
func TestNumbersSent(t *testing.T) {
	program.InTurn(t, func(s *program.Site) {
		c := collect(s.T)
		s.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
		admin := program.ClosedPort(s.T)
		v := s.Serve("--dev", "--admin-listen", admin)
		bearer := v.Token("owner@north.example", "holdfast-demo")
		for range 3 {
			v.Call("GET", "/v1/zones?limit=1", bearer, nil)
		}
		v.Call("GET", "/v1/zones", "", nil)
		const asked = `holdfast_http_requests_total{method="GET",route="/v1/{name}",status="200"} 3`
		var sent, shown []string
		var about map[string]string
		for _, families := range []string{"holdfast_http_request", "holdfast_build_info", "holdfast_log_lines_total"} {
			agree := func() bool {
				sent, about = c.lines(families)
				shown = scraped(s.T, admin, families)
				return len(sent) > 0 && slices.Equal(sent, shown)
			}
			if !program.Within(30*time.Second, agree) {
				s.Fatalf("%s: sent\n%s\nshown\n%s", families, strings.Join(sent, "\n"), strings.Join(shown, "\n"))
			}
			if families == "holdfast_http_request" && !slices.Contains(sent, asked) {
				s.Errorf("not told: %s\n%s", asked, strings.Join(sent, "\n"))
			}
		}
		if about["service.name"] != "holdfast" || about["service.version"] == "" || len(about["service.instance.id"]) != 36 {
			s.Errorf("the numbers are of %v", about)
		}
		v.Stop()
	})
}

// Where the interval is long, the end still tells what was.
func TestNumbersSentAtTheEnd(t *testing.T) {
	s := program.Embedded(t)
	c := collect(t)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=node-1")
	v := s.Serve()
	v.Call("GET", "/v1/zones", "", nil)
	if sent, _ := c.lines("holdfast_"); len(sent) > 0 {
		t.Error("numbers came before the interval was over")
	}
	v.Stop()
	sent, about := c.lines("holdfast_http_requests_total")
	if len(sent) == 0 || about["service.instance.id"] != "node-1" {
		t.Errorf("at the end %v of %v", sent, about)
	}
}

// A collector that hangs delays neither requests nor the end.
func TestNumbersCollectorHangs(t *testing.T) {
	hung := make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	t.Cleanup(func() { close(hung); sink.Close() })
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", sink.URL+"/v1/metrics")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
	v := program.Embedded(t).Serve()
	took := make([]time.Duration, 200)
	for i := range took {
		begin := time.Now()
		v.Call("GET", "/v1/zones", "", nil)
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	if p50 := took[len(took)/2]; p50 > 500*time.Millisecond {
		t.Errorf("half of the requests took more than %s", p50)
	}
	if took := v.Stop(); took > 15*time.Second {
		t.Errorf("the end took %s", took)
	}
}

// What the variables ask for is done, or refused in words at the start.
func TestNumbersRefuse(t *testing.T) {
	s := program.Embedded(t)
	for pair, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=localhost:4318":      "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT must be an address",
		"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc":                "http/protobuf",
		"OTEL_METRICS_EXPORTER=console":                           "otlp or none",
		"OTEL_METRIC_EXPORT_INTERVAL=1m":                          "milliseconds",
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta": "cumulative",
	} {
		cmd := s.Command([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", pair}, "serve", "--listen", "127.0.0.1:0")
		if o := s.Finish(cmd, ""); o.Code != 1 || !strings.Contains(o.Err, want) {
			t.Errorf("%s: %s", pair, o)
		}
	}
	c := collect(t)
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	v := s.Serve()
	v.Call("GET", "/v1/zones", "", nil)
	v.Stop()
	if sent, _ := c.lines(""); len(sent) > 0 {
		t.Error("numbers are sent that are switched off")
	}
}
