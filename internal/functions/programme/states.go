package programme

import (
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/score"
)

// lastVerdict is a verdict in force, and a sum over what it rests on.
type lastVerdict struct {
	basis  uint64
	status uint8 // unseen = none
}

// past is the verdicts in force under one regulation that no verdict of this scan
// has replaced yet.
type past struct {
	by   map[string][]lastVerdict // entity type -> of each of the group
	gone []leaver                 // of entities that are in use no more
}

// leaver is an entity whose verdict is in force no more: it left the scope of the
// regulation.
type leaver struct {
	regulation, kind string
	entity           uuid.UUID
}

// statesSQL selects the verdicts in force under a regulation. $1 tenant, $2
// regulation.
const statesSQL = `
	SELECT entity_type, entity_id, status, value, threshold, evidence
	FROM compliance_states
	WHERE tenant_id = $1
		AND regulation_id = $2`

func (s *scan) readPast(tx *db.Tx, r *regulation) (*past, error) {
	p := &past{by: map[string][]lastVerdict{}}
	for kind, g := range s.groups {
		p.by[kind] = slices.Repeat([]lastVerdict{{status: unseen}}, len(g.list))
	}
	var buf []byte
	return p, tx.Query(statesSQL, []any{s.tenant, r.id}, func(row *db.Row) error {
		buf = row.AppendText(buf[:0], 0)
		g := s.groups[string(buf)]
		if g == nil {
			return nil
		}
		at := g.findPlace(row, 1)
		if at < 0 {
			p.gone = append(p.gone, leaver{r.id, g.kind, row.UUID(1)})
			return nil
		}
		buf = row.AppendText(buf[:0], 2)
		last := lastVerdict{status: statusRank(string(buf))}
		buf = row.AppendText(buf[:0], 5)
		last.basis = basisOf(!row.Null(3), row.Int(3), row.Int(4), buf)
		p.by[g.kind][at] = last
		return nil
	})
}

// takeVerdict returns the verdict in force on the ith entity of a type, which the scan
// judges anew.
func (p *past) takeVerdict(kind string, i int) lastVerdict {
	last := p.by[kind][i]
	p.by[kind][i].status = unseen
	return last
}

// takeRoot returns the verdict in force on the tenant.
func (p *past) takeRoot(s *scan) lastVerdict {
	if i, ok := s.groups[score.Zone].at[s.root]; ok {
		return p.takeVerdict(score.Zone, int(i))
	}
	return lastVerdict{status: unseen}
}

// noteLeavers notes the verdicts that the scan did not come to. A scan of one entity
// takes none back.
func (s *scan) noteLeavers(r *regulation, before *past) {
	if s.in.EntityID != "" {
		return
	}
	s.left = append(s.left, before.gone...)
	for kind, list := range before.by {
		for i := range list {
			if list[i].status != unseen {
				s.left = append(s.left, leaver{r.id, kind, s.groups[kind].list[i].id})
			}
		}
	}
}

// Parameters of FNV-1a, which tells whether a verdict rests on the same as before.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// basisOf sums what a verdict rests on.
func basisOf(known bool, value, threshold int64, evidence []byte) uint64 {
	sum := uint64(fnvOffset)
	add := func(b byte) { sum = (sum ^ uint64(b)) * fnvPrime }
	if !known {
		value = 0
		add(1)
	}
	for _, n := range [...]int64{value, threshold} {
		for shift := range 8 {
			add(byte(n >> (8 * shift)))
		}
	}
	for _, b := range evidence {
		add(b)
	}
	return sum
}

func (f *finding) hashBasis() uint64 {
	var room [256]byte
	return basisOf(f.known, signedDecimal(f.value), signedDecimal(f.threshold), f.appendEvidence(room[:0]))
}

// appendEvidence writes the ids as the column holds them.
func (f *finding) appendEvidence(b []byte) []byte {
	b = append(b, '[')
	for i, id := range f.evidenceIDs() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		text, _ := id.MarshalText() // it cannot fail
		b = append(append(b, text...), '"')
	}
	return append(b, ']')
}

