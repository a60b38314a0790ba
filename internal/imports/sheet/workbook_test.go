package sheet_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"holdfast/internal/fault"
	"holdfast/internal/imports/sheet"
)

// file is bytes that can be read from any place.
type file struct{ *bytes.Reader }

func (file) Close() error { return nil }

func bytesOf(b []byte) sheet.Source {
	return func() (io.ReadCloser, error) { return file{bytes.NewReader(b)}, nil }
}

// part is one part of a workbook made by hand.
// part is one of a workbook; its text is a string, or a long.
type part struct {
	name string
	text any
}

// longNumber is a text that is never whole in memory: a piece, n times, between two others.
type longNumber struct {
	before, piece string
	n             int
	after         string
}

func (l longNumber) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, l.before)
	for i := 0; i < l.n && err == nil; i++ {
		_, err = io.WriteString(w, l.piece)
	}
	if err == nil {
		_, err = io.WriteString(w, l.after)
	}
	return err
}

func pack(t testing.TB, parts ...part) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, p := range parts {
		w, err := z.Create(p.name)
		if err != nil {
			t.Fatal(err)
		}
		text, ok := p.text.(longNumber)
		if !ok {
			text.before = p.text.(string)
		}
		if err := text.writeTo(w); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	relsPart = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="r2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="/xl/styles.xml"/>` +
		`<Relationship Id="r3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>`
	bookPart = `<?xml version="1.0"?><x:workbook xmlns:x="m" xmlns:r="r"><x:workbookPr%s/><x:sheets>` +
		`<x:sheet name="One" sheetId="1" r:id="r1"/></x:sheets></x:workbook>`
	stylePart = `<styleSheet><numFmts count="3"><numFmt numFmtId="170" formatCode="dd\.mm\.yyyy"/>` +
		`<numFmt numFmtId="171" formatCode="[Red]0.00&quot;days&quot;"/>` +
		`<numFmt numFmtId="172" formatCode="[h]:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>` +
		`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="172"/><xf numFmtId="22"/></cellXfs></styleSheet>`
	sharedPart = `<sst><si><t>sku</t></si><si><r><t>Bo</t></r><r><t xml:space="preserve">lt &amp; </t></r><r><t>&#78;ut</t></r><rPh><t>phonetic</t></rPh></si>` +
		`<si><t>a_x000D_b_x005F_x</t></si><si/></sst>`
)

// book is a workbook with one sheet of these rows.
func book(t testing.TB, rows string) []byte {
	return pack(t, part{"xl/workbook.xml", fmt.Sprintf(bookPart, "")}, part{"xl/_rels/workbook.xml.rels", relsPart},
		part{"xl/styles.xml", stylePart},
		part{"xl/sharedStrings.xml", sharedPart}, part{"xl/worksheets/sheet1.xml",
			"<worksheet><sheetData>" + rows + "</sheetData></worksheet>"})
}

// read returns all rows: "line: cells".
func read(body []byte, wish sheet.Wish) ([]string, error) {
	f, err := sheet.Detect(bytesOf(body), wish)
	if err != nil {
		return nil, err
	}
	rows, err := sheet.Open(bytesOf(body), f)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if rec.Bad != nil {
			out = append(out, fmt.Sprintf("%d! %s", rec.Line, rec.Bad.Code))
			continue
		}
		var cells []string
		for i, c := range rec.Cells {
			cells = append(cells, [...]string{"", "#", "!", "~", "@"}[rec.Kind(i)]+c)
		}
		out = append(out, fmt.Sprintf("%d: %s", rec.Line, strings.Join(cells, "|")))
	}
}

