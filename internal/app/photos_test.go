package app_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// pictureForm is a multipart form with a file and the fields given in pairs.
func pictureForm(t *testing.T, part, name string, raw []byte, fields ...string) ([]byte, string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	f, err := form.CreateFormFile(part, name)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(raw)
	form.Close()
	return b.Bytes(), form.FormDataContentType()
}

func pngPicture(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// files counts what the server's file directory holds.
func files(t *testing.T, k *testkit.Kit) int {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(k.App.Config.Data, "files"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// filesBecome waits until the server's file directory holds n files: they go
// behind the answer.
func filesBecome(t *testing.T, k *testkit.Kit, n int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); files(t, k) != n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files, want %d", files(t, k), n)
		}
	}
}

// heavy is a picture of more bytes than are held in memory.
func heavy(t *testing.T) []byte { return append(pngPicture(t, 40, 30), make([]byte, 12<<20)...) }

// A large photo on its way is in a file of the data directory that has no name:
// the system's folder is not needed, and nothing is left.
func TestPhotosNeedNoTemporaryFolder(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		noTemporary(t)
		incident := k.Insert(t, testkit.As(actor.Operator), "incidents",
			map[string]any{"kind": "hazard", "title": "Oil", "occurred_at": "2026-01-05T10:00:00Z"})
		body, kind := pictureForm(t, "file", "x.png", heavy(t))
		up := testkit.Request{Method: "POST", Path: "/v1/incidents/" + incident + "/photos", As: testkit.As(actor.Operator),
			Body:   body,
			Header: map[string]string{"Content-Type": kind}}
		if r := k.Call(up); r.Status != 201 {
			t.Errorf("a member's: %d %s", r.Status, r.Body)
		}
		p, _ := newReportPage(t, k, map[string]any{"name": "Dock"})
		if r := p.send(heavy(t), "once", p.once(), "kind", "hazard", "severity", "low", "what",
			"Oil on the floor"); r.Status != 200 || !numberShown.Match(r.Body) {
			t.Errorf("anybody's: %d %s", r.Status, r.Body)
		}
		left, err := filepath.Glob(filepath.Join(k.App.Config.Data, "tmp-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v %v", left, err)
		}
	})
}

