package photo

import (
	"bytes"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/internal/fault"
)

// cutOff is a body that breaks off with an error.
type cutOff struct {
	io.Reader
	err error
}

func (f cutOff) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// What is wrong with a form, or with the disk, is told apart; nothing is left.
func TestReadForm(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		what, scratch string
		text, photo   int
		cut           error
		kind          fault.Kind
		ok            bool
	}{
		{"all of it", dir, 1000, 3 << 20, nil, 0, true},
		{"past what may be sent", dir, 1, 1 << 20, fault.New(fault.TooLarge, "54000", "too large"), fault.TooLarge, false},
		{"texts too large", dir, formTexts + 1, 1, nil, fault.TooLarge, false},
		{"broken off", dir, 1, 1 << 20, io.ErrUnexpectedEOF, fault.Invalid, false},
		{"a full disk", dir, 1, 1 << 20, syscall.ENOSPC, fault.NoSpace, false},
		{"no data directory", filepath.Join(dir, "none"), 1, 1, nil, fault.Internal, false},
	} {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		w.WriteField("what", strings.Repeat("x", c.text))
		f, err := w.CreateFormFile("photo", "x.jpg")
		if err != nil {
			t.Fatal(err)
		}
		f.Write(make([]byte, c.photo))
		body := io.Reader(&b)
		if c.cut != nil {
			body = cutOff{&b, c.cut}
		} else if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		form, err := New(nil, nil, 0, c.scratch).ReadForm(multipart.NewReader(body, w.Boundary()), "photo")
		if (err == nil) != c.ok || err != nil && fault.As(err).Kind != c.kind {
			t.Errorf("%s: %v", c.what, err)
		}
		if err == nil {
			raw, err := io.ReadAll(form.Photo)
			if err != nil || len(raw) != c.photo || form.Size != int64(c.photo) || len(form.Texts["what"][0]) != c.text {
				t.Errorf("%s: %d bytes of %d, %v", c.what, len(raw), form.Size, err)
			}
			form.Close()
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v %v", c.what, left, err)
		}
	}
}
