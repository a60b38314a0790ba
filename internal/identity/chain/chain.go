// Package chain makes tampering with the audit log show.
//
// Writers insert audit rows as they go and never wait for one another. A
// sealer, run by upkeep, takes the rows that were committed since and links
// them, tenant by tenant, in the order of their ids: each row gets the next
// seal_no of its tenant, the hash of the row before (prev_hash) and its own:
//
//	hash = SHA-256 of the JSON array [tenant, seal_no, prev_hash, id, at,
//	       actor_user_id, key_id, action, entity_type, entity_id, outcome,
//	       before, after, details, address, request_id], absent values null;
//	       session_id is a last member where there is one
//
// A row that commits late, with an id below one already sealed, gets a later
// number; nothing sealed ever changes. The newest number and hash of a tenant
// are kept apart, in audit_heads, under a MAC whose key is not in the database.
//
// What this shows: a sealed row that was changed, removed, inserted or moved,
// and rows cut off at the end, whoever did it and by whatever way, unless he
// has the master key. What it does not: a row removed before it was sealed
// (upkeep's interval), and a whole database set back to an older state, head
// and all; against that keep Report's head elsewhere, as `holdfast verify
// --audit` prints it.
package chain

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/seal"
)

// Chain seals and verifies; safe for concurrent use, also by several nodes.
type Chain struct {
	DB   *db.DB
	Keys seal.Keys
	Now  func() time.Time
}

// batch is how many rows one transaction seals: on SQLite it holds the only
// writer meanwhile.
const batch = 500

var everywhere = db.Scope{All: true}

// origin stands before the first row.
var origin = strings.Repeat("0", 64)

const columns = "id, at, actor_user_id, key_id, action, entity_type, entity_id, outcome, before, after, details, address, request_id, session_id"

// width is how many columns there are in columns. The last one came later: a
// row without it has the hash it always had.
const width = 14

// hash links a row whose columns start at index 0.
func hash(tenant string, no int64, prev string, r *db.Row) (string, error) {
	parts := make([]any, 0, 3+width)
	parts = append(parts, tenant, no, prev)
	for i := range width {
		if r.Null(i) {
			if i < width-1 {
				parts = append(parts, nil)
			}
			continue
		}
		parts = append(parts, r.Text(i))
	}
	b, err := json.Marshal(parts)
	if err != nil {
		return "", fmt.Errorf("chain: row: %w", err)
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]), nil
}

func (c *Chain) mac(tenant string, no int64, hash string) string {
	return hex.EncodeToString(c.Keys.Sum("audit-head", tenant, strconv.FormatInt(no, 10), hash))
}

// Seal links every row that waits and returns how many those were.
func (c *Chain) Seal(ctx context.Context) (int, error) {
	var tenants []string
	err := c.DB.Read(ctx, everywhere, func(tx *db.Tx) error {
		tenants = nil
		return tx.Query("SELECT DISTINCT tenant_id FROM audit WHERE seal_no IS NULL", nil, func(r *db.Row) error {
			tenants = append(tenants, r.Text(0))
			return nil
		})
	})
	total := 0
	for _, t := range tenants {
		for n := batch; err == nil && n == batch; total += n {
			n, err = c.sealSome(ctx, t)
		}
	}
	if err != nil {
		return total, fmt.Errorf("chain: seal: %w", err)
	}
	return total, nil
}

// head is the end of a tenant's chain.
type head struct {
	no        int64
	hash, mac string
	at        time.Time
}

func headOf(tx *db.Tx, tenant, lock string) (head, error) {
	var h head
	err := tx.One("SELECT seal_no, hash, mac, sealed_at FROM audit_heads WHERE tenant_id = $1"+lock, []any{tenant}, func(r *db.Row) error {
		h = head{r.Int(0), r.Text(1), r.Text(2), r.Time(3)}
		return nil
	})
	return h, err
}

