package catalog

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

// programmeResources are the records of a safety programme: exposure, training, rules,
// scores and what is given back to those who report.
func programmeResources() []Resource {
	return []Resource{equipmentResource(), shiftsResource(), coursesResource(), trainingAssignments(),
		regulationsResource(), complianceEvents(), complianceStates(),
		scoreModels(), scoreRuns(), predictiveScores(), riskClusters(), pointEvents(), badgesResource(), userBadges(),
		teamScores(), zoneScores()}
}

var (
	entityTypes   = strings.Fields("zone driver worker equipment")
	jurisdictions = []string{"US", "EU", "Global"}
	// seers may read scores of single people: the permission table gives managers
	// no more than team means.
	seers = officers
)

func equipmentResource() Resource {
	m := []Grant{grantAll(managers)}
	return Resource{
		Name: "equipment", Family: "safety", Archives: true,
		Doc: "Trucks, conveyors, levellers and racking that people work with.",
		Fields: []Field{
			{Name: "asset_no", Format: Code, Required: true, Label: "Asset number"},
			{Name: "name", Format: Name},
			{
				Name:     "kind",
				Format:   Name,
				MaxLen:   40,
				Required: true,
				Default:  "other",
				Doc:      "forklift, reach_truck, conveyor, dock_leveller, racking, charger, ...",
			},
			{Name: "serial_no", Format: Name, MaxLen: 60},
			{Name: "zone_id", Type: UUID, Ref: "zones"},
			{Name: "hours_meter", Type: Decimal, Unit: "h", Min: "0"},
			{Name: "service_due_on", Type: Date},
			{Name: "required_course_id", Type: UUID, Ref: "courses", Doc: "Course that everybody needs who works with it."},
			{Name: "status", Required: true, Default: "in_service", OneOf: roadStates},
		},
		Import: importEquipment(),
		Unique: [][]string{{"asset_no"}},
		Access: Access{Read: []Grant{grantAll(everyone)}, Create: m, Update: []Grant{grantAll(leaders)}, Delete: m},
		States: &States{Field: "status", Initial: roadStates, Moves: []Move{
			{From: []string{"maintenance", "out_of_service"}, To: "in_service", Roles: leaders},
			{From: []string{"in_service", "out_of_service"}, To: "maintenance", Roles: leaders},
			{From: []string{"in_service", "maintenance"}, To: "out_of_service", Roles: leaders},
			{From: []string{"in_service", "maintenance", "out_of_service"}, To: "retired", Roles: managers},
		}},
	}
}

func shiftsResource() Resource {
	m := []Grant{grantAll(managers)}
	return Resource{
		Name: "shifts", Family: "people",
		Doc: "Hours worked: the exposure under every rate. Shifts of one worker never overlap.",
		Fields: []Field{
			{Name: "worker_id", Type: UUID, Ref: "workers", Required: true, Fixed: true,
				Readers: plusRoles(leaders, actor.Driver)},
			{Name: "zone_id", Type: UUID, Ref: "zones"},
			{Name: "team_id", Type: UUID, Ref: "teams"},
			{Name: "vehicle_id", Type: UUID, Ref: "vehicles"},
			{Name: "equipment_id", Type: UUID, Ref: "equipment"},
			{Name: "started_at", Type: Time, Required: true},
			{Name: "ended_at", Type: Time, Doc: "Null while the shift is open."},
			{Name: "break_minutes", Type: Int, Unit: "min", Required: true, Default: "0", Min: "0", Max: "1440"},
			{Name: "hours", Type: Decimal, Unit: "h", Min: "0", Max: "24",
				Doc: "Hours worked; from start, end and break when absent. Without an end the shift ends after them and its break."},
			{Name: "units_done", Type: Decimal, Min: "0", Doc: "Units handled, for the workload of a score."},
			{Name: "source", Required: true, Default: "manual", OneOf: []string{"clock", "import", "manual"}},
			{Name: "status", Required: true, Default: "open", OneOf: []string{"open", "closed", "approved"},
				Doc: "A shift with an end is closed."},
		},
		Import: importShifts(),
		Indexes: [][]string{
			{"worker_id", "ended_at", "hours", "units_done"},
			{"zone_id", "ended_at", "hours", "units_done"},
			{"equipment_id", "ended_at", "hours",
				"units_done"},
		},
		Own: []string{"worker_id"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver)},
			Create: m, Update: []Grant{grantAll(leaders)}, Delete: m,
		},
		States: &States{Field: "status", Initial: []string{"open", "closed", "approved"}, Moves: []Move{
			{From: []string{"open"}, To: "closed", Roles: leaders},
			{From: []string{"closed"}, To: "approved", Roles: managers},
			{From: []string{"approved"}, To: "closed", Roles: managers},
		}},
	}
}

