package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// KeptHead is where a tenant's chain ended at a moment, kept away from the chain: in the
// platform's own, or by an operator elsewhere. Seals never change, so that seal SealNo has
// this hash for ever.
type KeptHead struct {
	TenantID string    `json:"tenant_id"`
	SealNo   int64     `json:"seal_no"`
	Hash     string    `json:"hash"`
	KeptAt   time.Time `json:"kept_at"`
}

// KeptHeads are kept heads by tenant. Each is compared: the newest of one place says nothing of
// what another place kept before.
type KeptHeads map[string][]KeptHead

// How heads are kept in the platform's chain: how often, under which action, and at most how
// many in a row of it.
const (
	keepEvery   = time.Hour
	headsKept   = "audit.heads_kept"
	mostInEntry = 500
)

// newestKeptSQL selects when heads were kept last. $1 the platform, $2 action.
const newestKeptSQL = `
	SELECT at
	FROM audit
	WHERE tenant_id = $1
		AND action = $2
	ORDER BY id DESC
	LIMIT 1`

// movedHeadsSQL selects the heads of tenants that moved since. $1 the platform, $2 moment.
const movedHeadsSQL = `
	SELECT tenant_id, seal_no, hash
	FROM audit_heads
	WHERE tenant_id <> $1
		AND seal_no > 0
		AND sealed_at > $2
	ORDER BY tenant_id`

// KeepHeads writes the heads that moved into the platform's chain, once an hour: a tenant's
// log that somebody puts back, its genuine old head included, shows by what was kept meanwhile.
func (c *Chain) KeepHeads(ctx context.Context) error {
	err := c.DB.Write(ctx, everywhere, func(tx *db.Tx) error {
		now := c.Now()
		var last time.Time
		err := tx.One(newestKeptSQL, []any{db.NoTenant, headsKept}, func(r *db.Row) error {
			last = r.Time(0)
			return nil
		})
		if err != nil && !fault.Is(err, fault.NotFound) || now.Sub(last) < keepEvery {
			return ignoreMissing(err)
		}
		heads, err := readMovedHeads(tx, last, now)
		if err != nil {
			return err
		}
		return audit.WriteAll(tx, entriesOf(heads, now))
	})
	if err != nil {
		return fmt.Errorf("chain: keep heads: %w", err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

func readMovedHeads(tx *db.Tx, since, now time.Time) (heads []KeptHead, err error) {
	if !since.IsZero() { // a head that was sealed while the last ones were read comes with the next ones
		since = since.Add(-keepEvery / 4)
	}
	err = tx.Query(movedHeadsSQL, []any{db.NoTenant, since}, func(r *db.Row) error {
		heads = append(heads, KeptHead{r.Text(0), r.Int(1), r.Text(2), now})
		return nil
	})
	return heads, err
}

func entriesOf(heads []KeptHead, now time.Time) (entries []audit.Entry) {
	for len(heads) > 0 {
		n := min(len(heads), mostInEntry)
		entries = append(entries, audit.Entry{At: now, Action: headsKept, Details: map[string]any{"heads": heads[:n]}})
		heads = heads[n:]
	}
	return entries
}

// keptSQL selects what was kept of heads. $1 the platform, $2 action.
const keptSQL = `
	SELECT details
	FROM audit
	WHERE tenant_id = $1
		AND action = $2
	ORDER BY id`

// ReadKept reads the heads of a tenant, "" = of all, that the platform's chain keeps. Whether
// that chain holds is told by its own report.
func (c *Chain) ReadKept(ctx context.Context, tenant string) (KeptHeads, error) {
	kept := KeptHeads{}
	err := c.DB.Read(ctx, everywhere, func(tx *db.Tx) error {
		return tx.Query(keptSQL, []any{db.NoTenant, headsKept}, func(r *db.Row) error {
			var entry struct{ Heads []KeptHead }
			if json.Unmarshal([]byte(r.Text(0)), &entry) != nil {
				return nil // the report of the platform's chain says that it was changed
			}
			// Each counts: a log that was put back is kept again, lower or grown past where it was.
			for _, h := range entry.Heads {
				if tenant == "" || tenant == h.TenantID {
					kept[h.TenantID] = append(kept[h.TenantID], h)
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("chain: read kept heads: %w", err)
	}
	return kept, nil
}

// checkKept compares the seal that a kept head names with the hashes of the chain by number.
// last is the number of the chain's newest seal.
func (r *Report) checkKept(h KeptHead, hashes map[int64]string, last int64) {
	hash := hashes[h.SealNo]
	day := h.KeptAt.UTC().Format(time.DateTime) + " UTC"
	switch {
	case hash == h.Hash:
	case hash == "":
		r.addBreak(last, "", "the log ended at seal %d on %s: an older log was put back, or seals were cut off "+
			"with their head", h.SealNo, day)
	default:
		r.addBreak(h.SealNo, "", "the seal is another than the one that ended the log on %s: the log was "+
			"written anew", day)
	}
}
