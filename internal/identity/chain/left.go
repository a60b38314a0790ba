package chain

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/secrets"
)

// lookEvery is how often the epoch of a process without a sign of life is looked at, for as
// long as a transaction of it may still commit (doubtFor).
const lookEvery = 10 * time.Minute

// epoch is a process that wrote the audit log.
type epoch struct {
	no, through int64
	seen        time.Time
}

// unsealedNumbers are those of the batches that it may not have sealed.
func (e epoch) unsealedNumbers() (low, high int64) {
	return max(e.through+1, audit.FirstBatch(e.no)), audit.FirstBatch(e.no+1) - 1
}

// deadEpochsSQL selects the epochs of processes that are looked at now. $1 this one, $2 who
// gave a sign of life before is dead, $3 looked at before, $4 who gave one after that had a
// clock that was ahead, and says nothing of whether it lives.
const deadEpochsSQL = `
	SELECT epoch, sealed_through, seen_at
	FROM audit_writers
	WHERE ended_at IS NULL
		AND epoch <> $1
		AND (seen_at < $2 OR seen_at > $4)
		AND (looked_at IS NULL OR looked_at < $3)
	ORDER BY epoch`

// claimEpochSQL has one node look at an epoch. $1 epoch, $2 now, $3 looked at before, $4 when
// it ended, null = it is looked at again.
const claimEpochSQL = `
	UPDATE audit_writers
	SET looked_at = $2,
		ended_at = $4
	WHERE epoch = $1
		AND ended_at IS NULL
		AND (looked_at IS NULL OR looked_at < $3)`

// sealLeft seals what processes left that give no sign of life.
func (c *Chain) sealLeft(ctx context.Context, all *sealing) error {
	var dead []epoch
	own, _ := audit.LogOf(c.DB).Epoch()
	now := time.Now().UTC()
	err := c.DB.Read(ctx, everywhere, func(tx *db.Tx) error {
		dead = nil
		args := []any{own, now.Add(-db.DeadAfter), now.Add(-lookEvery), now.Add(mostSkew)}
		return tx.Query(deadEpochsSQL, args, func(r *db.Row) error {
			dead = append(dead, epoch{r.Int(0), r.Int(1), r.Time(2)})
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, e := range dead {
		done, err := c.sealDead(db.Patient(ctx, mostLeft), e, now)
		all.addResult(done)
		if err != nil {
			return err
		}
	}
	return nil
}

// mostLeft is how long a statement may take that reads what a process left.
const mostLeft = 5 * time.Minute

func (c *Chain) sealDead(ctx context.Context, e epoch, now time.Time) (done sealing, err error) {
	var ended *time.Time
	if now.Sub(e.seen) > doubtFor {
		ended = &now
	}
	err = c.DB.Write(ctx, everywhere, func(tx *db.Tx) error {
		done = sealing{}
		n, err := tx.Exec(claimEpochSQL, e.no, now, now.Add(-lookEvery), ended)
		if err != nil || n == 0 {
			return err
		}
		done, err = c.sealEpoch(tx, e)
		return err
	})
	return done, err
}

// tenantsOfBatchesSQL selects the tenants of which batches hold rows. $1 and $2 numbers, $3
// the platform.
const tenantsOfBatchesSQL = `
	SELECT known.id
	FROM (
		SELECT id
		FROM tenants
		UNION
		SELECT tenant_id
		FROM audit_heads
		UNION
		SELECT tenant_id
		FROM audit
		WHERE tenant_id = $3
			AND batch BETWEEN $1 AND $2
	) AS known
	WHERE EXISTS (
		SELECT 1
		FROM audit
		WHERE audit.tenant_id = known.id
			AND audit.batch BETWEEN $1 AND $2
	)
	ORDER BY known.id`

// sealEpoch seals by their ids the rows of a process that nobody sealed.
func (c *Chain) sealEpoch(tx *db.Tx, e epoch) (done sealing, err error) {
	low, high := e.unsealedNumbers()
	var tenants []string
	err = tx.Query(tenantsOfBatchesSQL, []any{low, high, db.NoTenant}, func(r *db.Row) error {
		tenants = append(tenants, r.Text(0))
		return nil
	})
	if err != nil || len(tenants) == 0 {
		return done, err
	}
	for _, t := range tenants {
		one, err := c.sealRest(tx, t, audit.Rest{Low: low, High: high})
		if err != nil {
			return done, err
		}
		done.addResult(one)
	}
	return done, nil
}

// Rekey seals what waits under old's keys, and puts the heads under the MAC of
// c's in place of old's. Where a head is not genuine it stays, so that Verify
// goes on to say so; those tenants are returned. No other process writes meanwhile.
func (c *Chain) Rekey(tx *db.Tx, old secrets.Keys) (broken []string, err error) {
	before := Chain{DB: c.DB, Keys: old, Now: c.Now}
	if err := before.sealAll(tx); err != nil {
		return nil, err
	}
	heads := map[string]head{}
	err = tx.Query(`
		SELECT tenant_id, seal_no, hash, mac
		FROM audit_heads
		ORDER BY tenant_id`, nil, func(r *db.Row) error {
		tenant, h := r.Text(0), head{no: r.Int(1), hash: r.Text(2), mac: r.Text(3)}
		if before.isGenuine(tenant, h) {
			heads[tenant] = h
		} else {
			broken = append(broken, tenant)
		}
		return nil
	})
	for tenant, h := range heads {
		tx.Queue(`
			UPDATE audit_heads
			SET mac = $2
			WHERE tenant_id = $1`, []any{tenant, c.headMAC(tenant, h.no, h.hash)}, nil)
	}
	if err != nil {
		return nil, err
	}
	return broken, tx.Flush()
}

// sealAll seals what all processes but this one left, as part of a transaction, and ends
// their epochs. What is wrong with a tenant's rows goes on to be told by Verify.
func (c *Chain) sealAll(tx *db.Tx) error {
	own, _ := audit.LogOf(c.DB).Epoch()
	var left []epoch
	err := tx.Query(`
		SELECT epoch, sealed_through
		FROM audit_writers
		WHERE ended_at IS NULL
			AND epoch <> $1
		ORDER BY epoch {for update}`, []any{own}, func(r *db.Row) error {
		left = append(left, epoch{no: r.Int(0), through: r.Int(1)})
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range left {
		if _, err := c.sealEpoch(tx, e); err != nil {
			return fmt.Errorf("chain: seal epoch %d: %w", e.no, err)
		}
		tx.Queue(`
			UPDATE audit_writers
			SET ended_at = $2
			WHERE epoch = $1`, []any{e.no, time.Now().UTC()}, nil)
	}
	return tx.Flush()
}

// headOf reads the end of a tenant's chain; fault.NotFound = it has none.
func headOf(tx *db.Tx, tenant string) (head, error) {
	var h head
	err := tx.One(`
		SELECT seal_no, hash, mac, sealed_at
		FROM audit_heads
		WHERE tenant_id = $1`, []any{tenant}, func(r *db.Row) error {
		h = head{r.Int(0), r.Text(1), r.Text(2), r.Time(3)}
		return nil
	})
	return h, err
}
