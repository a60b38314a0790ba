package query

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/internal/fault"
)

// scanner walks one decoded parameter value.
type scanner struct {
	in    string
	pos   int
	param string // the parameter's key, for messages
}

// expectedFault says what was expected where; the position counts characters from 1.
func (s *scanner) expectedFault(format string, args ...any) error {
	at := utf8.RuneCountInString(s.in[:min(s.pos, len(s.in))]) + 1
	found := "end of input"
	if s.pos < len(s.in) {
		r, _ := utf8.DecodeRuneInString(s.in[s.pos:])
		found = strconv.QuoteRune(r)
	}
	return parseFault(s.param, s.in).With(
		fmt.Sprintf("%s; found %s at column %d", fmt.Sprintf(format, args...), found, at), "")
}

func parseFault(param, value string) *fault.Error {
	return fault.New(fault.Invalid, "PGRST100", "failed to parse parameter %q (%s)", clipText(param), clipText(value))
}

func tooMany(param, what string, limit int) error {
	return fault.New(fault.Invalid, "PGRST100", "parameter %q has more than %d %s", clipText(param), limit, what)
}

func clipText(s string) string { return fault.Clip(s, 100) }

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

func (s *scanner) eof() bool { return s.pos >= len(s.in) }

func (s *scanner) peek() byte {
	if s.pos < len(s.in) {
		return s.in[s.pos]
	}
	return 0
}

func (s *scanner) take(lit string) bool {
	if strings.HasPrefix(s.in[s.pos:], lit) {
		s.pos += len(lit)
		return true
	}
	return false
}

func (s *scanner) skipBlanks() {
	for s.pos < len(s.in) && (s.in[s.pos] == ' ' || s.in[s.pos] == '\t' || s.in[s.pos] == '\n' || s.in[s.pos] == '\r') {
		s.pos++
	}
}

// readName reads a bare name (letters, digits, _ $, inner blanks, and - when no
// arrow starts there) or a quoted one, in which a backslash escapes anything.
func (s *scanner) readName() (string, error) {
	s.skipBlanks()
	if s.peek() == '"' {
		return s.readQuoted()
	}
	start := s.pos
	for s.pos < len(s.in) {
		c := s.in[s.pos]
		if c == '-' && s.pos+1 < len(s.in) && s.in[s.pos+1] == '>' {
			break
		}
		if c < utf8.RuneSelf {
			if !isBare(c) {
				break
			}
			s.pos++
			continue
		}
		r, n := utf8.DecodeRuneInString(s.in[s.pos:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		s.pos += n
	}
	name := strings.TrimSpace(s.in[start:s.pos])
	if name == "" {
		return "", s.expectedFault("expected a name")
	}
	return name, nil
}

func isBare(c byte) bool {
	return c == '_' || c == '$' || c == ' ' || c == '-' ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// readQuoted reads "..." with backslash escapes.
func (s *scanner) readQuoted() (string, error) {
	start := s.pos
	s.pos++
	var b []byte
	for s.pos < len(s.in) {
		c := s.in[s.pos]
		s.pos++
		switch {
		case c == '"':
			return string(b), nil
		case c == '\\' && s.pos < len(s.in):
			b = append(b, s.in[s.pos])
			s.pos++
		default:
			b = append(b, c)
		}
	}
	s.pos = start
	return "", s.expectedFault("this quote is not closed")
}

// readSteps reads the arrows behind a column name.
func (s *scanner) readSteps(c *Column) error {
	for s.take("->") {
		c.Text = s.take(">")
		if len(c.Steps) == maxArrows {
			return tooMany(s.param, "arrows", maxArrows)
		}
		step, err := s.readStep()
		if err != nil {
			return err
		}
		c.Steps = append(c.Steps, step)
	}
	return nil
}

func (s *scanner) readStep() (Step, error) {
	if s.peek() == '"' {
		key, err := s.readQuoted()
		return Step{Key: key}, err
	}
	start := s.pos
	for s.pos < len(s.in) && !strings.ContainsRune("(:.,>)", rune(s.in[s.pos])) {
		if s.in[s.pos] == '-' && s.pos+1 < len(s.in) && s.in[s.pos+1] == '>' {
			break
		}
		s.pos++
	}
	key := strings.TrimSpace(s.in[start:s.pos])
	if key == "" {
		return Step{}, s.expectedFault("expected a key behind the arrow")
	}
	if n, err := strconv.ParseInt(key, 10, 32); err == nil && key[0] != '+' {
		return Step{Index: int(n), IsIndex: true}, nil
	}
	return Step{Key: key}, nil
}

func (s *scanner) readColumn() (Column, error) {
	name, err := s.readName()
	if err != nil {
		return Column{}, err
	}
	c := Column{Name: name}
	return c, s.readSteps(&c)
}

// readWord reads letters and digits up to anything else.
func (s *scanner) readWord() string {
	start := s.pos
	for s.pos < len(s.in) && isWord(s.in[s.pos]) {
		s.pos++
	}
	return s.in[start:s.pos]
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// readMember reads one element of an in list or one value of a logic group: quoted
// when the closing quote is followed by "," or ")", else raw up to either.
func (s *scanner) readMember() string {
	if s.peek() == '"' {
		at := s.pos
		v, err := s.readQuoted()
		if err == nil && (s.peek() == ',' || s.peek() == ')') {
			return v
		}
		s.pos = at
	}
	start := s.pos
	for s.pos < len(s.in) && s.in[s.pos] != ',' && s.in[s.pos] != ')' {
		s.pos++
	}
	return s.in[start:s.pos]
}

// readList reads "(a,b,...)"; nothing or blanks between the parentheses is the
// empty list.
func (s *scanner) readList() ([]string, error) {
	if !s.take("(") {
		return nil, s.expectedFault("expected \"(\" before a list")
	}
	out := []string{}
	for {
		if len(out) == maxValues {
			return nil, tooMany(s.param, "list members", maxValues)
		}
		raw := s.peek() != '"'
		v := s.readMember()
		if s.take(",") {
			out = append(out, v)
			continue
		}
		if !s.take(")") {
			return nil, s.expectedFault("expected \",\" or \")\" in a list")
		}
		if len(out) == 0 && raw && strings.TrimSpace(v) == "" {
			return out, nil
		}
		return append(out, v), nil
	}
}

// splitBraces splits the text of an array "{a,\"b,c\"}" into its elements.
func splitBraces(param, text string) ([]string, error) {
	s := &scanner{in: text, param: param}
	if !s.take("{") {
		return nil, s.expectedFault("expected \"{\" before an array")
	}
	out := []string{}
	s.skipBlanks()
	if s.take("}") {
		return out, s.expectEnd()
	}
	for {
		if len(out) == maxValues {
			return nil, tooMany(param, "array elements", maxValues)
		}
		v, err := s.readElement()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if s.take(",") {
			continue
		}
		if !s.take("}") {
			return nil, s.expectedFault("expected \",\" or \"}\" in an array")
		}
		return out, s.expectEnd()
	}
}

func (s *scanner) readElement() (string, error) {
	s.skipBlanks()
	if s.peek() == '"' {
		v, err := s.readQuoted()
		s.skipBlanks()
		return v, err
	}
	start := s.pos
	for s.pos < len(s.in) && !strings.ContainsRune(",{}\"", rune(s.in[s.pos])) {
		s.pos++
	}
	return strings.TrimSpace(s.in[start:s.pos]), nil
}

func (s *scanner) expectEnd() error {
	if !s.eof() {
		return s.expectedFault("nothing may follow here")
	}
	return nil
}
