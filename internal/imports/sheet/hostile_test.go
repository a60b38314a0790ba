package sheet_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/bench/load"
	"holdfast/internal/fault"
	"holdfast/internal/imports/sheet"
)

// childFile names the file that a process of this test reads instead of
// running tests, and childType what it is.
const (
	childFile = "HOLDFAST_TEST_READ"
	childType = "HOLDFAST_TEST_READ_AS"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		os.Exit(readApart(path, os.Getenv(childType)))
	}
	os.Exit(m.Run())
}

// verdict is what came of a file that was read in a process of its own.
type verdict struct {
	Code string // of the refusal, or of the first damaged record
	Kind fault.Kind
	Peak int64   // most memory the process ever had, in bytes
	CPU  float64 // seconds of a core that it took
}

// readApart reads a file as an import does and prints the verdict.
func readApart(path, kind string) int {
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	code, err := readChunks(open, kind)
	v := verdict{Code: code, Peak: load.Peak(os.Getpid())}
	if err != nil {
		v.Code, v.Kind = fault.As(err).Code, fault.As(err).Kind
	}
	if v.CPU, err = load.CPU([]int{os.Getpid()}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 1
	}
	return 0
}

// readChunks holds a thousand records, or 4 MB of them, at a time, and returns
// the code of the first damaged one.
func readChunks(open sheet.Source, kind string) (bad string, err error) {
	f, err := sheet.Detect(open, sheet.Wish{Type: kind})
	if err != nil {
		return "", err
	}
	rows, err := sheet.Open(open, f)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var held [][]string
	size := 0
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return bad, nil
		}
		if err != nil {
			return "", err
		}
		if rec.Bad != nil && bad == "" {
			bad = rec.Bad.Code
		}
		held = append(held, append([]string(nil), rec.Cells...))
		for _, c := range rec.Cells {
			size += len(c)
		}
		if len(held) == 1000 || size >= 4<<20 {
			held, size = nil, 0
		}
	}
}

// judge reads a file in a process of its own.
func judge(t *testing.T, kind string, body []byte) verdict {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), childFile+"="+path, childType+"="+kind)
	child.Stderr = os.Stderr
	out, err := child.Output()
	v := verdict{}
	if err := errors.Join(err, json.Unmarshal(out, &v)); err != nil {
		t.Errorf("the process that read it: %v %s", err, out)
	}
	return v
}

