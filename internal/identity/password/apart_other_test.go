//go:build !linux

package password

import (
	"os"
	"syscall"
	"testing"
)

func idleOnly(*testing.T, int) bool { return true }

func running(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}
