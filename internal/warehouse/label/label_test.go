package label

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/gs1"
)

func sscc(t *testing.T) []Symbol {
	t.Helper()
	l, err := gs1.Compose(gs1.Element{AI: "00", Value: "106141412345678908"})
	if err != nil {
		t.Fatal(err)
	}
	return OfGS1(l)
}

// Whatever a label is told, its texts stay above its symbols and on its paper:
// they become smaller, and what is left over ends in "...".
func TestTextStaysOnTheLabel(t *testing.T) {
	for name, l := range map[string]Label{
		"many lines": {Tall: true, Kind: "SSCC", Big: "PK-1", Lines: []Line{{"To", strings.Repeat("A street\n", 200)}},
			Symbols: sscc(t)},
		"a long one": {Tall: true, Kind: "SSCC", Big: "PK-1", Lines: []Line{{"To", strings.Repeat("word ", 2000)}},
			Symbols: sscc(t)},
		"no blanks": {Kind: "Item", Big: strings.Repeat("W", 64), Lines: []Line{{"Name", strings.Repeat("W", 200)}},
			Symbols: []Symbol{Of("A-1")}},
		"nothing": {Kind: "", Big: "", Symbols: []Symbol{Of("A-1")}},
		"wide codes": {Kind: "Bin", Big: "x", Lines: []Line{{"Name", "y"}},
			Symbols: []Symbol{Of(strings.Repeat("a-Z.", 16))}},
		"no signs": {Kind: "Item", Big: "漢字🦺", Lines: []Line{{"Name", "\x00\x1b\r\n\t"}}, Symbols: []Symbol{Of("漢字🦺\x00")}},
	} {
		p, err := newMeasure()
		if err != nil {
			t.Fatal(err)
		}
		k, err := l.sketchLabel(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		top := l.heightOf()
		for _, m := range k.marks {
			code, _ := m.symbolModules()
			if right := m.x + float64(code.Bounds().Dx())*m.module; m.module <= 0 || m.x < 0 || right > wide ||
				m.y+m.high > l.heightOf() {
				t.Errorf("%s: the symbol stands at %.1f-%.1f mm, %.2f mm a module", name, m.x, right, m.module)
			}
			top = min(top, m.y)
		}
		for _, x := range k.texts {
			inside := x.y+x.high <= top+0.01 || x.y >= top // readings stand below their symbols
			if right := x.x + textWidth(p, x.s, x.high, x.bold) - 2; !inside || right > wide || x.y+x.high > l.heightOf() {
				t.Errorf("%s: %.20q ends at %.1f mm and %.1f mm down", name, x.s, right, x.y+x.high)
			}
		}
		if name == "many lines" && !strings.HasSuffix(k.texts[len(k.texts)-1].s, "...") {
			t.Errorf("what does not fit is cut unseen: %q", k.texts[len(k.texts)-1].s)
		}
	}
}

// No barcode is narrower than a scanner reads: at the least width of a bar, with
// its quiet zones, all that GS1 allows a lot to be called fits in two symbols.
func TestSymbolsFit(t *testing.T) {
	for _, no := range []string{"A", "12345678901234567890", "ABCDEFGHIJKLMNOPQRST", "A1B2C3D4E5F6G7H8I9J0",
		"1234A1234B1234C12345", "1A2345B6789C0123D456"} {
		l, err := gs1.Compose(gs1.Element{AI: "01", Value: "09506000134352"}, gs1.Element{AI: "17", Value: "261231"},
			gs1.Element{AI: "10", Value: no})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range OfGS1(l) {
			if s.moduleWidth() < 0.25 {
				t.Errorf("%s does not fit: %q", no, s.Data)
			}
		}
	}
	for _, text := range []string{"Größe", "漢字", "", "ñ", "a\x00b", strings.Repeat("A", 40)} {
		if !Of(text).QR {
			t.Errorf("%q is to be in bars", text)
		}
	}
}

// Labels of the same records are the same bytes.
func TestSameBytes(t *testing.T) {
	l := Label{Tall: true, Kind: "SSCC", Big: "PK-1", Symbols: sscc(t)}
	one, err := PDF("Labels", time.Unix(0, 0), l, l)
	two, again := PDF("Labels", time.Unix(0, 0), l, l)
	if err != nil || again != nil || !bytes.Equal(one, two) || !bytes.Contains(one, []byte("/Count 2")) {
		t.Errorf("%v, %v, %d and %d bytes", err, again, len(one), len(two))
	}
	if _, err := ZPL(204, l); err == nil {
		t.Error("a printer of 204 dpi")
	}
}

// FuzzZPL: whatever a record is called, its label is one label of known fields.
func FuzzZPL(f *testing.F) {
	for _, s := range []string{"A-1", "^XZ^XA", "~JR", "_5E", "Größe", "\\&", "\x00\x1d^", ">8>;>:"} {
		f.Add(s)
	}
	const frame = `\^XA\n\^CI28\n\^PW800\n\^LL400\n`
	fields := regexp.MustCompile(`^` + frame + `(\^FO\d+,\d+(\^A0N,\d+\^FH_|\^BY\d\^BCN,\d+,N,N,N,N|\^BQN,2,\d+\^FH_)\^FD[^^~\n]*\^FS\n)+\^XZ\n$`)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 256 {
			s = s[:256]
		}
		s = strings.ToValidUTF8(s, "?")
		out, err := ZPL(203, Label{Kind: "Item", Big: s, Lines: []Line{{"Name", s}}, Symbols: []Symbol{Of(s)}})
		if s == "" {
			return
		}
		if err != nil || !fields.Match(bytes.ReplaceAll(out, []byte("><"), nil)) {
			t.Fatalf("%q: %v\n%s", s, err, out)
		}
	})
}

func BenchmarkPDF(b *testing.B) {
	for _, n := range []int{1, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list := make([]Label, n)
			for i := range list {
				code := fmt.Sprintf("A-%03d", i)
				list[i] = Label{Kind: "Bin", Big: code, Symbols: []Symbol{Of(code)}}
			}
			for b.Loop() {
				if _, err := PDF("Labels", time.Unix(0, 0), list...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
