package store

import (
	"context"
	"sync"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
)

// The transactions of a tenant that makes records one after the other would
// queue for the row of its sequence, whose lock lasts until each commit. So
// while it makes many, its numbers are reserved ahead, in blocks, beside the
// requests; what is left of a block when the node stops is a gap. While it makes
// few, each takes its number in its own transaction, and there are no gaps.
const (
	blockSize = 256
	busyRate  = 8 // records within busySpan are many
	busySpan  = time.Second
)

// maxBlocks bounds the sequences that a node remembers. When there are more,
// all are forgotten and begin anew.
const maxBlocks = 10_000

// numbering gives out business numbers. It remembers those that a node has
// reserved and not yet given out.
type numbering struct {
	db  *db.DB
	now func() time.Time

	mu sync.Mutex
	of map[sequence]*block
}

type block struct {
	spans   []span
	since   time.Time
	made    int  // records since then
	filling bool // the next span is being reserved
}

// span is the numbers from next to end-1.
type span struct{ next, end int64 }

// takeNumbers gives count numbers, if there are as many together, and reports whether
// more should be reserved by the caller, who must then add or give up.
func (n *numbering) takeNumbers(q sequence, count int, now time.Time) (first int64, ok, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.of[q]
	if k == nil {
		if len(n.of) >= maxBlocks {
			clear(n.of)
		}
		k = &block{since: now}
		n.of[q] = k
	}
	if now.Sub(k.since) > busySpan {
		k.since, k.made = now, 0
	}
	k.made += count
	for !ok && len(k.spans) > 0 {
		if s := &k.spans[0]; s.next+int64(count) <= s.end {
			first, ok = s.next, true
			s.next += int64(count)
		} else {
			k.spans = k.spans[1:]
		}
	}
	var left int64
	for _, s := range k.spans {
		left += s.end - s.next
	}
	more = k.made > busyRate && left < blockSize/2 && !k.filling
	k.filling = k.filling || more
	return first, ok, more
}

// endFilling ends filling with a span, or without one.
func (n *numbering) endFilling(q sequence, spans ...span) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.of[q]; k != nil {
		k.filling = false
		k.spans = append(k.spans, spans...)
	}
}

func (n *numbering) forgetBlock(q sequence) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.of, q)
}

// numberFromBlock numbers the new rows of one request from the block of the actor's
// tenant and reports whether it did; else insert numbers them. Around New Year,
// when the year depends on where the tenant is, it does not.
func (n *numbering) numberFromBlock(a actor.Actor, r *catalog.Resource, rows []Row) bool {
	f := numberField(r)
	if f == nil || a.TenantID == "" || len(rows) > busyRate {
		return false
	}
	now := n.now().UTC()
	earliest, latest := localtime.Dates(now)
	if earliest.Year() != latest.Year() {
		return false
	}
	var bare []Row
	for _, row := range rows {
		if lacksNumber(f, row) {
			bare = append(bare, row)
		}
	}
	if len(bare) == 0 {
		return false
	}
	lead := prefixOf(f, bare[0])
	for _, row := range bare {
		if prefixOf(f, row) != lead {
			return false
		}
	}
	q := sequence{r, f, a.TenantID, lead, latest.Year()}
	first, ok, more := n.takeNumbers(q, len(bare), now)
	if more {
		go n.fillBlock(q)
	}
	if !ok {
		return false
	}
	for i, row := range bare {
		row[f.Name] = q.formatNumber(first + int64(i))
	}
	return true
}

// fillBlock reserves the next span. If that fails, requests take their numbers
// themselves and say why it does not work.
func (n *numbering) fillBlock(q sequence) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var first int64
	err := n.db.Write(ctx, db.Scope{Tenant: q.tenant}, func(tx *db.Tx) (err error) {
		first, err = q.reserveNumbers(tx, blockSize)
		return err
	})
	if err != nil {
		n.endFilling(q)
		return
	}
	n.endFilling(q, span{first, first + blockSize})
}

// isChosenNumberClash reports whether err is the clash of a number from a block with one
// that somebody chose himself, and forgets the block: the next number steps
// over it.
func (n *numbering) isChosenNumberClash(a actor.Actor, r *catalog.Resource, err error) bool {
	f := numberField(r)
	e := fault.As(err)
	if f == nil || e == nil || e.Code != "23505" {
		return false
	}
	v, ok := e.Data.(*db.Violation)
	if !ok || v.Table != r.Name || v.Constraint != r.UniqueName([]string{f.Name}) && !oneOf(v.Columns, f.Name) {
		return false
	}
	earliest, latest := localtime.Dates(n.now())
	for _, lead := range f.AllPrefixes() {
		n.forgetBlock(sequence{r, f, a.TenantID, lead, earliest.Year()})
		n.forgetBlock(sequence{r, f, a.TenantID, lead, latest.Year()})
	}
	return true
}
