package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
)

const (
	tenantsAtOnce = 500       // of which one transaction seals a batch
	doubtFor      = time.Hour // how long rows are looked for that may still be committed
)

// sealing is what came of sealing.
type sealing struct {
	rows   int64
	broken []string // tenants whose chain takes no seal
	err    error    // what was found wrong with tenants
}

func (s *sealing) addResult(other sealing) {
	s.rows += other.rows
	s.broken = append(s.broken, other.broken...)
	s.err = errors.Join(s.err, other.err)
}

// Seal seals the batches of this process of which nothing can be committed any more, and
// what processes left that died; it returns how many rows those were. What is wrong with one
// tenant's chain (faults audit_tampered, audit_forged) keeps no other from being sealed.
func (c *Chain) Seal(ctx context.Context) (rows int64, err error) {
	var all sealing
	for _, step := range []func(context.Context, *sealing) error{c.sealEnded, c.sealRests, c.sealLeft} {
		if err = step(ctx, &all); err != nil {
			break // the database does not answer, or not in time
		}
	}
	if err = errors.Join(all.err, err); err != nil {
		return all.rows, fmt.Errorf("chain: seal: %w", err)
	}
	return all.rows, nil
}

// sealEnded seals the batches of this process, and gives a sign of life while transactions
// write for long: each write gives one when the last was a while ago.
func (c *Chain) sealEnded(ctx context.Context, all *sealing) error {
	log := audit.LogOf(c.DB)
	rows := all.rows
	for _, b := range log.EndedBatches() {
		done, err := c.sealBatch(ctx, b)
		all.addResult(done)
		if err != nil {
			return err
		}
		if !b.IsDoubtful || time.Since(b.Closed) > doubtFor {
			log.ForgetBatch(b.No, done.broken)
		}
	}
	if all.rows > rows {
		return c.noteProgress(ctx)
	}
	if log.IsWaiting() {
		return c.DB.Write(ctx, everywhere, func(*db.Tx) error { return nil })
	}
	return nil
}

// sealRests seals what waits of tenants whose chains took no seal, where they do again.
func (c *Chain) sealRests(ctx context.Context, all *sealing) error {
	log := audit.LogOf(c.DB)
	for tenant, rest := range log.Rests() {
		var done sealing
		err := c.DB.Write(ctx, everywhere, func(tx *db.Tx) (err error) {
			done, err = c.sealRest(tx, tenant, rest)
			return err
		})
		all.addResult(done)
		if err != nil {
			return err
		}
		if len(done.broken) == 0 {
			log.ForgetRest(tenant, rest)
		}
	}
	return nil
}

// sealBatch seals what a batch holds of each tenant.
func (c *Chain) sealBatch(ctx context.Context, b audit.Batch) (all sealing, err error) {
	for tenants := range slices.Chunk(slices.Sorted(maps.Keys(b.Rows)), tenantsAtOnce) {
		done, err := c.sealTenants(ctx, b, tenants)
		if err != nil {
			return all, err
		}
		all.addResult(done)
	}
	return all, nil
}

// noteProgressSQL says up to where a process sealed. $1 epoch, $2 number, $3 now.
const noteProgressSQL = `
	UPDATE audit_writers
	SET sealed_through = $2, seen_at = $3
	WHERE epoch = $1
		AND ended_at IS NULL`

// noteProgress says up to where this process has sealed what it wrote: only what comes after
// is looked for when it dies.
func (c *Chain) noteProgress(ctx context.Context) error {
	epoch, through := audit.LogOf(c.DB).Epoch()
	known := int64(0)
	err := c.DB.Write(ctx, everywhere, func(tx *db.Tx) (err error) {
		tx.Relaxed()
		known, err = tx.Exec(noteProgressSQL, epoch, through, time.Now().UTC())
		return err
	})
	if err == nil {
		audit.LogOf(c.DB).NoteSignOfLife(known == 0)
	}
	return err
}

