package query

import (
	"encoding/json"
	"math"
	"strconv"

	"holdfast/internal/db"
)

// NormalizeDocument writes a JSON text in the one form in which documents are stored: no
// blanks, strings with the escapes that JSON demands and no others, and of a
// member that is given twice the last, as PostgreSQL's jsonb has it. Both
// engines read it alike then. What one of them could not read is refused, with
// the reason: half of a surrogate pair, and a number beyond any double.
func NormalizeDocument(raw []byte) (text []byte, reason string) {
	t := &tidier{decoder: decoder{in: raw}, out: make([]byte, 0, len(raw))}
	t.writeValue()
	return t.out, t.reason
}

// tidier walks JSON already known to be valid.
type tidier struct {
	decoder
	out    []byte
	reason string
}

func (t *tidier) writeValue() {
	t.skipBlanks()
	switch t.in[t.pos] {
	case '{':
		t.writeObject()
	case '[':
		t.writeArray()
	case '"':
		t.out = db.AppendString(t.out, t.decodeString(t.decoder.readValue()))
	default:
		t.writeScalar(t.decoder.readValue())
	}
}

func (t *tidier) writeScalar(raw []byte) {
	if c := raw[0]; c == '-' || '0' <= c && c <= '9' {
		if n, err := strconv.ParseFloat(string(raw), 64); err != nil || math.IsInf(n, 0) || len(raw) > maxDigits {
			t.reason = "a number is out of range"
		}
	}
	t.out = append(t.out, raw...)
}

// maxDigits is the longest number of a document.
const maxDigits = 400

func (t *tidier) writeArray() {
	t.out = append(t.out, '[')
	for t.pos++; ; t.pos++ {
		if t.skipBlanks(); t.in[t.pos] == ']' {
			break
		}
		t.writeValue()
		if t.skipBlanks(); t.in[t.pos] == ']' {
			break
		}
		t.out = append(t.out, ',')
	}
	t.pos++
	t.out = append(t.out, ']')
}

// span is where a member stands in the text that is made.
type span struct{ from, to int }

func (t *tidier) writeObject() {
	start := len(t.out)
	t.out = append(t.out, '{')
	places := map[string]int{}
	var members []span
	twice := false
	for t.pos++; ; t.pos++ {
		if t.skipBlanks(); t.in[t.pos] == '}' {
			break
		}
		from := len(t.out)
		key := t.decodeString(t.decoder.readValue())
		t.out = append(db.AppendString(t.out, key), ':')
		t.skipBlanks()
		t.pos++ // the colon
		t.writeValue()
		at, seen := places[key]
		if !seen {
			at = len(members)
			places[key], members = at, append(members, span{})
		}
		members[at], twice = span{from, len(t.out)}, twice || seen
		if t.skipBlanks(); t.in[t.pos] == '}' {
			break
		}
		t.out = append(t.out, ',')
	}
	t.pos++
	if twice {
		t.keepLastMembers(start, members)
	}
	t.out = append(t.out, '}')
}

// keepLastMembers keeps the last of members with one name, where the first stood.
func (t *tidier) keepLastMembers(start int, members []span) {
	kept := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			kept = append(kept, ',')
		}
		kept = append(kept, t.out[m.from:m.to]...)
	}
	t.out = append(t.out[:start], kept...)
}

func (t *tidier) decodeString(raw []byte) string {
	if halfPair(raw) {
		t.reason = "half of a surrogate pair stands alone"
	}
	s, err := unquoteJSON(raw)
	if err != nil {
		t.reason = "a string cannot be read"
	}
	return s
}

// halfPair reports the escape of one UTF-16 surrogate without its other half,
// which stands for no character.
func halfPair(raw []byte) bool {
	for i := 0; i+5 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' {
			i++
			continue
		}
		if unit := hexUnit(raw[i+2 : i+6]); unit >= 0xDC00 && unit <= 0xDFFF {
			return true
		} else if unit >= 0xD800 && unit <= 0xDBFF {
			if i+11 >= len(raw) || raw[i+6] != '\\' || raw[i+7] != 'u' {
				return true
			}
			if low := hexUnit(raw[i+8 : i+12]); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
		i += 5
	}
	return false
}

func hexUnit(digits []byte) int {
	n, _ := strconv.ParseUint(string(digits), 16, 32)
	return int(n)
}

// jsonNumber reads the text of a JSON number.
func jsonNumber(s string) (float64, bool) {
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || !json.Valid([]byte(s)) {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}
