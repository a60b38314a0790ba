// Package label draws what is stuck on goods and places and what travels with
// them: labels with barcodes as PDF and in ZPL II, the language of label
// printers, and papers as PDF. It is pure: texts in, a file out, the same for
// the same input.
//
// Layer: domains. Begin at [Label].
package label

import (
	"fmt"
	"strings"

	"holdfast/internal/pdf"
)

// Label is what one label says, from top to bottom.
type Label struct {
	Tall    bool   // 150 mm high, else 50; both are 100 wide
	Kind    string // what it is, small
	Big     string // what people look for
	Lines   []Line
	Symbols []Symbol // last, at the foot
}

// Line is a text with its name.
type Line struct{ Name, Value string }

// Size of a label in millimetres, and its margin.
const (
	wide   = 100.0
	tall   = 150.0
	low    = 50.0
	margin = 4.0
)

func (l *Label) heightOf() float64 {
	if l.Tall {
		return tall
	}
	return low
}

// text is a line of text at its place: its upper left corner and its height in
// millimetres.
type text struct {
	x, y, high float64
	bold       bool
	s          string
}

// mark is a symbol at its place, with the width of a module.
type mark struct {
	Symbol
	x, y, high, module float64
}

// sketch is a label with everything in its place.
type sketch struct {
	texts []text
	marks []mark
}

// symbolHeight is the height that a label gives to each symbol, in millimetres. GS1
// General Specifications 5.12 ask 31.75 mm of a logistic label's.
func (l *Label) symbolHeight() float64 {
	if l.Tall {
		return 34
	}
	if len(l.Symbols) > 1 {
		return 8
	}
	return 16
}

// reading is the height of the text below a symbol.
const reading = 3.2

// sketchLabel arranges a label; p measures text. ZPL's font 0 is narrower than p's,
// so what fits here fits there.
func (l *Label) sketchLabel(p *pdf.Page) (*sketch, error) {
	out := &sketch{}
	foot := l.heightOf() - margin
	for i := len(l.Symbols) - 1; i >= 0; i-- {
		m, err := placeSymbol(l.Symbols[i], foot-reading-l.symbolHeight(), l.symbolHeight())
		if err != nil {
			return nil, err
		}
		out.marks = append(out.marks, m)
		lines := fitLines(p, l.Symbols[i].Reads, reading, false, wide-2*margin)
		x := max(margin, (wide-textWidth(p, lines[0], reading, false))/2)
		out.texts = append(out.texts, text{x, foot - reading + 0.6, reading - 0.4, false, lines[0]})
		foot -= reading + l.symbolHeight() + 1.5
	}
	y := margin
	out.addText(l.Kind, &y, 2.8, false)
	l.addHead(p, out, &y)
	l.addBody(p, out, y, foot)
	return out, nil
}

// addHead puts the text that people look for, as large as its line allows.
func (l *Label) addHead(p *pdf.Page, out *sketch, y *float64) {
	high := 9.0
	for high > 4 && textWidth(p, l.Big, high, true) > wide-2*margin {
		high -= 0.5
	}
	out.addText(fitLines(p, l.Big, high, true, wide-2*margin)[0], y, high, true)
}

// addBody puts the lines between y and foot, smaller where they are many. What does
// not fit at the smallest size ends in "...".
func (l *Label) addBody(p *pdf.Page, out *sketch, y, foot float64) {
	var rows []text
	for _, high := range [...]float64{4.4, 3.8, 3.2, 2.6, 2.1} {
		at := y
		rows = rows[:0]
		for _, line := range l.Lines {
			for i, s := range fitLines(p, line.Name+": "+line.Value, high, false, wide-2*margin) {
				if i > 0 {
					s = "    " + s
				}
				rows = append(rows, text{margin, at, high, false, s})
				at += high * spacing
			}
		}
		if at <= foot {
			break
		}
	}
	for i, r := range rows {
		if r.y+r.high*spacing > foot {
			rows = rows[:i]
			if i > 0 {
				rows[i-1].s += " ..."
			}
			break
		}
	}
	out.texts = append(out.texts, rows...)
}

// spacing is the distance of two lines of text by their height.
const spacing = 1.2

func (k *sketch) addText(s string, y *float64, high float64, bold bool) {
	k.texts = append(k.texts, text{margin, *y, high, bold, s})
	*y += high * spacing
}

// points of a millimetre of text height.
const points = 72 / 25.4

func textWidth(p *pdf.Page, s string, high float64, bold bool) float64 {
	style := ""
	if bold {
		style = "B"
	}
	p.Face(style, high*points)
	return p.GetStringWidth(p.Clean(s)) + 2
}

// fitLines breaks a text into lines that fit; there is one at least.
func fitLines(p *pdf.Page, s string, high float64, bold bool, wide float64) []string {
	textWidth(p, "", high, bold)
	var out []string
	for line := range strings.SplitSeq(p.Clean(s), "\n") {
		out = append(out, p.SplitText(line, wide-4)...)
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

// placeSymbol puts a symbol in the middle of its line.
func placeSymbol(s Symbol, y, high float64) (mark, error) {
	code, err := s.symbolModules()
	if err != nil {
		return mark{}, err
	}
	n := float64(code.Bounds().Dx())
	m := s.moduleWidth()
	if s.QR {
		m = min(0.75, high/n)
	} else if m == 0 {
		return mark{}, fmt.Errorf("label: the bars of %q are wider than a label", s.Data)
	}
	return mark{s, (wide - n*m) / 2, y, high, m}, nil
}
