package pdf

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-text/typesetting/font"

	"holdfast/internal/fault"
)

// The machine of a test has the fonts of testdata, whatever else it has.
func TestMain(m *testing.M) {
	dir, err := filepath.Abs("testdata")
	if err == nil {
		err = os.Setenv("XDG_DATA_HOME", dir)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var names = map[string]string{
	"Chinese":      "不锈钢螺栓 M8x40",
	"Japanese":     "日本語ボルト",
	"Arabic":       "مسامير فولاذية",
	"Thai":         "ข้าวหอมมะลิ",
	"both ways":    "M8x40 مسامير",
	"two scripts":  "不锈钢 ข้าว",
	"beside Latin": "Żółć 螺栓",
}

func newPage(t *testing.T, on Paper) *Page {
	t.Helper()
	on.Size, on.Title, on.Made = "A4", "Names", time.Unix(0, 0)
	p, err := New(on)
	if err != nil {
		t.Fatal(err)
	}
	p.AddPage()
	p.Face("", 12)
	return p
}

// Names are drawn in the script in which they are written: each sign of them has an outline of
// a font of the machine, and none is a box.
func TestNamesInTheirScripts(t *testing.T) {
	p := newPage(t, Paper{})
	for script, name := range names {
		if got := p.Clean(name); got != name {
			t.Errorf("%s: %q is drawn as %q", script, name, got)
		}
		lines := readScripts().shapeLines(name, "", math.Inf(1))
		if len(lines) != 1 || lines[0].text != name {
			t.Fatalf("%s: lines %v", script, lines)
		}
		for _, run := range lines[0].runs {
			for _, g := range run.Glyphs {
				outline, ok := run.Face.GlyphDataOutline(g.GlyphID)
				isBlank := strings.TrimSpace(string([]rune(name)[g.TextIndex()])) == ""
				if !ok || g.GlyphID == 0 || len(outline.Segments) == 0 && !isBlank {
					t.Errorf("%s: sign %d of %q is not drawn", script, g.TextIndex(), name)
				}
			}
		}
	}
}

// Arabic runs from right to left, its letters joined, also beside what runs the other way.
func TestArabicIsJoinedFromTheRight(t *testing.T) {
	line := readScripts().shapeLines(names["Arabic"], "", math.Inf(1))[0]
	var order []int
	joined := 0
	for _, run := range line.runs {
		for _, g := range run.Glyphs {
			order = append(order, g.TextIndex())
			alone, _ := run.Face.NominalGlyph([]rune(names["Arabic"])[g.TextIndex()])
			if alone != font.GID(g.GlyphID) {
				joined++
			}
		}
	}
	if !slices.IsSortedFunc(order, func(a, b int) int { return b - a }) || joined < 6 {
		t.Errorf("letters in the order %v, %d of them joined", order, joined)
	}

	both := readScripts().shapeLines(names["both ways"], "", math.Inf(1))[0]
	if first := both.runs[0].Glyphs[0].TextIndex(); first != 0 {
		t.Errorf("a line that begins in Latin begins with sign %d", first)
	}
}

// A long name breaks into lines that fit, nothing of it is lost, and what comes after it stands
// below it; a cell leaves the place of the next one as any cell does.
func TestLongNamesBreak(t *testing.T) {
	const wide = 40.0
	for script, name := range names {
		p := newPage(t, Paper{})
		long := strings.TrimSpace(strings.Repeat(name+" ", 8))
		lines := p.SplitText(long, wide)
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(strings.Join(lines, "")) != squeeze(long) || len(lines) < 2 {
			t.Errorf("%s: %q breaks into %q", script, long, lines)
		}
		for _, line := range lines {
			if w := p.GetStringWidth(strings.TrimSpace(line)); w > wide {
				t.Errorf("%s: a line of %.1f mm: %q", script, w, line)
			}
		}
		_, top := p.GetXY()
		p.MultiCell(wide, 5, long, "B", "L", false)
		if x, y := p.GetXY(); x != Margin || y-top != 5*float64(len(lines)) {
			t.Errorf("%s: %d lines end at %.1f mm, %.1f mm down", script, len(lines), x, y-top)
		}
		x, y := p.GetXY()
		p.CellFormat(20, 5, name, "1", 0, "R", false, 0, "")
		if toX, toY := p.GetXY(); toX != x+20 || toY != y {
			t.Errorf("%s: a cell at %.1f, %.1f leads to %.1f, %.1f", script, x, y, toX, toY)
		}
		if body, err := p.Bytes(); err != nil || len(body) == 0 {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// What no font has a sign for is a box on paper; a page that measures for a printer with
// fonts of its own keeps it.
func TestSignsThatNoFontHas(t *testing.T) {
	const unknown = "a\u0378\U0003FFFDz"
	if got := newPage(t, Paper{}).Clean(unknown); got != "a□□z" {
		t.Errorf("drawn as %q", got)
	}
	if got := newPage(t, Paper{KeepsSigns: true}).Clean(unknown); got != unknown {
		t.Errorf("kept as %q", got)
	}
}

// Texts that the shaping library fails at, empty lines and line ends of any kind make a
// document all the same; what turns the order of signs around is left out.
func TestTextsThatAreHardToShape(t *testing.T) {
	for _, text := range []string{
		"不锈钢 first.\n\nSecond.", "Worker 👷‍♀️ fell.\n\nHe is well.", "English\u2029second", "\u2028", "螺栓\u2029\u2029",
		"\u200d", "ก\u0e48\u0e48\u0e48", "\n\n螺", "Slipped 🤕\u200d.\n\nCut.", "مسامير\u200c\n", "\ufe0f",
		strings.Repeat("\u0301", 500) + "螺",
	} {
		for _, keeps := range []bool{false, true} {
			p := newPage(t, Paper{KeepsSigns: keeps})
			said := p.Clean(text)
			p.SplitText(said, 30)
			p.GetStringWidth(said)
			p.DrawText(10, 10, said)
			p.MultiCell(30, 5, said, "B", "L", false)
			p.CellFormat(30, 5, said, "1", 1, "R", false, 0, "")
			tab := &Table{Page: p, Columns: []Column{NewColumn("A", 20, "L")}, Size: 9}
			tab.Row([]string{said}, "")
			if _, err := p.Bytes(); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	if got := newPage(t, Paper{}).Clean("invoice \u202efdp.exe {pages}"); got != "invoice fdp.exe { pages }" {
		t.Errorf("drawn as %q", got)
	}
}

// A document that would be all outlines is refused rather than made.
func TestTooManySignsToDraw(t *testing.T) {
	for n, isMade := range map[int]bool{MostShaped: true, MostShaped + 1: false} {
		p := newPage(t, Paper{})
		p.DrawText(10, 10, strings.Repeat("螺", n))
		if _, err := p.Bytes(); (err == nil) != isMade || err != nil && !fault.Is(err, fault.TooLarge) {
			t.Errorf("%d signs: %v", n, err)
		}
	}
}
