package db

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// When SQLite itself ends the shared transaction, nobody's writes go on outside
// of it: those before it fail, those after it have a new one.
func TestGroupLosesItsTransaction(t *testing.T) {
	d := openTest(t)
	ctx := context.Background()
	l := d.eng.(*lite)
	l.groupTime = time.Hour // the three are one group however busy the machine is
	if err := d.Write(ctx, Scope{}, func(tx *Tx) error {
		_, err := tx.Exec("create table t (n bigint primary key)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	insert := func(n int) error {
		return d.Write(ctx, Scope{}, func(tx *Tx) error { _, err := tx.Exec("INSERT INTO t VALUES ($1)", n); return err })
	}
	release, hold := make(chan struct{}), make(chan struct{})
	results := make([]error, 3)
	var all sync.WaitGroup
	all.Go(func() { d.Write(ctx, Scope{}, func(*Tx) error { close(hold); <-release; return nil }) })
	<-hold
	queue := func(n int, fn func() error) {
		all.Go(func() { results[n] = fn() })
		for len(l.writes) <= n {
			time.Sleep(time.Millisecond)
		}
	}
	queue(0, func() error { return insert(0) })
	queue(1, func() error {
		return d.Write(ctx, Scope{}, func(*Tx) error { l.writer.execText("ROLLBACK"); return errors.New("disk I/O error") })
	})
	queue(2, func() error { return insert(2) })
	close(release)
	all.Wait()
	if results[0] == nil || results[1] == nil || results[2] != nil {
		t.Errorf("results %v", results)
	}
	var left []int64
	if err := d.Read(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query("SELECT n FROM t ORDER BY n", nil, func(r *Row) error { left = append(left, r.Int(0)); return nil })
	}); err != nil || len(left) != 1 || left[0] != 2 {
		t.Errorf("rows %v, %v: what was refused was kept", left, err)
	}
}

// What runs again leaves nothing of its first run: neither rows nor what its
// function noted outside, and After is called for the run that was committed.
func TestGroupStartsOver(t *testing.T) {
	d := openTest(t)
	ctx := context.Background()
	write := func(fn func(*Tx) error) error { return d.Write(ctx, Scope{}, fn) }
	if err := write(func(tx *Tx) error {
		_, err := tx.Exec("create table t (n bigint primary key)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	veto := errors.New("veto")
	const writers = 50
	var runs, told, noted atomic.Int64
	insert := func(n int, veto error) error {
		return write(func(tx *Tx) error {
			runs.Add(1)
			noted.Add(1)
			tx.Undone(func() { noted.Add(-1) })
			tx.After(func() { told.Add(1) })
			if _, err := tx.Exec("INSERT INTO t VALUES ($1)", n); err != nil {
				return err
			}
			return veto
		})
	}
	for round := 0; runs.Load() == int64(round*(writers+1)); round++ {
		if round == 200 {
			t.Fatal("no group ever started over")
		}
		release, hold := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { write(func(*Tx) error { close(hold); <-release; return nil }) })
		<-hold
		for i := range writers {
			all.Go(func() {
				if err := insert(round*writers+i, nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if err := insert(-1, veto); !errors.Is(err, veto) {
				t.Errorf("got %v", err)
			}
		})
		for len(d.eng.(*lite).writes) < writers {
			time.Sleep(time.Millisecond)
		}
		close(release)
		all.Wait()
		var rows int64
		if err := d.Read(ctx, Scope{}, func(tx *Tx) error {
			return tx.One("SELECT COUNT(*) FROM t", nil, func(r *Row) error { rows = r.Int(0); return nil })
		}); err != nil {
			t.Fatal(err)
		}
		if want := int64((round + 1) * writers); rows != want || told.Load() != want || noted.Load() != want {
			t.Fatalf("%d rows, %d told, %d noted, want %d of each", rows, told.Load(), noted.Load(), want)
		}
		d.eng.(*lite).careful = 0 // nothing runs now
	}
}

// In a rehearsing database a write's function runs twice and counts once: what
// it leaves behind outside its transaction shows.
func TestRehearsal(t *testing.T) {
	ctx := context.Background()
	d, err := Open(ctx, Options{Dir: t.TempDir(), Migrate: true, Rehearse: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	runs, undone, after := 0, 0, 0
	for i := range 3 {
		err := d.Write(ctx, Scope{All: true}, func(tx *Tx) error {
			runs++
			tx.Undone(func() { undone++ })
			tx.After(func() { after++ })
			if _, err := tx.Exec("INSERT INTO probes (name, beat) VALUES ($1, 0)", string(rune('a'+i))); err != nil {
				return err
			}
			if i == 1 {
				return errors.New("no")
			}
			return nil
		})
		if (err != nil) != (i == 1) {
			t.Errorf("write %d: %v", i, err)
		}
	}
	rows := 0
	err = d.Read(ctx, Scope{All: true}, func(tx *Tx) error {
		return tx.Query("SELECT name FROM probes", nil, func(*Row) error { rows++; return nil })
	})
	if err != nil || rows != 2 || runs != 6 || undone != 4 || after != 2 {
		t.Errorf("%d rows of %d runs, %d undone, %d followed: %v", rows, runs, undone, after, err)
	}
}

// Who is refused for what another of the same group wrote is answered when that
// can be seen by everybody, not before, whether the group uses savepoints or not.
func TestGroupRefusesAfterItsCommit(t *testing.T) {
	for name, careful := range map[string]int{"together": 0, "in savepoints": carefulGroups} {
		t.Run(name, func(t *testing.T) {
			d := openTest(t)
			ctx := context.Background()
			l := d.eng.(*lite)
			l.groupTime = time.Hour // all are one group however busy the machine is
			write := func(fn func(*Tx) error) error { return d.Write(ctx, Scope{}, fn) }
			if err := write(func(tx *Tx) error { _, err := tx.Exec("create table t (n bigint primary key)"); return err }); err != nil {
				t.Fatal(err)
			}
			count := func(tx *Tx) (n int64, err error) {
				err = tx.One("SELECT COUNT(*) FROM t", nil, func(r *Row) error { n = r.Int(0); return nil })
				return n, err
			}
			l.careful = careful // nothing runs now
			there := errors.New("it is there already")
			release, hold, told := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var all sync.WaitGroup
			queue := func(n int, fn func()) {
				all.Go(fn)
				for len(l.writes) < n {
					time.Sleep(time.Millisecond)
				}
			}
			all.Go(func() { write(func(*Tx) error { close(hold); <-release; return nil }) })
			<-hold
			queue(1, func() {
				if err := write(func(tx *Tx) error { _, err := tx.Exec("INSERT INTO t VALUES (1)"); return err }); err != nil {
					t.Error(err)
				}
			})
			queue(2, func() {
				defer close(told)
				err := write(func(tx *Tx) error {
					if n, err := count(tx); err != nil || n == 0 {
						return err
					}
					return there
				})
				if !errors.Is(err, there) {
					t.Errorf("the second: %v", err)
				}
				var seen int64
				if err := d.Read(ctx, Scope{}, func(tx *Tx) (err error) { seen, err = count(tx); return err }); err != nil ||
					seen != 1 {
					t.Errorf("refused for a row of which others see %d: %v", seen, err)
				}
			})
			queue(3, func() {
				write(func(*Tx) error { // keeps the group open for an answer that comes too early
					select {
					case <-told:
					case <-time.After(100 * time.Millisecond):
					}
					return nil
				})
			})
			close(release)
			all.Wait()
		})
	}
}
