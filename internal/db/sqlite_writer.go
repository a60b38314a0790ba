package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// writeJob is one Write waiting for the group committer.
type writeJob struct {
	ctx   context.Context
	scope Scope
	fn    func(*Tx) error
	state chan struct{} // holds one token until somebody starts or abandons the job
	reply chan error
	tx    *Tx   // of the last run
	err   error // of the last run
}

func (l *lite) write(ctx context.Context, s Scope, fn func(*Tx) error) (_ *Tx, err error) {
	defer func() {
		if recover() != nil { // the writes channel is closed: shutting down
			err = unavailableFault(nil, "57P01", "the server is stopping")
		}
	}()
	// What were acknowledged after the file was moved would be in no database.
	if err := l.checkFileInPlace(); err != nil {
		return nil, err
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
		return j.tx, err
	case <-ctx.Done():
	}
	select {
	case <-j.state:
		return nil, ctx.Err() // never started
	default:
		err := <-j.reply // running: its outcome is the truth
		return j.tx, err
	}
}

// A group is closed after this many jobs or this long, whichever is first.
const (
	groupJobs = 64
	groupTime = 8 * time.Millisecond
)

// gatherTime is how long a group waits for more jobs when the one before had
// several: callers who were just answered are about to ask again, and half as
// many commits write half as many pages.
const gatherTime = 500 * time.Microsecond

// writeLoop owns the writing connection. Writes that wait together share one
// transaction and one fsync.
func (l *lite) writeLoop() {
	defer close(l.done)
	for {
		select {
		case j, ok := <-l.writes:
			if !ok {
				return
			}
			l.runGroup(j)
		case turn := <-l.turns:
			turn()
		}
	}
}

// runGroup runs first and what waits behind it, and commits; then all are answered.
// One that fails waits as well: what it read, and was refused for, may be what
// those before it wrote, which nobody else sees until the commit and which may
// never come. Savepoints would let each job fail alone, but copy every page that a job changes. So jobs run
// without, and when one fails that has written, all is undone and the others
// run again, inside savepoints; as do the next groups, so that a caller whose
// writes all fail does not make everybody work twice.
func (l *lite) runGroup(first *writeJob) {
	g := group{l: l, careful: l.careful > 0}
	if g.careful {
		l.careful--
	}
	if err := l.writer.execText("BEGIN IMMEDIATE"); err != nil {
		first.replyWith(err)
		return
	}
	var broken error
	deadline := time.Now().Add(l.groupTime)
	for j := first; j != nil; j = l.nextJob(len(g.jobs), deadline) {
		if broken = g.runJob(j); broken != nil {
			break // before the next is taken: nobody would answer it
		}
	}
	l.gathered = len(g.jobs)
	if broken == nil {
		broken = l.writer.execText("COMMIT")
	}
	if broken != nil {
		l.writer.execText("ROLLBACK")
	}
	for _, j := range g.jobs {
		j.replyWith(cmp.Or(broken, j.err))
	}
}

// carefulGroups is how many groups use savepoints after one had to start over.
const carefulGroups = 64

func (l *lite) nextJob(n int, deadline time.Time) *writeJob {
	if n >= groupJobs || time.Now().After(deadline) {
		return nil
	}
	select {
	case j := <-l.writes:
		return j
	default:
	}
	if l.gathered < 2 || n > l.gathered*3/2 {
		return nil
	}
	wait := time.NewTimer(gatherTime)
	defer wait.Stop()
	select {
	case j := <-l.writes:
		return j
	case <-wait.C:
		return nil
	}
}

func (j *writeJob) replyWith(err error) {
	if err != nil {
		j.undoJob()
	}
	j.reply <- err
}

func (j *writeJob) undoJob() {
	if j.tx != nil {
		j.tx.runUndo()
		j.tx = nil
	}
}

// takeFromCaller takes the job from its caller, who may have given it up.
func (j *writeJob) takeFromCaller() bool {
	select {
	case <-j.state:
		return true
	default:
		return false
	}
}

// group is the jobs of one transaction that wait for its commit.
type group struct {
	l       *lite
	jobs    []*writeJob
	careful bool
}

