package catalog

import (
	"holdfast/internal/actor"
	"holdfast/internal/coding"
)

// statutoryResources are the records that regulations on recording injuries ask for.
// They hold health data, so their grants are narrower than the incident's: the
// safety officer writes, administrators read and certify, managers see totals.
func statutoryResources() []Resource {
	return []Resource{oshaCases(), caseAbsences(), oshaSummaries(), legalClocks()}
}

func oshaCases() Resource {
	who := func(f Field) Field { f.Readers = officers; return f } // masked in the audit log
	return Resource{
		Name: "osha_cases", Family: "safety",
		Doc: "The case behind an injury or illness: the decision whether it is recordable, the line of the log (OSHA 300), the report (OSHA 301) and the days lost " +
			"that the European lists count. One for each incident. Kept five years after its year (29 CFR 1904.33).",
		Fields: []Field{
			{Name: "incident_id", Type: UUID, Ref: "incidents", Required: true, Fixed: true},
			{Name: "site_id", Type: UUID, Ref: "sites", Required: true, Filled: true, Label: "Establishment",
				Doc: "From the incident, or its zone, when absent."},
			{Name: "year", Type: Int, Required: true, ReadOnly: true,
				Doc: "Year of the log: that of the injury, in the establishment's time zone."},
			{Name: "case_no", Type: Int, ReadOnly: true, Label: "Case number",
				Doc: "Column A: counts from 1 for each establishment and year; given when the case is recordable."},
			{Name: "recordable", Required: true, Default: "undecided", OneOf: []string{"yes", "no", "undecided"}},
			{Name: "basis", OneOf: []string{"death", "days_away", "restricted", "medical_treatment", "loss_of_consciousness",
				"significant_diagnosis", "first_aid_only", "not_work_related", "not_new"},
				Doc: "Why it is recordable (29 CFR 1904.7), or why it is not (1904.5, 1904.6, 1904.7(b)(5))."},
			{Name: "entered_at", Type: Time, ReadOnly: true, Doc: "When it was first decided."},
			{Name: "entered_late", Type: Bool, ReadOnly: true,
				Doc: "Decided more than 7 calendar days after the report (29 CFR 1904.29(b)(3))."},
			{Name: "worker_id", Type: UUID, Ref: "workers",
				Doc: "Fills name, job title and date of hire where they are absent."},
			who(Field{Name: "employee_name", Format: Name}),
			{Name: "job_title", Format: Name},
			{Name: "privacy_case", Type: Bool, Required: true, Default: "false",
				Doc: "The log shows \"privacy case\" for the name (29 CFR 1904.29(b)(6))."},
			who(Field{Name: "privacy_reason", OneOf: []string{"intimate_body_part", "sexual_assault", "mental_illness",
				"infectious_disease", "contaminated_sharp", "employee_request"},
				Doc: "The complete list of 29 CFR 1904.29(b)(7)."}),
			{Name: "where_occurred", MaxLen: 300, Doc: "Column E."},
			{Name: "description", MaxLen: 1000, Doc: "Column F: injury or illness, parts of the body, object or substance."},
			{Name: "discreet_description", MaxLen: 1000,
				Doc: "Stands on the log for description where that would tell who it is (29 CFR 1904.29(b)(9))."},
			{Name: "outcome", OneOf: []string{"death", "days_away", "restricted", "other"},
				Doc: "Columns G to J: one, the most serious."},
			{Name: "days_away", Type: Int, Unit: "d", Required: true, Default: "0", Min: "0",
				Doc: "Calendar days, day of the injury left out; from away_from and away_until when both are given. A " +
					"case with absences has theirs, up to today each night, and nobody sets them. Column K stops at 180."},
			{Name: "days_restricted", Type: Int, Unit: "d", Required: true, Default: "0", Min: "0",
				Doc: "Calendar days of restricted work or transfer, counted alike; column L."},
			{Name: "away_from", Type: Date}, {Name: "away_until", Type: Date, Doc: "Last day away."},
			{Name: "restricted_from", Type: Date}, {Name: "restricted_until", Type: Date,
				Doc: "Last day of restricted work or transfer."},
			{Name: "illness_type", OneOf: []string{"injury", "skin_disorder", "respiratory", "poisoning", "hearing_loss",
				"other_illness"}, Doc: "Columns M1 to M6."},
			who(Field{Name: "birth_date", Type: Date}), {Name: "hire_date", Type: Date},
			who(Field{Name: "sex", OneOf: []string{"M", "F"}}),
			who(Field{Name: "employee_address", MaxLen: 300}),
			who(Field{Name: "physician", Format: Name}),
			who(Field{Name: "facility", MaxLen: 300,
				Doc: "Where treatment was given away from the worksite: name and address."}),
			{Name: "emergency_room", Type: Bool, Required: true, Default: "false"},
			{Name: "in_patient", Type: Bool, Required: true, Default: "false", Doc: "Hospitalized overnight."},
			{Name: "in_patient_at", Type: Time},
			{Name: "amputation", Type: Bool, Required: true, Default: "false"},
			{Name: "eye_loss", Type: Bool, Required: true, Default: "false"},
			{Name: "work_began", Format: Name, MaxLen: 5, Doc: "HH:MM, local."},
			{Name: "event_time", Format: Name, MaxLen: 5, Doc: "HH:MM, local; the incident's when absent."},
			{Name: "time_unknown", Type: Bool, Required: true, Default: "false"},
			{Name: "activity_before", MaxLen: 5000, Doc: "301 item 14: what the employee was doing just before."},
			{Name: "what_happened", MaxLen: 5000, Doc: "301 item 15."},
			who(Field{Name: "injury_detail", MaxLen: 5000, Doc: "301 item 16: what the injury or illness was."}),
			{Name: "object_substance", MaxLen: 1000, Doc: "301 item 17: what directly harmed the employee."},
			who(codeOf(coding.TypeOfInjury, Field{Name: "injury_type", Label: "Type of injury",
				Doc: "In European statistics (ESAW)."})),
			who(codeOf(coding.PartOfBody, Field{Name: "body_part", Label: "Part of the body",
				Doc: "In European statistics (ESAW)."})),
			codeOf(coding.Deviation, Field{Name: "deviation",
				Doc: "What went wrong (ESAW); from the categories of the incident when absent."}),
			codeOf(coding.Contact, Field{Name: "contact_mode",
				Doc: "How it did harm (ESAW); from the categories of the incident when absent."}),
			who(codeOf(coding.NatureOfInjury, Field{Name: "oiics_nature", Label: "Nature (OIICS)",
				Doc: "Of the injury or illness, in American statistics (OIICS 3.0)."})),
			who(codeOf(coding.BodyPart, Field{Name: "oiics_part", Label: "Part of the body (OIICS)",
				Doc: "In American statistics (OIICS 3.0)."})),
			codeOf(coding.Event, Field{Name: "oiics_event", Label: "Event or exposure (OIICS)",
				Doc: "How it came about, in American statistics (OIICS 3.0)."}),
			codeOf(coding.Source, Field{Name: "oiics_source", Label: "Source (OIICS)",
				Doc: "What did harm, in American statistics (OIICS 3.0)."}),
			{Name: "death_date", Type: Date},
			{Name: "death_time", Format: Name, MaxLen: 5, Doc: "HH:MM, local."},
			{Name: "death_known_at", Type: Time, Doc: "When the employer learned of it."},
			who(Field{Name: "specified_injury", OneOf: []string{"fracture", "amputation", "loss_of_sight", "crush", "burn",
				"scalping", "unconscious", "enclosed_space"},
				Doc: "United Kingdom: the specified injury that is reported whatever the days (RIDDOR 2013 reg. 4(1)); " +
					"a fracture of fingers, thumbs or toes is none."}),
			{Name: "minor_register", Type: Bool, Required: true, Default: "false",
				Doc: "France: entered in the register of minor accidents instead of declared (CSS D441-1). " +
					"With days away it counts as declared."},
			{Name: "completed_by", Format: Name,
				Doc: "Who completed the 301."}, {Name: "completed_title", Format: Name},
			{Name: "completed_phone", Format: Name, MaxLen: 40},
			{Name: "osha_due_at", Type: Time, ReadOnly: true,
				Doc: "By when OSHA must be told: 8 hours for a death, 24 for in-patient treatment, amputation or loss of an eye (29 CFR 1904.39(a))."},
			{Name: "osha_told_at", Type: Time, Doc: "When OSHA was told."},
		},
		Unique:  [][]string{{"incident_id"}, {"site_id", "year", "case_no"}},
		Indexes: [][]string{{"site_id", "year"}, {"year", "recordable"}},
		Access: Access{
			Read:   []Grant{grantAll(officers)},
			Create: []Grant{grantAll([]actor.Role{actor.Safety})},
			Update: []Grant{grantAll([]actor.Role{actor.Safety})},
		},
	}
}

