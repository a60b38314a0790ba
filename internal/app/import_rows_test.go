package app_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/s3test"
)

// form is an upload as a browser sends it.
func form(t *testing.T, target, name, file string) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("target", target); err != nil {
		t.Fatal(err)
	}
	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(file))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// A clerk uploads a file, sees what is wrong, corrects a row on the screen,
// looks at what would happen and takes the rest home as a file.
func TestImportRowsOverHTTP(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		body, kind := form(t, "zones", "zones.csv", "code,name\nIMP-1,One\nIMP 2,Two\nIMP 3,=Three\n")
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
			Header: map[string]string{"Content-Type": kind}})
		var job struct{ ID string }
		if r.JSON(t, &job); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		at := "/v1/import-jobs/" + job.ID
		if r := k.Get(manager, at+"/rows"); r.Status != 409 {
			t.Errorf("rows before processing: %d %s", r.Status, r.Body)
		}
		if r := k.Post(manager, "/functions/v1/process-import-job", map[string]any{"job_id": job.ID}); r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		for _, c := range []struct {
			method, path, as string
			body             any
			status           int
			has              string
		}{
			{"GET", "/rows?status=invalid&pageSize=1", manager, nil, 200, `"total":2,"hasMore":true`},
			{"GET", "/rows?status=odd", manager, nil, 400, `status`},
			{"GET", "/rows?page=0", manager, nil, 400, `page`},
			{"GET", "/rows", testkit.As(actor.Viewer), nil, 403, ``},
			{"PATCH", "/rows/2", manager, map[string]any{"cells": map[string]any{"code": "IMP-2"}}, 200,
				`"status":"valid","edited":true`},
			{"PATCH", "/rows/2", manager, map[string]any{"cells": map[string]any{"nope": "x"}}, 400, `no column`},
			{"PATCH", "/rows/9", manager, map[string]any{"cells": map[string]any{"code": "x"}}, 404, ``},
			{"PATCH", "/rows/x", manager, map[string]any{"cells": map[string]any{"code": "x"}}, 400, ``},
			{"PATCH", "/rows/2", testkit.As(actor.Viewer), map[string]any{"cells": map[string]any{"code": "x"}}, 403, ``},
			{"GET", "/preview", manager, nil, 200, `"action":"insert"`},
			{"GET", "/errors", manager, nil, 200, `"total":1`},
			{"GET", "/corrected", manager, nil, 200, "IMP 3,'=Three"},
			{"GET", "/corrected?status=invalid", manager, nil, 200, "What is wrong"},
		} {
			r := k.Call(testkit.Request{Method: c.method, Path: at + c.path, As: c.as, Body: c.body})
			if r.Status != c.status || !strings.Contains(string(r.Body), c.has) {
				t.Errorf("%s %s: %d %s", c.method, c.path, r.Status, r.Body)
			}
		}
		r = k.Get(manager, at+"/corrected")
		if got := r.Header.Get("Content-Disposition"); got != `attachment; filename=zones-rows.csv` {
			t.Error(got)
		}
		if r := k.Post(manager, "/functions/v1/apply-import-job", map[string]any{"job_id": job.ID}); r.Status != 200 ||
			!strings.Contains(string(r.Body), `"imported_count":2`) {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})
}

