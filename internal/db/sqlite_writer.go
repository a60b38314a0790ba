package db

import (
	"context"
	"fmt"
	"time"
)

// writeJob is one Write waiting for the group committer.
type writeJob struct {
	ctx   context.Context
	scope Scope
	fn    func(*Tx) error
	state chan struct{} // holds one token until somebody starts or abandons the job
	reply chan error
	after []func()
}

func (l *lite) write(ctx context.Context, s Scope, fn func(*Tx) error) (after []func(), err error) {
	defer func() {
		if recover() != nil { // the writes channel is closed: shutting down
			err = unavailable(nil, "57P01", "the server is stopping")
		}
	}()
	if l.gone.Load() {
		return nil, l.lost()
	}
	j := &writeJob{ctx: ctx, scope: s, fn: fn, state: make(chan struct{}, 1), reply: make(chan error, 1)}
	j.state <- struct{}{}
	select {
	case l.writes <- j:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case err := <-j.reply:
		return j.after, err
	case <-ctx.Done():
	}
	select {
	case <-j.state:
		return nil, ctx.Err() // never started
	default:
		err := <-j.reply // running: its outcome is the truth
		return j.after, err
	}
}

// A group is closed after this many jobs or this long, whichever is first.
const (
	groupJobs = 64
	groupTime = 4 * time.Millisecond
)

// writeLoop owns the writing connection. Writes that wait together share one
// transaction and one fsync, each inside its own savepoint.
func (l *lite) writeLoop() {
	defer close(l.done)
	for j := range l.writes {
		l.group(j)
	}
}

func (l *lite) group(first *writeJob) {
	if err := l.writer.exec("BEGIN IMMEDIATE"); err != nil {
		first.finish(err)
		return
	}
	var waiting []*writeJob
	var broken error
	deadline := time.Now().Add(groupTime)
	for j := first; j != nil && broken == nil; j = l.next(len(waiting), deadline) {
		err, fatal := l.inSavepoint(j)
		switch {
		case fatal != nil:
			broken = fatal
			waiting = append(waiting, j)
		case err != nil:
			j.finish(err)
		default:
			waiting = append(waiting, j)
		}
	}
	if broken == nil {
		broken = l.writer.exec("COMMIT")
	}
	if broken != nil {
		l.writer.exec("ROLLBACK")
	}
	for _, j := range waiting {
		j.finish(broken)
	}
}

func (l *lite) next(n int, deadline time.Time) *writeJob {
	if n >= groupJobs || time.Now().After(deadline) {
		return nil
	}
	select {
	case j := <-l.writes:
		return j
	default:
		return nil
	}
}

func (j *writeJob) finish(err error) { j.reply <- err }

// inSavepoint runs one job. err is the job's own failure, undone alone; fatal
// means the shared transaction is gone (disk full, I/O error).
func (l *lite) inSavepoint(j *writeJob) (err, fatal error) {
	select {
	case <-j.state:
	default:
		return nil, nil // abandoned by its caller before it began
	}
	if j.ctx.Err() != nil {
		return j.ctx.Err(), nil
	}
	if err := l.writer.exec("SAVEPOINT w"); err != nil {
		return nil, err
	}
	err = l.runJob(j)
	if err != nil {
		if undo := l.writer.exec("ROLLBACK TO w"); undo != nil {
			return nil, err
		}
	}
	if release := l.writer.exec("RELEASE w"); release != nil {
		return nil, release
	}
	return err, nil
}

func (l *lite) runJob(j *writeJob) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("db: panic in a transaction: %v", p)
		}
	}()
	// A context that ends must not interrupt statements: SQLite would undo the
	// whole group. The job is asked between statements instead.
	tx := &Tx{ctx: j.ctx, scope: j.scope, db: l.db}
	tx.run = func(q []stmt) error {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		return l.writer.runAll(context.Background(), q)
	}
	if err := j.fn(tx); err != nil {
		return err
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	j.after = tx.after
	return nil
}
