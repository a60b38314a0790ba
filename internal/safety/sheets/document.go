package sheets

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/pdf"
)

// Bounds of a sheet. What is longer is refused: nobody reads it, and the server would
// work on it for everybody's time.
const (
	mostBytes = 1 << 20 // of text
	mostPages = 400
)

// Document is what a sheet says, before it is drawn.
type Document struct {
	words *words
	size  string // A4 or Letter
	owner string // the tenant's name
	title string // what it is and its number
	about string // the record in its own words
	id    string // of the record
	parts []part
}

// part is a piece of a sheet.
type part interface {
	// addText adds what the part says, a line for each statement.
	addText(b *strings.Builder)
	drawPart(p *pdf.Page)
}

func (d *Document) addParts(parts ...part) { d.parts = append(d.parts, parts...) }

// addHeaded adds a part under a heading, unless it says nothing.
func (d *Document) addHeaded(title string, parts ...part) {
	var b strings.Builder
	for _, x := range parts {
		x.addText(&b)
	}
	if b.Len() == 0 {
		return
	}
	keeps := 3 * lineHigh
	if _, ok := parts[0].(gallery); ok {
		keeps = imageHigh + 2*lineHigh
	}
	d.addParts(append([]part{heading{title, keeps}}, parts...)...)
}

// ContentText is all that the sheet says, in its order: the text whose digest stands at the
// foot of each page, and which the file carries. When it was printed is no part of it.
func (d *Document) ContentText() string {
	var b strings.Builder
	addLine(&b, d.owner, d.title, d.about, d.id)
	for _, x := range d.parts {
		x.addText(&b)
	}
	return b.String()
}

// addLine adds a line of parts that are not empty.
func addLine(b *strings.Builder, parts ...string) {
	if line := joinSaid(" | ", parts...); line != "" {
		// A line of a text is set off, so that none looks like a heading of the sheet.
		b.WriteString(strings.NewReplacer("\r\n", "\n    ", "\n", "\n    ").Replace(line))
		b.WriteByte('\n')
	}
}

// PDF draws the sheet; made is its date as a file, and printed nowhere. A sheet past the
// bounds is fault.TooLarge.
func (d *Document) PDF(made time.Time) ([]byte, error) {
	content := d.ContentText()
	if len(content) > mostBytes {
		return nil, fault.New(fault.TooLarge, "54000",
			"the document would hold %d kB of text, and %d kB are the most: read the record on its page",
			len(content)>>10, mostBytes>>10).At("id", "too long for a document")
	}
	record := ""
	if d.id != "" {
		record = d.words.sayText("Record {id}", "id", d.id)
	}
	digest := sha256.Sum256([]byte(content))
	p, err := pdf.New(pdf.Paper{Size: d.size, Title: d.title, Margin: margin, Made: made,
		Foot: joinSaid(" · ", d.owner, d.title, record) +
			"\nSHA-256 " + hex.EncodeToString(digest[:]),
		Count: d.words.sayText("Page {n} of {m}", "n", "%d", "m", pdf.Pages)})
	if err != nil {
		return nil, err
	}
	p.AttachFile("content.txt", []byte(content))
	p.AddPage()
	d.drawTitle(p)
	for _, x := range d.parts {
		x.drawPart(p)
		if p.PageNo() > mostPages {
			return nil, fault.New(fault.TooLarge, "54000",
				"the document would have more than %d pages: read the record on its page", mostPages).
				At("id", "too long for a document")
		}
	}
	return p.Bytes()
}

// FileName is what the sheet is saved as: incident-in-2026-000001.pdf.
func (d *Document) FileName(kind, no string) string {
	return kind + "-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(no)) + ".pdf"
}