func coursesResource() Resource {
	return Resource{
		Name: "courses", Family: "safety", Archives: true,
		Doc: "What people can learn, and when they must.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true},
			{Name: "title", Format: Name, Required: true},
			{Name: "kind", Required: true, Default: "classroom", OneOf: []string{"online", "classroom", "practical"}},
			{Name: "minutes", Type: Int, Unit: "min", Min: "1", Max: "100000"},
			{Name: "validity_months", Type: Int, Min: "1", Max: "600", Doc: "How long a certificate holds; null = for life."},
			// Whoever chooses or knows it learns a person's score from whom the course goes to.
			{Name: "risk_threshold", Type: Decimal, Min: "0", Max: "100", Setters: officers, Readers: officers,
				Doc: "Assigned where a score reaches it; null = never by score. For those who may know people's scores."},
			{Name: "entity_types", Type: Array, Required: true, Default: "[]", OneOf: entityTypes,
				Doc: "Scores that count for it; empty = all."},
			{Name: "categories", Type: Array, Format: Name, Required: true, Default: "[]", MaxLen: 20},
			{Name: "jurisdictions", Type: Array, Required: true, Default: "[]", OneOf: jurisdictions},
			{Name: "pass_mark", Type: Decimal, Unit: "percent", Min: "0", Max: "100"},
			{Name: "needs_evaluation", Type: Bool, Required: true, Default: "false",
				Doc: "A certificate needs a practical evaluation apart from the course (29 CFR 1910.178(l)(2)(ii), (l)(6))."},
			{
				Name:     "required_for",
				Type:     Array,
				Format:   Name,
				Required: true,
				Default:  "[]",
				MaxLen:   50,
				Doc:      "Job titles and kinds of equipment that need it.",
			},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"draft", "active", "retired"}},
		},
		Import: importCourses(),
		Unique: [][]string{{"code"}},
		Access: Access{
			Read:   []Grant{grantAll(everyone)},
			Create: []Grant{grantAll(leaders)},
			Update: []Grant{grantAll(officers)},
			Delete: []Grant{grantAll(officers)},
		},
		States: &States{Field: "status", Initial: []string{"active", "draft"}, Moves: []Move{
			{From: []string{"draft", "retired"}, To: "active", Roles: officers},
			{From: []string{"draft", "active"}, To: "retired", Roles: officers},
		}},
	}
}

