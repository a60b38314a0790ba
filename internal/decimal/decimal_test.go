package decimal

import (
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
)

// number is the grammar of Parse: that of RFC 8259, section 6, with a leading plus,
// leading zeros and a point with digits on one side only besides.
var number = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE]([+-]?\d+))?$`)

// Parse agrees with exact arithmetic on every text: it gives the number or refuses
// it, whichever of its two ways read it, and refuses what is no number.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "-0", "12", "-12.5", "0.0001", "0.00001", "99999999999999.9999",
		"922337203685477.5807", "922337203685477.5808",
		"-922337203685477.5807", "-922337203685477.5808", "1e3", ".5", "5.", "+1", "-", "", "1.2.3", "12a", "1_0",
		"1e++2", "1e+-2", "1e-+2", "1e--2", "1e+", "1e-", "1e", "e1", "1e 2", "1e2 ", "1e1_0", "1e2.5", "1ee2", "1e2e2",
		"1E+2", "1E-2", "1e02", "1e-00",
		"1e40", "1e41", "1e-40", "1e-41", "0e99", "1e99999999999999999999", "12.5e-3", "123456789e-4", "123456789e-5",
		"0x1p4", "Inf", "NaN", "--1", "+-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		parts := number.FindStringSubmatch(s)
		if parts == nil || len(s) > 64 {
			if err == nil {
				t.Errorf("Parse(%q) = %v, which is no number", s, got)
			}
			return
		}
		if exponent, err2 := strconv.Atoi(parts[3]); parts[2] != "" &&
			(err2 != nil || max(exponent, -exponent) > mostExponent) {
			if err == nil {
				t.Errorf("Parse(%q) = %v with an exponent beyond %d", s, got, mostExponent)
			}
			return
		}
		want, _ := new(big.Rat).SetString(s)
		want.Mul(want, big.NewRat(Scale, 1))
		// The range is the same on both sides of zero.
		fits := want.IsInt() && want.Num().IsInt64() && want.Num().Int64() != math.MinInt64
		if fits != (err == nil) {
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

// A product over a divisor is rounded once, half away from zero, and agrees with
// fractions.
func TestMulDiv(t *testing.T) {
	for range 2000 {
		a, b, by := Dec(rand.Int64N(1e12)-5e11), Dec(rand.Int64N(1e9)), Dec(1+rand.Int64N(1e7))
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(int64(a)), big.NewInt(int64(b))), big.NewInt(int64(by)))
		want := exact.FloatString(0)
		if want == "-0" {
			want = "0"
		}
		if got, err := a.MulDiv(b, by); err != nil || strconv.FormatInt(int64(got), 10) != want {
			t.Errorf("%s x %s / %s = %s, %v; want %s ten-thousandths", a, b, by, got, err, want)
		}
	}
	for _, by := range []Dec{0, -1} {
		if got, err := One.MulDiv(One, by); err != ErrRange {
			t.Errorf("1 x 1 / %s = %s, %v", by, got, err)
		}
	}
	if got, err := Dec(math.MaxInt64).MulDiv(2*One, One); err != ErrRange {
		t.Errorf("past the range: %s, %v", got, err)
	}
	if got, err := Dec(math.MaxInt64).MulDiv(3*One, 3*One); err != nil || got != math.MaxInt64 {
		t.Errorf("the largest: %s, %v", got, err)
	}
}
