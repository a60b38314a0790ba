package pgtest

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// room is what must be free, in bytes, before a cluster goes into memory: tests
// hold some dozen databases of 12 MB at a time, and a gigabyte of journal.
const room = 4 << 30

// memory is a folder in memory, "" when there is none with room.
func memory() string {
	const dir = "/dev/shm"
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	if unix.Access(dir, unix.W_OK) != nil || available() < room {
		return ""
	}
	return dir
}

// available is the memory in bytes that the system could give (proc(5)), 0 when
// it does not say.
func available() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	var kib uint64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0
	}
	return kib << 10
}
