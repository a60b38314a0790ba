package blob

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncRange brings a piece of a file to the disk and waits for it, without what a sync
// does besides: that would end the file system's transaction, which every other
// sync then waits for.
func syncRange(f *os.File, from, n int64) error {
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	err := unix.SyncFileRange(int(f.Fd()), from, n, all)
	if err == unix.ENOSYS || err == unix.EINVAL || err == unix.ESPIPE { // a file system that has only the other
		return f.Sync()
	}
	if err != nil {
		return fmt.Errorf("blob: write %s: %w", f.Name(), err)
	}
	return nil
}
