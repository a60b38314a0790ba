package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// A Batch is what the transactions of some seconds wrote to the audit log, under one
// number. Once it was closed and its last transaction has ended, nothing of it can still
// be committed, and it can be sealed as a whole: no writer waits for that, and nobody has
// to look for rows that are not sealed yet.
//
// Numbers are of this process alone: it draws an epoch from audit_writers before its first
// write, and counts on from there. A process that dies leaves its epoch behind, and what
// it had not sealed is found by the numbers of the epoch.
type Batch struct {
	No int64
	// Rows are those that were committed for certain, by tenant.
	Rows map[string]int64
	// IsDoubtful says that a commit's outcome is unknown: more rows may still come.
	IsDoubtful bool
	Closed     time.Time // nothing joins it since

	running int // transactions
}

// Rest is what waits of a tenant whose chain took no seal: its rows in a span of batches.
type Rest struct {
	Low, High int64 // numbers of batches
	Rows      int64 // that were committed for certain
}

// epochBits are the lower bits of a batch's number, for most of a day of batches; those above
// them are the epoch. A number fits those of JSON (2^53) until 2041.
const epochBits = 14

// firstEpoch is the moment from which epochs count, in milliseconds: an epoch is that of its
// drawing, so that none comes again, even where audit_writers was emptied.
var firstEpoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// How long a process may be without a sign of life before it writes, and how long it takes to
// give one.
const (
	epochPause  = db.DeadAfter / 2
	mostRenewal = 10 * time.Second
)

// Log is the audit log as this process writes it: the key of its codes, and its batches that
// are not sealed. Its methods may be called by many goroutines.
type Log struct {
	key atomic.Pointer[[]byte]

	mu     sync.Mutex
	epoch  int64 // 0 = none was drawn yet
	last   int64 // number of a batch
	open   *Batch
	ended  []*Batch // closed ones, in the order of their numbers
	rests  map[string]Rest
	joined map[*db.Tx]*joined
	seen   time.Time

	renewal *renewal // that is under way; nil = none is
}

// renewal is a sign of life, or the drawing of an epoch, for which writers wait together.
type renewal struct {
	done chan struct{}
	err  error
}

// joined is a transaction that writes to the log.
type joined struct {
	batch *Batch
	rows  map[string]int64 // by tenant
}

// KeepKey gives the key that rows of a database's log are authenticated with; it is derived from
// the master key, so no row holds it.
func KeepKey(d *db.DB, key []byte) {
	if l := LogOf(d); l != nil {
		l.key.Store(&key)
		return
	}
	l := &Log{joined: map[*db.Tx]*joined{}, rests: map[string]Rest{}}
	l.key.Store(&key)
	d.KeepLog(l)
}

// LogOf returns the log of a database; nil = it is nobody's yet.
func LogOf(d *db.DB) *Log {
	l, _ := d.Log().(*Log)
	return l
}

// keyOf is the key of a database's log; nil = it has none.
func keyOf(d *db.DB) []byte {
	if l := LogOf(d); l != nil {
		return *l.key.Load()
	}
	return nil
}

// FirstBatch is the least number of an epoch, FirstBatch(epoch+1)-1 its greatest.
func FirstBatch(epoch int64) int64 { return epoch << epochBits }

// EpochOf is the epoch of a batch.
func EpochOf(batch int64) int64 { return batch >> epochBits }

// joinBatch notes that the transaction writes a row of a tenant to the log, and returns the
// number of the batch that it belongs to; 0 = the database is nobody's yet. A transaction's
// rows are all of one batch.
func joinBatch(tx *db.Tx, tenant string) int64 {
	l := LogOf(tx.DB())
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.joined[tx]
	if j == nil {
		j = l.joinOpenBatch(tx)
	}
	j.rows[tenant]++
	return j.batch.No
}