// runJob runs one job. What it returns is fatal: the shared transaction is gone
// (disk full, I/O error), and with it every job.
func (g *group) runJob(j *writeJob) error {
	if !j.takeFromCaller() {
		return nil
	}
	if g.l.rehearse {
		if err := g.rehearseJob(j); err != nil {
			j.replyWith(err) // what it did ended the transaction of those before it along
			return g.runAllAgain()
		}
	}
	if g.careful {
		return g.inSavepoint(j)
	}
	wrote, err := g.l.runJob(j)
	switch {
	case err == nil:
		g.jobs = append(g.jobs, j)
	case !wrote && !g.isTransactionAlive():
		j.replyWith(err)
		return err
	case !wrote:
		g.refuseJob(j, err)
	case !slices.ContainsFunc(g.jobs, func(j *writeJob) bool { return j.err == nil }):
		g.refuseJob(j, err)
		return g.restartTransaction()
	default:
		g.refuseJob(j, err)
		return g.runAllAgain()
	}
	return nil
}

// refuseJob has a job answered with its error when the others are committed.
func (g *group) refuseJob(j *writeJob, err error) {
	j.undoJob()
	j.err = err
	g.jobs = append(g.jobs, j)
}

// rehearseJob runs a job and undoes it, as happens to those that share their
// transaction with one that fails: whatever it leaves outside shows in tests. An
// error means that the shared transaction is gone.
func (g *group) rehearseJob(j *writeJob) error {
	w := g.l.writer
	if err := w.execText("SAVEPOINT rehearsal"); err != nil {
		return err
	}
	_, failed := g.l.runJob(j) // which comes again, unless it ended the transaction
	j.undoJob()
	if err := w.execText("ROLLBACK TO rehearsal"); err != nil {
		return cmp.Or(failed, err)
	}
	return w.execText("RELEASE rehearsal")
}

// isTransactionAlive reports whether the shared transaction is still there: some errors end
// it whatever the statement was (sqlite.org/lang_transaction.html, 3.1), and what
// came after would be committed statement by statement.
func (g *group) isTransactionAlive() bool {
	if g.l.writer.execText("BEGIN") != nil {
		return true // there is one to be within
	}
	g.l.writer.execText("ROLLBACK")
	return false
}

func (g *group) restartTransaction() error {
	g.l.writer.execText("ROLLBACK") // SQLite may have done so itself
	return g.l.writer.execText("BEGIN IMMEDIATE")
}

// runAllAgain runs the jobs so far once more, each inside its own savepoint: those that
// failed too, since what they were refused for may turn out otherwise.
func (g *group) runAllAgain() error {
	g.careful, g.l.careful = true, carefulGroups
	jobs := g.jobs
	g.jobs = nil
	for _, j := range jobs {
		j.undoJob()
		j.err = nil
	}
	fatal := g.restartTransaction()
	for _, j := range jobs {
		if fatal != nil {
			g.jobs = append(g.jobs, j)
			continue
		}
		fatal = g.inSavepoint(j)
	}
	return fatal
}

// inSavepoint runs one job so that its failure is undone alone.
func (g *group) inSavepoint(j *writeJob) error {
	w := g.l.writer
	fatal := w.execText("SAVEPOINT w")
	if fatal == nil {
		var err error
		if _, err = g.l.runJob(j); err != nil {
			if undo := w.execText("ROLLBACK TO w"); undo != nil && isInterrupted(err) {
				j.replyWith(err) // it took too long, and the transaction of those before it along
				return g.runAllAgain()
			} else if undo != nil {
				fatal = err
			}
		}
		if fatal == nil {
			fatal = w.execText("RELEASE w")
		}
		if fatal == nil && err != nil {
			g.refuseJob(j, err)
			return nil
		}
	}
	g.jobs = append(g.jobs, j)
	return fatal
}

// runJob runs a job's function and reports whether it may have
// written.
func (l *lite) runJob(j *writeJob) (wrote bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("db: panic in a transaction: %v", p)
		}
	}()
	if err := j.ctx.Err(); err != nil {
		return false, err
	}
	// A context that ends must not interrupt statements: SQLite would undo the
	// whole group. The job is asked between statements instead.
	tx := &Tx{ctx: j.ctx, scope: j.scope, db: l.db}
	j.tx = tx
	var ended error // by the time limit, and with it the transaction
	tx.run = func(q []stmt) error {
		if err := cmp.Or(ended, j.ctx.Err()); err != nil {
			return err
		}
		wrote = wrote || slices.ContainsFunc(q, func(s stmt) bool { return !strings.HasPrefix(s.sql, "SELECT") })
		err := l.writer.runAll(context.Background(), longestStatement(j.ctx, l.longest), q)
		if isInterrupted(err) {
			ended = err
		}
		return err
	}
	if err := j.fn(tx); err != nil {
		return wrote, err
	}
	return wrote, cmp.Or(tx.Flush(), ended)
}
