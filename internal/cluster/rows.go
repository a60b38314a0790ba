package cluster

import (
	"context"
	"encoding/json"
	"time"

	"holdfast/internal/backoff"
	"holdfast/internal/db"
)

// scopeOfAll is the scope of rows that belong to no tenant.
func scopeOfAll() db.Scope { return db.Scope{All: true} }

// readHead is the newest number, and the id of its row: "" when that was swept.
func (b *Cluster) readHead(ctx context.Context) (seq int64, id string, err error) {
	err = b.o.DB.Read(ctx, scopeOfAll(), func(tx *db.Tx) error {
		return tx.Last().One(`
			SELECT h.seq, n.id
			FROM notices_head h
			LEFT JOIN notices n ON n.seq = h.seq
			WHERE h.one = 1`,
			nil, func(r *db.Row) error {
				seq, id = r.Int(0), r.Text(1)
				return nil
			})
	})
	return seq, id, err
}

// insertRow writes a batch as a row. A notice that is lost with the database server
// is noticed by the number it had, which another gets then. The head's row is locked from the update to
// the commit, so rows become visible in the order of seq.
func (b *Cluster) insertRow(ctx context.Context, id, body string) error {
	return b.o.DB.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
		tx.Relaxed()
		tx.Queue("UPDATE notices_head SET seq = seq + 1 WHERE one = 1", nil, nil)
		tx.Queue(`
			INSERT INTO notices (seq, id, node, at, body)
			SELECT seq, $1, $2, $3, $4
			FROM notices_head
			WHERE one = 1`,
			[]any{id, b.id, b.o.Now(), body}, nil)
		return nil
	})
}

// pollLoop looks for rows of other nodes, and shows that this one lives.
func (b *Cluster) pollLoop() {
	reading := backoff.New(b.o.Log, "read notices of other nodes (kept answers live for their time at most meanwhile)",
		poll, mostPause)
	beating := backoff.New(b.o.Log, "show other nodes that this one lives", poll, mostPause)
	lived := time.Now()
	for b.waitFor(nil, poll) {
		if reading.IsReady() {
			reading.Note(b.ctx, b.runGuarded(b.readNewRows))
		}
		if reading.IsFailing() || !beating.IsReady() {
			continue
		}
		if b.recount.Swap(false) || beating.IsFailing() || time.Since(lived) >= heartbeat {
			err := b.runGuarded(b.recordHeartbeat)
			if beating.Note(b.ctx, err); err == nil {
				lived = time.Now()
			}
		}
	}
}

// readNewRows reads what is new. Where rows are missing between the last one read and
// the newest, or it has not looked for long, it says All; also where the numbers
// went back: a standby that takes over may lack the newest rows, and gives their
// numbers to others.
func (b *Cluster) readNewRows(ctx context.Context) error {
	head, id, err := b.readHead(ctx)
	if err != nil {
		return err
	}
	whole := time.Since(b.seen) <= lost && (b.last < head || b.last == head && b.isSameRow(id))
	for whole && b.last < head {
		if whole, err = b.readNextRows(ctx, head); err != nil {
			return err
		}
	}
	if !whole {
		b.last, b.lastID, b.marks = head, id, nil
		b.deliverOnce("", `[{"kind":"all"}]`)
	}
	b.seen = time.Now()
	return nil
}

// isSameRow reports that a row with the number of the last one read is that row, as
// far as either is known.
func (b *Cluster) isSameRow(id string) bool { return id == b.lastID || id == "" || b.lastID == "" }

const readNextRowsSQL = `
	SELECT seq, id, CASE WHEN node = $3 THEN '' ELSE body END
	FROM notices
	WHERE seq >= $1 AND seq <= $2
	ORDER BY seq
	LIMIT 200`

