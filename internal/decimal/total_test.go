package decimal

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestTotal(t *testing.T) {
	for want, total := range map[string]Total{
		"0":                             {Count: 1},
		"1.5":                           {Low: 15000, Count: 1, Scaled: true, Places: 16},
		"-0.0001":                       {High: -1, Low: 1<<32 - 1, Count: 1, Scaled: true, Places: 16},
		"0.3333333333333333":            {Low: 1, Count: 3, Places: 16},
		"0.6666666666666667":            {Low: 2, Count: 3, Places: 16},
		"-1":                            {High: -1, Low: 1<<32 - 5000, Count: 1, Scaled: true},
		"1":                             {Low: 5000, Count: 1, Scaled: true},
		"79228162514264337593543950336": {High: 1 << 62, Low: 0, Count: 1, Places: 0},
	} {
		if want == "79228162514264337593543950336" {
			want = new(big.Int).Lsh(big.NewInt(1<<62), 32).String()
		}
		if got := string(total.Append(nil)); got != want {
			t.Errorf("%+v: %s, want %s", total, got, want)
		}
	}
}

// A mean is what exact arithmetic says, to its last place.
func TestTotal_isExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		x := Total{High: rnd.Int64() >> rnd.IntN(60), Low: rnd.Int64N(1 << 40), Count: 1 + rnd.Int64N(1000),
			Scaled: rnd.IntN(2) == 0, Places: 16}
		if rnd.IntN(2) == 0 {
			x.High = -x.High
		}
		exact := new(big.Rat).SetInt(new(big.Int).Add(new(big.Int).Lsh(big.NewInt(x.High), 32), big.NewInt(x.Low)))
		exact.Quo(exact, new(big.Rat).SetInt64(x.Count))
		if x.Scaled {
			exact.Quo(exact, new(big.Rat).SetInt64(Scale))
		}
		got, ok := new(big.Rat).SetString(string(x.Append(nil)))
		if !ok {
			t.Fatalf("%+v: %s", x, x.Append(nil))
		}
		half := big.NewRat(1, 2)
		for range 16 {
			half.Quo(half, big.NewRat(10, 1))
		}
		if off := new(big.Rat).Sub(got, exact); off.Abs(off).Cmp(half) > 0 {
			t.Fatalf("%+v: %s, exactly %s", x, x.Append(nil), exact.FloatString(20))
		}
	}
}
