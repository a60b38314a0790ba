package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// rackSections ask a question of each kind, one of them only after a bad answer.
const rackSections = `[{"title":"Regale","items":[
	{"key":"posts","prompt":"Stützen unbeschädigt?","type":"yes_no_na","critical":true},
	{"key":"how","prompt":"Wie tief ist die Delle?","type":"number","unit":"mm","show_when":{"item":"posts","op":"==","value":"no"}},
	{"key":"never","prompt":"Nie gefragt","type":"text","show_when":{"item":"posts","op":"==","value":"yes"}},
	{"key":"wall","prompt":"Bild der Wand","type":"photo"}]},
	{"title":"Fluchtwege","items":[
	{"key":"free","prompt":"Alle frei?","type":"yes_no_na"},
	{"key":"sign","prompt":"Unterschrift","type":"signature"},
	{"key":"left","prompt":"Offen gelassen","type":"text"}]}]`

// inspectRack is an inspection that failed, with notes and photos; it returns the run.
func inspectRack(t *testing.T, k *testkit.Kit, as string) string {
	t.Helper()
	template := k.Insert(t, as, "checklist_templates",
		map[string]any{"code": "RACK", "title": "Regalprüfung", "sections": json.RawMessage(rackSections)})
	patchRecord(t, k, as, "checklist_templates", template, map[string]any{"status": "published"})
	run := k.Insert(t, as, "checklist_runs", map[string]any{"template_id": template, "title": "Halle 3 Süd"})
	for _, answer := range []map[string]any{
		{"item_key": "posts", "value": "no", "note": "Delle an Stütze №7",
			"photos": []string{photoOfRun(t, k, as, run, "Stütze 7")}},
		{"item_key": "how", "value": 12.5}, {"item_key": "free", "value": "na"},
		{"item_key": "wall", "value": []string{photoOfRun(t, k, as, run, "Die Wand")}},
		{"item_key": "sign", "value": "J. Größmann"},
	} {
		answer["run_id"] = run
		k.Insert(t, as, "checklist_answers", answer)
	}
	photoOfRun(t, k, as, run, "Übrig")
	k.Insert(t, as, "comments", map[string]any{"run_id": run, "text": "Nachprüfung nächste Woche"})
	patchRecord(t, k, as, "checklist_runs", run, map[string]any{"status": "completed"})
	return run
}

func patchRecord(t *testing.T, k *testkit.Kit, as, resource, id string, set map[string]any) {
	t.Helper()
	r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + resource + "?id=eq." + id, As: as, Body: set})
	if r.Status != 204 {
		t.Fatalf("%s: %d %s", resource, r.Status, r.Body)
	}
}

func photoOfRun(t *testing.T, k *testkit.Kit, as, run, caption string) string {
	t.Helper()
	return uploadToRun(t, k, as, run, caption, pngPicture(t, 400, 300))
}

func uploadToRun(t *testing.T, k *testkit.Kit, as, run, caption string, raw []byte) string {
	t.Helper()
	body, kind := pictureForm(t, "file", "x.png", raw, "caption", caption)
	r := k.Call(testkit.Request{Method: "POST", Path: "/v1/checklist-runs/" + run + "/photos", As: as, Body: body,
		Header: map[string]string{"Content-Type": kind}})
	var p struct{ ID string }
	r.JSON(t, &p)
	if r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return p.ID
}

// The sheet of an inspection says its result, what failed with what came of it, and each
// question that was asked with its answer; to whom it may be read by.
func TestInspectionSheet(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		path := "/v1/checklist-runs/" + inspectRack(t, k, safety) + "/inspection.pdf"
		common := []string{"Halle 3 Süd", "Regalprüfung · RACK · 1", "Regale", "Fluchtwege", "Stützen unbeschädigt?",
			"Delle an Stütze №7", "J. Größmann", "Stütze 7", "Die Wand", "Übrig", "Nachprüfung nächste Woche", "AC-"}
		for _, c := range []struct {
			language string
			wants    []string
		}{
			{"en", []string{"Inspection", "12.5 mm", "Score 50 %: 3 passed, 1 failed", "No · Fail · Critical", "Does not apply", "Not answered",
				"Actions that came of it", "What failed", "Other photos", "Page 1 of"}},
			{"de", []string{"Prüfung", "12,5 mm", "Nein ·", "· Kritisch", "Trifft nicht zu", "Nicht beantwortet", "Was nicht bestanden wurde",
				"Weitere Fotos", "Seite 1 von"}},
			{"fr", []string{"Non ·", "Sans réponse", "Autres photos", "Page 1 sur"}},
		} {
			text, _ := readSheet(t, k, safety, path+"?language="+c.language)
			holdSaid(t, "the sheet in "+c.language, text, append(common, c.wants...), "Nie gefragt", "□")
		}
		text, _ := readSheet(t, k, testkit.As(actor.Operator), path)
		holdSaid(t, "what the floor reads", text, []string{"Halle 3 Süd", "J. Größmann"}, safety)
		for as, want := range map[string]int{testkit.As(actor.Driver): 404, "admin@south.example": 404, "": 401} {
			if r := k.Get(as, path); r.Status != want {
				t.Errorf("to %q: %d %s, want %d", as, r.Status, r.Body, want)
			}
		}
		empty := k.Insert(t, safety, "checklist_runs", map[string]any{"title": "Ohne Fragen"})
		text, pages := readSheet(t, k, safety, "/v1/checklist-runs/"+empty+"/inspection.pdf")
		if pages != 1 {
			t.Errorf("%d pages of an inspection without questions: %s", pages, text)
		}
	})
}

// mottledPicture is a picture of a size whose details are hard to compress.
func mottledPicture(t *testing.T, seed uint32, wide, high int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, wide, high))
	for y := range high {
		for x := range wide {
			seed = seed*1664525 + 1013904223
			m.SetRGBA(x, y, color.RGBA{byte(x/8) ^ byte(seed>>24)&31, byte(y / 8), byte(seed>>16) & 63, 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Twenty photos as a phone takes them make a document that can be mailed; one that is
// lost is said to be.
func TestInspectionSheetIsSmall(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		run := k.Insert(t, safety, "checklist_runs", map[string]any{"title": "Zwanzig Bilder"})
		kept := 0
		for i := range 20 {
			uploadToRun(t, k, safety, run, fmt.Sprintf("Bild der Wand %d", i), mottledPicture(t, uint32(i), 2048, 1536))
		}
		dir := filepath.Join(k.App.Config.Data, "files")
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if info, err := f.Info(); err == nil {
				kept += int(info.Size())
			}
		}
		path := "/v1/checklist-runs/" + run + "/inspection.pdf"
		r := k.Get(safety, path)
		if r.Status != 200 || len(r.Body) > 8<<20 || len(r.Body)*3 > kept {
			t.Errorf("%d, %d bytes of %d kept", r.Status, len(r.Body), kept)
		}
		if err := os.RemoveAll(filepath.Join(dir, list[0].Name())); err != nil {
			t.Fatal(err)
		}
		text, _ := readSheet(t, k, safety, path)
		if strings.Count(text, "The picture is not to be had.") != 1 {
			t.Errorf("one of twenty is lost: %s", text)
		}
	})
}
