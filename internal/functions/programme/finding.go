package programme

import (
	"encoding/json"
	"iter"

	"github.com/google/uuid"

	"holdfast/internal/safety"
)

// finding is a verdict that is new. A scan of a large tenant's first day has
// several for each entity.
type finding struct {
	id               uuid.UUID // of the event; Nil where the status is as it was
	reg              *regulation
	measured         *table // has what the verdict rests on, at place
	entity           uuid.UUID
	value, threshold float64
	place            int32 // everyEntity = a verdict on the tenant
	status, previous uint8 // places in statusNames; unseen
	known            bool  // value is meant
	notes            uint8 // place in the regulation's notes
}

// entityKind is the type of the entity.
func (f *finding) entityKind() string { return f.measured.kind }

func (f *finding) evidenceIDs() []uuid.UUID { return f.measured.evidenceOf(f.place) }

// findings lie in blocks: a list that grew by copying would need more than twice
// its room while it does, and a tenant's first scan finds something about
// everybody.
type findings struct {
	blocks [][]finding
	n      int
}

const findingsInBlock = 4096

func (l *findings) addFinding(f finding) {
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == cap(l.blocks[last]) {
		l.blocks = append(l.blocks, make([]finding, 0, min(max(l.n, 16), findingsInBlock)))
		last++
	}
	l.blocks[last] = append(l.blocks[last], f)
	l.n++
}

func (l *findings) allFindings() iter.Seq[*finding] {
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

// aboutScore is what a verdict on a single person's score is about, in the words
// of compliance_events.about. It is for those who may read the score.
const aboutScore = "score"

func (r *regulation) about(kind string) string {
	if !isPersonal(kind) {
		return "places"
	}
	if r.rule.Metric == "predictive_score" {
		return aboutScore
	}
	return "person"
}

// isPersonal reports a verdict on a single person's score.
func (f *finding) isPersonal() bool { return f.reg.about(f.entityKind()) == aboutScore }

// details is what an event says of how it came about.
type details struct {
	Metric     string `json:"metric"`
	Unknown    bool   `json:"insufficient_data,omitempty"`
	Never      bool   `json:"never_recorded,omitempty"` // a breach by absence
	Exempt     bool   `json:"not_applicable,omitempty"`
	WindowDays int    `json:"window_days"`
}

// Bits of the number of a regulation's notes.
const (
	noteUnknown = 1 << iota
	noteNever
	noteExempt
	notesCount
)

// notesOf numbers what details can say of a verdict under one rule.
func notesOf(v *safety.Verdict) (n uint8) {
	switch {
	case v.Exempt:
		return noteExempt
	case v.Absent && v.Status == safety.InsufficientData:
		return noteUnknown
	case v.Absent:
		return noteNever
	}
	return 0
}

// eventRow is an event as the interface shows it, used for one finding after
// another.
type eventRow struct {
	EventOut
	value float64
}

// fillFrom fills in a finding that the caller may see.
func (x *eventRow) fillFrom(f *finding) {
	x.value = f.value
	x.EventOut = EventOut{ID: f.id, Regulation: f.reg.id, Code: f.reg.code, EntityType: f.entityKind(), Entity: f.entity,
		Status: statusNames[f.status], Threshold: f.threshold, Details: json.RawMessage(f.reg.notes[f.notes])}
	if f.previous != unseen {
		x.Previous = &statusNames[f.previous]
	}
	if f.known {
		x.Value = &x.value
	}
	x.Evidence = f.evidenceIDs()
}
