package backup

import (
	"archive/tar"
	"bufio"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"
)

// A Log is what an embedded database commits after a backup, in segments that
// stand beside it: each holds the pages that were changed since the one before,
// and the files that were uploaded.
type Log struct {
	ID       string `json:"id"`       // a UUID
	Seq      int64  `json:"seq"`      // of the last segment that the backup holds; the next is one more
	Identity string `json:"identity"` // opens the segments, AGE-SECRET-KEY-1...; "" = what opens the backup does
}

// Names in a segment. Files stand below Files, as in a backup.
const (
	segmentName = "segment.json"
	pagesName   = "pages"
	segmentEnd  = ".log"
)

// Segment says what a segment holds.
type Segment struct {
	Format   int       `json:"format"`
	Log      string    `json:"log"`
	Seq      int64     `json:"seq"`
	Made     time.Time `json:"made"` // all that was committed before is in it or an earlier one
	PageSize int       `json:"page_size"`
	Pages    uint32    `json:"pages"` // that the database has behind it
	Changed  int64     `json:"changed"`
}

// SegmentPrefix begins the names of a log's segments.
func SegmentPrefix(log string) string { return "holdfast-log-" + log[len(log)-12:] + "-" }

// SegmentName is the name of a segment; those of a log are in the order of their
// numbers.
func SegmentName(log string, seq int64) string {
	return fmt.Sprintf("%s%010d%s", SegmentPrefix(log), seq, segmentEnd)
}

// SegmentSeq reads the number out of SegmentName's; 0 for another name.
func SegmentSeq(log, name string) int64 {
	text, ok := strings.CutPrefix(name, SegmentPrefix(log))
	text, end := strings.CutSuffix(text, segmentEnd)
	seq, err := strconv.ParseInt(text, 10, 64)
	if !ok || !end || err != nil || SegmentName(log, seq) != name {
		return 0
	}
	return seq
}

// Page takes one changed page.
type Page func(number uint32, content []byte) error

// SegmentWriter writes one segment: its pages, then files, then Close.
type SegmentWriter struct {
	sealed io.WriteCloser
	packed *flate.Writer
	tar    *tar.Writer
	at     time.Time
}

// NewSegmentWriter begins a segment for who holds the identity of to, with the
// pages that each calls its function with.
func NewSegmentWriter(w io.Writer, to string, s Segment, each func(Page) error) (*SegmentWriter, error) {
	key, err := Secret{Recipient: to}.ageRecipient()
	if err != nil {
		return nil, err
	}
	sealed, err := age.Encrypt(w, key)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	packed, err := flate.NewWriter(sealed, flate.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	s.Format = Format
	out := &SegmentWriter{sealed: sealed, packed: packed, tar: tar.NewWriter(packed), at: s.Made}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	if err := out.Add(segmentName, int64(len(text)), strings.NewReader(string(text))); err != nil {
		return nil, err
	}
	return out, out.writePages(s, each)
}

func (w *SegmentWriter) writeEntry(name string, size int64) error {
	h := &tar.Header{Name: name, Size: size, Mode: 0o600, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		ModTime: w.at.Truncate(time.Second)}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("backup: %s: %w", name, err)
	}
	return nil
}

func (w *SegmentWriter) writePages(s Segment, each func(Page) error) error {
	if err := w.writeEntry(pagesName, s.Changed*int64(4+s.PageSize)); err != nil {
		return err
	}
	number := make([]byte, 4)
	return each(func(page uint32, content []byte) error {
		binary.BigEndian.PutUint32(number, page)
		if _, err := w.tar.Write(number); err != nil {
			return fmt.Errorf("backup: %w", err)
		}
		_, err := w.tar.Write(content)
		return wrapError(err)
	})
}

// Add writes a file of exactly size bytes.
func (w *SegmentWriter) Add(name string, size int64, r io.Reader) error {
	if err := w.writeEntry(name, size); err != nil {
		return err
	}
	if n, err := io.Copy(w.tar, r); err != nil || n != size {
		return fmt.Errorf("backup: %s has %d bytes, not %d: %w", name, n, size, err)
	}
	return nil
}

// Close makes the segment whole.
func (w *SegmentWriter) Close() error {
	return errors.Join(wrapError(w.tar.Close()), wrapError(w.packed.Close()), wrapError(w.sealed.Close()))
}

// Taking is where what a segment holds goes.
type Taking struct {
	Begin func(Segment) error // looks whether it is wanted
	Page  Page
	File  func(name string, r io.Reader) error // below Files
}

// ReadSegment reads one segment whole. It fails with ErrSecret, ErrDamaged or
// ErrNewer, or as what it is given to does.
func ReadSegment(r io.Reader, l *Log, o Opener, to Taking) error {
	ids, err := l.logIdentities(o)
	if err != nil {
		return err
	}
	plain, err := age.Decrypt(r, ids...)
	if err != nil {
		return classifyOpenError(err)
	}
	in := tar.NewReader(bufio.NewReader(flate.NewReader(plain)))
	h, err := in.Next()
	if err != nil || h.Name != segmentName {
		return damagedError(fmt.Errorf("no %s: %w", segmentName, err))
	}
	var s Segment
	if err := json.NewDecoder(io.LimitReader(in, 1<<20)).Decode(&s); err != nil {
		return damagedError(err)
	}
	if s.Format > Format {
		return fmt.Errorf("backup: %w: its form is %d, this program reads up to %d", ErrNewer, s.Format, Format)
	}
	if err := to.Begin(s); err != nil {
		return err
	}
	return s.takeSegment(in, to)
}

func (l *Log) logIdentities(o Opener) ([]age.Identity, error) {
	if l.Identity == "" {
		return o.ageIdentities()
	}
	id, err := age.ParseX25519Identity(l.Identity)
	if err != nil {
		return nil, damagedError(err)
	}
	return []age.Identity{id}, nil
}

func (s Segment) takeSegment(in *tar.Reader, to Taking) error {
	h, err := in.Next()
	if err != nil || h.Name != pagesName || s.PageSize < 512 || s.PageSize > 1<<16 ||
		h.Size != s.Changed*int64(4+s.PageSize) {
		return damagedError(fmt.Errorf("no %s: %w", pagesName, err))
	}
	b := make([]byte, 4+s.PageSize)
	for range s.Changed {
		if _, err := io.ReadFull(in, b); err != nil {
			return damagedError(err)
		}
		page := binary.BigEndian.Uint32(b)
		if page == 0 || page > s.Pages {
			return damagedError(fmt.Errorf("page %d of %d", page, s.Pages))
		}
		if err := to.Page(page, b[4:]); err != nil {
			return err
		}
	}
	for {
		h, err := in.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return damagedError(err)
		case !isSafeEntry(h) || !strings.HasPrefix(h.Name, Files):
			return damagedError(fmt.Errorf("entry %q", h.Name))
		}
		if err := to.File(h.Name, telling{in}); err != nil {
			return err
		}
	}
}

// NewIdentity makes a key for the segments of a log: the secret that opens them,
// and the recipient that they are encrypted to.
func NewIdentity() (identity, recipient string, err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", "", fmt.Errorf("backup: %w", err)
	}
	return id.String(), id.Recipient().String(), nil
}
