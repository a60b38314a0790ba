package catalog

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

func safetyResources() []Resource { return []Resource{incidentsResource(), actionsResource()} }

var severities = strings.Fields("low medium high critical")

// hazards are the kinds of hazard that incidents are told apart by. The list is
// closed so that figures of several sites and years can be compared; what is not
// on it is "other", and in words in the description.
var hazards = strings.Fields("slip_trip fall_height struck_by caught_in manual_handling powered_truck traffic chemical " +
	"electrical ergonomics violence other")

func incidentsResource() Resource {
	return Resource{
		Name: "incidents", Family: "safety",
		Doc: "Anything that hurt, damaged or could have: one record with a kind.",
		Fields: []Field{
			{Name: "incident_no", Format: Number, Prefix: "IN", Fixed: true},
			{Name: "kind", Required: true,
				OneOf: strings.Fields("injury illness near_miss hazard property_damage environmental fire security")},
			{Name: "severity", Required: true, Default: "low", OneOf: severities},
			{Name: "potential_severity", OneOf: severities},
			{Name: "status", Required: true, Default: "reported",
				OneOf: strings.Fields("reported triaged investigating action_pending closed void")},
			{Name: "title", Format: Name, Required: true},
			{Name: "description"},
			{Name: "immediate_action"},
			{Name: "occurred_at", Type: Time, Required: true},
			{Name: "occurred_tz", Format: IANA, Label: "Time zone"},
			{Name: "reported_at", Type: Time, Fixed: true, Doc: "Now when absent."},
			{Name: "known_at", Type: Time, Doc: "When the employer learned of it; reported_at when absent."},
			{Name: "reported_by", Type: UUID, Names: "members", Fixed: true, Readers: leaders,
				Doc: "User who reported; null when anonymous."},
			{Name: "reporter_name", Format: Name, Fixed: true, Readers: leaders,
				Doc: "Name given on the public report page, by somebody without an account."},
			{Name: "anonymous", Type: Bool, Required: true, Default: "false", Fixed: true},
			{Name: "site_id", Type: UUID, Ref: "sites"},
			{Name: "zone_id", Type: UUID, Ref: "zones"},
			{Name: "entities", Type: JSON, Shape: schema.Of([]incidentEntity{}), Ruled: true, Required: true, Default: "[]",
				Readers: leaders, Doc: "Array of {entity_type, entity_id, role}."},
			{Name: "category_tags", Type: Array, Required: true, Default: "[]", MaxLen: 20, OneOf: hazards, Label: "Categories",
				Doc: "What kind of hazard it was, one or several."},
			{Name: "likelihood", Type: Int, Min: "1", Max: "5"},
			{Name: "risk_rating", Type: Int, ReadOnly: true, Doc: "Severity (1-4) x likelihood (1-5)."},
			{Name: "lat", Type: Float, Min: "-90", Max: "90"},
			{Name: "lon", Type: Float, Min: "-180", Max: "180"},
			{Name: "journey", OneOf: []string{"commuting", "road"},
				Doc: "On the way between home and work, or on a public road for work without loading or unloading; empty " +
					"at the workplace. Figures leave commuting out, those of the United Kingdom the road too (RIDDOR reg. 14(3))."},
			{Name: "duplicate_of", Type: UUID, Ref: "incidents"},
			{Name: "void_reason", Format: Name},
			{Name: "root_causes", Type: JSON, Shape: schema.Of([]rootCause{}), Ruled: true, Required: true, Default: "[]",
				Readers: leaders,
				Doc:     "Array of {method: 5whys|fishbone|tree, layer: immediate|underlying|organisational, text, whys}."},
			{Name: "lessons"},
			{Name: "lead_user_id", Type: UUID, Names: "members", Doc: "Who leads the investigation."},
			{Name: "due_on", Type: Date, Doc: "When the investigation is to be done."},
			{Name: "investigated_at", Type: Time, ReadOnly: true, Doc: "When the investigation began."},
			{Name: "closed_at", Type: Time, ReadOnly: true},
			{Name: "reopen_reason", Format: Name, Doc: "Why a closed incident is investigated again."},
			{Name: "change_reason", Format: Name, MaxLen: 300,
				Doc: "Why kind, severity, moment or place of an incident with a case is changed."},
			{Name: "confidential", Type: Bool, Required: true, Default: "false", Setters: officers,
				Doc: "Only safety, administrators and reader_ids read the incident and what is kept with it; figures count " +
					"it. Set by itself when its case becomes a privacy case (29 CFR 1904.29(b)(7))."},
			{Name: "reader_ids", Type: Array, Required: true, Default: "[]", MaxLen: 20, Names: "members",
				Label:   "Readers",
				Setters: officers, Readers: officers,
				Doc: "Accounts of members who read the incident besides when it is confidential."},
			{Name: "external_ref", Format: Name, MaxLen: 100},
			{Name: "follow_hash", Format: Name, MaxLen: 64, ReadOnly: true, Readers: nobody,
				Doc: "Digest of the code with which whoever reported without an account follows up."},
		},
		Unique:  [][]string{{"incident_no"}, {"external_ref"}},
		Indexes: [][]string{{"follow_hash"}, {"reported_at", "kind", "severity", "status"}, {"status", "id"}, {"closed_at"}},
		Listed:  []string{"updated_at", "occurred_at"},
		Own:     []string{"reported_by", "created_by"},
		Seal:    &Seal{Flag: "confidential", Roles: officers, Named: "reader_ids"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Viewer)), grantOwn(floor...)},
			Create: []Grant{grantAll(plusRoles(leaders, floor...))},
			Update: []Grant{grantAll(leaders)},
		},
		Counters: []Counter{
			{Name: "incidents", By: []string{"status", "severity", "kind"}},
			{Name: "reports", By: []string{"kind", "severity"}, At: "reported_at", Except: []string{"void"}},
		},
		States: &States{Field: "status", Initial: []string{"reported"}, Moves: []Move{
			{From: []string{"reported"}, To: "triaged", Roles: leaders},
			{From: []string{"reported", "triaged"}, To: "void", Roles: officers},
			{From: []string{"triaged"}, To: "investigating", Roles: officers},
			{From: []string{"triaged", "investigating"}, To: "action_pending", Roles: officers},
			{From: strings.Fields("reported triaged investigating action_pending"), To: "closed", Roles: officers},
			{From: []string{"closed"}, To: "investigating", Roles: officers},
		}},
		Import: &Import{
			Key: []string{"external_ref"},
			Fields: strings.Fields("external_ref kind severity potential_severity title description occurred_at reported_at " +
				"zone_id site_id category_tags immediate_action lat lon"),
		},
	}
}

