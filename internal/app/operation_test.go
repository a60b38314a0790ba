package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/api"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/job"
	"holdfast/internal/testkit"
)

var operationPaths = []string{"/v1/jobs", "/v1/audit-chain", "/v1/rate-limit/refusals"}

// Who may ask how the server works for a tenant: its administrators, and the
// service key for the tenant that it names.
func TestOperation_administrators(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, path := range operationPaths {
			for as, status := range map[string]int{"": 401, testkit.As(actor.Manager): 403, testkit.As(actor.Admin): 200,
				"nobody@none.example": 403} {
				if r := k.Get(as, path); r.Status != status {
					t.Errorf("%s by %q: %d %s", path, as, r.Status, r.Body)
				}
			}
		}
		retry := map[string]string{"kind": "safety-mail"}
		for as, status := range map[string]int{"": 401, testkit.As(actor.Manager): 403} {
			if r := k.Post(as, "/v1/jobs/retry", retry); r.Status != status {
				t.Errorf("retry by %q: %d %s", as, r.Status, r.Body)
			}
		}
		for path, field := range map[string]string{"/v1/jobs?status=lost": "status"} {
			if r := k.Get(testkit.As(actor.Admin), path); r.Status != 400 || !strings.Contains(string(r.Body), field) {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
		}
		if r := k.Post(testkit.As(actor.Admin), "/v1/jobs/retry", map[string]string{}); r.Status != 400 ||
			!strings.Contains(string(r.Body), "kind") {
			t.Errorf("retry of nothing: %d %s", r.Status, r.Body)
		}
	})
}

// A tenant's jobs are its own and the server's schedule, without what went wrong;
// what was given up is made due again, of this tenant alone.
func TestOperation_jobs(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		now := time.Now().UTC().Truncate(time.Second)
		testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			var list []job.Job
			for _, tenant := range []string{demo.North, demo.South} {
				list = append(list, job.Job{Tenant: tenant, Kind: "stuck", Key: "mail-1", Made: now},
					job.Job{Tenant: tenant, Kind: "stuck", Key: "mail-2", Made: now})
			}
			return job.Add(tx, list...)
		}))
		change(t, k, "UPDATE jobs SET status = 'failed', tries = 5, error = 'dial tcp 10.0.0.9:25: refused' WHERE kind = 'stuck'")
		read := func(as, status string) (own map[string]api.BackgroundJob, server int) {
			t.Helper()
			var out api.BackgroundJobs
			r := k.Get(as, "/v1/jobs?status="+status)
			if strings.Contains(string(r.Body), "10.0.0.9") {
				t.Errorf("the answer names a place: %s", r.Body)
			}
			r.JSON(t, &out)
			own = map[string]api.BackgroundJob{}
			for _, j := range out.Jobs {
				if j.Whose == "server" {
					server++
				} else if j.Kind == "stuck" {
					own[j.Key] = j
				}
			}
			return own, server
		}
		own, _ := read(testkit.As(actor.Admin), "failed")
		if len(own) != 2 || own["mail-1"].Tries != 5 {
			t.Errorf("given up: %+v", own)
		}
		var due api.DueJobs
		k.Post(testkit.As(actor.Admin), "/v1/jobs/retry", map[string]string{"kind": "stuck", "key": "mail-1"}).JSON(t, &due)
		if due.Due != 1 {
			t.Errorf("%d were made due", due.Due)
		}
		for as, want := range map[string]int{testkit.As(actor.Admin): 1, "admin@south.example": 2} {
			if own, _ := read(as, "failed"); len(own) != want {
				t.Errorf("%s: %d given up, not %d", as, len(own), want)
			}
		}
		if own, _ := read(testkit.As(actor.Admin), "pending"); own["mail-1"].Tries != 0 || len(own) != 1 {
			t.Errorf("waiting: %+v", own)
		}
		if r := k.Post(testkit.As(actor.Admin), "/v1/jobs/retry",
			map[string]string{"kind": "stuck", "key": "mail-9"}); r.Status != http.StatusNotFound {
			t.Errorf("no such job: %d %s", r.Status, r.Body)
		}
	})
}

// The verdict of a tenant's audit log is of its rows alone.
func TestOperation_chain(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		silenceOthers(t, k)
		testkit.Must(t, k.App.Identity.Admin.SealAudit(t.Context()))
		verdict := func(as string) (v api.ChainVerdict) {
			t.Helper()
			k.Get(as, "/v1/audit-chain").JSON(t, &v)
			return v
		}
		if v := verdict("admin@south.example"); !v.Whole || v.Rows == 0 || v.Head == "" || v.SealedAt == nil {
			t.Errorf("as it was written: %+v", v)
		}
		change(t, k, `UPDATE audit SET action = 'nothing.happened' WHERE tenant_id = $1 AND batch = (
				SELECT batch FROM audit_seals WHERE tenant_id = $1 AND seal_no = 1)`, demo.North)
		if v := verdict(testkit.As(actor.Admin)); v.Whole || len(v.Breaks) == 0 || v.Breaks[0].No != 1 {
			t.Errorf("a row was changed: %+v", v)
		}
		if v := verdict("admin@south.example"); !v.Whole {
			t.Errorf("another tenant's: %+v", v)
		}
	})
}

// The history of refusals says when a tenant was over which limit, to its own administrators.
func TestOperation_refusals(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if r := setLimits(t, k, demo.North, `{"read": {"minute": 40, "burst": 40}}`); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		read := func(as string) []api.LimitRefusal {
			t.Helper()
			var out api.LimitRefusals
			r := k.Get(as, "/v1/rate-limit/refusals")
			if r.JSON(t, &out); r.Status != 200 {
				t.Fatalf("%s: %d %s", as, r.Status, r.Body)
			}
			return out.Refusals
		}
		token := k.Token(testkit.As(actor.Owner))
		for n := 0; k.Call(testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", Bearer: token}).Status != 429; n++ {
			if n > 60 {
				t.Fatal("no limit was reached")
			}
		}
		list := read(testkit.As(actor.Admin))
		for tries := 0; len(list) == 0 && tries < 200; tries++ { // it is noted beside the answer
			time.Sleep(50 * time.Millisecond)
			list = read(testkit.As(actor.Admin))
		}
		if len(list) != 1 || list[0].Category != "read" || list[0].Limit != 40 || list[0].RetryAfter < 1 ||
			list[0].At.IsZero() {
			t.Errorf("after: %+v", list)
		}
		if list := read("admin@south.example"); len(list) != 0 {
			t.Errorf("another tenant: %+v", list)
		}
	}, testkit.Limited)
}
