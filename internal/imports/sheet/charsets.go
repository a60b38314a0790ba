package sheet

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/transform"

	"holdfast/internal/fault"
)

// Encodings of Unicode.
const (
	utf8Name    = "utf-8"
	utf16LEName = "utf-16le"
	utf16BEName = "utf-16be"
)

// charset is an encoding that is not Unicode's. Names are those of the WHATWG
// Encoding Standard, where it has them.
type charset struct {
	name, spoken string
	aliases      []string // folded: letters and digits
	languages    []string // that it writes (words.txt); none = of two bytes a character
	oneByte      *charmap.Charmap
	twoBytes     encoding.Encoding
	weigh        weighPair
	usual        float64 // by how much it is likelier than another, whatever the words
}

// western are the languages of Windows-1252, Mac Roman and code page 850.
var western = strings.Fields("en de fr es it pt nl sv da fi")

// charsets are in the order in which one is preferred to another that reads a file's
// words equally well.
var charsets = []charset{
	{
		name: "windows-1252", spoken: "Windows-1252", aliases: []string{"cp1252", "latin1", "iso88591"},
		languages: western, oneByte: charmap.Windows1252, usual: 2,
	},
	{
		name: "windows-1250", spoken: "Windows-1250", aliases: []string{"cp1250"},
		languages: strings.Fields("cs sk pl hu ro hr de"), oneByte: charmap.Windows1250,
	},
	{
		name: "windows-1251", spoken: "Windows-1251", aliases: []string{"cp1251"},
		languages: strings.Fields("ru uk bg"), oneByte: charmap.Windows1251,
	},
	{
		name: "windows-1254", spoken: "Windows-1254", aliases: []string{"cp1254"},
		languages: []string{"tr"}, oneByte: charmap.Windows1254,
	},
	{
		name: "macintosh", spoken: "Mac Roman", aliases: []string{"macroman", "xmacroman"},
		languages: western, oneByte: charmap.Macintosh,
	},
	{
		name: "ibm850", spoken: "code page 850", aliases: []string{"cp850"},
		languages: western, oneByte: charmap.CodePage850,
	},
	{
		name: "shift_jis", spoken: "Shift-JIS", aliases: []string{"sjis", "cp932", "windows31j"},
		twoBytes: japanese.ShiftJIS, weigh: weighShiftJIS,
	},
	{
		name: "gbk", spoken: "GBK", aliases: []string{"cp936", "gb2312"},
		twoBytes: simplifiedchinese.GBK, weigh: weighGBK,
	},
	{
		name: "big5", spoken: "Big5", aliases: []string{"cp950"},
		twoBytes: traditionalchinese.Big5, weigh: weighBig5,
	},
}

func charsetNamed(name string) *charset {
	for i := range charsets {
		if charsets[i].name == name {
			return &charsets[i]
		}
	}
	return nil
}

// SpokenCharset is the name in a sentence of an encoding that is not Unicode's, ""
// of another.
func SpokenCharset(name string) string {
	if c := charsetNamed(name); c != nil {
		return c.spoken
	}
	return ""
}

// Encodings names the encodings that files may have.
func Encodings() []string {
	names := []string{utf8Name, utf16LEName, utf16BEName}
	for _, c := range charsets {
		names = append(names, c.name)
	}
	return names
}

// ParseEncoding reads the name of an encoding, in any case and spelling (cp1250,
// Windows 1250); "" stays "".
func ParseEncoding(s string) (string, error) {
	fold := foldName(s)
	if fold == "" && s == "" {
		return "", nil
	}
	for _, name := range Encodings() {
		if fold == foldName(name) {
			return name, nil
		}
	}
	for _, c := range charsets {
		for _, alias := range c.aliases {
			if fold == alias {
				return c.name, nil
			}
		}
	}
	known := strings.Join(Encodings(), ", ")
	return "", fault.New(fault.Invalid, "encoding", "%q is no encoding that is read: use one of %s", s, known)
}

func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// decodeText gives the text as UTF-8 without byte order mark. What is broken stays
// broken: the record it stands in is refused by its line.
func (f Format) decodeText(r io.Reader) io.Reader {
	if f.BOM {
		r = &skipping{r: r, n: int64(len(byteOrderMarks[f.Encoding]))}
	}
	switch f.Encoding {
	case utf16LEName:
		return transform.NewReader(r, utf16Text{order: binary.LittleEndian})
	case utf16BEName:
		return transform.NewReader(r, utf16Text{order: binary.BigEndian})
	}
	set := charsetNamed(f.Encoding)
	if set == nil {
		return r
	}
	if set.oneByte != nil {
		return transform.NewReader(r, byteText{set.oneByte})
	}
	return transform.NewReader(transform.NewReader(r, set.twoBytes.NewDecoder()), lostText{})
}

// decodeSample is a few bytes of the file as text; what is broken is U+FFFD.
func (c *charset) decodeSample(b []byte) string {
	if c.oneByte == nil {
		text, err := c.twoBytes.NewDecoder().Bytes(b)
		if err != nil {
			return string(utf8.RuneError)
		}
		return string(text)
	}
	var text strings.Builder
	for _, x := range b {
		text.WriteRune(c.oneByte.DecodeByte(x))
	}
	return text.String()
}

// lostText turns U+FFFD, which a decoder puts in place of bytes that its encoding
// leaves undefined, into a byte that no UTF-8 has.
type lostText struct{ transform.NopResetter }

// Transform implements transform.Transformer.
func (lostText) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	lost := []byte(string(utf8.RuneError))
	for nSrc < len(src) {
		rest := src[nSrc:]
		n := bytes.Index(rest, lost)
		if n < 0 && atEOF {
			n = len(rest)
		} else if n < 0 {
			n = max(0, len(rest)-len(lost)+1)
		}
		if n == 0 && !bytes.HasPrefix(rest, lost) {
			return nDst, nSrc, transform.ErrShortSrc
		}
		if n = copy(dst[nDst:], rest[:n]); n > 0 {
			nDst, nSrc = nDst+n, nSrc+n
			continue
		}
		if nDst == len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		dst[nDst] = noText
		nDst, nSrc = nDst+1, nSrc+len(lost)
	}
	return nDst, nSrc, nil
}
