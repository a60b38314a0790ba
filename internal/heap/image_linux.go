package heap

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ReleaseImage lets go of the pages of the program's own file. They are clean
// and shared with the file's cache: what is run or read again comes back from
// there, sixteen pages at a touch.
func ReleaseImage() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		start, length, ok := unwritten(lines.Text(), program)
		if !ok {
			continue
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, start, length, syscall.MADV_DONTNEED); errno != 0 {
			return errno
		}
	}
	return lines.Err()
}

// unwritten reads where a line of /proc/self/maps says that part of a file lies
// which the process cannot write (proc_pid_maps(5)).
func unwritten(line, file string) (start, length uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || strings.Join(fields[5:], " ") != file || !strings.HasPrefix(fields[1], "r-") ||
		!strings.HasSuffix(fields[1], "p") {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	a, err := strconv.ParseUint(from, 16, 64)
	b, wrong := strconv.ParseUint(to, 16, 64)
	if err != nil || wrong != nil || b <= a {
		return 0, 0, false
	}
	return uintptr(a), uintptr(b - a), true
}
