package sheet

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"unicode"

	"holdfast/internal/fault"
)

// Limits of a workbook, on top of those of every file. Bytes are counted while
// they are unpacked, whatever the archive says of itself.
const (
	MaxUnpacked    = 100 << 20
	MaxRatio       = 100
	MaxParts       = 200
	MaxSharedTexts = 2_000_000
	ratioFrom      = 1 << 20 // a small part may be as repetitive as it likes
	maxDirectory   = 256 << 10
	maxShared      = 64 << 20
)

// workbook is an open XLSX file (ECMA-376): a zip archive of XML parts.
type workbook struct {
	src   io.Closer
	file  *place
	parts map[string]*zip.File
	left  int64 // bytes that may still be unpacked
	tabs  []tab
	epoch bool     // dates count from 1904
	looks []format // by cell style: how its numbers are shown
	texts texts
}

// tab is one worksheet.
type tab struct {
	name, part string
	hidden     bool
}

func brokenWorkbook(format string, args ...any) error {
	return fault.New(fault.Invalid, "workbook", "the workbook cannot be read: "+format+
		"; open it in a spreadsheet program, save it again as .xlsx, and upload that", args...)
}

func tooBig(format string, args ...any) error {
	return fault.New(fault.Invalid, "workbook_too_large", format+": save the sheet as CSV and upload that, or split it",
		args...)
}

// openWorkbook reads what stands around the rows: sheets, date styles and the
// texts that cells share.
func openWorkbook(open Source, shared bool) (*workbook, error) {
	src, err := open()
	if err != nil {
		return nil, err
	}
	w := &workbook{src: src, left: MaxUnpacked}
	if err := w.loadParts(src, shared); err != nil {
		src.Close()
		return nil, err
	}
	return w, nil
}

func (w *workbook) loadParts(src io.ReadCloser, shared bool) error {
	at, size, err := openRandomAccess(src)
	if err != nil {
		return err
	}
	w.file = &place{at: at}
	if err := w.openDirectory(w.file, size); err != nil {
		if w.file.err != nil {
			return w.file.err
		}
		return err
	}
	main := "xl/workbook.xml"
	rels, err := w.readRelations("_rels/.rels", "")
	if err != nil {
		return err
	}
	for _, r := range rels {
		if strings.HasSuffix(r.kind, "/officeDocument") {
			main = r.target
		}
	}
	if rels, err = w.readRelations(path.Join(path.Dir(main), "_rels", path.Base(main)+".rels"),
		path.Dir(main)); err != nil {
		return err
	}
	if err := w.readBook(main, rels); err != nil {
		return err
	}
	for _, r := range rels {
		switch {
		case strings.HasSuffix(r.kind, "/styles"):
			err = w.readStyles(r.target)
		case strings.HasSuffix(r.kind, "/sharedStrings") && shared:
			err = w.readSharedTexts(r.target)
		case strings.HasSuffix(r.kind, "/vbaProject"):
			err = fault.New(fault.Unsupported, "file_type",
				"the workbook holds macros: save it as an Excel workbook without macros (.xlsx) or as CSV")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openRandomAccess gives access to any place of a file.
func openRandomAccess(src io.ReadCloser) (io.ReaderAt, int64, error) {
	s, ok := src.(io.ReadSeeker)
	if !ok {
		return nil, 0, errors.New("sheet: a workbook needs a file that can be read from any place")
	}
	size, err := s.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, fmt.Errorf("sheet: %w", err)
	}
	if at, ok := src.(io.ReaderAt); ok {
		return at, size, nil
	}
	return &seeking{s: s}, size, nil
}

// place remembers that the file could not be read: then it is not its content
// that is at fault.
type place struct {
	at  io.ReaderAt
	err error
}

func (p *place) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.at.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		p.err = fmt.Errorf("sheet: %w", err)
	}
	return n, err
}

// seeking reads at an offset by going there.
type seeking struct {
	mu sync.Mutex
	s  io.ReadSeeker
}

