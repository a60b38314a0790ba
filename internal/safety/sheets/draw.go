package sheets

import (
	"strings"

	"holdfast/internal/pdf"
)

// Measures of a sheet, in millimetres.
const (
	margin    = 15.0
	lineHigh  = 4.8
	smallHigh = 3.8
	nameWide  = 46.0 // of the name of a fact
	galleryIn = 6.0  // between two pictures
	imageHigh = 70.0 // of a picture at most
)

func (d *Document) drawTitle(p *pdf.Page) {
	p.Face("", 9)
	setGrey(p)
	drawLines(p, p.GetX(), p.PrintableWidth(), lineHigh, d.owner)
	setBlack(p)
	p.Face("B", 16)
	drawLines(p, p.GetX(), p.PrintableWidth(), 8, d.title)
	p.Face("B", 11)
	drawLines(p, p.GetX(), p.PrintableWidth(), 5.5, d.about)
	p.Ln(1)
}

func setGrey(p *pdf.Page)  { p.SetTextColor(90, 90, 90) }
func setBlack(p *pdf.Page) { p.SetTextColor(0, 0, 0) }

// drawLines draws a text from a place on, in the face that is set, over as many lines
// and pages as it takes.
func drawLines(p *pdf.Page, x, wide, high float64, text string) {
	for _, line := range p.WrapText(text, wide) {
		p.KeepTogether(high)
		p.SetX(x)
		p.CellFormat(wide, high, line, "", 2, "L", false, 0, "")
	}
	p.SetX(margin)
}

// heading is the title of a chapter, which stays with what follows: so many millimetres
// of it at least.
type heading struct {
	title string
	keeps float64
}

func (h heading) addText(b *strings.Builder) { addLine(b, "# "+h.title) }

func (h heading) drawPart(p *pdf.Page) {
	p.KeepTogether(12 + h.keeps)
	p.Ln(4)
	p.Face("B", 12)
	drawLines(p, margin, p.PrintableWidth(), 6.5, h.title)
	p.SetDrawColor(150, 160, 175)
	p.Line(margin, p.GetY(), margin+p.PrintableWidth(), p.GetY())
	p.SetDrawColor(0, 0, 0)
	p.Ln(1.5)
}

// fact is a name and what is said by it.
type fact struct{ name, value string }

// facts are drawn as lines of names and values; one without a value is left out.
type facts []fact

func (f facts) addText(b *strings.Builder) {
	for _, x := range f {
		if x.value != "" {
			addLine(b, x.name+": "+x.value)
		}
	}
}

func (f facts) drawPart(p *pdf.Page) {
	for _, x := range f {
		if x.value != "" {
			x.drawFact(p)
		}
	}
}

