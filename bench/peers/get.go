package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// longest is how long a peer may take to be had.
const longest = 20 * time.Minute

// Get returns the path of the peer's program below dir, where it is built or
// installed unless an earlier run did.
func (p Peer) Get(ctx context.Context, dir string) (string, error) {
	to, err := filepath.Abs(filepath.Join(dir, strings.ToLower(p.Name)+"-"+p.Version))
	if err != nil {
		return "", err
	}
	if at, err := p.program(to); err == nil {
		return at, nil
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if err := p.fetch(ctx, to); err != nil {
		return "", err
	}
	return p.program(to)
}

// program is where the peer's program lies.
func (p Peer) program(dir string) (string, error) {
	at := filepath.Join(dir, path.Base(p.Module))
	if p.Module == "" {
		// The package itself is a script; what it starts is another's for this kind
		// of machine. Started without the script, it is one process to account for.
		found, err := filepath.Glob(filepath.Join(dir, "node_modules", "@"+p.NPM[0], "*", p.NPM[0]))
		if err != nil || len(found) != 1 {
			return "", fmt.Errorf("no program of %s for this kind of machine in %s: %v", p.Name, dir,
				errors.Join(err, fmt.Errorf("found %v", found)))
		}
		at = found[0]
	}
	_, err := os.Stat(at)
	return at, err
}

// fetch builds a Go program as the toolchain builds any, outside of our module, or
// installs packages of npm in a folder of their own without their scripts.
func (p Peer) fetch(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags", "-s -w", p.Module+"@"+p.Version)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0", "GOFLAGS=")
	if p.Module == "" {
		args := []string{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", p.NPM[0] + "@" +
			p.Version}
		cmd = exec.CommandContext(ctx, "npm", append(args, p.NPM[1:]...)...)
	}
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s is missing: install it and run again", cmd.Args[0])
	case ctx.Err() != nil:
		return fmt.Errorf("not had within %s", longest)
	case err != nil:
		return fmt.Errorf("%s: %s", strings.Join(cmd.Args[:2], " "),
			Reason(strings.ReplaceAll(string(out), p.Module+"@"+p.Version+": ", "")))
	}
	return nil
}

// address is where a registry is.
var address = regexp.MustCompile(`https?://\S+?(:?\s|$)`)

// Reason is the end of what a tool said, on one line, without addresses and folders:
// they differ from machine to machine.
func Reason(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	text := strings.Join(lines[max(0, len(lines)-3):], " ")
	text = address.ReplaceAllString(text, "the registry: ")
	here, err := os.Getwd()
	if err != nil {
		here = os.TempDir()
	}
	for _, root := range []string{os.TempDir(), here} {
		text = regexp.MustCompile(regexp.QuoteMeta(root)+`(/[^\s/:]+)*/`).ReplaceAllString(text, "")
	}
	return strings.TrimSpace(text)
}
