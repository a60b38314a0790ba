package programme

import (
	"fmt"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/safety"
)

// mostEvidence bounds the records that a verdict names: they are where to look, not
// the whole sum.
const mostEvidence = 5

// everyEntity is the place of what is about the tenant as a whole.
const everyEntity = -1

// setEvidence enters the records that decide about the ith entity, or with
// everyEntity about the tenant, instead of those before. None changes nothing.
func (t *table) setEvidence(i int, ids []uuid.UUID) {
	if len(ids) == 0 {
		return
	}
	if t.evidence == nil {
		t.evidence = map[int32][]uuid.UUID{}
	}
	if len(ids) > mostEvidence {
		ids = ids[len(ids)-mostEvidence:] // the newest
	}
	t.evidence[int32(i)] = append(t.evidence[int32(i)][:0], ids...)
}

// addEvidence adds records to those that decide, as long as there is room.
func (t *table) addEvidence(i int, ids []uuid.UUID) {
	if t.evidence == nil {
		t.evidence = map[int32][]uuid.UUID{}
	}
	if have := t.evidence[int32(i)]; len(have)+len(ids) <= mostEvidence {
		t.evidence[int32(i)] = append(have, ids...)
	}
}

// evidenceOf returns the records that decide about the ith entity.
func (t *table) evidenceOf(i int32) []uuid.UUID {
	if t == nil {
		return nil
	}
	if ids := t.evidence[i]; len(ids) > 0 || i < 0 || t.newest == nil {
		return ids
	}
	if id := t.newest[i]; id != uuid.Nil {
		return t.newest[i : i+1]
	}
	return nil
}

// countedOfTenantSQL selects the newest incidents that a count of the tenant is made
// of. $1 tenant, $2 and $3 the window; the words are the condition and the bound.
const countedOfTenantSQL = `
	SELECT NULL, i.id
	FROM incidents AS i
	WHERE i.tenant_id = $1
		AND i.occurred_at > $2
		AND i.occurred_at <= $3
		AND i.status <> 'void'
		AND %s
	ORDER BY i.occurred_at DESC, i.id
	LIMIT %d`

// queueCounted asks for the incidents behind a count, the newest first.
func (s *scan) queueCounted(tx *db.Tx, r *safety.Rule, kind string, t *table, counted string) {
	from := s.windowStart(r.WindowDays)
	args := []any{s.tenant, from, s.now}
	sql := fmt.Sprintf(countedOfTenantSQL, counted, mostEvidence)
	if r.Per != "tenant" {
		args = []any{s.tenant, kind, from, s.now}
		source, entity := incidentSource(tx, selector{tenant: s.tenant, kind: kind, id: s.in.EntityID}, &args)
		sql = db.FillWords(`
			SELECT {entity}, i.incident_id
			FROM {source} AND {counted}
			ORDER BY {entity}, i.at DESC, i.incident_id`,
			"{entity}", entity, "{source}", source, "{counted}", counted)
	}
	g := s.groups[kind]
	tx.Queue(sql, args, func(row *db.Row) error {
		i := everyEntity
		if r.Per != "tenant" {
			if i = g.findPlace(row, 0); i < 0 {
				return nil
			}
		}
		t.addEvidence(i, []uuid.UUID{row.UUID(1)})
		return nil
	})
}
