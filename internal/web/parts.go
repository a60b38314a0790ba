package web

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"holdfast/internal/fault"
)

// Parts reads a multipart form part by part (RFC 7578). Past limit bytes, which
// is a number of MB and a little, reading fails with fault.TooLarge.
func Parts(w http.ResponseWriter, r *http.Request, limit int64) (*multipart.Reader, error) {
	r.Body = Bounded(w, r, limit, fault.New(fault.TooLarge, "54000", "the form is larger than %d MB", limit>>20))
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "22023", "the multipart form cannot be read")
	}
	return parts, nil
}

// Bounded is the body of a request that fails with over past limit bytes.
func Bounded(w http.ResponseWriter, r *http.Request, limit int64, over *fault.Error) io.ReadCloser {
	return bounded{http.MaxBytesReader(w, r.Body, limit), over}
}

type bounded struct {
	io.ReadCloser
	over *fault.Error
}

func (b bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		err = b.over
	}
	return n, err
}
