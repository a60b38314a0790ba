// Package pdf draws sheets of paper: text in a font that the file carries,
// tables that go on over pages, and bars of a given width.
//
// Layer: adapters. Begin at [New].
package pdf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"

	"holdfast/internal/fault"
)

// Page is a document being drawn, in millimetres. Text is never cut: cells wrap
// and rows grow, and what does not fit goes on to the next page.
type Page struct {
	*fpdf.Fpdf
	glyph  *sfnt.Font
	buf    sfnt.Buffer
	foot   string
	count  string
	style  string
	margin float64
	keeps  bool // signs that no font here has
	shaped int  // signs of other scripts so far
}

const family = "Go"

// Margin is that of a page unless it says another, in millimetres.
const Margin = 8.0

// Paper is what a document is drawn on.
type Paper struct {
	Across        bool    // the long side is the upper one
	Size          string  // "Letter" or "A4"; "" = Width and Height
	Width, Height float64 // mm
	Margin        float64 // mm; 0 = Margin
	Title         string  // of the file
	Foot          string  // at the end of each page, beside its number, one line or two; "" = neither
	Count         string  // number of a page, as "Page %d of "+Pages; "" = in English
	Made          time.Time
	KeepsSigns    bool // only measures: text keeps the signs that no font here has
}

// Pages stands in a text for how many pages there are.
const Pages = "{pages}"

// letterCountries print on US letter instead of A4.
var letterCountries = []string{"US", "CA", "MX"}

// SizeIn is the paper that a country prints on, by its code of ISO 3166-1: Letter or A4.
func SizeIn(country string) string {
	if slices.Contains(letterCountries, country) {
		return "Letter"
	}
	return "A4"
}

// New begins a document, without a page. Its date is printed nowhere; it makes
// the bytes the same for the same records.
func New(on Paper) (*Page, error) {
	glyph, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("pdf: read the font: %w", err)
	}
	way := "P"
	if on.Across {
		way = "L"
	}
	p := &Page{Fpdf: fpdf.NewCustom(&fpdf.InitType{OrientationStr: way, UnitStr: "mm", SizeStr: on.Size,
		Size: fpdf.SizeType{Wd: on.Width, Ht: on.Height}}), glyph: glyph, foot: on.Foot, count: on.Count,
		margin: on.Margin, keeps: on.KeepsSigns}
	if p.margin == 0 {
		p.margin = Margin
	}
	if p.count == "" {
		p.count = "Page %d of " + Pages
	}
	p.AddUTF8FontFromBytes(family, "", goregular.TTF)
	p.AddUTF8FontFromBytes(family, "B", gobold.TTF)
	p.SetCreationDate(on.Made)
	p.SetModificationDate(on.Made)
	p.SetCatalogSort(true)
	p.SetTitle(on.Title, true)
	p.SetProducer("Holdfast", true)
	p.SetMargins(p.margin, p.margin, p.margin)
	p.SetCellMargin(0.7)
	p.SetLineWidth(0.2)
	p.SetAutoPageBreak(on.Foot != "", footHigh)
	if on.Foot != "" {
		p.AliasNbPages(Pages)
		p.SetFooterFunc(p.footer)
	}
	return p, nil
}

// footHigh is what the foot of a page takes of it, in millimetres.
const footHigh = 14.0

// Leaf goes on to a page of a size of its own, in millimetres.
func (p *Page) Leaf(wide, high float64) { p.AddPageFormat("P", fpdf.SizeType{Wd: wide, Ht: high}) }

func (p *Page) footer() {
	p.SetY(-11)
	p.Face("", 7)
	p.SetTextColor(90, 90, 90)
	for line := range strings.SplitSeq(p.Clean(p.foot), "\n") {
		p.SetX(p.margin)
		p.CellFormat(0, 4, line, "", 2, "L", false, 0, "")
	}
	p.SetXY(p.margin, -11)
	p.CellFormat(0, 4, fmt.Sprintf(p.count, p.PageNo()), "", 0, "R", false, 0, "")
	p.SetTextColor(0, 0, 0)
}

// Face sets the font: style "" or "B", size in points.
func (p *Page) Face(style string, size float64) {
	p.style = style
	p.SetFont(family, style, size)
}

// Clean makes a text drawable: blanks for control characters, a box for what no font here
// has a sign for, so that nothing vanishes unseen.
func (p *Page) Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r):
			return ' '
		case isOverride(r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		case p.keeps || p.hasOwnSign(r) || isJoiner(r) || readScripts().hasSign(r):
			return r
		}
		return '□'
	}, plainEnds.Replace(s))
}

// plainEnds writes line ends as one sign, and keeps a text from standing for the number of
// pages.
var plainEnds = strings.NewReplacer("\r\n", "\n", Pages, "{ pages }")

