package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// scrape reads the metrics as Prometheus would: names with labels, and values.
func scrape(t *testing.T, k *testkit.Kit) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	k.App.AdminHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	out := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out[line[:at]] = v
	}
	return out
}

// What the server does is counted by route, method and status; what waits and
// what is kept is shown; nothing names a tenant or a person (the number of
// series does not grow with paths, methods and users).
func TestMetrics(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if r := setLimits(t, k, demo.North, few); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		token := k.Token(testkit.As(actor.Viewer))
		before := scrape(t, k)
		for range 3 {
			k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis", Bearer: token})
		}
		k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", Bearer: token})
		k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1"})
		refused := 0
		for range 60 {
			if k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", Bearer: token}).Status == 429 {
				refused++
			}
		}
		k.Post("admin@north.example", "/v1/webhooks", map[string]any{"url": "http://127.0.0.1:1/",
			"events": []string{"incident.*"}})
		after := scrape(t, k)
		grown := func(name string) float64 { return after[name] - before[name] }
		for name, want := range map[string]float64{
			`holdfast_http_requests_total{method="GET",route="/functions/v1/safety-kpis",status="200"}`: 3,
			`holdfast_http_request_seconds_count{method="GET",route="/functions/v1/safety-kpis"}`:       3,
			`holdfast_function_answers_total{cache="HIT",route="/functions/v1/safety-kpis"}`:            2,
			`holdfast_cache_hits_total`:   2,
			`holdfast_cache_misses_total`: 1,
			`holdfast_http_requests_total{method="GET",route="/v1/{name}",status="401"}`:    1,
			`holdfast_http_requests_total{method="GET",route="/v1/{name}",status="429"}`:    float64(refused),
			`holdfast_limit_refused_total{category="api"}`:                                  float64(refused),
			`holdfast_http_requests_total{method="POST",route="/v1/webhooks",status="201"}`: 1,
			`holdfast_panics_total{where="request"}`:                                        0,
		} {
			if got := grown(name); got != want {
				t.Errorf("%s grew by %v, want %v", name, got, want)
			}
		}
		if refused == 0 {
			t.Error("nothing was refused, so no refusal was counted")
		}
		for name, most := range map[string]float64{"holdfast_db_connections_max": 1000, "holdfast_cache_entries": 100,
			"holdfast_nodes": 1,
			"holdfast_ready": 1, "go_goroutines": 1e5} {
			if v, ok := after[name]; !ok || v < 1 || v > most {
				t.Errorf("%s = %v, %v", name, v, ok)
			}
		}
		for _, name := range []string{"holdfast_outbox_unpublished", "holdfast_outbox_lag_seconds", "holdfast_webhook_due",
			"holdfast_webhook_lag_seconds", "holdfast_db_connections_in_use", "holdfast_limit_redis_away"} {
			if v, ok := after[name]; !ok || v < 0 {
				t.Errorf("%s = %v, %v", name, v, ok)
			}
		}
		for i := range 300 {
			k.Call(testkit.Request{Method: "GET", Path: fmt.Sprintf("/nowhere/%d", i)})
			k.Call(testkit.Request{Method: fmt.Sprintf("ODD%d", i), Path: fmt.Sprintf("/v1/odd%d", i),
				Header: map[string]string{"X-Request-Id": fmt.Sprintf("request-%d", i)}})
		}
		k.Token("admin@south.example")
		grownTo := scrape(t, k)
		if more := len(grownTo) - len(after); more > 80 { // the few routes above, with a histogram each
			t.Errorf("600 paths and methods made %d series", more)
		}
		anybody := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-|@|` + demo.North)
		for name := range grownTo {
			if anybody.MatchString(name) {
				t.Errorf("a series names somebody: %s", name)
			}
		}
	}, testkit.Limited, func(c *config.Config) { c.WebhookPrivate = true })
}

// What an operator has to see before somebody else does: whether the database takes writes,
// how large its log is, how much room is left, when the certificate ends, what nobody sealed.
func TestMetricsOfState(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		k.Post("admin@north.example", "/v1/webhooks", map[string]any{"url": "http://127.0.0.1:1/",
			"events": []string{"incident.*"}})
		got := scrape(t, k)
		for name, want := range map[string]float64{"holdfast_ready": 1, "holdfast_db_writable": 1} {
			if got[name] != want {
				t.Errorf("%s = %v", name, got[name])
			}
		}
		isEmbedded := k.App.DB.Engine() == db.SQLite
		if size, ok := got["holdfast_db_wal_bytes"]; !ok || isEmbedded != (size > 0) || !isEmbedded && size != -1 {
			t.Errorf("the log has %v bytes", size)
		}
		if got["holdfast_disk_free_bytes"] < 1<<20 {
			t.Errorf("%v bytes are free", got["holdfast_disk_free_bytes"])
		}
		if got["holdfast_audit_unsealed_rows"] < 1 {
			t.Errorf("%v rows are not sealed", got["holdfast_audit_unsealed_rows"])
		}
		if err := k.App.Identity.Admin.SealAudit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := scrape(t, k)["holdfast_audit_unsealed_rows"]; n != 0 {
			t.Errorf("%v rows are not sealed once the sealer was there", n)
		}
	}, func(c *config.Config) { c.WebhookPrivate = true })
}

// A scrape of a database that is gone still answers, and says so: holdfast_ready is what
// /readyz says.
func TestMetricsWithoutDatabase(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if err := k.App.DB.Close(); err != nil {
			t.Fatal(err)
		}
		if got := scrape(t, k); got["holdfast_outbox_unpublished"] != -1 || got["holdfast_webhook_due"] != -1 {
			t.Errorf("%v and %v", got["holdfast_outbox_unpublished"], got["holdfast_webhook_due"])
		} else if got["holdfast_ready"] != 0 || got["holdfast_db_writable"] != 0 {
			t.Errorf("ready %v, writable %v", got["holdfast_ready"], got["holdfast_db_writable"])
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: "/readyz"}); r.Status != 503 {
			t.Errorf("/readyz: %d %s", r.Status, r.Body)
		}
	})
}