// Who uploaded the wrong file takes it back: the job is cancelled, its file and
// rows are gone, and nothing can be done with it any more.
func TestImportCancelOverHTTP(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		uploaded := func(code string) string {
			body, kind := form(t, "zones", "zones.csv", "code,name\n"+code+",One\n")
			var job struct{ ID string }
			k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
				Header: map[string]string{"Content-Type": kind}}).JSON(t, &job)
			return job.ID
		}
		step := func(verb, id string) int {
			return k.Post(manager, "/functions/v1/"+verb+"-import-job", map[string]any{"job_id": id}).Status
		}
		fresh, ready, applied := uploaded("CNC-1"), uploaded("CNC-2"), uploaded("CNC-3")
		if a, b, c := step("process", ready), step("process", applied), step("apply", applied); a != 200 || b != 200 ||
			c != 200 {
			t.Fatal(a, b, c)
		}
		for _, c := range []struct {
			name, as, id string
			status       int
			has          string
		}{
			{"by a viewer", testkit.As(actor.Viewer), fresh, 403, ``},
			{"by an operator", testkit.As(actor.Operator), fresh, 403, ``},
			{"of nobody's", manager, "00000000-0000-7000-8000-000000000001", 404, ``},
			{"no id", manager, "x", 400, `job_id`},
			{"uploaded", manager, fresh, 200, `"status":"cancelled"`},
			{"ready", manager, ready, 200, `"status":"cancelled"`},
			{"again", manager, ready, 409, `status: cancelled`},
			{"applied", manager, applied, 409, `status: completed`},
		} {
			if r := k.Post(c.as, "/v1/import-jobs/"+c.id+"/cancel", nil); r.Status != c.status ||
				!strings.Contains(string(r.Body), c.has) {
				t.Errorf("%s: %d %s", c.name, r.Status, r.Body)
			}
		}
		for _, id := range []string{fresh, ready} {
			if got := step("process", id); got != 409 {
				t.Errorf("processed after it was cancelled: %d", got)
			}
			if r := k.Get(manager, "/v1/import-jobs/"+id+"/rows"); r.Status != 409 {
				t.Errorf("its rows: %d %s", r.Status, r.Body)
			}
		}
		if r := k.Get(testkit.As(actor.Admin), "/v1/audit?action=eq.import_jobs.cancel&entity_id=eq."+ready); !strings.Contains(string(r.Body), ready) {
			t.Errorf("the audit: %s", r.Body)
		}
	})
}

// How far a job is can be asked for, and followed.
func TestImportProgressOverHTTP(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		body, kind := form(t, "zones", "zones.csv", "code,name\nPRG-1,One\nPRG-2,Two\n")
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
			Header: map[string]string{"Content-Type": kind}})
		var job struct{ ID string }
		if r.JSON(t, &job); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		at := "/v1/import-jobs/" + job.ID + "/progress"
		if r := k.Get(manager, at); r.Status != 200 || !strings.Contains(string(r.Body),
			`"status":"uploaded","done":0,"total":0,"percent":0`) {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		if r := k.Get(testkit.As(actor.Viewer), at); r.Status != 403 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		for _, c := range []struct {
			verb, as string
			body     map[string]any
		}{{"process", manager, map[string]any{"job_id": job.ID}}, {"apply", manager, map[string]any{"job_id": job.ID}},
			{"rollback", testkit.As(actor.Admin),
				map[string]any{"job_id": job.ID, "partial": true}}} {
			if r := k.Post(c.as, "/functions/v1/"+c.verb+"-import-job", c.body); r.Status != 200 {
				t.Fatalf("%s: %d %s", c.verb, r.Status, r.Body)
			}
		}
		r = k.Call(testkit.Request{Method: "GET", Path: at, As: manager,
			Header: map[string]string{"Accept": "text/event-stream"}})
		if want := `"status":"rolled_back","done":2,"total":2,"percent":100`; r.Status != 200 ||
			!strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") ||
			!strings.Contains(string(r.Body), "event: progress\ndata: {") || !strings.Contains(string(r.Body), want) {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})
}

// With a bucket for the files an import works as with a directory; while the
// bucket is away the job waits, and goes on when it is back.
func TestImportFromABucketOverHTTP(t *testing.T) {
	bucket := s3test.Start(t)
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		body, kind := form(t, "zones", "zones.csv", "code,name\nBKT-1,One\n")
		upload := testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
			Header: map[string]string{"Content-Type": kind}}
		bucket.Answer("PUT", away)
		if r := k.Call(upload); r.Status != 503 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		bucket.Heal()
		var job struct{ ID string }
		r := k.Call(upload)
		if r.JSON(t, &job); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		step := func(verb string, want int) {
			t.Helper()
			if r := k.Post(manager, "/functions/v1/"+verb+"-import-job", map[string]any{"job_id": job.ID}); r.Status != want {
				t.Fatalf("%s: %d %s", verb, r.Status, r.Body)
			}
		}
		bucket.Answer("GET", away)
		step("process", 503)
		bucket.Heal()
		step("process", 200)
		step("apply", 200)
	}, func(c *config.Config) { c.BlobURL = bucket.Address("imports") })
}

func away(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusServiceUnavailable)
}

