package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/testkit/redistest"
)

func open(t *testing.T, url string) *Conn {
	t.Helper()
	c, err := Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// do repeats a command until the connection is there.
func do(t *testing.T, c *Conn, command string, args ...any) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		v, err := c.Do(ctx, command, args...)
		if err == nil {
			return v
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestParse(t *testing.T) {
	for url, want := range map[string]address{
		"redis://h":                   {host: "h:6379"},
		"redis://h:1/":                {host: "h:1"},
		"redis://:pw@[::1]:7/3":       {host: "[::1]:7", password: "pw", database: 3},
		"redis://ann:p%40w@h.example": {host: "h.example:6379", user: "ann", password: "p@w"},
	} {
		if got, err := parseURL(url); err != nil || got != want {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
	if got, err := parseURL("rediss://h.example"); err != nil || got.tls == nil || got.tls.ServerName != "h.example" {
		t.Errorf("with TLS: %+v, %v", got, err)
	}
	for _, url := range []string{"", "h:6379", "http://u:hunter2@h", "redis://", "redis://u:hunter2@h/x",
		"redis://u:hunter2@h/-1",
		"redis://u:hunter2@h?master_set=x", "redis://u:hunter2@h:port/%zz"} {
		if _, err := parseURL(url); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// Each caller gets its own answer.
func TestAnswersAreTheCallers(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Start(t).URL)
	var all sync.WaitGroup
	for i := range 2 * connections {
		all.Go(func() {
			for n := range 50 {
				want := fmt.Sprint(i, "-", n, "\r\n", strings.Repeat("x", n*i))
				v, err := c.Do(t.Context(), "ECHO", want)
				if got, wrong := Text(v); err != nil || wrong != nil || got != want {
					t.Errorf("%.20q: %.20q, %v, %v", want, got, err, wrong)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestForms(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s.URL+"/2")
	if v := do(t, c, "SET", "k", "v", "NX"); v != "OK" {
		t.Errorf("%v", v)
	}
	if v := do(t, c, "SET", "k", "v", "NX"); v != nil {
		t.Errorf("%v", v)
	}
	if n, err := Number(do(t, c, "INCRBY", "n", -7)); n != -7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := Text(do(t, c, "GET", "none")); err == nil {
		t.Error("nothing is a text")
	}
	if _, err := c.Do(t.Context(), "GET"); err == nil || !c.Up() {
		t.Errorf("a command that the server refuses: %v", err)
	}
	if n, _ := Number(do(t, open(t, s.URL), "EXISTS", "k")); n != 0 {
		t.Error("the number of the database is not heeded")
	}
}

// A script is run although the server does not have it, at first and after it
// forgot.
func TestScript(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Start(t).URL)
	script := NewScript("return {KEYS[1], redis.call('INCRBY', KEYS[1], ARGV[1])}")
	for round := range int64(2) {
		list, err := c.Eval(t.Context(), script, Run{Keys: []string{"n"}, Args: []string{"5"}})
		if err != nil || len(list) != 2 || list[1] != 5+round*(5+2*3000) {
			t.Fatalf("%v, %v", list, err)
		}
		do(t, c, "SCRIPT", "FLUSH")
		runs := make([]Run, 3000)
		for i := range runs {
			runs[i] = Run{Keys: []string{"n"}, Args: []string{"2"}}
		}
		if err := c.EvalAll(t.Context(), script, runs); err != nil {
			t.Fatal(err)
		}
	}
	bad := []Run{{Keys: []string{"n"}, Args: []string{"x"}}, {Keys: []string{"n"}, Args: []string{"1"}}}
	if err := c.EvalAll(t.Context(), script, bad); err == nil {
		t.Error("a failed run is not told")
	}
}

func TestSignsIn(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s.URL)
	do(t, c, "ACL", "SETUSER", "ann", "on", ">pw", "+@all", "~*")
	do(t, c, "CONFIG", "SET", "requirepass", "secret")
	host := strings.TrimPrefix(s.URL, "redis://")
	for url, up := range map[string]bool{"redis://:secret@" + host: true, "redis://ann:pw@" + host: true,
		"redis://ann:secret@" + host: false,
		"redis://" + host:            false} {
		if got := open(t, url).Up(); got != up {
			t.Errorf("%s: %v", url, got)
		}
	}
}

// A server that hangs up is connected to again, also when nobody asks.
func TestConnectsAgain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s.URL)
	if do(t, c, "PING") != "PONG" {
		t.Fatal("no pong")
	}
	s.Stop()
	for range 3000 {
		if !c.Up() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := c.Do(t.Context(), "PING"); !errors.Is(err, ErrAway) {
		t.Errorf("away: %v", err)
	}
	s.Start()
	if do(t, c, "PING") != "PONG" {
		t.Error("no pong")
	}
}

// A caller leaves at its deadline, and the connection on which nothing is
// answered is not used again.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go pong(conn, n == 0)
		}
	}()
	c := open(t, "redis://"+l.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var late net.Error
	if _, err := c.doCommand(ctx, "PING"); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("a caller waits: %v", err)
	}
	if do(t, c, "PING") != "PONG" {
		t.Error("no second connection")
	}
}

// pong answers pings: the first only, if it is to hang.
func pong(conn net.Conn, hang bool) {
	r := bufio.NewReader(conn)
	for n := 0; ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if line == "PING\r\n" {
			if n++; n == 1 || !hang {
				fmt.Fprint(conn, "+PONG\r\n")
			}
		}
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	c := open(t, redistest.Start(t).URL)
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- c.Subscribe(ctx, "news", func(m string) { heard <- m }) }()
	for do(t, c, "PUBLISH", "news", "a\r\nb") == int64(0) {
		time.Sleep(5 * time.Millisecond)
	}
	if m := <-heard; m != "a\r\nb" {
		t.Errorf("%q", m)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it ended without an error")
	}
}

// Over TLS the server must show who it is.
func TestTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate, which is for example.com and 127.0.0.1
	defer web.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go pong(conn, false)
		}
	}()
	at, err := parseURL("rediss://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := tried(at); err == nil {
		t.Error("an unknown certificate is taken")
	}
	at.tls.RootCAs = x509.NewCertPool()
	at.tls.RootCAs.AddCert(web.Certificate())
	if err := tried(at); err != nil {
		t.Fatal(err)
	}
}

// tried signs in to a server and asks it something.
func tried(at address) error {
	conn, err := at.dialServer(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Do("PING")
	return err
}
