package catalog

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

// inspectionsResources are what is looked at, when, and what was found; and the talks
// that keep people in the picture.
func inspectionsResources() []Resource {
	return []Resource{checklistTemplates(), checklistSchedules(), checklistRuns(), checklistAnswers(), toolboxTalks(),
		talkAttendances()}
}

// inspected are what a checklist can be about.
var inspected = strings.Fields("zone driver worker equipment vehicle site")

func checklistTemplates() Resource {
	return Resource{
		Name: "checklist_templates", Family: "safety",
		Doc: "What an inspection asks. A draft can be changed; once published it never does: make a new draft with the same code, whose publication takes its place.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true, Fixed: true},
			{Name: "revision", Type: Int, Required: true, ReadOnly: true, Min: "1", Doc: "Counts the drafts of one code."},
			{Name: "title", Format: Name, Required: true},
			{Name: "description"},
			{
				Name:     "applies_to",
				Type:     Array,
				Required: true,
				Default:  "[]",
				OneOf:    inspected,
				Doc:      "What it can be about; empty = anything, or nothing in particular.",
			},
			{
				Name:     "kinds",
				Type:     Array,
				Format:   Name,
				Required: true,
				Default:  "[]",
				MaxLen:   50,
				Doc:      "Kinds of equipment or vehicle it is for; empty = all.",
			},
			{Name: "sections", Type: JSON, Shape: schema.Of([]checklistSection{}), Ruled: true, Required: true, Default: "[]",
				Doc: "Array of {title, items: [{key, prompt, type: yes_no_na|number|choice|text|photo|signature, required, critical, weight, options, unit, fail_when, " +
					"show_when, on_fail}]}. " +
					"A condition is {op, value} on the own answer (fail_when), {item, op, value} on another's (show_when), or {all: [...]} / {any: [...]}; " +
					"op is ==, !=, <, <=, >, >=, in or answered."},
			{Name: "published_at", Type: Time, ReadOnly: true},
			{Name: "supersedes_id", Type: UUID, Ref: "checklist_templates", ReadOnly: true,
				Doc: "The revision whose place it took."},
			{Name: "status", Required: true, Default: "draft", OneOf: []string{"draft", "published", "retired"}},
		},
		Unique: [][]string{{"code", "revision"}},
		Access: Access{
			Read:   []Grant{grantAll(everyone)},
			Create: []Grant{grantAll(leaders)},
			Update: []Grant{grantAll(officers)},
			Delete: []Grant{grantAll(officers)},
		},
		States: &States{Field: "status", Initial: []string{"draft"}, Moves: []Move{
			{From: []string{"draft"}, To: "published", Roles: officers},
			{From: []string{"draft", "published"}, To: "retired", Roles: officers},
		}},
	}
}

// targetFields are the fields that say what is inspected; fixed ones keep it.
func targetFields(fixed bool) []Field {
	return []Field{
		{Name: "site_id", Type: UUID, Ref: "sites", Fixed: fixed},
		{Name: "zone_id", Type: UUID, Ref: "zones", Fixed: fixed, Doc: "Where; the zone of the equipment when absent."},
		{Name: "equipment_id", Type: UUID, Ref: "equipment", Fixed: fixed},
		{Name: "vehicle_id", Type: UUID, Ref: "vehicles", Fixed: fixed},
		{Name: "worker_id", Type: UUID, Ref: "workers", Fixed: fixed, Readers: leaders,
			Doc: "Who is observed, not who looks."},
	}
}

