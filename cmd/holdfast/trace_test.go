package main_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"holdfast/internal/testkit/program"
)

// collector is a receiver of OTLP over HTTP.
type collector struct {
	url string

	mu    sync.Mutex
	spans []*tracepb.Span
	raw   bytes.Buffer
	last  *metricpb.MetricsData // the newest numbers; nil = none came
}

// collect starts a receiver and has what the test starts send to it at once.
func collect(t *testing.T) *collector {
	c := &collector{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
		if r.URL.Path == "/v1/metrics" {
			c.numbers(t, body, err)
			return
		}
		var sent tracepb.TracesData // on the wire the same as a request to export
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
			t.Errorf("what was sent to %s cannot be read: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		for _, rs := range sent.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	}))
	t.Cleanup(srv.Close)
	c.url = srv.URL
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.url)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	return c
}

// path is the first way of such names from a span without a parent in the trace
// down, nil when there is none. A name ends with * where any end will do.
func (c *collector) path(names ...string) (way []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if called(s, names[0]) {
			if way := c.down(s, names[1:]); way != nil {
				return append([]*tracepb.Span{s}, way...)
			}
		}
	}
	return nil
}

func (c *collector) down(from *tracepb.Span, names []string) []*tracepb.Span {
	if len(names) == 0 {
		return []*tracepb.Span{}
	}
	for _, s := range c.spans {
		if !bytes.Equal(s.ParentSpanId, from.SpanId) || !bytes.Equal(s.TraceId, from.TraceId) || !called(s, names[0]) {
			continue
		}
		if way := c.down(s, names[1:]); way != nil {
			return append([]*tracepb.Span{s}, way...)
		}
	}
	return nil
}

// names are those of all spans.
func (c *collector) names() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		list = append(list, s.Name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func called(s *tracepb.Span, name string) bool {
	start, any := strings.CutSuffix(name, "*")
	return s.Name == name || any && strings.HasPrefix(s.Name, start)
}

func attribute(s *tracepb.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "00-" + callersTrace + "-b7ad6b7169203331-01"
)

// A request is one trace down to its statements, whether it is a verb, a
// function or a step of an import; it belongs to the caller's trace where the
// caller is believed; and it holds nobody's data.
func TestTrace(t *testing.T) {
	program.InTurn(t, func(s *program.Site) {
		c := collect(s.T)
		v := s.Serve("--dev", "--trusted-proxies", "127.0.0.1")
		bearer := v.Token("owner@north.example", "holdfast-demo")
		const canary = "CANARY-0451"
		req, err := http.NewRequest("POST", v.URL+"/v1/rpc/scan", strings.NewReader(`{"code":"`+canary+`"}`))
		if err != nil {
			s.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + bearer, "Content-Type": "application/json",
			"Traceparent": callersSpan, "X-Request-Id": "request-of-the-test"} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			s.Fatal(err)
		}
		res.Body.Close()
		v.Call("GET", "/functions/v1/safety-kpis?days=31", bearer, nil)
		v.Call("POST", "/v1/zones", bearer, map[string]any{"code": canary, "name": canary})
		job := v.Uploaded(bearer, 50)
		for _, step := range []string{"process", "apply", "rollback"} {
			if r := v.Call("POST", "/functions/v1/"+step+"-import-job", bearer,
				map[string]string{"job_id": job}); r.Status != http.StatusOK {
				s.Fatalf("%s: %d %s", step, r.Status, r.Body)
			}
		}
		for _, names := range [][]string{
			{"POST /v1/rpc/scan", "verb scan", "*"},
			{"GET /functions/v1/safety-kpis", "function safety-kpis", "*"},
			{"POST /v1/{name}", "transaction", "*"},
			{"POST /functions/v1/process-import-job", "function process-import-job", "import process", "transaction", "*"},
			{"POST /functions/v1/apply-import-job", "function apply-import-job", "import apply", "transaction", "*"},
			{"POST /functions/v1/rollback-import-job", "function rollback-import-job", "import rollback", "transaction", "*"},
		} {
			var way []*tracepb.Span
			if !program.Within(30*time.Second, func() bool { way = c.path(names...); return way != nil }) {
				s.Fatalf("no way %s among %v", strings.Join(names, " > "), c.names())
			}
			if last := way[len(way)-1]; attribute(last, "db.system.name") == "" {
				s.Errorf("%v: the last step is %s, no statement", names, last.Name)
			}
		}
		verb := c.path("POST /v1/rpc/scan")[0]
		if got := hex.EncodeToString(verb.TraceId); got != callersTrace ||
			attribute(verb, "holdfast.request_id") != "request-of-the-test" {
			s.Errorf("the verb is of trace %s, request %q", got, attribute(verb, "holdfast.request_id"))
		}
		v.Stop()
		for _, secret := range []string{canary, bearer, "owner@north.example", "holdfast-demo"} {
			if bytes.Contains(c.raw.Bytes(), []byte(secret)) {
				s.Errorf("%s is in a trace", secret)
			}
		}
	})
}

// A stranger's trace is not gone on with.
func TestTraceOfStranger(t *testing.T) {
	s := program.Embedded(t)
	c := collect(t)
	v := s.Serve()
	req, err := http.NewRequest("GET", v.URL+"/v1/zones", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", callersSpan)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	var way []*tracepb.Span
	if !program.Within(30*time.Second, func() bool { way = c.path("GET /v1/{name}"); return way != nil }) {
		t.Fatalf("no trace of the request: %v", c.names())
	}
	if got := hex.EncodeToString(way[0].TraceId); got == callersTrace {
		t.Error("it is of the trace that a stranger named")
	}
	v.Stop()
}

// A collector that hangs delays no request and no end; what it did not take is
// counted.
func TestTraceCollectorHangs(t *testing.T) {
	hung := make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	t.Cleanup(func() { close(hung); sink.Close() })
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", sink.URL+"/v1/traces")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
	s := program.Embedded(t)
	admin := program.ClosedPort(t)
	v := s.Serve("--admin-listen", admin)
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
	text := program.Metrics(t, admin)
	if !strings.Contains(text, "\nholdfast_trace_spans_sent_total 0\n") ||
		strings.Contains(text, "\nholdfast_trace_spans_total 0\n") {
		t.Error("the metrics do not say that spans wait or are lost")
	}
	if took := v.Stop(); took > 15*time.Second {
		t.Errorf("the end took %s", took)
	}
}

// What the variables ask for is done, or refused in words at the start.
func TestTraceRefuses(t *testing.T) {
	s := program.Embedded(t)
	for pair, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=127.0.0.1:4318": "OTEL_EXPORTER_OTLP_ENDPOINT must be an address",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":           "http/protobuf",
		"OTEL_TRACES_EXPORTER=zipkin":                "otlp or none",
	} {
		cmd := s.Command([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", pair}, "serve", "--listen", "127.0.0.1:0")
		if o := s.Finish(cmd, ""); o.Code != 1 || !strings.Contains(o.Err, want) {
			t.Errorf("%s: %s", pair, o)
		}
	}
	c := collect(t)
	for _, pair := range [][2]string{{"OTEL_SDK_DISABLED", "true"}, {"OTEL_TRACES_EXPORTER", "none"}} {
		t.Setenv(pair[0], pair[1])
		v := s.Serve()
		v.Call("GET", "/v1/zones", "", nil)
		v.Stop()
		t.Setenv(pair[0], "")
	}
	if c.raw.Len() > 0 {
		t.Error("traces are sent that are switched off")
	}
}
