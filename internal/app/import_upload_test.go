package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/imports"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/s3test"
)

// formOf is a form of parts in this order, each name=text; the part file holds
// rows of zones that begin with text, in so many bytes.
func formOf(t *testing.T, size int, parts ...string) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		name, text, _ := strings.Cut(p, "=")
		var err error
		if name == "file" {
			var part io.Writer
			if part, err = w.CreateFormFile("file", "zones.csv"); err == nil {
				head := "code,name\n" + text + ",One\n"
				_, err = io.WriteString(part, head+strings.Repeat("\n", max(0, size-len(head))))
			}
		} else {
			err = w.WriteField(name, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// noTemporary leaves the process no folder for temporary files.
func noTemporary(t *testing.T) { t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none")) }

// A form goes into the file store as it comes, whatever the order of its parts,
// and what is wrong with any of them leaves neither job nor file.
func TestImportFormParts(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		noTemporary(t)
		manager := testkit.As(actor.Manager)
		const size = 3 << 19 // more than stays in memory
		jobs, kept := k.Counted(t, "import_jobs"), files(t, k)
		for n, c := range []struct {
			parts  []string
			status int
			has    string
		}{
			{[]string{"target=zones", `options={"mode":"insert"}`, "file"}, 201, `"options":{"mode":"insert"}`},
			{[]string{"file", "target=zones", `mapping={"code":"code"}`, `options={"mode":"insert"}`}, 201,
				`"mapping":{"code":"code"}`},
			{[]string{`options={"mode":"insert"}`, "file", "target=zones"}, 201, `"options":{"mode":"insert"}`},
			{[]string{"target=zones", "file", "target=zones"}, 400, "part target is given more than once"},
			{[]string{"file", "target=zones", "file"}, 400, "part file is given more than once"},
			{[]string{"file", "target=zones", "colour=red"}, 400, `part \"colour\" is not known`},
			{[]string{"file", "target=zones", `options={"mode"`}, 400, "options"},
			{[]string{"file", "target=zoness"}, 400, `did you mean \"zones\"?`},
			{[]string{"file", "target=regulations"}, 403, ""},
			{[]string{"file"}, 400, "target"},
			{[]string{"target=zones"}, 400, "exactly one part called file"},
			{append(slices.Repeat([]string{""}, 100), "target=zones", "file"), 400, "more than 100 parts"},
			{[]string{"file", "target=zones", "mapping=" + strings.Repeat(" ", 2<<20) + "{}"}, 413, "besides the file"},
		} {
			for i, p := range c.parts {
				if p == "file" {
					c.parts[i] = fmt.Sprintf("file=PRT-%d", n)
				}
			}
			body, kind := formOf(t, size, c.parts...)
			r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
				Header: map[string]string{"Content-Type": kind}})
			if r.Status != c.status || !strings.Contains(string(r.Body), c.has) {
				t.Errorf("%.60q: %d %s", c.parts, r.Status, r.Body)
			}
			if r.Status == 201 {
				jobs, kept = jobs+1, kept+1
			}
			if j, f := k.Counted(t, "import_jobs"), files(t, k); j != jobs || f != kept {
				t.Fatalf("%.60q: %d jobs and %d files, want %d and %d", c.parts, j, f, jobs, kept)
			}
		}
		var job struct{ ID string }
		k.Post(manager, "/v1/import-jobs", map[string]string{"target": "zones"}).JSON(t, &job)
		body, kind := formOf(t, size, "file=PRT-99")
		if r := k.Call(testkit.Request{Method: "PUT", Path: "/v1/import-jobs/" + job.ID + "/file", As: manager, Body: body,
			Header: map[string]string{"Content-Type": kind}}); r.Status != 200 || files(t, k) != kept+1 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	})
}