func TestWorkbookCells(t *testing.T) {
	for _, c := range []struct{ name, rows, want string }{
		{"shared texts, rich text without its phonetics",
			`<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>`, "1: sku|Bolt & Nut"},
		{"characters XML has no place for", `<row><c t="s"><v>2</v></c></row>`, "1: a\rb_x"},
		{"inline texts",
			`<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c><c r="B1" t="inlineStr"><is><r><t>y</t></r><r><t>z</t></r></is></c></row>`, "1: x|yz"},
		{"literal sections", `<row><c t="str"><v><![CDATA[a<b&amp;]]]]></v></c></row>`, "1: a<b&amp;]]"},
		{"numbers without noise", `<row><c><v>0.30000000000000004</v></c><c><v>1E-2</v></c><c><v>4006381333931</v></c><c><v>-2.50</v></c></row>`,
			"1: #0.3|#0.01|#4006381333931|#-2.5"},
		{"gaps", `<row r="1"><c r="A1"><v>1</v></c><c r="C1"><v>3</v></c></row><row r="7"><c r="B7"><v>2</v></c></row>`,
			"1: #1||#3 7: |#2|"},
		{"blank rows are none", `<row r="1"/><row r="2"><c r="A2" s="1"/></row><row r="3"><c r="A3"><v>1</v></c></row>`,
			"3: #1"},
		{"dates by style",
			`<row><c s="1"><v>45292</v></c><c s="2"><v>45292.5</v></c><c s="3"><v>45292</v></c><c s="4"><v>1.5</v></c><c s="5"><v>44197.999999999</v></c></row>`,
			"1: @2024-01-01|@2024-01-01T12:00:00|#45292|#1.5|@2021-01-02"},
		{"the day that never was", `<row><c s="1"><v>59</v></c><c s="1"><v>60</v></c><c s="1"><v>61</v></c><c s="1"><v>1</v></c><c s="1"><v>0.25</v></c></row>`,
			"1: @1900-02-28|@1900-02-29|@1900-03-01|@1900-01-01|@06:00:00"},
		{"no date before the first or after the last", `<row><c s="1"><v>-1</v></c><c s="1"><v>2958465</v></c><c s="1"><v>2958466</v></c></row>`,
			"1: #-1|@9999-12-31|#2958466"},
		{"ISO dates", `<row><c t="d"><v>2024-02-29T00:00:00</v></c></row>`, "1: 2024-02-29T00:00:00"},
		{"formulas by their result", `<row><c><f>A1+1</f><v>7</v></c><c t="str"><f>A1&amp;"x"</f><v>7x</v></c><c t="b"><v>1</v></c></row>`, "1: #7|7x|#true"},
		{"formulas without result, errors, and texts that are not there",
			`<row><c><f>A1</f></c><c t="e"><v>#N/A</v></c><c t="s"><v>99</v></c><c><v>x</v></c></row>`,
			"1: !holds a formula without its result: open the workbook in a spreadsheet program, save it and upload it again|!shows the error #N/A|!names a " +
				"text that the workbook does not have|!holds a number that cannot be read"},
		{"another prefix, comments", `<x:row><!-- <c> --><x:c t='str'><x:v>1</x:v></x:c></x:row>`, "1: 1"},
		{"a '>' inside an attribute", `<row><c t="str" x="a>b"><v>1</v></c></row>`, "1: 1"},
		{"a cell too long", `<row><c t="str"><v>` + strings.Repeat("x",
			sheet.MaxCell+1) + `</v></c></row><row><c><v>1</v></c></row>`, "1! cell_too_long 2: #1"},
		{"a row too long", `<row>` + strings.Repeat(`<c t="str"><v>`+strings.Repeat("x", 31<<10)+`</v></c>`,
			5) + `</row><row><c><v>1</v></c></row>`,
			"1! row_too_long 2: #1"},
		{"values of one cell", `<row><c t="str"><v>a</v><v>b</v></c></row>`, "1: ab"},
		{"too many columns", `<row><c r="A1"><v>1</v></c><c r="GT1"><v>1</v></c></row>`, "1! too_many_columns"},
	} {
		got, err := read(book(t, c.rows), sheet.Wish{Type: sheet.XLSX})
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s:\n got %s %v\nwant %s", c.name, strings.Join(got, " "), err, c.want)
		}
	}
}

func TestWorkbook1904(t *testing.T) {
	body := pack(t, part{"xl/workbook.xml", fmt.Sprintf(bookPart, ` date1904="1"`)},
		part{"xl/_rels/workbook.xml.rels", relsPart},
		part{"xl/styles.xml", stylePart},
		part{"xl/worksheets/sheet1.xml", `<worksheet><sheetData><row><c s="1"><v>0</v></c><c s="1"><v>43830</v></c></row></sheetData></worksheet>`})
	got, err := read(body, sheet.Wish{Type: sheet.XLSX})
	if want := []string{"1: @1904-01-01|@2024-01-01"}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
}

// The other library writes, we read.
func TestWorkbookOfOthers(t *testing.T) {
	f := excelize.NewFile()
	defer f.Close()
	if _, err := f.NewSheet("Second"); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2024, 2, 29, 13, 45, 0, 0, time.UTC)
	for i, v := range []any{"sku", "schön <&>", 12.5, true, day, "  kept  "} {
		cell, _ := excelize.CoordinatesToCellName(i+1, 1)
		if err := errors.Join(f.SetCellValue("Sheet1", cell, v), f.SetCellValue("Second", cell, v)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := f.NewStreamWriter("Second")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.SetRow("A1", []any{"inline", 3}), w.Flush()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	for wish, want := range map[string]string{"": "1: sku|schön <&>|#12.5|#true|@2024-02-29T13:45:00|  kept  ",
		"Second": "1: inline|#3", "2": "1: inline|#3"} {
		got, err := read(b.Bytes(), sheet.Wish{Type: sheet.XLSX, Sheet: wish})
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("sheet %q: %q %v", wish, got, err)
		}
	}
	if _, err := read(b.Bytes(), sheet.Wish{Type: sheet.XLSX, Sheet: "Third"}); !fault.HasCode(err, "import_question") {
		t.Errorf("a sheet that is not there: %v", err)
	}
}

