package imports_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast/bench/load"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/testkit/dbtest"
)

// verdict is what came of a file that a process of its own processed.
type verdict struct {
	Code, Msg string
	Kind      fault.Kind
	Stats     plan.Stats
	First     string  // code of the first row error
	Peak      int64   // most memory the process ever had, in bytes
	CPU       float64 // seconds of a core that it took
}

// judged processes a job, reads its rows once, and prints the verdict; without a
// Job it sends a file of 220 MB.
func (p place) judged(k *kit) {
	v, ctx := verdict{}, context.Background()
	res, err := &plan.Processed{}, error(nil)
	if p.Job == "" {
		_, err = k.m.Upload(ctx, k.as, imports.Request{Target: "items"}, "u.csv", &endless{left: imports.MaxFile + 20<<20})
	} else if res, err = k.m.Process(ctx, k.as, p.Job); err == nil {
		v.Stats, v.First = res.Stats, append(res.Errors, staged.RowError{})[0].Code
		_, err = k.m.Rows(ctx, k.as, p.Job, imports.RowFilter{Page: 1, PageSize: 200, Code: "nothing"})
	}
	if err != nil {
		f := fault.As(err)
		v.Code, v.Msg, v.Kind = f.Code, f.Msg, f.Kind
	}
	v.Peak = load.Peak(os.Getpid())
	if v.CPU, err = load.CPU([]int{os.Getpid()}); err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		panic(err)
	}
}

func (p place) judge(t *testing.T, job string) (v verdict) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.Step, p.Job = "judge", job
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	c := exec.CommandContext(ctx, self)
	c.Env = append(os.Environ(), childOf+"="+string(text))
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err != nil || v.Peak == 0 {
		t.Errorf("the process that read it: %v %.300s", err, out)
	}
	return v
}

// Hostile files end as failed jobs that say why, with no staged rows left, or
// as row errors; soon, and with 200 MB more memory than an innocent file needs.
// What else hides in a workbook is TestHostileFiles of package sheet.
func TestHostileImports(t *testing.T) {
	files := []struct {
		name, target, file, code, first string
		body                            []byte
	}{
		{"an innocent one", "items", "i.csv", "", "", benchFile(10)},
		{"entities", "items", "e.xlsx", "workbook", "",
			archive(t, map[string]string{"xl/sharedStrings.xml": `<!DOCTYPE sst [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><sst><si><t>&b;</t></si></sst>`})},
		{"one long text in 100,000 cells", "items", "s.xlsx", "", "row_too_long", shared(t, 500, 200)},
		{"one long text in three cells of each row", "items", "r.xlsx", "", "invalid", shared(t, 1000, 3)},
		{"long headers", "items", "h.csv", "", "", []byte("sku" + strings.Repeat("-", 32_000) + ",name\nA,B\n")},
		{"headers in eight errors of each row", "items", "w.csv", "", "number", longHeaders(2000)},
		{"rows of 200 kB", "items", "l.csv", "", "row_too_long",
			[]byte("sku,name\n" + strings.Repeat("A,B,"+strings.Repeat(strings.Repeat("x", 20_000)+",", 10)+"\n", 200))},
		{"rows of 120 kB", "items", "b.csv", "", "columns",
			[]byte("sku,name\n" + strings.Repeat("A,B,"+strings.Repeat(strings.Repeat("x", 20_000)+",", 6)+"\n", 400))},
		{"a million columns", "items", "c.csv", "too_many_columns", "",
			[]byte("sku,name" + strings.Repeat(",a", 1_000_000) + "\nA,B\n")},
		{"a cell of 2 MB", "items", "t.csv", "", "cell_too_long",
			[]byte("sku,name\nA,\"" + strings.Repeat("x", 2<<20) + "\"\n")},
		{"10,000 rows with errors", "items", "n.csv", "", "required", []byte("sku,name\n" + strings.Repeat(",B\n", 10_000))},
		{"3,000 parts", "items", "p.xlsx", "workbook_too_large", "", archive(t, manyParts(3000))},
		{"a shared text of 200 MB", "items", "g.xlsx", "workbook_too_large", "",
			archive(t, nil, long{"xl/sharedStrings.xml", "<sst><si><t>", strings.Repeat("a", 1<<20), 200, "</t></si></sst>"})},
		{"a size that lies", "items", "f.xlsx", "workbook", "",
			lying(archive(t, nil, long{"xl/sharedStrings.xml", "<sst><si><t>", strings.Repeat("ab", 1<<20), 20,
				"</t></si></sst>"}))},
		{"row 2^31 behind 3,000 good ones", "items", "o.xlsx", "workbook", "", numbered(t, "2147483648")},
		{"row -1 behind 3,000 good ones", "items", "m.xlsx", "workbook", "", numbered(t, "-1")},
	}
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		o := dbtest.Options(t, e)
		p := place{Dir: o.Dir, URL: o.URL, Files: t.TempDir()}
		open(t, o).close()
		k := reopen(t, p)
		var jobs []*jobs.Job
		for _, f := range files {
			jobs = append(jobs, k.upload(f.target, "", "", f.file, f.body))
		}
		k.close()
		var innocent int64
		for i, f := range files {
			v := p.judge(t, jobs[i].ID)
			if i == 0 {
				innocent = v.Peak
			}
			if v.Code != f.code || v.First != f.first || f.code != "" && v.Kind != fault.Invalid {
				t.Errorf("%s: %+v", f.name, v)
			}
			if more := v.Peak - innocent; more > 200<<20 || v.CPU > 60 {
				t.Errorf("%s: took %.1f s of a core and %d MB more than an innocent file", f.name, v.CPU, more>>20)
			}
			t.Logf("%s: %.1f s, %d MB more, %+v", f.name, v.CPU, (v.Peak-innocent)>>20, v.Stats)
		}
		if v := p.judge(t, ""); v.Code != "file_too_large" || v.Peak-innocent > 200<<20 || v.CPU > 60 {
			t.Errorf("a file of 220 MB: took %d MB more than an innocent file, %+v", (v.Peak-innocent)>>20, v)
		}
		k = reopen(t, p)
		if j, n := len(k.rows("import_jobs")), k.files(); j != len(files) || n != len(files) {
			t.Errorf("%d jobs and %d files, want %d", j, n, len(files))
		}
		for i, f := range files {
			job := k.find("import_jobs", "id", jobs[i].ID)
			if n := k.staged(jobs[i].ID); f.code != "" && (n != 0 || job["message"] == "" || job["message"] == nil) {
				t.Errorf("%s: %d chunks of rows are left, the job says %v", f.name, n, job["message"])
			}
			if s := k.status(jobs[i]); s != map[bool]string{true: "ready", false: "failed"}[f.code == ""] {
				t.Errorf("%s: the job is %s", f.name, s)
			}
			if _, err := k.m.Rows(context.Background(), k.as, jobs[i].ID,
				imports.RowFilter{Page: 1, PageSize: 1}); f.code != "" && !fault.HasCode(err, "import_state") {
				t.Errorf("%s: staged rows are left: %v", f.name, err)
			}
		}
	})
}

