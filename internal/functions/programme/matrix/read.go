package matrix

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/jobtitle"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// workDays is over how many days shifts ask for a course where no rule in force
// says it: as the rule about trucks that is shipped.
const workDays = 90

// coverageMetric is what rules call the share of required certificates.
const coverageMetric = "training_coverage"

// personCourse is a cell's place.
type personCourse struct{ worker, course string }

// page is what is read for a page of the matrix.
type page struct {
	tenant  string
	in      *In
	now     time.Time
	today   localtime.Date
	zone    string
	days    int // that shifts ask for a course
	demands *jobtitle.Demands[string]
	courses []CourseOut
	people  []*PersonOut
	more    bool // there are people behind those
	records map[personCourse][]record
	handled map[string][]handling // by worker
}

// record is a training of a person.
type record struct {
	id, status         string
	expires            *string
	due                *string
	created, completed string // moments, "" = none
}

// handling is a piece of equipment that a person had a shift with.
type handling struct{ id, assetNo, kind, course string }

func newPage(tenant string, in *In, now time.Time) *page {
	return &page{
		tenant: tenant, in: in, now: now, zone: "UTC",
		demands: jobtitle.NewDemands[string](), courses: []CourseOut{},
		records: map[personCourse][]record{}, handled: map[string][]handling{},
	}
}

// rulesSQL selects the rules in force. $1 tenant.
const rulesSQL = `
	SELECT rule
	FROM regulations
	WHERE tenant_id = $1
		AND status = 'active'
		AND archived_at IS NULL`

// coursesSQL selects the courses that are given, and what asks for each. $1 tenant.
const coursesSQL = `
	SELECT id, code, title, validity_months, required_for
	FROM courses
	WHERE tenant_id = $1
		AND status = 'active'
		AND archived_at IS NULL
	ORDER BY code`

// peopleSQL selects people behind an employee number. A filter stands in a CASE so
// that the rows come along the index of employee numbers, in their order, and no
// more of them are read than the page needs. $1 tenant, $2 the number, $3 how many;
// the word is a condition.
const peopleSQL = `
	SELECT id, employee_no, name, job_title, site_id, user_id
	FROM workers
	WHERE tenant_id = $1
		AND employee_no > $2
		AND status <> 'left'
		AND archived_at IS NULL
		AND {filter}
	ORDER BY employee_no
	LIMIT $3`

// queuePeople asks for the courses, the people and the tenant's days.
func (p *page) queuePeople(tx *db.Tx) {
	store.QueueZone(tx, p.tenant, &p.zone)
	p.queueWindow(tx)
	p.queueCourses(tx)

	most := p.in.Limit
	if p.in.Only != "" {
		most = lookedAt
	}
	args := []any{p.tenant, p.in.After, most + 1} // one more tells whether there are more
	filter := p.peopleFilter(&args)
	tx.Queue(db.FillWords(peopleSQL, "{filter}", filter), args, func(row *db.Row) error {
		if int64(len(p.people)) == most {
			p.more = true
			return nil
		}
		p.people = append(p.people, &PersonOut{
			ID: row.Text(0), EmployeeNo: row.Text(1), Name: row.Text(2),
			JobTitle: textOrNil(row, 3), SiteID: textOrNil(row, 4), UserID: textOrNil(row, 5),
			Cells: []CellOut{},
		})
		return nil
	})
}

// peopleFilter is the condition on people that was asked for.
func (p *page) peopleFilter(args *[]any) string {
	filter := []string{"1 = 1"}
	add := func(form, value string) {
		if value != "" {
			*args = append(*args, value)
			filter = append(filter, fmt.Sprintf(form, len(*args)))
		}
	}
	add("id = $%d", p.in.WorkerID)
	add("CASE WHEN site_id = $%d THEN 1 ELSE 0 END = 1", p.in.SiteID)
	add("CASE WHEN job_title = $%d THEN 1 ELSE 0 END = 1", p.in.JobTitle)
	return strings.Join(filter, " AND ")
}

