package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"holdfast/internal/fault"
)

func opened(t *testing.T) (*Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "files")
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, dir
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestPutOpenDelete(t *testing.T) {
	s, dir := opened(t)
	for _, size := range []int{0, 1, 64 << 10, 200_001} {
		data := bytes.Repeat([]byte("x"), size)
		ref, err := s.Put(t.Context(), iotest.HalfReader(bytes.NewReader(data)), int64(size))
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(data)); ref.Size != int64(size) || ref.SHA256 != want {
			t.Errorf("%+v, want %d bytes and %s", ref, size, want)
		}
		f, err := s.Open(ref.Key)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time after a seek
			got, err := io.ReadAll(f)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes read: %v", len(got), err)
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
		for range 2 {
			if err := s.Delete(ref.Key); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Open(ref.Key); !fault.Is(err, fault.NotFound) {
			t.Errorf("open after delete: %v", err)
		}
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOnlyTheOwnerMayLook(t *testing.T) {
	s, dir := opened(t)
	ref, err := s.Put(t.Context(), strings.NewReader("a"), 1)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, filepath.Join(dir, ref.Key): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

func TestFailuresLeaveNothing(t *testing.T) {
	broken := errors.New("connection reset")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, row := range map[string]struct {
		ctx  context.Context
		from io.Reader
		free uint64
		want func(error) bool
	}{
		"too large":     {t.Context(), strings.NewReader("12345678901"), 1 << 40, kind(fault.TooLarge)},
		"upload broken": {t.Context(), io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)), 1 << 40, func(err error) bool { return errors.Is(err, broken) }},
		"client gone":   {over, strings.NewReader("1"), 1 << 40, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"nearly full":   {t.Context(), strings.NewReader("1"), floor - 1, kind(fault.NoSpace)},
		"full":          {t.Context(), iotest.ErrReader(syscall.ENOSPC), 1 << 40, kind(fault.NoSpace)},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := opened(t)
			s.free = func() (uint64, error) { return row.free, nil }
			ref, err := s.Put(row.ctx, row.from, 10)
			if !row.want(err) || ref != (Ref{}) {
				t.Errorf("%+v %v", ref, err)
			}
			if left := names(t, dir); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func kind(k fault.Kind) func(error) bool { return func(err error) bool { return fault.Is(err, k) } }

func TestDiskThatFillsMeanwhile(t *testing.T) {
	s, dir := opened(t)
	left := uint64(floor + 12<<20)
	s.free = func() (uint64, error) { left -= 8 << 20; return left, nil }
	_, err := s.Put(t.Context(), io.LimitReader(zeros{}, 100<<20), 1<<30)
	if !fault.Is(err, fault.NoSpace) || len(names(t, dir)) != 0 {
		t.Errorf("%v, left %v", err, names(t, dir))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestNothingEscapes(t *testing.T) {
	s, dir := opened(t)
	if err := os.WriteFile(filepath.Join(dir, "..", "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := "01999999-9999-7999-8999-999999999999"
	if err := os.Symlink("../secret", filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"", ".", "..", "../secret", "/etc/passwd", "a/b", "tmp-01999999-9999-7999-8999-999999999999",
		strings.ToUpper("01999999-9999-7999-8999-99999999999a"), "{01999999-9999-7999-8999-999999999999}",
		"urn:uuid:01999999-9999-7999-8999-999999999999", "01999999999979998999999999999999", "01999999-9999-7999-8999-99999999999\x00", "..\\secret",
	} {
		if _, err := s.Open(key); !fault.Is(err, fault.NotFound) {
			t.Errorf("open %q: %v", key, err)
		}
		if err := s.Delete(key); !fault.Is(err, fault.NotFound) {
			t.Errorf("delete %q: %v", key, err)
		}
	}
	if f, err := s.Open(link); err == nil {
		f.Close()
		t.Error("followed a link out of the directory")
	}
}

func TestSweepTemporary(t *testing.T) {
	s, dir := opened(t)
	ref, err := s.Put(t.Context(), strings.NewReader("a"), 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"tmp-old", "tmp-young"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-time.Duration(2-2*i) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.SweepTemporary(time.Hour); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := s.SweepTemporary(0); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if left := names(t, dir); len(left) != 1 || left[0] != ref.Key {
		t.Errorf("left: %v", left)
	}
}

func TestParallelPuts(t *testing.T) {
	s, dir := opened(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := s.Put(t.Context(), strings.NewReader(fmt.Sprint(i)), 10); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(names(t, dir)); n != 20 {
		t.Errorf("%d files", n)
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("opened a file as a directory")
	}
}
