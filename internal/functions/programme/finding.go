package programme

import (
	"iter"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/safety"
)

// finding is a verdict that is new. A scan of a large tenant's first day has
// several for each entity.
type finding struct {
	id               uuid.UUID
	reg              *regulation
	kind             string
	entity           uuid.UUID
	value, threshold float64
	status, previous uint8 // places in statusNames; unseen
	known            bool  // value is meant
	notes            uint8 // place in the regulation's notes
}

// findings lie in blocks: a list that grew by copying would need more than twice
// its room while it does, and a tenant's first scan finds something about
// everybody.
type findings struct {
	blocks [][]finding
	n      int
}

const findingsInBlock = 4096

func (l *findings) add(f finding) {
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == cap(l.blocks[last]) {
		l.blocks = append(l.blocks, make([]finding, 0, min(max(l.n, 16), findingsInBlock)))
		last++
	}
	l.blocks[last] = append(l.blocks[last], f)
	l.n++
}

func (l *findings) all() iter.Seq[*finding] {
	return func(yield func(*finding) bool) {
		for _, b := range l.blocks {
			for i := range b {
				if !yield(&b[i]) {
					return
				}
			}
		}
	}
}

// personal reports a single person's score, which is for the safety officer and
// the person.
func (f *finding) personal() bool {
	return personal(f.kind) && f.reg.rule.Metric == "predictive_score"
}

// details is what an event says of how it came about.
type details struct {
	Metric       string `json:"metric"`
	Insufficient bool   `json:"insufficient_data,omitempty"`
	Exempt       bool   `json:"not_applicable,omitempty"`
	WindowDays   int    `json:"window_days"`
}

// notesOf numbers what details can say of a verdict under one rule.
func notesOf(v *safety.Verdict) (n uint8) {
	if v.Insufficient {
		n |= 1
	}
	if v.Exempt {
		n |= 2
	}
	return n
}

// append writes the event as the interface shows it; a person's score only to
// those who may see it.
func (f *finding) append(b, code []byte, seen bool) []byte {
	b = db.AppendUUID(append(b, `{"id":"`...), f.id)
	b = append(append(b, `","regulation_id":"`...), f.reg.id...)
	b = append(append(b, `","regulation_code":`...), code...)
	b = append(append(b, `,"entity_type":"`...), f.kind...)
	b = db.AppendUUID(append(b, `","entity_id":"`...), f.entity)
	b = append(append(b, `","status":"`...), statusNames[f.status]...)
	b = append(b, `","previous_status":`...)
	if f.previous == unseen {
		b = append(b, "null"...)
	} else {
		b = append(append(append(b, '"'), statusNames[f.previous]...), '"')
	}
	b = append(b, `,"value":`...)
	if f.known && (seen || !f.personal()) {
		b = appendFloat(b, f.value)
	} else {
		b = append(b, "null"...)
	}
	b = appendFloat(append(b, `,"threshold":`...), f.threshold)
	return append(append(append(b, `,"details":`...), f.reg.notes[f.notes]...), '}')
}
