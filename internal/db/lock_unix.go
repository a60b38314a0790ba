//go:build unix

package db

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// LockName is the file in the data directory that its server has locked.
const LockName = "holdfast.lock"

// A lock may outlive its holder for a moment: a program that the holder was just starting
// has it until its own code begins. So it is tried again, for half a second altogether.
const (
	lockTries = 10
	lockPause = 50 * time.Millisecond
)

// lockDir takes the data directory for this process alone. The lock ends with
// the process, however it ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("db: lock file: %w", err)
	}
	for range lockTries {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return f, nil
		}
		time.Sleep(lockPause)
	}
	f.Close()
	return nil, fmt.Errorf("db: another Holdfast process uses the data directory %s; stop it or choose another --data",
		dir)
}

// besideName is the file that every process holds a shared lock on which works
// on the data directory beside the server.
const besideName = "beside.lock"

// joinDir tells the server that this process is at work. The lock ends with
// the process, however it ends.
func joinDir(dir string) (*os.File, error) {
	return lockDirectory(dir, syscall.LOCK_SH)
}

// aloneIn reports whether no process is at work beside the server.
func aloneIn(dir string) bool {
	f, err := lockDirectory(dir, syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func lockDirectory(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, besideName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("db: lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, fmt.Errorf("db: lock file: %w", err)
	}
	return f, nil
}
