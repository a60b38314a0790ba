package web

import (
	"io"
	"net/http"
	"time"
)

// MinBodyRate bounds how slowly a request's body may come.
type MinBodyRate struct {
	Grace time.Duration // may pass before the rate counts
	Rate  int64         // bytes a second after it
	Most  time.Duration // however large the body is
}

func standardPace() MinBodyRate {
	return MinBodyRate{Grace: 10 * time.Second, Rate: 8 << 10, Most: 30 * time.Minute}
}

// pacedBody moves the connection's read deadline along with what has come: a
// client that sends a byte now and then is cut off, and a large file on an
// honest line is not.
type pacedBody struct {
	io.ReadCloser
	conn  *http.ResponseController
	pace  MinBodyRate
	write time.Duration // the answer's time counts from the body's end
	begun time.Time
	set   time.Time // when the deadline was set last
	got   int64
}

// paceBody puts a pace on a request's body.
func paceBody(w http.ResponseWriter, r *http.Request, p MinBodyRate) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	r.Body = &pacedBody{ReadCloser: r.Body, conn: http.NewResponseController(w), pace: p, write: writeTimeout}
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	now := time.Now()
	if b.begun.IsZero() {
		b.begun = now
	}
	if now.Sub(b.set) > 100*time.Millisecond {
		b.set = now
		allowed := b.pace.Grace + time.Duration(b.got/max(b.pace.Rate, 1))*time.Second
		b.conn.SetReadDeadline(b.begun.Add(min(allowed, b.pace.Most))) // where there is no connection there is no deadline
	}
	n, err := b.ReadCloser.Read(p)
	b.got += int64(n)
	if err == io.EOF {
		// A deadline that passes while the answer is being made would end the
		// request.
		b.conn.SetReadDeadline(time.Time{})
		b.conn.SetWriteDeadline(time.Now().Add(b.write))
	}
	return n, err
}
