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
	r.Body = capped{http.MaxBytesReader(w, r.Body, limit), limit}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "22023", "the multipart form cannot be read")
	}
	return parts, nil
}

type capped struct {
	io.ReadCloser
	limit int64
}

func (c capped) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		err = fault.Wrap(err, fault.TooLarge, "54000", "the form is larger than %d MB", c.limit>>20)
	}
	return n, err
}