func (f fact) drawFact(p *pdf.Page) {
	wide := p.PrintableWidth() - nameWide
	p.Face("", 9)
	names := p.WrapText(f.name, nameWide)
	p.Face("", 10)
	values := p.WrapText(f.value, wide)
	for i := range max(len(names), len(values)) {
		p.KeepTogether(lineHigh)
		p.SetX(margin)
		p.Face("", 9)
		setGrey(p)
		p.CellFormat(nameWide, lineHigh, lineAt(names, i), "", 0, "L", false, 0, "")
		setBlack(p)
		p.Face("", 10)
		p.CellFormat(wide, lineHigh, lineAt(values, i), "", 1, "L", false, 0, "")
	}
	p.Ln(0.4)
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// passage is a text in whole sentences, with a title of its own where it has one.
type passage struct{ title, text string }

func (x passage) addText(b *strings.Builder) {
	if x.text != "" {
		addLine(b, joinSaid(": ", x.title, x.text))
	}
}

func (x passage) drawPart(p *pdf.Page) {
	if x.text == "" {
		return
	}
	p.Ln(1)
	if x.title != "" {
		p.KeepTogether(3 * lineHigh)
		p.Face("B", 10)
		drawLines(p, margin, p.PrintableWidth(), lineHigh, x.title)
	}
	p.Face("", 10)
	drawLines(p, margin, p.PrintableWidth(), lineHigh, x.text)
	p.Ln(1)
}

// entry is a statement with what stands under it: when, what happened, and its words.
type entry struct {
	at, said string
	text     string
	small    []string
	keeps    float64 // of what follows on its page, in millimetres
}

type entries []entry

func (list entries) addText(b *strings.Builder) {
	for _, e := range list {
		addLine(b, e.at, e.said, e.text)
		for _, line := range e.small {
			if line != "" {
				addLine(b, "- "+line)
			}
		}
	}
}

func (list entries) drawPart(p *pdf.Page) {
	for _, e := range list {
		e.drawEntry(p)
	}
}

func (e entry) drawEntry(p *pdf.Page) {
	left, wide := margin, p.PrintableWidth()
	p.KeepTogether(3*lineHigh + e.keeps + float64(len(e.small))*lineHigh)
	if e.at != "" {
		p.Face("", 9)
		setGrey(p)
		p.CellFormat(nameWide, lineHigh, p.Clean(e.at), "", 0, "L", false, 0, "")
		setBlack(p)
		left, wide = margin+nameWide, wide-nameWide
	}
	p.Face("B", 9.5)
	drawLines(p, left, wide, lineHigh, e.said)
	p.Face("", 10)
	drawLines(p, left, wide, lineHigh, e.text)
	p.Face("", 9)
	for _, line := range e.small {
		drawLines(p, left+3, wide-3, smallHigh+0.4, line)
	}
	p.Ln(1.6)
}

// grid is a table whose columns have shares of the width.
type grid struct {
	titles []string
	shares []float64
	rows   [][]string
}

func (g grid) addText(b *strings.Builder) {
	for _, row := range g.rows {
		addLine(b, row...)
	}
}

func (g grid) drawPart(p *pdf.Page) {
	sum := 0.0
	for _, s := range g.shares {
		sum += s
	}
	t := &pdf.Table{Page: p, Size: 8.5}
	for i, title := range g.titles {
		t.Columns = append(t.Columns, pdf.NewColumn(title, g.shares[i]/sum*p.PrintableWidth(), "L"))
	}
	if len(g.rows) > 0 {
		p.KeepTogether(t.Tall(g.titles, "B") + t.Tall(g.rows[0], ""))
	}
	t.Header()
	for _, row := range g.rows {
		t.Row(row, "")
	}
	p.Ln(2)
}

// picture is a photo made small, or nothing where its bytes are not to be had.
type picture struct {
	sha256  string // of the photo as it is kept
	jpeg    []byte
	caption string
	missing string // what is said instead of it
}

// gallery draws pictures two in a row, each over what it shows.
type gallery []picture

func (g gallery) addText(b *strings.Builder) {
	for _, x := range g {
		addLine(b, x.caption, x.missing, "SHA-256 "+x.sha256)
	}
}

func (g gallery) drawPart(p *pdf.Page) {
	for ; len(g) > 2; g = g[2:] {
		g[:2].drawRow(p)
	}
	if len(g) > 0 {
		g.drawRow(p)
	}
}

// drawRow draws one or two pictures beside each other, on one page.
func (g gallery) drawRow(p *pdf.Page) {
	wide := (p.PrintableWidth() - galleryIn) / 2
	p.Face("", 9)
	tall := 0.0
	for _, x := range g {
		tall = max(tall, float64(len(p.WrapText(x.caption, wide)))*smallHigh)
	}
	p.KeepTogether(imageHigh + tall + 2)
	top, low := p.GetY()+1, 0.0
	for i, x := range g {
		left := margin + float64(i)*(wide+galleryIn)
		high := x.drawPicture(p, left, top, wide)
		p.SetXY(left, top+high+1)
		for _, line := range p.WrapText(x.caption, wide) {
			p.SetX(left)
			p.CellFormat(wide, smallHigh, line, "", 2, "L", false, 0, "")
		}
		low = max(low, p.GetY())
	}
	p.SetXY(margin, low+2)
}

// drawPicture draws a picture, or a box that says why there is none, and returns how
// high it is.
func (x picture) drawPicture(p *pdf.Page, left, top, wide float64) float64 {
	p.Face("", 9)
	if x.jpeg != nil {
		return p.JPEG(x.sha256, x.jpeg, left, top, wide, imageHigh)
	}
	const high = 20.0
	p.Rect(left, top, wide, high, "D")
	p.SetXY(left+2, top+2)
	drawLines(p, left+2, wide-4, smallHigh, x.missing)
	return high
}