// A photo goes with its incident: uploaded and seen by those who may read it,
// refused when it is none, deleted with it.
func TestPhotos(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		op, safety := testkit.As(actor.Operator), testkit.As(actor.Safety)
		incident := k.Insert(t, op, "incidents", map[string]any{"kind": "hazard", "title": "Oil",
			"occurred_at": "2026-01-05T10:00:00Z"})
		path := "/v1/incidents/" + incident + "/photos"
		before := files(t, k)
		body, kind := pictureForm(t, "file", "invoice.pdf", pngPicture(t, 3000, 600), "caption", "Under the leveller")
		up := func(as string, body []byte, kind string) testkit.Response {
			return k.Call(testkit.Request{Method: "POST", Path: path, As: as, Body: body,
				Header: map[string]string{"Content-Type": kind}})
		}
		r := up(op, body, kind)
		var p struct {
			ID, URL, Caption string
			Width, Height    int
		}
		r.JSON(t, &p)
		if r.Status != 201 || p.Width != 2048 || p.Height != 409 || p.Caption != "Under the leveller" ||
			p.URL != path+"/"+p.ID || r.Header.Get("Location") != p.URL {
			t.Fatalf("upload: %d %s", r.Status, r.Body)
		}
		small, smallKind := pictureForm(t, "file", "x", pngPicture(t, 5, 5))
		if r := up(op, small, smallKind); r.Status != 201 {
			t.Errorf("one more: %d %s", r.Status, r.Body)
		}
		for _, quota := range []any{0, nil} { // of its own, then the server's again
			k.Call(testkit.Request{Method: "PATCH", Path: "/v1/tenants?id=eq." + demo.North, Bearer: k.Service(),
				Body: map[string]any{"photo_quota": quota}})
			if r := up(op, small, smallKind); (r.Status == 413) != (quota == 0) {
				t.Errorf("with a quota of %v: %d %s", quota, r.Status, r.Body)
			}
		}
		large, largeKind := pictureForm(t, "file", "x", make([]byte, 16<<20))
		v := k.Get(testkit.As(actor.Viewer), p.URL)
		if cfg, err := jpeg.DecodeConfig(bytes.NewReader(v.Body)); err != nil || cfg.Width != 2048 ||
			v.Header.Get("Content-Type") != "image/jpeg" ||
			!strings.Contains(v.Header.Get("Cache-Control"), "private") ||
			!strings.Contains(v.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("the picture: %d %v %v", v.Status, err, v.Header)
		}
		again := k.Call(testkit.Request{Method: "GET", Path: p.URL, As: safety,
			Header: map[string]string{"If-None-Match": v.Header.Get("ETag")}})
		if again.Status != 304 {
			t.Errorf("with its tag: %d", again.Status)
		}
		if r := k.Get(safety, "/v1/incidents?select=title,incident_photos(caption)&id=eq."+incident); !strings.Contains(string(r.Body), "Under the leveller") {
			t.Errorf("embedded: %s", r.Body)
		}
		if r := k.Get(safety, "/v1/incident_photos?select=*&incident_id=eq."+incident); !strings.Contains(string(r.Body),
			`"blob_key":null`) {
			t.Errorf("the file's key shows: %s", r.Body)
		}
		text := []byte("PK\x03\x04 not a photo")
		zipped, zipKind := pictureForm(t, "file", "photo.jpg", text)
		wrong, wrongKind := pictureForm(t, "picture", "a.png", pngPicture(t, 5, 5))
		for _, c := range []struct {
			what   string
			r      testkit.Response
			status int
		}{
			{"a zip called photo.jpg", up(op, zipped, zipKind), 415},
			{"a body without a form", up(op, pngPicture(t, 5, 5), "image/png"), 415}, {"JSON",
				up(op, []byte("{}"), "application/json"), 415},
			{"another part", up(op, wrong, wrongKind), 400}, {"a broken form", up(op, body[:40], kind), 400},
			{"no boundary", up(op, body, "multipart/form-data"), 400},
			{"16 MB", up(op, large, largeKind), 413}, {"a viewer", up(testkit.As(actor.Viewer), body, kind), 403},
			{"nobody", up("", body, kind), 401},
			{"another's incident", k.Get(testkit.As(actor.Driver), path), 404},
			{"another's photo", k.Get(testkit.As(actor.Driver), p.URL), 404}, {"another tenant",
				k.Get("admin@south.example", p.URL), 404},
			{"no id", k.Get(safety, "/v1/incidents/x/photos"), 404},
			{"no photo", k.Get(safety, path+"/0190a000-0000-7000-8000-000000000000"), 404},
			{"by the collection", k.Post(safety, "/v1/incident_photos", map[string]any{"incident_id": incident}), 403},
		} {
			if c.r.Status != c.status {
				t.Errorf("%s: %d %s, want %d", c.what, c.r.Status, c.r.Body, c.status)
			}
		}
		if n := files(t, k) - before; n != 3 {
			t.Errorf("%d files, want 3: a refused upload leaves nothing", n)
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/incident_photos?id=eq." + p.ID,
			As: safety}); r.Status != 204 {
			t.Errorf("delete: %d %s", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/incidents?id=eq." + incident,
			Bearer: k.Service()}); r.Status != 204 {
			t.Errorf("delete the incident: %d %s", r.Status, r.Body)
		}
		filesBecome(t, k, before)
		if got := first(t, k, "/v1/audit?select=action&entity_id=eq."+p.ID+"&order=at.desc&tenant_id=eq."+demo.North,
			"action"); got != "incident_photos.delete" {
			t.Errorf("audit: %s", fmt.Sprint(got))
		}
	})
}
