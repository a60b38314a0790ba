package identity

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"holdfast/internal/fault"
)

// Canonical returns the one spelling of an e-mail address by which accounts
// are found and limits counted: trimmed, NFKC, lower case. Parts that could be
// read as two addresses, a header or markup are refused.
func Canonical(raw string) (string, error) {
	s := strings.ToLower(norm.NFKC.String(strings.TrimSpace(raw)))
	local, domain, ok := strings.Cut(s, "@")
	switch {
	case raw == "":
		return "", fault.New(fault.Invalid, "validation_failed", "An email address is required")
	case !ok || local == "" || domain == "" || len(s) > 254 || len(local) > 64 || strings.Contains(domain, "@"):
		return "", badAddress()
	}
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf) || strings.ContainsRune(`<>()[],;:\"`, r) {
			return "", badAddress()
		}
	}
	if strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") || !goodDomain(domain) {
		return "", badAddress()
	}
	return s, nil
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

// domainOf returns what follows the @.
func domainOf(email string) string {
	_, d, _ := strings.Cut(email, "@")
	return d
}
