package app_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"compress/zlib"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// readSheet fetches a sheet and reads the text of its pages, as one with single blanks.
func readSheet(t *testing.T, k *testkit.Kit, as, path string) (text string, pages int) {
	t.Helper()
	r := k.Get(as, path)
	if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/pdf" ||
		!strings.HasPrefix(r.Header.Get("Content-Disposition"), "attachment; filename=") {
		t.Fatalf("%s to %s: %d %s %.300s", path, as, r.Status, r.Header, r.Body)
	}
	list, err := testkit.ReadPDF(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	holdDigest(t, r.Body, list)
	return strings.Join(strings.Fields(strings.Join(list, " ")), " "), len(list)
}

var digestShown = regexp.MustCompile(`SHA-256 ([0-9a-f]{64})`)

// holdDigest holds the digest at the foot of each page to the text that the file carries.
func holdDigest(t *testing.T, body []byte, pages []string) {
	t.Helper()
	carried := ""
	for rest := body; ; {
		_, after, ok := bytes.Cut(rest, []byte("stream\n"))
		if !ok {
			break
		}
		rest = after
		z, err := zlib.NewReader(bytes.NewReader(after))
		if err != nil {
			continue
		}
		raw, err := io.ReadAll(z)
		if sum := sha256.Sum256(raw); err == nil && strings.Contains(pages[0], "SHA-256 "+hex.EncodeToString(sum[:])) {
			carried = hex.EncodeToString(sum[:])
		}
	}
	for i, page := range pages {
		shown := digestShown.FindAllStringSubmatch(page, -1)
		if carried == "" || len(shown) == 0 || shown[len(shown)-1][1] != carried {
			t.Fatalf("page %d of %d shows %v, and the file carries the text of %q", i+1, len(pages), shown, carried)
		}
	}
}

// holdSaid holds a sheet to what it has to say, and to what it must not.
func holdSaid(t *testing.T, what, text string, wants []string, never ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %.6000s", what, want, text)
		}
	}
	for _, not := range never {
		if strings.Contains(text, not) {
			t.Errorf("%s says %q", what, not)
		}
	}
}

// reporter is what the demonstration's operator is called.
const reporter = "Jana Nowak"

// told is an incident with everything that a sheet tells.
type told struct{ id, worker, path string }

