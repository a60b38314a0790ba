package app_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/jpeg"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/app"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/functions/programme"
	"holdfast/internal/testkit"
)

// reportHazard reports a hazard and returns its id.
func reportHazard(t *testing.T, k *testkit.Kit, as string) string {
	t.Helper()
	return k.Insert(t, as, "incidents",
		map[string]any{"kind": "hazard", "title": "Oil", "occurred_at": "2026-01-05T10:00:00Z"})
}

// accountOf is the account of the demonstration's member with a role.
func accountOf(t *testing.T, role actor.Role) string {
	t.Helper()
	for _, u := range demo.Users() {
		if u.Email == testkit.As(role) {
			return u.ID
		}
	}
	t.Fatalf("no %s", role)
	return ""
}

// countRows counts what a caller reads of a collection.
func countRows(t *testing.T, k *testkit.Kit, as, path string) int {
	t.Helper()
	var rows []map[string]any
	k.Get(as, path).JSON(t, &rows)
	return len(rows)
}

// Those who read a record read what is said about it, and nobody else, through
// every door: the collection, embedding, counting, and a name in a new row.
func TestCommentsAreReadWithTheirRecord(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		operator, driver, safety := testkit.As(actor.Operator), testkit.As(actor.Driver), testkit.As(actor.Safety)
		own, foreign := reportHazard(t, k, operator), reportHazard(t, k, driver)
		said := k.Insert(t, safety, "comments", map[string]any{"incident_id": own, "text": " Cleaned? "})
		k.Insert(t, safety, "comments", map[string]any{"incident_id": foreign, "text": "Whose oil?"})
		answer := k.Insert(t, operator, "comments", map[string]any{"incident_id": own, "text": "Yes"})

		for _, c := range []struct {
			as   string
			own  int
			rest int
		}{{operator, 2, 0}, {driver, 0, 1}, {safety, 2, 1}, {testkit.As(actor.Viewer), 2, 1}} {
			if n := countRows(t, k, c.as, "/v1/comments?incident_id=eq."+own); n != c.own {
				t.Errorf("%s reads %d comments of the operator's report, want %d", c.as, n, c.own)
			}
			if n := countRows(t, k, c.as, "/v1/comments?incident_id=eq."+foreign); n != c.rest {
				t.Errorf("%s reads %d comments of the driver's report, want %d", c.as, n, c.rest)
			}
		}
		if r := k.Get(operator, "/v1/incidents?id=eq."+own+"&select=comments(text)&comments.order=created_at"); string(r.Body) !=
			`[{"comments":[{"text":"Cleaned?"},{"text":"Yes"}]}]` {
			t.Errorf("embedded: %s", r.Body)
		}
		if r := k.Get("admin@south.example", "/v1/comments?id=eq."+said); string(r.Body) != "[]" {
			t.Errorf("another tenant reads %s", r.Body)
		}
		if r := k.Get(testkit.As(actor.Viewer), "/v1/comments?id=eq."+answer+"&select=created_by"); string(r.Body) !=
			`[{"created_by":null}]` {
			t.Errorf("a viewer reads who reported out of a comment: %s", r.Body)
		}
		if r := k.Get(operator, "/v1/comments?id=eq."+said+"&select=created_by"); !strings.Contains(string(r.Body),
			accountOf(t, actor.Safety)) {
			t.Errorf("whoever works on it does not see who speaks: %s", r.Body)
		}

		hidden := k.Post(operator, "/v1/comments", map[string]any{"incident_id": foreign, "text": "I know him"})
		missing := k.Post(operator, "/v1/comments",
			map[string]any{"incident_id": "00000000-0000-7000-8000-000000000001", "text": "I know him"})
		if hidden.Status != 409 || missing.Status != 409 || strings.ReplaceAll(string(hidden.Body), foreign, "") !=
			strings.ReplaceAll(string(missing.Body), "00000000-0000-7000-8000-000000000001", "") {
			t.Errorf("a hidden record: %d %s, a missing one: %d %s", hidden.Status, hidden.Body, missing.Status, missing.Body)
		}
		if r := k.Post(testkit.As(actor.Viewer), "/v1/comments",
			map[string]any{"incident_id": own, "text": "x"}); r.Status != 403 {
			t.Errorf("a viewer comments: %d %s", r.Status, r.Body)
		}
	})
}

