package label

import (
	"strings"
	"time"

	"holdfast/internal/pdf"
)

// Paper is a document that travels with goods or with a person, on sheets of A4
// or US letter.
type Paper struct {
	Size      string // A4 or Letter
	Title, No string // what it is and its number
	Code      bool   // the number stands in bars too, for a scanner
	Facts     []Line
	Addresses []Line // beside each other; of several lines each
	Tables    []Table
	Signs     []string // who signs, each above a line; none = no place to sign
}

// Table is a table of a paper, whose columns are given in shares of its width.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string
}

// Column is a column of a table.
type Column struct {
	Title string
	Share float64
	Right bool
}

// PDF draws the paper; made is printed nowhere.
func (d *Paper) PDF(made time.Time) ([]byte, error) {
	p, err := pdf.New(pdf.Paper{Size: d.Size, Title: d.Title + " " + d.No, Foot: d.Title + " " + d.No, Made: made})
	if err != nil {
		return nil, err
	}
	p.AddPage()
	if err := d.drawTop(p); err != nil {
		return nil, err
	}
	for _, t := range d.Tables {
		t.drawTable(p)
	}
	d.drawSignatures(p)
	return p.Bytes()
}

// textWidthOfPage is the width that a page has for text.
func textWidthOfPage(p *pdf.Page) float64 {
	w, _ := p.GetPageSize()
	return w - 2*pdf.Margin
}

// drawTop draws the title with the number and its bars, addresses and facts.
func (d *Paper) drawTop(p *pdf.Page) error {
	p.Face("B", 16)
	p.CellFormat(0, 8, p.Clean(d.Title), "", 0, "L", false, 0, "")
	p.SetX(pdf.Margin)
	p.CellFormat(0, 8, p.Clean(d.No), "", 1, "R", false, 0, "")
	if s := Of(d.No); d.Code && !s.QR {
		m, err := placeSymbol(s, p.GetY()+1, 10)
		if err != nil {
			return err
		}
		code, err := s.symbolModules()
		if err != nil {
			return err
		}
		m.module = 0.25
		m.x = pdf.Margin + textWidthOfPage(p) - float64(code.Bounds().Dx())*m.module
		if err := m.drawMark(p); err != nil {
			return err
		}
		p.SetY(p.GetY() + 13)
	}
	d.drawAddresses(p)
	for _, f := range d.Facts {
		p.Face("", 9)
		p.CellFormat(32, 5, p.Clean(f.Name), "", 0, "L", false, 0, "")
		p.Face("B", 9)
		p.MultiCell(0, 5, p.Clean(f.Value), "", "L", false)
	}
	p.Ln(2)
	return nil
}

// drawAddresses draws blocks of text side by side.
func (d *Paper) drawAddresses(p *pdf.Page) {
	if len(d.Addresses) == 0 {
		return
	}
	y, end := p.GetY()+2, 0.0
	wide := textWidthOfPage(p) / float64(len(d.Addresses))
	for i, a := range d.Addresses {
		x := pdf.Margin + float64(i)*wide
		p.SetXY(x, y)
		p.Face("", 7)
		p.CellFormat(wide, 4, p.Clean(a.Name), "", 2, "L", false, 0, "")
		p.Face("", 10)
		for _, line := range fitLines(p, a.Value, 10/points, false, wide) {
			p.SetX(x)
			p.CellFormat(wide, 4.8, line, "", 2, "L", false, 0, "")
		}
		end = max(end, p.GetY())
	}
	p.SetXY(pdf.Margin, end+3)
}

func (t *Table) drawTable(p *pdf.Page) {
	p.Section(p.Clean(t.Title))
	sum := 0.0
	for _, c := range t.Columns {
		sum += c.Share
	}
	table := &pdf.Table{Page: p, Size: 8.5}
	for _, c := range t.Columns {
		align := "L"
		if c.Right {
			align = "R"
		}
		table.Columns = append(table.Columns, pdf.NewColumn(c.Title, c.Share/sum*textWidthOfPage(p), align))
	}
	table.Header()
	for _, row := range t.Rows {
		table.Row(row, "")
	}
	p.Ln(2)
}

// drawSignatures draws the lines to sign on, together on one page.
func (d *Paper) drawSignatures(p *pdf.Page) {
	if len(d.Signs) == 0 {
		return
	}
	if _, high := p.GetPageSize(); p.GetY() > high-50 {
		p.AddPage()
	}
	y := p.GetY() + 22
	wide := textWidthOfPage(p) / float64(len(d.Signs))
	for i, s := range d.Signs {
		x := pdf.Margin + float64(i)*wide
		p.Line(x, y, x+wide-6, y)
		p.SetXY(x, y+1)
		p.Face("", 8)
		p.CellFormat(wide-6, 4, p.Clean(s), "", 0, "L", false, 0, "")
	}
}

// FileName is what the paper is saved as: delivery-note-sh-2026-000001.pdf.
func (d *Paper) FileName() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(d.Title+"-"+d.No)) + ".pdf"
}