func tellIncident(t *testing.T, k *testkit.Kit, operator, safety string) told {
	t.Helper()
	site := k.Insert(t, testkit.As(actor.Admin), "sites",
		map[string]any{"code": "LIL", "name": "Lille Éstaires", "timezone": "Europe/Paris"})
	x := told{worker: k.Insert(t, testkit.As(actor.Admin), "workers",
		map[string]any{"employee_no": "W-77", "name": "Jürgen Größmann-Łukasz"})}
	x.id = k.Insert(t, operator, "incidents", map[string]any{"kind": "near_miss", "title": "Stapler fährt an Regal",
		"description": "Straße naß: “glissé” près du quai №4. " + strings.Repeat("Donaudampfschifffahrt", 12),
		"occurred_at": "2026-01-05T10:00:00Z", "severity": "high", "site_id": site})
	x.path = "/v1/incidents/" + x.id + "/incident.pdf"
	for _, set := range []map[string]any{
		{"status": "triaged", "lessons": "Besen bereitstellen", "immediate_action": "Abgesperrt",
			"entities": []any{map[string]any{"entity_type": "worker", "entity_id": x.worker, "role": "injured"}}},
		{"root_causes": []any{map[string]any{"method": "5whys", "layer": "underlying", "text": "Die Rinne ist verstopft",
			"whys": []string{"Öl lief aus", "Niemand putzte die Rinne"}}}},
	} {
		r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/incidents?id=eq." + x.id, As: safety, Body: set})
		if r.Status != 204 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	k.Insert(t, safety, "actions", map[string]any{"incident_id": x.id, "source": "incident", "title": "Warnweste tragen",
		"control_level": "ppe", "due_on": "2027-03-09"})
	k.Insert(t, safety, "actions", map[string]any{"incident_id": x.id, "source": "incident", "title": "Rinne abdecken",
		"control_level": "engineer", "due_on": "2027-02-08", "assignee_user_id": accountOf(t, actor.Operator)})
	k.Insert(t, operator, "comments", map[string]any{"incident_id": x.id, "text": "C’était évitable"})
	if _, r := uploadFile(t, k, safety, "incidents/"+x.id, "Schichtplan.pdf", []byte("%PDF-1.7")); r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	addPhoto(t, k, operator, x.id, pngPicture(t, 400, 300))
	return x
}

func addPhoto(t *testing.T, k *testkit.Kit, as, incident string, raw []byte) {
	t.Helper()
	body, kind := pictureForm(t, "file", "x.png", raw, "caption", "Die Pfütze")
	r := k.Call(testkit.Request{Method: "POST", Path: "/v1/incidents/" + incident + "/photos", As: as, Body: body,
		Header: map[string]string{"Content-Type": kind}})
	if r.Status != 201 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
}

// The sheet of an incident says what its page says, in the language that is asked for, and
// the moments by the clocks of its site.
func TestIncidentSheet(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		operator, safety := testkit.As(actor.Operator), testkit.As(actor.Safety)
		x := tellIncident(t, k, operator, safety)
		common := []string{"Stapler fährt an Regal", "Straße naß: “glissé” près du quai", "Lille Éstaires", "Europe/Paris",
			"Jürgen Größmann-Łukasz", "Die Rinne ist verstopft", "1. Öl lief aus", "2. Niemand putzte die Rinne",
			"Rinne abdecken", "Abgesperrt", "Besen bereitstellen", "C’était évitable", "Schichtplan.pdf", "Die Pfütze",
			reporter, safety}
		for _, c := range []struct {
			language string
			wants    []string
		}{
			{"?language=en", []string{"Incident IN-", "Near miss", "5 Jan 2026 11:00", "Injured", "Engineer",
				"8 Feb 2027", safety + " set it from “Reported” to “Triaged”", "Page 1 of"}},
			{"?language=de", []string{"Vorfall IN-", "Beinaheunfall", "05.01.2026 11:00", "Verletzt", "Technisch",
				"08.02.2027", safety + " hat es von „Gemeldet“ auf „Eingestuft“ gesetzt", "Seite 1 von", reporter + " schrieb"}},
			{"?language=fr", []string{"Incident IN-", "Presqu’accident", "05/01/2026 11:00", "Blessé", "Technique",
				"08/02/2027", "Page 1 sur", reporter + " a écrit"}},
			{"", []string{"Incident IN-", "Near miss"}},
		} {
			text, _ := readSheet(t, k, safety, x.path+c.language)
			holdSaid(t, "the sheet "+c.language, text, append(common, c.wants...), "□")
			if strings.Index(text, "Rinne abdecken") > strings.Index(text, "Warnweste tragen") {
				t.Errorf("the weaker measure is first: %s", text)
			}
		}
		if r := k.Post(testkit.As(actor.Admin), "/v1/settings",
			map[string]any{"section": "general", "key": "locale", "value": "de"}); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		text, _ := readSheet(t, k, safety, x.path)
		holdSaid(t, "the sheet of a German tenant", text, []string{"Vorfall IN-", "Seite 1 von"})
		again, _ := readSheet(t, k, safety, x.path)
		if digestShown.FindString(text) != digestShown.FindString(again) {
			t.Error("the same record has two digests")
		}
	})
}

// What a reader does not see of an incident is not on the sheet, and an incident that he
// may not read has none.
func TestIncidentSheetTellsNoMore(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		operator, safety := testkit.As(actor.Operator), testkit.As(actor.Safety)
		x := tellIncident(t, k, operator, safety)
		marks := map[string][]string{"entities": {"Jürgen Größmann"}, "root_causes": {"Rinne ist verstopft", "Öl lief aus"},
			"reported_by": {"Reported by"}, "reporter_name": nil, "follow_hash": nil, "reader_ids": nil,
			"created_by": {reporter + " reported it"}}
		r, _ := catalog.Default().Get("incidents")
		for _, role := range []actor.Role{actor.Operator, actor.Viewer, actor.Manager, actor.Safety} {
			text, _ := readSheet(t, k, testkit.As(role), x.path)
			holdSaid(t, string(role)+"'s sheet", text, []string{"Stapler fährt an Regal", "Besen bereitstellen"})
			for i := range r.Fields {
				f := &r.Fields[i]
				words, known := marks[f.Name]
				if !f.Visible(role) && !known {
					t.Errorf("%s is hidden from %s: what must not be on the sheet?", f.Name, role)
				}
				if !f.Visible(role) {
					holdSaid(t, string(role)+"'s sheet", text, nil, words...)
				}
			}
		}
		text, _ := readSheet(t, k, operator, x.path)
		holdSaid(t, "what the floor reads", text, []string{"Rinne abdecken", "Somebody added the file"}, "Warnweste tragen", safety)

		for _, c := range []struct {
			as, path string
			want     int
		}{
			{testkit.As(actor.Driver), x.path, 404}, {"admin@south.example", x.path, 404},
			{safety, "/v1/incidents/nonsense/incident.pdf", 404},
			{safety, "/v1/incidents/" + x.worker + "/incident.pdf", 404},
			{safety, x.path + "?language=xx", 400}, {safety, x.path + "?language=de&language=fr", 400},
			{safety, x.path + "?lang=de", 400}, {"", x.path, 401},
		} {
			if r := k.Get(c.as, c.path); r.Status != c.want {
				t.Errorf("%s to %q: %d %s, want %d", c.path, c.as, r.Status, r.Body, c.want)
			}
		}

		secret := k.Insert(t, operator, "incidents", map[string]any{"kind": "hazard", "title": "Unsigned",
			"occurred_at": "2026-01-05T10:00:00Z", "anonymous": true})
		addPhoto(t, k, safety, secret, pngPicture(t, 40, 30))
		text, _ = readSheet(t, k, safety, "/v1/incidents/"+secret+"/incident.pdf")
		holdSaid(t, "an anonymous report", text, []string{"Unsigned", "it was reported anonymously"}, reporter, operator,
			safety)
	})
}

