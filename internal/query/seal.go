package query

import (
	"encoding/json"
	"slices"
	"strconv"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
)

// HasSeal reports a policy that keeps some rows for named readers, of whom the caller may be one.
func (p *Policy) HasSeal() bool { return p.seal != nil }

// ForgetReader makes a policy that is the same for everybody of the caller's role: rows that are
// for named readers are kept from those who are named, too.
func (p *Policy) ForgetReader() { p.reader = "" }

// SealPolicy is what of the caller's policy keeps rows of r for named readers; false where none are
// kept from the caller.
func SealPolicy(a actor.Actor, r *catalog.Resource) (Policy, bool) {
	if r.Seal == nil || r.Seal.Opens(a.Role) {
		return Policy{}, false
	}
	return Policy{tenant: a.TenantID, seal: r.Seal, reader: a.UserID}, true
}

// isSealed reports a row that its own flag keeps from the caller. Whether another record's does is
// found by a statement alone.
func (p *Policy) isSealed(row Row) bool {
	if p.seal == nil || p.seal.By != "" || row[p.seal.Flag] != true {
		return false
	}
	var named []string
	raw, _ := row[p.seal.Named].(json.RawMessage)
	_ = json.Unmarshal(raw, &named) // an array of ids: the store has checked it
	return p.reader == "" || !slices.Contains(named, p.reader)
}

// writeUnsealed writes the condition that a row is not kept from the caller by its seal. The record
// that a row is about is looked up for each row that the filters leave, as in writeReadableParent.
func (w *writer) writeUnsealed(p *Policy, t string) {
	if p.seal.By == "" {
		w.writeUnflagged(p.seal, p.reader, t)
		return
	}
	record := p.seal.Record()
	w.s("(", t, ".", p.seal.By, " IS NULL")
	if p.reader != "" {
		for _, c := range p.seal.Except {
			w.s(" OR ", t, ".", c, " = ")
			w.bind(p.reader)
		}
	}
	w.s(" OR 1 = (SELECT 1 FROM ", record.Name, " AS sealing WHERE sealing.id = ", t, ".", p.seal.By)
	if p.tenant != "" {
		w.s(" AND sealing.tenant_id = $", strconv.Itoa(w.tenant))
	} else {
		w.s(" AND sealing.tenant_id = ", t, ".tenant_id")
	}
	w.s(" AND ")
	w.writeUnflagged(record.Seal, p.reader, "sealing")
	w.s("))")
}

// writeUnflagged writes the condition that a row has no flag, or names the reader. An id is
// 36 characters in quotes within the array's text, so that no other text holds it.
func (w *writer) writeUnflagged(seal *catalog.Seal, reader, t string) {
	w.s("(NOT ", t, ".", seal.Flag)
	if reader != "" {
		w.s(" OR ", t, ".", seal.Named, " LIKE ")
		w.bind(`%"` + reader + `"%`)
	}
	w.s(")")
}