// Row counts the chunks of rows that a job has.
func (k *kit) staged(job string) (n int64) {
	k.Helper()
	if err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		return tx.One("SELECT COUNT(*) FROM import_chunks WHERE job_id = $1", []any{job},
			func(r *db.Row) error { n = r.Int(0); return nil })
	}); err != nil {
		k.Fatal(err)
	}
	return n
}

// A name that no text column holds does not keep a job from ending.
func TestSheetNames(t *testing.T) {
	each(t, func(k *kit) {
		job := k.upload("items", `{"sheet":"Third"}`, "", "s.xlsx", archive(k, map[string]string{
			"xl/workbook.xml": "<workbook xmlns:r=\"r\"><sheets><sheet name=\"A\xff&#1;\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"}))
		_, err := k.m.Process(context.Background(), k.as, job.ID)
		if f := fault.As(err); f.Code != "import_question" || k.status(job) != "failed" ||
			k.find("import_jobs", "id", job.ID)["message"] != `the workbook has no sheet "Third"; its sheets are: A` {
			k.Errorf("%v, job %s: %v", err, k.status(job), k.find("import_jobs", "id", job.ID)["message"])
		}
	})
}

// gone is a client that leaves when its file is opened; read counts the bytes
// that are read for it all the same.
type gone struct {
	imports.Files
	leave func()
	read  int
}

func (g *gone) Open(ctx context.Context, key string) (io.ReadSeekCloser, error) {
	f, err := g.Files.Open(context.WithoutCancel(ctx), key)
	g.leave()
	return goneFile{f, g}, err
}

type goneFile struct {
	io.ReadSeekCloser
	g *gone
}

func (f goneFile) Read(p []byte) (int, error) {
	n, err := f.ReadSeekCloser.Read(p)
	f.g.read += n
	return n, err
}