// A sheet goes on over pages with all that was said; a picture that is lost is said to be,
// and a text without end is refused.
func TestIncidentSheetBounds(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		operator, safety := testkit.As(actor.Operator), testkit.As(actor.Safety)
		incident := reportHazard(t, k, operator)
		path := "/v1/incidents/" + incident + "/incident.pdf"
		text, pages := readSheet(t, k, safety, path)
		if pages != 1 || strings.Contains(text, "Photos") {
			t.Errorf("%d pages of an empty report: %s", pages, text)
		}
		rows := make([]map[string]any, 200)
		for i := range rows {
			rows[i] = map[string]any{"incident_id": incident, "text": fmt.Sprintf("Remark %d. %s", i, strings.Repeat("word ", 30))}
		}
		if r := k.Post(safety, "/v1/comments", rows); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		addPhoto(t, k, operator, incident, pngPicture(t, 40, 30))
		kept, err := os.ReadDir(filepath.Join(k.App.Config.Data, "files"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range kept {
			if err := os.RemoveAll(filepath.Join(k.App.Config.Data, "files", f.Name())); err != nil {
				t.Fatal(err)
			}
		}
		text, pages = readSheet(t, k, safety, path)
		holdSaid(t, "a long sheet", text, []string{"Remark 0.", "Remark 199.", "The picture is not to be had.",
			fmt.Sprintf("Page %d of", pages)})
		if pages < 5 {
			t.Errorf("%d pages", pages)
		}
		for i := range rows {
			rows[i]["text"] = strings.Repeat("word ", 1900)
		}
		if r := k.Post(safety, "/v1/comments", rows); r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if r := k.Get(safety, path); r.Status != 413 || !strings.Contains(string(r.Body), "read the record on its page") {
			t.Errorf("%d %.300s", r.Status, r.Body)
		}
	})
}

// Whatever is written about an incident, its sheet is made or refused in words, and says nothing
// of what this reader cannot know: actions of others.
func TestIncidentSheetOfAnyText(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		operator, safety := testkit.As(actor.Operator), testkit.As(actor.Safety)
		incident := reportHazard(t, k, operator)
		path := "/v1/incidents/" + incident + "/incident.pdf"
		for _, text := range []string{"Worker 👷\u200d♀️ fell.\n\nHe is well.", "不锈钢 first.\n\nSecond.", "English\u2029second",
			"Only {pages} boxes \u202efell"} {
			if r := k.Post(operator, "/v1/comments", map[string]any{"incident_id": incident, "text": text}); r.Status != 201 {
				t.Fatalf("%q: %d %s", text, r.Status, r.Body)
			}
			if r := k.Get(operator, path); r.Status != 200 {
				t.Errorf("%q: %d %s", text, r.Status, r.Body)
			}
		}
		k.Insert(t, safety, "actions", map[string]any{"source": "incident", "source_id": incident,
			"title": "Mend the floor"})
		said, _ := readSheet(t, k, operator, path)
		holdSaid(t, "an operator's sheet", said, []string{"Actions of others are not shown to this reader."})
		said, _ = readSheet(t, k, safety, path)
		holdSaid(t, "an officer's sheet", said, []string{"Mend the floor"})

		long := map[string]any{"incident_id": incident, "text": strings.Repeat("螺", 9000)}
		for range 3 {
			if r := k.Post(operator, "/v1/comments", long); r.Status != 201 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
		r := k.Get(operator, path)
		isShort := r.Status == 200 // no font of this machine has the sign, so that boxes of the own font stand for it
		if !isShort && (r.Status != 413 || !strings.Contains(string(r.Body), "drawn one by one")) {
			t.Errorf("%d %.300s", r.Status, r.Body)
		}
	})
}
