//go:build linux || darwin || freebsd

package blob

import "golang.org/x/sys/unix"

// availableBytes is what an ordinary user may still write on dir's file system.
func availableBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(max(int64(st.Bavail), 0)) * uint64(st.Bsize), nil
}

// IsOnSameDisk reports that two paths are on one file system.
func IsOnSameDisk(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev
}
