package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/internal/db/wal"
)

// ShippedName is the file of a data directory that says how far the log of its
// embedded database is shipped. While it is there no process but the server
// writes the log back, which would overwrite what is not shipped yet.
const ShippedName = "backup-log.json"

func shippedIn(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ShippedName))
	return err == nil
}

var errNoLog = errors.New("db: PostgreSQL ships its own log")

// Changes finds what was committed since a position of the embedded engine's log.
// It fails with wal.ErrGap. Close the result.
func (d *DB) Changes(from wal.Position) (*wal.Changes, error) {
	l, ok := d.eng.(*lite)
	if !ok {
		return nil, errNoLog
	}
	return wal.Read(l.path+wal.Suffix, from)
}

// Checkpoint writes the embedded engine's log back into the database, between two
// groups of writes. last is called before, when nothing more can be committed; on
// its error nothing is written back. All reports whether everything was, so that
// the next write begins the log anew.
func (d *DB) Checkpoint(ctx context.Context, last func() error) (all bool, err error) {
	l, ok := d.eng.(*lite)
	if !ok {
		return false, errNoLog
	}
	over := make(chan struct{})
	turn := func() {
		defer close(over)
		if err = last(); err != nil {
			return
		}
		var logged, written int64
		err = l.writer.queryRows("PRAGMA wal_checkpoint(PASSIVE)", nil, func(r *Row) error {
			logged, written = r.Int(1), r.Int(2)
			return nil
		})
		all = err == nil && logged == written
	}
	select {
	case l.turns <- turn:
		<-over
		return all, err
	case <-l.done:
		return false, unavailableFault(nil, "57P01", "the server is stopping")
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// AtEnd has f called when the database is closed: behind the last write, and before
// the log is written back.
func (d *DB) AtEnd(f func()) {
	if l, ok := d.eng.(*lite); ok {
		l.atEnd = f
	}
}

// CopyFile writes the embedded database's file to w as it lies there, without its
// log. While it is at it nobody may write the log back; it fails when somebody did.
func (d *DB) CopyFile(ctx context.Context, w io.Writer) error {
	l, ok := d.eng.(*lite)
	if !ok {
		return errNoLog
	}
	before, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("db: copy the database: %w", err)
	}
	in := io.NewSectionReader(l.file, 0, before.Size())
	for b := make([]byte, 1<<20); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := in.Read(b)
		if _, err := w.Write(b[:n]); err != nil {
			return fmt.Errorf("db: copy the database: %w", err)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("db: copy the database: %w", err)
		}
	}
	after, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("db: copy the database: %w", err)
	}
	if !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		return errors.New("db: the database was written to past the server while it was copied")
	}
	return nil
}

// A Keeper keeps the log of an embedded database where it is: SQLite writes it back
// and removes it when the last connection is closed, one that only looked at the
// schema too. Open takes it over.
type Keeper struct{ c *liteConn }

// Keep begins to keep the log of a data directory; nil when there is no database.
func Keep(dir string) (*Keeper, error) {
	path := filepath.Join(dir, FileName)
	if st, err := os.Stat(path); err != nil || st.Size() == 0 {
		return nil, nil
	}
	if err := checkWholeFile(path); err != nil {
		return nil, err
	}
	c, err := (&lite{path: path, shipped: true}).openConn("-2000")
	if err != nil {
		return nil, err
	}
	if err := c.queryRows("SELECT COUNT(*) FROM sqlite_master", nil, func(*Row) error { return nil }); err != nil {
		c.closeConn()
		return nil, fmt.Errorf("db: read the schema: %w", classifyError(err))
	}
	return &Keeper{c}, nil
}

// Close lets the log go.
func (k *Keeper) Close() error {
	if k != nil && k.c != nil {
		k.c.closeConn()
		k.c = nil
	}
	return nil
}

// Standing tells one state of a database file that nobody has open from every
// later one, "" where there is none.
func Standing(dir string) string {
	st, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil {
		return ""
	}
	if log, err := os.Stat(filepath.Join(dir, FileName+wal.Suffix)); err == nil && log.Size() > 0 {
		return ""
	}
	return fmt.Sprintf("%d bytes of %s", st.Size(), st.ModTime().UTC().Format(time.RFC3339Nano))
}
