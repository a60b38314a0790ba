package training

import (
	"encoding/json"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/jobtitle"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// refresherReason stands in a refresher for the incident behind it, which fewer
// people may read than trainings.
const refresherReason = "Refresher after an incident or an unsafe act, 29 CFR 1910.178(l)(4)(ii)"

// entitiesColumn are the people, places and machines of an incident.
const entitiesColumn = "entities"

// A scene is who took part in an incident, and with which equipment.
type scene struct {
	incident                    string
	workers, drivers, equipment []string
}

// refresher is a course that a person takes anew.
type refresher struct{ incident, worker, course string }

// assignRefreshers assigns the courses that equipment asks for to the people who
// took part in an incident with it and hold a certificate of them, once the report
// is accepted. 29 CFR 1910.178(l)(4)(ii) asks for a refresher when an operator is
// seen to act unsafely and after an accident or a near miss. Witnesses and people
// who only reported it take none (safety.ReadParticipants), nor does somebody hurt by
// a truck that is no business of theirs.
func assignRefreshers(tx *store.Tx, changes []store.Change) error {
	scenes, err := readScenes(tx, changes)
	if err != nil || len(scenes) == 0 {
		return err
	}
	due, err := findRefreshers(tx, scenes)
	if err != nil || len(due) == 0 {
		return err
	}

	today, days, err := readDueDays(tx)
	if err != nil {
		return err
	}
	rows := make([]record.TrainingAssignment, len(due))
	for i, x := range due {
		rows[i] = record.TrainingAssignment{
			courseColumn: x.course, workerColumn: x.worker, incidentColumn: x.incident, typeColumn: typeAfterIncident,
			reasonColumn: refresherReason, dueColumn: today.AddDays(days).String(),
		}
	}
	return safety.InsertRecords(tx, rows)
}

// isAccepted reports a report that is no longer merely made, or whose people and
// machines were named later.
func isAccepted(c record.Change[record.Incident]) bool {
	status := c.After.Status()
	if c.Op != store.Update || status == "reported" || status == "void" {
		return false
	}
	return c.Before.Status() == "reported" || safety.IsChanged(c.Change, entitiesColumn)
}

// readScenes reads the accepted incidents in which a person took part with equipment.
func readScenes(tx *store.Tx, changes []store.Change) (scenes []scene, err error) {
	var accepted []record.Incident
	for _, c := range record.Changes[record.Incident](changes) {
		if isAccepted(c) {
			accepted = append(accepted, c.After)
		}
	}
	participants, err := safety.ReadParticipants(tx.Tx, tx.TenantID, accepted)
	for _, incident := range accepted {
		id := incident.ID()
		s := newScene(id, participants[id])
		if len(s.equipment) > 0 && len(s.workers)+len(s.drivers) > 0 {
			scenes = append(scenes, s)
		}
	}
	return scenes, err
}

func newScene(incident string, participants []safety.Entity) scene {
	s := scene{incident: incident}
	for _, e := range participants {
		switch e.Type {
		case "equipment":
			s.equipment = append(s.equipment, e.ID)
		case "worker":
			s.workers = append(s.workers, e.ID)
		case "driver":
			s.drivers = append(s.drivers, e.ID)
		}
	}
	return s
}

// driversSQL selects the workers of drivers. $1 tenant, $2 ids of drivers.
const driversSQL = `
	SELECT id, worker_id
	FROM drivers
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// machinesSQL selects what equipment asks for. $1 tenant, $2 its ids.
const machinesSQL = `
	SELECT id, kind, required_course_id
	FROM equipment
	WHERE tenant_id = $1
		AND id IN {ids $2}`

// demandsSQL selects the courses that somebody or something needs. $1 tenant.
const demandsSQL = `
	SELECT id, required_for
	FROM courses
	WHERE tenant_id = $1
		AND status = 'active'
		AND archived_at IS NULL`

// heldSQL selects who was certified in a course and does not have it open. $1
// tenant, $2 ids of workers.
const heldSQL = `
	SELECT DISTINCT held.worker_id, held.course_id
	FROM training_assignments AS held
	JOIN workers ON workers.tenant_id = $1 AND workers.id = held.worker_id
	WHERE held.tenant_id = $1
		AND held.worker_id IN {ids $2}
		AND held.status IN ('completed', 'expired')
		AND workers.status <> 'left'
		AND NOT EXISTS (
			SELECT 1
			FROM training_assignments AS pending
			WHERE pending.tenant_id = $1
				AND pending.worker_id = held.worker_id
				AND pending.course_id = held.course_id
				AND pending.status IN ('assigned', 'in_progress', 'failed')
		)
	ORDER BY held.worker_id, held.course_id`

// dueDaysSQL selects a setting of section safety. $1 tenant, $2 its key.
const dueDaysSQL = `
	SELECT value
	FROM settings
	WHERE tenant_id = $1
		AND section = 'safety'
		AND key = $2`

// readDueDays returns today, where the tenant is, and in how many days training
// that is assigned is due.
func readDueDays(tx *store.Tx) (today localtime.Date, days int, err error) {
	days = 30
	zone := "UTC"
	tx.Queue(dueDaysSQL, []any{tx.TenantID, "training_due_days"}, func(r *db.Row) error {
		return json.Unmarshal([]byte(r.Text(0)), &days)
	})
	store.QueueZone(tx.Tx, tx.TenantID, &zone)
	err = tx.Flush()
	return localtime.DateOf(tx.Now(), localtime.Zone(zone)), days, err
}

// givenSQL selects the refreshers of workers that incidents have led to, whatever became
// of them. $1 tenant, $2 ids of workers, $3 of incidents.
const givenSQL = `
	SELECT source_incident_id, worker_id, course_id
	FROM training_assignments
	WHERE tenant_id = $1
		AND worker_id IN {ids $2}
		AND source_incident_id IN {ids $3}`

// readGiven returns the refreshers of people that the incidents of some scenes have led to.
func readGiven(tx *store.Tx, scenes []scene, people []string) (map[refresher]bool, error) {
	incidents := make([]string, len(scenes))
	for i, s := range scenes {
		incidents[i] = s.incident
	}
	given := map[refresher]bool{}
	err := tx.Query(givenSQL, []any{tx.TenantID, query.List(people), query.List(incidents)}, func(r *db.Row) error {
		given[refresher{r.Text(0), r.Text(1), r.Text(2)}] = true
		return nil
	})
	return given, err
}

// findRefreshers returns what the people of some incidents take anew, each course
// once for each person and incident.
func findRefreshers(tx *store.Tx, scenes []scene) ([]refresher, error) {
	asked, workers, err := readDemands(tx, scenes)
	if err != nil {
		return nil, err
	}
	held := map[string][]string{}
	var people []string
	for i := range scenes {
		people = append(people, workers[i]...)
	}
	QueueHolderLocks(tx.Tx, tx.TenantID, people, nil)
	err = tx.Query(heldSQL, []any{tx.TenantID, query.List(people)}, func(r *db.Row) error {
		held[r.Text(0)] = append(held[r.Text(0)], r.Text(1))
		return nil
	})
	if err != nil {
		return nil, err
	}

	given, err := readGiven(tx, scenes, people)
	if err != nil {
		return nil, err
	}
	var due []refresher
	seen := map[[2]string]bool{}
	for i, s := range scenes {
		for _, worker := range workers[i] {
			for _, course := range held[worker] {
				if asked[i][course] && !seen[[2]string{worker, course}] && !given[refresher{s.incident, worker, course}] {
					seen[[2]string{worker, course}] = true
					due = append(due, refresher{s.incident, worker, course})
				}
			}
		}
	}
	return due, nil
}

// readDemands returns for each scene the courses that its equipment asks for, and
// the workers who took part.
func readDemands(tx *store.Tx, scenes []scene) (asked []map[string]bool, workers [][]string, err error) {
	var drivers, machines []string
	for _, s := range scenes {
		drivers, machines = append(drivers, s.drivers...), append(machines, s.equipment...)
	}
	workerOf := map[string]string{}
	kindOf, courseOf := map[string]string{}, map[string]string{}
	wordsOf := map[string][]string{}
	tx.Queue(driversSQL, []any{tx.TenantID, query.List(drivers)}, func(r *db.Row) error {
		workerOf[r.Text(0)] = r.Text(1)
		return nil
	})
	tx.Queue(machinesSQL, []any{tx.TenantID, query.List(machines)}, func(r *db.Row) error {
		kindOf[r.Text(0)], courseOf[r.Text(0)] = r.Text(1), r.Text(2)
		return nil
	})
	tx.Queue(demandsSQL, []any{tx.TenantID}, func(r *db.Row) error {
		var words []string
		err := json.Unmarshal([]byte(r.Text(1)), &words)
		wordsOf[r.Text(0)] = words
		return err
	})
	if err := tx.Flush(); err != nil {
		return nil, nil, err
	}

	asked, workers = make([]map[string]bool, len(scenes)), make([][]string, len(scenes))
	for i, s := range scenes {
		asked[i] = map[string]bool{}
		for course, words := range wordsOf {
			asked[i][course] = slices.ContainsFunc(s.equipment, func(id string) bool {
				return courseOf[id] == course || jobtitle.AsksOf(words, kindOf[id])
			})
		}
		workers[i] = slices.Clone(s.workers)
		for _, driver := range s.drivers {
			workers[i] = append(workers[i], workerOf[driver])
		}
		workers[i] = dropEmpty(workers[i])
	}
	return asked, workers, nil
}
