package password

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// programPath returns the path of this program, even if another was installed in its
// place.
func programPath() (string, error) { return "/proc/self/exe", nil }

// GiveWay lets this process run when no other wants to, and be interrupted at
// once by one that does, which a low priority alone does not (sched(7),
// SCHED_IDLE). That belongs to threads, and new ones inherit it: they are asked
// for until none is new. A kernel that refuses leaves them as they were.
func GiveWay() {
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	seen := map[string]bool{}
	for before := -1; len(seen) > before; {
		before = len(seen)
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, t := range threads {
			if id, err := strconv.Atoi(t.Name()); err == nil && !seen[t.Name()] {
				seen[t.Name()] = true
				_ = unix.SchedSetAttr(id, &idle, 0)
			}
		}
	}
}

// onHugePages lets n bytes of the heap, which are free again after the next
// collection, lie on huge pages where the machine has them: Argon2 reads all over
// its memory, and looking up small pages is a tenth of its time.
func onHugePages(n int) { _ = unix.Madvise(make([]byte, n), unix.MADV_HUGEPAGE) }
