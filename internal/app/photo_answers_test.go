package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// inspection makes one that asks for a photo, for a tenant's officer.
func inspection(t *testing.T, k *testkit.Kit, as, code string) string {
	t.Helper()
	made := func(path string, body map[string]any) string { return k.Insert(t, as, path, body) }
	tpl := made("checklist_templates",
		map[string]any{"code": code, "title": "Wall",
			"sections": json.RawMessage(`[{"title":"All","items":[{"key":"wall","prompt":"Wall","type":"photo","required":true},` +
				`{"key":"dry","prompt":"Dry","type":"yes_no_na"}]}]`)})
	if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/checklist_templates?id=eq." + tpl, As: as,
		Body: map[string]any{"status": "published"}}); r.Status != 204 {
		t.Fatalf("publish: %d %s", r.Status, r.Body)
	}
	return made("checklist_runs", map[string]any{"template_id": tpl})
}

// An inspection is answered with photos of its own: those of another, of an
// incident, of another tenant, or of nobody, are refused by the field, whether
// they are the answer or stand beside it.
func TestInspectionPhotos(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety, south := testkit.As(actor.Safety), "admin@south.example"
		run, other, foreign := inspection(t, k, safety, "WALL"), inspection(t, k, safety, "WALL2"),
			inspection(t, k, south, "WALL")
		incident := k.Insert(t, safety, "incidents", map[string]any{"kind": "hazard", "title": "Crack",
			"occurred_at": "2026-01-05T10:00:00Z"})
		form, kind := pictureForm(t, "file", "wall.png", pngPicture(t, 40, 30), "caption", "North wall")
		up := func(as, path string) testkit.Response {
			return k.Call(testkit.Request{Method: "POST", Path: path, As: as, Body: form,
				Header: map[string]string{"Content-Type": kind}})
		}
		photo := func(as, path string) string {
			t.Helper()
			var p struct{ ID, URL string }
			r := up(as, path)
			r.JSON(t, &p)
			if r.Status != 201 || p.URL != path+"/"+p.ID {
				t.Fatalf("%s: %d %s", path, r.Status, r.Body)
			}
			return p.ID
		}
		of := func(id string) string { return "/v1/checklist-runs/" + id + "/photos" }
		mine := photo(testkit.As(actor.Operator), of(run))
		for what, id := range map[string]string{"another inspection's": photo(safety, of(other)),
			"an incident's":    photo(safety, "/v1/incidents/"+incident+"/photos"),
			"another tenant's": photo(south, of(foreign)), "nobody's": "0190a000-0000-7000-8000-00000000dead"} {
			for field, body := range map[string]map[string]any{"value": {"run_id": run, "item_key": "wall",
				"value": []string{mine, id}},
				"photos": {"run_id": run, "item_key": "dry", "value": "yes", "photos": []string{id}}} {
				if r := k.Post(safety, "/v1/checklist_answers", body); r.Status != 409 ||
					!strings.Contains(string(r.Body), `"23503","message":"`+field+` names`) {
					t.Errorf("%s photo as %s: %d %s", what, field, r.Status, r.Body)
				}
			}
		}
		answer := k.Insert(t, testkit.As(actor.Operator), "checklist_answers",
			map[string]any{"run_id": run, "item_key": "wall", "value": []string{strings.ToUpper(mine)},
				"photos": []string{mine}})
		if v := k.Get(testkit.As(actor.Viewer), of(run)+"/"+mine); v.Status != 200 ||
			v.Header.Get("Content-Type") != "image/jpeg" {
			t.Errorf("the picture: %d", v.Status)
		}
		for what, r := range map[string]testkit.Response{"another tenant": k.Get(south, of(run)+"/"+mine),
			"a driver who has no part in it": k.Get(testkit.As(actor.Driver), of(run)),
			"of another inspection":          k.Get(safety, of(other)+"/"+mine)} {
			if r.Status != 404 {
				t.Errorf("%s: %d %s", what, r.Status, r.Body)
			}
		}
		// What an answer named may go; the answer stays as it is.
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/checklist_photos?id=eq." + mine,
			As: safety}); r.Status != 204 {
			t.Errorf("delete: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/checklist_answers?id=eq." + answer, As: safety,
			Body: map[string]any{"note": "gone"}}); r.Status != 204 {
			t.Errorf("a note beside a photo that is gone: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/checklist_runs?id=eq." + run, As: safety,
			Body: map[string]any{"status": "completed"}}); r.Status != 204 {
			t.Fatalf("complete: %d %s", r.Status, r.Body)
		}
		if r := up(safety, of(run)); r.Status != 409 || !strings.Contains(string(r.Body), "completed") {
			t.Errorf("a photo behind the end: %d %s", r.Status, r.Body)
		}
		before := files(t, k)
		photo(safety, of(other))
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/checklist_runs?id=eq." + other,
			Bearer: k.Service()}); r.Status != 204 {
			t.Errorf("delete the inspection: %d %s", r.Status, r.Body)
		}
		filesBecome(t, k, before-1)
	})
}

