package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// handleOf returns the sqlite3* of a driver's connection. The driver watches a
// context only until a query's first row; a filter that finds its second row
// after minutes must be ended as well.
func handleOf(c driver.Conn) (uintptr, error) {
	v := reflect.ValueOf(c)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if f := v.Elem().FieldByName("db"); f.Kind() == reflect.Uintptr && f.Uint() != 0 {
			return uintptr(f.Uint()), nil
		}
	}
	return 0, fmt.Errorf("db: the SQLite driver's connection has no handle that statements could be ended by")
}

// watch ends what a connection runs, once its context has ended or its timer
// has.
type watch struct {
	c     *liteConn
	timer *time.Timer
	leave func() bool
	mu    sync.Mutex
	over  bool
}

func (c *liteConn) watchStatement(ctx context.Context, longest time.Duration) *watch {
	w := &watch{c: c}
	w.timer = time.AfterFunc(longest, w.interruptUntilStopped)
	w.leave = context.AfterFunc(ctx, w.interruptUntilStopped)
	return w
}

// interruptUntilStopped interrupts until stop is called: SQLite forgets an interrupt that comes
// between two statements (sqlite.org/c3ref/interrupt.html).
func (w *watch) interruptUntilStopped() {
	for w.interruptOnce() {
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *watch) interruptOnce() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		lib.Xsqlite3_interrupt(nil, w.c.handle) // stores one flag; no thread is needed for it
	}
	return !w.over
}

func (w *watch) stopWatching() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.timer.Stop()
	w.leave()
}

// isInterrupted reports a statement that was ended; when it was writing, SQLite
// has undone its whole transaction.
func isInterrupted(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == liteInterrupt
}
