package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

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
}

const censusHead = 4096

func (c *census) add(p []byte) {
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
	c.size += int64(len(p))
	if len(c.pending) > 0 {
		p = append(c.pending, p...)
		c.pending = nil
	}
	c.runes(p)
}

func (c *census) runes(p []byte) {
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

// detectEncoding reads the file once. A byte order mark decides; else zero
// bytes on one side of each pair mean UTF-16; else text that is UTF-8
// throughout, or more often than not, is UTF-8; the rest is Windows-1252, in
// which nearly every byte is a letter.
func (f *Format) detectEncoding(open Source) error {
	c, err := count(open)
	if err != nil {
		return err
	}
	c.broken += len(c.pending)
	half := int(c.size / 2)
	switch {
	case c.size == 0:
		return fault.New(fault.Invalid, "empty_file", "the file is empty")
	case bytes.HasPrefix(c.head, []byte{0xEF, 0xBB, 0xBF}):
		f.Encoding, f.BOM = "utf-8", true
	case bytes.HasPrefix(c.head, []byte{0xFF, 0xFE}):
		f.Encoding, f.BOM = "utf-16le", true
	case bytes.HasPrefix(c.head, []byte{0xFE, 0xFF}):
		f.Encoding, f.BOM = "utf-16be", true
	case c.size >= 4 && c.zero[1] > half/2 && c.zero[0] < c.zero[1]/4:
		f.Encoding = "utf-16le"
	case c.size >= 4 && c.zero[0] > half/2 && c.zero[1] < c.zero[0]/4:
		f.Encoding = "utf-16be"
	case c.control > 8 && int64(c.control) > c.size/200:
		return fault.New(fault.Invalid, "not_text", "the file holds binary data, not rows of text: save the table as CSV and upload that")
	case c.broken <= c.multi:
		f.Encoding = "utf-8"
	default:
		f.Encoding = "windows-1252"
	}
	return nil
}

func count(open Source) (*census, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	c := &census{}
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		c.add(buf[:n])
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, fmt.Errorf("sheet: %w", err)
		}
	}
}

// decode gives the text as UTF-8 without byte order mark. Broken UTF-8 passes:
// the record it stands in is refused by its line.
func (f Format) decode(r io.Reader) io.Reader {
	switch f.Encoding {
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(r)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(r)
	case "windows-1252":
		return charmap.Windows1252.NewDecoder().Reader(r)
	}
	if f.BOM {
		return &skipping{r: r, n: 3}
	}
	return r
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
