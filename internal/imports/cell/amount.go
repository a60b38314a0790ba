package cell

import (
	"math/big"
	"strings"
	"unicode"
)

// currencySigns are signs that stand before or behind an amount.
const currencySigns = "€$£¥₹₽₺₩₪₫₴₦₱฿"

// signedCurrencies are the currencies (ISO 4217) that a sign is written for.
var signedCurrencies = map[rune]string{
	'€': "EUR", '$': "USD AUD CAD NZD HKD SGD TWD MXN ARS CLP COP BRL", '£': "GBP EGP LBP", '¥': "JPY CNY",
	'₹': "INR", '₽': "RUB",
	'₺': "TRY", '₩': "KRW", '₪': "ILS", '₫': "VND", '₴': "UAH", '₦': "NGN", '₱': "PHP", '฿': "THB",
}

// Currency is the sign or the code (ISO 4217) of the currency that an amount has beside
// it, "" = none.
func Currency(s string) string {
	s = strings.Trim(s, " -\u00a0\u202f")
	if code, _, ok := cutCode(s); ok && isListed(code) {
		return code
	}
	if i := strings.IndexAny(s, currencySigns); i >= 0 {
		return string([]rune(s[i:])[0])
	}
	return ""
}

// MeansCurrency reports whether a sign or code may stand for a currency.
func MeansCurrency(written, code string) bool {
	if len(written) == 3 && isCode(written) {
		return written == code
	}
	return strings.Contains(signedCurrencies[[]rune(written)[0]], code)
}

// SplitUnit cuts a quantity with a unit behind it: 12 pcs.
func SplitUnit(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	at := strings.LastIndexAny(s, "0123456789") + 1
	unit = strings.TrimSpace(s[at:])
	if at == 0 || unit == "" || strings.ContainsFunc(unit, func(r rune) bool { return !unicode.IsLetter(r) && r != '.' }) {
		return s, ""
	}
	return s[:at], strings.TrimSuffix(unit, ".")
}

// Amount takes off an amount of money its sign or its code of three capital
// letters (ISO 4217), which stand before or behind it. A text without either stays
// as it is.
func Amount(s string) string {
	s = strings.TrimSpace(s)
	sign := ""
	if strings.HasPrefix(s, "-") { // -€ 5
		sign, s = "-", s[1:]
	}
	inner := strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(currencySigns, r) })
	if code, rest, ok := cutCode(inner); ok && isListed(code) {
		inner = rest
	}
	if inner == s {
		return sign + s
	}
	return sign + strings.TrimSpace(inner)
}

// cutCode cuts three capital letters off the beginning or the end of an amount.
func cutCode(s string) (code, rest string, ok bool) {
	n := len(s)
	if n < 4 {
		return "", "", false
	}
	if isCode(s[:3]) && !isCapital(s[3]) {
		return s[:3], strings.TrimSpace(s[3:]), true
	}
	if isCode(s[n-3:]) && !isCapital(s[n-4]) {
		return s[n-3:], strings.TrimSpace(s[:n-3]), true
	}
	return "", "", false
}

func isCode(s string) bool { return isCapital(s[0]) && isCapital(s[1]) && isCapital(s[2]) }

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

// currencies are the codes that amounts are written with (ISO 4217), without those
// of funds and metals.
const currencies = "AED ALL AMD ARS AUD AZN BAM BDT BGN BHD BOB BRL BYN CAD CHF CLP CNY COP CRC CZK DKK DOP DZD EGP ETB EUR GBP GEL GHS GTQ HKD HNL HRK " +
	"HUF IDR ILS INR IQD ISK JMD JOD JPY KES KRW KWD KZT LBP LKR MAD MDL MKD MUR MXN MYR NGN NOK NZD OMR PAB PEN PHP PKR PLN PYG QAR RON RSD RUB SAR " +
	"SEK SGD THB TND TRY TWD TZS UAH UGX USD UYU UZS VND XAF XOF ZAR ZMW"

func isListed(code string) bool { return strings.Contains(currencies, code) }

// WithoutUnit takes off a measure the unit that its field has, as it is written
// behind it. Another unit stays, and makes the text no number.
func WithoutUnit(s, unit string) string {
	s = strings.TrimSpace(s)
	if unit == "percent" {
		unit = "%"
	}
	if unit == "" || len(s) <= len(unit) || !strings.EqualFold(s[len(s)-len(unit):], unit) {
		return s
	}
	rest := strings.TrimSpace(s[:len(s)-len(unit)])
	if last := rest[max(0, len(rest)-1):]; last < "0" || last > "9" {
		return s
	}
	return rest
}

// Rounded gives a number as JSON writes it at most so many decimals, half away
// from zero, and reports whether that changed it.
func Rounded(number string, decimals int) (string, bool) {
	_, frac, _ := strings.Cut(number, ".")
	if len(frac) <= decimals && !strings.ContainsAny(number, "eE") {
		return number, false
	}
	if _, exponent, given := strings.Cut(strings.ToLower(number), "e"); given &&
		len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return number, false // too large or too small for any field, which says so
	}
	exact, ok := new(big.Rat).SetString(number)
	if !ok {
		return number, false
	}
	text := exact.FloatString(decimals)
	short, _ := new(big.Rat).SetString(text)
	return text, exact.Cmp(short) != 0
}
