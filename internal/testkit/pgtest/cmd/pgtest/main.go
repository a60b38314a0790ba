// Command pgtest runs a command with a throwaway PostgreSQL cluster, whose
// superuser DSN it puts in HOLDFAST_TEST_POSTGRES:
//
//	pgtest -- COMMAND [ARGUMENT...]
//
// It exits as the command does. A cluster that the variable names already is
// used as it is.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"holdfast/internal/testkit/pgtest"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: pgtest -- COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	env := os.Environ()
	if os.Getenv(pgtest.Variable) == "" {
		c, err := pgtest.StartFast(context.Background())
		if err != nil {
			return 1, err
		}
		defer func() {
			if stop := c.Stop(); stop != nil {
				code, err = max(code, 1), errors.Join(err, stop)
			}
		}()
		env = append(env, pgtest.Variable+"="+c.DSN())
	}
	return child(args, env)
}

// child runs the command and hands on the signals that ask it to end, so that
// this process lives long enough to stop the cluster.
func child(args, env []string) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("pgtest: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended just now
		case err := <-ended:
			return status(err)
		}
	}
}

func status(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 1, fmt.Errorf("pgtest: %w", err)
	case exit.ExitCode() < 0:
		return 1, fmt.Errorf("pgtest: the command ended by a signal: %w", err)
	}
	return exit.ExitCode(), nil
}
