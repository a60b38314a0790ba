package metrics_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/metrics"
	"holdfast/internal/ratelimit"
	"holdfast/internal/web"
)

func text(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// A panic is an answer of 500 and one more in the count,
// also under what wraps the writer; the next request is served.
func TestPanics(t *testing.T) {
	m := metrics.New("v1", "sqlite")
	shape := func(_ *http.Request, e *fault.Error) web.Reply {
		return web.Reply{Status: web.Status(e.Kind), Body: map[string]string{"error": e.Msg}}
	}
	bad := web.Wrap(shape, func(w http.ResponseWriter, r *http.Request) error {
		web.Note(w, "/boom", "", "", "")
		if r.URL.Path == "/boom" {
			panic("boom")
		}
		return nil
	})
	h := (&web.Front{Observe: m, Log: slog.New(slog.DiscardHandler)}).Handler(bad)
	for path, want := range map[string]int{"/boom": 500, "/fine": 200} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	m.Panicked()
	for _, want := range []string{
		`holdfast_panics_total{where="request"} 1`, `holdfast_panics_total{where="background"} 1`,
		"holdfast_http_requests_in_flight 0",
		`holdfast_http_requests_total{method="GET",route="/boom",status="500"} 1`,
		`holdfast_build_info{engine="sqlite",version="v1"} 1`,
	} {
		if got := text(t, m); !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s in\n%s", want, got)
		}
	}
}

// A refusal counts under the window that refused.
func TestRefusals(t *testing.T) {
	m := metrics.New("v1", "sqlite")
	plan, err := ratelimit.Parse(`{"api": {"minute": 3, "burst": 3}, "read": {"minute": 2, "burst": 2}}`)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Counting(ratelimit.New(ratelimit.Options{}))
	who := ratelimit.Caller{Tenant: "a", Name: "u"}
	c.Pass(who, ratelimit.API, ratelimit.Read, plan)
	c.Spend(who, ratelimit.Read, 2)
	c.Pass(who, ratelimit.API, ratelimit.Read, plan) // no room for reads
	c.Pass(who, ratelimit.API, ratelimit.Write, plan)
	c.Pass(who, ratelimit.API, ratelimit.Write, plan) // the fourth
	got := text(t, m)
	for _, want := range []string{`holdfast_limit_refused_total{category="api"} 1`,
		`holdfast_limit_refused_total{category="read"} 1`} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if once, ok := c.(interface {
		Once(string, time.Duration) bool
	}); !ok || !once.Once("x", time.Minute) {
		t.Error("the gate would not be told")
	}
}

func TestLog(t *testing.T) {
	m := metrics.New("v1", "sqlite")
	l := slog.New(m.Log(slog.DiscardHandler)).With("a", 1).WithGroup("g")
	l.Warn("x") // discarded lines are not counted: nobody wanted them
	var b strings.Builder
	l = slog.New(m.Log(slog.NewTextHandler(&b, nil))).With("a", 1).WithGroup("g")
	l.Info("x")
	l.Warn("x")
	l.Error("x")
	for _, want := range []string{`holdfast_log_lines_total{level="warn"} 1`,
		`holdfast_log_lines_total{level="error"} 1`} {
		if !strings.Contains(text(t, m), want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
}

func BenchmarkEnded(b *testing.B) {
	m := metrics.New("v1", "sqlite")
	b.ReportAllocs()
	for b.Loop() {
		m.Began()
		m.Ended(web.Seen{Route: "/v1/{name}", Method: "GET", Status: 200, Took: time.Millisecond})
	}
}