func caseAbsences() Resource {
	return Resource{
		Name: "absences", Family: "safety",
		Doc: "Days on which the person of a case was away from work or at restricted work, one row for each time. " +
			"No day is in two rows of a case. Each regime's end of counting applies to its figures and is not stored.",
		Fields: []Field{
			{Name: "case_id", Type: UUID, Ref: "osha_cases", Required: true, Fixed: true},
			{Name: "kind", Required: true, OneOf: []string{"away", "restricted"},
				Doc: "Away from work, or restricted work or transfer."},
			{Name: "from_on", Type: Date, Required: true, Label: "First day", Doc: "In the establishment's time zone."},
			{Name: "until_on", Type: Date, Label: "Last day",
				Doc: "Included; empty while the absence lasts, which counts to today."},
			{Name: "estimated", Type: Bool, Required: true, Default: "false",
				Doc: "The last day is what is expected: lists count to today, the annual summary to that day " +
					"(29 CFR 1904.7(b)(3)(ix))."},
			{Name: "physician", Format: Name, Readers: officers, Doc: "Who certified it."},
		},
		Indexes: [][]string{{"case_id", "from_on"}},
		Access: Access{
			Read:   []Grant{grantAll(officers)},
			Create: []Grant{grantAll([]actor.Role{actor.Safety})},
			Update: []Grant{grantAll([]actor.Role{actor.Safety})},
			Delete: []Grant{grantAll([]actor.Role{actor.Safety})},
		},
	}
}

