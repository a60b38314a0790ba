// Package chain makes tampering with the audit log show.
//
// Writers insert audit rows as they go and never wait for one another: each row
// carries an authentication code in its hash (see package audit) from the moment
// it is written. A sealer, run by upkeep, takes the rows that were committed
// since, checks their codes and links them, tenant by tenant, in the order of
// their ids: each row gets the next seal_no of its tenant, the hash of the row
// before (prev_hash) and, in place of its code, its own:
//
//	hash = SHA-256 of the JSON array [tenant, seal_no, prev_hash, id, at,
//	       actor_user_id, key_id, action, entity_type, entity_id, outcome,
//	       before, after, details, address, request_id], absent values null;
//	       session_id is a last member where there is one
//
// A row that commits late, with an id below one already sealed, gets a later
// number; nothing sealed ever changes. The newest number and hash of a tenant
// are kept apart, in audit_heads, under a MAC whose key is not in the database.
// A row without a genuine code is never linked: it gets the number 0, which
// says so for good. A chain begins only where the row that tells of its
// tenant's creation waits, so that who removes a chain with its head finds it
// not begun anew but missing.
//
// Why not the chain itself at each write: every writer of a tenant would then
// wait for the one before it, from its statement to the end of its commit. A
// code costs some microseconds and no wait.
//
// What this shows: a row that was forged or changed, sealed or not; a sealed
// row that was removed, inserted or moved; rows cut off at the end; a chain that
// is gone: whoever did it and by whatever way, unless he has the master key.
// Once an hour the heads are kept in the platform's own chain, so that a tenant's
// log that was put back with its genuine old head is told, too. What this does not
// show: a row removed before it was sealed (upkeep's interval), and a whole
// database set back to an older state; against that `holdfast verify --audit
// --heads FILE` keeps heads elsewhere.
//
// Layer: domains. Begin at [Chain].
package chain

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/audit"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/secrets"
)

// Chain seals and verifies; safe for concurrent use, also by several nodes.
type Chain struct {
	DB   *db.DB
	Keys secrets.Keys
	Now  func() time.Time
}

// batch is how many rows one transaction seals: on SQLite it holds the only
// writer meanwhile.
const batch = 500

var everywhere = db.Scope{All: true}

// origin stands before the first row.
var origin = strings.Repeat("0", 64)

// order is where a row's columns stand in the array, as they are read (see
// audit.Columns): session_id came later, and a row without it has the hash it
// always had.
var order = [...]int{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, session}

// session is where session_id stands in audit.Columns, sealedAt what is read
// after them.
const (
	session  = 4
	sealedAt = 15
)

// hasher makes the hashes of one tenant's rows, one after the other.
type hasher struct {
	tenant string
	text   []byte
}

// hashRow links a row whose first columns are audit.Columns.
func (h *hasher) hashRow(no int64, prev string, r *db.Row) string {
	b := appendJSON(append(h.text[:0], '['), h.tenant)
	b = strconv.AppendInt(append(b, ','), no, 10)
	b = appendJSON(append(b, ','), prev)
	for _, i := range order {
		if !r.Null(i) {
			b = appendJSON(append(b, ','), r.Text(i))
		} else if i != session {
			b = append(b, ",null"...)
		}
	}
	h.text = append(b, ']')
	sum := sha256.Sum256(h.text)
	return hex.EncodeToString(sum[:])
}