// noise is a picture that hardly compresses.
func noise(t *testing.T, side int) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, side, side))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = uint8(r.UintN(256))
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The photos of a tenant have a bound, whatever they belong to. A report past it
// is taken without its photo; another tenant has its own room; what is deleted
// makes room.
func TestPhotoQuota(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		incident := k.Insert(t, safety, "incidents", map[string]any{"kind": "hazard", "title": "Oil",
			"occurred_at": "2026-01-05T10:00:00Z"})
		big := noise(t, 950) // 0.7 MB as it is kept
		form, kind := pictureForm(t, "file", "x.png", big)
		up := func(as, path string) testkit.Response {
			return k.Call(testkit.Request{Method: "POST", Path: path, As: as, Body: form,
				Header: map[string]string{"Content-Type": kind}})
		}
		path := "/v1/incidents/" + incident + "/photos"
		var first struct{ ID string }
		r := up(safety, path)
		if r.JSON(t, &first); r.Status != 201 {
			t.Fatalf("the first: %d %s", r.Status, r.Body)
		}
		kept := files(t, k)
		full := up(safety, "/v1/checklist-runs/"+inspection(t, k, safety, "FULL")+"/photos")
		if full.Status != 413 || !strings.Contains(string(full.Body), `"photo_quota"`) {
			t.Errorf("past the bound: %d %s", full.Status, full.Body)
		}
		page, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		said := page.send(big, "once", page.once(), "kind", "hazard", "severity", "low", "what", "Loose strip")
		no := numberShown.FindString(string(said.Body))
		if got := string(k.Get(safety, "/v1/incidents?select=incident_photos(id)&incident_no=eq."+no).Body); said.Status != 200 || got != `[{"incident_photos":[]}]` {
			t.Errorf("a report past the bound: %d, photos %s", said.Status, got)
		}
		filesBecome(t, k, kept)
		theirs := k.Insert(t, "admin@south.example", "incidents",
			map[string]any{"kind": "hazard", "title": "Oil", "occurred_at": "2026-01-05T10:00:00Z"})
		if r := up("admin@south.example", "/v1/incidents/"+theirs+"/photos"); r.Status != 201 {
			t.Errorf("another tenant: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/incident_photos?id=eq." + first.ID,
			As: safety}); r.Status != 204 {
			t.Errorf("delete: %d %s", r.Status, r.Body)
		}
		if r := up(safety, path); r.Status != 201 {
			t.Errorf("where one was deleted: %d %s", r.Status, r.Body)
		}
	}, func(c *config.Config) { c.PhotoQuota = 1 })
}

// Whoever finds a report link cannot get officers out of bed: what is sent
// there as critical is what could have been, and nobody is mailed. The same
// report by a member is.
func TestPublicReportPagesNobody(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		waiting := func() (n int64) {
			testkit.Must(t, k.App.DB.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
				return tx.One("SELECT COUNT(*) FROM jobs WHERE kind = 'safety-mail' AND tenant_id = $1", []any{demo.North},
					func(r *db.Row) error {
						n = r.Int(0)
						return nil
					})
			}))
			return n
		}
		before := waiting()
		page, _ := newReportPage(t, k, map[string]any{"name": "Gate"})
		for i := range 3 {
			if r := page.send(nil, "once", page.once(), "kind", "hazard", "severity", "critical", "what",
				fmt.Sprintf("Rack %d leans", i)); r.Status != 200 {
				t.Fatalf("send: %d %s", r.Status, r.Body)
			}
		}
		if n := waiting() - before; n != 0 {
			t.Errorf("%d mails about reports of strangers", n)
		}
		k.Insert(t, testkit.As(actor.Operator), "incidents",
			map[string]any{"kind": "hazard", "severity": "critical", "title": "Rack leans",
				"occurred_at": "2026-01-05T10:00:00Z"})
		if n := waiting() - before; n == 0 {
			t.Error("a member's critical report pages nobody")
		}
	}, func(c *config.Config) { c.SMTPURL = "smtp://127.0.0.1:1" })
}
