package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/catalog"
	"holdfast/internal/coding"
	"holdfast/internal/decimal"
	"holdfast/internal/gs1"
)

// countries are the officially assigned codes of ISO 3166-1 alpha-2.
const countries = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ " +
	"CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR " +
	"GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP " +
	"KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ " +
	"NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW " +
	"SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ " +
	"UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW"

// currencies are the active codes of ISO 4217.
const currencies = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLF CLP CNY COP " +
	"CRC CUP CVE CZK " +
	"DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW " +
	"KRW KWD KYD KZT " +
	"LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON " +
	"RSD RUB RWF " +
	"SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD " +
	"XCG XDR XOF XPF YER ZAR ZMW ZWG"

func isListed(list, s string, size int) bool {
	return len(s) == size && !strings.Contains(s, " ") && strings.Contains(list, s)
}

// maxLength is the number of characters a text field may have.
func maxLength(f *catalog.Field) int {
	if f.MaxLen > 0 {
		return f.MaxLen
	}
	switch f.Format {
	case catalog.Name:
		return 200
	case catalog.Code:
		return 64
	case catalog.Number:
		return 40
	case catalog.Email:
		return 254
	}
	return 10_000
}

// checkText checks a text value and brings it into its one spelling. The second
// result says what is wrong, or "".
func checkText(f *catalog.Field, s string) (string, string) {
	s = canonicalSpelling(f, s)
	if len(f.OneOf) > 0 {
		for _, x := range f.OneOf {
			if x == s {
				return s, ""
			}
		}
		if f.Codes != "" {
			return s, fmt.Sprintf("is none of the %d codes that there are; the nearest are %s", len(f.OneOf),
				strings.Join(coding.Nearest(f.Codes, s), ", "))
		}
		return s, "must be one of " + strings.Join(f.OneOf, ", ")
	}
	return s, formatProblem(f, s)
}

func canonicalSpelling(f *catalog.Field, s string) string {
	switch f.Format {
	case catalog.GTIN:
		if padded, ok := gs1.GTIN(s); ok {
			return padded
		}
	case catalog.Country, catalog.Money:
		return strings.ToUpper(s)
	}
	return s
}

func formatProblem(f *catalog.Field, s string) string {
	if s == "" && (f.Required || f.Format == catalog.Code || f.Format == catalog.Number) && f.Format != catalog.Plain {
		return "must not be empty"
	}
	switch f.Format {
	case catalog.Name, catalog.Number:
		if strings.ContainsAny(s, "\r\n") {
			return "must be one line"
		}
	case catalog.Code:
		if strings.Trim(s, codeChars) != "" {
			return "may hold only letters, digits, dot, dash and underscore"
		}
	case catalog.Email:
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s || !strings.Contains(s, "@") {
			return "is not an e-mail address"
		}
	case catalog.GTIN:
		if _, ok := gs1.GTIN(s); !ok {
			return "is not a GTIN with a valid check digit"
		}
	case catalog.GLN:
		if !gs1.IsGLN(s) {
			return "is not a GLN of 13 digits with a valid check digit"
		}
	case catalog.IANA:
		if _, err := time.LoadLocation(s); err != nil || s == "" || s == "Local" {
			return "is not an IANA time zone"
		}
	case catalog.Country:
		if !isListed(countries, s, 2) {
			return "is not an ISO 3166-1 country code"
		}
	case catalog.Money:
		if !isListed(currencies, s, 3) {
			return "is not an ISO 4217 currency code"
		}
	}
	return ""
}

const codeChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

func tooLong(f *catalog.Field, s string) bool {
	limit := maxLength(f)
	return len(s) > limit && utf8.RuneCountInString(s) > limit
}

// checkArray checks the number of elements, and each of them as what the field says
// its elements are: one of a closed set, or texts of its format.
func checkArray(f *catalog.Field, raw json.RawMessage) string {
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return "is not an array of strings"
	}
	limit := f.MaxLen
	if limit == 0 {
		limit = 1000
	}
	if len(list) > limit {
		return "has more than " + formatInt(limit) + " elements"
	}
	for _, s := range list {
		if utf8.RuneCountInString(s) > 200 {
			return "has an element of more than 200 characters"
		}
		if len(f.OneOf) > 0 && !oneOf(f.OneOf, s) {
			return "may hold only " + strings.Join(f.OneOf, ", ")
		}
		if why := misplaced(s); why != "" {
			return why
		}
		if why := formatProblem(f, s); why != "" {
			return "has an element that " + why
		}
	}
	return ""
}

// misplaced says why a text can be no element of any list: an empty one means
// nothing, and a list or an object in the form of a text is the mistake of a
// client that encoded its value twice.
func misplaced(element string) string {
	trimmed := strings.TrimSpace(element)
	if trimmed == "" {
		return "has an empty element"
	}
	if (trimmed[0] == '[' || trimmed[0] == '{') && json.Valid([]byte(trimmed)) {
		return "has a list or an object, written as a text, as an element"
	}
	return ""
}

func oneOf(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// checkBounds compares a number with Min and Max.
func checkBounds(f *catalog.Field, v any) string {
	if f.Min != "" && isBelow(v, f.Min) {
		return "must be at least " + f.Min
	}
	if f.Max != "" && isAbove(v, f.Max) {
		return "must be at most " + f.Max
	}
	return ""
}

func isBelow(v any, bound string) bool { return compareBound(v, bound) < 0 }
func isAbove(v any, bound string) bool { return compareBound(v, bound) > 0 }

// compareBound orders a stored number against a bound; other values equal any.
func compareBound(v any, bound string) int {
	b, err := decimal.Parse(bound)
	if err != nil {
		return 0
	}
	switch x := v.(type) {
	case int64:
		if x > math.MaxInt64/decimal.Scale || x < math.MinInt64/decimal.Scale {
			return cmp.Compare(x, 0)
		}
		return cmp.Compare(decimal.FromInt(x), b)
	case decimal.Dec:
		return cmp.Compare(x, b)
	case float64:
		return cmp.Compare(x, b.Float())
	}
	return 0
}
