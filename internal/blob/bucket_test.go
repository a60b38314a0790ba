package blob

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fault"
	"holdfast/internal/testkit/s3test"
)

// service is an S3 service and the directory of those who use it.
type service struct {
	*s3test.Server
	t     *testing.T
	spool string
}

func newService(t *testing.T) *service {
	return &service{Server: s3test.Start(t), t: t, spool: filepath.Join(t.TempDir(), "spool")}
}

// open opens the service's bucket below a prefix.
func (s *service) open(prefix string) Store {
	s.t.Helper()
	b, err := Open(s.t.Context(), s.Address(prefix), s.spool)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { b.Close() })
	return b
}

// What the service does wrong is its fault, never a 500, and leaves nothing on
// this machine.
func TestServiceInTrouble(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(code)
		}
	}
	hangup := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	short := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Header().Set("Last-Modified", "Sun, 01 Mar 2026 12:00:00 GMT")
		w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
		_, _ = io.WriteString(w, "only this")
	}
	for name, row := range map[string]struct {
		method string
		answer http.HandlerFunc
		do     func(s Store, key string) error
		want   fault.Kind
	}{
		"put: busy":        {"PUT", status(503), put, fault.Unavailable},
		"put: refused":     {"PUT", status(403), put, fault.Unavailable},
		"put: full":        {"PUT", status(507), put, fault.NoSpace},
		"put: hangs up":    {"PUT", hangup, put, fault.Unavailable},
		"open: busy":       {"GET", status(503), open, fault.Unavailable},
		"open: refused":    {"GET", status(403), open, fault.Unavailable},
		"open: breaks off": {"GET", short, open, fault.Unavailable},
		"delete: busy": {"DELETE", status(503), func(s Store, key string) error { return s.Delete(t.Context(), key) },
			fault.Unavailable},
		"list: busy": {"GET", status(503), func(s Store, _ string) error {
			for _, err := range s.List(t.Context()) {
				return err
			}
			return nil
		}, fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			b := s.open("")
			ref, err := b.Put(t.Context(), strings.NewReader("rows"), 10)
			if err != nil {
				t.Fatal(err)
			}
			s.Answer(row.method, row.answer)
			if err := row.do(b, ref.Key); !fault.Is(err, row.want) {
				t.Errorf("%v", err)
			}
			if left := names(t, s.spool); len(left) != 0 {
				t.Errorf("left in the spool: %v", left)
			}
			s.Heal()
			if err := open(b, ref.Key); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func put(s Store, _ string) error {
	_, err := s.Put(context.Background(), strings.NewReader("more"), 10)
	return err
}

func open(s Store, key string) error {
	f, err := s.Open(context.Background(), key)
	if err != nil {
		return err
	}
	return f.Close()
}

// Several stores may share a bucket; each sees what is below its prefix, and
// nothing that it did not name itself.
func TestPrefixes(t *testing.T) {
	s := newService(t)
	one, other, all := s.open("one"), s.open("one/two"), s.open("")
	ref, err := one.Put(t.Context(), strings.NewReader("rows"), 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{ref.Key: 4}, listed(t, one)); diff != "" {
		t.Error(diff)
	}
	for _, stranger := range []Store{other, all} {
		if got := listed(t, stranger); len(got) != 0 {
			t.Errorf("sees %v", got)
		}
		if _, err := stranger.Stat(t.Context(), ref.Key); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
	}
}

// A bucket that says no keeps the server from starting; one that cannot be
// reached does not.
func TestOpenBucket(t *testing.T) {
	s := newService(t)
	if _, err := Open(t.Context(), strings.Replace(s.Address(""), "/files/", "/elsewhere/", 1), s.spool); err == nil ||
		!strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("missing bucket: %v", err)
	}
	s.Answer("GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	if _, err := Open(t.Context(), s.Address(""), s.spool); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("refused: %v", err)
	}
	s.Answer("GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	b, err := Open(t.Context(), s.Address(""), s.spool)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s.Heal()
	if err := put(b, ""); err != nil {
		t.Error(err)
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"s3://k:s@s3.eu-central-1.amazonaws.com/b": {Host: "s3.eu-central-1.amazonaws.com", Bucket: "b", Key: "k",
			Secret: "s"},
		"s3://k:s%2F%2B@127.0.0.1:9000/b/a/c/?tls=off": {Host: "127.0.0.1:9000", Bucket: "b", Prefix: "a/c/", Key: "k",
			Secret: "s/+", Plain: true},
		"s3://h/b?region=us-west-2&lookup=path": {Host: "h", Bucket: "b", Region: "us-west-2", InPath: true},
		"s3://h/b?lookup=host&tls=on":           {Host: "h", Bucket: "b", InHost: true},
	} {
		got, err := ParseAddress(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{"files", "http://h/b", "s3:///b", "s3://h", "s3://h/", "s3://key@h/b",
		"s3://h/b?tls=maybe", "s3://h/b?color=red",
		"s3://k:geheim@h/%zz"} {
		if _, err := ParseAddress(text); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Open(t.Context(), "file://relative/path", t.TempDir()); err == nil {
		t.Error("took a relative path")
	}
}
