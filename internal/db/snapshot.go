package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// A Snapshot is a copy of a whole database at one moment, as one file.
type Snapshot struct {
	Engine  Engine
	Version string           // of the engine
	Schema  int              // newest migration in it
	Counts  map[string]int64 // rows by table
}

// snapshotTime bounds one statement over the whole database.
const snapshotTime = 6 * time.Hour

// Copy writes the database as it is at one moment to path, which must not
// exist: an SQLite database, or an archive of pg_dump. It works beside a running
// server and whatever the version of the schema is. On an error path may hold a
// part. The copy is not made durable: whoever makes a small write durable
// meanwhile would wait for all of it.
func Copy(ctx context.Context, o Options, path string) (Snapshot, error) {
	if o.URL != "" {
		return dumpPostgres(ctx, o.URL, path)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, FileName)); err != nil {
		return Snapshot{}, fmt.Errorf("db: there is no database in %s: %w", o.Dir, err)
	}
	f, err := joinDir(o.Dir)
	if err != nil {
		return Snapshot{}, err
	}
	defer f.Close()
	if err := vacuumInto(ctx, filepath.Join(o.Dir, FileName), path); err != nil {
		return Snapshot{}, err
	}
	return Examine(ctx, path)
}

func vacuumInto(ctx context.Context, from, to string) error {
	c, err := (&lite{path: from}).openConn("-2000")
	if err != nil {
		return err
	}
	defer c.closeConn()
	// A VACUUM makes its copy as durable as its connection is. That is asked for anew
	// before the end: closing may write the log back.
	if err := c.execText("PRAGMA synchronous = OFF"); err != nil {
		return fmt.Errorf("db: copy the database: %w", classifyError(err))
	}
	err = c.runAll(ctx, snapshotTime, []stmt{{sql: "VACUUM INTO $1", args: []any{to}}})
	err = errors.Join(err, c.execText("PRAGMA synchronous = FULL"))
	if err != nil {
		return fmt.Errorf("db: copy the database: %w", classifyError(err))
	}
	return os.Chmod(to, 0o600)
}

// Examine reads all of a database that nobody uses: pages, indexes and
// references agree, and it says what is in it. It neither migrates nor writes.
func Examine(ctx context.Context, path string) (Snapshot, error) {
	out := Snapshot{Engine: SQLite, Counts: map[string]int64{}}
	c, err := (&lite{path: path, apart: true}).openConn("-8000")
	if err != nil {
		return out, err
	}
	defer c.closeConn()
	if err := c.checkIntegrity(ctx); err != nil {
		return out, err
	}
	var tables []string
	err = c.runAll(ctx, snapshotTime, []stmt{
		{sql: "SELECT sqlite_version()", each: func(r *Row) error { out.Version = r.Text(0); return nil }},
		{sql: schemaVersion, each: func(r *Row) error { out.Schema = int(r.Int(0)); return nil }},
		{sql: `
			SELECT name
			FROM sqlite_master
			WHERE type = 'table'
				AND name NOT LIKE 'sqlite%'
			ORDER BY name`,
			each: func(r *Row) error { tables = append(tables, r.Text(0)); return nil }},
	})
	if err != nil {
		return out, fmt.Errorf("db: read the schema: %w", classifyError(err))
	}
	for _, t := range tables {
		err := c.runAll(ctx, snapshotTime, []stmt{{sql: "SELECT COUNT(*) FROM " + t, each: func(r *Row) error {
			out.Counts[t] = r.Int(0)
			return nil
		}}})
		if err != nil {
			return out, fmt.Errorf("db: count %s: %w", t, classifyError(err))
		}
	}
	return out, nil
}

// Sound reads all of the embedded database of a data directory, beside a server
// or without one, and fails when a page, an index or a reference is damaged.
func Sound(ctx context.Context, dir string) error {
	f, err := joinDir(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := (&lite{path: filepath.Join(dir, FileName)}).openConn("-8000")
	if err != nil {
		return err
	}
	defer c.closeConn()
	return c.checkIntegrity(ctx)
}

// checkIntegrity fails when SQLite finds damage or a row whose reference leads nowhere.
func (c *liteConn) checkIntegrity(ctx context.Context) error {
	var said []string
	note := func(r *Row) error {
		if text := r.Text(0); text != "ok" && len(said) < 5 {
			said = append(said, text)
		}
		return nil
	}
	err := c.runAll(ctx, snapshotTime, []stmt{
		{sql: "PRAGMA quick_check(5)", each: note},
		{sql: `
			SELECT 'row ' || coalesce(rowid, 0) || ' of ' || "table" || ' points to a missing row of ' || parent
			FROM pragma_foreign_key_check
			LIMIT 5`, each: note},
	})
	if err != nil {
		return fmt.Errorf("db: check the database: %w", classifyError(err))
	}
	if len(said) > 0 {
		return fmt.Errorf("db: the database is damaged: %v", said)
	}
	return nil
}

// Compare names the tables whose rows two snapshots do not have alike.
func (s Snapshot) Compare(other map[string]int64) error {
	var errs []error
	all := maps.Clone(s.Counts)
	maps.Copy(all, other)
	for t := range all {
		if s.Counts[t] != other[t] {
			errs = append(errs, fmt.Errorf("%s has %d rows, the copy was made of %d", t, s.Counts[t], other[t]))
		}
	}
	return errors.Join(errs...)
}

// Take holds the lock of the data directory of the embedded engine, which keeps
// servers out, until the result is closed. It fails while one runs.
func Take(dir string) (*os.File, error) { return lockDir(dir) }
