package chain

import (
	"encoding/json"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
)

// sealsAtOnce is how many seals are compared with their rows at once.
const sealsAtOnce = 500

// sealsSQL selects the seals after one. $1 tenant, $2 number, $3 how many.
const sealsSQL = `
	SELECT seal_no, batch, row_count, ids, hash
	FROM audit_seals
	WHERE tenant_id = $1
		AND seal_no > $2
	ORDER BY seal_no
	LIMIT $3`

// walkChain follows the chain and returns its last seal as found. It fills in the hashes of
// the seals whose numbers are in hashes.
func (c *Chain) walkChain(tx *db.Tx, rep *Report, hashes map[int64]string) (head, error) {
	last := head{hash: origin}
	for {
		page, err := readSeals(tx, rep.TenantID, last.no)
		if err != nil {
			return last, err
		}
		found, err := readFound(tx, rep.TenantID, page)
		if err != nil {
			return last, err
		}
		for _, s := range page {
			if s.no != last.no+1 {
				rep.addBreak(s.no, "", "seals %d to %d are missing", last.no+1, s.no-1)
			}
			g := found.groupOf(s)
			rep.Rows += g.rows
			holds := s.hashSeal(rep.TenantID, last.hash, g.digest.Sum(nil)) == s.hash && g.rows == s.rows
			if !holds && len(rep.Breaks) < maxBreaks {
				if err := c.explainSeal(tx, rep, s, last.hash); err != nil {
					return last, err
				}
			}
			last.no, last.hash = s.no, s.hash
			if _, isAsked := hashes[s.no]; isAsked {
				hashes[s.no] = s.hash
			}
		}
		if len(page) < sealsAtOnce {
			return last, nil
		}
	}
}

func readSeals(tx *db.Tx, tenant string, after int64) (page []seal, err error) {
	err = tx.Query(sealsSQL, []any{tenant, after, sealsAtOnce}, func(r *db.Row) error {
		page = append(page, seal{no: r.Int(0), batch: r.Int(1), rows: r.Int(2), ids: r.Text(3), hash: r.Text(4)})
		return nil
	})
	return page, err
}

// found is what the log holds of the batches of some seals.
type found struct {
	tenant  string
	sealed  *sealed
	byBatch map[int64]*group // of the rows that no seal names
	byName  map[int64]*group // of those that one names, by its number
}

// groupOf is what is there of what a seal holds.
func (f *found) groupOf(s seal) *group {
	groups, key := f.byBatch, s.batch
	if s.ids != "" {
		groups, key = f.byName, s.no
	}
	if groups[key] == nil {
		groups[key] = newGroup(f.tenant, s.batch)
	}
	return groups[key]
}

// sealOf is the seal that holds a row: number 0 = that of the rest of its batch.
func (f *found) sealOf(id string, batch int64) seal {
	no, isNamed := f.sealed.named[namedRow{f.tenant, id}]
	if isNamed {
		return seal{no: no, batch: batch, ids: id}
	}
	return seal{batch: batch}
}

// namingSealsSQL selects the seals of batches that name rows. $1 tenant, $2 numbers.
const namingSealsSQL = `
	SELECT seal_no, batch, ids
	FROM audit_seals
	WHERE tenant_id = $1
		AND batch IN {ints $2}
		AND ids IS NOT NULL`

// sealedRowsSQL selects the rows of batches. $1 tenant, $2 numbers.
var sealedRowsSQL = db.FillWords(`
	SELECT {columns}
	FROM audit
	WHERE tenant_id = $1
		AND batch IN {ints $2}
	ORDER BY id`, "{columns}", audit.Columns)

// readFound reads the rows of the batches of some seals.
func readFound(tx *db.Tx, tenant string, page []seal) (*found, error) {
	out := &found{tenant: tenant, sealed: newSealed(), byBatch: map[int64]*group{}, byName: map[int64]*group{}}
	batches := batchesJSON(page)
	tx.Queue(namingSealsSQL, []any{tenant, batches}, func(r *db.Row) error {
		out.sealed.addSeal(tenant, seal{no: r.Int(0), batch: r.Int(1), ids: r.Text(2)})
		return nil
	})
	var content []byte
	tx.Queue(sealedRowsSQL, []any{tenant, batches}, func(r *db.Row) error {
		content = audit.AppendContent(content[:0], tenant, r)
		out.groupOf(out.sealOf(r.Text(0), r.Int(audit.AtBatch))).addContent(content)
		return nil
	})
	return out, tx.Flush()
}

func batchesJSON(page []seal) string {
	list := make([]int64, len(page))
	for i, s := range page {
		list[i] = s.batch
	}
	text, _ := json.Marshal(list) // numbers have no way to fail
	return string(text)
}

// explainSeal says what is wrong with a seal that does not hold: by the codes of its rows,
// as far as they are of today's key.
func (c *Chain) explainSeal(tx *db.Tx, rep *Report, s seal, previous string) error {
	of := &found{tenant: rep.TenantID, sealed: newSealed()}
	tx.Queue(namingSealsSQL, []any{rep.TenantID, batchesJSON([]seal{s})}, func(r *db.Row) error {
		of.sealed.addSeal(rep.TenantID, seal{no: r.Int(0), batch: r.Int(1), ids: r.Text(2)})
		return nil
	})
	holder := int64(0)
	if s.ids != "" {
		holder = s.no
	}
	codes, seen := audit.NewCoder(c.Keys.Log), explanation{genuine: newGroup(rep.TenantID, s.batch)}
	tx.Queue(sealedRowsSQL, []any{rep.TenantID, batchesJSON([]seal{s})}, func(r *db.Row) error {
		if of.sealOf(r.Text(0), s.batch).no != holder {
			return nil
		}
		content := audit.AppendContent(nil, rep.TenantID, r)
		isGenuine := codes.IsGenuine(content, r)
		seen.isKeyed = seen.isKeyed || isGenuine
		if isGenuine || r.Null(audit.AtCode) && audit.IsCreation(rep.TenantID, r) {
			seen.genuine.addContent(content)
		} else {
			seen.strange = append(seen.strange, r.Text(0))
		}
		return nil
	})
	if err := tx.Flush(); err != nil {
		return err
	}
	seen.reportBreaks(rep, s, previous)
	return nil
}

// explanation is what the codes say of the rows of a seal that does not hold.
type explanation struct {
	genuine *group
	strange []string // ids of rows without a code of today's key
	isKeyed bool     // one of them has such a code; else the key was replaced since, or all were changed
}

// reportBreaks names the rows that make a seal not hold, or says how many are too few or too many.
func (e *explanation) reportBreaks(r *Report, s seal, previous string) {
	strange := int64(len(e.strange))
	there := e.genuine.rows + strange
	isNamed := e.isKeyed || strange == 1
	isOfGenuine := s.hashSeal(r.TenantID, previous, e.genuine.digest.Sum(nil)) == s.hash
	why := "the row was changed"
	if isOfGenuine {
		why = whyForged
	}
	switch {
	case there < s.rows:
		r.addBreak(s.no, "", "%s missing", fault.Counted(s.rows-there, "row is", "rows are"))
	case there > s.rows && !isOfGenuine:
		r.addBreak(s.no, "", "%s added", fault.Counted(there-s.rows, "row was", "rows were"))
	case strange == 0 || !isNamed:
		r.addBreak(s.no, "", "the seal was changed, or what it seals (%s)", fault.Counted(s.rows, "row", "rows"))
	}
	if !isNamed {
		return
	}
	for _, id := range e.strange {
		r.addBreak(s.no, id, "%s", why)
	}
}