// queueWindow asks for the window of the rules about training: the longest counts,
// so that nobody is shown free of what a rule asks.
func (p *page) queueWindow(tx *db.Tx) {
	p.days = 0
	tx.Queue(rulesSQL, []any{p.tenant}, func(row *db.Row) error {
		text := row.Text(0)
		if !strings.Contains(text, coverageMetric) {
			return nil
		}
		if rule, err := safety.ParseRule([]byte(text)); err == nil && rule.Metric == coverageMetric {
			p.days = max(p.days, rule.WindowDays)
		}
		return nil
	})
}

func (p *page) queueCourses(tx *db.Tx) {
	tx.Queue(coursesSQL, []any{p.tenant}, func(row *db.Row) error {
		id := row.Text(0)
		if p.in.CourseID != "" && p.in.CourseID != id {
			return nil
		}
		var words []string
		if err := json.Unmarshal([]byte(row.Text(4)), &words); err != nil {
			return fmt.Errorf("required_for of course %s: %w", id, err)
		}
		p.demands.AddRecord(id, words)
		course := CourseOut{ID: id, Code: row.Text(1), Title: row.Text(2)}
		if !row.Null(3) {
			months := row.Int(3)
			course.Validity = &months
		}
		p.courses = append(p.courses, course)
		return nil
	})
}

// recordsSQL selects the trainings of people, the newest last. $1 tenant, $2 ids of
// workers.
const recordsSQL = `
	SELECT worker_id, course_id, id, status, expires_on, due_on, created_at, completed_at
	FROM training_assignments
	WHERE tenant_id = $1
		AND worker_id IN {ids $2}
		AND status <> 'cancelled'
	ORDER BY worker_id, course_id, id`

// handledSQL selects the equipment that people had shifts with, also in a shift that
// runs still. $1 tenant, $2 ids of workers, $3 and $4 the window.
const handledSQL = `
	SELECT DISTINCT shift.worker_id, machine.asset_no, machine.id, machine.kind, machine.required_course_id
	FROM shifts AS shift
	JOIN equipment AS machine ON machine.tenant_id = $1 AND machine.id = shift.equipment_id
	WHERE shift.tenant_id = $1
		AND shift.worker_id IN {ids $2}
		AND shift.started_at <= $4
		AND (shift.ended_at IS NULL OR shift.ended_at > $3)
	ORDER BY shift.worker_id, machine.asset_no`

// queueRecords asks for what the people of the page have, and what they handled.
func (p *page) queueRecords(tx *db.Tx) {
	if p.days == 0 {
		p.days = workDays
	}
	ids := make([]string, len(p.people))
	for i, person := range p.people {
		ids[i] = person.ID
	}
	if len(ids) == 0 {
		return
	}
	tx.Queue(recordsSQL, []any{p.tenant, query.List(ids)}, func(row *db.Row) error {
		at := personCourse{row.Text(0), row.Text(1)}
		p.records[at] = append(p.records[at], record{
			id: row.Text(2), status: row.Text(3), expires: textOrNil(row, 4), due: textOrNil(row, 5),
			created: row.Text(6), completed: row.Text(7),
		})
		return nil
	})
	since := p.now.Add(-time.Duration(p.days) * 24 * time.Hour)
	window := []any{p.tenant, query.List(ids), since, p.now}
	tx.Queue(handledSQL, window, func(row *db.Row) error {
		worker := row.Text(0)
		p.handled[worker] = append(p.handled[worker], handling{
			assetNo: row.Text(1), id: row.Text(2), kind: row.Text(3), course: row.Text(4),
		})
		return nil
	})
}

// textOrNil is a column's text, nil for NULL.
func textOrNil(row *db.Row, at int) *string {
	if row.Null(at) {
		return nil
	}
	text := row.Text(at)
	return &text
}
