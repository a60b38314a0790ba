package osha

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
)

// page is a form being drawn, in millimetres. Text is never cut: cells wrap
// and rows grow, and what does not fit goes on to the next page.
type page struct {
	pdf   *fpdf.Fpdf
	glyph *sfnt.Font
	buf   sfnt.Buffer
	foot  string
}

const (
	family = "Go"
	margin = 8.0
)

// newPage begins a form: "P" upright or "L" across, US letter. made is printed
// nowhere; it makes the bytes the same for the same records.
func newPage(orientation, title, foot string, made time.Time) (*page, error) {
	glyph, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("osha: read the font: %w", err)
	}
	p := &page{pdf: fpdf.New(orientation, "mm", "Letter", ""), glyph: glyph, foot: foot}
	p.pdf.AddUTF8FontFromBytes(family, "", goregular.TTF)
	p.pdf.AddUTF8FontFromBytes(family, "B", gobold.TTF)
	p.pdf.SetCreationDate(made)
	p.pdf.SetModificationDate(made)
	p.pdf.SetCatalogSort(true)
	p.pdf.SetTitle(title, true)
	p.pdf.SetProducer("Holdfast", true)
	p.pdf.SetMargins(margin, margin, margin)
	p.pdf.SetAutoPageBreak(true, 14)
	p.pdf.SetCellMargin(0.7)
	p.pdf.SetLineWidth(0.2)
	p.pdf.AliasNbPages("{pages}")
	p.pdf.SetFooterFunc(p.footer)
	return p, nil
}

func (p *page) footer() {
	p.pdf.SetY(-11)
	p.font("", 7)
	p.pdf.SetTextColor(90, 90, 90)
	p.pdf.CellFormat(0, 4, p.clean(p.foot), "", 0, "L", false, 0, "")
	p.pdf.SetX(margin)
	p.pdf.CellFormat(0, 4, fmt.Sprintf("Page %d of {pages}", p.pdf.PageNo()), "", 0, "R", false, 0, "")
	p.pdf.SetTextColor(0, 0, 0)
}

func (p *page) font(style string, size float64) { p.pdf.SetFont(family, style, size) }

// clean makes a text drawable: blanks for control characters, a box for what
// the font has no sign for, so that nothing vanishes unseen.
func (p *page) clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		if unicode.IsControl(r) {
			return ' '
		}
		if i, err := p.glyph.GlyphIndex(&p.buf, r); r > 0xFFFF || err != nil || i == 0 {
			return '□'
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

func (p *page) bytes() ([]byte, error) {
	var b bytes.Buffer
	if err := p.pdf.Output(&b); err != nil {
		return nil, fmt.Errorf("osha: write the form: %w", err)
	}
	return b.Bytes(), nil
}

// column of a table.
type column struct {
	title string
	width float64
	align string
}

// table draws rows whose height is that of their tallest cell, with the header
// again on each page.
type table struct {
	*page
	columns []column
	size    float64 // of the text, in points
}

func (t *table) lineHeight() float64 { return t.size * 0.45 }

func (t *table) header() {
	t.pdf.SetFillColor(228, 232, 238)
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	t.draw(titles, "B", true)
}

// row draws one line of cells, on the next page when this one is full.
func (t *table) row(cells []string, style string) {
	_, high := t.pdf.GetPageSize()
	if t.pdf.GetY()+t.height(cells, style) > high-14 {
		t.pdf.AddPage()
		t.header()
	}
	t.draw(cells, style, false)
}

func (t *table) wrapped(cell string, c column, style string) []string {
	t.font(style, t.size)
	lines := t.pdf.SplitText(t.clean(cell), c.width)
	if len(lines) == 0 {
		lines = []string{""}
	}
	return lines
}

func (t *table) height(cells []string, style string) float64 {
	lines := 1
	for i, c := range t.columns {
		lines = max(lines, len(t.wrapped(cells[i], c, style)))
	}
	return float64(lines)*t.lineHeight() + 1.6
}

func (t *table) draw(cells []string, style string, fill bool) {
	x, y, h := margin, t.pdf.GetY(), t.height(cells, style)
	box := "D"
	if fill {
		box = "FD"
	}
	for i, c := range t.columns {
		t.pdf.Rect(x, y, c.width, h, box)
		for n, line := range t.wrapped(cells[i], c, style) {
			t.pdf.SetXY(x, y+0.8+float64(n)*t.lineHeight())
			t.pdf.CellFormat(c.width, t.lineHeight(), line, "", 0, c.align, false, 0, "")
		}
		x += c.width
	}
	t.pdf.SetXY(margin, y+h)
}

// heading draws the form's title with the year at the right.
func (p *page) heading(title, sub, year string) {
	p.font("B", 15)
	p.pdf.CellFormat(0, 7, title, "", 0, "L", false, 0, "")
	p.pdf.SetX(margin)
	p.pdf.CellFormat(0, 7, year, "", 1, "R", false, 0, "")
	p.font("", 8)
	p.pdf.MultiCell(0, 3.8, p.clean(sub), "", "L", false)
	p.pdf.Ln(1.5)
}

// field draws a label and under it its value in full, over as many lines and
// pages as it takes.
func (p *page) field(label, value string) {
	if value == "" {
		value = "-"
	}
	if _, high := p.pdf.GetPageSize(); p.pdf.GetY() > high-28 {
		p.pdf.AddPage()
	}
	p.font("", 7)
	p.pdf.SetTextColor(90, 90, 90)
	p.pdf.MultiCell(0, 3.6, p.clean(label), "", "L", false)
	p.pdf.SetTextColor(0, 0, 0)
	p.font("", 10)
	p.pdf.MultiCell(0, 4.8, p.clean(value), "B", "L", false)
	p.pdf.Ln(1.4)
}

// section draws the title of a part of a form.
func (p *page) section(title string) {
	if _, high := p.pdf.GetPageSize(); p.pdf.GetY() > high-40 {
		p.pdf.AddPage()
	}
	p.pdf.Ln(1)
	p.pdf.SetFillColor(228, 232, 238)
	p.font("B", 10)
	p.pdf.CellFormat(0, 6, title, "", 1, "L", true, 0, "")
	p.pdf.Ln(1)
}