func trainingAssignments() Resource {
	return Resource{
		Name: "training_assignments", Family: "safety",
		Doc: "One person and one course: asked for, taken, certified.",
		Fields: []Field{
			{Name: "course_id", Type: UUID, Ref: "courses", Required: true, Fixed: true},
			{
				Name:  "user_id",
				Type:  UUID,
				Names: "members",
				Fixed: true,
				Doc:   "The person's account; one of user_id and worker_id is given, the other found.",
			},
			{Name: "worker_id", Type: UUID, Ref: "workers", Fixed: true,
				Doc: "The person as a worker, with an account or without."},
			{
				Name:     "assignment_type",
				Required: true,
				Default:  "manual",
				Fixed:    true,
				OneOf:    strings.Fields("risk_based role_based incident manual renewal"),
			},
			{Name: "assignment_reason", MaxLen: 500},
			{Name: "due_on", Type: Date},
			{Name: "started_at", Type: Time, ReadOnly: true},
			{Name: "completed_at", Type: Time,
				Doc: "Now when the course is completed; may be given with a certificate from before."},
			{Name: "result", Type: Decimal, Unit: "percent", Min: "0", Max: "100"},
			{Name: "expires_on", Type: Date, Doc: "From the course's validity when absent."},
			{Name: "trained_on", Type: Date, Doc: "Day of the training."},
			{Name: "trainer", Format: Name, Doc: "Person who trained, never the holder."},
			{Name: "evaluated_on", Type: Date, Doc: "Day of the practical evaluation; the validity counts from it."},
			{Name: "evaluator", Format: Name, Doc: "Person who evaluated, never the holder."},
			{Name: "certificate_no", Format: Name, MaxLen: 60},
			{Name: "issuer", Format: Name, Doc: "Who issued an external certificate, which one person enters with its file " +
				"and another completes; null for the own training."},
			{Name: "entered_by", Type: UUID, ReadOnly: true,
				Doc: "Who entered the external certificate, and so may not verify it."},
			{Name: "verified_by", Type: UUID, ReadOnly: true, Doc: "The second person, who verified it."},
			{Name: "verified_at", Type: Time, ReadOnly: true},
			{Name: "close_reason", Format: Name, Doc: "Why it was waived or cancelled."},
			{Name: "source_score_id", Type: UUID, ReadOnly: true, Readers: seers, Doc: "The score that led to it."},
			{Name: "source_incident_id", Type: UUID, ReadOnly: true, Readers: leaders, Doc: "The incident that led to it."},
			{Name: "reminded_at", Type: Time, ReadOnly: true, Doc: "When its holder was told that the certificate runs out."},
			{
				Name:     "status",
				Required: true,
				Default:  "assigned",
				OneOf:    strings.Fields("assigned in_progress completed expired failed waived cancelled"),
			},
		},
		Import:  importTraining(),
		Indexes: [][]string{{"user_id", "course_id"}, {"worker_id", "course_id"}, {"status", "expires_on"}},
		Listed:  []string{"due_on"},
		Checks:  []string{"user_id IS NOT NULL OR worker_id IS NOT NULL"},
		Own:     []string{"user_id", "worker_id"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Viewer)), grantOwn(floor...)},
			Create: []Grant{grantAll(leaders)},
			Update: []Grant{grantAll(leaders), grantOwn(floor...).onlyFields("status")},
			Delete: []Grant{grantAll(officers)},
		},
		Counters: []Counter{{Name: "training_assignments", By: []string{"status"}}},
		States: &States{Field: "status", Initial: []string{"assigned", "completed"}, Moves: []Move{
			{From: []string{"assigned"}, To: "in_progress", Roles: plusRoles(leaders, floor...)},
			{From: []string{"in_progress"}, To: "completed", Roles: leaders}, // never the holder: training.refuseOwnVerdict
			{From: []string{"in_progress"}, To: "failed", Roles: leaders},
			{From: []string{"failed"}, To: "assigned", Roles: leaders},
			{From: []string{"completed"}, To: "expired"},
			{From: []string{"assigned", "in_progress", "failed"}, To: "waived", Roles: officers},
			{From: []string{"assigned", "in_progress", "failed"}, To: "cancelled", Roles: leaders},
		}},
	}
}

