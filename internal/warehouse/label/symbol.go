package label

import (
	"fmt"
	"strings"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/code128"
	"github.com/boombuler/barcode/qr"

	"holdfast/internal/gs1"
)

// Symbol is one barcode of a label.
type Symbol struct {
	Data  string // what a scanner sends, without its prefix; FNC1 between elements is gs1.FNC1
	GS1   bool   // FNC1 stands before the data: GS1-128
	QR    bool   // a QR code in place of bars
	Reads string // printed below, for people
}

// Of is the barcode of a text that is no GS1 key: Code 128 where its bars fit
// the width of a label, else a QR code, which takes any text.
func Of(text string) Symbol {
	s := Symbol{Data: text, Reads: text}
	s.QR = !inCode128(text) || s.moduleWidth() == 0
	return s
}

// inCode128 reports printable ASCII. What code sets A and the library's function
// characters would take besides is not asked for by any number of a warehouse.
func inCode128(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

// OfGS1 is the barcode of element strings: one GS1-128 symbol where it fits, else
// one of the key and its variable attribute and a second of the rest, so that
// the first alone still says what the label is of. l is of one or more elements.
func OfGS1(l gs1.Label) []Symbol {
	whole := Symbol{Data: l.Encoded(), GS1: true, Reads: l.String()}
	if whole.moduleWidth() > 0 {
		return []Symbol{whole}
	}
	var parts [2]gs1.Label
	for _, e := range l.Elements {
		at := 0
		if e.AI == "15" || e.AI == "17" {
			at = 1
		}
		parts[at].Elements = append(parts[at].Elements, e)
	}
	var out []Symbol
	for _, p := range parts {
		if len(p.Elements) > 0 {
			out = append(out, Symbol{Data: p.Encoded(), GS1: true, Reads: p.String()})
		}
	}
	return out
}

// symbolModules is the symbol in modules: one row of a linear code, the square of a
// QR code at error correction level M.
func (s Symbol) symbolModules() (barcode.Barcode, error) {
	if s.QR {
		code, err := qr.Encode(s.Data, qr.M, qr.Auto)
		if err != nil {
			return nil, fmt.Errorf("label: QR code: %w", err)
		}
		return code, nil
	}
	text := strings.ReplaceAll(s.Data, gs1.FNC1, string(code128.FNC1))
	if s.GS1 {
		text = string(code128.FNC1) + text
	}
	code, err := code128.Encode(text)
	if err != nil {
		return nil, fmt.Errorf("label: Code 128: %w", err)
	}
	return code, nil
}

// narrowest are the widths of a bar that are tried, widest first, in millimetres:
// each is a whole number of dots at 203 dpi. 0.25 is the least that the GS1
// General Specifications (5.12) allow for GS1-128.
var narrowest = [...]float64{0.5, 0.375, 0.25}

// moduleWidth is the width of the narrowest bar with which the symbol and its quiet
// zones of ten modules fit the width of a label; 0 when none does.
func (s Symbol) moduleWidth() float64 {
	code, err := s.symbolModules()
	if err != nil {
		return 0
	}
	for _, m := range narrowest {
		if float64(code.Bounds().Dx()+20)*m <= wide {
			return m
		}
	}
	return 0
}

// isDark reports a module that is printed.
func isDark(code barcode.Barcode, x, y int) bool {
	r, _, _, _ := code.At(x, y).RGBA()
	return r == 0
}