// Real workbooks give the texts that the other library reads in them.
func TestRealWorkbooks(t *testing.T) {
	for _, name := range []string{"Book1", "SharedStrings", "OverflowNumericCell", "MergeCell"} {
		body, err := os.ReadFile("testdata/" + name + ".xlsx")
		if err != nil {
			t.Fatal(err)
		}
		f, err := excelize.OpenReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		first := f.GetSheetList()[0]
		rows, err := f.GetRows(first, excelize.Options{RawCellValue: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			for _, c := range r {
				if _, err := strconv.ParseFloat(c, 64); err != nil && strings.TrimSpace(c) != "" {
					want[strings.TrimSpace(c)] = true
				}
			}
		}
		got, err := read(body, sheet.Wish{Type: sheet.XLSX})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all := strings.Join(got, "\n")
		for w := range want {
			if !strings.Contains(all, w) && w != "TRUE" && w != "FALSE" {
				t.Errorf("%s: %q is missing in\n%s", name, w, all)
			}
		}
		f.Close()
	}
}

func TestObjects(t *testing.T) {
	long := strings.Repeat("x", 31<<10)
	for _, c := range []struct{ name, body, want string }{
		{"an array", "[\n {\"sku\":\"A\",\"n\":1.50},\n {\"n\":2,\"ok\":true,\"sku\":null}\n]",
			"1: sku|n|ok 2: A|#1.50| 3: |#2|#true"},
		{"lines", "\ufeff{\"sku\":\"A\"}\r\n{\"sku\":\"B\",\"tags\":[\"x\", 1]}\r\n\r\n{\"sku\":\"C\\n\"}",
			"1: sku|tags 1: A| 2: B|[\"x\",1] 4: C\n|"},
		{"braces in texts", `{"a":"}{\"]"}`, `1: a 1: }{"]`},
		{"a damaged line among good ones", "{\"a\":1}\n{\"a\":}\nhello\n{\"a\":1,\"a\":2}\n{\"a\":3}",
			"1: a 1: #1 2! json 3! json 4! json 5: #3"},
		{"an unfinished end", "{\"a\":1}\n{\"a\":", "1: a 1: #1 2! json"},
		{"a cell too long", `{"a":"` + strings.Repeat("x", sheet.MaxCell+1) + `"}`, "1: a 1! json"},
		{"a record too long", `{"a":1}{"a":"` + strings.Repeat("x", 1<<20) + `"}{"a":2}`, "1: a 1: #1 1! row_too_long 1: #2"},
		{"a NUL", `{"a":"\u0000"}`, "1: a 1! control_character"},
		{"half of a pair", "{\"a\":\"\\ud800\"}\n{\"a\":\"x\\udc00\"}\n{\"a\":\"\\ud83d\\ude00\"}",
			"1: a 1! encoding 2! encoding 3: 😀"},
		{"half of a pair in a list", `{"a":["\ud800"]}`, "1: a 1! encoding"},
		{"half of a pair in a name", "{\"\\ud800\":1}", "1: \ufffd 1! encoding"},
		{"bytes that are no UTF-8", "{\"a\":\"ä\xff\"}\n{\"a\":\"ö\"}", "1: a 1! encoding 2: ö"},
		{"cells too long together", `{"a":"` + long + `","b":"` + long + `","c":"` + long + `","d":"` + long + `","e":"` + long + `"}{"a":1}`,
			"1: a|b|c|d|e 1! row_too_long 1: #1||||"},
	} {
		got, err := read([]byte(c.body), sheet.Wish{Type: sheet.JSON})
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s:\n got %q %v\nwant %q", c.name, strings.Join(got, " "), err, c.want)
		}
	}
	wide := "{"
	for i := range sheet.MaxColumns + 1 {
		wide += fmt.Sprintf(`"k%d":1,`, i)
	}
	for name, body := range map[string]string{"no records": "[1,2]", "text": "hello", "empty": "[]",
		"too wide": wide + `"z":1}`} {
		if _, err := read([]byte(body), sheet.Wish{Type: sheet.JSON}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzWorkbook(f *testing.F) {
	f.Add(book(f, `<row r="1"><c r="A1" t="s"><v>1</v></c><c s="1"><v>45292</v></c></row>`))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, err := read(body, sheet.Wish{Type: sheet.XLSX})
		if err != nil && fault.As(err).Kind == fault.Internal {
			t.Errorf("%v", err)
		}
	})
}

// FuzzSheetXML goes at the XML inside, which the archive's checksums keep the
// other target from.
func FuzzSheetXML(f *testing.F) {
	f.Add(`<row r="1"><c r="A1" t="s"><v>1</v></c></row>`, "<sst><si><t>&amp;</t></si></sst>")
	f.Add(`<row><c t="inlineStr"><is><t>_x0041_</t></is></c><c><f/></c></row>`, "<!--")
	f.Fuzz(func(t *testing.T, rows, shared string) {
		body := pack(t, part{"xl/workbook.xml", fmt.Sprintf(bookPart, "")}, part{"xl/_rels/workbook.xml.rels", relsPart},
			part{"xl/styles.xml", stylePart},
			part{"xl/sharedStrings.xml", shared}, part{"xl/worksheets/sheet1.xml",
				"<worksheet><sheetData>" + rows + "</sheetData></worksheet>"})
		_, err := read(body, sheet.Wish{Type: sheet.XLSX})
		if err != nil && fault.As(err).Kind == fault.Internal {
			t.Errorf("%v", err)
		}
	})
}

func FuzzObjects(f *testing.F) {
	f.Add(`[{"a":1},{"b":"x"}]`)
	f.Add("{\"a\":\"\\u00e9\"}\n{")
	f.Fuzz(func(t *testing.T, body string) {
		_, err := read([]byte(body), sheet.Wish{Type: sheet.JSON})
		if err != nil && fault.As(err).Kind == fault.Internal {
			t.Errorf("%v", err)
		}
	})
}

// BenchmarkWorkbook reads 100,000 rows of 12 columns and compares with the
// other library's streaming reader; the goal is 1.5 times its rows per second.
func BenchmarkWorkbook(b *testing.B) {
	for _, shared := range []bool{true, false} {
		b.Run(fmt.Sprintf("shared=%v", shared), func(b *testing.B) {
			body := bigBook(b, shared)
			var ours, theirs time.Duration
			for b.Loop() {
				start := time.Now()
				rows, err := read100k(body)
				if ours += time.Since(start); err != nil || rows != 100_000 {
					b.Fatal(rows, err)
				}
				start = time.Now()
				if n := theirRows(b, body); n != 100_000 {
					b.Fatal(n)
				}
				theirs += time.Since(start)
			}
			b.ReportMetric(100_000*float64(b.N)/ours.Seconds(), "rows/s")
			b.ReportMetric(math.Round(100*theirs.Seconds()/ours.Seconds())/100, "of-excelize")
		})
	}
}

func bigBook(b *testing.B, shared bool) []byte {
	b.Helper()
	var s strings.Builder
	var sst strings.Builder
	sst.WriteString("<sst>")
	n := 0
	for r := range 100_000 {
		fmt.Fprintf(&s, `<row r="%d">`, r+1)
		for c := range 12 {
			text := fmt.Sprintf("text %d of %d", c, r)
			switch {
			case c >= 6:
				fmt.Fprintf(&s, `<c r="%c%d"><v>%d.25</v></c>`, 'A'+c, r+1, r*c)
			case shared:
				fmt.Fprintf(&s, `<c r="%c%d" t="s"><v>%d</v></c>`, 'A'+c, r+1, n)
				sst.WriteString("<si><t>" + text + "</t></si>")
				n++
			default:
				fmt.Fprintf(&s, `<c r="%c%d" t="inlineStr"><is><t>%s</t></is></c>`, 'A'+c, r+1, text)
			}
		}
		s.WriteString("</row>")
	}
	return pack(b,
		part{"[Content_Types].xml",
			`<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`},
		part{"_rels/.rels",
			`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
				`<Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" ` +
				`Target="xl/workbook.xml"/></Relationships>`},
		part{"xl/workbook.xml",
			`<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ` +
				`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets></workbook>`},
		part{"xl/_rels/workbook.xml.rels", relsPart}, part{"xl/styles.xml",
			`<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs><xf numFmtId="0"/></cellXfs></styleSheet>`},
		part{"xl/sharedStrings.xml", strings.Replace(sst.String(), "<sst>",
			`<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">`, 1) + "</sst>"},
		part{"xl/worksheets/sheet1.xml", `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + s.String() +
			"</sheetData></worksheet>"})
}

func read100k(body []byte) (int, error) {
	f, err := sheet.Detect(bytesOf(body), sheet.Wish{Type: sheet.XLSX})
	if err != nil {
		return 0, err
	}
	rows, err := sheet.Open(bytesOf(body), f)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for n := 0; ; n++ {
		if _, err := rows.Next(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

func theirRows(b *testing.B, body []byte) int {
	b.Helper()
	f, err := excelize.OpenReader(bytes.NewReader(body), excelize.Options{UnzipSizeLimit: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	rows, err := f.Rows("One")
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for ; rows.Next(); n++ {
		if _, err := rows.Columns(); err != nil {
			b.Fatal(err)
		}
	}
	return n
}
