package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An Outcome is how a command ended.
type Outcome struct {
	Out, Err string // standard output and standard error
	Code     int    // the exit status
}

func (o Outcome) String() string {
	return fmt.Sprintf("exit status %d\n--- stdout\n%s--- stderr\n%s", o.Code, o.Out, o.Err)
}

// Command is the program on this site, with settings "NAME=value" of the
// environment and no others.
func (s *Site) Command(env []string, args ...string) *exec.Cmd {
	where := []string{"--data", s.Data}
	if s.DSN != "" {
		where = append(where, "--database", s.DSN)
	}
	run := s.Program
	if run == "" {
		run = Path(s)
	}
	cmd := exec.Command(run, append(where, args...)...)
	cmd.Env = append(Environ(), env...)
	return cmd
}

// Environ is the environment of the tests without settings of Holdfast.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "HOLDFAST_") })
}

// Finish runs a command that must end by itself.
func (s *Site) Finish(cmd *exec.Cmd, stdin string) Outcome {
	s.Helper()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	late := time.AfterFunc(4*time.Minute, func() { cmd.Process.Kill() }) // a machine may be busy
	err := cmd.Wait()
	if !late.Stop() {
		s.Fatalf("%s does not end\n%s%s", cmd, &out, &errs)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return Outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// Exec is a command that must succeed; it returns what it printed.
func (s *Site) Exec(args ...string) string {
	s.Helper()
	return s.ExecWith("", args...)
}

// ExecWith is Exec with something on standard input.
func (s *Site) ExecWith(stdin string, args ...string) string {
	s.Helper()
	o := s.Finish(s.Command(nil, args...), stdin)
	if o.Code != 0 {
		s.Fatalf("holdfast %s: %s", strings.Join(args, " "), o)
	}
	return o.Out
}

// Refused is a command that must fail with exit status 1, and with words on
// standard error that match the pattern.
func (s *Site) Refused(pattern string, args ...string) Outcome {
	s.Helper()
	o := s.Finish(s.Command(nil, args...), "")
	if o.Code != 1 || !regexp.MustCompile(pattern).MatchString(o.Err) {
		s.Errorf("holdfast %s: want a refusal like %q, got %s", strings.Join(args, " "), pattern, o)
	}
	return o
}

// Keys are the lines of `status -o env`.
func (s *Site) Keys(flags ...string) map[string]string {
	s.Helper()
	out := map[string]string{}
	for line := range strings.Lines(s.Exec(append([]string{"status", "-o", "env"}, flags...)...)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			s.Fatalf("status: line %q", line)
		}
		out[name] = strings.Trim(value, `"`)
	}
	return out
}
