// Command e2e runs a command against a started Holdfast with its demo data,
// once on SQLite and once on PostgreSQL, both at once: a client waits more than
// it works. Each line that a command prints begins with its engine:
//
//	e2e -server bin/holdfast [-engine sqlite,postgresql] [-settings FILE[,FILE...]] -- COMMAND [ARGUMENT...]
//
// With -settings the server is an empty one, set up by the NAME=VALUE lines of
// the file. $PORT_X in a value is a port that is free, for what the command
// starts by itself: it finds the number under the same name. With several files
// the server is started and the command runs for each in turn, on the same data:
// SETTINGS names the file, and what the command writes into KEPT_FILE is there
// the next time.
//
// The command finds HOLDFAST_URL, HOLDFAST_ENGINE, all engines of the run as ENGINES, and
// what `holdfast status -o env` prints in its environment, and as PROGRAM, PROGRAM_FLAGS (a JSON array) and
// LOG_FILE what runs a command on the same installation and what the server printed. e2e fails when the command
// fails on either
// engine, and when the server does not start, or does not end by itself within
// 30 seconds of being asked to. The command writes the secrets that it used
// into the file SECRETS_FILE, one on each line; a secret that is found in the
// server's log fails the run, and so do a log line that is no JSON object, a
// run that used no secret, and a server that takes its own audit log for
// tampered with.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/internal/testkit/pgtest"
)

func main() {
	server := flag.String("server", "bin/holdfast", "the program to test")
	engines := flag.String("engine", "sqlite,postgresql", "engines to test it on")
	settings := flag.String("settings", "", "files of settings for a server without demo data")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: e2e [-server FILE] [-engine sqlite,postgresql] [-settings FILE[,FILE...]] -- COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	path, err := filepath.Abs(*server)
	if err == nil {
		err = testAllEngines(strings.Split(*engines, ","), func(engine string, out *lines) error {
			return runEngine(plan{path, engine, *engines, strings.Split(*settings, ",")}, flag.Args(), out)
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// testAllEngines tests all engines at once. Each goes on to its end, however another
// one ends.
func testAllEngines(engines []string, test func(engine string, out *lines) error) error {
	var mu sync.Mutex
	var failed error
	var failures []string
	var all sync.WaitGroup
	for _, engine := range engines {
		all.Go(func() {
			out := &lines{mu: &mu, to: os.Stdout, begin: []byte(engine + ": ")}
			err := errors.Join(test(engine, out), out.flushRest())
			listed := out.listFailures()
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			failures = append(failures, listed...)
		})
	}
	all.Wait()
	if failed != nil && len(failures) > 0 {
		// At the very end, where whoever reads a long log looks first.
		return fmt.Errorf("%w\n--- tests that failed\n%s", failed, strings.Join(failures, "\n"))
	}
	return failed
}

// A plan is what to start.
type plan struct {
	server, engine string
	engines        string   // all that are tested at once, with commas
	settings       []string // files; one that is "" = the demo
}

// runEngine tests one engine from an empty directory and database to a clean end.
func runEngine(p plan, command []string, out *lines) (err error) {
	engine := p.engine
	dir, err := os.MkdirTemp("", "holdfast-e2e-")
	if err != nil {
		return fmt.Errorf("e2e: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &instance{program: p.server, engines: p.engines, dir: dir, out: out}
	switch engine {
	case "sqlite":
	case "postgresql":
		dsn, drop, fresh := pgtest.Fresh(context.Background())
		if fresh != nil {
			return fresh
		}
		defer func() { err = errors.Join(err, drop()) }()
		s.database = dsn
	default:
		return fmt.Errorf("e2e: no engine %q", engine)
	}
	begin := time.Now()
	for _, file := range p.settings {
		if err := s.serveWith(file, command, engine); err != nil {
			return fmt.Errorf("e2e: on %s: %w\n--- what went wrong at the server\n%s", engine, err, s.lastLines(20, isWrongLine))
		}
	}
	_, err = fmt.Fprintf(out, "passed in %v\n", time.Since(begin).Round(time.Millisecond))
	return err
}

// serveWith runs the command against a server with the settings of a file, from its
// start to its end, and looks at its log.
func (s *instance) serveWith(file string, command []string, engine string) error {
	if err := s.readSettings(file); err != nil {
		return err
	}
	if err := s.startServer(); err != nil {
		return err
	}
	failed := s.runAgainst(command, engine)
	stopped := s.stopServer()
	if failed == nil {
		failed = s.inspectLog()
	}
	return errors.Join(failed, stopped)
}

// runAgainst runs the command with what a client needs to know.
func (s *instance) runAgainst(command []string, engine string) error {
	keys, err := s.readKeys()
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(cleanEnvironment(), keys...)
	cmd.Env = append(cmd.Env, "HOLDFAST_URL="+s.url, "HOLDFAST_ENGINE="+engine, "ENGINES="+s.engines)
	flags, err := json.Marshal(s.commandFlags())
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, "PROGRAM="+s.program, "PROGRAM_FLAGS="+string(flags), "LOG_FILE="+
		filepath.Join(s.dir, "log"))
	cmd.Env = append(append(cmd.Env, s.ports...), "SECRETS_FILE="+s.secretsFile(), "KEPT_FILE="+
		filepath.Join(s.dir, "kept"), "SETTINGS="+s.file)
	cmd.Stdout, cmd.Stderr = s.out, s.out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return nil
}

// cleanEnvironment is the environment without settings of a Holdfast, which refuses to
// start with some that it does not know.
func cleanEnvironment() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "HOLDFAST_") {
			env = append(env, pair)
		}
	}
	return env
}
