package pdf

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	ot "github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/fontscan"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/bidi"
)

// emUnits is the size that text is shaped at: as many units an em.
const emUnits = 1000

// scripts shapes text that the font of the pages has no signs for (Chinese, Arabic, Thai),
// with the fonts of the machine. They are looked for once, when the first such text comes.
type scripts struct {
	mu     sync.Mutex // a font map and its faces serve one caller at a time
	fonts  *fontscan.FontMap
	shaper shaping.HarfbuzzShaper
	known  map[rune]bool // whether a font has the sign
}

var readScripts = sync.OnceValue(func() *scripts {
	s := &scripts{fonts: fontscan.NewFontMap(log.New(io.Discard, "", 0)), known: map[rune]bool{}}
	for name, file := range map[string][]byte{"go-regular": goregular.TTF, "go-bold": gobold.TTF} {
		// The font is part of the program: it can be read.
		_ = s.fonts.AddFont(bytes.NewReader(file), name, family)
	}
	// The index of the fonts is kept nowhere: in a shared place others could write it.
	dir, err := os.MkdirTemp("", "holdfast-fonts-")
	if err != nil {
		return s
	}
	defer os.RemoveAll(dir)
	_ = s.fonts.UseSystemFonts(dir) // where there are none, a box stands for what the own font lacks
	return s
})

// hasSign reports whether a font of the machine has a sign for r.
func (s *scripts) hasSign(r rune) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	has, isKnown := s.known[r]
	if !isKnown {
		has = s.findSign(r)
		s.known[r] = has
	}
	return has
}

func (s *scripts) findSign(r rune) bool {
	s.setStyle("")
	s.fonts.SetScript(language.LookupScript(r))
	face := s.fonts.ResolveFace(r)
	if face == nil {
		return false
	}
	glyph, ok := face.NominalGlyph(r)
	if ok {
		_, ok = face.GlyphDataOutline(glyph) // signs that are pictures are not drawn
	}
	return ok
}

func (s *scripts) setStyle(style string) {
	aspect := font.Aspect{Style: font.StyleNormal, Weight: font.WeightNormal, Stretch: font.StretchNormal}
	if style == "B" {
		aspect.Weight = font.WeightBold
	}
	s.fonts.SetQuery(fontscan.Query{Families: []string{family, fontscan.SansSerif}, Aspect: aspect})
}

// A shapedLine is the runs of a line from left to right, and the text of it.
type shapedLine struct {
	runs []shaping.Output
	text string
}

// measureWidth is the width of a line in ems.
func (l *shapedLine) measureWidth() (ems float64) {
	for _, run := range l.runs {
		ems += float64(run.Advance) / 64 / emUnits
	}
	return ems
}

// shapeLines shapes a text and breaks it into lines of at most so many ems (Unicode Standard
// Annexes 9 and 14: bidirectional text, line breaking). Line ends in it are blanks. A text
// that the library fails at is lines of boxes.
func (s *scripts) shapeLines(text, style string, ems float64) []shapedLine {
	text = strings.ReplaceAll(text, "\n", " ")
	if text == "" {
		return []shapedLine{{}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setStyle(style)
	lines, err := s.tryShape(text, ems)
	if err != nil {
		lines, err = s.tryShape(strings.Repeat("□", utf8.RuneCountInString(text)), ems)
	}
	if err != nil {
		return []shapedLine{{text: text}}
	}
	return lines
}

// tryShape shapes a text of at least one sign; the library panics at texts that it does not
// expect.
func (s *scripts) tryShape(text string, ems float64) (out []shapedLine, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("pdf: shape a text: %v", reason)
		}
	}()
	runes := []rune(text)
	way := findDirection(runes)
	var segmenter shaping.Segmenter
	var runs []shaping.Output
	whole := shaping.Input{Text: runes, RunEnd: len(runes), Direction: way, Size: fixed.I(emUnits)}
	for _, in := range segmenter.Split(whole, s.fonts) {
		runs = append(runs, s.shaper.Shape(in))
	}

	var wrapper shaping.LineWrapper
	most := int(min(ems*emUnits, math.MaxInt32/128))
	lines, _ := wrapper.WrapParagraph(shaping.WrapConfig{Direction: way}, most, runes, shaping.NewSliceIterator(runs))
	out = make([]shapedLine, len(lines))
	for i, line := range lines {
		from, to := len(runes), 0
		for _, run := range line {
			from, to = min(from, run.Runes.Offset), max(to, run.Runes.Offset+run.Runes.Count)
		}
		slices.SortFunc(line, func(a, b shaping.Output) int { return int(a.VisualIndex - b.VisualIndex) })
		out[i] = shapedLine{line, string(runes[from:max(from, to)])}
	}
	return out, nil
}

// findDirection is the direction of a text: that of its first letter (Unicode Standard
// Annex 9, rules P2 and P3).
func findDirection(runes []rune) di.Direction {
	for _, r := range runes {
		properties, _ := bidi.LookupRune(r)
		switch properties.Class() {
		case bidi.L:
			return di.DirectionLTR
		case bidi.R, bidi.AL:
			return di.DirectionRTL
		}
	}
	return di.DirectionLTR
}

// MostShaped is how many signs a document may have of scripts that its own font lacks. Each is
// drawn as an outline: 20,000 are some 6 MB and a second.
const MostShaped = 20_000

// canDraw reports whether the font of the pages has all signs of a text.
func (p *Page) canDraw(s string) bool {
	for _, r := range s {
		if r != '\n' && !p.hasOwnSign(r) {
			return false
		}
	}
	return true
}