func checklistSchedules() Resource {
	return Resource{
		Name: "checklist_schedules", Family: "safety",
		Doc: "When an inspection comes back. Its runs appear seven days ahead; a change takes away those that nobody has begun and plans them anew.",
		Fields: append(
			append([]Field{
				{
					Name:     "template_id",
					Type:     UUID,
					Ref:      "checklist_templates",
					Required: true,
					Doc:      "A published template; moves on when a new revision is published.",
				},
				{Name: "title", Format: Name, Doc: "The template's when absent."},
			}, targetFields(false)...),
			Field{Name: "assignee_user_id", Type: UUID, Names: "members"},
			Field{Name: "rrule", MaxLen: 500, Required: true, Label: "Recurrence",
				Doc: "RFC 5545 recurrence rule by day, week, month or year, such as FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=6,14; at most 24 times a day. Times are local to the " +
					"site, across changes of the clock."},
			Field{Name: "starts_on", Type: Date, Required: true, Filled: true, Doc: "First local day; today when absent."},
			Field{
				Name:     "due_time",
				Format:   Name,
				MaxLen:   5,
				Required: true,
				Default:  "08:00",
				Doc:      "Local time of day, HH:MM, where the rule names none.",
			},
			Field{Name: "grace_minutes", Type: Int, Unit: "min", Required: true, Default: "0", Min: "0", Max: "10080"},
			Field{Name: "timezone", Format: IANA, ReadOnly: true, Label: "Time zone",
				Doc: "The site's, or the tenant's where it has none."},
			Field{Name: "planned_until", Type: Time, ReadOnly: true, Doc: "Runs due by then exist."},
			Field{Name: "next_due_at", Type: Time, ReadOnly: true,
				Doc: "The first due time that is not planned yet; null when there is none."},
			Field{Name: "status", Required: true, Default: "active", OneOf: []string{"active", "paused", "ended"}},
		),
		Indexes: [][]string{{"status", "next_due_at"}},
		Access: Access{
			Read:   []Grant{grantAll(everyone)},
			Create: []Grant{grantAll(leaders)},
			Update: []Grant{grantAll(leaders)},
			Delete: []Grant{grantAll(officers)},
		},
		States: &States{Field: "status", Initial: []string{"active", "paused"}, Moves: []Move{
			{From: []string{"active"}, To: "paused", Roles: leaders},
			{From: []string{"paused", "ended"}, To: "active", Roles: leaders},
			{From: []string{"active", "paused"}, To: "ended", Roles: leaders},
		}},
	}
}

func checklistRuns() Resource {
	return Resource{
		Name: "checklist_runs", Family: "safety",
		Doc: "One inspection: due, done or missed.",
		Fields: append(append([]Field{
			{Name: "title", Format: Name, Required: true, Filled: true, Doc: "The template's when absent."},
			{
				Name:  "template_id",
				Type:  UUID,
				Ref:   "checklist_templates",
				Fixed: true,
				Doc:   "The revision that is asked; null for an inspection without questions.",
			},
			{Name: "schedule_id", Type: UUID, Ref: "checklist_schedules", ReadOnly: true},
		}, targetFields(false)...),
			Field{Name: "assignee_user_id", Type: UUID, Names: "members"},
			Field{Name: "due_at", Type: Time, Required: true, Filled: true, Doc: "Now when absent."},
			Field{Name: "grace_minutes", Type: Int, Unit: "min", Required: true, Default: "0", Min: "0", Max: "10080"},
			Field{
				Name:     "deadline_at",
				Type:     Time,
				ReadOnly: true,
				Doc: "The last moment that is in time, due_at + grace_minutes; null where nobody set a due_at: " +
					"such an inspection is never late.",
			},
			Field{Name: "started_at", Type: Time, ReadOnly: true},
			Field{Name: "completed_at", Type: Time, ReadOnly: true},
			Field{Name: "completed_by", Type: UUID, ReadOnly: true},
			Field{
				Name:     "on_time",
				Type:     Bool,
				ReadOnly: true,
				Doc:      "Completed by deadline_at; null until completed, and without a deadline.",
			},
			Field{Name: "score", Type: Decimal, Unit: "percent", Min: "0", Max: "100",
				Doc: "100 x passed / (passed + failed) answers by weight; the server's where there is a template."},
			Field{Name: "passed", Type: Int, ReadOnly: true, Doc: "Answers that passed; null until completed."},
			Field{Name: "failed", Type: Int, ReadOnly: true},
			Field{Name: "failed_critical", Type: Int, ReadOnly: true},
			Field{Name: "passed_weight", Type: Int, ReadOnly: true,
				Doc: "Weights of the answers that passed; null until completed."},
			Field{Name: "failed_weight", Type: Int, ReadOnly: true},
			Field{Name: "cancel_reason", Format: Name},
			Field{Name: "status", Required: true, Default: "scheduled",
				OneOf: strings.Fields("scheduled in_progress completed missed cancelled")},
		),
		Unique:  [][]string{{"schedule_id", "due_at"}},
		Indexes: [][]string{{"deadline_at", "status", "on_time"}, {"equipment_id", "completed_at"}},
		Listed:  []string{"due_at"},
		Counters: []Counter{{
			Name: "checklists_due", By: []string{"on_time"}, At: "deadline_at", Except: []string{"cancelled"},
		}},
		Own: []string{"assignee_user_id", "completed_by", "created_by"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver)},
			Create: []Grant{grantAll(plusRoles(leaders, floor...))},
			Update: []Grant{grantAll(leaders), grantAll([]actor.Role{actor.Operator}).onlyFields("status"),
				grantOwn(actor.Driver).onlyFields("status")},
		},
		States: &States{Field: "status", Initial: []string{"scheduled"}, Moves: []Move{
			{From: []string{"scheduled"}, To: "in_progress", Roles: plusRoles(leaders, floor...)},
			{From: []string{"scheduled", "in_progress"}, To: "completed", Roles: plusRoles(leaders, floor...)},
			{From: []string{"scheduled", "in_progress"}, To: "missed"},
			{From: []string{"scheduled", "in_progress"}, To: "cancelled", Roles: leaders},
		}},
	}
}

