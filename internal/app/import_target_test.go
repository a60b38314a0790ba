package app_test

import (
	"encoding/json"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// A file that was sent for the wrong target is led to the right one: it is checked anew, what was said about the
// file stays, and what was said about the fields of the former target goes.
func TestTargetOfAFileChanges(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		f := sender{T: t, k: k, as: testkit.As(actor.Manager)}
		id := f.sendFile("items", "places.csv", "code,name,kind\nRT-1,First,bin\nRT-2,Second,bin\n")
		f.changeJob(id, map[string]any{
			"options": map[string]any{"encoding": "utf-8", "defaults": map[string]any{"base_uom": "EA"}},
			"mapping": map[string]any{"sku": "code", "name": "name"}}, 200)
		f.runStep("process-import-job", id, 200)

		job := f.changeJob(id, map[string]any{"target": "zones"}, 200)
		want := map[string]string{"target": `"zones"`, "status": `"uploaded"`, "mapping": "null", "total_rows": "0",
			"message": "null", "options": `{"encoding":"utf-8"}`}
		for member, text := range want {
			if got, err := json.Marshal(job[member]); err != nil || string(got) != text {
				t.Errorf("%s is %s, want %s", member, got, text)
			}
		}
		f.runStep("apply-import-job", id, 409) // what was read for items is not applied to zones
		f.runStep("process-import-job", id, 200)
		f.runStep("apply-import-job", id, 200)
		if got := first(t, k, "/v1/zones?select=name&code=eq.RT-2", "name"); got != "Second" {
			t.Errorf("the zone is %v", got)
		}
		if r := k.Get(f.as, "/v1/items?select=id&sku=like.RT-*"); string(r.Body) != "[]" {
			t.Errorf("items were made: %s", r.Body)
		}
		f.changeJob(id, map[string]any{"target": "items"}, 409) // rows are applied
	})
}

// Nobody leads a file to a target, or away from one, that is not theirs to import into, nor a file of another
// tenant, nor to what is no target.
func TestTargetsThatAreRefused(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := sender{T: t, k: k, as: testkit.As(actor.Manager)}
		id := manager.sendFile("items", "things.csv", "sku,name\nRT-3,Third\n")
		manager.changeJob(id, map[string]any{"target": "nonsense"}, 400)
		manager.changeJob(id, map[string]any{"target": nil}, 400)
		safety := sender{T: t, k: k, as: testkit.As(actor.Safety)}
		safety.changeJob(id, map[string]any{"target": "incidents"}, 403)
		operator := sender{T: t, k: k, as: testkit.As(actor.Operator)}
		operator.changeJob(id, map[string]any{"target": "zones"}, 403)
		own := safety.sendFile("incidents", "reports.csv", "title,kind,severity,occurred_at\nOil,hazard,low,2026-01-05\n")
		safety.changeJob(own, map[string]any{"target": "items"}, 403)
		if got := first(t, k, "/v1/import_jobs?select=target&id=eq."+id, "target"); got != "items" {
			t.Errorf("the target is %v", got)
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/import_jobs?id=eq." + id, As: "admin@south.example",
			Body: map[string]any{"target": "zones"}, Header: representation}); string(r.Body) != "[]" {
			t.Errorf("another tenant's file: %d %s", r.Status, r.Body)
		}
	})
}

var representation = map[string]string{"Prefer": "return=representation"}

// sender sends files as somebody.
type sender struct {
	*testing.T
	k  *testkit.Kit
	as string
}

func (f sender) sendFile(target, name, text string) string {
	f.Helper()
	body, kind := form(f.T, target, name, text)
	r := f.k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: f.as, Body: body,
		Header: map[string]string{"Content-Type": kind}})
	var job struct{ ID string }
	if r.JSON(f.T, &job); r.Status != 201 {
		f.Fatalf("%s: %d %s", name, r.Status, r.Body)
	}
	return job.ID
}

// changeJob changes a job as a record, and returns it.
func (f sender) changeJob(id string, set map[string]any, want int) map[string]any {
	f.Helper()
	r := f.k.Call(testkit.Request{Method: "PATCH", Path: "/v1/import_jobs?id=eq." + id, As: f.as, Body: set,
		Header: representation})
	if r.Status != want {
		f.Errorf("%v: %d %s, want %d", set, r.Status, r.Body, want)
	}
	var rows []map[string]any
	if r.Status == 200 && want == 200 {
		r.JSON(f.T, &rows)
		return rows[0]
	}
	return nil
}

func (f sender) runStep(function, id string, want int) {
	f.Helper()
	if r := f.k.Post(f.as, "/functions/v1/"+function, map[string]any{"job_id": id}); r.Status != want {
		f.Errorf("%s: %d %s, want %d", function, r.Status, r.Body, want)
	}
}
