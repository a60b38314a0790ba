package sheet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"

	"holdfast/internal/fault"
)

// census counts what kind of bytes a file holds.
type census struct {
	head    []byte // first bytes
	size    int64
	multi   int // UTF-8 sequences of more than one byte
	broken  int // bytes that are no UTF-8
	control int // control bytes no text has
	zero    [2]int
	pending []byte
	tokens  [][]byte // different words that are not ASCII, at most maxTokens
	known   map[string]bool
}

// Tokens are as many as tell an encoding, and so long as words are.
const (
	maxTokens   = 300
	longestWord = 64 // bytes
)

// collectTokens collects words that are not ASCII. A word ends where a byte stands that
// is no second one in any encoding.
func (c *census) collectTokens(p []byte) {
	for at := 0; len(c.tokens) < maxTokens; {
		high := bytes.IndexFunc(p[at:], func(r rune) bool { return r >= utf8.RuneSelf })
		if high < 0 {
			return
		}
		from, to := at+high, at+high
		for from > at && p[from-1] >= '@' {
			from--
		}
		for to < len(p) && p[to] >= '@' {
			to++
		}
		at = to
		word := p[from:min(to, from+longestWord)]
		if from == 0 && c.size > 0 || c.known[string(word)] {
			continue // cut, or there
		}
		if c.known == nil {
			c.known = map[string]bool{}
		}
		c.known[string(word)] = true
		c.tokens = append(c.tokens, bytes.Clone(word))
	}
}

const censusHead = 4096

func (c *census) addBytes(p []byte) {
	if len(c.head) < censusHead {
		c.head = append(c.head, p[:min(len(p), censusHead-len(c.head))]...)
	}
	for i, b := range p {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != '\v' {
			c.control++
			if b == 0 {
				c.zero[(c.size+int64(i))&1]++
			}
		}
	}
	c.collectTokens(p)
	c.size += int64(len(p))
	if len(c.pending) > 0 {
		p = append(c.pending, p...)
		c.pending = nil
	}
	c.countRunes(p)
}

func (c *census) countRunes(p []byte) {
	for len(p) > 0 {
		if p[0] < utf8.RuneSelf {
			p = p[1:]
			continue
		}
		if !utf8.FullRune(p) {
			c.pending = append([]byte(nil), p...)
			return
		}
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			c.broken++
		} else {
			c.multi++
		}
		p = p[n:]
	}
}

// byteOrderMarks begin files of Unicode.
var byteOrderMarks = map[string][]byte{
	utf8Name:    {0xEF, 0xBB, 0xBF},
	utf16LEName: {0xFF, 0xFE},
	utf16BEName: {0xFE, 0xFF},
}

// detectEncoding reads the file once. An encoding that is wished for is taken. Else a
// byte order mark decides; else zero bytes on one side of each pair mean UTF-16; else
// text that is UTF-8 throughout, or more often than not, is UTF-8; the rest is in the
// encoding whose letters make words, which is asked for where several do, or none.
func (f *Format) detectEncoding(open Source, wish string) error {
	c, err := takeCensus(open)
	if err != nil {
		return err
	}
	if c.size == 0 {
		return fault.New(fault.Invalid, "empty_file", "the file is empty")
	}
	if wish != "" {
		f.Encoding, f.BOM = wish, c.hasMark(wish)
		return nil
	}
	for _, name := range []string{utf8Name, utf16LEName, utf16BEName} {
		if c.hasMark(name) {
			f.Encoding, f.BOM = name, true
			return nil
		}
	}
	return f.detectWithoutMark(c)
}

func (c *census) hasMark(encoding string) bool {
	mark := byteOrderMarks[encoding]
	return len(mark) > 0 && bytes.HasPrefix(c.head, mark)
}