func checklistAnswers() Resource {
	return Resource{
		Name: "checklist_answers", Family: "safety",
		Doc: "One answer of an inspection. The first one begins it. A critical one that fails opens an action, or a hazard, and takes the equipment or vehicle out " +
			"of service at once.",
		Fields: []Field{
			{Name: "run_id", Type: UUID, Ref: "checklist_runs", Required: true, Fixed: true},
			{Name: "item_key", Format: Code, Required: true, Fixed: true},
			{Name: "value", Type: JSON, Shape: anything, Required: true,
				Doc: "yes, no or na; a number; one of the options; a text; ids of the inspection's photos (checklist_photos); a signature as the name typed."},
			{Name: "result", ReadOnly: true, OneOf: []string{"pass", "fail", "na"}},
			{Name: "critical", Type: Bool, Required: true, Default: "false", ReadOnly: true},
			{Name: "note", MaxLen: 2000},
			{
				Name:     "photos",
				Type:     Array,
				Required: true,
				Default:  "[]",
				MaxLen:   20,
				Doc:      "Ids of the inspection's photos (checklist_photos) that show it.",
			},
			{Name: "answered_by", Type: UUID, ReadOnly: true},
			{Name: "answered_at", Type: Time, ReadOnly: true},
		},
		Unique: [][]string{{"run_id", "item_key"}},
		Own:    []string{"answered_by", "created_by"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver)},
			Create: []Grant{grantAll(plusRoles(leaders, floor...))},
			Update: []Grant{grantAll(plusRoles(leaders, actor.Operator)), grantOwn(actor.Driver)},
		},
	}
}

func toolboxTalks() Resource {
	return Resource{
		Name: "toolbox_talks", Family: "safety",
		Doc: "A short talk about safety at the place of work.",
		Fields: []Field{
			{Name: "topic", Format: Name, Required: true},
			{Name: "notes"},
			{Name: "site_id", Type: UUID, Ref: "sites"},
			{Name: "team_id", Type: UUID, Ref: "teams"},
			{Name: "held_at", Type: Time, Required: true,
				Doc: "May lie ahead: who is to come can be entered, and signs afterwards."},
			{Name: "leader_user_id", Type: UUID, Names: "members", Required: true, Filled: true,
				Doc: "Who gives it; the maker when absent."},
			{Name: "minutes", Type: Int, Unit: "min", Min: "1", Max: "1440"},
			{Name: "incident_id", Type: UUID, Ref: "incidents", Doc: "What gave rise to it."},
		},
		Indexes: [][]string{{"held_at"}},
		Access: Access{
			Read:   []Grant{grantAll(everyone)},
			Create: []Grant{grantAll(leaders)},
			Update: []Grant{grantAll(leaders)},
			Delete: []Grant{grantAll(officers)},
		},
	}
}

func talkAttendances() Resource {
	return Resource{
		Name: "talk_attendances", Family: "safety",
		Doc: "Who was at a talk, and signed for it.",
		Fields: []Field{
			{Name: "talk_id", Type: UUID, Ref: "toolbox_talks", Required: true, Fixed: true},
			{Name: "worker_id", Type: UUID, Ref: "workers", Required: true, Fixed: true,
				Readers: plusRoles(leaders, floor...)},
			{Name: "signed_at", Type: Time, Doc: "When the worker confirmed having been there; now, when he signs himself."},
			{Name: "signature", MaxLen: 200, Readers: plusRoles(leaders, floor...), Doc: "The name as signed."},
			{Name: "signed_by", Type: UUID, ReadOnly: true, Doc: "Whose account it was signed with."},
		},
		Unique: [][]string{{"talk_id", "worker_id"}},
		Own:    []string{"worker_id"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Viewer)), grantOwn(floor...)},
			Create: []Grant{grantAll(leaders), grantOwn(floor...)},
			Update: []Grant{grantAll(leaders), grantOwn(floor...).onlyFields("signed_at", "signature")},
			Delete: []Grant{grantAll(leaders)},
		},
	}
}