// What was said stays: its author may change it for a quarter of an hour, and it
// is struck, not deleted.
func TestCommentsStay(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		operator, manager, safety := testkit.As(actor.Operator), testkit.As(actor.Manager), testkit.As(actor.Safety)
		incident := reportHazard(t, k, operator)
		comment := k.Insert(t, operator, "comments", map[string]any{"incident_id": incident, "text": "Oil from truck 4"})
		patch := func(as string, set map[string]any) testkit.Response {
			return k.Call(testkit.Request{Method: "PATCH", Path: "/v1/comments?id=eq." + comment, As: as, Body: set,
				Header: map[string]string{"Prefer": "return=representation"}})
		}

		if r := patch(operator, map[string]any{"text": "Oil from truck 5"}); r.Status != 200 ||
			!strings.Contains(string(r.Body),
				`"edited_at":"`) {
			t.Errorf("its author, at once: %d %s", r.Status, r.Body)
		}
		for what, c := range map[string]struct {
			as     string
			set    map[string]any
			status int
			says   string
		}{
			"another's words":      {safety, map[string]any{"text": "Nothing"}, 403, "the author alone"},
			"no words":             {operator, map[string]any{"text": " \n "}, 400, "text has no words"},
			"another record":       {operator, map[string]any{"incident_id": reportHazard(t, k, operator)}, 400, "incident_id"},
			"struck by a manager":  {manager, map[string]any{"status": "struck"}, 403, "struck by its author"},
			"who struck it":        {safety, map[string]any{"struck_by": accountOf(t, actor.Safety)}, 400, "struck_by"},
			"a text far too long":  {operator, map[string]any{"text": strings.Repeat("x", 100_000)}, 400, "text"},
			"a foreign person":     {operator, map[string]any{"mentions": []string{southAccount(t)}}, 409, "mentions"},
			"a person and no list": {operator, map[string]any{"mentions": "me"}, 400, "mentions"},
		} {
			if r := patch(c.as, c.set); r.Status != c.status || !strings.Contains(string(r.Body), c.says) {
				t.Errorf("%s: %d %s, want %d %s", what, r.Status, r.Body, c.status, c.says)
			}
		}
		for _, as := range []string{operator, safety} {
			if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/comments?id=eq." + comment, As: as}); r.Status != 403 {
				t.Errorf("%s deletes a comment: %d %s", as, r.Status, r.Body)
			}
		}

		age(t, k, comment)
		if r := patch(operator, map[string]any{"text": "Oil from truck 6"}); r.Status != 409 ||
			!strings.Contains(string(r.Body), "after 15 minutes") {
			t.Errorf("late: %d %s", r.Status, r.Body)
		}
		if r := patch(safety, map[string]any{"status": "struck"}); r.Status != 200 || !strings.Contains(string(r.Body),
			`"struck_by":"`+accountOf(t, actor.Safety)) || !strings.Contains(string(r.Body), "Oil from truck 5") {
			t.Errorf("an officer strikes it: %d %s", r.Status, r.Body)
		}
		if r := patch(operator, map[string]any{"text": "Oil"}); r.Status != 409 {
			t.Errorf("a struck text is changed: %d %s", r.Status, r.Body)
		}

		for what, c := range map[string]struct {
			body map[string]any
			says string
		}{
			"no record": {map[string]any{"text": "x"}, "incident_id"},
			"two records": {map[string]any{"text": "x", "incident_id": incident, "equipment_id": firstID(t, k, "equipment")},
				"equipment_id is given beside incident_id"},
			"no text": {map[string]any{"incident_id": incident}, "text"},
		} {
			if r := k.Post(operator, "/v1/comments", c.body); r.Status != 400 || !strings.Contains(string(r.Body), c.says) {
				t.Errorf("%s: %d %s", what, r.Status, r.Body)
			}
		}
	})
}

// age makes a comment older than its author may change it.
func age(t *testing.T, k *testkit.Kit, comment string) {
	t.Helper()
	testkit.Must(t, k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE comments SET created_at = $1 WHERE id = $2", time.Now().Add(-16*time.Minute), comment)
		return err
	}))
}

// sweepOldFiles makes all files old and removes those that no record names.
func sweepOldFiles(t *testing.T, k *testkit.Kit) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(k.App.Config.Data, "files", "*"))
	testkit.Must(t, err)
	old := time.Now().AddDate(0, 0, -30)
	for _, name := range list {
		testkit.Must(t, os.Chtimes(name, old, old))
	}
	_, err = app.RunJobs(t.Context(), k.App, "sweep-import-files")
	testkit.Must(t, err)
}

