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
	lock := filepath.Join(c.dir, "data", "postmaster.pid")
	raw, err := os.ReadFile(lock)
	if err != nil {
		return fmt.Errorf("pgtest: crash: %w", err)
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("pgtest: crash: %w", err)
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
	bin, err := binaries()
	if err != nil {
		return err
	}
	who, err := credential()
	if err != nil {
		return err
	}
	// The first supervisor goes on waiting and removes the folder at the end.
	c.ended = append(c.ended, c.hold)
	c.done = make(chan struct{})
	if err := c.launch(bin, who); err != nil {
		return err
	}
	return c.await(ctx)
}