func (s *seeking) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.s.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(s.s, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// openDirectory opens the archive. How much of a directory there can be is looked
// at first: the reader of the archive makes room for all of it.
func (w *workbook) openDirectory(at io.ReaderAt, size int64) error {
	tail := make([]byte, min(size, 66<<10))
	if _, err := at.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("sheet: %w", err)
	}
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || len(tail)-i < 22 {
		return brokenWorkbook("it is not complete")
	}
	end := tail[i:]
	if i >= 20 && string(tail[i-20:i-16]) == "PK\x06\x07" {
		// then that record says where the directory is, and how large
		return brokenWorkbook("it is packed as an archive of more than 4 GB")
	}
	entries, bytesOf, from := binary.LittleEndian.Uint16(end[10:]), binary.LittleEndian.Uint32(end[12:]),
		binary.LittleEndian.Uint32(end[16:])
	begins := size - int64(len(end))
	if entries > MaxParts || bytesOf > maxDirectory {
		return tooBig("the workbook has more than %d parts", MaxParts)
	}
	if int64(from)+int64(bytesOf) > begins || begins-int64(from) > maxDirectory+1024 ||
		int(binary.LittleEndian.Uint16(end[20:])) != len(end)-22 {
		return brokenWorkbook("its directory does not match its size")
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return brokenWorkbook("it is no complete archive")
	}
	if len(z.File) > MaxParts {
		return tooBig("the workbook has more than %d parts", MaxParts)
	}
	w.parts = make(map[string]*zip.File, len(z.File))
	for _, f := range z.File {
		name := strings.ToLower(strings.TrimPrefix(f.Name, "/"))
		if w.parts[name] != nil {
			return brokenWorkbook("it has two parts called %q", clipText(f.Name))
		}
		w.parts[name] = f
	}
	return nil
}

// clipText is the beginning of a text out of a file, fit for a sentence.
func clipText(s string) string {
	if len(s) > 80 {
		return Plain(s[:80]) + "..."
	}
	return Plain(s)
}

// Plain is a text without what no text column holds and no line shows.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// openPart opens a part by its name; nil = there is none.
func (w *workbook) openPart(name string) (*markup, io.Closer, error) {
	f := w.parts[strings.ToLower(name)]
	if f == nil {
		return nil, nil, nil
	}
	r, err := f.Open()
	if w.file.err != nil {
		return nil, nil, w.file.err
	}
	if err != nil {
		return nil, nil, brokenWorkbook("part %s is packed in a way that is not known", clipText(name))
	}
	u := &unpacking{r: r, w: w, packed: max(1, int64(f.CompressedSize64))}
	return newMarkup(u), r, nil
}

// unpacking counts what comes out of the archive.
type unpacking struct {
	r      io.Reader
	w      *workbook
	packed int64
	size   int64
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.size += int64(n)
	u.w.left -= int64(n)
	switch {
	case u.w.file.err != nil:
		return 0, u.w.file.err
	case u.w.left < 0:
		return 0, tooBig("the workbook unpacks to more than %d MB", MaxUnpacked>>20)
	case u.size > ratioFrom && u.size/u.packed > MaxRatio:
		return 0, tooBig("the workbook unpacks to more than %d times its size", MaxRatio)
	case err != nil && !errors.Is(err, io.EOF):
		return n, brokenWorkbook("it is damaged (%v)", err)
	}
	return n, err
}

// eachTag calls f for every tag of a part. Parts that are not there have none.
func (w *workbook) eachTag(name string, f func(m *markup) error) error {
	m, c, err := w.openPart(name)
	if err != nil || m == nil {
		return err
	}
	defer c.Close()
	for {
		err := m.nextTag()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(m)
		}
		if errors.Is(err, errMarkup) {
			return brokenWorkbook("part %s is damaged", clipText(name))
		}
		if err != nil {
			return err
		}
	}
}

type relation struct{ id, kind, target string }

// maxNamed bounds lists that a workbook keeps few of.
const maxNamed = 70_000