// bombPNG is a small PNG that claims ten gigabytes of pixels.
func bombPNG() []byte {
	body := append([]byte("IHDR"), 0, 0, 0, 0, 0, 0, 0, 0, 8, 6, 0, 0, 0)
	binary.BigEndian.PutUint32(body[4:], 60_000)
	binary.BigEndian.PutUint32(body[8:], 60_000)
	raw := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), body...)
	return binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(body))
}

// southAccount is the account of a member of the other tenant.
func southAccount(t *testing.T) string {
	t.Helper()
	for _, u := range demo.Users() {
		if strings.HasSuffix(u.Email, "@south.example") {
			return u.ID
		}
	}
	t.Fatal("nobody in the south")
	return ""
}

// firstID is the id of a record of a collection of tenant north.
func firstID(t *testing.T, k *testkit.Kit, collection string) string {
	t.Helper()
	return first(t, k, "/v1/"+collection+"?select=id&limit=1&tenant_id=eq."+demo.North, "id")
}

// officeFile is an archive with some files.
func officeFile(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, name := range names {
		f, err := archive.Create(name)
		testkit.Must(t, err)
		_, err = f.Write([]byte("application/vnd.oasis.opendocument.text"))
		testkit.Must(t, err)
	}
	testkit.Must(t, archive.Close())
	return b.Bytes()
}

// keptFile is a file as the upload answers.
type keptFile struct {
	ID, Name, Kind, URL string
	MediaType           string `json:"media_type"`
	Thumbnail           string `json:"thumbnail_url"`
	Size                int
}

// uploadFile keeps a file with a record.
func uploadFile(t *testing.T, k *testkit.Kit, as, record, name string, raw []byte) (keptFile, testkit.Response) {
	t.Helper()
	body, kind := pictureForm(t, "file", name, raw, "note", "as found")
	r := k.Call(testkit.Request{Method: "POST", Path: "/v1/" + record + "/files", As: as, Body: body,
		Header: map[string]string{"Content-Type": kind}})
	var f keptFile
	if r.Status == http.StatusCreated {
		r.JSON(t, &f)
	}
	return f, r
}

