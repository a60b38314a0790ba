package label

import (
	"fmt"
	"math"
	"strings"

	"holdfast/internal/gs1"
)

// Resolutions of label printers, in dots per inch, and the dots of a millimetre.
var Resolutions = map[int]float64{203: 8, 300: 12}

// ZPL writes labels in ZPL II for a printer of a resolution of Resolutions. Text
// is UTF-8 (^CI28) and escaped (^FH): nothing that a record holds is read as a
// command.
func ZPL(dpi int, labels ...Label) ([]byte, error) {
	p, err := newMeasure()
	if err != nil {
		return nil, err
	}
	dots, ok := Resolutions[dpi]
	if !ok {
		return nil, fmt.Errorf("label: %d dpi is not known", dpi)
	}
	var b strings.Builder
	for i := range labels {
		l := &labels[i]
		k, err := l.sketchLabel(p)
		if err != nil {
			return nil, err
		}
		z := zpl{&b, dots}
		fmt.Fprintf(&b, "^XA\n^CI28\n^PW%d\n^LL%d\n", z.toDots(wide), z.toDots(l.heightOf()))
		for _, t := range k.texts {
			z.writeText(t)
		}
		for _, m := range k.marks {
			z.writeMark(m)
		}
		b.WriteString("^XZ\n")
	}
	return []byte(b.String()), nil
}

// zpl writes fields at a number of dots per millimetre.
type zpl struct {
	*strings.Builder
	dots float64
}

func (z zpl) toDots(mm float64) int { return int(math.Round(mm * z.dots)) }

func (z zpl) writeText(t text) {
	fmt.Fprintf(z, "^FO%d,%d^A0N,%d^FH_^FD%s^FS\n", z.toDots(t.x), z.toDots(t.y), z.toDots(t.high), escapeText(t.s))
}

// writeMark writes a symbol. Its bars are a whole number of dots wide, so it may be
// a little narrower than on paper.
func (z zpl) writeMark(m mark) {
	module := max(1, int(m.module*z.dots))
	fmt.Fprintf(z, "^FO%d,%d", z.toDots(m.x), z.toDots(m.y))
	if m.QR {
		fmt.Fprintf(z, "^BQN,2,%d^FH_^FDMM,B%04d%s^FS\n", min(10, module), len(m.Data), escapeText(m.Data))
		return
	}
	fmt.Fprintf(z, "^BY%d^BCN,%d,N,N,N,N^FD%s^FS\n", module, z.toDots(m.high), encodeCode128(m.Symbol))
}

// escapeText writes a text for a field with ^FH_: what begins a command, the escape
// itself, a backslash, control characters and all that is not ASCII as the
// hexadecimal of its bytes.
func escapeText(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '}' || c == '^' || c == '_' || c == '\\' {
			fmt.Fprintf(&b, "_%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// invocations are what field data of ^BC says for the characters of code set B
// that it does not take as they are.
var invocations = map[byte]string{'>': ">0", '^': "><", '~': ">="}

// encodeCode128 writes the data of a Code 128 symbol with its code sets: pairs of
// digits in C, all else in B, as few symbol characters as that needs. FNC1 is
// ">8" in both.
func encodeCode128(s Symbol) string {
	data := s.Data
	if s.GS1 {
		data = gs1.FNC1 + data
	}
	var b strings.Builder
	set := byte(0)
	for i := 0; i < len(data); {
		if data[i] == gs1.FNC1[0] && set != 0 {
			b.WriteString(">8")
			i++
			continue
		}
		n := countDigits(strings.TrimLeft(data[i:], gs1.FNC1))
		if want := chooseCodeSet(set, n); want != set {
			b.WriteString(turns[[2]byte{set, want}])
			set = want
			continue
		}
		if set == 'C' {
			b.WriteString(data[i : i+2])
			i += 2
			continue
		}
		if v, ok := invocations[data[i]]; ok {
			b.WriteString(v)
		} else {
			b.WriteByte(data[i])
		}
		i++
	}
	return b.String()
}

// turns start a symbol in a code set, or change it.
var turns = map[[2]byte]string{{0, 'B'}: ">:", {0, 'C'}: ">;", {'B', 'C'}: ">5", {'C', 'B'}: ">6"}

// chooseCodeSet is the code set for what begins with n digits: C for four or more of an
// even number, for two while it is on.
func chooseCodeSet(set byte, n int) byte {
	if set == 'C' && n >= 2 || n >= 4 && n%2 == 0 || set == 0 && n >= 4 {
		return 'C'
	}
	return 'B'
}

// countDigits counts the digits at the front.
func countDigits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