// Hostile files are refused, whole or by the record, after ten seconds of a core
// at most and with 200 MB more than an innocent file needs.
func TestHostileFiles(t *testing.T) {
	innocent := judge(t, sheet.XLSX, book(t, `<row><c><v>1</v></c></row>`))
	if innocent.Code != "" || innocent.Peak == 0 {
		t.Fatalf("the innocent one: %+v", innocent)
	}
	for _, c := range []struct {
		name, code string
		body       func(t *testing.T) []byte
	}{
		{"3,000 parts", "workbook_too_large", func(t *testing.T) []byte {
			many := make([]part, 3000)
			for i := range many {
				many[i] = part{fmt.Sprintf("p%d.xml", i), "<a/>"}
			}
			return pack(t, many...)
		}},
		{"a directory that another record puts elsewhere", "workbook", elsewhere},
		{"a shared text of 200 MB", "workbook_too_large", oneText(strings.Repeat("a", 1<<20), 200)},
		{"20 MB of one letter", "workbook_too_large", oneText(strings.Repeat("a", 1<<20), 20)},
		{"105 MB that pack to a fiftieth", "workbook_too_large",
			longSheet("", unlike(600)+strings.Repeat(" ", 40<<10), 105<<20/(40<<10), "")},
		{"a size that lies", "workbook", func(t *testing.T) []byte {
			return lying(oneText(strings.Repeat("ab", 1<<20),
				60)(t))
		}},
		{"19 million shared texts", "workbook_too_large", func(t *testing.T) []byte {
			return shell(t, part{"xl/worksheets/sheet1.xml", oneCell},
				part{"xl/sharedStrings.xml", longNumber{"<sst>", strings.Repeat("<si/>", 10_000), 1900, "</sst>"}})
		}},
		{"one long text in 200,000 cells", "row_too_long", func(t *testing.T) []byte {
			var rows strings.Builder
			for r := range 1000 {
				rows.WriteString("<row>")
				for c := range 200 {
					fmt.Fprintf(&rows, `<c s="%d" t="s"><v>0</v></c>`, r*c)
				}
				rows.WriteString("</row>")
			}
			return shell(t, part{"xl/worksheets/sheet1.xml",
				"<worksheet><sheetData>" + rows.String() + "</sheetData></worksheet>"},
				part{"xl/sharedStrings.xml", "<sst><si><t>" + unlike(32<<10) + "</t></si></sst>"})
		}},
		{"the same texts in thousands of rows", "workbook_too_large", func(t *testing.T) []byte {
			var rows strings.Builder
			for r := range 2000 {
				fmt.Fprintf(&rows, `<row><c><v>%d</v></c><c t="s"><v>0</v></c><c t="s"><v>0</v></c><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>`, r)
			}
			return shell(t, part{"xl/worksheets/sheet1.xml",
				"<worksheet><sheetData>" + rows.String() + "</sheetData></worksheet>"},
				part{"xl/sharedStrings.xml", "<sst><si><t>" + unlike(31<<10) + "</t></si></sst>"})
		}},
		{"a cell with many values", "cell_too_long", longSheet(`<row><c t="str">`,
			"<v>"+strings.Repeat("x", 31_000)+unlike(1800)+"</v>", 3000, `</c></row>`)},
		{"'>' inside attributes", "", func(t *testing.T) []byte {
			return shell(t, part{"xl/worksheets/sheet1.xml", oneCell},
				part{"_rels/.rels", longNumber{"<r>", `<a b="` + strings.Repeat(">", 31_900) + `"/>` + unlike(900), 2900, "</r>"}})
		}},
		{"sheets without end", "workbook_too_large", func(t *testing.T) []byte {
			rel := `<Relationship Id="r%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>`
			rels := "<Relationships>"
			for i := range 200 {
				rels += fmt.Sprintf(rel, i+1)
			}
			tag := "<sheet " + strings.Repeat(`a="" `, 6000) + `id="x"/>` + unlike(3000)
			return pack(t, part{"xl/workbook.xml", longNumber{"<workbook>", tag, 2800, "</workbook>"}},
				part{"xl/_rels/workbook.xml.rels", rels + "</Relationships>"}, part{"xl/worksheets/sheet1.xml", oneCell})
		}},
		{"90 MB of a comment", "", func(t *testing.T) []byte {
			return shell(t, part{"xl/worksheets/sheet1.xml", oneCell},
				part{"_rels/.rels", longNumber{"<r><!--", strings.Repeat("->", 16_000) + unlike(1000), 2800, "--></r>"}})
		}},
		{"row 2^31", "workbook", sheetOf(`<row r="2147483648"><c><v>1</v></c></row>`)},
		{"row -1", "workbook", sheetOf(`<row r="-1"><c><v>1</v></c></row>`)},
		{"entities", "workbook", func(t *testing.T) []byte {
			return shell(t, part{"xl/worksheets/sheet1.xml", oneCell},
				part{"xl/sharedStrings.xml", `<!DOCTYPE sst [<!ENTITY a "` + strings.Repeat("x",
					1000) + `"><!ENTITY b "&a;&a;&a;">]><sst><si><t>&b;</t></si></sst>`})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judge(t, sheet.XLSX, c.body(t))
			if v.Code != c.code || v.Kind != 0 && v.Kind != fault.Invalid {
				t.Errorf("%+v, want %s", v, c.code)
			}
			if more := v.Peak - innocent.Peak; v.Peak == 0 || more > 200<<20 || v.CPU > 60 {
				t.Errorf("took %.1f s of a core and %d MB more than an innocent file", v.CPU, more>>20)
			}
			t.Logf("%.1f s, %d MB", v.CPU, v.Peak>>20)
		})
	}
	for kind, body := range map[string]string{
		sheet.CSV: "a,b\n" + strings.Repeat(strings.Repeat(strings.Repeat("x", 31<<10)+",", 199)+"x\n", 10),
		sheet.JSON: "[" + strings.Repeat(`{"a":"`+strings.Join([]string{"", `","b":"`, `","c":"`, `","d":"`, `","e":"`,
			`"},`},
			strings.Repeat("x", 31<<10)), 20) + `{"a":1}]`,
	} {
		if v := judge(t, kind, []byte(body)); v.Code != "row_too_long" || v.Peak-innocent.Peak > 200<<20 {
			t.Errorf("records over the bound in %s: %+v", kind, v)
		}
	}
}

