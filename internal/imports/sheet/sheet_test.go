package sheet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"holdfast/internal/fault"
	"holdfast/internal/imports/sheet"
)

type row struct {
	Line  int
	Cells []string
	Bad   string
}

func rows(t testing.TB, r sheet.Records) []row {
	t.Helper()
	var out []row
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		x := row{Line: rec.Line, Cells: append([]string(nil), rec.Cells...)}
		if rec.Bad != nil {
			x.Bad = rec.Bad.Code
		}
		out = append(out, x)
	}
}

func TestRecords(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []row
	}{
		"plain":                  {"a,b\nc,d\n", []row{{1, []string{"a", "b"}, ""}, {2, []string{"c", "d"}, ""}}},
		"no line end at the end": {"a,b\nc,", []row{{1, []string{"a", "b"}, ""}, {2, []string{"c", ""}, ""}}},
		"CRLF":                   {"a\r\nb\r\n", []row{{1, []string{"a"}, ""}, {2, []string{"b"}, ""}}},
		"CR alone": {"a,b\rc,d\re,f",
			[]row{{1, []string{"a", "b"}, ""}, {2, []string{"c", "d"}, ""}, {3, []string{"e", "f"}, ""}}},
		"quotes": {`"a,b","c ""d"""` + "\n", []row{{1, []string{"a,b", `c "d"`}, ""}}},
		"a line break in quotes": {"a,\"b\nc\"\nd,e\n",
			[]row{{1, []string{"a", "b\nc"}, ""}, {3, []string{"d", "e"}, ""}}},
		"CRLF in quotes is kept":      {"\"b\r\nc\"\nd\n", []row{{1, []string{"b\r\nc"}, ""}, {3, []string{"d"}, ""}}},
		"CR in quotes counts a line":  {"\"b\rc\"\nd\n", []row{{1, []string{"b\rc"}, ""}, {3, []string{"d"}, ""}}},
		"blank lines are no records":  {"a\n\n  \n,,\nb\n", []row{{1, []string{"a"}, ""}, {5, []string{"b"}, ""}}},
		"a quote inside a plain cell": {`5" pipe,x` + "\n", []row{{1, []string{`5" pipe`, "x"}, ""}}},
		"blanks around a quoted cell": {`a,  "b, c"  ,d`, []row{{1, []string{"a", "b, c", "d"}, ""}}},
		"text after a closing quote": {"\"a\"b,c\nd,e",
			[]row{{1, []string{"ab", "c"}, "quote"}, {2, []string{"d", "e"}, ""}}},
		"an unclosed quote": {"a,b\nc,\"d\ne,f\n",
			[]row{{1, []string{"a", "b"}, ""}, {2, []string{"c", "d\ne,f\n"}, "unclosed_quote"}}},
		"a NUL": {"a,b\x00c\n", []row{{1, []string{"a", "b\x00c"}, "control_character"}}},
		"bytes that are no UTF-8": {"a,b\xff\nc,d\n",
			[]row{{1, []string{"a", "b\xff"}, "encoding"}, {2, []string{"c", "d"}, ""}}},
		"an empty quoted cell":         {`"",x`, []row{{1, []string{"", "x"}, ""}}},
		"a formula is text":            {"=1+1,@x\n", []row{{1, []string{"=1+1", "@x"}, ""}}},
		"quotes next to the delimiter": {`"a""",b` + "\n", []row{{1, []string{`a"`, "b"}, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, rows(t, sheet.NewReader(strings.NewReader(c.text), ','))); diff != "" {
				t.Error(diff)
			}
			// The same one byte at a time: nothing may depend on how reads are cut.
			if diff := cmp.Diff(c.want, rows(t, sheet.NewReader(slow{strings.NewReader(c.text)}, ','))); diff != "" {
				t.Errorf("byte by byte: %s", diff)
			}
		})
	}
}

type slow struct{ r io.Reader }

func (s slow) Read(p []byte) (int, error) { return s.r.Read(p[:min(1, len(p))]) }

