// Package chain makes tampering with the audit log show.
//
// Writers insert audit rows as they go and never wait for one another: each row
// carries an authentication code (see package audit) from the moment it is written,
// and the number of a batch (audit.Batch). Nothing updates a row afterwards. A sealer, run
// by upkeep, takes the batches of its process of which nothing can be committed any
// more, and writes for each tenant in a batch one narrow row, its seal:
//
//	content = tenant and columns of a row, each with its length (audit.AppendContent)
//	digest  = SHA-256 of the SHA-256 of each content, in the order of the ids
//	hash    = SHA-256 of tenant, seal_no, the hash of the seal before, batch, row_count,
//	          digest, ids, each with its length
//
// The newest number and hash of a tenant are kept apart, in audit_heads, under a MAC whose
// key is not in the database. A row without a genuine code is in no seal. A chain begins
// only with the row that tells of its tenant's creation, which loses its code then: a chain
// that somebody removes with its head does not begin anew, but is missing.
//
// What a process that died had not sealed is sealed by another one, by the numbers of its
// epoch. A transaction of it may still commit meanwhile. So such a seal names the ids of its
// rows, and what comes later gets a seal of its own.
//
// Why not the chain itself at each write: every writer of a tenant would then
// wait for the one before it, from its statement to the end of its commit. A
// code costs some microseconds and no wait.
//
// What this shows: a row that was forged or changed, sealed or not; a sealed
// row that was removed, inserted or moved; one that was removed before it was sealed, while
// its process lived; rows cut off at the end; a chain that is gone: whoever did it and by
// whatever way, without the master key. Once an hour the heads are kept in the platform's own
// chain, so that a tenant's log that was put back with its genuine old head shows, too. What
// this does not show: a whole database set back to an older state; against that
// `holdfast verify --audit --heads FILE` keeps heads elsewhere.
//
// Layer: domains. Begin at [Chain].
package chain

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

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

var everywhere = db.Scope{All: true}

// origin stands before the first seal.
var origin = strings.Repeat("0", 2*sha256.Size)

// seal is one link of a tenant's chain.
type seal struct {
	no    int64
	batch int64
	rows  int64
	ids   string // a JSON array; "" = all rows of the batch that no other seal names
	hash  string
}

// hashSeal links a seal of rows with a digest to the one before.
func (s *seal) hashSeal(tenant, previous string, digest []byte) string {
	var b []byte
	for _, part := range []string{tenant, strconv.FormatInt(s.no, 10), previous, strconv.FormatInt(s.batch, 10),
		strconv.FormatInt(s.rows, 10), hex.EncodeToString(digest), s.ids} {
		b = strconv.AppendInt(b, int64(len(part)), 10)
		b = append(append(b, ':'), part...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (c *Chain) headMAC(tenant string, no int64, hash string) string {
	return hex.EncodeToString(c.Keys.Sum("audit-head", tenant, strconv.FormatInt(no, 10), hash))
}

// head is the end of a tenant's chain.
type head struct {
	no        int64
	hash, mac string
	at        time.Time
}

func (c *Chain) isGenuine(tenant string, h head) bool {
	return subtle.ConstantTimeCompare([]byte(c.headMAC(tenant, h.no, h.hash)), []byte(h.mac)) == 1
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

func errForged(tenant string, rows int64) error {
	return fault.New(fault.Internal, "audit_forged",
		"%d rows in the audit log of tenant %s were not written by the server, or were changed since", rows, tenant)
}

func errRemoved(tenant string, rows int64) error {
	return fault.New(fault.Internal, "audit_tampered",
		"%d rows of the audit log of tenant %s were removed before they were sealed, or lost with a primary",
		rows, tenant)
}
