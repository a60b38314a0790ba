package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pooled returns the address of a PgBouncer before the database at dsn, in
// transaction mode: its clients share so many connections of the server, each for
// one transaction. It ends with the test.
func Pooled(t testing.TB, dsn string, connections int) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	who, err := serverCredential() // PgBouncer does not run as root, and the socket is the server's user's
	if err != nil {
		t.Fatal(err)
	}
	dir, err := makeFolder("", who)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for try := 0; ; try++ { // another process may take the free port first
		at, err := startPooler(t, u, dir, connections, who)
		if err == nil {
			return at
		}
		if try == 3 {
			t.Fatal(err)
		}
	}
}

func startPooler(t testing.TB, u *url.URL, dir string, connections int, who *syscall.Credential) (string, error) {
	t.Helper()
	port, err := freePort()
	if err != nil {
		return "", err
	}
	q := u.Query()
	text := strings.Join([]string{
		"[databases]", fmt.Sprintf("* = host=%s port=%s user=%s", q.Get("host"), q.Get("port"), u.User.Username()),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(port), "unix_socket_dir =",
		"auth_type = any",
		"pool_mode = transaction", "default_pool_size = " + strconv.Itoa(connections), "max_client_conn = 500", "",
	}, "\n")
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", err
	}
	program := "pgbouncer"
	if _, err := exec.LookPath(program); err != nil {
		program = "/usr/sbin/pgbouncer" // where Debian puts it, and not every path leads
	}
	var log bytes.Buffer
	cmd := exec.Command(program, file)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("pgtest: %w; scripts/setup installs it", err)
	}
	gone := make(chan struct{})
	go func() { cmd.Wait(); close(gone) }() // it is killed: its status says nothing
	end := func() { cmd.Process.Kill(); <-gone }
	at := url.URL{Scheme: "postgres", User: u.User, Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: u.Path,
		RawQuery: "sslmode=disable"}
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(25 * time.Millisecond) {
		conn, err := pgx.Connect(context.Background(), at.String()+"&default_query_exec_mode=exec")
		if err == nil {
			t.Cleanup(end)
			return at.String(), conn.Close(context.Background())
		}
		select {
		case <-gone:
			return "", fmt.Errorf("pgtest: PgBouncer ended:\n%s", &log)
		default:
		}
	}
	end()
	return "", fmt.Errorf("pgtest: PgBouncer does not answer:\n%s", &log)
}
