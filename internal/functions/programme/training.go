package programme

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/programme/matrix"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety/training"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// TrainingIn asks for assignments.
type TrainingIn struct {
	EntityType string  `query:"entity_type" oneof:"zone driver worker equipment" doc:"Type of entity; all when absent."`
	EntityID   string  `query:"entity_id" format:"uuid" doc:"One entity; all when absent."`
	MinScore   float64 `query:"min_risk_score" default:"0" min:"0" max:"100" doc:"Least score. Above 0 leaves people out for managers."`
	DryRun     bool    `query:"dry_run" doc:"Say whom it would assign and whom it skips, and write nothing."`
}

// entityKinds are the entity types that count.
func (in *TrainingIn) entityKinds(a actor.Actor) []string {
	return kindsWithin(a, in.EntityType, in.MinScore > 0)
}

// AssignmentOut is a course that somebody was told to take.
type AssignmentOut struct {
	ID     string  `json:"id" format:"uuid" doc:"The assignment."`
	Tenant string  `json:"tenant_id" format:"uuid" doc:"The tenant."`
	Course string  `json:"course_id" format:"uuid" doc:"The course."`
	User   *string `json:"user_id" format:"uuid" doc:"Who takes it; null for a worker without an account."`
	Worker string  `json:"worker_id" format:"uuid" doc:"The same person as a worker."`
	Type   string  `json:"assignment_type" enum:"risk_based" doc:"Why: a risk score."`
	Reason string  `json:"assignment_reason" doc:"Which score reached the course's threshold."`
	Status string  `json:"status" enum:"assigned" doc:"Its state."`
	DueOn  string  `json:"due_on" format:"date" doc:"The last day to complete it."`
	score  string
}

// SkippedOut is a worker whom a score reached and who got no course.
type SkippedOut struct {
	Worker string `json:"worker_id" format:"uuid" doc:"The worker."`
	Course string `json:"course_id" format:"uuid" doc:"The course."`
	Reason string `json:"reason" enum:"open,valid,left,unclear" doc:"unclear: the score rests on too little."`
}

// TrainingOut is the answer of auto-assign-training.
type TrainingOut struct {
	Success     bool            `json:"success" doc:"true."`
	DryRun      bool            `json:"dry_run,omitempty" doc:"Nothing was written: this is what would happen."`
	Tenant      string          `json:"tenant_id" format:"uuid" doc:"The tenant."`
	Created     int             `json:"assignments_created" doc:"Assignments made."`
	Courses     int             `json:"courses_checked" doc:"Active courses with a threshold."`
	Scores      int             `json:"scores_checked" doc:"Scores held against them."`
	Assignments []AssignmentOut `json:"assignments" doc:"Those made, or that would be; accounts first."`
	Skipped     []SkippedOut    `json:"skipped" doc:"Who got none, and why; empty for who may not see the scores of single people."`
}

// course is what assigning needs to know of one.
type course struct {
	id, code  string
	threshold float64
	types     []string
}

func (c *course) isReachedBy(x *latest) bool {
	return x.score >= c.threshold && (len(c.types) == 0 || slices.Contains(c.types, x.kind))
}

// roll is what is read before training is assigned.
type roll struct {
	st      *settings
	courses []course
	scores  []latest
	members map[string]bool         // users who may sign in
	busy    map[[2]string]string    // course and user or worker: why they do not get it again
	people  map[uuid.UUID][]trainee // entity -> who works there
	names   map[uuid.UUID]string    // entity -> code or number
}

// trainee is a worker, with an account or without.
type trainee struct {
	worker, user string
	left         bool
}

// stillValid is how long a certificate must hold for its course not to be
// assigned again.
const stillValid = matrix.SoonDays

// Training assigns courses where scores reach their thresholds, and answers
// auto-assign-training. Nobody gets a course that they still have open or that
// is valid for more than 30 days, so a second call assigns nothing.
func (p *Programme) Training(ctx context.Context, a actor.Actor, in *TrainingIn) (*TrainingOut, error) {
	return inTurn(ctx, p, a, in.EntityID, func() (*TrainingOut, error) { return p.assignTraining(ctx, a, in) })
}

