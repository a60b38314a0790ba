//go:build linux || darwin || freebsd

package blob

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// availableBytes is what an ordinary user may still write on dir's file system.
func availableBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(max(int64(st.Bavail), 0)) * uint64(st.Bsize), nil
}

// IsOnSameDisk reports that two paths are on one file system. Of one that is not there it is
// that of the nearest directory above, in which it would be made.
func IsOnSameDisk(a, b string) bool {
	x, err := readDevice(a)
	if err != nil {
		return false
	}
	y, err := readDevice(b)
	return err == nil && x == y
}

func readDevice(path string) (uint64, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	var st unix.Stat_t
	for {
		err := unix.Stat(path, &st)
		if !errors.Is(err, unix.ENOENT) || path == filepath.Dir(path) {
			return uint64(st.Dev), err
		}
		path = filepath.Dir(path)
	}
}
