package testkit

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"
)

// ReadPages reads what each page of a PDF draws: its content stream, in the order of
// the pages.
func ReadPages(body []byte) (pages [][]byte, err error) {
	if !bytes.HasPrefix(body, []byte("%PDF-")) {
		return nil, fmt.Errorf("no PDF: %.200s", body)
	}
	for rest := body; ; {
		_, after, ok := bytes.Cut(rest, []byte("stream\n"))
		if !ok {
			return pages, nil
		}
		rest = after
		z, err := zlib.NewReader(bytes.NewReader(after))
		if err != nil {
			continue
		}
		page, err := io.ReadAll(z)
		if err != nil || !bytes.Contains(page, []byte("Tj")) {
			continue
		}
		pages = append(pages, page)
	}
}

// ReadDrawn reads a string of a font that is addressed by UTF-16.
func ReadDrawn(s []byte) string {
	var raw []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == 'r' {
				s[i] = '\r'
			}
		}
		raw = append(raw, s[i])
	}
	var units []uint16
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	return string(utf16.Decode(units))
}

var drawnText = regexp.MustCompile(`(?s)\(((?:\\.|[^\\)])*)\) ?Tj`)

// ReadPDF reads the text of each page of a PDF: what was drawn on it, with a blank
// between two strings.
func ReadPDF(body []byte) ([]string, error) {
	pages, err := ReadPages(body)
	texts := make([]string, len(pages))
	for i, page := range pages {
		var said []string
		for _, m := range drawnText.FindAllSubmatch(page, -1) {
			said = append(said, ReadDrawn(m[1]))
		}
		texts[i] = strings.Join(said, " ")
	}
	return texts, err
}