func regulationsResource() Resource {
	m := []Grant{grantAll(officers)}
	return Resource{
		Name: "regulations", Family: "safety", Archives: true,
		Doc: "Duties, each with a rule that check-compliance-rules evaluates.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true},
			{Name: "title", Format: Name, Required: true},
			{Name: "jurisdiction", Required: true, Default: "Global", OneOf: jurisdictions},
			{Name: "citation", Format: Name},
			{Name: "url", MaxLen: 500, Label: "URL"},
			{Name: "category", Format: Name, MaxLen: 60},
			{Name: "rule", Type: JSON, Shape: schema.Of(regulationRule{}), Ruled: true, Required: true,
				Doc: "{scope:{entity_types,filter}, metric, window_days, per, normalize, min_exposure_hours, warn, breach, evidence, applies_if}."},
			{Name: "severity", Required: true, Default: "medium", OneOf: severities},
			{Name: "owner_user_id", Type: UUID, Names: "members"},
			{Name: "review_on", Type: Date},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"draft", "active", "retired"}},
			{Name: "last_evaluated_at", Type: Time, ReadOnly: true,
				Doc: "When everything in its scope was last held to it."},
			{Name: "follows_sites", Type: Bool, Required: true, Default: "false",
				Doc: "Whether the server switches it with the countries of the sites: a shipped rule that nobody changed."},
		},
		Import: importRegulations(),
		Unique: [][]string{{"code"}},
		Access: Access{Read: []Grant{grantAll(plusRoles(leaders, actor.Viewer))}, Create: m, Update: m, Delete: m},
		States: &States{Field: "status", Initial: []string{"active", "draft"}, Moves: []Move{
			{From: []string{"draft", "retired"}, To: "active", Roles: officers},
			{From: []string{"active"}, To: "draft", Roles: officers},
			{From: []string{"draft", "active"}, To: "retired", Roles: officers},
		}},
	}
}

// What a verdict is about, and what it may say, from the best to the worst.
var (
	verdictSubjects = []string{"places", "person", "score"}
	verdictStatuses = []string{"compliant", "insufficient_data", "warning", "breach"}
)

func complianceEvents() Resource {
	return Resource{
		Name: "compliance_events", Family: "safety",
		Doc: "A regulation's verdict on an entity: written at the first check and whenever it changes.",
		Fields: []Field{
			{Name: "regulation_id", Type: UUID, Ref: "regulations", Required: true, ReadOnly: true},
			{Name: "entity_type", Required: true, ReadOnly: true, OneOf: entityTypes},
			{Name: "entity_id", Type: UUID, Required: true, ReadOnly: true},
			{Name: "about", Required: true, ReadOnly: true, OneOf: verdictSubjects,
				Doc: "A place or machine, a person, or a person's score; the last is for readers of scores."},
			{Name: "status", Required: true, ReadOnly: true, OneOf: verdictStatuses},
			{Name: "value", Type: Decimal, ReadOnly: true, Doc: "The metric's value; null when data are missing."},
			{Name: "threshold", Type: Decimal, ReadOnly: true, Doc: "The bound it was held against."},
			{Name: "window_start", Type: Time, ReadOnly: true},
			{Name: "window_end", Type: Time, ReadOnly: true},
			{Name: "details", Type: JSON, Shape: freeObject, Required: true, Default: "{}", ReadOnly: true},
			{Name: "evaluated_at", Type: Time, Required: true, ReadOnly: true},
			{Name: "acknowledged_by", Type: UUID, ReadOnly: true},
			{Name: "acknowledged_at", Type: Time, Doc: "Set to acknowledge the event."},
			{Name: "waived_until", Type: Time, Doc: "Until then the entity is counted apart in summaries."},
			{Name: "waive_reason", Format: Name},
		},
		Indexes: [][]string{{"regulation_id", "entity_type", "entity_id"}, {"entity_type", "entity_id"}, {"waived_until"}},
		Access: Access{
			Read:   verdictReaders(),
			Update: []Grant{grantAll(officers).onlyFields("acknowledged_at", "waived_until", "waive_reason")},
		},
	}
}

// verdictReaders are the readers of verdicts: those on single people's scores are for
// the readers of scores, those on people for managers too.
func verdictReaders() []Grant {
	return []Grant{
		grantAll(seers),
		grantOwn(actor.Manager).orWhere("about", "places", "person"),
		grantOwn(actor.Viewer).orWhere("about", "places"),
	}
}

