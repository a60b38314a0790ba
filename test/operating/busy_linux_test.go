package operating_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/testkit/program"
)

// A backup gives way to the server beside it, and ends all the same on a
// processor that others never leave idle.
func TestBackupWhereNothingIsIdle(t *testing.T) {
	alone := oneProcessor(t)
	for range 2 {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { loop.Process.Kill(); loop.Wait() })
	}
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme")
		pin(s.T, alone)
		backup(s, filepath.Join(s.TempDir(), "one.backup")) // fails after a minute
	})
}

// oneProcessor is one that this process may use, which from now on is the only
// one of what the test starts.
func oneProcessor(t *testing.T) (one unix.CPUSet) {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	pin(t, one)
	return one
}

// pin binds the test's thread, and with it what is started there. The thread is
// not given back: it ends with the test.
func pin(t *testing.T, to unix.CPUSet) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.SchedSetaffinity(0, &to); err != nil {
		t.Fatal(err)
	}
}
