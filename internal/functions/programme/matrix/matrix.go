// Package matrix answers who needs which training and who has it: a page of people
// by courses, each cell with its reason and its records. A page takes the same
// number of statements however many people there are.
//
// Layer: functions. Begin at [New].
package matrix

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/output"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
)

// SoonDays is in how many days a certificate ends that ends soon: from then on its
// course is assigned anew.
const SoonDays = 30

// lookedAt is through how many people one request looks for those with gaps: what
// a title asks for is no column, so that no index finds them.
const lookedAt = 200

// In asks for a page of the matrix.
type In struct {
	SiteID   string `query:"site_id" format:"uuid" doc:"People of one site; all when absent."`
	JobTitle string `query:"job_title" doc:"People with this job title, as it is written."`
	WorkerID string `query:"worker_id" format:"uuid" doc:"One person; all when absent."`
	CourseID string `query:"course_id" format:"uuid" doc:"One course; all that are given when absent."`
	Only     string `query:"only" oneof:"gaps ending" doc:"People with gaps, or with what ends within 30 days."`
	After    string `query:"after" doc:"Employee number behind which the page begins."`
	Limit    int64  `query:"limit" default:"25" min:"1" max:"200" doc:"Most people of a page."`
}

// Out is the answer of training-matrix.
type Out struct {
	output.Kept
	Today   string      `json:"today" format:"date" doc:"The tenant's day that validity is held against."`
	Courses []CourseOut `json:"courses" doc:"The courses that are given, by code."`
	People  []PersonOut `json:"people" doc:"People who have not left, by employee number."`
	Looked  int         `json:"people_looked_at" doc:"People among whom those of the answer were found."`
	Next    *string     `json:"next" doc:"What the next page begins behind; null behind the last."`
}

// CourseOut is a column.
type CourseOut struct {
	ID       string `json:"id" format:"uuid" doc:"The course."`
	Code     string `json:"code" doc:"Its code."`
	Title    string `json:"title" doc:"Its title."`
	Validity *int64 `json:"validity_months" unit:"months" doc:"How long a certificate holds; null for life."`
}

// PersonOut is a row. A gap is a course that is required or assigned, not held and
// not waived, and one whose open training was failed or is overdue.
type PersonOut struct {
	ID         string    `json:"worker_id" format:"uuid" doc:"The person."`
	EmployeeNo string    `json:"employee_no" doc:"The employee number."`
	Name       string    `json:"name" doc:"The name."`
	JobTitle   *string   `json:"job_title" doc:"The job title."`
	SiteID     *string   `json:"site_id" format:"uuid" doc:"The site."`
	UserID     *string   `json:"user_id" format:"uuid" doc:"The account; null without one."`
	Gaps       int       `json:"gaps" doc:"Courses that are required or assigned, not held, not waived, or behind."`
	Cells      []CellOut `json:"cells" doc:"Courses that are asked for or on record, by code."`
}

// CellOut is what there is of a person and a course. Where a certificate holds for
// life, and without one, there is no last day.
type CellOut struct {
	CourseID     string      `json:"course_id" format:"uuid" doc:"The course."`
	State        string      `json:"state" enum:"valid,ending,ended,assigned,waived,missing" doc:"How it stands."`
	Required     bool        `json:"required" doc:"Whether the job or the equipment asks for it."`
	Gap          bool        `json:"gap" doc:"Whether it is required or assigned, not held, not waived."`
	Reasons      []ReasonOut `json:"reasons,omitempty" doc:"What asks for it."`
	Certificate  string      `json:"certificate_id,omitempty" format:"uuid" doc:"The training that holds longest."`
	ExpiresOn    *string     `json:"expires_on,omitempty" format:"date" doc:"The certificate's last day."`
	Assignment   string      `json:"assignment_id,omitempty" format:"uuid" doc:"The training that is open or waived."`
	AssignStatus string      `json:"assignment_status,omitempty" enum:"assigned,in_progress,failed,waived" doc:"State."`
	DueOn        *string     `json:"due_on,omitempty" format:"date" doc:"The last day to complete it."`
}

// ReasonOut is what asks for a course.
type ReasonOut struct {
	By   string `json:"by" enum:"job_title,equipment" doc:"The job, or shifts with a piece of equipment."`
	Name string `json:"name" doc:"The job title, or the asset number."`
	ID   string `json:"equipment_id,omitempty" format:"uuid" doc:"The piece of equipment."`
}

// Matrix answers training-matrix over a store. It is safe for concurrent use.
type Matrix struct {
	store *store.Store
	now   func() time.Time
}

// New returns the matrix over a store; now is the clock.
func New(s *store.Store, now func() time.Time) *Matrix { return &Matrix{s, now} }

// Page answers a page of people by courses: two round trips, of which the first
// finds the people and what courses ask for, the second what they have.
func (m *Matrix) Page(ctx context.Context, a actor.Actor, in *In) (*Out, error) {
	var out *Out
	err := m.store.DB().Read(ctx, db.Scope{Tenant: a.TenantID}, func(tx *db.Tx) error {
		now := m.now().UTC()
		p := newPage(a.TenantID, in, now)
		p.queuePeople(tx)
		if err := tx.Flush(); err != nil {
			return err
		}

		p.today = localtime.DateOf(now, localtime.Zone(p.zone))
		p.queueRecords(tx)
		if err := tx.Flush(); err != nil {
			return err
		}
		out = p.fillOut(output.KeptOf(a.TenantID, now))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("matrix: read a page: %w", err)
	}
	return out, nil
}

// fillOut makes the answer of what was read: the people of the page, as many as
// fit, and where the next begins.
func (p *page) fillOut(head output.Kept) *Out {
	out := &Out{Kept: head, Today: p.today.String(), Courses: p.courses, People: []PersonOut{}}
	for _, person := range p.people {
		if int64(len(out.People)) == p.in.Limit {
			break
		}
		out.Looked++
		out.Next = &person.EmployeeNo
		p.fillPerson(person)
		if p.isWanted(person) {
			out.People = append(out.People, *person)
		}
	}
	if out.Looked == len(p.people) && !p.more {
		out.Next = nil
	}
	return out
}

// isWanted reports whether a person is one of those that were asked for.
func (p *page) isWanted(person *PersonOut) bool {
	switch p.in.Only {
	case "gaps":
		return person.Gaps > 0
	case "ending":
		return person.hasState(stateEnding)
	default:
		return true
	}
}

func (person *PersonOut) hasState(state string) bool {
	for _, cell := range person.Cells {
		if cell.State == state {
			return true
		}
	}
	return false
}
