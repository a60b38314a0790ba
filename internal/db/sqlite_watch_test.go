package db

import (
	"context"
	"sync"
	"testing"
	"time"

	"holdfast/internal/fault"
)

// forever finds its first row at once and looks for the second for ever.
const forever = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c WHERE n = 1 OR n < 0"

// A statement that takes too long, or whose caller has gone, is ended; it frees
// its connection for others.
func TestLongReads(t *testing.T) {
	d := openTest(t)
	l := d.eng.(*lite)
	l.longest = 100 * time.Millisecond
	for range 2 * l.size {
		err := d.Read(t.Context(), Scope{}, func(tx *Tx) error {
			return tx.Query(forever, nil,
				func(*Row) error { return nil })
		})
		if f := fault.As(err); f.Code != "57014" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
			t.Fatalf("a statement without end: %v", err)
		}
	}
	// Maintenance has its time: it ends when its caller does.
	waiting, leave := context.WithCancel(Patient(t.Context(), time.Hour))
	start := time.Now()
	time.AfterFunc(5*l.longest, leave)
	err := d.Read(waiting, Scope{}, func(tx *Tx) error { return tx.Query(forever, nil, func(*Row) error { return nil }) })
	if took := time.Since(start); fault.As(err).Code != "57014" || took < 5*l.longest {
		t.Errorf("a patient statement: %v after %v", err, took)
	}
	l.longest = time.Hour
	ctx, leave := context.WithCancel(t.Context())
	err = d.Read(ctx, Scope{}, func(tx *Tx) error {
		return tx.Query(forever, nil,
			func(*Row) error { leave(); return nil })
	})
	if f := fault.As(err); f.Code != "57014" {
		t.Errorf("its caller has gone: %v", err)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Where all connections are busy for long a read is refused.
func TestBusyReaders(t *testing.T) {
	d := openTest(t)
	l := d.eng.(*lite)
	l.patience = 50 * time.Millisecond
	for range l.size {
		<-l.readers.free
		defer l.readers.putBack(l.readers.takeIdle())
	}
	f := fault.As(d.Read(t.Context(), Scope{}, func(*Tx) error { return nil }))
	if f.Code != "53300" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("got %v", f)
	}
}

// A write that takes too long fails alone, whether those who share its
// transaction have savepoints or not, and whether writes are rehearsed or not.
func TestLongWrites(t *testing.T) {
	for name, way := range map[string]struct {
		careful  int
		rehearse bool
	}{
		"together":                {0, false},
		"in savepoints":           {carefulGroups, false},
		"rehearsed":               {0, true},
		"rehearsed in savepoints": {carefulGroups, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := openTest(t)
			l := d.eng.(*lite)
			l.rehearse = way.rehearse // nothing runs yet
			write := func(sql string, args ...any) error {
				return d.Write(t.Context(), Scope{}, func(tx *Tx) error { _, err := tx.Exec(sql, args...); return err })
			}
			if err := write("create table t (n bigint primary key)"); err != nil {
				t.Fatal(err)
			}
			hold, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			answers := make([]chan error, 4)
			ask := func(n int, fn func() error) {
				answers[n] = make(chan error, 1)
				go func() { answers[n] <- fn() }()
			}
			ask(0, func() error {
				return d.Write(t.Context(), Scope{}, func(*Tx) error { once.Do(func() { close(hold) }); <-release; return nil })
			})
			<-hold
			for n := 1; n < 4; n++ {
				ask(n, func() error {
					if n == 2 {
						return write("INSERT INTO t " + forever + " LIMIT 2")
					}
					return write("INSERT INTO t VALUES ($1)", 10+n)
				})
				for len(l.writes) < n {
					time.Sleep(time.Millisecond)
				}
			}
			l.careful, l.longest = way.careful, 2*time.Second // nothing runs now
			close(release)
			for n, answer := range answers {
				if err := <-answer; (err != nil) != (n == 2) || n == 2 && fault.As(err).Code != "57014" {
					t.Errorf("write %d: %v", n, err)
				}
			}
			var left []int64
			if err := d.Read(t.Context(), Scope{}, func(tx *Tx) error {
				return tx.Query("SELECT n FROM t ORDER BY n", nil, func(r *Row) error { left = append(left, r.Int(0)); return nil })
			}); err != nil || len(left) != 2 || left[0] != 11 || left[1] != 13 {
				t.Errorf("rows %v, %v", left, err)
			}
		})
	}
}

// One caller at a time has one connection, whose caches alone it fills.
func TestReaderStaysWarm(t *testing.T) {
	d := openTest(t)
	l := d.eng.(*lite)
	used := map[*liteConn]bool{}
	for range 3 * l.size {
		c, err := l.waitForReader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		used[c] = true
		l.readers.putBack(c)
	}
	if len(used) != 1 {
		t.Errorf("one caller used %d connections", len(used))
	}
}
