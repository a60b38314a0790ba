package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
)

// Reader reads one backup from its beginning. Close ends what it began.
type Reader struct {
	tar   *tar.Reader
	ahead *ahead
	Head  Head
}

// NewReader opens a backup and reads what it is of. It fails with ErrSecret,
// ErrDamaged or ErrNewer.
func NewReader(r io.Reader, o Opener) (*Reader, error) {
	ids, err := o.ageIdentities()
	if err != nil {
		return nil, err
	}
	plain, err := age.Decrypt(r, ids...)
	if err != nil {
		return nil, classifyOpenError(err)
	}
	ahead := readAhead(plain)
	out, err := beginReading(ahead)
	if err != nil {
		ahead.Close()
		return nil, err
	}
	out.ahead = ahead
	return out, nil
}

// Close must be called before the file below is closed.
func (r *Reader) Close() error { return r.ahead.Close() }

func beginReading(plain io.Reader) (*Reader, error) {
	out := &Reader{tar: tar.NewReader(plain)}
	h, err := out.tar.Next()
	if err != nil || h.Name != headName {
		return nil, damagedError(fmt.Errorf("no %s: %w", headName, err))
	}
	if err := out.readJSON(&out.Head); err != nil {
		return nil, err
	}
	return out, out.Head.checkHead()
}

// longest is the most that an entry about the backup may have.
const longest = 1 << 30

func (r *Reader) readJSON(v any) error {
	if err := json.NewDecoder(io.LimitReader(r.tar, longest)).Decode(v); err != nil {
		return damagedError(err)
	}
	return nil
}

// Each calls f for every part that the file itself holds and then compares all
// with the manifest, which it returns. f need not read all of a part.
func (r *Reader) Each(f func(name string, size int64, part io.Reader) error) (*Manifest, error) {
	found := map[string]Part{}
	for {
		h, err := r.tar.Next()
		switch {
		case err == io.EOF:
			return nil, damagedError(errors.New("it ends without a manifest"))
		case err != nil:
			return nil, damagedError(err)
		case h.Name == manifestName:
			return r.compareParts(found)
		case !isSafeEntry(h):
			return nil, damagedError(fmt.Errorf("entry %q", h.Name))
		}
		sum := sha256.New()
		part := io.TeeReader(telling{r.tar}, sum)
		if err := f(h.Name, h.Size, part); err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, part); err != nil {
			return nil, err
		}
		found[h.Name] = Part{Name: h.Name, Size: h.Size, SHA256: hex.EncodeToString(sum.Sum(nil))}
	}
}

// telling says that it is the backup which cannot be read, not what is written.
type telling struct{ io.Reader }

func (t telling) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = damagedError(err)
	}
	return n, err
}

// isSafeEntry lets only entries through that Writer makes: none that leads elsewhere.
func isSafeEntry(h *tar.Header) bool {
	name := strings.TrimPrefix(h.Name, Files)
	return h.Typeflag == tar.TypeReg && name != "" && !strings.ContainsAny(name, `/\`) && !strings.HasPrefix(name, ".")
}

func (r *Reader) compareParts(found map[string]Part) (*Manifest, error) {
	m := &Manifest{}
	if err := r.readJSON(m); err != nil {
		return nil, err
	}
	if m.ID != r.Head.ID {
		return nil, damagedError(errors.New("its two ends are of different backups"))
	}
	// The last bytes are sealed too: a file cut after the manifest is noticed.
	if _, err := r.tar.Next(); err != io.EOF {
		return nil, damagedError(err)
	}
	for _, p := range m.Parts {
		if p.Held != "" {
			continue
		}
		if got := found[p.Name]; got != p {
			return nil, damagedError(fmt.Errorf("%s has SHA-256 %s, not %s", p.Name, got.SHA256, p.SHA256))
		}
		delete(found, p.Name)
	}
	for name := range found {
		return nil, damagedError(fmt.Errorf("%s is not in the manifest", name))
	}
	return m, nil
}

// ReadManifest reads the manifest of a backup of so many bytes without the
// parts before it.
func ReadManifest(f io.ReaderAt, size int64, o Opener) (*Manifest, error) {
	ids, err := o.ageIdentities()
	if err != nil {
		return nil, err
	}
	plain, size, err := age.DecryptReaderAt(f, size, ids...)
	if err != nil {
		return nil, classifyOpenError(err)
	}
	r, err := beginReading(io.NewSectionReader(plain, 0, size))
	if err != nil {
		return nil, err
	}
	for {
		h, err := r.tar.Next()
		if err != nil {
			return nil, damagedError(err)
		}
		if h.Name == manifestName {
			m := &Manifest{}
			return m, r.readJSON(m)
		}
	}
}
