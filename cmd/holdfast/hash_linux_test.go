package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/testkit/program"
)

// hashers returns the processes that hash passwords for a server.
func hashers(s *program.Site, server int) (pids []string) {
	s.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.Fatal(err)
	}
	for _, path := range all {
		command, _ := os.ReadFile(path) // a process may end meanwhile
		if !strings.Contains(string(command), "\x00hash-passwords\x00") {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(server) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// Passwords are hashed in a process of its own, which knows no secret of the
// server's and ends with it.
func TestServeHashesApart(t *testing.T) {
	s := program.DemoOn(t, db.SQLite)
	v := s.Serve("--dev")
	if rest := hashers(s, v.Cmd.Process.Pid); len(rest) > 0 {
		t.Fatalf("processes %v before anybody signs in", rest)
	}
	v.Token("owner@north.example", "holdfast-demo")
	pids := hashers(s, v.Cmd.Process.Pid)
	if len(pids) == 0 { // two where the processors are always busy
		t.Fatal("no process after a sign-in")
	}
	for _, pid := range pids {
		if env, err := os.ReadFile("/proc/" + pid + "/environ"); err != nil || len(env) > 0 {
			t.Errorf("its environment: %q, %v", env, err)
		}
	}
	v.Stop()
	for _, pid := range pids {
		s.Eventually("it has ended", func() bool {
			_, err := os.Stat("/proc/" + pid)
			return os.IsNotExist(err)
		})
	}
}
