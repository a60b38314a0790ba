package blob

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Scratch copies r into a file of dir that has no name: it is gone when it is
// closed, and however the process ends. It stands at its beginning. A full disk
// is fault.NoSpace; errors of r come as they are.
func Scratch(dir string, r io.Reader) (f *os.File, size int64, err error) {
	if f, err = os.CreateTemp(dir, temporary+"*"); err != nil {
		return nil, 0, full(fmt.Errorf("blob: scratch file: %w", err))
	}
	if err = os.Remove(f.Name()); err == nil {
		size, err = io.Copy(f, r)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, full(errors.Join(err, f.Close()))
	}
	return f, size, nil
}