// Texts that a spreadsheet would run leave the collection harmless, and the
// exported file imported again changes nothing.
func TestImportOfAnExport(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		imported := func(file string) string {
			t.Helper()
			body, kind := form(t, "zones", "zones.csv", file)
			var job struct{ ID string }
			k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
				Header: map[string]string{"Content-Type": kind}}).JSON(t, &job)
			k.Post(manager, "/functions/v1/process-import-job", map[string]any{"job_id": job.ID})
			return string(k.Post(manager, "/functions/v1/apply-import-job", map[string]any{"job_id": job.ID}).Body)
		}
		const path = "/v1/zones?code=like.FML-*&order=code&select=code,name"
		imported("code,name\nFML-1,=1+1\nFML-2,+4 x\nFML-3,-cmd|' /C calc'!A0\nFML-4,@sum(A1)\nFML-5,\uff1dSUM(A1)\nFML-6,''=quoted\nFML-7,-5\n")
		was := k.Get(manager, path)
		file := k.Call(testkit.Request{Method: "GET", Path: path, As: manager,
			Header: map[string]string{"Accept": "text/csv"}})
		want := "code,name\nFML-1,'=1+1\nFML-2,'+4 x\nFML-3,'-cmd|' /C calc'!A0\nFML-4,'@sum(A1)\nFML-5,'\uff1dSUM(A1)\nFML-6,''=quoted\nFML-7,-5"
		if got := strings.TrimSpace(string(file.Body)); got != want {
			t.Errorf("exported: %s", got)
		}
		if said := imported(string(file.Body)); !strings.Contains(said, "0 new, 0 changed, 7 as they were") {
			t.Error(said)
		}
		if now := k.Get(manager, path); !bytes.Equal(now.Body, was.Body) ||
			!strings.Contains(string(was.Body), `"name":"=1+1"`) {
			t.Errorf("%s became %s", was.Body, now.Body)
		}
	})
}

// The rows of a job that is over are no longer kept, which is told as such; those
// of one that has not begun are not there yet.
func TestRowsThatAreNotThere(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		over := first(t, k, "/v1/import_jobs?select=id&status=eq.completed&limit=1&tenant_id=eq."+demo.North, "id")
		begun := k.Insert(t, testkit.As(actor.Manager), "import_jobs", map[string]any{"target": "zones"})
		for id, want := range map[string]string{over: "no longer kept", begun: "must be processed first"} {
			for _, what := range []string{"rows?page=1&pageSize=5", "corrected"} {
				r := k.Get(testkit.As(actor.Admin), "/v1/import-jobs/"+id+"/"+what)
				if r.Status != http.StatusConflict || !strings.Contains(string(r.Body), want) {
					t.Errorf("%s: %d %s, want %q", what, r.Status, r.Body, want)
				}
			}
		}
	})
}

// Who may not import into a target makes no job for it as a record either, and
// touches nobody's.
func TestImportJobsAsRecords(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		ask := func(as, method, path, body string) testkit.Response {
			return k.Call(testkit.Request{Method: method, Path: path, As: as, Body: body,
				Header: map[string]string{"Prefer": "return=representation"}})
		}
		for _, c := range []struct {
			role   actor.Role
			target string
			want   int
		}{
			{actor.Safety, "items", 403}, {actor.Safety, "orders", 403}, {actor.Safety, "incidents", 201},
			{actor.Safety, "regulations", 201},
			{actor.Manager, "items", 201}, {actor.Manager, "regulations", 403}, {actor.Operator, "items", 403},
			{actor.Admin, "regulations", 201},
			{actor.Manager, "tenants", 400},
		} {
			if r := ask(testkit.As(c.role), "POST", "/v1/import_jobs", `{"target":"`+c.target+`"}`); r.Status != c.want {
				t.Errorf("%s makes a job for %s: %d %s", c.role, c.target, r.Status, r.Body)
			}
		}
		var made []struct{ ID string }
		ask(testkit.As(actor.Manager), "POST", "/v1/import_jobs", `{"target":"zones"}`).JSON(t, &made)
		if r := ask(testkit.As(actor.Safety), "PATCH", "/v1/import_jobs?id=eq."+made[0].ID,
			`{"options":{"force":true}}`); r.Status != 403 {
			t.Errorf("a safety officer changes a job for zones: %d %s", r.Status, r.Body)
		}
		if r := ask(testkit.As(actor.Admin), "PATCH", "/v1/import_jobs?id=eq."+made[0].ID,
			`{"options":{"force":true}}`); r.Status != 200 {
			t.Errorf("an administrator: %d %s", r.Status, r.Body)
		}
	})
}
