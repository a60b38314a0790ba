package cache

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"
)

// A Body is an answer's bytes, ready to be written. They must not be changed.
type Body struct {
	plain  []byte
	made   time.Time
	once   sync.Once
	zipped []byte

	hit    []byte // the form whose tag both forms have
	tagged sync.Once
	tag    []string
}

// NewBody makes the body of an answer that is kept outside a Cache.
func NewBody(plain []byte, made time.Time) *Body { return &Body{plain: plain, made: made, hit: plain} }

// Plain is the body as it was made.
func (b *Body) Plain() []byte { return b.plain }

// Made is when its making began: what the database said then, it says.
func (b *Body) Made() time.Time { return b.made }

// Gzip is the same in gzip form, or nil when that would not be smaller. It is
// made at the first call, so that an answer which nobody asks for twice costs
// nothing.
func (b *Body) Gzip() []byte {
	b.once.Do(func() { b.zipped = compressBody(b.plain) })
	return b.zipped
}

// Tag is the answer's weak entity tag (RFC 9110 section 8.8.1), as the value of
// a header. Both forms of an answer have the same, and so has its gzip form:
// they differ in how the answer came, not in what it says.
func (b *Body) Tag() []string {
	b.tagged.Do(func() {
		sum := sha256.Sum256(b.hit)
		b.tag = []string{`W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
	})
	return b.tag
}

// worth is the size below which compressing saves no packet.
const worth = 1024

func compressBody(plain []byte) []byte {
	if len(plain) < worth {
		return nil
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(plain)
	if err != nil || w.Close() != nil || out.Len() >= len(plain) {
		return nil
	}
	return bytes.Clone(out.Bytes()) // without the buffer's spare room
}
