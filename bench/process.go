package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"holdfast/bench/load"
)

// process is a server that was started here.
type process struct {
	cmd     *exec.Cmd
	address string
	admin   string // address of the profiles, or ""
	stdin   io.Closer
	done    chan error
	log     *os.File
	took    time.Duration // from start to the first 200
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// launch starts a program and waits until path answers: with 200, or where it is
// only "/" with anything.
func launch(ctx context.Context, path string, cmd *exec.Cmd, address string) (*process, error) {
	// The log goes to a file, as an operator's would: a pipe to this process
	// would charge our reading it to the machine.
	log, err := os.CreateTemp("", "holdfast-bench-log-")
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, address: address, done: make(chan error, 1), log: log}
	cmd.Stdout, cmd.Stderr = log, log
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = in
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	go func() { p.done <- cmd.Wait() }()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		res, err := client.Get("http://" + address + path)
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK || path == "/" {
				p.took = time.Since(begin)
				return p, nil
			}
		}
		select {
		case err := <-p.done:
			return nil, fmt.Errorf("%s ended at once: %v\n%s", cmd.Path, err, p.said())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.stop())
		case <-time.After(2 * time.Millisecond):
		}
		if time.Since(begin) > 2*time.Minute {
			return nil, errors.Join(fmt.Errorf("%s does not answer\n%s", cmd.Path, p.said()), p.stop())
		}
	}
}

// said is the log, or nothing when it is gone.
func (p *process) said() []byte {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return nil
	}
	return text[max(0, len(text)-4000):]
}

// stop ends the process in an orderly way.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	defer os.Remove(p.log.Name())
	defer p.log.Close()
	p.stdin.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return nil // it has ended
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(30 * time.Second):
		return p.cmd.Process.Kill()
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// serve starts the product on a data directory (and a database).
func (o options) serve(ctx context.Context, dir, database string, flags ...string) (*process, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	args := append([]string{"serve", "--data", dir, "--listen", address}, flags...)
	if database != "" {
		args = append(args, "--database", database)
	}
	cmd := exec.Command(o.server, args...)
	cmd.Env = append(os.Environ(), "HOLDFAST_RATE_LIMITS=off")
	admin := ""
	if o.profile != "" || o.admin {
		if admin, err = freeAddress(); err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, "HOLDFAST_ADMIN_LISTEN="+admin)
	}
	p, err := launch(ctx, "/healthz", cmd, address)
	if err == nil {
		p.admin = admin
	}
	return p, err
}

// record writes a CPU profile of the server while f runs.
func (p *process) record(ctx context.Context, path string, seconds float64, f func() error) error {
	req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", p.admin,
		max(1, seconds)), nil)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			done <- err
			return
		}
		defer res.Body.Close()
		out, err := os.Create(path)
		if err == nil {
			_, err = io.Copy(out, res.Body)
			err = errors.Join(err, out.Close())
		}
		done <- err
	}()
	return errors.Join(f(), <-done)
}

// tool runs one of the product's other commands.
func (o options) tool(ctx context.Context, dir, database string, args ...string) error {
	args = append(args, "--data", dir)
	if database != "" {
		args = append(args, "--database", database)
	}
	out, err := exec.CommandContext(ctx, o.server, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", o.server, strings.Join(args, " "), err, out)
	}
	return nil
}

// self starts this program in another role.
func self(ctx context.Context, args ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, path, args...), nil
}

// measure runs the load driver in a process of its own, on one core. Every answer
// must be the plan's.
func measure(ctx context.Context, p load.Plan) (load.Report, error) {
	r, err := driven(ctx, p)
	for _, t := range append([]load.Report{r}, r.Turns...) {
		if err == nil && t.Failed > 0 {
			err = fmt.Errorf("%s %s: %d of %d requests failed: %s", p.Request.Method, p.Request.Path, t.Failed, t.Failed+
				t.Requests, t.FirstFail)
		}
	}
	return r, err
}

// driven is measure whatever the answers are.
func driven(ctx context.Context, p load.Plan) (load.Report, error) {
	var r load.Report
	cmd, err := self(ctx, "drive")
	if err != nil {
		return r, err
	}
	plan, err := json.Marshal(p)
	if err != nil {
		return r, err
	}
	var out, errs bytes.Buffer
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(plan), &out, &errs
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("driver: %w\n%s", err, &errs)
	}
	return r, json.Unmarshal(out.Bytes(), &r)
}