// readNextRows reads the next rows up to head, this node's own without their text. It
// reports false when one is missing: seq has no gaps but by sweeping.
func (b *Cluster) readNextRows(ctx context.Context, head int64) (whole bool, err error) {
	type row struct {
		seq      int64
		id, body string
	}
	var rows []row
	err = b.o.DB.Read(ctx, scopeOfAll(), func(tx *db.Tx) error {
		rows = nil
		return tx.Query(readNextRowsSQL, []any{b.last, head, b.id}, func(r *db.Row) error {
			rows = append(rows, row{r.Int(0), r.Text(1), r.Text(2)})
			return nil
		})
	})
	if err != nil {
		return false, err
	}
	if len(rows) > 0 && rows[0].seq == b.last {
		if !b.isSameRow(rows[0].id) {
			return false, nil
		}
		rows = rows[1:]
	}
	for _, r := range rows {
		if r.seq != b.last+1 {
			return false, nil
		}
		if r.body != "" {
			b.deliverOnce(r.id, r.body)
		}
		b.last, b.lastID = r.seq, r.id
	}
	return len(rows) > 0, nil
}

const recordHeartbeatSQL = `
	INSERT INTO nodes (id, beat, seen_at)
	VALUES ($1, $2, clock_timestamp())
	ON CONFLICT (id) DO UPDATE SET beat = excluded.beat, seen_at = excluded.seen_at`

const readHeartbeatsSQL = `
	SELECT id, beat, CAST(EXTRACT(EPOCH FROM clock_timestamp() - seen_at) AS bigint)
	FROM nodes
	WHERE id <> $1`

// sign is a node's last sign of life, as the database has it.
type sign struct {
	beat   int64
	silent time.Duration // since, by the clock of the database server
}

// recordHeartbeat beats, counts the nodes that do, and sweeps what nobody needs. Clocks of
// nodes are not compared: what is old is so by this node's own watch, or by the database
// server's clock before it has watched.
func (b *Cluster) recordHeartbeat(ctx context.Context) error {
	b.beat++
	at := time.Now()
	signs := map[string]sign{}
	swept := b.oldestNoticeStillNeeded(at)
	silent, err := json.Marshal(b.nodesWithoutHeartbeat(at))
	if err != nil {
		return err
	}
	err = b.o.DB.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
		clear(signs)
		tx.Queue(recordHeartbeatSQL, []any{b.id, b.beat}, nil)
		tx.Queue("DELETE FROM nodes WHERE id IN {ids $1}", []any{string(silent)}, nil)
		tx.Queue("DELETE FROM notices WHERE seq <= $1", []any{swept}, nil)
		return tx.Query(readHeartbeatsSQL, []any{b.id}, func(r *db.Row) error {
			signs[r.Text(0)] = sign{r.Int(1), time.Duration(r.Int(2)) * time.Second}
			return nil
		})
	})
	if err != nil {
		return err
	}
	b.countNodes(signs, time.Now())
	return nil
}

// oldestNoticeStillNeeded notes how far the rows were read at a time, and returns how far that
// was a keep before: 0 while the node is younger.
func (b *Cluster) oldestNoticeStillNeeded(at time.Time) (seq int64) {
	b.marks = append(b.marks, pulse{b.last, at})
	for at.Sub(b.marks[0].at) >= keep {
		seq, b.marks = b.marks[0].beat, b.marks[1:]
	}
	return seq
}

// nodesWithoutHeartbeat are the nodes whose beat has stood still for so long that they ended
// without a word.
func (b *Cluster) nodesWithoutHeartbeat(at time.Time) []string {
	ids := []string{}
	for id, p := range b.beats {
		if at.Sub(p.at) > forget {
			ids = append(ids, id)
		}
	}
	return ids
}

// countNodes counts the nodes whose beat goes on. One that is seen for the first time lives,
// unless its last sign is old already: that of a process which was killed.
func (b *Cluster) countNodes(signs map[string]sign, now time.Time) {
	n := int64(1)
	next := map[string]pulse{}
	for id, s := range signs {
		p, known := b.beats[id]
		if !known {
			p = pulse{s.beat, now.Add(-max(0, s.silent))}
		} else if p.beat != s.beat {
			p = pulse{s.beat, now}
		}
		next[id] = p
		if now.Sub(p.at) < dead {
			n++
		}
	}
	b.beats = next
	b.nodes.Store(n)
}

func (b *Cluster) removeNode(ctx context.Context) error {
	return b.o.DB.Write(ctx, scopeOfAll(), func(tx *db.Tx) error {
		tx.Queue("DELETE FROM nodes WHERE id = $1", []any{b.id}, nil)
		return nil
	})
}