// complianceStates are the verdicts in force. A scan writes those that changed alone;
// regulations.last_evaluated_at says once for all others when they were confirmed.
func complianceStates() Resource {
	return Resource{
		Name: "compliance_states", Family: "safety", Bare: true,
		Doc: "The verdict in force on each entity in a regulation's scope, with what it rests on today.",
		Fields: []Field{
			{Name: "regulation_id", Type: UUID, Ref: "regulations", Required: true, ReadOnly: true},
			{Name: "entity_type", Required: true, ReadOnly: true, OneOf: entityTypes},
			{Name: "entity_id", Type: UUID, Required: true, ReadOnly: true},
			{Name: "about", Required: true, ReadOnly: true, OneOf: verdictSubjects,
				Doc: "A place or machine, a person, or a person's score; the last is for readers of scores."},
			{Name: "status", Required: true, ReadOnly: true, OneOf: verdictStatuses},
			{Name: "value", Type: Decimal, ReadOnly: true, Doc: "The metric's value; null when data are missing."},
			{Name: "threshold", Type: Decimal, ReadOnly: true, Doc: "The bound it is held against."},
			{Name: "evidence", Type: Array, Required: true, Default: "[]", MaxLen: 5, ReadOnly: true,
				Doc: "Ids of the records that decide, of the collection that the rule's evidence names, at most five; " +
					"empty where nothing is on record and where a sum decides."},
			{Name: "event_id", Type: UUID, ReadOnly: true, Doc: "The event that tells of the last change of status."},
			{Name: "last_evaluated_at", Type: Time, Required: true, ReadOnly: true,
				Doc: "When value and evidence were first found as they are; the later regulations.last_evaluated_at " +
					"is when they were last confirmed."},
		},
		Unique: [][]string{{"regulation_id", "entity_type", "entity_id"}},
		Access: Access{Read: verdictReaders()},
	}
}

func scoreModels() Resource {
	return Resource{
		Name: "score_models", Family: "safety",
		Doc: "How scores are made: weighted, empirical Bayes or penalised Poisson, with the track record that decided which one counts.",
		Fields: []Field{
			{Name: "kind", Required: true, ReadOnly: true, OneOf: []string{"weighted", "eb", "poisson"}},
			{Name: "entity_type", ReadOnly: true, OneOf: entityTypes, Doc: "Null = every type."},
			{Name: "weight_incident", Type: Decimal, Required: true, ReadOnly: true},
			{Name: "weight_near_miss", Type: Decimal, Required: true, ReadOnly: true},
			{Name: "weight_shift_hours", Type: Decimal, Required: true, ReadOnly: true},
			{Name: "weight_load", Type: Decimal, Required: true, ReadOnly: true},
			{Name: "params", Type: JSON, Shape: freeObject, Required: true, Default: "{}", ReadOnly: true},
			{Name: "trained_from", Type: Time, ReadOnly: true},
			{Name: "trained_to", Type: Time, ReadOnly: true},
			{Name: "metrics", Type: JSON, Shape: freeObject, Required: true, Default: "{}", ReadOnly: true,
				Doc: "The backtest: deviance, Brier, log loss, AUC, calibration; what kept a model from being active; " +
					"entities that nobody could forecast, and incidents reported after their period."},
			{Name: "status", Required: true, ReadOnly: true, Default: "shadow", OneOf: []string{"shadow", "active", "retired"}},
		},
		Indexes: [][]string{{"status", "entity_type"}},
		Access:  Access{Read: []Grant{grantAll(plusRoles(leaders, actor.Viewer))}},
		States: &States{Field: "status", Initial: []string{"shadow", "active"}, Moves: []Move{
			{From: []string{"shadow"}, To: "active"},
			{From: []string{"active"}, To: "shadow"},
			{From: []string{"shadow", "active"}, To: "retired"},
		}},
	}
}

func scoreRuns() Resource {
	return Resource{
		Name: "score_runs", Family: "safety", AppendOnly: true,
		Doc: "One official calculation of scores for one type of entity.",
		Fields: []Field{
			{Name: "entity_type", Required: true, ReadOnly: true, OneOf: entityTypes},
			{Name: "model_id", Type: UUID, Ref: "score_models", ReadOnly: true},
			{Name: "model_kind", Required: true, ReadOnly: true, OneOf: []string{"weighted", "eb", "poisson"}},
			{Name: "period_days", Type: Int, Unit: "d", Required: true, ReadOnly: true},
			{Name: "scores_computed", Type: Int, Required: true, ReadOnly: true},
			{Name: "computed_at", Type: Time, Required: true, ReadOnly: true},
		},
		Indexes: [][]string{{"entity_type", "-id"}},
		Access:  Access{Read: []Grant{grantAll(plusRoles(leaders, actor.Viewer))}},
	}
}