func oshaSummaries() Resource {
	total := func(name, doc string) Field {
		return Field{Name: name, Type: Int, Required: true, ReadOnly: true, Default: "0", Doc: doc}
	}
	keepers := []actor.Role{actor.Safety}
	return Resource{
		Name: "osha_summaries", Family: "safety",
		Doc: "The annual summary of an establishment (OSHA 300A): totals of the log, certified by an executive, posted, submitted. Totals follow the log until it " +
			"is certified.",
		Fields: []Field{
			{Name: "site_id", Type: UUID, Ref: "sites", Required: true, Fixed: true, Label: "Establishment"},
			{Name: "year", Type: Int, Required: true, Fixed: true, Doc: "2002, when the part took its present form, to 2100."},
			{Name: "avg_employees", Type: Int, Required: true, Min: "0", Max: "1000000", Default: "0",
				Label: "Annual average number of employees", Doc: "From the workers' dates of hire and leaving when absent or 0."},
			{Name: "peak_employees", Type: Int, Min: "0", Max: "1000000",
				Doc: "Most employees at any time of the year, for the size class; avg_employees when absent."},
			{Name: "full_time_equivalents", Type: Decimal, Min: "0", Max: "1000000",
				Doc: "Annual average number of employees in full-time equivalents, for the French index of frequency; " +
					"not part of the 300A."},
			{Name: "additional_hours", Type: Int, Unit: "h", Required: true, Default: "0", Min: "0", Max: "100000000",
				Doc: "Hours worked by people whose shifts are not recorded here."},
			{Name: "hours_worked", Type: Int, Unit: "h", Required: true, ReadOnly: true, Default: "0",
				Doc: "Approved shifts and additional_hours."},
			total("total_deaths", "Column G."), total("total_dafw_cases", "Column H."), total("total_djtr_cases", "Column I."),
			total("total_other_cases", "Column J."),
			total("total_dafw_days", "Column K."), total("total_djtr_days", "Column L."),
			total("total_injuries", "M1."), total("total_skin_disorders", "M2."), total("total_respiratory_conditions", "M3."),
			total("total_poisonings", "M4."),
			total("total_hearing_loss", "M5."), total("total_other_illnesses", "M6."),
			{Name: "doubt", Format: Name, ReadOnly: true,
				Doc: "What the figures say that is seldom right; it does not stop a certification."},
			{Name: "certified_name", Format: Name, Doc: "The company executive who certifies (29 CFR 1904.32(b)(4))."},
			{Name: "certified_title", Format: Name}, {Name: "certified_phone", Format: Name, MaxLen: 40},
			{Name: "certified_by", Type: UUID, ReadOnly: true,
				Doc: "User who moved it to certified; never the one who made it."},
			{Name: "certified_at", Type: Time, ReadOnly: true},
			{Name: "posted_from", Type: Date, Doc: "Posted no later than 1 February (29 CFR 1904.32(b)(6))."},
			{Name: "posted_to", Type: Date, Doc: "Until 30 April at least."},
			{Name: "submitted_at", Type: Time, ReadOnly: true},
			{Name: "submission_ref", Format: Name},
			{Name: "cases_submitted_on", Type: Date, Label: "Forms 300 and 301 submitted on",
				Doc: "When the log and the incident reports of the year were submitted (29 CFR 1904.41(a)(2))."},
			{Name: "change_reason", Format: Name, MaxLen: 100, Doc: "Why a certified summary is opened again."},
			{Name: "status", Required: true, Default: "open", OneOf: []string{"open", "certified", "submitted"}},
		},
		Unique:  [][]string{{"site_id", "year"}},
		Indexes: [][]string{{"year", "status"}},
		Access: Access{
			Read:   []Grant{grantAll(leaders)},
			Create: []Grant{grantAll(keepers)},
			Update: []Grant{grantAll(keepers), grantAll(admins).onlyFields("status", "certified_name", "certified_title",
				"certified_phone", "change_reason")},
		},
		States: &States{Field: "status", Initial: []string{"open"}, Moves: []Move{
			{From: []string{"open"}, To: "certified", Roles: officers},
			{From: []string{"certified", "submitted"}, To: "open", Roles: officers},
			{From: []string{"certified"}, To: "submitted", Roles: officers},
		}},
	}
}

// codeOf is a field that takes a code of a list.
func codeOf(list string, f Field) Field {
	f.Codes, f.OneOf = list, coding.CodesOf(list)
	return f
}
