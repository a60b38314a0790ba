package query

import (
	"strings"
	"unicode/utf8"

	"holdfast/internal/fault"
)

// pair is one key=value of a query string, decoded once.
type pair struct{ key, value string }

// splitPairs splits a raw query string on & alone, keeping order and duplicates. A
// broken escape, invalid UTF-8, a NUL, a key without = or an empty key is
// refused: dropping such a pair would drop a filter from a DELETE.
func splitPairs(raw string) ([]pair, error) {
	if len(raw) > MaxURL {
		return nil, fault.New(fault.TooLong, "PGRST100", "the query string is longer than %d bytes", MaxURL)
	}
	var out []pair
	for raw != "" {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		if part == "" {
			continue
		}
		k, v, ok := strings.Cut(part, "=")
		if !ok || k == "" {
			return nil, parseFault(k, part).With("every parameter is written key=value", "")
		}
		key, good := unescapeText(k)
		value, fine := unescapeText(v)
		if !good || !fine {
			return nil, parseFault(strings.ToValidUTF8(k, "?"), strings.ToValidUTF8(v, "?")).
				With("a percent escape is broken, or the text is not UTF-8, or it holds a NUL", "")
		}
		if len(out) == maxConditions+maxItems {
			return nil, fault.New(fault.Invalid, "PGRST100", "more than %d parameters", maxConditions+maxItems)
		}
		out = append(out, pair{key, value})
	}
	return out, nil
}

func unescapeText(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, isCleanText(s)
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '+':
			b = append(b, ' ')
		case '%':
			if i+2 >= len(s) {
				return "", false
			}
			hi, lo := hexDigit(s[i+1]), hexDigit(s[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			b = append(b, byte(hi<<4|lo))
			i += 2
		default:
			b = append(b, s[i])
		}
	}
	return string(b), isCleanText(string(b))
}

func isCleanText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
