package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"
)

// Writer writes one backup. Parts are added one after the other; Close makes it
// whole.
type Writer struct {
	sealed   io.WriteCloser
	tar      *tar.Writer
	manifest Manifest
	progress func(n int64)
}

// NewWriter begins a backup on w. progress, which may be nil, is told how many
// bytes more were written.
func NewWriter(w io.Writer, s Secret, h Head, progress func(n int64)) (*Writer, error) {
	to, err := s.ageRecipient()
	if err != nil {
		return nil, err
	}
	h.Format = Format
	sealed, err := age.Encrypt(w, to)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	if progress == nil {
		progress = func(int64) {}
	}
	out := &Writer{sealed: sealed, tar: tar.NewWriter(sealed), manifest: Manifest{Head: h}, progress: progress}
	return out, out.writeJSON(headName, h)
}

// Add writes a part of exactly size bytes.
func (w *Writer) Add(name string, size int64, r io.Reader) error {
	sum := sha256.New()
	if err := w.writeEntry(name, size, io.TeeReader(counting{r, w.progress}, sum)); err != nil {
		return err
	}
	w.manifest.Parts = append(w.manifest.Parts, Part{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// Counts says how many rows each table has.
func (w *Writer) Counts(rows map[string]int64) { w.manifest.Counts = rows }

// Follow names the log whose segments go on from the backup.
func (w *Writer) Follow(l *Log) { w.manifest.Log = l }

// Missed notes a file that went before it was read.
func (w *Writer) Missed(name string) { w.manifest.Missing = append(w.manifest.Missing, name) }

// Refer names a part that an earlier backup holds.
func (w *Writer) Refer(p Part, id string) {
	if w.manifest.Bases == nil {
		w.manifest.Bases = map[string]string{}
	}
	w.manifest.Bases[p.Held] = id
	w.manifest.Parts = append(w.manifest.Parts, p)
}

// Close writes the manifest, without which the file is no backup, and returns it.
func (w *Writer) Close() (Manifest, error) {
	err := w.writeJSON(manifestName, w.manifest)
	return w.manifest, errors.Join(err, wrapError(w.tar.Close()), wrapError(w.sealed.Close()))
}

func wrapError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("backup: %w", err)
}

func (w *Writer) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return w.writeEntry(name, int64(len(text)), bytes.NewReader(text))
}

func (w *Writer) writeEntry(name string, size int64, r io.Reader) error {
	h := &tar.Header{Name: name, Size: size, Mode: 0o600, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		ModTime: w.manifest.Made.Truncate(time.Second)}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("backup: %s: %w", name, err)
	}
	n, err := io.Copy(w.tar, r)
	if err == nil && n != size {
		err = fmt.Errorf("it has %d bytes, not %d", n, size)
	}
	if err != nil {
		return fmt.Errorf("backup: %s: %w", name, err)
	}
	return nil
}

type counting struct {
	io.Reader
	told func(int64)
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.told(int64(n))
	return n, err
}
