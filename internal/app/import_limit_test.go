package app_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// A step of an import is one wish, however many transactions it takes: who
// imports, applies and rolls back thousands of rows does not lock the tenant's
// pickers out of writing.
func TestImportStepsCountOnce(t *testing.T) {
	const rows = 12_000
	file := "code,name\n"
	for i := range rows {
		file += "IMP-" + strconv.Itoa(i) + ",One\n"
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if r := setLimits(t, k, demo.North, `{"write": {"minute": 60, "burst": 60}}`); r.Status >= 300 {
			t.Fatalf("limits: %d %s", r.Status, r.Body)
		}
		admin := testkit.As(actor.Admin)
		body, kind := form(t, "zones", "zones.csv", file)
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: admin, Body: body,
			Header: map[string]string{"Content-Type": kind}})
		var job struct{ ID string }
		if r.JSON(t, &job); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		for _, step := range []string{"process", "apply", "rollback"} {
			if r := k.Post(admin, "/functions/v1/"+step+"-import-job", map[string]any{"job_id": job.ID}); r.Status != 200 ||
				!strings.Contains(string(r.Body), strconv.Itoa(rows)) {
				t.Fatalf("%s: %d %s", step, r.Status, r.Body)
			}
		}
		if r := k.Post(testkit.As(actor.Operator), "/v1/incidents",
			map[string]any{"kind": "hazard", "title": "Oil on the floor",
				"occurred_at": time.Now().Add(-time.Hour)}); r.Status != 201 {
			t.Errorf("a picker's write: %d %s", r.Status, r.Body)
		}
	}, testkit.Limited)
}