// sealTenants seals what a batch holds of some tenants.
func (c *Chain) sealTenants(ctx context.Context, b audit.Batch, tenants []string) (done sealing, err error) {
	var groups []*group
	err = c.DB.Read(ctx, everywhere, func(tx *db.Tx) (err error) {
		groups, err = c.readGroups(tx, reading{tenants: tenants, low: b.No, high: b.No})
		return err
	})
	if err != nil {
		return done, err
	}
	groups = completeGroups(groups, b, tenants)
	err = c.DB.Write(ctx, everywhere, func(tx *db.Tx) error {
		heads, err := c.lockHeads(tx, tenants)
		if err != nil {
			return err
		}
		held, err := readSealed(tx, tenants, b.No, b.No)
		if err != nil {
			return err
		}
		if !b.IsDoubtful && held.isEmpty() {
			done, err = c.sealGroups(tx, heads, groups)
			return err
		}
		done = sealing{} // another took this process for dead, or rows of the batch may still come
		for _, t := range tenants {
			one, err := c.sealRest(tx, t, audit.Rest{Low: b.No, High: b.No, Rows: b.Rows[t]})
			if err != nil {
				return err
			}
			done.addResult(one)
		}
		return nil
	})
	return done, err
}

// completeGroups says how many rows of each tenant were committed, also where none is left.
func completeGroups(groups []*group, b audit.Batch, tenants []string) []*group {
	of := map[string]*group{}
	for _, g := range groups {
		of[g.tenant] = g
	}
	out := make([]*group, len(tenants))
	for i, t := range tenants {
		if out[i] = of[t]; out[i] == nil {
			out[i] = newGroup(t, b.No)
		}
		out[i].expected = b.Rows[t]
	}
	return out
}

// sealRest seals by their ids the rows of a tenant that no seal holds yet, and misses those
// of which there are fewer than were committed.
func (c *Chain) sealRest(tx *db.Tx, tenant string, rest audit.Rest) (done sealing, err error) {
	tenants := []string{tenant}
	heads, err := c.lockHeads(tx, tenants)
	if err != nil {
		return done, err
	}
	held, err := readSealed(tx, tenants, rest.Low, rest.High)
	if err != nil {
		return done, err
	}
	groups, err := c.readGroups(tx, reading{tenants, rest.Low, rest.High, held})
	if err != nil {
		return done, err
	}
	missing := rest.Rows - held.rows
	for _, g := range groups {
		missing -= g.rows + g.forged
	}
	if missing > 0 && len(groups) == 0 {
		groups = append(groups, newGroup(tenant, rest.High))
	}
	if missing > 0 {
		last := groups[len(groups)-1]
		last.ids, last.expected = append([]string{}, last.ids...), last.rows+missing
	}
	return c.sealGroups(tx, heads, groups)
}

// lockHeadsSQL locks the ends of chains, in one order. $1 tenants.
const lockHeadsSQL = `
	SELECT tenant_id, seal_no, hash, mac, sealed_at
	FROM audit_heads
	WHERE tenant_id IN {ids $1}
	ORDER BY tenant_id
	{for update}`

// lockHeads locks the heads of tenants, so that nobody else seals rows of them meanwhile. It
// begins the chains of those that have none, where the row of the tenant's creation waits.
func (c *Chain) lockHeads(tx *db.Tx, tenants []string) (map[string]head, error) {
	heads, err := readHeads(tx, tenants)
	if err != nil || len(heads) == len(tenants) {
		return heads, err
	}
	isBegun := false
	for _, t := range tenants {
		if _, ok := heads[t]; ok {
			continue
		}
		genuine, err := c.hasCreationRow(tx, t)
		if err != nil {
			return nil, err
		}
		if genuine {
			isBegun = true
			tx.Queue(beginChainSQL, []any{t, origin, c.headMAC(t, 0, origin), c.Now()}, nil)
		}
	}
	if !isBegun {
		return heads, nil
	}
	return readHeads(tx, tenants) // another sealer may have begun them
}

func readHeads(tx *db.Tx, tenants []string) (map[string]head, error) {
	heads := map[string]head{}
	err := tx.Query(lockHeadsSQL, []any{textsJSON(tenants)}, func(r *db.Row) error {
		heads[r.Text(0)] = head{r.Int(1), r.Text(2), r.Text(3), r.Time(4)}
		return nil
	})
	return heads, err
}

