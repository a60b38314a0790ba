package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"holdfast/internal/fault"
)

// maxTag bounds one tag with its attributes. Real ones in a workbook stay
// below a kilobyte.
const maxTag = 32 << 10

// markup cuts an XML part into tags and the text before each. It knows what a
// workbook uses and no more: a document type, with which entities and outside
// files would begin, is refused, and nesting is the reader's business.
type markup struct {
	r    *bufio.Reader
	held []byte // a tag that did not fit the buffer in one piece

	name    string // local name of the tag under way
	attrs   []byte
	closing bool // </name>
	empty   bool // <name/>
	text    []byte
	room    int  // bytes of text still kept; the rest is dropped
	over    bool // text was dropped
}

func newMarkup(r io.Reader) *markup {
	m := &markup{r: bufio.NewReaderSize(r, 64<<10)}
	if b, err := m.r.Peek(3); err == nil && bytes.Equal(b, []byte{0xEF, 0xBB, 0xBF}) {
		_, _ = m.r.Discard(3) // it was just seen
	}
	return m
}

var errMarkup = errors.New("sheet: the XML inside the workbook is damaged")

// markupError is the error of a part that ends where it may not, or cannot be read.
func markupError(err error) error {
	if errors.Is(err, io.EOF) {
		return errMarkup
	}
	return err
}

// keepNextText starts keeping text, at most n bytes of it.
func (m *markup) keepNextText(n int) { m.text, m.room, m.over = m.text[:0], n, false }

// nextTag goes to the next tag. Text on the way is kept where it is wanted.
// io.EOF ends the part.
func (m *markup) nextTag() error {
	for {
		if err := m.readToTag(); err != nil {
			return err
		}
		c, err := m.r.Peek(1)
		if err != nil {
			return markupError(err)
		}
		switch c[0] {
		case '!':
			err = m.readDeclaration()
		case '?':
			err = m.skipTo("?>")
		default:
			return m.readTag()
		}
		if err != nil {
			return err
		}
	}
}

