package label

import (
	"time"

	"holdfast/internal/pdf"
)

// PDF draws labels, one a page of its size. made is printed nowhere.
func PDF(title string, made time.Time, labels ...Label) ([]byte, error) {
	p, err := pdf.New(pdf.Paper{Width: wide, Height: tall, Margin: margin, Title: title, Made: made})
	if err != nil {
		return nil, err
	}
	for i := range labels {
		l := &labels[i]
		k, err := l.sketchLabel(p)
		if err != nil {
			return nil, err
		}
		p.Leaf(wide, l.heightOf())
		for _, t := range k.texts {
			t.drawText(p)
		}
		for _, m := range k.marks {
			if err := m.drawMark(p); err != nil {
				return nil, err
			}
		}
	}
	return p.Bytes()
}

// newMeasure is a page that measures labels for a printer, which has fonts of its own.
func newMeasure() (*pdf.Page, error) {
	return pdf.New(pdf.Paper{Width: wide, Height: tall, Margin: margin, KeepsSigns: true})
}

func (t text) drawText(p *pdf.Page) {
	style := ""
	if t.bold {
		style = "B"
	}
	p.Face(style, t.high*points)
	p.DrawText(t.x, t.y+t.high*0.85, p.Clean(t.s))
}

// drawMark fills the dark modules, those side by side as one bar.
func (m mark) drawMark(p *pdf.Page) error {
	code, err := m.symbolModules()
	if err != nil {
		return err
	}
	b := code.Bounds()
	rows, high := 1, m.high
	if m.QR {
		rows, high = b.Dy(), m.module
	}
	p.SetFillColor(0, 0, 0)
	for y := range rows {
		for x := 0; x < b.Dx(); {
			n := 0
			for x+n < b.Dx() && isDark(code, b.Min.X+x+n, b.Min.Y+y) {
				n++
			}
			if n > 0 {
				p.Rect(m.x+float64(x)*m.module, m.y+float64(y)*m.module, float64(n)*m.module, high, "F")
			}
			x += max(n, 1)
		}
	}
	return nil
}
