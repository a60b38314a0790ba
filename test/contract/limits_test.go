package contract_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// Each plan has the limits of the interface, which the status shows.
func TestPlans(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, plan := range []struct {
			name          string
			api, database int
		}{{"standard", 1000, 5000}, {"enterprise", 10_000, 50_000}} {
			setPlan(t, k, map[string]any{"plan": plan.name})
			askAdmin(t, k, "GET", "/v1/rate-limit/status", nil).checkFields(t, fmt.Sprintf(`
				api.limit:%d api.remaining:integer api.reset_at:timestamp
				database.limit:%d database.remaining:integer database.reset_at:timestamp`, plan.api, plan.database))
		}
	}, testkit.Limited)
}

// setPlan changes what tenant north may use, as its operator does.
func setPlan(t *testing.T, k *testkit.Kit, plan map[string]any) {
	t.Helper()
	r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/tenants?id=eq." + demo.North, Bearer: k.Service(), Body: plan})
	if r.Status/100 != 2 {
		t.Fatalf("%v: %d %s", plan, r.Status, r.Body)
	}
}

// Every answer says what is left of the limit, and each request uses one more.
func TestHeadersCount(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		read := func(r testkit.Response, header string) int {
			t.Helper()
			n, err := strconv.Atoi(r.Header.Get(header))
			if err != nil {
				t.Errorf("%s: %v", header, err)
			}
			return n
		}
		for n, path := range []string{"/v1/orders", functions + "safety-kpis", "/rest/v1/zones", "/v1/nowhere"} {
			r := k.Get(testkit.As(actor.Viewer), path)
			limit, remaining := read(r, "X-RateLimit-Limit"), read(r, "X-RateLimit-Remaining")
			if used := read(r, "X-RateLimit-Used"); limit != 1000 && limit != 200 || used != n+1 || remaining != limit-used {
				t.Errorf("%s: %d used, %d of %d left, want %d used", path, used, remaining, limit, n+1)
			}
			reset := time.Until(time.Unix(int64(read(r, "X-RateLimit-Reset")), 0))
			if reset < -time.Second || reset > time.Minute+time.Second {
				t.Errorf("%s: the limit resets in %v, want within the minute", path, reset)
			}
		}
	}, testkit.Limited)
}

// What is too much is refused with 429, how long to wait and the interface's body; the
// same caller is let in by a larger limit, and other tenants never notice.
func TestTooMuchIsRefused(t *testing.T) {
	const few = 20 // which a slow machine reaches before the window rolls
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		limits := map[string]any{"api": map[string]any{"minute": few, "burst": few}}
		setPlan(t, k, map[string]any{"plan": "custom", "limits": limits})
		look := func(email string) testkit.Response { return k.Get(email, "/v1/rate-limit/status") }
		for n := range few {
			if r := look(testkit.As(actor.Viewer)); r.Status != 200 {
				t.Fatalf("request %d of %d: %d %s", n+1, few, r.Status, r.Body)
			}
		}
		r := look(testkit.As(actor.Viewer))
		a := answer{of: "a request too many"}
		r.JSON(t, &a.tree)
		if r.Status != http.StatusTooManyRequests {
			t.Fatalf("request %d: %d %s", few+1, r.Status, r.Body)
		}
		a.checkFields(t, fmt.Sprintf(`error:"rate_limit_exceeded" message:string retry_after:%s limit:%d remaining:0
			reset_at:timestamp`, r.Header.Get("Retry-After"), few))
		if r := look("admin@south.example"); r.Status != 200 {
			t.Errorf("another tenant: %d %s", r.Status, r.Body)
		}
	}, testkit.Limited)
}

// One address tries to sign in ten times in ten seconds, and no eleventh time.
func TestSignInsAreLimited(t *testing.T) {
	const burst, slot = 10, time.Second // a window counts to a second
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var passed []time.Time
		for n := range 3 * burst {
			begun := time.Now()
			r := k.Post("", "/auth/v1/token", map[string]any{"email": fmt.Sprintf("x%d@else.example", n), "password": "wrong"})
			if limit := r.Header.Get("X-RateLimit-Limit"); limit != "10" && limit != "60" {
				t.Errorf("attempt %d: limit %s, want 10 or 60", n, limit)
			}
			if r.Status != http.StatusTooManyRequests {
				passed = append(passed, begun)
			} else if n < burst {
				t.Errorf("attempt %d is refused", n+1)
			}
		}
		for n := burst; n < len(passed); n++ {
			if took := time.Since(passed[n-burst]) - time.Since(passed[n]); took < 10*time.Second-2*slot {
				t.Errorf("attempts %d to %d pass within %v", n-burst+1, n+1, took)
			}
		}
	}, testkit.Limited)
}