// Who may not upload is told so before the file is read.
func TestImportRefusedUnread(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		manager := testkit.As(actor.Manager)
		var job struct{ ID string }
		k.Post(manager, "/v1/import-jobs", map[string]string{"target": "zones"}).JSON(t, &job)
		// begin sends the first part of a large form, and the rest never.
		begin := func(method, path, as string, parts ...string) (int, string) {
			t.Helper()
			body, kind := formOf(t, 40<<20, parts...)
			hold, end := io.Pipe()
			defer end.Close()
			req, err := http.NewRequest(method, k.URL+path, io.MultiReader(bytes.NewReader(body[:2<<20]), hold))
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = int64(len(body))
			req.Header.Set("Content-Type", kind)
			req.Header.Set("Authorization", "Bearer "+k.Token(as))
			res, err := (&http.Client{Timeout: 20 * time.Second}).Do(req)
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return res.StatusCode, string(text)
		}
		put := "/v1/import-jobs/" + job.ID + "/file"
		refused := func(what, method, path, as string, status int, has string, parts ...string) {
			t.Helper()
			if got, text := begin(method, path, as, parts...); got != status || !strings.Contains(text, has) || files(t, k) > 1 {
				t.Errorf("%s: %d %s, %d files", what, got, text, files(t, k))
			}
		}
		refused("a viewer", "POST", "/v1/import-jobs", testkit.As(actor.Viewer), 403, "42501", "file", "target=zones")
		refused("a viewer's file for a job", "PUT", put, testkit.As(actor.Viewer), 403, "42501", "file")
		refused("a target of others", "POST", "/v1/import-jobs", manager, 403, "42501", "target=regulations", "file")
		body, kind := formOf(t, 1<<20, "target=zones", "file=QTA-1")
		full := testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: manager, Body: body,
			Header: map[string]string{"Content-Type": kind, "Idempotency-Key": "quota"}}
		first := k.Call(full)
		if first.Status != 201 {
			t.Fatalf("%d %s", first.Status, first.Body)
		}
		refused("over the quota", "POST", "/v1/import-jobs", manager, 413, "file_quota", "file", "target=zones")
		refused("a job's file over the quota", "PUT", put, manager, 413, "file_quota", "file")
		if again := k.Call(full); again.Status != 201 || !bytes.Equal(again.Body, first.Body) || files(t, k) != 1 {
			t.Errorf("what filled the quota, repeated: %d %s, %d files", again.Status, again.Body, files(t, k))
		}
		full.Header["Idempotency-Key"] = "another"
		if r := k.Call(full); r.Status != 413 {
			t.Errorf("under another key: %d %s", r.Status, r.Body)
		}
	}, func(c *config.Config) { c.ImportQuota = 1 })
}

