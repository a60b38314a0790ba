package backup

import (
	"errors"
	"os"
)

// FlushBlock is how much is best written at once; flushAfter how much may be on its way
// to the disk at once.
const (
	FlushBlock = 256 << 10
	flushAfter = 64 << 20
)

// Flushing is a file of which the disk has most by the time the last of it is
// written, so that making it durable takes little longer.
type Flushing struct {
	f    *os.File
	late int        // bytes since the last flush began
	idle chan error // what the last flush came to, once it has ended
}

// NewFlushing writes to a file that was opened for writing.
func NewFlushing(f *os.File) *Flushing {
	w := &Flushing{f: f, idle: make(chan error, 1)}
	w.idle <- nil
	return w
}

// Write implements io.Writer. It never waits for the disk; it fails when an
// earlier flush did, which the kernel tells only once.
func (w *Flushing) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	if w.late += n; err != nil || w.late < flushAfter {
		return n, err
	}
	select {
	case err = <-w.idle:
		w.late = 0
		go func() { w.idle <- errors.Join(err, w.f.Sync()) }()
	default:
	}
	return n, err
}

// Close makes the file durable and closes it.
func (w *Flushing) Close() error {
	return errors.Join(<-w.idle, w.f.Sync(), w.f.Close())
}
