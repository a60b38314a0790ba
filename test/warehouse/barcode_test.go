package warehouse_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/testkit"
)

// code128 are the symbol characters of Code 128 by their values (ISO/IEC 15417):
// the widths of three bars and three spaces; the last is stop, which has a fourth
// bar.
var code128 = strings.Fields(`212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 112232 122132 122231 113222
123122 123221 223211 221132 221231 213212 223112 312131 311222 321122 321221 312212 322112 322211 212123 212321 232121 111323 131123 131321
112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121 313121 211331 231131 213113 213311 213131 311123 311321
331121 312113 312311 332111 314111 221411 431111 111224 111422 121124 121421 141122 141221 112214 112412 122114 122411 142112 142211 241211
221114 413111 241112 134111 111242 121142 121241 114212 124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113
114311 411113 411311 113141 114131 311141 411131 211412 211214 211232 2331112`)

// scanned reads symbol characters as a scanner sends them: with ]C1 in front where
// FNC1 is first, and FNC1 elsewhere as ASCII 29.
func scanned(t *testing.T, values []int) string {
	t.Helper()
	n := len(values)
	sum := values[0]
	for i, v := range values[1 : n-2] {
		sum += (i + 1) * v
	}
	if values[n-1] != 106 || sum%103 != values[n-2] {
		t.Fatalf("%v has a wrong check character or no stop", values)
	}
	set, out := values[0], ""
	for i, v := range values[1 : n-2] {
		switch {
		case v == 102 && i == 0:
			out = "]C1"
		case v == 102:
			out += "\x1d"
		case v == 99 && set != 105, v == 100 && set != 104:
			set = 204 - v
		case set == 105:
			out += fmt.Sprintf("%02d", v)
		case set == 104 && v < 96:
			out += string(rune(v + 32))
		default:
			t.Fatalf("%v: %d is not expected in set %d", values, v, set)
		}
	}
	return out
}

// paper is what a PDF draws: its texts and the barcodes of its pages.
type paper struct {
	texts []string
	codes []string
	pages int
}

var drawn = regexp.MustCompile(`(?s)([\d.-]+) ([\d.-]+) ([\d.-]+) ([\d.-]+) re f|\(((?:\\.|[^\\)])*)\) ?Tj`)

// readPDF reads the content streams of a PDF.
func readPDF(t *testing.T, body []byte) (p paper) {
	t.Helper()
	pages, err := testkit.ReadPages(body)
	if err != nil {
		t.Fatal(err)
	}
	p.pages = len(pages)
	for _, page := range pages {
		p.page(t, page)
	}
	return p
}

func (p *paper) page(t *testing.T, page []byte) {
	bars := map[string][][2]float64{} // x and width, by where the row stands
	for _, m := range drawn.FindAllSubmatch(page, -1) {
		if m[3] == nil {
			p.texts = append(p.texts, testkit.ReadDrawn(m[5]))
			continue
		}
		var n [4]float64
		for i := range n {
			n[i], _ = strconv.ParseFloat(string(m[i+1]), 64)
		}
		if math.Abs(n[3]) > 14 { // 5 mm: no rule, no module of a QR code
			bars[string(m[2])] = append(bars[string(m[2])], [2]float64{n[0], n[2]})
		}
	}
	for _, row := range bars {
		if len(row) > 10 {
			p.codes = append(p.codes, scanned(t, characters(t, row)))
		}
	}
	slices.Sort(p.codes)
}

// characters measures bars and spaces.
func characters(t *testing.T, bars [][2]float64) (values []int) {
	t.Helper()
	slices.SortFunc(bars, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	module := slices.MinFunc(bars, func(a, b [2]float64) int { return cmp.Compare(a[1], b[1]) })[1]
	widths := ""
	for i, b := range bars {
		if i > 0 {
			widths += fmt.Sprint(math.Round((b[0] - bars[i-1][0] - bars[i-1][1]) / module))
		}
		widths += fmt.Sprint(math.Round(b[1] / module))
	}
	for len(widths) > 0 {
		n := min(6, len(widths))
		if len(widths) == 7 {
			n = 7
		}
		v := slices.Index(code128, widths[:n])
		if v < 0 {
			t.Fatalf("%s is no character of Code 128", widths[:n])
		}
		values, widths = append(values, v), widths[n:]
	}
	return values
}

// says reports that a text of the paper holds s.
func (p *paper) says(s string) bool {
	return slices.ContainsFunc(p.texts, func(x string) bool { return strings.Contains(x, s) })
}

// zplField is one field of a label: its commands and its data as they are printed
// or encoded.
type zplField struct{ commands, data string }

var zplFields = regexp.MustCompile(`\^FO\d+,\d+((?:\^[A-Z][^^]*)+?)\^FD([^^]*)\^FS`)

// readZPL reads labels in ZPL II. What is neither a label's frame nor a field is
// an error: a command that came out of a record's text.
func readZPL(t *testing.T, body []byte) (labels [][]zplField) {
	t.Helper()
	frame := regexp.MustCompile(`^\^XA\n\^CI28\n\^PW\d+\n\^LL\d+\n$`)
	if bytes.Contains(body, []byte("~")) {
		t.Errorf("a control command: %s", body)
	}
	for one := range strings.SplitSeq(strings.TrimSuffix(string(body), "^XZ\n"), "^XZ\n") {
		var fields []zplField
		for _, m := range zplFields.FindAllStringSubmatch(one, -1) {
			f := zplField{m[1], m[2]}
			switch {
			case strings.Contains(m[1], "^BC"):
				f.data = invoked(t, m[2])
			case strings.Contains(m[1], "^FH_"):
				f.data = unescaped(t, m[2])
			}
			fields = append(fields, f)
		}
		if left := zplFields.ReplaceAllString(one, ""); !frame.MatchString(strings.ReplaceAll(left, "\n\n", "\n")) &&
			!frame.MatchString(regexp.MustCompile(`\n+`).ReplaceAllString(left, "\n")) {
			t.Errorf("commands beside the fields: %q", left)
		}
		labels = append(labels, fields)
	}
	return labels
}

func unescaped(t *testing.T, s string) string {
	t.Helper()
	out := regexp.MustCompile(`_..`).ReplaceAllStringFunc(s, func(m string) string {
		n, err := strconv.ParseUint(m[1:], 16, 8)
		if err != nil {
			t.Errorf("%q in %q is no hexadecimal", m, s)
		}
		return string([]byte{byte(n)})
	})
	return out
}

// invoked reads the field data of ^BC in mode N: code sets and FNC1 by invocation
// codes.
func invoked(t *testing.T, s string) string {
	t.Helper()
	out, set := "", byte(0)
	for i := 0; i < len(s); {
		switch two := s[i:min(i+2, len(s))]; {
		case two == ">;" || two == ">5":
			set = 'C'
		case two == ">:" || two == ">6":
			set = 'B'
		case two == ">8" && out == "":
			out = "]C1"
		case two == ">8":
			out += "\x1d"
		case two == ">0":
			out += ">"
		case two == "><":
			out += "^"
		case two == ">=":
			out += "~"
		case set == 'C' && len(two) == 2 && two[0] >= '0' && two[0] <= '9' && two[1] >= '0' && two[1] <= '9':
			out += two
		case set == 'B' && s[i] != '>':
			out += s[i : i+1]
			i--
		default:
			t.Fatalf("field data %q at %d", s, i)
		}
		i += 2
	}
	return out
}