var stateColumns = []db.Column{
	{Name: "tenant_id", Type: "uuid"},
	{Name: "id", Type: "uuid"},
	{Name: "regulation_id", Type: "uuid"},
	{Name: "entity_type", Type: "text"},
	{Name: "entity_id", Type: "uuid"},
	{Name: "about", Type: "text"},
	{Name: "status", Type: "text"},
	{Name: "value", Type: "bigint"},
	{Name: "threshold", Type: "bigint"},
	{Name: "evidence", Type: "text"},
	{Name: "event_id", Type: "uuid"},
	{Name: "last_evaluated_at", Type: "timestamptz"},
}

// replaceState keeps the event of the last change of status.
const replaceState = `ON CONFLICT (tenant_id, regulation_id, entity_type, entity_id) DO UPDATE
	SET status = excluded.status,
		about = excluded.about,
		value = excluded.value,
		threshold = excluded.threshold,
		evidence = excluded.evidence,
		event_id = coalesce(excluded.event_id, compliance_states.event_id),
		last_evaluated_at = excluded.last_evaluated_at`

// confirmRulesSQL notes when regulations were last held against all in their scope.
// It is no change of the record. $1 tenant, $2 regulations, $3 the moment.
const confirmRulesSQL = `
	UPDATE regulations
	SET last_evaluated_at = $3
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// leaveStatesSQL removes verdicts that are in force no more. $1 tenant, $2
// regulation, $3 type, $4 entities.
const leaveStatesSQL = `
	DELETE FROM compliance_states
	WHERE tenant_id = $1
		AND regulation_id = $2
		AND entity_type = $3
		AND entity_id IN {ids $4}`

// leaveRulesSQL removes the verdicts under regulations that are not in force. $1 tenant.
const leaveRulesSQL = `
	DELETE FROM compliance_states
	WHERE tenant_id = $1
		AND NOT EXISTS (
			SELECT 1
			FROM regulations
			WHERE regulations.tenant_id = $1
				AND regulations.id = compliance_states.regulation_id
				AND regulations.status = 'active'
				AND regulations.archived_at IS NULL
		)`

// writeStates writes the verdicts that changed, or rest on something else than
// before, and one moment for each regulation that the scan read all about. To write
// a moment into each verdict would write every row every night.
func (s *scan) writeStates(tx *db.Tx) error {
	states := tx.InsertMany("compliance_states", stateColumns, replaceState)
	for _, list := range []*findings{&s.fresh, &s.moved} {
		var text []byte
		for f := range list.allFindings() {
			states.Text(s.tenant)
			states.UUID(uuid.Must(uuid.NewV7()))
			states.Text(f.reg.id)
			states.Text(f.entityKind())
			states.UUID(f.entity)
			states.Text(f.reg.about(f.entityKind()))
			states.Text(statusNames[f.status])
			if f.known {
				states.Int(signedDecimal(f.value))
			} else {
				states.Null()
			}
			states.Int(signedDecimal(f.threshold))
			text = f.appendEvidence(text[:0])
			states.Text(string(text))
			if f.id != uuid.Nil {
				states.UUID(f.id)
			} else {
				states.Null()
			}
			states.Time(s.now)
			if err := states.End(); err != nil {
				return err
			}
		}
	}
	states.Queue()

	var whole []string
	for _, r := range s.regs {
		if s.readsWhole(r) {
			whole = append(whole, r.id)
		}
	}
	if len(whole) > 0 {
		tx.Queue(confirmRulesSQL, []any{s.tenant, query.List(whole), s.now}, nil)
	}
	s.queueLeavers(tx)
	if s.in.EntityID == "" {
		tx.Queue(leaveRulesSQL, []any{s.tenant}, nil)
	}
	return tx.Flush()
}

// readsWhole reports whether the scan looked at every entity in a regulation's scope.
func (s *scan) readsWhole(r *regulation) bool {
	if s.in.EntityID != "" {
		return false
	}
	if r.rule.Per == "tenant" || r.rule.Per == "site" {
		return true // they are recorded on zones: see readsAll
	}
	return !slices.ContainsFunc(r.rule.Scope.EntityTypes, func(kind string) bool { return s.groups[kind] == nil })
}

func (s *scan) queueLeavers(tx *db.Tx) {
	type group struct{ regulation, kind string }
	ids := map[group][]string{}
	for _, x := range s.left {
		of := group{x.regulation, x.kind}
		ids[of] = append(ids[of], x.entity.String())
	}
	for of, list := range ids {
		tx.Queue(leaveStatesSQL, []any{s.tenant, of.regulation, of.kind, query.List(list)}, nil)
	}
}