// joinOpenBatch has a transaction take part in the open batch. The caller holds mu. It panics
// where no epoch was drawn: what has no number would never be sealed.
func (l *Log) joinOpenBatch(tx *db.Tx) *joined {
	if l.epoch == 0 {
		panic("audit: a write without an epoch")
	}
	if l.open == nil {
		l.last++
		l.open = &Batch{No: l.last, Rows: map[string]int64{}}
	}
	l.open.running++
	j := &joined{batch: l.open, rows: map[string]int64{}}
	l.joined[tx] = j
	tx.After(func() { l.leaveBatch(tx, true) })
	tx.Undone(func() { l.leaveBatch(tx, false) })
	return j
}

func (l *Log) leaveBatch(tx *db.Tx, isCommitted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.joined[tx]
	delete(l.joined, tx)
	j.batch.running--
	j.batch.IsDoubtful = j.batch.IsDoubtful || tx.IsLost()
	for tenant, n := range j.rows {
		if isCommitted {
			j.batch.Rows[tenant] += n
		} else if tx.IsLost() {
			j.batch.Rows[tenant] += 0 // it is looked for
		}
	}
}

// EndedBatches closes the open batch and returns those of which nothing can be committed
// any more, the least number first. They come again until ForgetBatch.
func (l *Log) EndedBatches() (list []Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeOpen()
	for _, batch := range l.ended {
		if batch.running > 0 {
			continue
		}
		one := *batch
		one.Rows = maps.Clone(batch.Rows)
		list = append(list, one)
	}
	return list
}

// ForgetBatch ends the look-out for a batch, but for what it wrote of the tenants whose
// chains take no seal: that goes to their rests.
func (l *Log) ForgetBatch(no int64, broken []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.ended, func(batch *Batch) bool { return batch.No == no })
	if i < 0 {
		return
	}
	for _, tenant := range broken {
		rest, ok := l.rests[tenant]
		if !ok {
			rest.Low = no
		}
		rest.Low, rest.High = min(rest.Low, no), max(rest.High, no)
		rest.Rows += l.ended[i].Rows[tenant]
		l.rests[tenant] = rest
	}
	l.ended = slices.Delete(l.ended, i, i+1)
}

// Rests returns what waits of tenants whose chains took no seal.
func (l *Log) Rests() map[string]Rest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.rests)
}

// CountUnsealed counts the rows of this process that wait for a seal. Those of a batch of
// which something may still be committed are not among them: they are looked for.
func (l *Log) CountUnsealed() (rows int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.ended
	if l.open != nil {
		waiting = append(slices.Clone(l.ended), l.open)
	}
	for _, batch := range waiting {
		if batch.IsDoubtful {
			continue
		}
		for _, n := range batch.Rows {
			rows += n
		}
	}
	for _, rest := range l.rests {
		rows += rest.Rows
	}
	return rows
}

// ForgetRest ends the look-out for a tenant's rest, unless it has grown since.
func (l *Log) ForgetRest(tenant string, rest Rest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rests[tenant] == rest {
		delete(l.rests, tenant)
	}
}

// Epoch returns the epoch of this process, 0 = none, and the number up to which all its
// batches are sealed.
func (l *Log) Epoch() (epoch, through int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	through = l.last
	if l.open != nil {
		through = l.open.No - 1
	}
	for _, batch := range l.ended {
		through = min(through, batch.No-1)
	}
	for _, rest := range l.rests {
		through = min(through, rest.Low-1)
	}
	return l.epoch, through
}

// NoteSignOfLife is called when audit_writers says that this process lives; gone says that
// its epoch was taken for ended, so that the next write draws another.
func (l *Log) NoteSignOfLife(gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = time.Now()
	if gone {
		l.seen = time.Time{}
	}
}

// drawEpochSQL draws the next epoch, unless another process takes it at the same moment. $1
// the least that it may be, $2 now.
const drawEpochSQL = `
	INSERT INTO audit_writers (epoch, sealed_through, seen_at)
	VALUES ((
		SELECT CASE WHEN MAX(epoch) >= $1 THEN MAX(epoch) + 1 ELSE $1 END
		FROM audit_writers
	), 0, $2)
	ON CONFLICT (epoch) DO NOTHING
	RETURNING epoch`

