package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
)

// each runs f on an empty store of each kind.
func each(t *testing.T, f func(t *testing.T, s Store)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) { s, _ := opened(t); f(t, s) })
	t.Run("bucket", func(t *testing.T) { f(t, newService(t).open("kept/here")) })
}

func listed(t *testing.T, s Store) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for f, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(f.Kept); age < -time.Hour || age > time.Hour {
			t.Errorf("%s was kept %v ago", f.Key, age)
		}
		out[f.Key] = f.Size
	}
	return out
}

func TestPutOpenDelete(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		want := map[string]int64{}
		for _, size := range []int{0, 1, 64 << 10, 200_001, 6 << 20} {
			data := bytes.Repeat([]byte("x"), size)
			ref, err := s.Put(t.Context(), iotest.HalfReader(bytes.NewReader(data)), int64(size))
			if err != nil {
				t.Fatal(err)
			}
			if sum := fmt.Sprintf("%x", sha256.Sum256(data)); ref.Size != int64(size) || ref.SHA256 != sum {
				t.Errorf("%+v, want %d bytes and %s", ref, size, sum)
			}
			if st, err := s.Stat(t.Context(), ref.Key); err != nil || st.Key != ref.Key || st.Size != ref.Size {
				t.Errorf("stat %+v %v", st, err)
			}
			reads(t, s, ref.Key, data)
			want[ref.Key] = ref.Size
		}
		if diff := cmp.Diff(want, listed(t, s)); diff != "" {
			t.Error(diff)
		}
		for key := range want {
			for range 2 {
				if err := s.Delete(t.Context(), key); err != nil {
					t.Error(err)
				}
			}
			if _, err := s.Open(t.Context(), key); !fault.Is(err, fault.NotFound) {
				t.Errorf("open after delete: %v", err)
			}
		}
		if left := listed(t, s); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// reads opens a file and reads it twice, the second time after a seek.
func reads(t *testing.T, s Store, key string, data []byte) {
	t.Helper()
	f, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes read, want %d: %v", len(got), len(data), err)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
}

// Only the names that Put makes are names; whatever else comes is no file.
func TestHostileKeys(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		for _, key := range []string{
			"", ".", "..", "../secret", "/etc/passwd", "a/b", "tmp-01999999-9999-7999-8999-999999999999",
			"here/01999999-9999-7999-8999-999999999999",
			strings.ToUpper("01999999-9999-7999-8999-99999999999a"), "{01999999-9999-7999-8999-999999999999}",
			"01999999-9999-7999-8999-999999999999",
			"urn:uuid:01999999-9999-7999-8999-999999999999", "01999999999979998999999999999999",
			"01999999-9999-7999-8999-99999999999\x00", "..\\secret",
		} {
			if _, err := s.Open(t.Context(), key); !fault.Is(err, fault.NotFound) {
				t.Errorf("open %q: %v", key, err)
			}
			if _, err := s.Stat(t.Context(), key); !fault.Is(err, fault.NotFound) {
				t.Errorf("stat %q: %v", key, err)
			}
			if err := s.Delete(t.Context(), key); isValidKey(key) == (err != nil) {
				t.Errorf("delete %q: %v", key, err)
			}
		}
	})
}

// An upload that breaks off, or is too long, leaves nothing behind.
func TestBrokenUploads(t *testing.T) {
	broken := errors.New("connection reset")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	each(t, func(t *testing.T, s Store) {
		for name, row := range map[string]struct {
			ctx  context.Context
			from io.Reader
			want func(error) bool
		}{
			"too large": {t.Context(), strings.NewReader("12345678901"), kind(fault.TooLarge)},
			"upload broken": {t.Context(), io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)),
				func(err error) bool { return errors.Is(err, broken) }},
			"client gone": {over, strings.NewReader("1"), func(err error) bool { return errors.Is(err, context.Canceled) }},
		} {
			if ref, err := s.Put(row.ctx, row.from, 10); !row.want(err) || ref != (Ref{}) {
				t.Errorf("%s: %+v %v", name, ref, err)
			}
		}
		if n, err := s.SweepTemporary(0); n != 0 || err != nil {
			t.Errorf("temporary files left: %d %v", n, err)
		}
		if left := listed(t, s); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

func kind(k fault.Kind) func(error) bool { return func(err error) bool { return fault.Is(err, k) } }

func TestParallelPuts(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := s.Put(t.Context(), strings.NewReader(fmt.Sprint(i)), 10); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(listed(t, s)); n != 20 {
			t.Errorf("%d files", n)
		}
	})
}

// A file that is opened stays readable to its end, whoever deletes it.
func TestDeleteWhileRead(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		ref, err := s.Put(t.Context(), strings.NewReader("rows"), 10)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Open(t.Context(), ref.Key)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := s.Delete(t.Context(), ref.Key); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(f); string(got) != "rows" || err != nil {
			t.Errorf("%q %v", got, err)
		}
	})
}