func (w *workbook) readRelations(name, base string) ([]relation, error) {
	var out []relation
	err := w.eachTag(name, func(m *markup) error {
		if m.name != "Relationship" || m.closing || m.attribute("TargetMode") == "External" {
			return nil
		}
		if len(out) == MaxParts {
			return brokenWorkbook("it has too many relations")
		}
		target := m.attribute("Target")
		if strings.HasPrefix(target, "/") {
			target = strings.TrimPrefix(target, "/")
		} else {
			target = path.Join(base, target)
		}
		out = append(out, relation{m.attribute("Id"), m.attribute("Type"), target})
		return nil
	})
	return out, err
}

func (w *workbook) readBook(name string, rels []relation) error {
	sheets := 0
	err := w.eachTag(name, func(m *markup) error {
		switch {
		case m.closing:
		case m.name == "workbookPr":
			v := m.attribute("date1904")
			w.epoch = v == "1" || v == "true"
		case m.name == "sheet":
			if sheets++; sheets > MaxParts {
				return tooBig("the workbook has more than %d sheets", MaxParts)
			}
			state, id := m.attribute("state"), m.attribute("id")
			for _, r := range rels {
				if r.id == id && strings.HasSuffix(r.kind, "/worksheet") {
					w.tabs = append(w.tabs, tab{Plain(m.attribute("name")), r.target, state == "hidden" || state == "veryHidden"})
				}
			}
		}
		return nil
	})
	if err == nil && len(w.tabs) == 0 {
		return brokenWorkbook("it has no worksheet")
	}
	return err
}

// texts are the texts that cells share, end to end in pages, so that they
// cost their bytes and eight more.
type texts struct {
	pages [][]byte
	at    []uint64 // page << 40 | offset << 20 | length + 1; 0 = longer than a cell
	bytes int
}

const textPage = 1 << 20 // an offset and a length take 20 bits each

func (t *texts) addText(b []byte) error {
	if len(t.at) == MaxSharedTexts || t.bytes+len(b) > maxShared {
		return tooBig("the workbook holds more than %d different texts or %d MB of them", MaxSharedTexts, maxShared>>20)
	}
	n := len(t.pages)
	if n == 0 || len(t.pages[n-1])+len(b) > textPage-1 {
		t.pages = append(t.pages, make([]byte, 0, min(textPage, max(64<<10, len(b)*2))))
		n++
	}
	p := &t.pages[n-1]
	t.at = append(t.at, uint64(n-1)<<40|uint64(len(*p))<<20|uint64(len(b)+1))
	*p = append(*p, b...)
	t.bytes += len(b)
	return nil
}

// getText returns a text; ok is false when there is none of that number or it is
// longer than a cell may be.
func (t *texts) getText(i int) (b []byte, ok bool) {
	if i < 0 || i >= len(t.at) || t.at[i] == 0 {
		return nil, false
	}
	a := t.at[i]
	from, n := int(a>>20&(textPage-1)), int(a&(textPage-1))-1
	return t.pages[a>>40][from : from+n], true
}

// readSharedTexts reads the shared texts: of rich text the runs, without the phonetic
// ones.
func (w *workbook) readSharedTexts(name string) error {
	g := gather{}
	return w.eachTag(name, func(m *markup) error {
		if m.name == "si" && !m.closing {
			g = gather{buf: g.buf[:0]}
		}
		g.handleTag(m)
		if m.name != "si" || !m.closing && !m.empty {
			return nil
		}
		if g.over {
			if len(w.texts.at) == MaxSharedTexts {
				return tooBig("the workbook holds more than %d different texts", MaxSharedTexts)
			}
			w.texts.at = append(w.texts.at, 0)
			return nil
		}
		return w.texts.addText(decodeEscapes(replaceEntities(nil, g.buf)))
	})
}

// gather puts together the text of an si or is element.
type gather struct {
	buf      []byte
	phonetic bool
	over     bool
}

func (g *gather) handleTag(m *markup) {
	switch {
	case m.name == "rPh":
		g.phonetic = !m.closing && !m.empty
	case m.name != "t" || g.phonetic || m.empty:
	case m.closing:
		g.over = g.over || m.over
		g.buf = append(g.buf, m.text...)
		m.room = 0
	default:
		m.keepNextText(max(0, 6*MaxCell-len(g.buf)))
	}
}
