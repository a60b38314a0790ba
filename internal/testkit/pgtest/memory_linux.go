package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// neededRoom is what must be free, in bytes, before a cluster goes into memory: the
// journal, and for each processor some databases of 12 MB that tests hold at a
// time. Two processors were seen to take 640 MB in all.
func neededRoom() uint64 { return 1<<30 + uint64(runtime.NumCPU())<<27 }

// memoryFolder is a folder in memory, "" when there is none with room.
func memoryFolder() string {
	const dir = "/dev/shm"
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC ||
		fs.Bavail*uint64(fs.Bsize) < neededRoom() {
		return ""
	}
	if unix.Access(dir, unix.W_OK) != nil || availableMemory() < neededRoom() {
		return ""
	}
	return dir
}

// availableMemory is the memory in bytes that the system could give (proc(5)) and that
// the process's control groups allow (version 2, cgroups(7)), 0 when the system
// does not say.
func availableMemory() uint64 {
	kib, ok := readFigure("/proc/meminfo", "MemAvailable:")
	if !ok {
		return 0
	}
	least := kib << 10
	groups, _ := os.ReadFile("/proc/self/cgroup")
	_, path, _ := strings.Cut(string(groups), "0::")
	path, _, _ = strings.Cut(path, "\n")
	const root = "/sys/fs/cgroup"
	for dir := filepath.Join(root, path); strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		most, limited := readFigure(dir+"/memory.max", "")
		used, _ := readFigure(dir+"/memory.current", "")
		cached, _ := readFigure(dir+"/memory.stat", "inactive_file ")
		if limited {
			least = min(least, most-min(most, used-min(used, cached)))
		}
	}
	return least
}

// readFigure reads the number after a name in a file; false means that there is none.
func readFigure(path, name string) (n uint64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), name)
	_, err = fmt.Sscan(rest, &n)
	return n, err == nil
}
