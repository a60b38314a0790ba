package decimal

import "math/big"

// MeanPlaces is to how many decimal places a mean is written.
const MeanPlaces = 16

// Total is a sum of 64-bit integers in two halves, High * 2^32 + Low, as an
// engine adds them up without overflow, over a number of values.
type Total struct {
	High, Low int64
	Count     int64 // 1 for the sum itself
	Scaled    bool  // the integers are Decs
	Places    int   // decimal places, rounded half away from zero
}

// Append writes the number in the shortest form.
func (t Total) Append(b []byte) []byte {
	n := new(big.Int).Lsh(big.NewInt(t.High), 32)
	n.Add(n, big.NewInt(t.Low))
	by := big.NewInt(t.Count)
	if t.Scaled {
		by.Mul(by, big.NewInt(Scale))
	}
	negative := n.Sign() < 0
	n.Abs(n)
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Places)), nil))
	n.Add(n.Lsh(n, 1), by)
	n.Quo(n, by.Lsh(by, 1))
	if negative && n.Sign() > 0 {
		b = append(b, '-')
	}
	digits := n.Append(nil, 10)
	for len(digits) <= t.Places {
		digits = append([]byte{'0'}, digits...)
	}
	point := len(digits) - t.Places
	b = append(b, digits[:point]...)
	frac := digits[point:]
	for len(frac) > 0 && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if len(frac) > 0 {
		b = append(append(b, '.'), frac...)
	}
	return b
}