// errHead stops the sealing of a chain whose end was tampered with: to go on
// would give it a good end again.
func errHead(tenant string) error {
	return fault.New(fault.Internal, "audit_tampered", "the end of the audit chain of tenant %s was changed", tenant)
}

// sealSome links the next rows of a tenant under the lock of its head.
func (c *Chain) sealSome(ctx context.Context, tenant string) (n int, err error) {
	err = c.DB.Write(ctx, everywhere, func(tx *db.Tx) error {
		n = 0
		now := c.Now()
		tx.Queue("INSERT INTO audit_heads (tenant_id, seal_no, hash, mac, sealed_at) VALUES ($1, 0, $2, $3, $4) ON CONFLICT (tenant_id) DO NOTHING",
			[]any{tenant, origin, c.mac(tenant, 0, origin), now}, nil)
		h, err := headOf(tx, tenant, tx.DB().ForUpdate())
		if err != nil {
			return err
		}
		if !c.genuine(tenant, h) {
			return errHead(tenant)
		}
		var links []byte // a JSON array
		err = tx.Query("SELECT "+columns+" FROM audit WHERE tenant_id = $1 AND seal_no IS NULL ORDER BY id LIMIT $2", []any{tenant, batch}, func(r *db.Row) error {
			sum, err := hash(tenant, h.no+1, h.hash, r)
			links = append(links, link(r.Text(0), h.hash, sum, h.no+1)...)
			h.no, h.hash = h.no+1, sum
			n++
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		links[0] = '['
		tx.Queue(linkText(tx.DB()), []any{tenant, string(append(links, ']'))}, nil)
		tx.Queue("UPDATE audit_heads SET seal_no = $2, hash = $3, mac = $4, sealed_at = $5 WHERE tenant_id = $1",
			[]any{tenant, h.no, h.hash, c.mac(tenant, h.no, h.hash), now}, nil)
		return tx.Flush()
	})
	return n, err
}

// link is a row's place in the chain, in pieces of fixed width: 36 of its id, 64
// of each hash, then the number.
func link(id, prev, hash string, no int64) []byte {
	return append(strconv.AppendInt([]byte(`,"`+id+prev+hash), no, 10), '"')
}

// linkText writes the links of a batch by one statement: a statement for each
// row is what sealing would cost the most.
func linkText(d *db.DB) string {
	return "UPDATE audit SET prev_hash = substr(v.value, 37, 64), hash = substr(v.value, 101, 64), seal_no = CAST(substr(v.value, 165) AS bigint) FROM " +
		d.Elements("$2", "v") + " WHERE tenant_id = $1 AND audit.id = " + d.UUID("substr(v.value, 1, 36)")
}

func (c *Chain) genuine(tenant string, h head) bool {
	return subtle.ConstantTimeCompare([]byte(c.mac(tenant, h.no, h.hash)), []byte(h.mac)) == 1
}

// Rekey puts the heads under the MAC of c's keys in place of old's. Where a
// head is not genuine it stays, so that Verify goes on to say so; those tenants
// are returned.
func (c *Chain) Rekey(tx *db.Tx, old seal.Keys) (broken []string, err error) {
	before := Chain{Keys: old}
	heads := map[string]head{}
	err = tx.Query("SELECT tenant_id, seal_no, hash, mac FROM audit_heads ORDER BY tenant_id", nil, func(r *db.Row) error {
		tenant, h := r.Text(0), head{no: r.Int(1), hash: r.Text(2), mac: r.Text(3)}
		if before.genuine(tenant, h) {
			heads[tenant] = h
		} else {
			broken = append(broken, tenant)
		}
		return nil
	})
	for tenant, h := range heads {
		tx.Queue("UPDATE audit_heads SET mac = $2 WHERE tenant_id = $1", []any{tenant, c.mac(tenant, h.no, h.hash)}, nil)
	}
	if err != nil {
		return nil, err
	}
	return broken, tx.Flush()
}

// Break is a place where the chain does not hold.
type Break struct {
	SealNo int64  `json:"seal_no"` // where it was noticed
	ID     string `json:"id,omitempty"`
	Why    string `json:"why"`
}

// Report is what Verify found in one tenant's chain.
type Report struct {
	TenantID string    `json:"tenant_id"`
	Rows     int64     `json:"rows"` // sealed
	Waiting  int64     `json:"waiting"`
	Head     string    `json:"head"` // hash of the newest sealed row
	SealedAt time.Time `json:"sealed_at"`
	Breaks   []Break   `json:"breaks"` // at most maxBreaks; none = whole
}

// Whole reports a chain without a break.
func (r Report) Whole() bool { return len(r.Breaks) == 0 }

const maxBreaks = 20

func (r *Report) fault(no int64, id, why string, args ...any) {
	if len(r.Breaks) < maxBreaks {
		r.Breaks = append(r.Breaks, Break{no, id, fmt.Sprintf(why, args...)})
	}
}

// Tenants lists the tenants that have a chain or rows in the log.
func (c *Chain) Tenants(ctx context.Context) (list []string, err error) {
	err = c.DB.Read(ctx, everywhere, func(tx *db.Tx) error {
		list = nil
		return tx.Query("SELECT tenant_id FROM audit_heads UNION SELECT tenant_id FROM audit ORDER BY 1", nil, func(r *db.Row) error {
			list = append(list, r.Text(0))
			return nil
		})
	})
	return list, err
}

// Verify recomputes a tenant's chain in one snapshot.
func (c *Chain) Verify(ctx context.Context, tenant string) (Report, error) {
	var rep Report
	err := c.DB.Read(ctx, everywhere, func(tx *db.Tx) error {
		rep = Report{TenantID: tenant, Breaks: []Break{}}
		last, err := rep.walk(tx)
		if err != nil {
			return err
		}
		h, err := headOf(tx, tenant, "")
		switch {
		case fault.Is(err, fault.NotFound):
			if rep.Rows > 0 {
				rep.fault(last.no, "", "the chain has no head")
			}
		case err != nil:
			return err
		case !c.genuine(tenant, h):
			rep.fault(h.no, "", "the head was changed, or sealed with another master key")
		case h.no != last.no || h.hash != last.hash:
			rep.fault(last.no, "", "the head is row %d; rows were removed from the end, or added", h.no)
		}
		rep.Head, rep.SealedAt = h.hash, h.at
		return tx.One("SELECT COUNT(*) FROM audit WHERE tenant_id = $1 AND seal_no IS NULL", []any{tenant}, func(r *db.Row) error {
			rep.Waiting = r.Int(0)
			return nil
		})
	})
	if err != nil {
		return rep, fmt.Errorf("chain: verify: %w", err)
	}
	return rep, nil
}

// walk follows the chain and returns its last row as found.
func (r *Report) walk(tx *db.Tx) (head, error) {
	last := head{hash: origin}
	for {
		n := 0
		err := tx.Query("SELECT "+columns+", seal_no, prev_hash, hash FROM audit WHERE tenant_id = $1 AND seal_no > $2 ORDER BY seal_no LIMIT $3",
			[]any{r.TenantID, last.no, 1000}, func(row *db.Row) error {
				n++
				r.Rows++
				no, prev, sum := row.Int(width), row.Text(width+1), row.Text(width+2)
				switch want, err := hash(r.TenantID, no, prev, row); {
				case err != nil:
					return err
				case no != last.no+1:
					r.fault(no, row.Text(0), "rows %d to %d are missing", last.no+1, no-1)
				case prev != last.hash:
					r.fault(no, row.Text(0), "the row before it is not the one it was linked to")
				case want != sum:
					r.fault(no, row.Text(0), "the row was changed")
				}
				last.no, last.hash = no, sum
				return nil
			})
		if err != nil || n < 1000 {
			return last, err
		}
	}
}