// Reading a file ends when nobody waits for it; the job is back where it was.
func TestReadingIsLeft(t *testing.T) {
	each(t, func(k *kit) {
		for _, name := range []string{"i.csv", "i.xlsx"} {
			body := benchFile(10)
			if name == "i.xlsx" {
				body = shared(t, 10, 1)
			}
			job := k.upload("items", "", "", name, body)
			ctx, leave := context.WithCancel(context.Background())
			o, left := k.o, &gone{Files: k.o.Files, leave: leave}
			o.Files = left
			m := imports.New(o)
			_, err := m.Process(ctx, k.as, job.ID)
			m.Close()
			if !errors.Is(err, context.Canceled) || k.status(job) != "uploaded" || left.read > 0 {
				k.Errorf("%s: %v, job %s, %d bytes were read", name, err, k.status(job), left.read)
			}
		}
	})
}

// shared is a workbook whose rows have one text of 32 kB in so many cells.
func shared(t *testing.T, rows, cells int) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteString(`<worksheet><sheetData><row><c t="str"><v>sku</v></c><c t="str"><v>name</v></c><c t="str"><v>description</v>` +
		`</c><c t="str"><v>title</v></c></row>`)
	for r := range rows {
		fmt.Fprintf(&b, `<row r="%d"><c r="A%d"><v>%d</v></c>`, r+2, r+2, r)
		for c := range cells {
			fmt.Fprintf(&b, `<c s="%d" t="s"><v>0</v></c>`, r*c)
		}
		b.WriteString("</row>")
	}
	b.WriteString("</sheetData></worksheet>")
	return archive(t, map[string]string{"xl/worksheets/sheet1.xml": b.String(), "xl/sharedStrings.xml": "<sst><si><t>" +
		strings.Repeat("word ", 32<<10/5) + "</t></si></sst>"})
}

// longHeaders are rows in which each of eight columns has an error.
func longHeaders(rows int) []byte {
	names := []string{"reorder point", "reorder quantity", "unit cost", "weight", "length", "width", "height",
		"min quantity"}
	for i, n := range names {
		names[i] = n + strings.Repeat("-", 200-len(n))
	}
	return []byte("sku,name," + strings.Join(names, ",") + "\n" + strings.Repeat("A,B"+strings.Repeat(",not a number",
		len(names))+"\n", rows))
}

// numbered is a workbook whose last row has this number.
func numbered(t *testing.T, number string) []byte {
	t.Helper()
	row := `<row%s><c t="str"><v>%s</v></c><c t="str"><v>%[2]s</v></c></row>`
	b := strings.Builder{}
	b.WriteString(`<worksheet><sheetData><row><c t="str"><v>sku</v></c><c t="str"><v>name</v></c></row>`)
	for i := range 3000 {
		fmt.Fprintf(&b, row, "", fmt.Sprint("A", i))
	}
	fmt.Fprintf(&b, row+"</sheetData></worksheet>", ` r="`+number+`"`, "B")
	return archive(t, map[string]string{"xl/worksheets/sheet1.xml": b.String()})
}

func manyParts(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("p%d.xml", i)] = "<a/>"
	}
	return all
}

// lying makes every part claim to unpack to ten bytes.
func lying(body []byte) []byte {
	for i := 0; i+46 < len(body); i++ {
		if string(body[i:i+4]) == "PK\x01\x02" {
			copy(body[i+24:], []byte{10, 0, 0, 0})
		}
	}
	return body
}

// long is a part of a workbook whose text is never whole in memory: a piece, n
// times, between two others.
type long struct {
	name, before, piece string
	n                   int
	after               string
}

func (l long) writeTo(z *zip.Writer) error {
	w, err := z.Create(l.name)
	if err == nil {
		_, err = io.WriteString(w, l.before)
	}
	for i := 0; i < l.n && err == nil; i++ {
		_, err = io.WriteString(w, l.piece)
	}
	if err == nil {
		_, err = io.WriteString(w, l.after)
	}
	return err
}

// archive is a workbook of these parts around one sheet.
func archive(k testing.TB, parts map[string]string, more ...long) []byte {
	k.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	all := map[string]string{
		"xl/workbook.xml": `<workbook xmlns:r="r"><sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" ` +
			`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="r3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" ` +
			`Target="sharedStrings.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml": `<worksheet><sheetData><row><c t="s"><v>0</v></c></row></sheetData></worksheet>`,
	}
	for name, text := range parts {
		all[name] = text
	}
	for name, text := range all {
		more = append(more, long{name: name, before: text})
	}
	for _, l := range more {
		if err := l.writeTo(z); err != nil {
			k.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		k.Fatal(err)
	}
	return b.Bytes()
}
