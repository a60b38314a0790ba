package accounts

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"holdfast/internal/fault"
)

// Canonical returns the one spelling of an e-mail address by which accounts
// are found and limits counted: trimmed, NFKC, lower case. Parts that could be
// read as two addresses, a header or markup are refused.
func Canonical(raw string) (string, error) {
	s := strings.ToLower(norm.NFKC.String(strings.TrimSpace(raw)))
	local, domain, ok := strings.Cut(s, "@")
	if raw == "" {
		return "", fault.New(fault.Invalid, "validation_failed", "An email address is required")
	}
	if !ok || local == "" || domain == "" || len(s) > 254 || len(local) > 64 || strings.Contains(domain, "@") {
		return "", badAddress()
	}
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf) || strings.ContainsRune(`<>()[],;:\"`, r) {
			return "", badAddress()
		}
	}
	if strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return "", badAddress()
	}
	domain, err := canonicalDomain(domain)
	if err != nil {
		return "", err
	}
	return local + "@" + domain, nil
}

// canonicalDomain is the Unicode form of a domain by IDNA's profile for
// look-ups (RFC 5891 section 5, UTS 46): full stops of other scripts are dots,
// and xn-- is what it stands for.
func canonicalDomain(domain string) (string, error) {
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil || !goodDomain(ascii) || len(ascii) > 253 {
		return "", badAddress()
	}
	domain, err = idna.Lookup.ToUnicode(ascii)
	if err != nil {
		return "", badAddress()
	}
	return domain, nil
}

// SameSpelling reports an address that differs from its canonical form in the
// case of ASCII letters alone. Any other form names the same mailbox here and
// may name another one elsewhere.
func SameSpelling(given, canonical string) bool {
	lower := func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return strings.Map(lower, given) == canonical
}

// blank are characters that show nothing and are neither spaces nor of
// Unicode's class Cf.
var blank = []rune{0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0}

// written are the scripts that are written together (UTS 39, highly
// restrictive).
var written = [][]string{{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"}}

// Legible refuses a new address whose local part people cannot tell from
// another: with characters that do not show, or letters of scripts that are not
// written together.
func Legible(email string) error {
	local, _, _ := strings.Cut(email, "@")
	scripts := map[string]bool{}
	for _, r := range local {
		if slices.Contains(blank, r) || unicode.Is(unicode.Variation_Selector, r) {
			return badAddress()
		}
		if unicode.IsLetter(r) {
			scripts[scriptOf(r)] = true
		}
	}
	if len(scripts) < 2 {
		return nil
	}
	for _, set := range written {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(scripts)), func(s string) bool { return !slices.Contains(set, s) }) {
			return nil
		}
	}
	return badAddress()
}

func scriptOf(r rune) string {
	if r < 0x80 {
		return "Latin"
	}
	for name, table := range unicode.Scripts {
		if name != "Common" && name != "Inherited" && unicode.Is(table, r) {
			return name
		}
	}
	return "Latin"
}

func badAddress() error {
	return fault.New(fault.Invalid, "validation_failed", "Unable to validate email address: invalid format")
}

func goodDomain(d string) bool {
	for _, label := range strings.Split(d, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r < 0x80 && !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-') {
				return false
			}
		}
	}
	return true
}

// DomainOf returns what follows the @.
func DomainOf(email string) string {
	_, d, _ := strings.Cut(email, "@")
	return d
}