func (p *Programme) assignTraining(ctx context.Context, a actor.Actor, in *TrainingIn) (*TrainingOut, error) {
	out := &TrainingOut{Success: true, DryRun: in.DryRun, Tenant: a.TenantID}
	now := p.now().UTC()
	begin := p.write
	if in.DryRun {
		begin = p.read
	}
	err := begin(ctx, a, func(tx *db.Tx) error {
		out.Assignments, out.Skipped = []AssignmentOut{}, []SkippedOut{}
		if !in.DryRun {
			lockTenant(tx, a.TenantID)
		}
		r, err := readRoll(tx, a, in, now)
		if err != nil {
			return err
		}
		out.Courses, out.Scores = len(r.courses), len(r.scores)
		out.Assignments, out.Skipped = r.makeAssignments(a.TenantID, now)
		if in.DryRun || len(out.Assignments) == 0 {
			return nil
		}
		if err := r.lockChosen(tx, a.TenantID, out.Assignments, now); err != nil {
			return err
		}
		if out.Assignments, out.Skipped = r.makeAssignments(a.TenantID, now); len(out.Assignments) == 0 {
			return nil
		}
		if err := p.keepAssignments(tx, a, out.Assignments); err != nil {
			return err
		}
		p.writeAudit(tx, a, "training.auto_assign", map[string]any{"assignments_created": len(out.Assignments)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !in.DryRun {
		out.Created = len(out.Assignments)
	}
	if !seesPeople(a.Role) {
		out.hidePeople()
	}
	return out, nil
}

// publicReason stands for every reason where people read it who may not see
// scores of single people: one that named places only would show by its absence
// that a person's score is the reason.
const publicReason = "a risk score reached the course's threshold"

// hidePeople keeps scores and thresholds out of reasons, and whom they reach
// still.
func (o *TrainingOut) hidePeople() {
	for i := range o.Assignments {
		o.Assignments[i].Reason = publicReason
	}
	o.Skipped = []SkippedOut{}
}

// Why a worker got no course.
const (
	skippedOpen    = "open"
	skippedValid   = "valid"
	skippedLeft    = "left"
	skippedUnclear = "unclear" // the score rests on too little to tell its band
)

// heldCoursesSQL selects who has a course open, or a certificate of it that is
// valid beyond a day. $1 tenant, $2 the day.
const heldCoursesSQL = `
	SELECT course_id, user_id, worker_id, status, expires_on
	FROM training_assignments
	WHERE tenant_id = $1
		AND (
			status IN ('assigned', 'in_progress', 'failed')
			OR status = 'completed' AND (expires_on IS NULL OR expires_on > $2)
		)`

const readRollSQL = `
	SELECT id, code, risk_threshold, entity_types
	FROM courses
	WHERE tenant_id = $1
		AND status = 'active'
		AND archived_at IS NULL
		AND risk_threshold IS NOT NULL
	ORDER BY lower(code)`

func readRoll(tx *db.Tx, a actor.Actor, in *TrainingIn, now time.Time) (*roll, error) {
	r := &roll{members: map[string]bool{}, busy: map[[2]string]string{}, people: map[uuid.UUID][]trainee{},
		names: map[uuid.UUID]string{}}
	r.st = queueSettings(tx, a.TenantID)
	var groups []*group
	if in.EntityID != "" {
		for _, t := range entityTypes(in.EntityType) {
			groups = append(groups, queueEntities(tx, selector{tenant: a.TenantID, kind: t, id: in.EntityID}))
		}
	}
	tx.Queue(readRollSQL, []any{a.TenantID}, func(row *db.Row) error {
		c := course{id: row.Text(0), code: row.Text(1), threshold: row.Dec(2).Float()}
		err := json.Unmarshal([]byte(row.Text(3)), &c.types)
		r.courses = append(r.courses, c)
		return err
	})
	tx.Queue(`
		SELECT user_id
		FROM members
		WHERE tenant_id = $1
			AND status = 'active'`, []any{a.TenantID}, func(row *db.Row) error {
		r.members[row.Text(0)] = true
		return nil
	})
	r.queueHeld(tx, a.TenantID, now)
	err := tx.Flush()
	if err == nil {
		err = refuseAbsent(in.EntityType, in.EntityID, groups)
	}
	if err == nil {
		r.scores, err = readLatest(tx, a.TenantID, r.st.keepScored(in.entityKinds(a)), in.EntityID, in.MinScore)
	}
	if err != nil {
		return nil, err
	}
	return r, r.readPeople(tx, a.TenantID, now)
}

// dueScores are the scores that reach the threshold of some course, by type.
func (r *roll) dueScores() map[string][]string {
	out := map[string][]string{}
	for i := range r.scores {
		x := &r.scores[i]
		for k := range r.courses {
			if r.courses[k].isReachedBy(x) {
				out[x.kind] = append(out[x.kind], x.entity.String())
				break
			}
		}
	}
	return out
}

// readPeople finds who works at the entities that are due: the worker or
// driver himself, and in zones and on equipment whoever had a shift there in
// the period of the score.
func (r *roll) readPeople(tx *db.Tx, tenant string, now time.Time) error {
	due := r.dueScores()
	days := int64(1)
	for i := range r.scores {
		days = max(days, r.scores[i].days)
	}
	from, _ := windowOf(now, days)
	add := func(row *db.Row) error {
		id := row.UUID(0)
		r.names[id] = row.Text(1)
		if !row.Null(3) {
			r.people[id] = append(r.people[id], trainee{row.Text(3), row.Text(2), row.Text(4) == "left"})
		}
		return nil
	}
	in := func(column string) string { return tx.DB().InUUID(column, 2) }
	for _, q := range []struct {
		kind, sql string
		windowed  bool
	}{
		{score.Worker, db.FillWords(`
			SELECT e.id, e.employee_no, e.user_id, e.id, e.status
			FROM workers e
			WHERE e.tenant_id = $1
				AND {in}`, "{in}", in("e.id")), false},
		{score.Driver, db.FillWords(`
			SELECT e.id, w.employee_no, w.user_id, w.id, w.status
			FROM drivers e
			JOIN workers w ON w.tenant_id = e.tenant_id AND w.id = e.worker_id
			WHERE e.tenant_id = $1
				AND {in}`, "{in}", in("e.id")), false},
		{score.Zone, db.FillWords(`
			SELECT DISTINCT e.id, e.code, w.user_id, w.id, w.status
			FROM zones e
			LEFT JOIN shifts s ON s.tenant_id = e.tenant_id AND s.zone_id = e.id AND s.ended_at > $3
				AND s.ended_at <= $4
			LEFT JOIN workers w ON w.tenant_id = s.tenant_id AND w.id = s.worker_id
			WHERE e.tenant_id = $1
				AND {in}`, "{in}", in("e.id")), true},
		{score.Equipment, db.FillWords(`
			SELECT DISTINCT e.id, e.asset_no, w.user_id, w.id, w.status
			FROM equipment e
			LEFT JOIN shifts s ON s.tenant_id = e.tenant_id AND s.equipment_id = e.id AND s.ended_at > $3
				AND s.ended_at <= $4
			LEFT JOIN workers w ON w.tenant_id = s.tenant_id AND w.id = s.worker_id
			WHERE e.tenant_id = $1
				AND {in}`, "{in}", in("e.id")), true},
	} {
		if len(due[q.kind]) == 0 {
			continue
		}
		args := []any{tenant, query.List(due[q.kind])}
		if q.windowed {
			args = append(args, from, now)
		}
		tx.Queue(q.sql, args, add)
	}
	return tx.Flush()
}

// queueHeld reads who has a course open, or holds a certificate that goes on.
func (r *roll) queueHeld(tx *db.Tx, tenant string, now time.Time) {
	earliest, _ := localtime.Dates(now)
	args := []any{tenant, earliest.AddDays(stillValid).String()}
	tx.Queue(heldCoursesSQL, args, func(row *db.Row) error {
		until := localtime.DateOf(now, localtime.Zone(r.st.place)).AddDays(stillValid).String()
		why := skippedValid
		if row.Text(3) != "completed" {
			why = skippedOpen
		} else if !row.Null(4) && row.Text(4) <= until {
			return nil
		}
		for _, person := range [...]string{row.Text(1), row.Text(2)} {
			if person != "" {
				r.busy[[2]string{row.Text(0), person}] = why
			}
		}
		return nil
	})
}

// lockChosen locks the people who are to get courses, and learns what somebody else
// assigned to them meanwhile.
func (r *roll) lockChosen(tx *db.Tx, tenant string, list []AssignmentOut, now time.Time) error {
	workers := make([]string, len(list))
	for i, x := range list {
		workers[i] = x.Worker
	}
	training.QueueHolderLocks(tx, tenant, workers, nil)
	r.queueHeld(tx, tenant, now)
	return tx.Flush()
}

// makeAssignments makes the assignments, and lists whom they leave out: for each
// course the highest score that asks for it gives the reason. A score whose band cannot
// be told asks for none.
func (r *roll) makeAssignments(tenant string, now time.Time) ([]AssignmentOut, []SkippedOut) {
	out, skipped := []AssignmentOut{}, []SkippedOut{}
	due := localtime.DateOf(now, localtime.Zone(r.st.place)).AddDays(int(r.st.dueDays)).String()
	sort.SliceStable(r.scores, func(i, j int) bool { return r.scores[i].score > r.scores[j].score })
	for k := range r.courses {
		c := &r.courses[k]
		seen := map[string]bool{}
		var unclear []trainee
		for i := range r.scores {
			x := &r.scores[i]
			if x.score < c.threshold {
				break // the rest is lower
			}
			if !c.isReachedBy(x) {
				continue
			}
			if x.standing.IsUnclear() { // those at 50 for want of a record have earned no course
				unclear = append(unclear, r.people[x.entity]...)
				continue
			}
			for _, person := range r.people[x.entity] {
				if seen[person.worker] {
					continue
				}
				seen[person.worker] = true
				if why := r.skipReason(c, person); why != "" {
					skipped = append(skipped, SkippedOut{person.worker, c.id, why})
					continue
				}
				made := AssignmentOut{ID: db.NewID(), Tenant: tenant, Course: c.id, Worker: person.worker, Type: "risk_based",
					Reason: c.assignmentReason(x, r.names[x.entity]), Status: "assigned", DueOn: due, score: x.id.String()}
				if r.members[person.user] {
					made.User = &person.user
				}
				out = append(out, made)
			}
		}
		for _, person := range unclear { // whom no other score reached
			if !seen[person.worker] {
				seen[person.worker] = true
				why := cmp.Or(r.skipReason(c, person), skippedUnclear)
				skipped = append(skipped, SkippedOut{person.worker, c.id, why})
			}
		}
	}
	own, bare := []AssignmentOut{}, []AssignmentOut{}
	for _, x := range out {
		if x.User != nil {
			own = append(own, x)
		} else {
			bare = append(bare, x)
		}
	}
	return append(own, bare...), skipped
}

// skipReason says why a person does not get a course, "" = the person does.
func (r *roll) skipReason(c *course, person trainee) string {
	if person.left {
		return skippedLeft
	}
	if why := r.busy[[2]string{c.id, person.worker}]; why != "" {
		return why
	}
	return r.busy[[2]string{c.id, person.user}]
}

// accountID is who takes the course, "" = a worker without an account.
func (x *AssignmentOut) accountID() string {
	if x.User == nil {
		return ""
	}
	return *x.User
}

func (c *course) assignmentReason(x *latest, name string) string {
	return fmt.Sprintf("%s %s scored %s; %s is due from %s", x.kind, name, strconv.FormatFloat(x.score, 'f', -1, 64), c.code,
		strconv.FormatFloat(c.threshold, 'f', -1, 64))
}

// keepAssignments writes assignments, which are audited as a whole, and tells of
// them. They are read by more people than single persons' scores are.
func (p *Programme) keepAssignments(tx *db.Tx, a actor.Actor, list []AssignmentOut) error {
	r, err := p.resource("training_assignments")
	if err != nil {
		return err
	}
	rows := make([]store.Row, len(list))
	for i, x := range list {
		rows[i] = store.Row{"id": x.ID, "course_id": x.Course, "user_id": orNull(x.accountID()), "worker_id": x.Worker, "assignment_type": x.Type,
			"assignment_reason": publicReason, "due_on": x.DueOn, "source_score_id": x.score, "status": x.Status}
	}
	b := p.store.Unaudited().In(tx, a).Bulk(r)
	if err := b.Insert(rows); err != nil {
		return err
	}
	b.Close()
	return p.hooks.Tell(tx, r.Name, rows)
}