// A file is what its bytes say; what it is not, its name may not promise. It is
// read with its record and goes with it, and so do its bytes.
func TestFilesOfRecords(t *testing.T) {
	pdf := []byte("%PDF-1.7\n%%EOF\n")
	docx := officeFile(t, "[Content_Types].xml", "word/document.xml")
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		operator, driver, safety := testkit.As(actor.Operator), testkit.As(actor.Driver), testkit.As(actor.Safety)
		hazard := reportHazard(t, k, operator)
		record, before := "incidents/"+hazard, files(t, k)

		for _, c := range []struct {
			name, kept, kind string
			raw              []byte
		}{
			{"C:\\photos\\leak.PNG", "leak.jpg", "picture", pngPicture(t, 3000, 600)},
			{"leak", "leak.jpg", "picture", pngPicture(t, 30, 30)},
			{"sheet.pdf", "sheet.pdf", "pdf", pdf},
			{"../../etc/v1.2 Blatt\u202e.pdf", "v1.2 Blatt.pdf", "pdf", pdf},
			{"report.docx", "report.docx", "document", docx},
			{"list.xlsx", "list.xlsx", "spreadsheet", officeFile(t, "[Content_Types].xml", "xl/workbook.xml")},
			{"talk.pptx", "talk.pptx", "presentation", officeFile(t, "[Content_Types].xml", "ppt/presentation.xml")},
			{"letter.odt", "letter.odt", "document", officeFile(t, "mimetype", "content.xml")},
		} {
			f, r := uploadFile(t, k, operator, record, c.name, c.raw)
			if r.Status != 201 || f.Name != c.kept || f.Kind != c.kind || f.URL != "/v1/files/"+f.ID+"/content" {
				t.Errorf("%q: %d %s", c.name, r.Status, r.Body)
				continue
			}
			got := k.Get(testkit.As(actor.Viewer), f.URL)
			if got.Status != 200 || got.Header.Get("Content-Type") != f.MediaType || len(got.Body) != f.Size ||
				!strings.Contains(got.Header.Get("Content-Security-Policy"), "sandbox") {
				t.Errorf("%q is read: %d %v", c.name, got.Status, got.Header)
			}
			if saved := strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment"); saved == (f.Kind == "picture") {
				t.Errorf("%q is shown as %s", c.name, got.Header.Get("Content-Disposition"))
			}
			if (f.Kind == "picture") != (f.Thumbnail != "") {
				t.Errorf("%q has the thumbnail %q", c.name, f.Thumbnail)
			}
			if f.Thumbnail != "" {
				small := k.Get(safety, f.Thumbnail)
				if c, err := jpeg.DecodeConfig(bytes.NewReader(small.Body)); err != nil || max(c.Width, c.Height) > 320 {
					t.Errorf("the thumbnail: %d %v %v", small.Status, c, err)
				}
			}
			for _, stranger := range []string{driver, "admin@south.example"} {
				if r := k.Get(stranger, f.URL); r.Status != 404 {
					t.Errorf("%s reads a file of a hidden record: %d", stranger, r.Status)
				}
			}
		}

		for _, c := range []struct {
			what, as, record, name string
			raw                    []byte
			status                 int
			says                   string
		}{
			{"a program called pdf", operator, record, "x.pdf", []byte("MZ\x90\x00"), 415, "PDF and office documents are kept"},
			{"a document called pdf", operator, record, "x.pdf", docx, 415, "is called .pdf and is a document"},
			{"a pdf called html", operator, record, "x.html", pdf, 415, "is called .html"},
			{"macros", operator, record, "x.docx", officeFile(t, "[Content_Types].xml", "word/vbaProject.bin"), 415, "macros"},
			{"an archive", operator, record, "x.zip", officeFile(t, "a.txt"), 415, "archive"},
			{"a broken archive", operator, record, "x.docx", docx[:40], 400, "broken"},
			{"a broken picture", operator, record, "x.png", pngPicture(t, 9, 9)[:30], 400, "cannot be read"},
			{"a picture bomb", operator, record, "x.png", bombPNG(), 413, "pixels"},
			{"nothing", operator, record, "x.pdf", nil, 400, "empty"},
			{"26 MB", operator, record, "x.pdf", append(bytes.Clone(pdf), make([]byte, 26<<20)...), 413, "MB"},
			{"a viewer's", testkit.As(actor.Viewer), record, "x.pdf", pdf, 403, "permission denied"},
			{"a hidden record's", driver, record, "x.pdf", pdf, 404, "no such record"},
			{"another tenant's", "admin@south.example", record, "x.pdf", pdf, 404, "no such record"},
			{"no record's", operator, "incidents/00000000-0000-7000-8000-000000000001", "x.pdf", pdf, 404, "no such record"},
		} {
			_, r := uploadFile(t, k, c.as, c.record, c.name, c.raw)
			if r.Status != c.status || !strings.Contains(string(r.Body), c.says) {
				t.Errorf("%s: %d %s, want %d %s", c.what, r.Status, r.Body, c.status, c.says)
			}
		}
		if r := k.Post(safety, "/v1/files", map[string]any{"incident_id": hazard}); r.Status != 403 ||
			!strings.Contains(string(r.Body), "/files") {
			t.Errorf("by the collection: %d %s", r.Status, r.Body)
		}
		filesBecome(t, k, before+8+2) // two thumbnails: what was refused left nothing

		action := k.Insert(t, safety, "actions", map[string]any{"title": "Mop", "due_on": "2026-02-01"})
		if _, r := uploadFile(t, k, safety, "actions/"+action, "a.pdf", pdf); r.Status != 201 {
			t.Fatalf("of an action: %d %s", r.Status, r.Body)
		}
		k.Insert(t, safety, "comments", map[string]any{"action_id": action, "text": "Done?"})
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/actions?id=eq." + action, As: safety}); r.Status != 204 {
			t.Errorf("a record with files and comments is deleted: %d %s", r.Status, r.Body)
		}
		filesBecome(t, k, before+8+2)
		sweepOldFiles(t, k)
		if n := files(t, k); n != before+8+2 {
			t.Errorf("the sweep of what nobody owns leaves %d files, want %d", n, before+8+2)
		}
	})
}

// Every collection that comments name has files, and takes them.
func TestFilesOfEveryKind(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		admin := testkit.As(actor.Admin)
		for _, collection := range []string{
			"incidents", "actions", "checklist_runs", "training_assignments", "equipment", "orders", "shipments"} {
			id := firstID(t, k, collection)
			path := fmt.Sprintf("%s/%s", strings.ReplaceAll(collection, "_", "-"), id)
			if f, r := uploadFile(t, k, admin, path, "a.pdf", []byte("%PDF-1.4")); r.Status != 201 || f.Kind != "pdf" {
				t.Errorf("%s: %d %s", collection, r.Status, r.Body)
			}
			if n := countRows(t, k, admin, "/v1/"+collection+"?id=eq."+id+"&select=id,files!inner(name)"); n != 1 {
				t.Errorf("%s do not show their files", collection)
			}
		}
	})
}

