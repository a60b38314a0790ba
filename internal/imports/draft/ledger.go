package draft

import (
	"hash/maphash"

	"holdfast/internal/fault"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/targets"
)

// A file of records with lines (orders) has a row for each line, which repeats
// what it says of the record, or leaves it blank after the record's first row.

// Ledger remembers of each record of a file where it began, what its first
// fields said of it, and how many lines it has so far.
type Ledger struct {
	seed maphash.Seed
	docs map[uint64]document
	says []uint32 // hashes of the records' fields, 0 = blank: a row of them for each record
}

// document has no pointers: there may be a million of them.
type document struct {
	line, lines int32 // of the first row; how many
	says        int   // where its row of hashes begins
}

// NewLedger returns a ledger of a file none of which was read.
func NewLedger() *Ledger { return &Ledger{seed: maphash.MakeSeed(), docs: map[uint64]document{}} }

// Enter numbers a draft's line and holds it to what the record's first row
// said.
func (l *Ledger) Enter(v *Reader, d *Draft) {
	key := v.Target.Resource.Import.Key[0]
	name, _ := d.Row[key].(string)
	if name == "" {
		if !d.Refused(v, key) {
			d.Fail(v.Header(key), "required", "%s is required: it says which rows belong together", v.Target.Words(key))
		}
		return
	}
	k := maphash.String(l.seed, name)
	doc, there := l.docs[k]
	if !there {
		doc = document{line: int32(d.Line), says: len(l.says)}
	}
	doc.lines++
	l.docs[k] = doc
	if d.Row[plan.LineNumber] == nil && v.Layout.Column(plan.LineNumber) == nil {
		d.Row[plan.LineNumber] = int64(doc.lines)
	}
	at := 0
	for _, c := range v.Layout.Cols {
		if c.Line || c.Name == key {
			continue
		}
		h := l.hashValue(d.Row[c.Name])
		if !there {
			l.says = append(l.says, h)
		} else if h != 0 && h != l.says[doc.says+at] {
			d.Fail(c.Header, "differs", "line %d says something else of %s %s, or nothing", doc.line,
				targets.Spoken(codeOf(v.Target.Name)), fault.Clip(name, 80))
		}
		at++
	}
}

func (l *Ledger) hashValue(v any) uint32 {
	if v == nil {
		return 0
	}
	return uint32(maphash.String(l.seed, match.Text(v))) | 1
}