func TestLimits(t *testing.T) {
	wide := strings.Repeat("x,", 1_000_000) + "x\na,b\n"
	got := rows(t, sheet.NewReader(strings.NewReader(wide), ','))
	if len(got) != 2 || got[0].Bad != "too_many_columns" || len(got[0].Cells) != sheet.MaxColumns || got[1].Bad != "" {
		t.Errorf("a million columns: %d records, %s", len(got), got[0].Bad)
	}
	long := "a," + strings.Repeat("y", 2<<20) + ",c\nd,e,f\n"
	got = rows(t, sheet.NewReader(strings.NewReader(long), ','))
	if len(got) != 2 || got[0].Bad != "cell_too_long" || len(got[0].Cells) != 3 || got[1].Line != 2 || got[1].Bad != "" {
		t.Errorf("a cell of 2 MB: %d records, %s", len(got), got[0].Bad)
	}
	full := strings.Repeat(strings.Repeat("z", 30<<10)+",", 4)
	got = rows(t, sheet.NewReader(strings.NewReader(full+"e\n"+full+strings.Repeat("y", 9<<10)+"\nd,e,f\n"), ','))
	if len(got) != 3 || got[0].Bad != "" || got[1].Bad != "row_too_long" || len(got[1].Cells) != 0 || got[2].Line != 3 ||
		got[2].Bad != "" {
		t.Errorf("a record of 129 kB: %d records, %s %s", len(got), got[0].Bad, got[1].Bad)
	}
	start := time.Now()
	rows(t, sheet.NewReader(strings.NewReader("a"+strings.Repeat(`"`, 4<<20)+"\n"), ','))
	rows(t, sheet.NewReader(strings.NewReader(strings.Repeat(` "`, 4<<20)+"\n"), ','))
	if d := time.Since(start); d > time.Minute { // were each looked for to the end, it were hours
		t.Errorf("quotes without end took %v", d)
	}
	exact := strings.Repeat("z", sheet.MaxCell)
	if got = rows(t, sheet.NewReader(strings.NewReader(exact+"\n"), ',')); got[0].Bad != "" || got[0].Cells[0] != exact {
		t.Error("a cell of exactly the limit is refused")
	}
}