// A file that is too large, or breaks off, is refused as such and leaves
// nothing.
func TestImportTooLargeOrCutOff(t *testing.T) {
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		noTemporary(t)
		manager := testkit.As(actor.Manager)
		var job struct{ ID string }
		k.Post(manager, "/v1/import-jobs", map[string]string{"target": "zones"}).JSON(t, &job)
		put := "/v1/import-jobs/" + job.ID + "/file"
		jobs := k.Counted(t, "import_jobs")
		fileFirst, kind := formOf(t, 3<<20, "file=CUT-1", "target=zones")
		fileLast, lastKind := formOf(t, 3<<20, "target=zones", "file=CUT-1")
		raw := map[string]string{"Content-Type": "text/csv"}
		for _, c := range []struct {
			what, method, path string
			header             map[string]string
			body               []byte
			sent               int // of the body, the rest is cut off
			status             int
		}{
			{"in the file", "POST", "/v1/import-jobs", map[string]string{"Content-Type": lastKind}, fileLast,
				len(fileLast) * 9 / 10, 400},
			{"in the file, the first part", "POST", "/v1/import-jobs", map[string]string{"Content-Type": kind}, fileFirst,
				len(fileFirst) * 9 / 10, 400},
			{"behind the file", "POST", "/v1/import-jobs", map[string]string{"Content-Type": kind}, fileFirst,
				len(fileFirst) - 20, 400},
			{"in a job's file", "PUT", put, map[string]string{"Content-Type": kind}, fileFirst, len(fileFirst) * 9 / 10, 400},
			{"in a body without a form", "PUT", put + "?name=z.csv", raw, fileFirst, len(fileFirst) * 9 / 10, 400},
		} {
			if got := cutOff(t, k, c.method, c.path, c.header, c.body, c.sent); got != c.status {
				t.Errorf("cut off %s: %d", c.what, got)
			}
			if c.header["Content-Type"] == kind || c.header["Content-Type"] == lastKind { // a whole request, half a form
				if r := k.Call(testkit.Request{Method: c.method, Path: c.path, As: manager, Header: c.header,
					Body: c.body[:c.sent]}); r.Status != c.status {
					t.Errorf("half a form, %s: %d %s", c.what, r.Status, r.Body)
				}
			}
		}
		if k.Engine == "SQLite" { // the file store is the same
			tooLarge, kind := formOf(t, imports.MaxFile+1, "file=BIG-1", "target=zones")
			for _, q := range []testkit.Request{
				{Method: "POST", Path: "/v1/import-jobs", Body: tooLarge, Header: map[string]string{"Content-Type": kind}},
				{Method: "PUT", Path: put, Body: tooLarge, Header: map[string]string{"Content-Type": kind}},
				{Method: "PUT", Path: put + "?name=z.csv", Body: tooLarge, Header: raw},
			} {
				q.As = manager
				if r := k.Call(q); r.Status != 413 || !strings.Contains(string(r.Body), "200 MB") {
					t.Errorf("too large, %s %s: %d %s", q.Method, q.Path, r.Status, r.Body)
				}
			}
		}
		if j, f := k.Counted(t, "import_jobs"), files(t, k); j != jobs || f != 0 {
			t.Errorf("%d jobs and %d files are left, want %d and none", j, f, jobs)
		}
	})
}

// A file store without room is told as such.
func TestImportNoRoom(t *testing.T) {
	bucket := s3test.Start(t)
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		body, kind := formOf(t, 0, "file=RM-1", "target=zones")
		bucket.Answer("PUT", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusInsufficientStorage)
		})
		defer bucket.Heal()
		if r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Manager), Body: body,
			Header: map[string]string{"Content-Type": kind}}); r.Status != 507 || !strings.Contains(string(r.Body), "no_space") {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}, func(c *config.Config) { c.BlobURL = bucket.Address("imports") })
}

// A file store that is not there any more, or that is a broken disk, is away and is told as
// such: 503 and the code of the database's disk, for uploads and for what was kept.
func TestImportStoreGone(t *testing.T) {
	dir := ""
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		body, kind := formOf(t, 0, "file=RM-1", "target=zones")
		upload := testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Manager), Body: body,
			Header: map[string]string{"Content-Type": kind}}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		r := k.Call(upload)
		if r.Status != 503 || !strings.Contains(string(r.Body), `"58030"`) || r.Header.Get("Retry-After") == "" {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}, func(c *config.Config) {
		dir = t.TempDir()
		c.BlobURL = "file://" + dir
	})
}

// cutOff sends the beginning of a request's body and hangs up its side, and
// returns the status of the answer.
func cutOff(t *testing.T, k *testkit.Kit, method, path string, header map[string]string, body []byte, sent int) int {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(k.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	req, err := http.NewRequest(method, k.URL+path, io.NopCloser(bytes.NewReader(body[:sent])))
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(body))
	for name, v := range header {
		req.Header.Set(name, v)
	}
	req.Header.Set("Authorization", "Bearer "+k.Token(testkit.As(actor.Manager)))
	_ = req.Write(conn) // it says that the body is short
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	res.Body.Close()
	return res.StatusCode
}