// hasOwnSign reports whether the font of the pages has a sign for r.
func (p *Page) hasOwnSign(r rune) bool {
	i, err := p.glyph.GlyphIndex(&p.buf, r)
	return r <= 0xFFFF && err == nil && i != 0
}

// isJoiner reports a sign that is not seen and says how its neighbours are written.
func isJoiner(r rune) bool { return r >= '\u200C' && r <= '\u200F' }

// isOverride reports a sign that turns the order of others around: with one, a text could be
// read as another on paper.
func isOverride(r rune) bool { return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' }

// splitLines are the lines of a text.
func splitLines(s string) []string { return strings.Split(s, "\n") }

// Bytes ends the document. One that holds more than MostShaped signs of other scripts is
// fault.TooLarge.
func (p *Page) Bytes() ([]byte, error) {
	if p.shaped > MostShaped {
		return nil, fault.New(fault.TooLarge, "54000",
			"the document would hold more than %d signs of scripts that are drawn one by one", MostShaped).
			With("", "print less of it at a time, or read the record on its page")
	}
	var b bytes.Buffer
	if err := p.Output(&b); err != nil {
		return nil, fmt.Errorf("pdf: write the document: %w", err)
	}
	return b.Bytes(), nil
}

// Column of a table.
type Column struct {
	Title string
	Width float64 // mm
	Align string  // L, C or R
}

// NewColumn is a column by its title, its width in millimetres and its alignment.
func NewColumn(title string, width float64, align string) Column { return Column{title, width, align} }

// Table draws rows whose height is that of their tallest cell, with the header
// again on each page.
type Table struct {
	*Page
	Columns []Column
	Size    float64 // of the text, in points
}

func (t *Table) lineHeight() float64 { return t.Size * 0.45 }

// Header draws the titles of the columns.
func (t *Table) Header() {
	t.SetFillColor(228, 232, 238)
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	t.draw(titles, "B", true)
}

// Row draws one line of cells, on the next page when this one is full.
func (t *Table) Row(cells []string, style string) {
	_, high := t.GetPageSize()
	if t.GetY()+t.Tall(cells, style) > high-footHigh {
		t.AddPage()
		t.Header()
	}
	t.draw(cells, style, false)
}

// Wrapped is the lines of a cell.
func (t *Table) Wrapped(cell string, c Column, style string) []string {
	t.Face(style, t.Size)
	lines := t.SplitText(t.Clean(cell), c.Width)
	if len(lines) == 0 {
		lines = []string{""}
	}
	return lines
}

// Tall is the height of a row, in millimetres.
func (t *Table) Tall(cells []string, style string) float64 {
	lines := 1
	for i, c := range t.Columns {
		lines = max(lines, len(t.Wrapped(cells[i], c, style)))
	}
	return float64(lines)*t.lineHeight() + 1.6
}

func (t *Table) draw(cells []string, style string, fill bool) {
	x, y, h := t.margin, t.GetY(), t.Tall(cells, style)
	box := "D"
	if fill {
		box = "FD"
	}
	for i, c := range t.Columns {
		t.Rect(x, y, c.Width, h, box)
		for n, line := range t.Wrapped(cells[i], c, style) {
			t.SetXY(x, y+0.8+float64(n)*t.lineHeight())
			t.CellFormat(c.Width, t.lineHeight(), line, "", 0, c.Align, false, 0, "")
		}
		x += c.Width
	}
	t.SetXY(t.margin, y+h)
}

// Heading draws a form's title with the year at the right.
func (p *Page) Heading(title, sub, year string) {
	p.Face("B", 15)
	p.CellFormat(0, 7, title, "", 0, "L", false, 0, "")
	p.SetX(p.margin)
	p.CellFormat(0, 7, year, "", 1, "R", false, 0, "")
	p.Face("", 8)
	p.MultiCell(0, 3.8, p.Clean(sub), "", "L", false)
	p.Ln(1.5)
}

// Field draws a label and under it its value in full, over as many lines and
// pages as it takes.
func (p *Page) Field(label, value string) {
	if value == "" {
		value = "-"
	}
	if _, high := p.GetPageSize(); p.GetY() > high-28 {
		p.AddPage()
	}
	p.Face("", 7)
	p.SetTextColor(90, 90, 90)
	p.MultiCell(0, 3.6, p.Clean(label), "", "L", false)
	p.SetTextColor(0, 0, 0)
	p.Face("", 10)
	p.MultiCell(0, 4.8, p.Clean(value), "B", "L", false)
	p.Ln(1.4)
}

// Section draws the title of a part of a form.
func (p *Page) Section(title string) {
	if _, high := p.GetPageSize(); p.GetY() > high-40 {
		p.AddPage()
	}
	p.Ln(1)
	p.SetFillColor(228, 232, 238)
	p.Face("B", 10)
	p.CellFormat(0, 6, title, "", 1, "L", true, 0, "")
	p.Ln(1)
}