// riskBands are the bands of a score; Unclear has too little on record.
var riskBands = []string{"Critical", "High", "Medium", "Low", "Unclear"}

func predictiveScores() Resource {
	return Resource{
		Name: "predictive_scores", Family: "safety", Bare: true, AppendOnly: true,
		Doc: "Scores, one per run and entity, with the inputs they can be recomputed from.",
		Fields: []Field{
			{Name: "run_id", Type: UUID, Required: true, ReadOnly: true},
			{Name: "entity_type", Required: true, ReadOnly: true, OneOf: entityTypes},
			{Name: "entity_id", Type: UUID, Required: true, ReadOnly: true},
			{Name: "score", Type: Decimal, Required: true, ReadOnly: true, Doc: "0-100, one decimal."},
			{Name: "confidence", Type: Decimal, Required: true, ReadOnly: true, Doc: "0-1, two decimals."},
			{Name: "inputs", Type: JSON, Shape: schema.Of(scoreInputs{}), Required: true, ReadOnly: true,
				Doc: "incident_count, near_miss_count, shift_hours, workload, period_days."},
			{Name: "cluster", Required: true, ReadOnly: true, OneOf: riskBands},
			{Name: "model_kind", Required: true, ReadOnly: true, OneOf: []string{"weighted", "eb", "poisson"}},
			{Name: "rate_per_200k", Type: Decimal, ReadOnly: true,
				Doc: "Incidents per 200,000 hours; null under the weighted model."},
			{Name: "interval_low", Type: Decimal, ReadOnly: true, Doc: "90 % interval of the rate."},
			{Name: "interval_high", Type: Decimal, ReadOnly: true},
			{Name: "probability", Type: Decimal, ReadOnly: true, Doc: "Of at least one incident in the next period."},
			{Name: "user_id", Type: UUID, ReadOnly: true, Doc: "The person a worker's or driver's score is about."},
			{Name: "computed_at", Type: Time, Required: true, ReadOnly: true},
		},
		Unique: [][]string{{"run_id", "entity_id"}}, // a run scores one type
		Own:    []string{"user_id"},
		Access: Access{
			Read: []Grant{grantAll(seers), grantOwn(actor.Manager, actor.Viewer).orWhere("entity_type", "zone", "equipment"),
				grantOwn(floor...)},
		},
	}
}

func riskClusters() Resource {
	return Resource{
		Name: "risk_clusters", Family: "safety", Bare: true,
		Doc: "Entities grouped by score; each assignment replaces the set.",
		Fields: []Field{
			{Name: "cluster_name", Required: true, ReadOnly: true, OneOf: riskBands},
			{Name: "severity", Type: Int, Required: true, ReadOnly: true, Doc: "4 = worst, 0 = not enough to tell."},
			{Name: "description", Required: true, ReadOnly: true},
			{Name: "entity_count", Type: Int, Required: true, ReadOnly: true, Readers: seers, Doc: "People among them."},
			{Name: "entity_type", ReadOnly: true, OneOf: entityTypes, Doc: "The type asked for; null = all."},
			// That people are in a cluster tells a score where few are scored.
			{
				Name:     "about",
				ReadOnly: true,
				OneOf:    []string{"places", "people", "both"},
				Readers:  seers,
				Doc:      "Whether zones and equipment, people, or both are in it.",
			},
			{Name: "min_score", Type: Decimal, Required: true, ReadOnly: true},
			{Name: "max_score", Type: Decimal, Required: true, ReadOnly: true},
			{Name: "members", Type: JSON, Shape: schema.Of([]clusterMember{}), Required: true, Default: "[]", ReadOnly: true,
				Readers: seers, Doc: "Array of {entity_type, entity_id, score, previous}."},
			{Name: "assigned_at", Type: Time, Required: true, ReadOnly: true},
		},
		Access: Access{Read: []Grant{grantAll(seers), grantOwn(actor.Manager, actor.Viewer).orWhere("about", "places",
			"both")}},
	}
}
