package blob

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Scratch copies r into a file of dir that has no name: it is gone when it is
// closed, and however the process ends. It stands at its beginning. A full disk
// is fault.NoSpace; errors of r come as they are.
func Scratch(dir string, r io.Reader) (f *os.File, size int64, err error) {
	if f, err = os.CreateTemp(dir, temporary+"*"); err != nil {
		return nil, 0, classifyFull(fmt.Errorf("blob: scratch file: %w", err))
	}
	if err = os.Remove(f.Name()); err == nil {
		size, err = io.Copy(f, r)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, classifyFull(errors.Join(err, f.Close()))
	}
	return f, size, nil
}

// Drop removes a large file that nobody else has, piece by piece: a file system
// that tells its disk what is free (discard) has a sync of anybody wait until
// all of it is told. Failing that it removes it at once.
func Drop(path string) error {
	if st, err := os.Stat(path); err == nil {
		const piece, rest = 16 << 20, 20 * time.Millisecond
		for n := st.Size() - piece; n > 0 && os.Truncate(path, n) == nil; n -= piece {
			time.Sleep(rest)
		}
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}
