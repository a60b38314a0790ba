package decimal

import (
	"math/big"
	"regexp"
	"testing"
)

// Parse agrees with exact arithmetic on every text: it gives the number or
// refuses it, whichever of its two ways read it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "-0", "12", "-12.5", "0.0001", "0.00001", "99999999999999.9999", "922337203685477.5807", "922337203685477.5808", "1e3", ".5", "5.", "+1", "-", "", "1.2.3", "12a", "1_0"} {
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
