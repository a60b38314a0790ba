// Package decimal holds exact quantities and money: 64-bit integers scaled by
// 10^4. No float ever holds one.
//
// Layer: values. Begin at [Dec].
package decimal

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Dec is a number with four decimal places, stored as value * 10000.
// Range +-922337203685477.5807.
type Dec int64

// Scale is the factor between a Dec and the number it stands for.
const Scale = 10000

// Places is how many decimals a Dec has.
const Places = 4

// One is the number 1.
const One Dec = Scale

// ErrSyntax and ErrRange say why a text is not a Dec.
var (
	ErrSyntax = errors.New("not a decimal number")
	ErrRange  = errors.New("out of range: at most 15 digits before and 4 after the decimal point")
)

// FromInt returns n as a Dec.
func FromInt(n int64) Dec { return Dec(n * Scale) }

// Parse reads a JSON number ("12", "-0.5", "1e3"; RFC 8259, section 6), and what
// files write besides: a leading plus, leading zeros, a point with digits on one
// side only. More than four significant decimals are refused, never rounded.
func Parse(s string) (Dec, error) {
	if s == "" || len(s) > 64 {
		return 0, ErrSyntax
	}
	if d, ok := parseShort(s); ok {
		return d, nil
	}
	mant, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := parseExponent(s[i+1:])
		if err != nil {
			return 0, err
		}
		mant, exp = s[:i], n
	}
	neg := false
	if strings.HasPrefix(mant, "-") {
		neg, mant = true, mant[1:]
	} else if strings.HasPrefix(mant, "+") {
		mant = mant[1:]
	}
	whole, frac, _ := strings.Cut(mant, ".")
	if whole+frac == "" || !areDigits(whole) || !areDigits(frac) {
		return 0, ErrSyntax
	}
	all, point := whole+frac, len(whole)+exp
	for point < 0 {
		all, point = "0"+all, point+1
	}
	for len(all) < point+4 {
		all += "0"
	}
	if strings.Trim(all[point+4:], "0") != "" {
		return 0, ErrRange
	}
	all = strings.TrimLeft(all[:point+4], "0")
	if all == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(all, 10, 64)
	if err != nil {
		return 0, ErrRange
	}
	if neg {
		n = -n
	}
	return Dec(n), nil
}

// mostExponent is the largest exponent that is read: it moves the point past all
// that a Dec can hold.
const mostExponent = 40

// parseExponent reads what stands behind the e of a number: digits, with at most
// one sign before them.
func parseExponent(text string) (int, error) {
	unsigned := text
	if text != "" && (text[0] == '+' || text[0] == '-') {
		unsigned = text[1:]
	}
	if unsigned == "" || !areDigits(unsigned) {
		return 0, ErrSyntax
	}
	n, err := strconv.Atoi(text)
	if err != nil || n > mostExponent || n < -mostExponent {
		return 0, ErrRange
	}
	return n, nil
}

// parseShort reads what nearly every number is: at most 14 digits, and at most 4
// behind a point. It leaves everything else to Parse.
func parseShort(s string) (Dec, bool) {
	rest := strings.TrimPrefix(s, "-")
	n, whole := int64(0), 0
	for whole < len(rest) && '0' <= rest[whole] && rest[whole] <= '9' {
		n = n*10 + int64(rest[whole]-'0')
		if whole++; whole > 14 {
			return 0, false
		}
	}
	frac := rest[whole:]
	if whole == 0 || frac != "" && (frac[0] != '.' || len(frac) == 1 || len(frac) > 5) {
		return 0, false
	}
	for i := 1; i < 5; i++ {
		n *= 10
		if i < len(frac) {
			if frac[i] < '0' || frac[i] > '9' {
				return 0, false
			}
			n += int64(frac[i] - '0')
		}
	}
	if len(rest) < len(s) {
		n = -n
	}
	return Dec(n), true
}

func areDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Append writes d as the shortest JSON number.
func (d Dec) Append(b []byte) []byte {
	u := uint64(d)
	if d < 0 {
		b, u = append(b, '-'), uint64(-d)
	}
	b = strconv.AppendUint(b, u/Scale, 10)
	frac := u % Scale
	if frac == 0 {
		return b
	}
	b = append(b, '.')
	for div := uint64(Scale / 10); frac > 0; div /= 10 {
		b = append(b, byte('0'+frac/div))
		frac %= div
	}
	return b
}

func (d Dec) String() string { return string(d.Append(nil)) }

// MarshalJSON writes a JSON number.
func (d Dec) MarshalJSON() ([]byte, error) { return d.Append(nil), nil }

// UnmarshalJSON reads a JSON number.
func (d *Dec) UnmarshalJSON(b []byte) error {
	v, err := Parse(string(b))
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// Float returns the nearest float64, for statistics only.
func (d Dec) Float() float64 { return float64(d) / Scale }

// FromFloat rounds f half away from zero to four places.
func FromFloat(f float64) Dec { return Dec(math.Round(f * Scale)) }

// Mul multiplies exactly and rounds half away from zero to four places.
func (d Dec) Mul(e Dec) (Dec, error) { return d.MulDiv(e, One) }

// MulDiv is d x e / f, worked out exactly and rounded once, half away from zero, to four
// places. ErrRange says that no Dec holds it, or that f is not above 0.
func (d Dec) MulDiv(e, f Dec) (Dec, error) {
	if f <= 0 {
		return 0, ErrRange
	}
	p, half := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(int64(e))), big.NewInt(int64(f))
	if p.Sign() < 0 {
		half.Neg(half)
	}
	twice := new(big.Int).Lsh(big.NewInt(int64(f)), 1)
	p.Quo(p.Add(p.Lsh(p, 1), half), twice)
	if !p.IsInt64() {
		return 0, ErrRange
	}
	return Dec(p.Int64()), nil
}

// WeightedMean is (qa x a + qb x b) / (qa + qb), worked out exactly and rounded once, half
// up, to four places. ErrRange says that no Dec holds it, or that qa + qb is not above 0.
func WeightedMean(qa, a, qb, b Dec) (Dec, error) {
	product := func(x, y Dec) *big.Int { return new(big.Int).Mul(big.NewInt(int64(x)), big.NewInt(int64(y))) }
	total := new(big.Int).Add(big.NewInt(int64(qa)), big.NewInt(int64(qb)))
	if total.Sign() <= 0 {
		return 0, ErrRange
	}
	sum := product(qa, a)
	sum.Add(sum, product(qb, b))
	sum.Add(sum.Lsh(sum, 1), total)
	// Div rounds down where its divisor is above 0.
	mean := sum.Div(sum, total.Lsh(total, 1))
	if !mean.IsInt64() {
		return 0, ErrRange
	}
	return Dec(mean.Int64()), nil
}

// MulExact multiplies; exact is false when the product has more than four places
// or is out of range.
func (d Dec) MulExact(e Dec) (product Dec, exact bool) {
	return ratioOf(big.NewInt(int64(d)), big.NewInt(int64(e)), big.NewInt(Scale))
}

// DivExact divides; exact is false when the quotient has more than four places,
// is out of range, or e is 0.
func (d Dec) DivExact(e Dec) (quotient Dec, exact bool) {
	if e == 0 {
		return 0, false
	}
	return ratioOf(big.NewInt(int64(d)), big.NewInt(Scale), big.NewInt(int64(e)))
}

// ratioOf is a x b / c where that is a Dec.
func ratioOf(a, b, c *big.Int) (Dec, bool) {
	q, rest := new(big.Int).QuoRem(a.Mul(a, b), c, new(big.Int))
	return Dec(q.Int64()), rest.Sign() == 0 && q.IsInt64()
}
