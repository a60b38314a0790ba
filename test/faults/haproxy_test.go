package faults_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"

	"holdfast/internal/testkit/program"
)

// haproxy is one before nodes, as an operator sets it up: it asks each for
// /readyz, keeps its connections, and sends nothing twice. up says whether it has
// found a node to be ready.
func haproxy(s *program.Site, nodes ...string) (url string, up func(node int) bool) {
	s.Helper()
	at := program.ClosedPort(s.T)
	var b strings.Builder
	// Without a time-out of its own a check that takes longer than inter, on a busy
	// machine, takes a node out that is well.
	fmt.Fprintf(&b, "defaults\n mode http\n retries 0\n timeout connect 5s\n timeout check 10s\n timeout client 60s\n timeout server 60s\n"+
		"frontend all\n bind %s\n stats enable\n stats uri /balancer\n default_backend nodes\n"+
		"backend nodes\n balance roundrobin\n option httpchk GET /readyz\n default-server inter 200ms rise 1 fall 1\n", at)
	for i, node := range nodes {
		fmt.Fprintf(&b, " server node%d %s check\n", i, node)
	}
	file := s.File(filepath.Join(s.TempDir(), "haproxy.cfg"), b.String())
	name := "haproxy"
	if _, err := exec.LookPath(name); err != nil {
		name = "/usr/sbin/haproxy" // where Debian puts it, and not every path leads
	}
	var log bytes.Buffer
	cmd := exec.Command(name, "-db", "-f", file)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		s.Fatalf("%v; scripts/setup installs it", err)
	}
	gone := make(chan struct{})
	go func() { cmd.Wait(); close(gone) }() // it is killed: its status says nothing
	s.Cleanup(func() { cmd.Process.Kill(); <-gone })
	told := func() string {
		res, err := http.Get("http://" + at + "/balancer;csv")
		if err != nil {
			return ""
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	s.Eventually("haproxy answers", func() bool {
		select {
		case <-gone:
			s.Fatalf("haproxy: %s", &log)
		default:
		}
		return told() != ""
	})
	return "http://" + at, func(node int) bool {
		for line := range strings.Lines(told()) {
			if strings.HasPrefix(line, fmt.Sprintf("nodes,node%d,", node)) {
				return strings.Contains(line, ",UP,")
			}
		}
		return false
	}
}
