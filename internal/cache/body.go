package cache

import (
	"bytes"
	"compress/gzip"
	"sync"
	"time"
)

// A Body is an answer's bytes, ready to be written. They must not be changed.
type Body struct {
	plain  []byte
	made   time.Time
	once   sync.Once
	zipped []byte
}

// Plain is the body as it was made.
func (b *Body) Plain() []byte { return b.plain }

// Made is when its making began: what the database said then, it says.
func (b *Body) Made() time.Time { return b.made }

// Gzip is the same in gzip form, or nil when that would not be smaller. It is
// made at the first call, so that an answer which nobody asks for twice costs
// nothing.
func (b *Body) Gzip() []byte {
	b.once.Do(func() { b.zipped = compressed(b.plain) })
	return b.zipped
}

// worth is the size below which compressing saves no packet.
const worth = 1024

func compressed(plain []byte) []byte {
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