func utf16le(s string, bom bool) string {
	var b []byte
	if bom {
		b = append(b, 0xff, 0xfe)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func swap(s string) string {
	b := []byte(s)
	for i := 0; i+1 < len(b); i += 2 {
		b[i], b[i+1] = b[i+1], b[i]
	}
	return string(b)
}

func source(body string) sheet.Source {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
}

func TestDetect(t *testing.T) {
	const text = "sku;name\nA1;Größe, 5 mm\nA2;Schraube\n"
	latin := strings.NewReplacer("ö", "\xf6", "ß", "\xdf").Replace(text)
	for name, c := range map[string]struct {
		body, encoding string
		delimiter      byte
		second         string
	}{
		"UTF-8":                   {text, "utf-8", ';', "Größe, 5 mm"},
		"UTF-8 with mark":         {"\xef\xbb\xbf" + text, "utf-8", ';', "Größe, 5 mm"},
		"UTF-16 LE with mark":     {utf16le(text, true), "utf-16le", ';', "Größe, 5 mm"},
		"UTF-16 BE with mark":     {swap(utf16le(text, true)), "utf-16be", ';', "Größe, 5 mm"},
		"UTF-16 LE without mark":  {utf16le(text, false), "utf-16le", ';', "Größe, 5 mm"},
		"UTF-16 BE without mark":  {swap(utf16le(text, false)), "utf-16be", ';', "Größe, 5 mm"},
		"Windows-1252":            {latin, "windows-1252", ';', "Größe, 5 mm"},
		"tabs":                    {"a\tb\n1\t2,5\n3\t4,5\n", "utf-8", '\t', "2,5"},
		"bars":                    {"a|b\n1|2,5\n", "utf-8", '|', "2,5"},
		"commas":                  {"a,b\n1,x;y\n2,z\n", "utf-8", ',', "x;y"},
		"semicolons, comma marks": {"a;b;c\n1,5;2,5;3,5\n2,5;3,5;1,5\n", "utf-8", ';', "2,5"},
		"one column":              {"a\nb\nc\n", "utf-8", ',', ""},
		"Excel's sep line":        {"sep=;\r\na;b\r\n1;2\r\n", "utf-8", ';', "2"},
		"mostly UTF-8":            {"a,b\nä,ö\nü,\xff\n", "utf-8", ',', "ö"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := sheet.Detect(source(c.body), sheet.Wish{})
			if err != nil {
				t.Fatal(err)
			}
			if f.Encoding != c.encoding || f.Delimiter != c.delimiter {
				t.Errorf("format = %+v", f)
			}
			r, err := sheet.Open(source(c.body), f)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := rows(t, r)
			if c.second != "" && (len(got) < 2 || len(got[1].Cells) < 2 || got[1].Cells[1] != c.second) {
				t.Errorf("rows = %+v", got)
			}
		})
	}
}

// What no text is in the file's encoding is an error of its record.
func TestHalfCharacters(t *testing.T) {
	text := utf16le("a,b\nc,😀\nd,e\n", true)
	lone := strings.Replace(text, utf16le("d", false), "\x3d\xd8", 1)
	late := strings.Replace(text, utf16le("e", false), "\x00\xdc", 1)
	for name, c := range map[string]struct{ body, want string }{
		"whole":               {text, "1 2 3"},
		"the first half":      {lone, "1 2 3!encoding"},
		"the second half":     {late, "1 2 3!encoding"},
		"two halves apart":    {strings.Replace(lone, utf16le("e", false), "\x00\xdc", 1), "1 2 3!encoding"},
		"an odd byte":         {text + "x", "1 2 3 4!encoding"},
		"a half at the end":   {text + "\x3d\xd8", "1 2 3 4!encoding"},
		"the other way about": {swap(lone), "1 2 3!encoding"},
	} {
		for _, open := range []sheet.Source{source(c.body),
			func() (io.ReadCloser, error) { return io.NopCloser(slow{strings.NewReader(c.body)}), nil }} {
			f, err := sheet.Detect(open, sheet.Wish{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := sheet.Open(open, f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range rows(t, r) {
				got = append(got, strings.TrimSuffix(fmt.Sprint(x.Line, "!", x.Bad), "!"))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%s: %s, want %s", name, s, c.want)
			}
		}
	}
}

func TestDetectRefuses(t *testing.T) {
	binary := bytes.Repeat([]byte{0, 1, 2, 3, 0x80, 4, 5, 6}, 500)
	for name, body := range map[string]string{"empty": "", "binary": string(binary)} {
		if _, err := sheet.Detect(source(body), sheet.Wish{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever the bytes: no panic, no endless loop, limits kept, lines rising,
// and reading byte by byte gives the same.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"a,b\nc,d\n", "\"a\n\"\"b\",c\r\n", "\xef\xbb\xbfa;b\r1;2", "sep=;\na;b", "\"",
		"a,\"b\" c\n",
		utf16le("a,b\nc,d", true), "\x00\xff,"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		open := source(string(body))
		format, err := sheet.Detect(open, sheet.Wish{})
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		r, err := sheet.Open(open, format)
		if err != nil {
			t.Fatal(err)
		}
		fast := rows(t, r)
		r, err = sheet.Open(func() (io.ReadCloser, error) { return io.NopCloser(slow{bytes.NewReader(body)}), nil }, format)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fast, rows(t, r)); diff != "" {
			t.Fatal(diff)
		}
		line := 0
		for _, x := range fast {
			if x.Line <= line || len(x.Cells) > sheet.MaxColumns {
				t.Fatalf("line %d after %d, %d cells", x.Line, line, len(x.Cells))
			}
			line = x.Line
		}
	})
}

// An encoding is told by the words that its letters make, whatever few they are.
func TestEncodingsByTheirWords(t *testing.T) {
	for _, c := range []struct {
		set  encoding.Encoding
		name string
		text string
	}{
		{charmap.Windows1252, "windows-1252", "Café"},
		{charmap.Windows1252, "windows-1252", "Zürich Süd\nGenève"},
		{charmap.Windows1252, "windows-1252", "Cinta 5 € niño"},
		{charmap.Windows1252, "windows-1252", "20 °C\n5 µm\n±3"},
		{charmap.Windows1252, "windows-1252", "São Paulo\nligação"},
		{charmap.Windows1252, "windows-1252", "Blåbær og fløde"},
		{charmap.Windows1252, "windows-1252", "MÜLLER SÜD"},
		{charmap.Windows1252, "windows-1252", "perché;città"},
		{charmap.Windows1250, "windows-1250", "Półka górna;śruba"},
		{charmap.Windows1250, "windows-1250", "Fehér szekrény;tűz"},
		{charmap.Windows1250, "windows-1250", "Hřebík;lišta"},
		{charmap.Windows1251, "windows-1251", "Лопата;Топор"},
		{charmap.Windows1251, "windows-1251", "СКЛАД №5;ПОЛКА"},
		{charmap.Windows1254, "windows-1254", "Işık kapısı;Ağır yük"},
		{charmap.Macintosh, "macintosh", "Größe;Höhe"},
		{charmap.Macintosh, "macintosh", "Poste de contrôle;entrée"},
		{charmap.CodePage850, "ibm850", "Größe;Höhe;Übung"},
		{charmap.CodePage850, "ibm850", "Entrée;à côté"},
		{japanese.ShiftJIS, "shift_jis", "ねじ;ボルト M5;手袋"},
		{simplifiedchinese.GBK, "gbk", "螺丝;手套;安全帽"},
		{traditionalchinese.Big5, "big5", "螺絲;手套;安全帽;倉庫"},
	} {
		text := "code\n" + strings.ReplaceAll(c.text, ";", "\n") + "\n"
		body, err := c.set.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		f, err := sheet.Detect(source(body), sheet.Wish{})
		if err != nil || f.Encoding != c.name {
			t.Errorf("%s is read as %q: %v", c.text, f.Encoding, err)
			continue
		}
		records, err := sheet.Open(source(body), f)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows(t, records) {
			got = append(got, strings.Join(r.Cells, ""))
		}
		if want := strings.TrimSpace(text); strings.Join(got, "\n") != want {
			t.Errorf("%q is read as %q", want, got)
		}
	}
}

// Names of encodings are read in the spellings that people use.
func TestNamesOfEncodings(t *testing.T) {
	for given, want := range map[string]string{"": "", "UTF-8": "utf-8", "cp1250": "windows-1250",
		"Windows 1251": "windows-1251", "Mac Roman": "macintosh",
		"CP850": "ibm850", "Shift-JIS": "shift_jis", "latin1": "windows-1252"} {
		if got, err := sheet.ParseEncoding(given); err != nil || got != want {
			t.Errorf("%q is %q: %v", given, got, err)
		}
	}
	for _, given := range []string{"ebcdic", "-", "koi8-r"} {
		if got, err := sheet.ParseEncoding(given); err == nil {
			t.Errorf("%q is %q", given, got)
		}
	}
}

// Line ends inside of quotes cost no more than other characters: a cell of many is read
// with as few allocations as a short one, also where it is longer than a cell can be.
func TestQuotedLineEndsAreCheap(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		for _, closed := range []string{"\"" + end + "B,b" + end, ""} {
			body := "A,\"" + strings.Repeat("x"+end, 1<<20) + closed
			allocs := testing.AllocsPerRun(1, func() {
				r := sheet.NewReader(strings.NewReader(body), ',')
				for {
					rec, err := r.Next()
					if errors.Is(err, io.EOF) {
						return
					}
					if rec.Line > 1 && rec.Line != 1<<20+2 {
						t.Errorf("%q: the record after it stands on line %d", end, rec.Line)
					}
				}
			})
			if allocs > 50 {
				t.Errorf("%q: %.0f allocations for a million line ends", end, allocs)
			}
		}
	}
}
