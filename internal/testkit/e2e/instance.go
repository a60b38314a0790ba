package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An instance is one started server.
type instance struct {
	program, dir, database string
	engines                string // all that are tested at once, with commas
	out                    *lines
	file                   string            // of the settings, without its folder
	settings               []string          // environment of a server without demo data; nil = the demo
	known                  map[string]string // ports that the settings name
	ports                  []string          // the same as NAME=NUMBER
	url                    string
	cmd                    *exec.Cmd
	ended                  chan error
}

// readSettings reads the settings and finds the ports that they name.
func (s *instance) readSettings(file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("e2e: settings: %w", err)
	}
	if s.known == nil {
		s.known = map[string]string{}
	}
	s.file, s.settings = filepath.Base(file), nil
	var failed error
	port := func(name string) string {
		if s.known[name] == "" {
			address, err := freeAddress()
			if err != nil || !strings.HasPrefix(name, "PORT_") {
				failed = errors.Join(failed, fmt.Errorf("e2e: settings: $%s is no port: %w", name, err))
				return ""
			}
			_, s.known[name], _ = net.SplitHostPort(address)
			s.ports = append(s.ports, name+"="+s.known[name])
		}
		return s.known[name]
	}
	for line := range strings.Lines(string(text)) {
		// A comment may name a port too, one that no setting needs.
		if line = os.Expand(strings.TrimSpace(line), port); line != "" && !strings.HasPrefix(line, "#") {
			s.settings = append(s.settings, line)
		}
	}
	return failed
}

// patience is what a server may take to be ready: the demonstration takes ten
// seconds of a processor, which others may want.
const patience = 5 * time.Minute

// startServer returns when the server is ready, demo data and all.
func (s *instance) startServer() error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	s.url = "http://" + address
	args := s.commandFlags("serve", "--listen", address)
	s.cmd = exec.Command(s.program, args...)
	s.cmd.Env = append(cleanEnvironment(), s.settings...)
	if s.settings == nil {
		// A browser makes passkeys for names only, never for an address; a foreign
		// identity provider of a test is on this machine.
		_, port, _ := net.SplitHostPort(address)
		s.cmd.Args = append(s.cmd.Args, "--demo")
		s.cmd.Env = append(s.cmd.Env, "HOLDFAST_SAML=true", "HOLDFAST_SSO_ALLOW_PRIVATE=true",
			"HOLDFAST_WEBAUTHN_RP_ID=localhost", "HOLDFAST_WEBAUTHN_ORIGINS=http://localhost:"+port)
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.cmd.Wait() }()
	return s.awaitReady()
}

func (s *instance) commandFlags(args ...string) []string {
	args = append(args, "--data", filepath.Join(s.dir, "data"))
	if s.database != "" {
		args = append(args, "--database", s.database)
	}
	return args
}

func (s *instance) awaitReady() error {
	client := http.Client{Timeout: time.Second}
	begin := time.Now()
	for time.Since(begin) < patience {
		select {
		case err := <-s.ended:
			return fmt.Errorf("the server ended (%v):\n%s", err, s.lastLines(60, anyLine))
		case <-time.After(10 * time.Millisecond):
		}
		resp, err := client.Get(s.url + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			_, err := fmt.Fprintf(s.out, "ready after %v\n", time.Since(begin).Round(time.Millisecond))
			return err
		}
	}
	return errors.Join(fmt.Errorf("the server is not ready after %v:\n%s", patience, s.lastLines(60, anyLine)),
		s.stopServer())
}

// readKeys asks the program for the keys, as an operator does.
func (s *instance) readKeys() ([]string, error) {
	cmd := exec.Command(s.program, s.commandFlags("status", "-o", "env")...)
	cmd.Env = cleanEnvironment()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("status -o env: %w\n%s", err, stderr.Bytes())
	}
	var env []string
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok {
			env = append(env, name+"="+strings.Trim(value, `"'`))
		}
	}
	return env, nil
}

// stopServer asks the server to end and expects that it does so well.
func (s *instance) stopServer() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the server is gone: %w", err)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			return fmt.Errorf("the server's end: %w", err)
		}
		return nil
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the server does not end"), s.cmd.Process.Kill(), <-s.ended)
	}
}

// lastLines is the last lines of what the server wrote that are wanted.
func (s *instance) lastLines(lines int, wanted func(line string) bool) string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	all := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return !wanted(line) })
	last := all[max(len(all)-lines, 0):]
	for n, line := range last {
		last[n] = cutLine(line)
	}
	return strings.Join(last, "\n")
}

func anyLine(string) bool { return true }

// isWrongLine leaves out what the server does all day, which would stand between a
// failed test and its reader.
func isWrongLine(line string) bool {
	return strings.HasPrefix(line, "{") && (!strings.Contains(line, `"level":"INFO"`) ||
		strings.Contains(line, `"status":5`))
}

// given are the addresses that this process gave to somebody who has yet to
// listen there. They are package state because the ports of a machine are.
var given struct {
	sync.Mutex
	addresses map[string]bool
}

// freeAddress is one where nobody listens, and which nobody else was given.
func freeAddress() (string, error) {
	given.Lock()
	defer given.Unlock()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		address := l.Addr().String()
		if err := l.Close(); err != nil {
			return "", err
		}
		if !given.addresses[address] {
			if given.addresses == nil {
				given.addresses = map[string]bool{}
			}
			given.addresses[address] = true
			return address, nil
		}
	}
}
