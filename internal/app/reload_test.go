package app

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/internal/config"
)

// A proxy that is trusted by a reload brings as many connections as it has
// clients, and one that no longer is counts as one of them.
func TestReloadTrustsProxies(t *testing.T) {
	load := func(more map[string]string) *config.Config {
		given := map[string]string{"data": t.TempDir(), "listen": "127.0.0.1:0"}
		for k, v := range more {
			given[k] = v
		}
		c, err := config.Load("", nil, given)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := load(nil)
	a, err := Open(context.Background(), c, Server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	logs, restore := openLog(c, os.Stderr)
	t.Cleanup(restore)
	s := &serving{app: a, asked: *c, logs: logs}
	bare, err := net.Listen("tcp", c.Listen)
	if err != nil {
		t.Fatal(err)
	}
	l := s.wrapListener(bare)
	s.crowd.PerAddress = 1
	t.Cleanup(func() { bare.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "welcome\n")
		}
	}()
	greeting := func() string {
		c, err := net.Dial("tcp", bare.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(30 * time.Second))
		b := make([]byte, 8)
		_, err = io.ReadFull(c, b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, step := range []struct {
		proxies, want string
	}{
		{"", "welcome\n"},
		{"", "HTTP/1.1"}, // the second of its address: 503
		{"127.0.0.0/8", "welcome\n"},
		{"127.0.0.0/8", "welcome\n"},
		{"10.0.0.0/8", "HTTP/1.1"},
	} {
		if err := s.applyConfig(load(map[string]string{"trusted_proxies": step.proxies})); err != nil {
			t.Fatal(err)
		}
		if got := greeting(); !strings.HasPrefix(got, step.want) {
			t.Errorf("with trusted_proxies = %q: %q, want %q", step.proxies, got, step.want)
		}
	}
}