// readToTag reads to the next '<' and takes it.
func (m *markup) readToTag() error {
	for {
		b, err := m.r.ReadSlice('<')
		if err == nil {
			return m.keepText(b[:len(b)-1])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if err := m.keepText(b); err != nil {
			return err
		}
	}
}

// keepText appends text as it stands, up to the room there is. Entities may lie
// across two pieces and are replaced at the end.
func (m *markup) keepText(b []byte) error {
	if m.room <= 0 {
		m.over = m.over || len(bytes.TrimSpace(b)) > 0
		return nil
	}
	if len(b) > m.room {
		b, m.over = b[:m.room], true
	}
	m.room -= len(b)
	m.text = append(m.text, b...)
	return nil
}

func (m *markup) readDeclaration() error {
	b, err := m.r.Peek(8)
	switch {
	case bytes.HasPrefix(b, []byte("!--")):
		_, _ = m.r.Discard(3) // it was just seen
		return m.skipTo("-->")
	case bytes.HasPrefix(b, []byte("![CDATA[")):
		_, _ = m.r.Discard(8) // it was just seen
		return m.readCDATA()
	case err != nil:
		return markupError(err)
	}
	return fault.New(fault.Invalid, "workbook",
		"the workbook holds a document type or entity declaration, which no spreadsheet program writes: it was refused")
}

// skipTo drops everything up to end and end itself.
func (m *markup) skipTo(end string) error {
	return m.readThrough(end, func([]byte) error { return nil })
}

// readThrough hands over what stands before end, piece by piece, and takes both.
func (m *markup) readThrough(end string, piece func([]byte) error) error {
	for {
		if _, err := m.r.Peek(len(end)); err != nil {
			return markupError(err)
		}
		b, _ := m.r.Peek(m.r.Buffered()) // it is there
		n, take := len(b)-len(end)+1, len(b)-len(end)+1
		i := bytes.Index(b, []byte(end))
		if i >= 0 {
			n, take = i, i+len(end)
		}
		if err := piece(b[:n]); err != nil {
			return err
		}
		_, _ = m.r.Discard(take)
		if i >= 0 {
			return nil
		}
	}
}

// readCDATA keeps a literal section. What is special in text is escaped, so that
// text is undone in one way only.
func (m *markup) readCDATA() error {
	return m.readThrough("]]>", func(b []byte) error {
		return m.keepText(bytes.ReplaceAll(b, []byte("&"), []byte("&amp;")))
	})
}

// readTag reads a tag behind its '<'. A '>' inside quotes does not end it.
func (m *markup) readTag() error {
	m.held = m.held[:0]
	open := byte(0) // the quote that is open
	for {
		if _, err := m.r.Peek(1); err != nil {
			return markupError(err)
		}
		b, _ := m.r.Peek(m.r.Buffered()) // it is there
		n, ends := tagEnd(b, &open)
		if len(m.held)+n > maxTag {
			return errMarkup
		}
		_, _ = m.r.Discard(n)
		whole := b[:n]
		if len(m.held) > 0 || !ends {
			m.held = append(m.held, whole...)
			whole = m.held
		}
		if ends {
			return m.cutTag(whole[:len(whole)-1])
		}
	}
}

// tagEnd is how much of b belongs to a tag, and whether it ends there. open is
// the quote that is open before b and after it, 0 = none.
func tagEnd(b []byte, open *byte) (n int, ends bool) {
	for n < len(b) {
		if *open != 0 {
			i := bytes.IndexByte(b[n:], *open)
			if i < 0 {
				break
			}
			n += i + 1
			*open = 0
			continue
		}
		n++
		switch c := b[n-1]; c {
		case '>':
			return n, true
		case '"', '\'':
			*open = c
		}
	}
	return len(b), false
}

// cutTag takes a tag's text apart. The attributes are valid until the next tag.
func (m *markup) cutTag(b []byte) error {
	m.closing, m.empty = false, false
	if len(b) > 0 && b[0] == '/' {
		m.closing, b = true, b[1:]
	}
	if len(b) > 0 && b[len(b)-1] == '/' {
		m.empty, b = true, b[:len(b)-1]
	}
	end := bytes.IndexAny(b, " \t\r\n")
	if end < 0 {
		end = len(b)
	}
	name := b[:end]
	m.attrs = b[end:]
	if i := bytes.IndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	if len(name) == 0 {
		return errMarkup
	}
	m.name = tagName(name)
	return nil
}

// tagName avoids a string for each of the tags a sheet has millions of.
func tagName(b []byte) string {
	switch string(b) {
	case "c":
		return "c"
	case "v":
		return "v"
	case "row":
		return "row"
	case "t":
		return "t"
	case "si":
		return "si"
	case "is":
		return "is"
	case "f":
		return "f"
	case "r":
		return "r"
	}
	return string(b)
}

// attribute returns an attribute by its local name, undone; "" when it is not
// there.
func (m *markup) attribute(name string) string {
	return string(replaceEntities(nil, m.rawAttr(name)))
}

func (m *markup) rawAttr(name string) []byte {
	b := m.attrs
	for {
		b = bytes.TrimLeft(b, " \t\r\n")
		eq := bytes.IndexByte(b, '=')
		if eq < 0 {
			return nil
		}
		key := bytes.TrimRight(b[:eq], " \t\r\n")
		b = bytes.TrimLeft(b[eq+1:], " \t\r\n")
		if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
			return nil
		}
		end := bytes.IndexByte(b[1:], b[0])
		if end < 0 {
			return nil
		}
		if i := bytes.IndexByte(key, ':'); i >= 0 {
			key = key[i+1:]
		}
		if string(key) == name {
			return b[1 : 1+end]
		}
		b = b[end+2:]
	}
}

// replaceEntities appends text with its entities replaced. One that XML does not
// define is kept as it stands: without a document type there is nothing else
// it could mean.
func replaceEntities(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '&')
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		b = b[i:]
		end := bytes.IndexByte(b[:min(len(b), 12)], ';')
		if end < 0 {
			dst, b = append(dst, '&'), b[1:]
			continue
		}
		dst = appendEntity(dst, b[:end+1])
		b = b[end+1:]
	}
}

func appendEntity(dst, e []byte) []byte {
	switch string(e) {
	case "&amp;":
		return append(dst, '&')
	case "&lt;":
		return append(dst, '<')
	case "&gt;":
		return append(dst, '>')
	case "&quot;":
		return append(dst, '"')
	case "&apos;":
		return append(dst, '\'')
	}
	if len(e) < 4 || e[1] != '#' {
		return append(dst, e...)
	}
	digits, base := string(e[2:len(e)-1]), 10
	if digits[0] == 'x' {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return append(dst, e...)
	}
	return utf8.AppendRune(dst, rune(n))
}

// decodeEscapes undoes the _xHHHH_ that workbooks write for characters XML has no
// place for (ECMA-376 part 1, 22.9.2.19).
func decodeEscapes(b []byte) []byte {
	if !bytes.Contains(b, []byte("_x")) {
		return b
	}
	out := b[:0:0]
	for {
		i := bytes.Index(b, []byte("_x"))
		if i < 0 || len(b) < i+7 {
			return append(out, b...)
		}
		n, err := strconv.ParseUint(string(b[i+2:i+6]), 16, 16)
		if err != nil || b[i+6] != '_' || !utf8.ValidRune(rune(n)) {
			out, b = append(out, b[:i+2]...), b[i+2:]
			continue
		}
		out, b = utf8.AppendRune(append(out, b[:i]...), rune(n)), b[i+7:]
	}
}
