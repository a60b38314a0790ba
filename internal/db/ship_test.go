package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/db/wal"
)

// A copy of the database file that is given every change in turn is the file, byte
// for byte, whatever was written and whenever the log was written back.
func TestChanges(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(t.Context(), Options{Dir: dir, Exclusive: true, Shipped: true, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	exec := func(sql string, args ...any) {
		t.Helper()
		err := d.Write(t.Context(), Scope{All: true}, func(tx *Tx) error { _, err := tx.Exec(sql, args...); return err })
		if err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE pieces (id INTEGER PRIMARY KEY, text TEXT)")
	var copied bytes.Buffer
	if err := d.CopyFile(t.Context(), &copied); err != nil {
		t.Fatal(err)
	}
	file := copied.Bytes()
	var at wal.Position
	follow := func(c *wal.Changes) {
		t.Helper()
		if c.Pages == 0 {
			return
		}
		if size := int(c.Pages) * c.PageSize; size > len(file) {
			file = append(file, make([]byte, size-len(file))...)
		}
		err := c.Each(func(page uint32, content []byte) error {
			copy(file[int(page-1)*c.PageSize:], content)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		file, at = file[:int(c.Pages)*c.PageSize], c.End
	}
	r := rand.New(rand.NewPCG(1, 2))
	backs := 0
	for i := range 300 {
		switch n := r.IntN(10); {
		case n < 6:
			exec("INSERT INTO pieces (text) VALUES ($1)", fmt.Sprintf("%0*d", 1+r.IntN(9000), i))
		case n < 8:
			exec("DELETE FROM pieces WHERE id % 7 = $1", r.IntN(7))
		case n == 8:
			c, err := d.Changes(at)
			if err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			follow(c)
			c.Close()
		default:
			var rest *wal.Changes
			all, err := d.Checkpoint(t.Context(), func() (err error) {
				if rest, err = d.Changes(at); err != nil {
					return err
				}
				defer rest.Close()
				return rest.Load()
			})
			if err != nil || !all {
				t.Fatalf("step %d: %v %v", i, all, err)
			}
			exec("INSERT INTO pieces (text) VALUES ('over the log')") // what is kept is kept
			follow(rest)
			at.Done = true
			backs++
		}
	}
	_, err = d.Checkpoint(t.Context(), func() error {
		c, err := d.Changes(at)
		if err != nil {
			return err
		}
		defer c.Close()
		follow(c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now, file) || backs < 10 || len(now) < 100_000 {
		t.Errorf("the copy has %d bytes, the database %d, and they differ (%d times written back)", len(file), len(now),
			backs)
	}
}

// A log that somebody wrote back past the server does not go on.
func TestChangesMissed(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(t.Context(), Options{Dir: dir, Exclusive: true, Shipped: true, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	add := func() {
		err := d.Write(t.Context(), Scope{All: true}, func(tx *Tx) error {
			_, err := tx.Exec("CREATE TABLE IF NOT EXISTS pieces (id INTEGER PRIMARY KEY)")
			return errors.Join(err, tx.Flush())
		})
		if err == nil {
			err = d.Write(t.Context(), Scope{All: true}, func(tx *Tx) error {
				_,
					err := tx.Exec("INSERT INTO pieces DEFAULT VALUES")
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add()
	c, err := d.Changes(wal.Position{})
	if err != nil || c.Pages == 0 {
		t.Fatal(c, err)
	}
	c.Close()
	at := c.End
	add()
	other, err := (&lite{path: filepath.Join(dir, FileName)}).openConn("-2000")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.execText("PRAGMA wal_checkpoint(RESTART)"); err != nil {
		t.Fatal(err)
	}
	other.closeConn()
	if c, err := d.Changes(at); err != nil || c.Pages == 0 {
		t.Errorf("nothing was overwritten yet: %v", err)
	}
	add()
	if _, err := d.Changes(at); !errors.Is(err, wal.ErrGap) {
		t.Errorf("overwritten: %v", err)
	}
	if _, err := d.Checkpoint(context.Background(), func() error { return errors.New("no") }); err == nil {
		t.Error("it was written back though it must not be")
	}
}