// The file of an anonymous report says no more than the report about who made it.
func TestFilesOfAnonymousReports(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety := testkit.As(actor.Safety)
		report := k.Insert(t, safety, "incidents", map[string]any{"kind": "hazard", "title": "Shouting",
			"occurred_at": "2026-01-05T10:00:00Z", "anonymous": true})
		f, r := uploadFile(t, k, safety, "incidents/"+report, "a.pdf", []byte("%PDF-1.4"))
		if r.Status != 201 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if r := k.Get(safety, "/v1/files?select=created_by&id=eq."+f.ID); string(r.Body) != `[{"created_by":null}]` {
			t.Errorf("the maker: %s", r.Body)
		}
	})
}

// A person who is named in a comment gets a mail that leads to the record and does
// not quote it, once in a quarter of an hour; those who may not read the record, and
// the author, get none.
func TestMentionIsMailed(t *testing.T) {
	box, address := newLetterbox(t)
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		operator := testkit.As(actor.Operator)
		incident := reportHazard(t, k, operator)
		named := []string{accountOf(t, actor.Safety), accountOf(t, actor.Driver), accountOf(t, actor.Operator)}
		for range 3 {
			k.Insert(t, operator, "comments",
				map[string]any{"incident_id": incident, "text": "Who has a key for hall 9?", "mentions": named})
		}
		testkit.Must(t, run(k.App, programme.MailJob))

		got := box.next(t)
		if got.To != testkit.As(actor.Safety) || !strings.Contains(got.Subject, "You are mentioned: IN-") ||
			!strings.Contains(got.Text, k.App.Config.PublicURL+"/console/c/incidents/"+incident) ||
			strings.Contains(got.Text+got.HTML, "hall 9") {
			t.Errorf("%+v", got)
		}
		if n := len(box.got); n != 0 {
			t.Errorf("%d more mails", n)
		}
	}, func(c *config.Config) { c.SMTPURL, c.MailFrom = address, "Holdfast <noreply@holdfast.example>" })
}

// The receipt that proves a legal clock is kept with the clock and read by those who read
// clocks, by nobody who reads only the incident: it says how somebody was hurt.
func TestFilesOfClocks(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		safety, manager := testkit.As(actor.Safety), testkit.As(actor.Manager)
		c := givenSite(t, k, "LILLE", "FR", "Europe/Paris")
		incident := c.addInjury(time.Now().Add(-time.Hour), nil)
		record := "legal-clocks/" + c.clocksOf(incident)["FR-DAT"].ID
		kept, r := uploadFile(t, k, safety, record, "receipt.pdf", []byte("%PDF-1.7\n%%EOF\n"))
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}

		if _, r := uploadFile(t, k, manager, record, "receipt.pdf", []byte("%PDF-1.7\n%%EOF\n")); r.Status != 404 {
			t.Errorf("a manager adds to a clock: %d %s", r.Status, r.Body)
		}
		for as, status := range map[string]int{safety: 200, testkit.As(actor.Admin): 200, manager: 404} {
			if r := k.Get(as, kept.URL); r.Status != status {
				t.Errorf("%s reads the receipt: %d %s, want %d", as, r.Status, r.Body, status)
			}
			var list []struct{ ID string }
			k.Get(as, "/v1/files?id=eq."+kept.ID).JSON(t, &list)
			if found := len(list) == 1; found != (status == 200) {
				t.Errorf("%s lists %v", as, list)
			}
		}
		k.Insert(t, safety, "comments", map[string]any{"clock_id": strings.TrimPrefix(record, "legal-clocks/"),
			"text": "lost his thumb"})
		for path, set := range map[string]map[string]any{"comments": {"status": "shown"}, "files": {"note": "x"}} {
			for _, prefer := range [...]string{"return=representation", "return=representation, tx=rollback"} {
				r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + path + "?clock_id=not.is.null", As: manager, Body: set,
					Header: map[string]string{"Prefer": prefer}})
				if string(bytes.TrimSpace(r.Body)) != "[]" {
					t.Errorf("a manager changes %s of clocks: %d %s", path, r.Status, r.Body)
				}
			}
		}
		if r := k.Get(manager, "/v1/incidents/"+incident+"/timeline"); strings.Contains(string(r.Body), "receipt") {
			t.Errorf("the incident's timeline tells a manager of the receipt: %s", r.Body)
		}
	})
}
