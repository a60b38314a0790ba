package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Crash ends the server without a checkpoint, as "pg_ctl stop -m immediate"
// does, under whatever its clients are doing, and starts it again in the same
// folder. It returns when the server answers.
func (c *Cluster) Crash(ctx context.Context) error {
	lock := c.pidFile()
	pid, err := c.serverPID()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		return fmt.Errorf("pgtest: crash: %w", err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(lock); errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("pgtest: crash: the server in %s does not end", c.dir)
		}
	}
	bin, err := findBinaries()
	if err != nil {
		return err
	}
	who, err := serverCredential()
	if err != nil {
		return err
	}
	// The first supervisor goes on waiting and removes the folder at the end.
	c.ended = append(c.ended, c.hold)
	c.done = make(chan struct{})
	if err := c.launchServer(bin, who); err != nil {
		return err
	}
	return c.awaitReady(ctx)
}

func (c *Cluster) pidFile() string { return filepath.Join(c.dir, "data", "postmaster.pid") }

// serverPID is the server's first process, the parent of the others.
func (c *Cluster) serverPID() (int, error) {
	raw, err := os.ReadFile(c.pidFile())
	if err != nil {
		return 0, fmt.Errorf("pgtest: %w", err)
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0, fmt.Errorf("pgtest: %s: %w", c.pidFile(), err)
	}
	return pid, nil
}

// Hang suspends every process of the server: it keeps its connections, takes
// new ones, and answers nothing. What it returns has it go on. It needs the
// /proc of Linux.
func (c *Cluster) Hang() (resume func() error, err error) {
	first, err := c.serverPID()
	if err != nil {
		return nil, err
	}
	var all []int
	each := func(sig syscall.Signal) error {
		var failed error
		for _, pid := range all {
			if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				failed = errors.Join(failed, err)
			}
		}
		return failed
	}
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil { // it begins no other
		return nil, fmt.Errorf("pgtest: hang: %w", err)
	}
	all = append([]int{first}, childPIDs(first)...)
	if len(all) < 2 {
		return nil, errors.Join(errors.New("pgtest: hang: the server has no other process, or /proc does not tell"),
			each(syscall.SIGCONT))
	}
	return func() error { return each(syscall.SIGCONT) }, each(syscall.SIGSTOP)
}

func childPIDs(pid int) (out []int) {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, word := range strings.Fields(string(raw)) {
		if n, err := strconv.Atoi(word); err == nil {
			out = append(out, n)
		}
	}
	return out
}
