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
	// Rows are those that were committed, by tenant.
	Rows map[string]int64
	// IsDoubtful says that a commit's outcome is unknown: its rows may still come.
	IsDoubtful bool
	Closed     time.Time // nothing joins it since

	running int // transactions
}

// EpochBits are the lower bits of a batch's number; those above them are the epoch.
const EpochBits = 24

// epochPause is after how long without a sign of life a process gives one before it writes.
const epochPause = db.DeadAfter / 2

// Log is the audit log as this process writes it: the key of its codes, and its batches that
// are not sealed. Its methods may be called by many goroutines.
type Log struct {
	key atomic.Pointer[[]byte]

	mu     sync.Mutex
	epoch  int64 // 0 = none was drawn yet
	last   int64 // number of a batch
	open   *Batch
	ended  []*Batch // closed ones, in the order of their numbers
	joined map[*db.Tx]*joined
	seen   time.Time

	drawing sync.Mutex
}

// joined is a transaction that writes to the log.
type joined struct {
	batch *Batch
	rows  map[string]int64 // by tenant
}

// Keep gives the key that rows of a database's log are authenticated with; it is derived from
// the master key, so no row holds it.
func Keep(d *db.DB, key []byte) {
	if l := LogOf(d); l != nil {
		l.key.Store(&key)
		return
	}
	l := &Log{joined: map[*db.Tx]*joined{}}
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
func FirstBatch(epoch int64) int64 { return epoch << EpochBits }

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
		if j = l.join(tx); j == nil {
			return 0
		}
	}
	j.rows[tenant]++
	return j.batch.No
}

// join has a transaction take part in the open batch. The caller holds mu.
func (l *Log) join(tx *db.Tx) *joined {
	if l.epoch == 0 {
		return nil
	}
	if l.open == nil {
		l.last++
		l.open = &Batch{No: l.last, Rows: map[string]int64{}}
	}
	l.open.running++
	j := &joined{batch: l.open, rows: map[string]int64{}}
	l.joined[tx] = j
	tx.After(func() { l.leave(tx, true) })
	tx.Undone(func() { l.leave(tx, tx.IsLost()) })
	return j
}

func (l *Log) leave(tx *db.Tx, mayBeCommitted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.joined[tx]
	delete(l.joined, tx)
	j.batch.running--
	j.batch.IsDoubtful = j.batch.IsDoubtful || tx.IsLost()
	if !mayBeCommitted {
		return
	}
	for tenant, n := range j.rows {
		j.batch.Rows[tenant] += n
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

// ForgetBatch ends the look-out for a batch: what it wrote of these tenants is sealed, nil =
// of all.
func (l *Log) ForgetBatch(no int64, tenants []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = slices.DeleteFunc(l.ended, func(batch *Batch) bool {
		if batch.No != no {
			return false
		}
		for _, t := range tenants {
			delete(batch.Rows, t)
		}
		return tenants == nil || len(batch.Rows) == 0
	})
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
	return l.epoch, through
}

// SignOfLife is called when audit_writers says that this process lives; gone says that
// its epoch was taken for ended, so that the next write draws another.
func (l *Log) SignOfLife(gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = time.Now()
	if gone {
		l.epoch = 0
	}
}

// drawEpochSQL draws the next epoch, unless another process takes it at the same moment.
// $1 now.
const drawEpochSQL = `
	INSERT INTO audit_writers (epoch, sealed_through, seen_at)
	VALUES ((SELECT COALESCE(MAX(epoch), 0) + 1 FROM audit_writers), 0, $1)
	ON CONFLICT (epoch) DO NOTHING
	RETURNING epoch`

// signOfLifeSQL says that a process lives. $1 epoch, $2 now.
const signOfLifeSQL = `
	UPDATE audit_writers
	SET seen_at = $2
	WHERE epoch = $1
		AND ended_at IS NULL`

// Prepare sees to it, before a write, that the process has an epoch that others take for alive.
func (l *Log) Prepare(_ context.Context, write func(fn func(*db.Tx) error) error) error {
	if l.isFresh() {
		return nil
	}
	l.drawing.Lock()
	defer l.drawing.Unlock()
	if l.isFresh() {
		return nil
	}
	epoch, _ := l.Epoch()
	if epoch > 0 {
		isAlive, err := giveSignOfLife(write, epoch)
		if err != nil {
			return err
		}
		if isAlive {
			l.begin(epoch)
			return nil
		}
	}
	for range mostDraws {
		epoch, err := drawEpoch(write)
		if err != nil {
			return err
		}
		if epoch > 0 {
			l.begin(epoch)
			return nil
		}
	}
	return fault.New(fault.Unavailable, "57P03", "no number for the audit log could be drawn; try again")
}

// mostDraws is how often an epoch is drawn that another process takes at the same moment.
const mostDraws = 10

func giveSignOfLife(write func(fn func(*db.Tx) error) error, epoch int64) (isAlive bool, err error) {
	err = write(func(tx *db.Tx) error {
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
func drawEpoch(write func(fn func(*db.Tx) error) error) (epoch int64, err error) {
	err = write(func(tx *db.Tx) error {
		epoch = 0
		return tx.Query(drawEpochSQL, []any{time.Now().UTC()}, func(r *db.Row) error {
			epoch = r.Int(0)
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("audit: draw an epoch: %w", err)
	}
	return epoch, nil
}

func (l *Log) isFresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch > 0 && time.Since(l.seen) < epochPause
}

// begin goes on in an epoch, or begins one. Transactions that run keep the batch that they
// have: where its epoch was taken for ended, its rows are found by the looks that follow.
func (l *Log) begin(epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	return l.open != nil || len(l.ended) > 0
}