// appendJSON appends a text as encoding/json writes it, which the hashes are of.
func appendJSON(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&':
			whole, _ := json.Marshal(s) // a string has no way to fail
			return append(b[:start], whole...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func (c *Chain) headMAC(tenant string, no int64, hash string) string {
	return hex.EncodeToString(c.Keys.Sum("audit-head", tenant, strconv.FormatInt(no, 10), hash))
}

// Seal links every row that waits and returns how many those were. What is
// wrong with one tenant's chain (faults audit_tampered, audit_forged) keeps no
// other from being sealed.
func (c *Chain) Seal(ctx context.Context) (total int, err error) {
	var tenants []string
	err = c.DB.Read(ctx, everywhere, func(tx *db.Tx) error {
		tenants, err = unsealedTenants(tx)
		return err
	})
	for _, t := range tenants {
		n, bad := c.sealTenant(ctx, t)
		total, err = total+n, errors.Join(err, bad)
	}
	if err != nil {
		return total, fmt.Errorf("chain: seal: %w", err)
	}
	return total, nil
}

func (c *Chain) sealTenant(ctx context.Context, tenant string) (total int, err error) {
	forged := 0
	for n := batch; n == batch; {
		var done links
		err = c.DB.Write(ctx, everywhere, func(tx *db.Tx) (err error) {
			done, err = c.sealSome(tx, tenant)
			return err
		})
		if err != nil {
			return total, err
		}
		n, total, forged = done.rows+len(done.forged), total+done.rows, forged+len(done.forged)
	}
	if forged > 0 {
		err = errForged(tenant, forged)
	}
	return total, err
}

// head is the end of a tenant's chain.
type head struct {
	no        int64
	hash, mac string
	at        time.Time
}

func headOf(tx *db.Tx, tenant, lock string) (head, error) {
	var h head
	err := tx.One(db.FillWords(`
		SELECT seal_no, hash, mac, sealed_at
		FROM audit_heads
		WHERE tenant_id = $1 {lock}`, "{lock}", lock), []any{tenant}, func(r *db.Row) error {
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

// errGone stops the sealing where a chain was, or ought to be.
func errGone(tenant string) error {
	return fault.New(fault.Internal, "audit_tampered", "the audit chain of tenant %s is gone: %s", tenant, whyGone)
}

func errForged(tenant string, rows int) error {
	return fault.New(fault.Internal, "audit_forged", "%d rows in the audit log of tenant %s were not written by the server, or were changed since", rows, tenant)
}

const beginChainSQL = `
	INSERT INTO audit_heads (tenant_id, seal_no, hash, mac, sealed_at)
	VALUES ($1, 0, $2, $3, $4)
	ON CONFLICT (tenant_id) DO NOTHING`

// beginChain makes the head of a tenant that has none. Only the row of the tenant's
// creation begins a chain.
func (c *Chain) beginChain(tx *db.Tx, tenant string) (head, error) {
	genuine, err := c.hasCreationRow(tx, tenant)
	if err != nil {
		return head{}, err
	}
	if !genuine {
		// Another sealer may have begun it since.
		h, err := headOf(tx, tenant, tx.DB().ForUpdate())
		if fault.Is(err, fault.NotFound) {
			err = errGone(tenant)
		}
		return h, err
	}
	tx.Queue(beginChainSQL, []any{tenant, origin, c.headMAC(tenant, 0, origin), c.Now()}, nil)
	return headOf(tx, tenant, tx.DB().ForUpdate())
}

// hasCreationRow reports that the genuine row of the tenant's creation waits.
func (c *Chain) hasCreationRow(tx *db.Tx, tenant string) (genuine bool, err error) {
	action, record, entity := audit.TenantCreated, audit.TenantInserted, any(tenant)
	if tenant == db.NoTenant {
		action, record, entity = audit.PlatformCreated, "", nil
	}
	codes := audit.NewCoder(c.Keys.Log)
	err = tx.Query(db.FillWords(`
		SELECT {columns}
		FROM audit
		WHERE tenant_id = $1
			AND seal_no IS NULL
			AND action IN ($2, $3)
			AND entity_id IS NOT DISTINCT FROM $4`, "{columns}", audit.Columns),
		[]any{tenant, action, record, entity}, func(r *db.Row) error {
			genuine = genuine || codes.Genuine(tenant, r)
			return nil
		})
	return genuine, err
}

// links is what sealSome does to the rows it takes.
type links struct {
	text   []byte   // a JSON array of the links
	rows   int      // that are linked
	forged []string // ids of those that are not
}

// sealSome links the next rows of a tenant under the lock of its head.
func (c *Chain) sealSome(tx *db.Tx, tenant string) (out links, err error) {
	h, err := headOf(tx, tenant, tx.DB().ForUpdate())
	if fault.Is(err, fault.NotFound) {
		h, err = c.beginChain(tx, tenant)
	}
	if err != nil {
		return out, err
	}
	if !c.isGenuine(tenant, h) {
		return out, errHead(tenant)
	}
	sums, codes := hasher{tenant: tenant}, audit.NewCoder(c.Keys.Log)
	err = tx.Query(db.FillWords(`
		SELECT {columns}
		FROM audit
		WHERE tenant_id = $1
			AND seal_no IS NULL
		ORDER BY id
		LIMIT $2`, "{columns}", audit.Columns),
		[]any{tenant, batch}, func(r *db.Row) error {
			if !codes.Genuine(tenant, r) {
				out.forged = append(out.forged, r.Text(0))
				return nil
			}
			sum := sums.hashRow(h.no+1, h.hash, r)
			out.text = appendLink(out.text, r, h.hash, sum, h.no+1)
			h.no, h.hash = h.no+1, sum
			out.rows++
			return nil
		})
	if err != nil {
		return out, err
	}
	for _, id := range out.forged {
		tx.Queue("UPDATE audit SET seal_no = 0 WHERE tenant_id = $1 AND id = $2", []any{tenant, id}, nil)
	}
	if out.rows > 0 {
		out.text[0] = '['
		tx.Queue(linkRowsSQL, []any{tenant, string(append(out.text, ']'))}, nil)
		tx.Queue(`
			UPDATE audit_heads
			SET seal_no = $2, hash = $3, mac = $4, sealed_at = $5
			WHERE tenant_id = $1`,
			[]any{tenant, h.no, h.hash, c.headMAC(tenant, h.no, h.hash), c.Now()}, nil)
	}
	return out, tx.Flush()
}

// appendLink appends a row's place in the chain, in pieces of fixed width: 36 of
// its id, 64 of each hash, then the number.
func appendLink(b []byte, r *db.Row, prev, hash string, no int64) []byte {
	b = r.AppendText(append(b, `,"`...), 0)
	b = append(append(b, prev...), hash...)
	return append(strconv.AppendInt(b, no, 10), '"')
}

// linkRowsSQL writes the links of a batch by one statement: a statement for each
// row is what sealing would cost the most. The ids are read out of the texts
// before rows are looked for: under row level security PostgreSQL takes no index
// for a comparison with a function that might tell what it is given, and would
// read the tenant's whole log for each batch.
const linkRowsSQL = `
	WITH v AS MATERIALIZED (
		SELECT {uuid substr(e.value, 1, 36)} AS id, e.value AS link
		FROM {elements $2 AS e}
	)
	UPDATE audit
	SET prev_hash = substr(v.link, 37, 64),
		hash = substr(v.link, 101, 64),
		seal_no = CAST(substr(v.link, 165) AS bigint)
	FROM v
	WHERE tenant_id = $1 AND audit.id = v.id`

func (c *Chain) isGenuine(tenant string, h head) bool {
	return subtle.ConstantTimeCompare([]byte(c.headMAC(tenant, h.no, h.hash)), []byte(h.mac)) == 1
}

// Rekey links what waits under old's keys, and puts the heads under the MAC of
// c's in place of old's. Where a head is not genuine it stays, so that Verify
// goes on to say so; those tenants are returned.
func (c *Chain) Rekey(tx *db.Tx, old secrets.Keys) (broken []string, err error) {
	before := Chain{Keys: old, Now: c.Now}
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
		tx.Queue("UPDATE audit_heads SET mac = $2 WHERE tenant_id = $1", []any{tenant, c.headMAC(tenant, h.no, h.hash)}, nil)
	}
	if err != nil {
		return nil, err
	}
	return broken, tx.Flush()
}

// unsealedTenants are the tenants of which rows wait.
func unsealedTenants(tx *db.Tx) (tenants []string, err error) {
	err = tx.Query("SELECT DISTINCT tenant_id FROM audit WHERE seal_no IS NULL", nil, func(r *db.Row) error {
		tenants = append(tenants, r.Text(0))
		return nil
	})
	return tenants, err
}

// sealAll links what waits, as part of a transaction. A tenant whose chain is
// broken keeps its rows waiting.
func (c *Chain) sealAll(tx *db.Tx) error {
	tenants, err := unsealedTenants(tx)
	for _, t := range tenants {
		for n := batch; err == nil && n == batch; {
			var done links
			done, err = c.sealSome(tx, t)
			n = done.rows + len(done.forged)
		}
		if fault.HasCode(err, "audit_tampered") {
			err = nil
		}
	}
	return err
}