// widthLeft is the width from here to the right margin, in millimetres.
func (p *Page) widthLeft() float64 {
	wide, _ := p.GetPageSize()
	_, _, right, _ := p.GetMargins()
	return wide - right - p.GetX()
}

// toEms is a width of the page, in the ems of the font that is set.
func (p *Page) toEms(wide float64) float64 {
	_, size := p.GetFontSize()
	return wide / size
}

// CellFormat draws a cell as fpdf does, also of text that its font has no signs for.
func (p *Page) CellFormat(w, h float64, s, border string, ln int, align string, fill bool, link int, url string) {
	if p.canDraw(s) {
		p.Fpdf.CellFormat(w, h, s, border, ln, align, fill, link, url)
		return
	}
	x, y := p.GetXY()
	if w == 0 {
		w = p.widthLeft()
	}
	p.Fpdf.CellFormat(w, h, "", border, ln, align, fill, link, url)
	if y = p.GetY(); ln != 0 { // the cell may have gone on to the next page
		y -= h
	}
	_, size := p.GetFontSize()
	for _, line := range readScripts().shapeLines(s, p.style, math.Inf(1)) {
		at := x + p.GetCellMargin()
		switch free := w - line.measureWidth()*size; align {
		case "R":
			at = x + free - p.GetCellMargin()
		case "C":
			at = x + free/2
		}
		p.drawShaped(at, y+h/2+0.3*size, line)
	}
}

// MultiCell draws the lines of a text as fpdf does. Of border only B is known for text that
// the font has no signs for.
func (p *Page) MultiCell(w, h float64, s, border, align string, fill bool) {
	if p.canDraw(s) {
		p.Fpdf.MultiCell(w, h, s, border, align, fill)
		return
	}
	if w == 0 {
		w = p.widthLeft()
	}
	lines := p.SplitText(s, w)
	left, _, _, _ := p.GetMargins()
	for i, line := range lines {
		edge := ""
		if i == len(lines)-1 {
			edge = border
		}
		x := p.GetX()
		p.CellFormat(w, h, line, edge, 2, align, fill, 0, "")
		p.SetX(x)
	}
	p.SetX(left)
}

// SplitText breaks a text into lines that fit, as fpdf does.
func (p *Page) SplitText(s string, wide float64) (lines []string) {
	if p.canDraw(s) {
		return p.Fpdf.SplitText(s, wide)
	}
	for _, part := range splitLines(s) {
		for _, line := range readScripts().shapeLines(part, p.style, p.toEms(wide-2*p.GetCellMargin())) {
			lines = append(lines, line.text)
		}
	}
	return lines
}

// GetStringWidth is how wide a text is, in millimetres.
func (p *Page) GetStringWidth(s string) (wide float64) {
	if p.canDraw(s) {
		return p.Fpdf.GetStringWidth(s)
	}
	_, size := p.GetFontSize()
	for _, line := range readScripts().shapeLines(s, p.style, math.Inf(1)) {
		wide += line.measureWidth() * size
	}
	return wide
}

// DrawText draws a text whose baseline begins at a place.
func (p *Page) DrawText(x, y float64, s string) {
	if p.canDraw(s) {
		p.Text(x, y, s)
		return
	}
	for _, line := range readScripts().shapeLines(s, p.style, math.Inf(1)) {
		p.drawShaped(x, y, line)
	}
}

// drawShaped draws the outlines of a line in the colour of text.
func (p *Page) drawShaped(x, y float64, line shapedLine) {
	backX, backY := p.GetXY()
	defer p.SetXY(backX, backY) // drawing moves the place of the next cell
	red, green, blue := p.GetFillColor()
	defer p.SetFillColor(red, green, blue)
	p.SetFillColor(p.GetTextColor())
	_, size := p.GetFontSize()
	unit := size / emUnits / 64
	p.shaped += utf8.RuneCountInString(line.text)
	if p.shaped > MostShaped {
		return // Bytes refuses the document
	}
	for _, run := range line.runs {
		scale := size / float64(run.Face.Upem())
		for _, g := range run.Glyphs {
			if outline, ok := run.Face.GlyphDataOutline(g.GlyphID); ok {
				p.drawOutline(x+float64(g.XOffset)*unit, y-float64(g.YOffset)*unit, scale, outline)
			}
			x += float64(g.Advance) * unit
		}
	}
}

// drawOutline fills the outline of a glyph.
func (p *Page) drawOutline(x, y, scale float64, outline font.GlyphOutline) {
	if len(outline.Segments) == 0 {
		return
	}
	at := func(point ot.SegmentPoint) (float64, float64) {
		return x + float64(point.X)*scale, y - float64(point.Y)*scale
	}
	for i, segment := range outline.Segments {
		x0, y0 := at(segment.Args[0])
		x1, y1 := at(segment.Args[1])
		x2, y2 := at(segment.Args[2])
		switch segment.Op {
		case ot.SegmentOpMoveTo:
			if i > 0 {
				p.ClosePath()
			}
			p.MoveTo(x0, y0)
		case ot.SegmentOpLineTo:
			p.LineTo(x0, y0)
		case ot.SegmentOpQuadTo:
			p.CurveTo(x0, y0, x1, y1)
		case ot.SegmentOpCubeTo:
			p.CurveBezierCubicTo(x0, y0, x1, y1, x2, y2)
		}
	}
	p.ClosePath()
	p.DrawPath("F")
}
