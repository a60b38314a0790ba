// Package dbtest gives a test an empty database with today's schema, on each
// engine. It stands on db alone, so that every package above db may use it.
//
// Layer: tests. Begin at [Each].
package dbtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/db/shape"
	"holdfast/internal/testkit/pgtest"
)

// Each runs f once on each engine, in a subtest named after it, with the
// options that open a fresh migrated database. Both run, unless the person at
// work asks for one (pgtest.EngineVariable): a missing PostgreSQL fails the test.
func Each(t *testing.T, f func(t *testing.T, o db.Options)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, Options(t, db.SQLite)) })
	t.Run("postgresql", func(t *testing.T) { f(t, Options(t, db.PostgreSQL)) })
}

// Abreast runs f on each engine, both at once, each in a subtest named after the
// engine, and returns when both have ended: half of what a test takes is waiting
// for a disk or for the other side. f shares nothing between them.
func Abreast(t *testing.T, f func(t *testing.T, e db.Engine)) {
	t.Helper()
	var both sync.WaitGroup
	for _, e := range []db.Engine{db.SQLite, db.PostgreSQL} {
		both.Go(func() { t.Run(strings.ToLower(string(e)), func(t *testing.T) { f(t, e) }) })
	}
	both.Wait()
}

// Options are those of a fresh migrated database on one engine, gone when the
// test ends. In tests SQLite runs each write twice, the first time undone: a
// function of a transaction that leaves something behind outside of it fails.
func Options(t testing.TB, e db.Engine) db.Options {
	t.Helper()
	if e == db.SQLite {
		pgtest.SkipUnwanted(t, "sqlite")
		file, err := template()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, db.FileName), file, 0o600); err != nil {
			t.Fatal(err)
		}
		_, test := t.(*testing.T)
		return db.Options{Dir: dir, Migrate: true, Rehearse: test}
	}
	steps, err := db.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprintf("migrated %x", sha256.Sum256([]byte(fmt.Sprint(steps, shape.PostgreSQL))))
	return db.Options{URL: pgtest.Template(t, key, migrate), Migrate: true}
}

// template is a migrated SQLite database as a file: writing it takes a fiftieth
// of the time of the migrations.
var template = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "holdfast-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := db.Open(context.Background(), db.Options{Dir: dir, Migrate: true})
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, db.FileName+"-wal")); err == nil {
		return nil, errors.New("dbtest: a closed database left a journal")
	}
	return os.ReadFile(filepath.Join(dir, db.FileName))
})

func migrate(dsn string) error {
	d, err := db.Open(context.Background(), db.Options{URL: dsn, Migrate: true})
	if err != nil {
		return err
	}
	return d.Close()
}

// Open opens a database for the length of the test.
func Open(t testing.TB, o db.Options) *db.DB {
	t.Helper()
	d, err := db.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
