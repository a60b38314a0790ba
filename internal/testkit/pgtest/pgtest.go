package pgtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Variable names the environment variable that holds the superuser's DSN of a
// cluster to share. Without it every test process starts a cluster of its own.
const Variable = "HOLDFAST_TEST_POSTGRES"

// EngineVariable names the environment variable that keeps the tests of this
// process to one engine, sqlite or postgresql, while somebody works on the code.
// make test does not pass it on: what is submitted ran on both.
const EngineVariable = "HOLDFAST_TEST_ENGINE"

// SkipUnwanted skips a test of one engine (sqlite or postgresql) when
// EngineVariable asks for the other one. It fails the test for any other value.
func SkipUnwanted(t testing.TB, engine string) {
	t.Helper()
	wanted := os.Getenv(EngineVariable)

	switch wanted {
	case "", engine:
	case "sqlite", "postgresql":
		t.Skipf("%s=%s leaves %s out", EngineVariable, wanted, engine)
	default:
		t.Fatalf("%s=%s: sqlite, postgresql or nothing is expected", EngineVariable, wanted)
	}
}

// shared is the process's one cluster. It is package state because the cluster
// is: one to a process, started by whichever test asks first.
var shared struct {
	sync.Mutex
	cluster *Cluster
	err     error
}

// Main runs a package's tests and stops the cluster they started, for use in
// TestMain. Without it the cluster ends a moment after the process.
func Main(m *testing.M, cleanup ...func()) {
	code := m.Run()
	for _, f := range cleanup {
		f()
	}
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// DSN returns the address of a fresh empty database (UTF8, locale C), which is
// dropped when the test ends. It fails the test when PostgreSQL is not
// installed.
func DSN(t testing.TB) string {
	t.Helper()
	admin := clusterOf(t)
	name := "test_" + strings.ToLower(rand.Text())
	if err := createDatabase(t.Context(), admin, name, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discardDatabase(t, admin, name) })
	return withDatabase(admin, name)
}

// Fresh is DSN for programs that are no test. drop removes the database, and
// the cluster when it had to be started.
func Fresh(ctx context.Context) (dsn string, drop func() error, err error) {
	admin, end := os.Getenv(Variable), func() error { return nil }
	if admin == "" {
		c, err := Start(ctx)
		if err != nil {
			return "", nil, err
		}
		admin, end = c.DSN(), c.Stop
	}
	name := "fresh_" + strings.ToLower(rand.Text())
	if err := createDatabase(ctx, admin, name, ""); err != nil {
		return "", nil, errors.Join(err, end())
	}
	drop = func() error { return errors.Join(removeDatabase(context.WithoutCancel(ctx), admin, name), end()) }
	return withDatabase(admin, name), drop, nil
}

// Template returns the address of a fresh copy of the database that build
// prepares. build runs once for each key on a cluster, whichever process asks
// first, so key must name what build does: a version or a hash of the schema.
func Template(t testing.TB, key string, build func(dsn string) error) string {
	t.Helper()
	admin := clusterOf(t)
	sum := sha256.Sum256([]byte(key))
	source := "template_" + hex.EncodeToString(sum[:12])
	if err := prepareTemplate(t.Context(), admin, source, build); err != nil {
		t.Fatal(err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	if err := createDatabase(t.Context(), admin, name, source); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discardDatabase(t, admin, name) })
	return withDatabase(admin, name)
}

// clusterOf returns the superuser's DSN, starting the cluster at first use.
func clusterOf(t testing.TB) string {
	t.Helper()
	SkipUnwanted(t, "postgresql")

	if dsn := os.Getenv(Variable); dsn != "" {
		return dsn
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		// Not the test's context: the cluster outlives the test.
		shared.cluster, shared.err = StartFast(context.Background())
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster.DSN()
}

func stop() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return nil
	}
	err := shared.cluster.Stop()
	shared.cluster = nil
	return err
}

// withDatabase returns admin's address with another database.
func withDatabase(admin, name string) string {
	u, err := url.Parse(admin)
	if err != nil { // connecting with it has failed before
		return admin
	}
	u.Path = "/" + name
	return u.String()
}

func withConn(ctx context.Context, dsn string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	err = do(conn)
	// The caller's context may be over; the session must end all the same.
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

// createDatabase makes a database, as a copy of source unless that is empty. Copying
// files is the faster strategy where nothing waits for the disk.
func createDatabase(ctx context.Context, admin, name, source string) error {
	sql := "create database " + name + " template template0 encoding 'UTF8' locale 'C' strategy file_copy"
	if source != "" {
		sql = "create database " + name + " template " + source + " strategy file_copy"
	}
	return withConn(ctx, admin, func(conn *pgx.Conn) error {
		for try := 0; ; try++ {
			_, err := conn.Exec(ctx, sql)
			if err == nil {
				return nil
			}
			if try == 5 || !isSourceBusy(err) {
				return fmt.Errorf("pgtest: %s: %w", sql, err)
			}
		}
	})
}

// isSourceBusy reports whether the source had a session: 55006 object_in_use, which
// comes after the server has waited for five seconds itself.
func isSourceBusy(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55006"
}

func discardDatabase(t testing.TB, admin, name string) {
	if err := removeDatabase(context.Background(), admin, name); err != nil {
		t.Error(err)
	}
}

func removeDatabase(ctx context.Context, admin, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return withConn(ctx, admin, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "drop database if exists "+name+" with (force)"); err != nil {
			return fmt.Errorf("pgtest: drop %s: %w", name, err)
		}
		return nil
	})
}

// prepareTemplate builds the template unless it is there. The advisory lock makes one
// process build while the others wait; the flag datistemplate is set last, so
// a database without it is what a failed build left.
func prepareTemplate(ctx context.Context, admin, name string, build func(string) error) error {
	return withConn(ctx, admin, func(conn *pgx.Conn) error {
		if ok, err := isTemplateReady(ctx, conn, name); ok || err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(name))
		lock := int64(binary.BigEndian.Uint64(sum[:8]))
		if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", lock); err != nil {
			return fmt.Errorf("pgtest: lock %s: %w", name, err)
		} // the lock goes with the session
		if ok, err := isTemplateReady(ctx, conn, name); ok || err != nil {
			return err
		}
		return assembleTemplate(ctx, conn, admin, name, build)
	})
}

func assembleTemplate(ctx context.Context, conn *pgx.Conn, admin, name string, build func(string) error) error {
	if _, err := conn.Exec(ctx, "drop database if exists "+name+" with (force)"); err != nil {
		return fmt.Errorf("pgtest: drop %s: %w", name, err)
	}
	if err := createDatabase(ctx, admin, name, ""); err != nil {
		return err
	}
	if err := build(withDatabase(admin, name)); err != nil {
		return fmt.Errorf("pgtest: build the template: %w", err)
	}
	for _, sql := range []string{
		"alter database " + name + " allow_connections false",
		"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '" + name + "'",
		"alter database " + name + " is_template true",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("pgtest: %s: %w", sql, err)
		}
	}
	return nil
}

func isTemplateReady(ctx context.Context, conn *pgx.Conn, name string) (bool, error) {
	var ok bool
	err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1 and datistemplate)",
		name).Scan(&ok)
	if err != nil {
		return false, fmt.Errorf("pgtest: look for %s: %w", name, err)
	}
	return ok, nil
}