func (f *Format) detectWithoutMark(c *census) error {
	half := int(c.size / 2)
	switch {
	case c.size >= 4 && c.zero[1] > half/2 && c.zero[0] < c.zero[1]/4:
		f.Encoding = utf16LEName
	case c.size >= 4 && c.zero[0] > half/2 && c.zero[1] < c.zero[0]/4:
		f.Encoding = utf16BEName
	case c.control > 8 && int64(c.control) > c.size/200:
		return fault.New(fault.Invalid, "not_text",
			"the file holds binary data, not rows of text: save the table as CSV and upload that")
	case c.broken+len(c.pending) <= c.multi:
		f.Encoding = utf8Name
	default:
		return f.detectCharset(c)
	}
	return nil
}

// detectCharset finds the encoding whose letters make words.
func (f *Format) detectCharset(c *census) error {
	may := listRivals(readWords(c.tokens))
	if len(may) == 1 {
		f.Encoding, f.Sample = may[0].name, may[0].joinSample()
		return nil
	}
	says := make([]string, len(may))
	for i, r := range may {
		says[i] = fmt.Sprintf("%s (%s)", r.joinSample(), r.name)
	}
	ask := fault.New(fault.Invalid, "import_question",
		"the file is not UTF-8: which of these are its words? %s. Say which (encoding)", strings.Join(says, "; "))
	return ask.At("options.encoding", "must say how the file's letters are written").
		With("", "options.encoding: one of "+strings.Join(Encodings(), ", "))
}

func takeCensus(open Source) (*census, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	c := &census{}
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		c.addBytes(buf[:n])
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, fmt.Errorf("sheet: %w", err)
		}
	}
}

// byteText turns text of a set of one byte a character into UTF-8. A byte that the
// set leaves undefined becomes one that no UTF-8 has.
type byteText struct{ set *charmap.Charmap }

// Reset implements transform.Transformer; there is nothing to reset.
func (byteText) Reset() {}

// Transform implements transform.Transformer.
func (b byteText) Transform(dst, src []byte, _ bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		r := rune(src[nSrc])
		if r >= utf8.RuneSelf {
			r = b.set.DecodeByte(src[nSrc])
		}
		if nDst+utf8.RuneLen(r) > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		if r == utf8.RuneError {
			dst[nDst] = noText
			nDst++
		} else {
			nDst += utf8.EncodeRune(dst[nDst:], r)
		}
		nSrc++
	}
	return nDst, nSrc, nil
}

// utf16Text turns UTF-16 (RFC 2781) into UTF-8. Half of a pair, and a last byte
// that is half of a unit, become a byte that no UTF-8 has.
type utf16Text struct {
	transform.NopResetter
	order binary.ByteOrder
}

const noText = 0xFF

// Transform implements transform.Transformer.
func (u utf16Text) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		r, size := u.nextRune(src[nSrc:], atEOF)
		if size == 0 {
			return nDst, nSrc, transform.ErrShortSrc
		}
		if nDst+max(1, utf8.RuneLen(r)) > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		if r < 0 {
			dst[nDst] = noText
			nDst++
		} else {
			nDst += utf8.EncodeRune(dst[nDst:], r)
		}
		nSrc += size
	}
	return nDst, nSrc, nil
}

// nextRune decodes one character, -1 for what is none; size 0 asks for more bytes.
func (u utf16Text) nextRune(src []byte, atEOF bool) (r rune, size int) {
	if len(src) < 2 {
		if atEOF {
			return -1, 1
		}
		return 0, 0
	}
	r = rune(u.order.Uint16(src))
	switch {
	case !utf16.IsSurrogate(r):
		return r, 2
	case len(src) < 4 && !atEOF:
		return 0, 0
	case len(src) >= 4:
		if pair := utf16.DecodeRune(r, rune(u.order.Uint16(src[2:]))); pair != utf8.RuneError {
			return pair, 4
		}
	}
	return -1, 2
}

// skipping drops the first n bytes of r.
type skipping struct {
	r io.Reader
	n int64
}

func (s *skipping) Read(p []byte) (int, error) {
	if s.n > 0 {
		if _, err := io.CopyN(io.Discard, s.r, s.n); err != nil {
			return 0, err
		}
		s.n = 0
	}
	return s.r.Read(p)
}
