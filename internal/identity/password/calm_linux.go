package password

import "golang.org/x/sys/unix"

// yieldToOthers lowers the priority of this thread: Linux takes the thread for
// the process here (setpriority(2), Bugs). A kernel that refuses leaves it as
// it was.
func yieldToOthers() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 15) }
