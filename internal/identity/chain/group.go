package chain

import (
	"crypto/sha256"
	"encoding/json"
	"hash"

	"holdfast/internal/audit"
	"holdfast/internal/db"
)

// group is what one seal seals: the genuine rows that a batch holds of a tenant.
type group struct {
	tenant   string
	batch    int64
	rows     int64
	expected int64 // that were committed, where that is known
	digest   hash.Hash
	ids      []string // that the seal names; nil = none
	creation []string // ids of rows of the tenant's creation among them
	forged   int64
}

func newGroup(tenant string, batch int64) *group {
	return &group{tenant: tenant, batch: batch, digest: sha256.New()}
}

// addContent adds a row by its content.
func (g *group) addContent(content []byte) {
	sum := sha256.Sum256(content)
	g.digest.Write(sum[:])
	g.rows++
}

// asSeal is the seal that follows one.
func (g *group) asSeal(previous head) seal {
	s := seal{no: previous.no + 1, batch: g.batch, rows: max(g.rows, g.expected)}
	if g.ids != nil {
		text, _ := json.Marshal(g.ids) // texts have no way to fail
		s.ids = string(text)
	}
	s.hash = s.hashSeal(g.tenant, previous.hash, g.digest.Sum(nil))
	return s
}

// reading is which rows of some tenants a sealer reads.
type reading struct {
	tenants   []string
	low, high int64   // numbers of batches
	sealed    *sealed // nil = none of them is; else the seals name their rows
}

// readGroupsSQL selects rows of batches. $1 tenants, $2 and $3 numbers.
var readGroupsSQL = db.FillWords(`
	SELECT {columns}, tenant_id
	FROM audit
	WHERE tenant_id IN {ids $1}
		AND batch BETWEEN $2 AND $3
	ORDER BY tenant_id, batch, id`, "{columns}", audit.Columns)

const atTenant = audit.AtCode + 1

// readGroups reads what is to be sealed, in the order of tenants and batches.
func (c *Chain) readGroups(tx *db.Tx, what reading) (groups []*group, err error) {
	codes, content := audit.NewCoder(c.Keys.Log), []byte(nil)
	var g *group
	err = tx.Query(readGroupsSQL, []any{textsJSON(what.tenants), what.low, what.high}, func(r *db.Row) error {
		tenant, batch, id := r.Text(atTenant), r.Int(audit.AtBatch), r.Text(0)
		if what.sealed.holdsRow(tenant, batch, id) {
			return nil
		}
		if g == nil || g.tenant != tenant || g.batch != batch {
			g = newGroup(tenant, batch)
			groups = append(groups, g)
		}
		content = audit.AppendContent(content[:0], tenant, r)
		if !codes.IsGenuine(content, r) {
			g.forged++
			return nil
		}
		g.addContent(content)
		if audit.IsCreation(tenant, r) {
			g.creation = append(g.creation, id)
		}
		if what.sealed != nil {
			g.ids = append(g.ids, id)
		}
		return nil
	})
	return groups, err
}

func textsJSON(list []string) string {
	text, _ := json.Marshal(list) // texts have no way to fail
	return string(text)
}

// sealed is what seals of some batches hold already.
type sealed struct {
	whole map[batchOf]bool // no other row of the batch can be sealed
	named map[namedRow]int64
	rows  int64 // of all these seals
}

type batchOf struct {
	tenant string
	batch  int64
}

type namedRow struct{ tenant, id string }

// holdsRow reports that a row is sealed; of a nil sealed none is.
func (s *sealed) holdsRow(tenant string, batch int64, id string) bool {
	if s == nil {
		return false
	}
	_, isNamed := s.named[namedRow{tenant, id}]
	return isNamed || s.whole[batchOf{tenant, batch}]
}

func (s *sealed) isEmpty() bool { return len(s.whole)+len(s.named) == 0 }

// addSeal notes what a seal holds.
func (s *sealed) addSeal(tenant string, one seal) {
	s.rows += one.rows
	if one.ids == "" {
		s.whole[batchOf{tenant, one.batch}] = true
		return
	}
	var ids []string
	if json.Unmarshal([]byte(one.ids), &ids) != nil {
		return // the seal was changed, which its hash tells
	}
	for _, id := range ids {
		s.named[namedRow{tenant, id}] = one.no
	}
}

// readSealedSQL selects the seals of batches. $1 tenants, $2 and $3 numbers.
const readSealedSQL = `
	SELECT tenant_id, seal_no, batch, ids, row_count
	FROM audit_seals
	WHERE tenant_id IN {ids $1}
		AND batch BETWEEN $2 AND $3
	ORDER BY tenant_id, seal_no`

func readSealed(tx *db.Tx, tenants []string, low, high int64) (*sealed, error) {
	out := newSealed()
	err := tx.Query(readSealedSQL, []any{textsJSON(tenants), low, high}, func(r *db.Row) error {
		out.addSeal(r.Text(0), seal{no: r.Int(1), batch: r.Int(2), ids: r.Text(3), rows: r.Int(4)})
		return nil
	})
	return out, err
}

func newSealed() *sealed { return &sealed{whole: map[batchOf]bool{}, named: map[namedRow]int64{}} }
