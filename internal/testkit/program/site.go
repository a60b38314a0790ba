// Package program runs the built program as its users do: in a data directory and
// a database of a test's own, by its command line and over HTTP.
//
// Layer: tests. Begin at [Each].
package program

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

// Passphrases: of the people that tests make, and of backups.
const (
	Passphrase       = "correct horse battery"
	BackupPassphrase = "five quiet herons fish"
)

// A Site is a data directory and a database. Those of Each have today's schema
// and no rows; of Embedded neither exists yet.
type Site struct {
	*testing.T
	Data string // the data directory
	DSN  string // of PostgreSQL; empty where the database is SQLite's, in Data

	Program string // what is run; empty for what the sources make, Path
}

// Each runs f on a migrated site of each engine, both at once.
func Each(t *testing.T, f func(s *Site)) {
	t.Helper()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) { f(SiteOn(t, e)) })
}

// EachEmpty is Each for tests of the first start and of migrations: nothing is
// there yet.
func EachEmpty(t *testing.T, f func(s *Site)) {
	t.Helper()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) {
		s := Embedded(t)
		if e == db.PostgreSQL {
			s.DSN = pgtest.DSN(t)
		}
		f(s)
	})
}

// EachDemo is Each with the sample of the demonstration in the database, to be
// served with --dev: the whole one, which --demo makes, takes seconds.
func EachDemo(t *testing.T, f func(s *Site)) {
	t.Helper()
	dbtest.Abreast(t, func(t *testing.T, e db.Engine) { f(DemoOn(t, e)) })
}

// InTurn is EachDemo on one engine after the other, for tests that set the
// environment.
func InTurn(t *testing.T, f func(s *Site)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(DemoOn(t, db.SQLite)) })
	t.Run("postgresql", func(t *testing.T) { f(DemoOn(t, db.PostgreSQL)) })
}

// SiteOn is a site with a copy of a migrated database: migrating takes longer
// than most tests do.
func SiteOn(t *testing.T, e db.Engine) *Site {
	t.Helper()
	s, o := Embedded(t), dbtest.Options(t, e)
	if s.DSN = o.URL; s.DSN == "" {
		s.takeData(o.Dir)
	}
	return s
}

// DemoOn is a site with a copy of a database with the sample of the
// demonstration, and its master key where a server keeps it.
func DemoOn(t *testing.T, e db.Engine) *Site {
	t.Helper()
	s, c := Embedded(t), testkit.Demonstration(t, e, demo.Sample)
	s.DSN = c.DatabaseURL
	s.takeData(c.Data)
	s.File(s.MasterKeyFile(), c.MasterKey+"\n")
	return s
}

// takeData makes dir the data directory, with the mode that the program gives it.
func (s *Site) takeData(dir string) {
	s.Helper()
	if err := errors.Join(os.Chmod(dir, 0o700), os.Rename(dir, s.Data)); err != nil {
		s.Fatal(err)
	}
}

// Embedded is a site of SQLite where nothing is yet, not even the directory.
func Embedded(t *testing.T) *Site {
	return &Site{T: t, Data: filepath.Join(t.TempDir(), "data")}
}

// File writes a file for its owner alone and returns its path, which it chooses
// where none is given.
func (s *Site) File(path, text string) string {
	s.Helper()
	if path == "" {
		path = filepath.Join(s.TempDir(), "file")
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// MasterKeyFile is where the site's key is, which every node of a fleet has.
func (s *Site) MasterKeyFile() string { return filepath.Join(s.Data, "master.key") }
