package db

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"holdfast/internal/fault"
)

const (
	liteHead     = 100     // bytes of a database file's header
	logHead      = 32      // bytes of a write-ahead log's header
	logFrameHead = 24      // bytes before each page in it
	liteLockByte = 1 << 30 // the page that holds it is never written
)

// checkWholeFile refuses a database file whose end is missing: SQLite fills it up with
// zeros when it writes its log back, and what was cut off would look like damage
// of another kind, or like nothing. A crash amid that writing leaves a short
// file too, but with a log that has the missing pages, by sqlite.org/fileformat2.html.
func checkWholeFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("db: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("db: %w", err)
	}
	head := make([]byte, liteHead)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil // SQLite says what it is
	}
	size := pageSize(head)
	if size == 0 || !bytes.Equal(head[24:28], head[92:96]) { // the number of pages is another program's
		return nil
	}
	have, want := st.Size()/size, int64(binary.BigEndian.Uint32(head[28:]))
	if have >= want {
		return nil
	}
	logged, err := loggedPages(path+"-wal", size, have, want)
	if err != nil {
		return err
	}
	if missing := want - have; 2*int64(len(logged)) < missing {
		return fault.New(fault.Unavailable, "58030",
			"the end of the database file %s is missing: it has %d pages of %d; restore the last backup", path, have, want)
	}
	return nil
}

// isVacuumed reports whether a file that has become shorter has all its pages by its
// own header, as after a VACUUM of another program: the log is written back, header
// included, before the file is cut.
func isVacuumed(f *os.File, size int64) bool {
	head := make([]byte, liteHead)
	if _, err := f.ReadAt(head, 0); err != nil || !bytes.Equal(head[24:28], head[92:96]) {
		return false
	}
	page := pageSize(head)
	return page > 0 && size == page*int64(binary.BigEndian.Uint32(head[28:]))
}

func pageSize(head []byte) int64 {
	if n := int64(binary.BigEndian.Uint16(head[16:])); n != 1 {
		return n
	}
	return 1 << 16
}

// loggedPages are the pages behind the first have, up to want, that the log
// holds. The page of the lock byte counts as held.
func loggedPages(path string, size, have, want int64) (map[int64]bool, error) {
	found := map[int64]bool{}
	if p := liteLockByte/size + 1; p > have && p <= want {
		found[p] = true
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, fmt.Errorf("db: %w", err)
	}
	defer f.Close()
	head := make([]byte, logHead)
	if _, err := io.ReadFull(f, head); err != nil {
		return found, nil // an empty one
	}
	frame := make([]byte, logFrameHead)
	for at := int64(logHead); ; at += logFrameHead + size {
		// the salts: older frames have others
		if _, err := f.ReadAt(frame, at); err != nil || !bytes.Equal(frame[8:16], head[16:24]) {
			return found, nil
		}
		if p := int64(binary.BigEndian.Uint32(frame)); p > have && p <= want {
			found[p] = true
		}
	}
}