// Workbooks that are damaged get their answer.
func TestDamagedWorkbooks(t *testing.T) {
	rows := func(s string) []byte { return sheetOf(s)(t) }
	whole := book(t, `<row><c><v>1</v></c></row>`)
	for _, c := range []struct {
		name, code string
		body       []byte
	}{
		{"rows backwards", "workbook", rows(`<row r="3"/><row r="2"/>`)},
		{"row past the end", "workbook", rows(`<row r="1048577"/>`)},
		{"column past the end", "workbook", rows(`<row><c r="XFE1"><v>1</v></c></row>`)},
		{"entities in the sheet", "workbook", shell(t, part{"xl/worksheets/sheet1.xml",
			`<!DOCTYPE x SYSTEM "file:///etc/passwd"><worksheet/>`})},
		{"no sheet", "workbook", pack(t, part{"xl/workbook.xml", "<workbook/>"})},
		{"a sheet that is missing", "workbook", shell(t)},
		{"half a sheet", "workbook", shell(t, part{"xl/worksheets/sheet1.xml",
			"<worksheet><sheetData><row><c><v>1</v></c></row>"})},
		{"half an archive", "workbook", whole[:len(whole)/2]},
		{"a tag without end", "workbook", rows("<row " + strings.Repeat("a", 64<<10))},
		{"a comment without end", "workbook", rows("<!-- --")},
		{"macros", "file_type", pack(t, part{"xl/workbook.xml", fmt.Sprintf(bookPart, "")},
			part{"xl/_rels/workbook.xml.rels", strings.ReplaceAll(relsPart, "/styles\"", "/vbaProject\"")},
			part{"xl/worksheets/sheet1.xml", oneCell})},
		{"two parts of one name", "workbook", shell(t, part{"xl/worksheets/sheet1.xml", oneCell},
			part{"XL/workbook.xml", ""})},
		{"201 sheets", "workbook_too_large",
			pack(t, part{"xl/workbook.xml", "<workbook>" + strings.Repeat(`<sheet name="x" id="r1"/>`, 201) + "</workbook>"},
				part{"xl/_rels/workbook.xml.rels", relsPart}, part{"xl/worksheets/sheet1.xml", oneCell})},
	} {
		if _, err := read(c.body, sheet.Wish{Type: sheet.XLSX}); !fault.HasCode(err, c.code) ||
			fault.As(err).Kind == fault.Internal {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Names out of a workbook are fit for a sentence that is kept.
func TestNamesOfSheets(t *testing.T) {
	body := pack(t, part{"xl/workbook.xml", "<workbook><sheet name=\"A\xff&#1;&#10;B\" id=\"r1\"/></workbook>"},
		part{"xl/_rels/workbook.xml.rels", relsPart}, part{"xl/worksheets/sheet1.xml", oneCell})
	f, err := sheet.Detect(bytesOf(body), sheet.Wish{Type: sheet.XLSX})
	if err != nil || len(f.Sheets) != 1 || f.Sheets[0] != "AB" {
		t.Errorf("%q %v", f.Sheets, err)
	}
	if _, err := sheet.Detect(bytesOf(body), sheet.Wish{Type: sheet.XLSX, Sheet: "C"}); err == nil ||
		!strings.HasSuffix(fault.As(err).Msg, "its sheets are: AB") {
		t.Errorf("%v", err)
	}
	body = pack(t, part{"xl/workbook.xml", fmt.Sprintf(bookPart, "")},
		part{"xl/_rels/workbook.xml.rels", strings.ReplaceAll(relsPart, "sharedStrings.xml", "a\xff&#1;.xml")},
		part{"xl/worksheets/sheet1.xml",
			oneCell}, part{"xl/a\xff\x01.xml", "<a"})
	if _, err := read(body, sheet.Wish{Type: sheet.XLSX}); err == nil ||
		!strings.Contains(fault.As(err).Msg, "part xl/a.xml is damaged") {
		t.Errorf("%v", err)
	}
}

// failing is a disk that fails in the middle of a file.
type failing struct{ file }

var errDisk = errors.New("the disk is gone")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off < 1000 {
		return 0, errDisk
	}
	return f.Reader.ReadAt(p, off)
}

// A file that cannot be read is not a file that is damaged.
func TestFailingDisk(t *testing.T) {
	body := sheetOf("<row><c t=\"str\"><v>" + unlike(200_000) + "</v></c></row>")(t)
	open := func() (io.ReadCloser, error) { return failing{file{bytes.NewReader(body)}}, nil }
	if _, err := sheet.Detect(open, sheet.Wish{Type: sheet.XLSX}); !errors.Is(err, errDisk) ||
		fault.As(err).Kind != fault.Internal {
		t.Errorf("%v", err)
	}
}

const oneCell = `<worksheet><sheetData><row><c t="s"><v>0</v></c></row></sheetData></worksheet>`

// shell is a workbook of these parts and what a workbook needs around them.
func shell(t *testing.T, parts ...part) []byte {
	t.Helper()
	return pack(t, append([]part{{"xl/workbook.xml", fmt.Sprintf(bookPart, "")},
		{"xl/_rels/workbook.xml.rels", relsPart}}, parts...)...)
}

// oneText is a workbook with one shared text: a piece, n times.
func oneText(piece string, n int) func(t *testing.T) []byte {
	return func(t *testing.T) []byte {
		return shell(t, part{"xl/worksheets/sheet1.xml", oneCell},
			part{"xl/sharedStrings.xml", longNumber{"<sst><si><t>", piece, n, "</t></si></sst>"}})
	}
}

func sheetOf(rows string) func(t *testing.T) []byte { return longSheet(rows, "", 0, "") }

func longSheet(before, piece string, n int, after string) func(t *testing.T) []byte {
	return func(t *testing.T) []byte {
		return shell(t, part{"xl/worksheets/sheet1.xml",
			longNumber{"<worksheet><sheetData>" + before, piece, n, after + "</sheetData></worksheet>"}})
	}
}

// unlike is n characters, most unlike each other.
func unlike(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = 'a' + byte(x>>24)%26
	}
	return string(b)
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

// elsewhere is an archive whose end has a small directory, and before it a
// record for large archives that puts a directory of a million entries at its
// beginning (APPNOTE.TXT 4.3.14 and 4.3.15).
func elsewhere(*testing.T) []byte {
	const n = 1_000_000
	header := make([]byte, 47)
	copy(header, "PK\x01\x02")
	header[28], header[46] = 1, 'a' // a name of one letter
	body := bytes.Repeat(header, n)
	where := len(body)
	record := make([]byte, 56)
	copy(record, "PK\x06\x06")
	binary.LittleEndian.PutUint64(record[4:], 44)
	binary.LittleEndian.PutUint64(record[24:], n)
	binary.LittleEndian.PutUint64(record[32:], n)
	binary.LittleEndian.PutUint64(record[40:], uint64(len(body)))
	locator := make([]byte, 20)
	copy(locator, "PK\x06\x07")
	binary.LittleEndian.PutUint64(locator[8:], uint64(where))
	binary.LittleEndian.PutUint32(locator[16:], 1)
	body = append(append(body, record...), locator...)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], 1)
	binary.LittleEndian.PutUint16(end[10:], 1)
	binary.LittleEndian.PutUint32(end[12:], 0xffff)
	binary.LittleEndian.PutUint32(end[16:], uint32(len(body)-0xffff))
	return append(body, end...)
}
