package decimal

import (
	"math/big"
	"regexp"
	"testing"
)

// Parse agrees with exact arithmetic on every text: it gives the number or
// refuses it, whichever of its two ways read it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "-0", "12", "-12.5", "0.0001", "0.00001", "99999999999999.9999", "922337203685477.5807", "922337203685477.5808",
		"1e3", ".5", "5.", "+1", "-", "", "1.2.3", "12a", "1_0"} {
		f.Add(s)
	}
	number := regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)$`)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		if !number.MatchString(s) || len(s) > 64 {
			if _, plain := short(s); plain {
				t.Errorf("%q is read the short way and is no number", s)
			}
			return
		}
		want, _ := new(big.Rat).SetString(s)
		want.Mul(want, big.NewRat(Scale, 1))
		if fits := want.IsInt() && want.Num().IsInt64(); fits != (err == nil) {
			t.Errorf("Parse(%q) = %v, %v; exactly %v ten-thousandths", s, got, err, want)
		} else if fits && int64(got) != want.Num().Int64() {
			t.Errorf("Parse(%q) = %d ten-thousandths, want %v", s, int64(got), want)
		}
	})
}

func TestExact(t *testing.T) {
	dec := func(s string) Dec {
		d, err := Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct{ a, b, product, quotient string }{
		{"3", "12", "36", "0.25"},
		{"2.5", "0.4", "1", "6.25"},
		{"-7", "2", "-14", "-3.5"},
		{"1", "3", "3", ""},
		{"0.0001", "0.5", "", "0.0002"},
		{"5", "0", "0", ""},
		{"900000000000000", "10", "", "90000000000000"},
		{"900000000000000", "0.1", "90000000000000", ""},
	} {
		for _, op := range []struct {
			f    func(Dec) (Dec, bool)
			want string
		}{{dec(c.a).MulExact, c.product}, {dec(c.a).DivExact, c.quotient}} {
			got, ok := op.f(dec(c.b))
			if ok != (op.want != "") || ok && got != dec(op.want) {
				t.Errorf("%s and %s: %s, %v, want %q", c.a, c.b, got, ok, op.want)
			}
		}
	}
}
