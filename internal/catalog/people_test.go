package catalog

import (
	"slices"
	"strings"
	"testing"

	"holdfast/internal/actor"
)

// shownPeople are the columns that name a person to others than leaders and the
// person, each with its reason.
var shownPeople = map[string]string{
	"actions.assignee_user_id":             "whom to ask about an action",
	"actions.verifier_user_id":             "as the assignee",
	"checklist_runs.assignee_user_id":      "whose turn an inspection is",
	"checklist_schedules.assignee_user_id": "as of the runs",
	"incidents.lead_user_id":               "whom to ask about an investigation",
	"regulations.owner_user_id":            "whom to ask about a duty",
	"teams.lead_user_id":                   "whom to ask in a team",
	"toolbox_talks.leader_user_id":         "who speaks, announced to all who come",
	"members.worker_id":                    "the caller's own: others' memberships are not read",
	"drivers.worker_id":                    "that a worker drives is no figure of his work",
	"workers.user_id":                      "that a worker signs in is no figure of his work",

	"shifts.created_by":           "of a driver's own shifts: who entered the hours",
	"talk_attendances.created_by": "of one's own attendance: who entered it",
	"talk_attendances.signed_by":  "of one's own attendance: who signed it",

	"training_assignments.user_id":   "training.assigned and training.expiring carry it to every reader of the row",
	"training_assignments.worker_id": "as user_id",

	"comments.created_by": "whoever works on a record sees who says something about it; viewers do not",
	"comments.struck_by":  "as created_by",

	"count_tasks.assigned_worker_id":     "whose work a task is",
	"putaway_tasks.assigned_worker_id":   "as of count_tasks",
	"replenish_tasks.assigned_worker_id": "as of count_tasks",
	"routes.assigned_worker_id":          "as of count_tasks",
	"routes.driver_id":                   "as of count_tasks",
	"shipments.assigned_worker_id":       "as of count_tasks",
	"shipments.driver_id":                "as of count_tasks",
}

// A column that names a person is read by leaders alone, unless the rows are the
// person's own, or it is among those that are shown with a reason.
func TestPersonColumns(t *testing.T) {
	used, looked := map[string]bool{}, 0
	for _, r := range Default().All() {
		for i := range r.Fields {
			f := &r.Fields[i]
			if !namesPerson(f) {
				continue
			}
			looked++
			name := r.Name + "." + f.Name
			roles := widerReaders(r, f)
			if len(roles) == 0 {
				continue
			}
			if shownPeople[name] == "" {
				t.Errorf("%s names a person to %v: give it Readers, or a reason in shownPeople", name, roles)
			}
			used[name] = true
		}
	}
	for name := range shownPeople {
		if !used[name] {
			t.Errorf("%s is shown to nobody but leaders: it needs no reason", name)
		}
	}
	if looked < 80 {
		t.Errorf("%d columns: the loop looks at nothing", looked)
	}
}

// namesPerson reports a column whose value is a worker, a driver, a member or an account.
func namesPerson(f *Field) bool {
	return f.Type == UUID && (f.Ref == "workers" || f.Ref == "drivers" || f.Ref == "members" ||
		f.Names == "members" || f.Name == "worker_id" ||
		strings.HasSuffix(f.Name, "_by") || strings.HasSuffix(f.Name, "user_id"))
}

// widerReaders are the roles besides leaders that read a column of others' rows.
func widerReaders(r *Resource, f *Field) (roles []actor.Role) {
	for _, g := range r.Access.Read {
		for _, role := range g.Roles {
			own := g.Scope == Own && slices.Contains(r.Own, f.Name)
			reads := len(f.Readers) == 0 || slices.Contains(f.Readers, role)
			if role != actor.Service && !slices.Contains(leaders, role) && !own && reads {
				roles = append(roles, role)
			}
		}
	}
	return roles
}
