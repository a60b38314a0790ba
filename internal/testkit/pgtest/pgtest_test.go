package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m) }

func one(t *testing.T, dsn, sql string) string {
	t.Helper()
	var s string
	err := withConn(t.Context(), dsn, func(c *pgx.Conn) error { return c.QueryRow(t.Context(), sql).Scan(&s) })
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

func TestDSNIsEmptyBytewiseAndUnsafe(t *testing.T) {
	dsn := DSN(t)
	for sql, want := range map[string]string{
		"select count(*)::text from pg_tables where schemaname = 'public'":                         "0",
		"select datcollate from pg_database where datname = current_database()":                    "C",
		"select pg_encoding_to_char(encoding) from pg_database where datname = current_database()": "UTF8",
		"show fsync":           "off",
		"show max_connections": "1000",
		"show jit":             "off",
		"show timezone":        "UTC",
	} {
		if got := one(t, dsn, sql); got != want && os.Getenv(Variable) == "" {
			t.Errorf("%s = %q, want %q", sql, got, want)
		}
	}
}

func TestTemplateIsBuiltOnceAndClonesAreApart(t *testing.T) {
	var built atomic.Int32
	key := t.Name() + filepath.Base(t.TempDir()) + time.Now().String()
	build := func(dsn string) error {
		built.Add(1)
		return withConn(context.Background(), dsn, func(c *pgx.Conn) error {
			_, err := c.Exec(context.Background(), "create table a (n int); insert into a values (1)")
			return err
		})
	}
	dsns := make([]string, 8)
	var all sync.WaitGroup
	for i := range dsns {
		all.Go(func() { dsns[i] = Template(t, key, build) })
	}
	all.Wait()
	if n := built.Load(); n != 1 {
		t.Errorf("built %d times", n)
	}
	one(t, dsns[0], "insert into a values (2) returning n::text")
	if got := one(t, dsns[1], "select count(*)::text from a"); got != "1" {
		t.Errorf("a clone has %s rows of its neighbour's", got)
	}
	begin := time.Now()
	Template(t, key, build)
	t.Logf("one clone: %v", time.Since(begin))
}

func TestDatabasesGoWithTheirTest(t *testing.T) {
	var dsn string
	t.Run("inner", func(t *testing.T) { dsn = DSN(t) })
	if _, err := pgx.Connect(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("connect after the test: %v", err)
	}
}

func TestStopRemovesTheFolder(t *testing.T) {
	c, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("folder: %v", err)
	}
	if _, err := pgx.Connect(t.Context(), c.DSN()); err == nil {
		t.Error("the server still answers")
	}
}

// A cluster starts whatever the folder for temporary files is: one whose path is
// too long for a socket, or that is closed to the server's user.
func TestStartAnywhere(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	for dir, mode := range map[string]os.FileMode{closed: 0o700, long: 0o755} {
		if err := os.Mkdir(dir, mode); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
		c, err := Start(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if got := one(t, c.DSN(), "show max_connections"); got != "1000" {
			t.Errorf("%s connections", got)
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
}
