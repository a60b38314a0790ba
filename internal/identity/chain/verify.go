package chain

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// Break is a place where the chain does not hold.
type Break struct {
	SealNo int64  `json:"seal_no"` // where it was noticed; 0 = at a row that no seal holds
	ID     string `json:"id,omitempty"`
	Why    string `json:"why"`
}

// Report is what Verify found in one tenant's chain.
type Report struct {
	TenantID string    `json:"tenant_id"`
	Rows     int64     `json:"rows"` // sealed
	Waiting  int64     `json:"waiting"`
	HeadNo   int64     `json:"head_no"` // number of the newest seal, as the head says
	Head     string    `json:"head"`    // and its hash
	SealedAt time.Time `json:"sealed_at"`
	Breaks   []Break   `json:"breaks"` // at most maxBreaks; none = whole
}

// Whole reports a chain without a break.
func (r Report) Whole() bool { return len(r.Breaks) == 0 }

const maxBreaks = 20

func (r *Report) addBreak(no int64, id, why string, args ...any) {
	if len(r.Breaks) < maxBreaks {
		r.Breaks = append(r.Breaks, Break{no, id, fmt.Sprintf(why, args...)})
	}
}

// Tenants lists whose chain there has to be: the platform's own, those of the
// tenants there are, and those that have a head or rows in the log.
func (c *Chain) Tenants(ctx context.Context) (list []string, err error) {
	err = c.DB.Read(ctx, everywhere, func(tx *db.Tx) error {
		list = []string{db.NoTenant}
		return tx.Query(`
			SELECT tenant_id
			FROM audit_heads
			UNION
			SELECT tenant_id
			FROM audit
			UNION
			SELECT id
			FROM tenants
			ORDER BY 1`, nil, func(r *db.Row) error {
			if id := r.Text(0); id != db.NoTenant {
				list = append(list, id)
			}
			return nil
		})
	})
	return list, err
}

// Verify recomputes a tenant's chain in one snapshot and compares it with each head of it that
// was kept.
func (c *Chain) Verify(ctx context.Context, tenant string, kept []KeptHead) (Report, error) {
	var rep Report
	err := c.DB.Read(ctx, everywhere, func(tx *db.Tx) error {
		rep = Report{TenantID: tenant, Breaks: []Break{}}
		hashes := map[int64]string{}
		for _, h := range kept {
			hashes[h.SealNo] = ""
		}
		last, err := c.walkChain(tx, &rep, hashes)
		if err != nil {
			return err
		}
		for _, h := range kept {
			rep.checkKept(h, hashes, last.no)
		}
		if err := c.verifyHead(tx, &rep, last); err != nil {
			return err
		}
		return c.verifyUnsealed(tx, &rep)
	})
	if err != nil {
		return rep, fmt.Errorf("chain: verify: %w", err)
	}
	return rep, nil
}

// whyForged is what is wrong with a row whose code is not the server's.
const whyForged = "the row was not written by the server, or was changed before it was sealed"

// whyGone is what is wrong where neither a head nor the row that a chain begins
// with is there.
const whyGone = "it has no head, and no row in the log tells of its beginning"

// verifyHead compares the head with the last row of the chain. A tenant that
// was made a moment ago has none yet.
func (c *Chain) verifyHead(tx *db.Tx, rep *Report, last head) error {
	h, err := headOf(tx, rep.TenantID)
	if fault.Is(err, fault.NotFound) {
		if last.no > 0 {
			rep.addBreak(last.no, "", "the chain has no head")
			return nil
		}
		young, err := c.hasCreationRow(tx, rep.TenantID)
		if err == nil && !young {
			rep.addBreak(0, "", "the chain is gone: "+whyGone)
		}
		return err
	}
	switch {
	case err != nil:
		return err
	case !c.isGenuine(rep.TenantID, h):
		rep.addBreak(h.no, "", "the head was changed, or sealed with another master key")
	case h.no != last.no || h.hash != last.hash:
		rep.addBreak(last.no, "", "the head is seal %d; seals were removed from the end, or added", h.no)
	}
	rep.HeadNo, rep.Head, rep.SealedAt = h.no, h.hash, h.at
	return nil
}

// unsealedSQL selects rows of which no seal holds the whole batch. $1 tenant.
var unsealedSQL = db.FillWords(`
	SELECT {columns}
	FROM audit
	WHERE tenant_id = $1
		AND NOT EXISTS (
			SELECT 1
			FROM audit_seals AS seal
			WHERE seal.tenant_id = $1
				AND seal.batch = audit.batch
				AND seal.ids IS NULL
		)
	ORDER BY id`, "{columns}", audit.Columns)

// verifyUnsealed looks at the rows that are in no seal: they wait for the sealer, or are
// not the server's.
func (c *Chain) verifyUnsealed(tx *db.Tx, rep *Report) error {
	held, writers := newSealed(), map[int64]epoch{}
	tx.Queue(`
		SELECT seal_no, batch, ids
		FROM audit_seals
		WHERE tenant_id = $1
			AND ids IS NOT NULL`, []any{rep.TenantID}, func(r *db.Row) error {
		held.addSeal(rep.TenantID, seal{no: r.Int(0), batch: r.Int(1), ids: r.Text(2)})
		return nil
	})
	tx.Queue(`
		SELECT epoch, sealed_through, seen_at
		FROM audit_writers
		WHERE ended_at IS NULL`, nil, func(r *db.Row) error {
		writers[r.Int(0)] = epoch{r.Int(0), r.Int(1), r.Time(2)}
		return nil
	})
	if err := tx.Flush(); err != nil {
		return err
	}
	codes := audit.NewCoder(c.Keys.Log)
	return tx.Query(unsealedSQL, []any{rep.TenantID}, func(r *db.Row) error {
		batch := r.Int(audit.AtBatch)
		if held.holdsRow(rep.TenantID, batch, r.Text(0)) {
			return nil
		}
		switch isGenuine := codes.IsGenuine(audit.AppendContent(nil, rep.TenantID, r), r); {
		case isGenuine && writers[audit.EpochOf(batch)].willSeal(batch):
			rep.Waiting++
		case isGenuine:
			rep.addBreak(0, r.Text(0), "the row waits for a seal that no server will write")
		case r.Null(audit.AtCode) && audit.IsCreation(rep.TenantID, r) && !rep.Whole():
			// It was sealed, and its seal is gone.
		default:
			rep.addBreak(0, r.Text(0), whyForged)
		}
		return nil
	})
}

// willSeal reports that a process seals a batch, or that another does when it has died.
func (e epoch) willSeal(batch int64) bool {
	return e.no > 0 && batch > e.through && e.seen.Before(time.Now().Add(mostSkew))
}

// mostSkew is how far the clocks of servers may differ.
const mostSkew = time.Hour
