package password

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// idleOnly reports whether every thread of a process gives way.
func idleOnly(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		var id int
		if _, err := fmt.Sscan(th.Name(), &id); err != nil {
			t.Fatal(err)
		}
		a, err := unix.SchedGetAttr(id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if a.Policy != unix.SCHED_IDLE {
			return false
		}
	}
	return true
}

// running reports whether a process exists and is no zombie, whose parent may
// not be there to ask for it.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