const beginChainSQL = `
	INSERT INTO audit_heads (tenant_id, seal_no, hash, mac, sealed_at)
	VALUES ($1, 0, $2, $3, $4)
	ON CONFLICT (tenant_id) DO NOTHING`

// creationRowsSQL selects the rows of a tenant's creation. $1 tenant, $2 to $4 actions.
var creationRowsSQL = db.FillWords(`
	SELECT {columns}
	FROM audit
	WHERE tenant_id = $1
		AND action IN ($2, $3, $4)
		AND code IS NOT NULL`, "{columns}", audit.Columns)

// hasCreationRow reports that the genuine row of the tenant's creation waits for its seal,
// which takes its code.
func (c *Chain) hasCreationRow(tx *db.Tx, tenant string) (genuine bool, err error) {
	codes := audit.NewCoder(c.Keys.Log)
	err = tx.Query(creationRowsSQL,
		[]any{tenant, audit.TenantCreated, audit.TenantInserted, audit.PlatformCreated}, func(r *db.Row) error {
			genuine = genuine || audit.IsCreation(tenant, r) &&
				codes.IsGenuine(audit.AppendContent(nil, tenant, r), r)
			return nil
		})
	return genuine, err
}

const insertSealSQL = `
	INSERT INTO audit_seals (tenant_id, seal_no, batch, row_count, ids, hash, sealed_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7)`

// moveHeadSQL is of the same tenant as the seal before it. $1 tenant, $2 number, $3 hash, $4 MAC, $5 now.
const moveHeadSQL = `
	UPDATE audit_heads
	SET seal_no = $2, hash = $3, mac = $4, sealed_at = $5
	WHERE tenant_id = $1`

const takeCreationCodeSQL = `
	UPDATE audit
	SET code = NULL
	WHERE tenant_id = $1
		AND id = $2`

// sealGroups adds a seal for each group to its tenant's chain. The heads are locked.
func (c *Chain) sealGroups(tx *db.Tx, heads map[string]head, groups []*group) (done sealing, err error) {
	moved := map[string]bool{}
	for _, g := range groups {
		h, ok := heads[g.tenant]
		if err := c.checkHead(g.tenant, h, ok); err != nil {
			if !slices.Contains(done.broken, g.tenant) { // one error for a tenant
				done.err, done.broken = errors.Join(done.err, err), append(done.broken, g.tenant)
			}
			continue
		}
		done.err = errors.Join(done.err, g.findFault())
		if g.rows+g.expected == 0 {
			continue
		}
		s := g.asSeal(h)
		tx.Queue(insertSealSQL, []any{g.tenant, s.no, s.batch, s.rows, db.Null(s.ids), s.hash, c.Now()}, nil)
		for _, id := range g.creation {
			tx.Queue(takeCreationCodeSQL, []any{g.tenant, id}, nil)
		}
		h.no, h.hash = s.no, s.hash
		h.mac = c.headMAC(g.tenant, h.no, h.hash)
		heads[g.tenant], moved[g.tenant] = h, true
		done.rows += g.rows
	}
	for _, tenant := range slices.Sorted(maps.Keys(moved)) {
		h := heads[tenant]
		tx.Queue(moveHeadSQL, []any{tenant, h.no, h.hash, h.mac, c.Now()}, nil)
	}
	return done, tx.Flush()
}

// checkHead refuses a chain that takes no seal.
func (c *Chain) checkHead(tenant string, h head, isThere bool) error {
	if !isThere {
		return errGone(tenant)
	}
	if !c.isGenuine(tenant, h) {
		return errHead(tenant)
	}
	return nil
}

// findFault is what is wrong with the rows of a group, which is told once.
func (g *group) findFault() (err error) {
	if g.forged > 0 {
		err = errForged(g.tenant, g.forged)
	} else if g.rows < g.expected {
		err = errRemoved(g.tenant, g.expected-g.rows)
	}
	return err
}
