// Package pgtest gives tests empty throwaway PostgreSQL databases, and clones
// of a prepared one, on a cluster that it starts itself and removes again.
//
// Layer: tests. Begin at [Main].
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// superuser is the owner of every throwaway cluster.
const superuser = "holdfast"

// oldest is the first PostgreSQL major version that Holdfast supports.
const oldest = 15

// supervise starts the server and stops it when its standard input ends, which
// happens when the test process closes it or dies, however it dies. Hence no
// cluster and no folder outlives the tests.
const supervise = `"$1" -D "$2/data" >"$2/log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
kill -QUIT $pid 2>/dev/null
wait $pid
rm -rf "$2"`

// A Cluster is a running throwaway PostgreSQL server.
type Cluster struct {
	dsn  string
	dir  string
	cmd  *exec.Cmd
	hold *os.File
	done chan struct{}

	ended []*os.File // of supervisors whose server crashed
}

// Start makes a cluster in a temporary folder and waits until it answers. It
// runs as the user postgres or nobody when the caller is root, which the
// server refuses to run as.
func Start(ctx context.Context) (*Cluster, error) { return startIn(ctx, "") }

// StartFast is Start, with the folder in memory where there is room: each test
// copies the thousand files of a database, which measured 20 times as fast.
func StartFast(ctx context.Context) (*Cluster, error) { return startIn(ctx, memoryFolder()) }

func startIn(ctx context.Context, parent string) (*Cluster, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	who, err := serverCredential()
	if err != nil {
		return nil, err
	}
	var last error
	for range 3 { // another process may take the free port before the server does
		c, err := startCluster(ctx, parent, bin, who)
		if err == nil {
			return c, nil
		}
		last = err
	}
	return nil, last
}

func startCluster(ctx context.Context, parent, bin string, who *syscall.Credential) (*Cluster, error) {
	dir, err := makeFolder(parent, who)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err == nil {
		err = initDataFolder(ctx, bin, dir, who)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "data", "postgresql.auto.conf"), clusterSettings(dir, port), 0o644)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &Cluster{dir: dir, dsn: clusterDSN(dir, port), done: make(chan struct{})}
	if err := c.launchServer(bin, who); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// DSN is the superuser's address of the cluster's database postgres. It goes
// over the socket in a folder that only the cluster's user may enter.
func (c *Cluster) DSN() string { return c.dsn }

// Stop ends the server at once and removes its folder.
func (c *Cluster) Stop() error {
	err := c.hold.Close()
	for _, f := range c.ended {
		err = errors.Join(err, f.Close())
	}
	select {
	case <-c.done:
		return nil
	case <-time.After(20 * time.Second):
		return errors.Join(err, fmt.Errorf("pgtest: the server in %s does not stop", c.dir))
	}
}

func (c *Cluster) launchServer(bin string, who *syscall.Credential) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer read.Close()
	c.hold = write
	c.cmd = exec.Command("/bin/sh", "-c", supervise, "pgtest", filepath.Join(bin, "postgres"), c.dir)
	c.cmd.Stdin = read
	c.cmd.Dir = c.dir
	// A group of its own keeps the terminal's interrupt away from the server.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who, Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("pgtest: start the server: %w", err), write.Close())
	}
	server, done := c.cmd, c.done // a server that is started after a crash has others
	go func() {
		defer close(done)
		_ = server.Wait() // the status is the folder removal's; await reads the log
	}()
	return nil
}

func (c *Cluster) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.dsn)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("pgtest: the server does not answer: %w\n%s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// findBinaries returns the folder of the newest installed server.
func findBinaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	best, newest := "", oldest-1
	for _, path := range found {
		major, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if err == nil && major > newest {
			best, newest = filepath.Dir(path), major
		}
	}
	if best != "" {
		return best, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real), nil
		}
	}
	return "", fmt.Errorf("pgtest: no PostgreSQL server found: install PostgreSQL %d or newer "+
		"(Debian: apt-get install postgresql), or put its folder with postgres and initdb on PATH", oldest)
}

// serverCredential is nil unless the caller is root.
func serverCredential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("pgtest: PostgreSQL does not run as root and there is no user postgres or nobody: create one of them")
}

func makeFolder(parent string, who *syscall.Credential) (string, error) {
	if parent == "" {
		parent = temporaryFolder(who)
	}
	dir, err := os.MkdirTemp(parent, "holdfast-pg-")
	if err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	if who == nil {
		return dir, nil
	}
	if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
		return "", errors.Join(fmt.Errorf("pgtest: %w", err), os.RemoveAll(dir))
	}
	return dir, nil
}

// temporaryFolder is the folder for temporary files, or /tmp where the server's user
// cannot come there or the name of its socket would not fit (unix(7)).
func temporaryFolder(who *syscall.Credential) string {
	dir := os.TempDir()
	if !filepath.IsAbs(dir) || len(dir) > 60 {
		return "/tmp"
	}
	for at := dir; who != nil && at != "/"; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode()&0o001 == 0 {
			return "/tmp"
		}
	}
	return dir
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("pgtest: find a free port: %w", err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// initDataFolder makes the data folder. Over TCP a random password is asked for,
// so that other users of the machine do not become its superuser.
func initDataFolder(ctx context.Context, bin, dir string, who *syscall.Credential) error {
	pass := filepath.Join(dir, "password")
	if err := os.WriteFile(pass, []byte(rand.Text()), 0o600); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if who != nil {
		if err := os.Chown(pass, int(who.Uid), int(who.Gid)); err != nil {
			return fmt.Errorf("pgtest: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"),
		"-U", superuser, "-E", "UTF8", "--locale=C", "--no-sync",
		"--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile="+pass)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	return nil
}

// clusterSettings trade every bit of durability for speed: nothing in the cluster
// outlives the tests.
func clusterSettings(dir string, port int) []byte {
	return fmt.Appendf(nil, strings.Join([]string{
		"listen_addresses = '127.0.0.1'",
		"port = %d",
		"unix_socket_directories = '%s'",
		"fsync = off",
		"synchronous_commit = off",
		"full_page_writes = off",
		"wal_level = minimal",
		"max_wal_senders = 0",
		"max_connections = 1000", // of all packages that are tested at once
		"shared_buffers = 128MB",
		"max_wal_size = 256MB",
		"jit = off",
		"timezone = 'UTC'",
		"log_timezone = 'UTC'",
		"log_line_prefix = '%%m [%%p] %%v '", // with the transaction
		"",
	}, "\n"), port, dir)
}

func clusterDSN(dir string, port int) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/postgres"}
	u.RawQuery = url.Values{"host": {dir}, "port": {strconv.Itoa(port)}}.Encode()
	return u.String()
}
