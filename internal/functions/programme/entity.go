package programme

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/score"
)

// subject is one entity in use.
type subject struct {
	id   uuid.UUID
	user uuid.UUID // who a worker or driver signs in as; Nil = nobody
	team uuid.UUID
	in   score.Inputs
}

// group is the entities of one type.
type group struct {
	kind string
	list []subject
	at   map[uuid.UUID]int32 // place in list by id
}

// entitySQL lists the entities: id, user, team. In transit between sites goods are
// in no workplace.
var entitySQL = map[string]string{
	score.Zone: `
		SELECT id, NULL, NULL
		FROM zones e
		WHERE tenant_id = $1
			AND kind <> 'transit'`,
	score.Worker: `
		SELECT e.id, e.user_id, e.team_id
		FROM workers e
		WHERE e.tenant_id = $1`,
	score.Driver: `
		SELECT e.id, w.user_id, w.team_id
		FROM drivers e
		JOIN workers w ON w.tenant_id = e.tenant_id AND w.id = e.worker_id
		WHERE e.tenant_id = $1`,
	score.Equipment: "SELECT e.id, NULL, NULL FROM equipment e WHERE e.tenant_id = $1",
}

// inUseSQL are the conditions on those in use.
var inUseSQL = map[string]string{
	score.Zone:      " AND status <> 'archived'",
	score.Worker:    " AND e.status <> 'left' AND e.archived_at IS NULL",
	score.Driver:    " AND e.archived_at IS NULL",
	score.Equipment: " AND e.status <> 'retired' AND e.archived_at IS NULL",
}

// selector says which entities are meant: of all tenants' entities the one, or
// every one of a type.
type selector struct {
	tenant string
	kind   string
	id     string // "" = all
	// within says that what happens in the places within a zone is the zone's too.
	within bool
	// departed says that entities that are no longer in use are meant too.
	departed bool
}

// entityCondition appends the condition on one entity, when one is meant.
func (s selector) entityCondition(column string, args *[]any) string {
	if s.id == "" {
		return ""
	}
	*args = append(*args, s.id)
	return " AND " + column + " = $" + strconv.Itoa(len(*args))
}

// queueEntities asks for the entities of a type.
func queueEntities(tx *db.Tx, s selector) *group {
	g := &group{kind: s.kind, at: map[uuid.UUID]int32{}}
	args := []any{s.tenant}
	sql := entitySQL[s.kind]
	if !s.departed {
		sql += inUseSQL[s.kind]
	}
	sql += s.entityCondition("e.id", &args)
	tx.Queue(sql, args, func(r *db.Row) error {
		id := r.UUID(0)
		g.at[id] = int32(len(g.list))
		g.list = append(g.list, subject{id: id, user: r.UUID(1), team: r.UUID(2)})
		return nil
	})
	return g
}

// findPlace returns the place of the entity in column i of a row, -1 for one that
// is not in use.
func (g *group) findPlace(r *db.Row, i int) int {
	if k, ok := g.at[r.UUID(i)]; ok {
		return int(k)
	}
	return -1
}

// The rows of a table are read entity by entity, each a stretch of an index, in
// the order of the entities' ids. So SQLite, which sorts in memory, groups and
// sorts what it reads without keeping it, and looks at no row outside the window.
// CROSS JOIN is an inner join that it does not turn round
// (sqlite.org/optoverview.html, 8.2). PostgreSQL finds its own way through an
// index, and a join would cost it more than all the rest.

// tables hold the entities of a type.
var tables = map[string]string{score.Zone: "zones", score.Driver: "drivers", score.Worker: "workers", score.Equipment: "equipment"}

// withinSQL lists each zone e and the places in it, itself among them: a tree of
// at most six levels.
const withinSQL = "WITH RECURSIVE w (top, id) AS (SELECT e.id, e.id FROM zones e WHERE e.tenant_id = $1%s " +
	"UNION ALL SELECT w.top, z.id FROM w JOIN zones z ON z.tenant_id = $1 AND z.parent_id = w.id) "

// belowZone returns the FROM of rows of a zone and of the places in it, each once:
// selected names their columns, from what joins w.
func (s selector) belowZone(selected, from string, args *[]any) string {
	return "(" + fmt.Sprintf(withinSQL, s.entityCondition("e.id", args)) + "SELECT DISTINCT w.top, " + selected + " FROM w " + from + ")"
}

// incidentSource returns the FROM of the incidents i of each entity of a type in
// a window, and the column of the entity: $1 is the tenant, $2 the type, $3 and
// $4 are the window.
func incidentSource(tx *db.Tx, s selector, args *[]any) (from, entity string) {
	const window = "i.tenant_id = $1 AND i.entity_type = $2 AND i.at > $3 AND i.at <= $4"
	if s.within && s.kind == score.Zone {
		rows := s.belowZone(
			"i.incident_id, i.kind, i.severity, i.at",
			"CROSS JOIN incident_entities i WHERE i.tenant_id = $1 AND i.entity_id = w.id AND "+window,
			args,
		)
		return rows + " i WHERE true", "i.top"
	}
	if tx.DB().Engine() == db.PostgreSQL {
		return "incident_entities i WHERE " + window + s.entityCondition("i.entity_id", args), "i.entity_id"
	}
	return tables[s.kind] + " e CROSS JOIN incident_entities i WHERE e.tenant_id = $1 AND i.entity_id = e.id AND " + window + s.entityCondition(
		"e.id",
		args,
	), "e.id"
}