func actionsResource() Resource {
	return Resource{
		Name: "actions", Family: "safety",
		Doc: "Corrective and preventive actions, with a person and a date.",
		Fields: []Field{
			{Name: "action_no", Format: Number, Prefix: "AC", Fixed: true},
			{Name: "title", Format: Name, Required: true},
			{Name: "description"},
			{Name: "type", Required: true, Default: "corrective", OneOf: []string{"corrective", "preventive", "containment"}},
			{Name: "source", Required: true, Default: "manual",
				OneOf: strings.Fields("incident checklist_answer compliance_event score talk manual")},
			{Name: "incident_id", Type: UUID, Ref: "incidents"},
			{Name: "source_id", Type: UUID},
			{Name: "control_level", OneOf: strings.Fields("eliminate substitute engineer administrate ppe"),
				Doc: "Hierarchy of controls, ISO 45001 8.1.2."},
			{Name: "priority", Required: true, Default: "medium", OneOf: severities},
			{Name: "status", Required: true, Default: "open", OneOf: strings.Fields("open in_progress done verified cancelled")},
			{Name: "assignee_user_id", Type: UUID, Names: "members"},
			{Name: "verifier_user_id", Type: UUID, Names: "members"},
			{Name: "due_on", Type: Date, Doc: "End of this local day."},
			{Name: "due_at", Type: Time, Doc: "Exact moment; filled from due_on when that is given."},
			{Name: "completed_at", Type: Time, ReadOnly: true},
			{Name: "completed_by", Type: UUID, ReadOnly: true, Doc: "Who marked it done, and so may not verify it."},
			{Name: "verified_at", Type: Time, ReadOnly: true},
			{Name: "effectiveness", OneOf: []string{"effective", "not_effective"},
				Doc: "Judged once it is verified; not_effective opens an action that follows it."},
			{Name: "review_on", Type: Date, Doc: "When to look whether it has helped."},
			{Name: "reviewed_at", Type: Time, ReadOnly: true, Doc: "When its effectiveness was judged."},
			{Name: "escalated_to", OneOf: []string{"safety", "manager"}, ReadOnly: true,
				Doc: "The level that was told that it is overdue, see the setting escalate_after_days."},
			{Name: "escalated_at", Type: Time, ReadOnly: true, Doc: "When that level was told."},
			{Name: "suggested_by", Type: UUID, ReadOnly: true, Doc: "The picker or driver whose suggestion it is."},
			{Name: "evidence", Type: JSON, Shape: schema.Of([]evidence{}), Required: true, Default: "[]",
				Doc: "Array of {kind, text, url, photo_id}: what shows that it was done."},
			{Name: "follows_id", Type: UUID, Ref: "actions"},
			{Name: "cancel_reason", Format: Name},
		},
		Import: importActions(),
		Unique: [][]string{{"action_no"}},
		Listed: []string{"updated_at", "due_at"},
		Own:    []string{"assignee_user_id", "verifier_user_id", "created_by"},
		Seal:   &Seal{By: "incident_id", Except: []string{"assignee_user_id", "verifier_user_id"}},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Viewer)), grantOwn(floor...)},
			Create: []Grant{grantAll(plusRoles(leaders, floor...))},
			Update: []Grant{grantAll(leaders), grantOwn(floor...).onlyFields("status", "evidence", "description")},
			Delete: []Grant{grantAll(officers)},
		},
		Counters: []Counter{
			{Name: "actions", By: []string{"status"}},
			{Name: "actions_due", At: "due_at", Except: []string{"done", "verified", "cancelled"}},
		},
		States: &States{Field: "status", Initial: []string{"open"}, Moves: []Move{
			{From: []string{"open"}, To: "in_progress", Roles: plusRoles(leaders, floor...)},
			{From: []string{"open", "in_progress"}, To: "done", Roles: plusRoles(leaders, floor...)},
			{From: []string{"done"}, To: "verified", Roles: plusRoles(leaders, floor...)},
			{From: []string{"done"}, To: "in_progress", Roles: plusRoles(leaders, floor...)},
			{From: []string{"open", "in_progress"}, To: "cancelled", Roles: officers},
		}},
	}
}