// signOfLifeSQL says that a process lives. $1 epoch, $2 now.
const signOfLifeSQL = `
	UPDATE audit_writers
	SET seen_at = $2
	WHERE epoch = $1
		AND ended_at IS NULL`

// PrepareWrite sees to it, before a write, that the process has an epoch that others take for
// alive. Writers wait together for that, each as long as its context allows.
func (l *Log) PrepareWrite(ctx context.Context, write db.LogWriter) error {
	if l.isFresh() {
		return nil
	}
	r := l.renewOnce(context.WithoutCancel(ctx), write)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// renewOnce begins a renewal where none is under way.
func (l *Log) renewOnce(ctx context.Context, write db.LogWriter) *renewal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewal != nil {
		return l.renewal
	}
	r := &renewal{done: make(chan struct{})}
	l.renewal = r
	go func() {
		ctx, cancel := context.WithTimeout(ctx, mostRenewal)
		defer cancel()
		epoch, err := l.renewEpoch(ctx, write)
		l.mu.Lock()
		defer l.mu.Unlock()
		if r.err = err; err == nil {
			l.beginEpoch(epoch)
		}
		l.renewal = nil
		close(r.done)
	}()
	return r
}

// renewEpoch says that this process lives, or draws an epoch where it has none, its own was
// taken for ended or holds no more numbers.
func (l *Log) renewEpoch(ctx context.Context, write db.LogWriter) (epoch int64, err error) {
	if epoch = l.usableEpoch(); epoch > 0 {
		isAlive, err := giveSignOfLife(ctx, write, epoch)
		if err != nil || isAlive {
			return epoch, err
		}
	}
	for range mostDraws {
		if epoch, err = drawEpoch(ctx, write); err != nil || epoch > 0 {
			return epoch, err
		}
	}
	return 0, fault.New(fault.Unavailable, "57P03", "no number for the audit log could be drawn; try again")
}

// mostDraws is how often an epoch is drawn that another process takes at the same moment.
const mostDraws = 10

func giveSignOfLife(ctx context.Context, write db.LogWriter, epoch int64) (isAlive bool, err error) {
	err = write(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(signOfLifeSQL, epoch, time.Now().UTC())
		isAlive = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("audit: say that this process lives: %w", err)
	}
	return isAlive, nil
}

// drawEpoch returns 0 where another process took the number.
func drawEpoch(ctx context.Context, write db.LogWriter) (epoch int64, err error) {
	now := time.Now().UTC()
	err = write(ctx, func(tx *db.Tx) error {
		epoch = 0
		return tx.Query(drawEpochSQL, []any{now.Sub(firstEpoch).Milliseconds(), now}, func(r *db.Row) error {
			epoch = r.Int(0)
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("audit: draw an epoch: %w", err)
	}
	return epoch, nil
}

// isFresh reports that nothing is to be done before a write.
func (l *Log) isFresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch > 0 && time.Since(l.seen) < epochPause && l.hasNumbers()
}

// usableEpoch is the epoch of this process, 0 = it needs another.
func (l *Log) usableEpoch() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hasNumbers() {
		return 0
	}
	return l.epoch
}

// sparedNumbers are left to the transactions that begin while another epoch is drawn.
const sparedNumbers = 1000

// hasNumbers reports that the epoch has batches left; the caller holds mu.
func (l *Log) hasNumbers() bool { return l.last < FirstBatch(l.epoch+1)-sparedNumbers }

// beginEpoch goes on in an epoch, or begins one; the caller holds mu. Transactions that run
// keep the batch that they have.
func (l *Log) beginEpoch(epoch int64) {
	l.seen = time.Now()
	if l.epoch == epoch {
		return
	}
	l.epoch, l.last = epoch, FirstBatch(epoch)
	l.closeOpen()
}

// closeOpen closes the open batch; the caller holds mu.
func (l *Log) closeOpen() {
	if l.open != nil {
		l.open.Closed = time.Now()
		l.ended, l.open = append(l.ended, l.open), nil
	}
}

// IsWaiting reports that something of what this process wrote, or is writing, is not sealed.
func (l *Log) IsWaiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open != nil || len(l.ended)+len(l.rests) > 0
}