// shiftKey is what of an entity a shift names; drivers are found through their
// worker.
var shiftKey = map[string]string{score.Zone: "zone_id", score.Worker: "worker_id", score.Driver: "worker_id", score.Equipment: "equipment_id"}

// shiftSource returns the FROM of the closed shifts s of each entity of a type
// that ended in a window, and the column of the entity: $1 is the tenant, $2 and
// $3 are the window.
func shiftSource(tx *db.Tx, s selector, args *[]any) (from, entity string) {
	const window = "s.tenant_id = $1 AND s.ended_at > $2 AND s.ended_at <= $3"
	key := "s." + shiftKey[s.kind]
	if s.within && s.kind == score.Zone {
		rows := s.belowZone("s.id, s.hours, s.units_done, s.ended_at", "CROSS JOIN shifts s WHERE s.tenant_id = $1 AND s.zone_id = w.id AND "+window, args)
		return rows + " s WHERE true", "s.top"
	}
	if tx.DB().Engine() == db.PostgreSQL && s.kind != score.Driver {
		return "shifts s WHERE " + window + " AND " + key + " IS NOT NULL" + s.entityCondition(key, args), key
	}
	own := "e.id"
	if s.kind == score.Driver {
		own = "e.worker_id"
	}
	return tables[s.kind] + " e CROSS JOIN shifts s WHERE e.tenant_id = $1 AND " + key + " = " + own + " AND " + window + s.entityCondition(
		"e.id",
		args,
	), "e.id"
}

// queueCounts asks how many incidents and near misses each entity had in a
// window.
func queueCounts(tx *db.Tx, s selector, from, to time.Time, g *group) {
	args := []any{s.tenant, s.kind, from, to}
	source, entity := incidentSource(tx, s, &args)
	tx.Queue(
		db.FillWords(`
			SELECT {entity}, COUNT(*) FILTER (WHERE i.kind NOT IN ('near_miss', 'hazard')),
				COUNT(*) FILTER (WHERE i.kind IN ('near_miss', 'hazard')),
				COUNT(*) FILTER (WHERE i.kind NOT IN ('near_miss', 'hazard') AND i.severity = 'critical')
			FROM {source}
			GROUP BY {entity}`, "{entity}", entity, "{source}", source),
		args,
		func(r *db.Row) error {
			if i := g.findPlace(r, 0); i >= 0 {
				in := &g.list[i].in
				in.IncidentCount, in.NearMissCount, in.CriticalCount = int(r.Int(1)), int(r.Int(2)), int(r.Int(3))
			}
			return nil
		},
	)
}

// queueHours asks for the hours and units of closed shifts that ended in a
// window.
func queueHours(tx *db.Tx, s selector, from, to time.Time, add func(i int, hours, units float64), g *group) {
	args := []any{s.tenant, from, to}
	source, entity := shiftSource(tx, s, &args)
	tx.Queue(db.FillWords(`
		SELECT {entity}, CAST(SUM(s.hours) AS bigint), CAST(coalesce(SUM(s.units_done), 0) AS bigint)
		FROM {source}
		GROUP BY {entity}`, "{entity}", entity, "{source}", source), args,
		func(r *db.Row) error {
			if i := g.findPlace(r, 0); i >= 0 {
				add(i, r.Dec(1).Float(), r.Dec(2).Float())
			}
			return nil
		})
}

// queueGroup asks for the entities of a type and everything the weighted score
// reads of them. finish completes them after the flush.
func queueGroup(tx *db.Tx, s selector, days int64, now time.Time) *group {
	g := queueEntities(tx, s)
	from, to := windowOf(now, days)
	queueCounts(tx, s, from, to, g)
	queueHours(tx, s, from, to, func(i int, hours, units float64) { g.list[i].in.ShiftHours, g.list[i].in.Workload = hours, units }, g)
	return g
}

// mostLoad is the workload beyond which more says nothing: data are wrong.
const mostLoad = 100

// computeWorkload turns units into workload: units / (hours x standard units an hour),
// 0 without hours, four decimals so that the input shown is the input used.
func (g *group) computeWorkload(st *settings, days int64) {
	for i := range g.list {
		in := &g.list[i].in
		in.PeriodDays = int(days)
		if in.ShiftHours > 0 {
			in.Workload = min(score.Round(in.Workload/(in.ShiftHours*st.standard[g.kind]), 4), mostLoad)
		} else {
			in.Workload = 0
		}
	}
}

// refuseAbsent is the fault for an entity that none of the groups holds.
func refuseAbsent(kind, id string, groups []*group) error {
	if id == "" {
		return nil
	}
	for _, g := range groups {
		if len(g.list) > 0 {
			return nil
		}
	}
	return notFound(kind, id)
}
