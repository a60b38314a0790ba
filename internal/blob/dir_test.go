package blob

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"holdfast/internal/fault"
)

func opened(t *testing.T) (*Dir, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "files")
	s, err := OpenDir(dir)
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

// A disk without room refuses an upload and keeps nothing of it.
func TestFullDisk(t *testing.T) {
	for name, row := range map[string]struct {
		from io.Reader
		free uint64
	}{
		"nearly full": {strings.NewReader("1"), floor - 1},
		"full":        {iotest.ErrReader(syscall.ENOSPC), 1 << 40},
	} {
		s, dir := opened(t)
		s.free = func() (uint64, error) { return row.free, nil }
		ref, err := s.Put(t.Context(), row.from, 10)
		if !fault.Is(err, fault.NoSpace) || ref != (Ref{}) {
			t.Errorf("%s: %+v %v", name, ref, err)
		}
		if left := names(t, dir); len(left) != 0 {
			t.Errorf("%s: left: %v", name, left)
		}
	}
}

// A disk that is broken, read-only or not mounted any more is away, as the database's is:
// whoever asks comes again. What nobody knows is an error of the program.
func TestBrokenDisk(t *testing.T) {
	for _, row := range []struct {
		says   error
		isAway bool
	}{
		{syscall.EIO, true}, {syscall.EROFS, true}, {syscall.ENOTCONN, true}, {syscall.ESTALE, true},
		{syscall.EACCES, true}, {syscall.EINVAL, false}, {syscall.EBADF, false},
	} {
		s, dir := opened(t)
		s.free = func() (uint64, error) { return 0, &os.PathError{Op: "statfs", Path: dir, Err: row.says} }
		_, err := s.Put(t.Context(), strings.NewReader("1"), 10)
		if isAway := fault.Is(err, fault.Unavailable) && fault.HasCode(err, "58030"); isAway != row.isAway {
			t.Errorf("%v: %v", row.says, err)
		}
		if left := names(t, dir); len(left) != 0 {
			t.Errorf("%v: left: %v", row.says, left)
		}
		if missing := classifyMissing(row.says); fault.HasCode(missing, "58030") != row.isAway {
			t.Errorf("%v: opened: %v", row.says, missing)
		}
		if read := classifyRead(row.says); fault.HasCode(read, "58030") != row.isAway {
			t.Errorf("%v: read: %v", row.says, read)
		}
	}
	// what the sender of a file broke is not the disk's
	s, _ := opened(t)
	if _, err := s.Put(t.Context(), iotest.ErrReader(syscall.ENOTCONN), 10); fault.HasCode(err, "58030") {
		t.Errorf("the sender: %v", err)
	}
	removed, dir := opened(t)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := removed.Put(t.Context(), strings.NewReader("1"), 10); !fault.HasCode(err, "58030") {
		t.Errorf("a directory that was removed: %v", err)
	}
}

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
	if err := os.WriteFile(filepath.Join(dir, "stranger"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := "01999999-9999-7999-8999-999999999999"
	if err := os.Symlink("../secret", filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Open(t.Context(), link); err == nil {
		f.Close()
		t.Error("followed a link out of the directory")
	}
	for f, err := range s.List(t.Context()) {
		t.Errorf("lists %v %v", f, err)
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

func TestOpenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDir(path); err == nil {
		t.Error("opened a file as a directory")
	}
}

// A large file is removed, and what is not there cannot be.
func TestDrop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Drop(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if err := Drop(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("again: %v", err)
	}
}
