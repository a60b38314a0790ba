package programme

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/jobtitle"
	"holdfast/internal/safety"
	"holdfast/internal/score"
)

// drivenSQL selects the workers who had a shift with equipment, one that runs still
// too, and its kinds. $1 tenant, $2 and $3 the window.
const drivenSQL = `
	SELECT DISTINCT shift.worker_id, machine.kind
	FROM shifts AS shift
	JOIN equipment AS machine ON machine.tenant_id = shift.tenant_id AND machine.id = shift.equipment_id
	WHERE shift.tenant_id = $1
		AND machine.tenant_id = $1
		AND shift.started_at <= $3
		AND (shift.ended_at IS NULL OR shift.ended_at > $2)`

// queueDriven asks who drove equipment that goes with a job that a rule names, in
// the rule's window: the duty follows the work, whatever a person's title says.
func (s *scan) queueDriven(tx *db.Tx) {
	g := s.groups[score.Worker]
	for _, r := range s.regs {
		if g == nil || !slices.Contains(r.rule.Scope.EntityTypes, score.Worker) || !drivesSomething(r.jobs) {
			continue
		}
		r.driven = make([]bool, len(g.list))
		asked := map[string]bool{} // by kind
		args := []any{s.tenant, s.windowStart(r.rule.WindowDays), s.now}
		tx.Queue(drivenSQL, args, func(row *db.Row) error {
			kind := row.Text(1)
			if _, known := asked[kind]; !known {
				asked[kind] = jobtitle.AsksOf(r.rule.Scope.Filter.JobTitle, kind)
			}
			if i := g.findPlace(row, 0); i >= 0 && asked[kind] {
				r.driven[i] = true
			}
			return nil
		})
	}
}

func drivesSomething(jobs []string) bool {
	return slices.ContainsFunc(jobs, func(job string) bool { return len(jobtitle.EquipmentOf(job)) > 0 })
}

// coursesSQL selects the courses that are given, and what asks for each. $1 tenant.
const coursesSQL = `
	SELECT course.id, course.required_for
	FROM courses AS course
	WHERE course.tenant_id = $1
		AND course.status = 'active'
		AND course.archived_at IS NULL`

// titlesSQL selects persons with their worker and its job title. $1 tenant; the
// words are the source of people, their worker and its title.
const titlesSQL = `
	SELECT e.id, %[2]s, %[3]s
	FROM %[1]s
	WHERE e.tenant_id = $1`

// handledSQL selects what persons handled in their shifts of a window, those that run
// still too: the kind of equipment and the course that it asks for itself. $1 tenant, $2 and $3 the window.
const handledSQL = `
	SELECT DISTINCT e.id, machine.kind, machine.required_course_id
	FROM %[1]s
	JOIN shifts AS shift ON shift.tenant_id = e.tenant_id AND shift.worker_id = %[2]s
	JOIN equipment AS machine ON machine.tenant_id = shift.tenant_id AND machine.id = shift.equipment_id
	WHERE e.tenant_id = $1
		AND shift.tenant_id = $1
		AND shift.started_at <= $3
		AND (shift.ended_at IS NULL OR shift.ended_at > $2)`

// certifiedSQL selects who holds a valid certificate of which course. $1 tenant, $2
// today.
const certifiedSQL = `
	SELECT assignment.worker_id, assignment.course_id, assignment.id
	FROM training_assignments AS assignment
	WHERE assignment.tenant_id = $1
		AND assignment.worker_id IS NOT NULL
		AND assignment.status = 'completed'
		AND (assignment.expires_on IS NULL OR assignment.expires_on >= $2)
	ORDER BY assignment.worker_id, assignment.course_id, assignment.id`

// coverage is who needs which courses, and who holds them.
type coverage struct {
	courses *jobtitle.Demands[uuid.UUID]
	needed  [][]uuid.UUID              // courses of each entity
	held    map[[2]uuid.UUID]uuid.UUID // certificate by worker and course
	worker  []uuid.UUID                // of each entity
}

// fillCoverage is 100 x valid required certificates / required ones; nothing
// required is unknown. A course is required by the job that a title means, and of
// those who had a shift with a piece of equipment in the rule's window by its
// kind, by the job that goes with the kind, or by its own course.
func (s *scan) fillCoverage(tx *db.Tx, r *safety.Rule, kind string, t *table) {
	p, g := workforceTable(kind), s.groups[kind]
	c := &coverage{
		courses: jobtitle.NewDemands[uuid.UUID](), needed: make([][]uuid.UUID, len(g.list)),
		held: map[[2]uuid.UUID]uuid.UUID{}, worker: make([]uuid.UUID, len(g.list)),
	}
	tx.Queue(coursesSQL, []any{s.tenant}, func(row *db.Row) error {
		var words []string
		if err := json.Unmarshal([]byte(row.Text(1)), &words); err != nil {
			return fmt.Errorf("programme: required_for of course %s: %w", row.Text(0), err)
		}
		c.courses.AddRecord(row.UUID(0), words)
		return nil
	})
	tx.Queue(fmt.Sprintf(titlesSQL, p.from, p.worker, p.title), []any{s.tenant}, func(row *db.Row) error {
		if i := g.findPlace(row, 0); i >= 0 {
			c.worker[i] = row.UUID(1)
			c.addNeeds(i, c.courses.OfTitle(row.Text(2)))
		}
		return nil
	})
	window := []any{s.tenant, s.windowStart(r.WindowDays), s.now}
	tx.Queue(fmt.Sprintf(handledSQL, p.from, p.worker), window, func(row *db.Row) error {
		i := g.findPlace(row, 0)
		if i < 0 {
			return nil
		}
		c.addNeeds(i, c.courses.OfKind(row.Text(1)))
		c.addNeeds(i, c.courses.OfRecord(row.UUID(2)))
		return nil
	})
	tx.Queue(certifiedSQL, []any{s.tenant, s.localToday()}, func(row *db.Row) error {
		c.held[[2]uuid.UUID{row.UUID(0), row.UUID(1)}] = row.UUID(2)
		return nil
	})
	s.finish = append(s.finish, func() {
		for i := range g.list {
			if needed := c.needed[i]; len(needed) > 0 {
				held := c.listHeld(c.worker[i], needed)
				t.putValue(i, safety.Percent(int64(len(held)), int64(len(needed))).Float(), held...)
			}
		}
	})
}

// addNeeds notes courses that an entity needs.
func (c *coverage) addNeeds(entity int, courses []uuid.UUID) {
	for _, id := range courses {
		if !slices.Contains(c.needed[entity], id) {
			c.needed[entity] = append(c.needed[entity], id)
		}
	}
}

// listHeld lists a worker's valid certificates of the needed courses.
func (c *coverage) listHeld(worker uuid.UUID, needed []uuid.UUID) (held []uuid.UUID) {
	for _, id := range needed {
		if certificate, holds := c.held[[2]uuid.UUID{worker, id}]; holds {
			held = append(held, certificate)
		}
	}
	return held
}
