package app_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// Whatever writes, the counters say what a full count of the records says: rows
// made, changed and removed by requests, an import and its rollback.
func TestCountersStayTrue(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		rng := rand.New(rand.NewPCG(4, 2))
		safety := testkit.As(actor.Safety)
		pick := func(list ...string) string { return list[rng.IntN(len(list))] }
		back := func(days int) string {
			return time.Now().UTC().Add(-time.Duration(rng.Int64N(int64(days) * int64(24*time.Hour)))).Format(time.RFC3339Nano)
		}
		send := func(method, path string, body any) {
			// Some changes are refused (a state that cannot follow): they must count nothing.
			if r := k.Call(testkit.Request{Method: method, Path: path, As: safety, Body: body}); r.Status >= 500 {
				t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
			}
		}
		var ids []string
		for range 25 {
			ids = append(ids, k.Insert(t, safety, "incidents", map[string]any{"kind": pick("injury", "near_miss", "fire"),
				"severity": pick("low", "critical"), "title": "x",
				"occurred_at": back(500), "reported_at": back(400)}))
			send("POST", "/v1/checklist_runs", map[string]any{"title": "x", "due_at": back(90)})
			send("POST", "/v1/actions", map[string]any{"title": "x", "due_at": back(800)})
			send("PATCH", "/v1/incidents?id=eq."+pick(ids...),
				map[string]any{"kind": pick("injury", "hazard"), "severity": pick("low", "high")})
			send("PATCH", "/v1/incidents?id=eq."+pick(ids...),
				map[string]any{"status": pick("triaged", "void", "closed"), "void_reason": "twice"})
		}
		for _, st := range []string{"in_progress", "completed", "cancelled"} {
			send("PATCH", "/v1/checklist_runs?title=eq.x&status=neq.completed&due_at=lt."+back(90), map[string]any{"status": st})
			send("PATCH", "/v1/actions?title=eq.x&due_at=lt."+back(800), map[string]any{"status": st, "cancel_reason": "x"})
			send("PATCH", "/v1/actions?title=eq.x&due_at=gt."+back(800), map[string]any{"due_at": back(800)})
		}
		send("DELETE", "/v1/actions?title=eq.x&due_at=lt."+back(800), nil)
		k.Verified(t)

		job := imported(t, k, "incidents", "external_ref,kind,severity,title,occurred_at,reported_at\nC-1,injury,high,A,2026-01-05T10:00:00Z,2026-01-06T10:00:00Z\n"+
			"C-2,fire,low,B,2026-01-05T11:00:00Z,2026-01-06T10:30:00Z\n")
		k.Verified(t)
		if k.Engine == db.PostgreSQL {
			if err := k.App.Store.FoldCounters(t.Context(), demo.North); err != nil {
				t.Fatal(err)
			}
			k.Verified(t)
		}
		for _, days := range []int{1, 7, 30, 45, 200, 365} {
			sameAsCounted(t, k, days)
		}
		if r := k.Post(testkit.As(actor.Admin), "/functions/v1/rollback-import-job",
			map[string]any{"job_id": job}); r.Status != 200 {
			t.Fatalf("rollback: %d %s", r.Status, r.Body)
		}
		k.Verified(t)
	})
}

// imported applies a file and returns the job.
func imported(t *testing.T, k *testkit.Kit, target, file string) string {
	t.Helper()
	body, kind := form(t, target, target+".csv", file)
	r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Admin), Body: body,
		Header: map[string]string{"Content-Type": kind}})
	var job struct{ ID string }
	if r.JSON(t, &job); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	for _, verb := range []string{"process", "apply"} {
		if r := k.Post(testkit.As(actor.Admin), "/functions/v1/"+verb+"-import-job",
			map[string]any{"job_id": job.ID}); r.Status != 200 {
			t.Fatalf("%s: %d %s", verb, r.Status, r.Body)
		}
	}
	return job.ID
}

// sameAsCounted holds safety-kpis against a count of the rows of its window.
func sameAsCounted(t *testing.T, k *testkit.Kit, days int) {
	t.Helper()
	var got struct {
		Timestamp time.Time
		KPIs      struct {
			TSR      int64 `json:"tsr"`
			Critical int64 `json:"critical_incidents"`
			Overdue  int64 `json:"overdue_actions"`
		}
		Distribution struct {
			Kinds map[string]int64 `json:"by_category"`
		}
	}
	k.Call(testkit.Request{Method: "GET", Path: fmt.Sprintf("/functions/v1/safety-kpis?days=%d", days),
		As:     testkit.As(actor.Safety),
		Header: map[string]string{"Cache-Control": "no-cache"}}).JSON(t, &got)
	from := got.Timestamp.Add(-time.Duration(days) * 24 * time.Hour)
	one := func(sql string, args ...any) (n int64) {
		err := k.App.DB.Read(t.Context(), db.Scope{Tenant: demo.North}, func(tx *db.Tx) error {
			return tx.Query(sql, append([]any{demo.North}, args...), func(r *db.Row) error { n = r.Int(0); return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const reports = "SELECT COUNT(*) FROM incidents WHERE tenant_id = $1 AND status <> 'void' AND reported_at > $2 AND reported_at <= $3"
	for what, pair := range map[string][2]int64{
		"tsr":                {got.KPIs.TSR, one(reports, from, got.Timestamp)},
		"critical_incidents": {got.KPIs.Critical, one(reports+" AND severity = 'critical'", from, got.Timestamp)},
		"near misses": {got.Distribution.Kinds["near_miss"],
			one(reports+" AND kind = 'near_miss'", from, got.Timestamp)},
		"overdue_actions": {got.KPIs.Overdue,
			one("SELECT COUNT(*) FROM actions WHERE tenant_id = $1 AND status IN ('open', 'in_progress') AND due_at < $2",
				got.Timestamp)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%d days: %s is %d, the records say %d", days, what, pair[0], pair[1])
		}
	}
}

// Counters that went wrong are named, can be put right, and are made anew when
// the database comes from a version without them.
func TestCountersAreRepaired(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		sql := func(list ...string) {
			t.Helper()
			err := k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
				for _, s := range list {
					if _, err := tx.Exec(s); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		sql("UPDATE counters SET delta = delta + 3 WHERE name LIKE 'actions:open%'",
			"DELETE FROM timed_counters WHERE name = 'reports' AND span = 'd'")
		hurried := db.Patient(t.Context(), time.Millisecond) // a tenant of any size is counted
		found, err := k.App.Verify(hurried)
		if text := strings.Join(found, "\n"); err != nil || !strings.Contains(text, "counter actions:open") ||
			!strings.Contains(text, "reports") {
			t.Errorf("%v: %s", err, text)
		}
		n, err := k.App.Repair(hurried)
		if err != nil || n < len(found) {
			t.Errorf("%d of %d put right: %v", n, len(found), err)
		}
		k.Verified(t)
	})
}
