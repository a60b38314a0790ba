package pdf

import (
	"bytes"

	"codeberg.org/go-pdf/fpdf"
)

// AttachFile puts a file into the document, which readers of PDF offer to save. The last
// call holds.
func (p *Page) AttachFile(name string, content []byte) {
	p.SetAttachments([]fpdf.Attachment{{Filename: name, Content: content}})
}

// JPEG draws a picture as large as fits into a box of millimetres, at its upper left;
// pictures of one name are one. It returns the height that is drawn.
func (p *Page) JPEG(name string, raw []byte, x, y, wide, high float64) float64 {
	is := fpdf.ImageOptions{ImageType: "JPG"}
	info := p.RegisterImageOptionsReader(name, is, bytes.NewReader(raw))
	if p.Err() || info.Width() <= 0 || info.Height() <= 0 {
		return 0
	}
	scale := min(wide/info.Width(), high/info.Height())
	p.ImageOptions(name, x, y, info.Width()*scale, info.Height()*scale, false, is, 0, "")
	return info.Height() * scale
}

// WrapText is a text in lines that fit into a width of millimetres, in the face that is set.
func (p *Page) WrapText(text string, wide float64) []string { return p.SplitText(p.Clean(text), wide) }

// RoomLeft is how far down text may go on a page that has a foot, in millimetres from above.
func (p *Page) RoomLeft() float64 {
	_, high := p.GetPageSize()
	return high - footHigh
}

// PrintableWidth is that of the text on a page, in millimetres.
func (p *Page) PrintableWidth() float64 {
	wide, _ := p.GetPageSize()
	return wide - 2*p.margin
}

// KeepTogether goes on to the next page where less than some millimetres are left.
func (p *Page) KeepTogether(high float64) {
	if p.GetY()+high > p.RoomLeft() {
		p.AddPage()
	}
}
