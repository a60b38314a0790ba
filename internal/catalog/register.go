package catalog

import (
	"slices"
	"strings"
)

// registerResources are the register of risks: what people do where, what may hurt them
// there, what is done about it, and what the register said on a day.
func registerResources() []Resource {
	return []Resource{workUnits(), riskEntries(), registerVersions()}
}

// RegisterScale names the scale that risks of the register are rated by: severity has four
// steps and likelihood five, as incidents have them.
const RegisterScale = "severity_4_likelihood_5"

// riskFamilies are the families of hazards of the register: those of incidents, so that
// what was foreseen and what happened can be compared, and those that hurt without an
// accident. Thermal ambience is named by R4121-1 of the Code du travail, psychosocial load
// by section 5(3) no. 6 of the ArbSchG.
var riskFamilies = slices.Concat(hazards[:len(hazards)-1], strings.Fields("machinery falling_objects biological "+
	"fire_explosion noise vibration thermal lighting radiation psychosocial lone_work other"))

// registerAccess lets the workforce read the register, which R4121-4 keeps at the workers'
// disposal, and safety officers and administrators keep it.
func registerAccess() Access {
	keepers := []Grant{grantAll(officers)}
	return Access{Read: []Grant{grantAll(everyone)}, Create: keepers, Update: keepers, Delete: keepers}
}

func workUnits() Resource {
	return Resource{
		Name: "work_units", Family: "safety", Archives: true,
		Doc: "Units of the risk register: people who do like work under like conditions (unité de travail, Code du " +
			"travail R4121-1; activity of like conditions, ArbSchG 5(2)). A unit names places and work, never people.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true},
			{Name: "name", Format: Name, Required: true},
			{Name: "site_id", Type: UUID, Ref: "sites", Doc: "From the zones when absent."},
			{Name: "headcount", Type: Int, Min: "0", Max: "100000", Label: "People exposed",
				Doc: "How many people work under these conditions; a number, no names."},
			{Name: "activities", Type: Array, Format: Name, Required: true, Default: "[]", MaxLen: 50,
				Doc: "What is done here, one activity each."},
			{Name: "zone_ids", Label: "Zones", Type: Array, Names: "zones", Required: true, Default: "[]", MaxLen: 200,
				Doc: "Where it is done: zones of the unit's site."},
			{Name: "equipment_kinds", Type: Array, Format: Name, Required: true, Default: "[]", MaxLen: 50,
				Doc: "Kinds of equipment that people work with here, such as forklift."},
		},
		Unique: [][]string{{"code"}},
		Access: registerAccess(),
	}
}

func riskEntries() Resource {
	likelihood := func(name, doc string) Field {
		return Field{Name: name, Type: Int, Min: "1", Max: "5", Doc: doc}
	}
	return Resource{
		Name: "risk_entries", Family: "safety", Archives: true,
		Doc: "Risks of a work unit: the hazard, the rating before and after a measure, who answers for it and when " +
			"it is looked at again (Code du travail R4121-1, R4121-2; ArbSchG 5, 6). An archived unit gets no new ones.",
		Fields: []Field{
			{Name: "entry_no", Format: Number, Prefix: "RK", Fixed: true},
			{Name: "unit_id", Type: UUID, Ref: "work_units", Required: true, Fixed: true, Label: "Work unit"},
			{Name: "hazard_family", Required: true, OneOf: riskFamilies},
			{Name: "situation", Required: true, MaxLen: 2000, Doc: "Who does what where, and what may go wrong."},
			{Name: "activity", Format: Name, Doc: "The activity of the unit that it belongs to."},
			{Name: "possible_harm", MaxLen: 1000},
			{Name: "differs_by_sex", Type: Bool, Required: true, Default: "false",
				Doc: "Women and men are exposed differently (Code du travail L4121-3)."},
			{Name: "existing_measures", MaxLen: 2000, Doc: "What is in place today; the rating before stands on it."},
			{Name: "scale", Required: true, Default: RegisterScale, ReadOnly: true, OneOf: []string{RegisterScale},
				Doc: "The scale of the ratings: severity in four steps (low 1, medium 2, high 3, critical 4), " +
					"likelihood 1 to 5."},
			{Name: "severity_before", OneOf: severities, Doc: "With what is in place today."},
			likelihood("likelihood_before", "With what is in place today, 1 (hardly ever) to 5 (almost always)."),
			{Name: "measure", MaxLen: 2000, Doc: "What is to be done besides."},
			{Name: "control_level", OneOf: strings.Fields("eliminate substitute engineer administrate ppe"),
				Doc: "Hierarchy of controls, ISO 45001 8.1.2."},
			{Name: "measure_due_on", Type: Date},
			{Name: "measure_done_on", Type: Date, Doc: "When the measure was in place."},
			{Name: "action_id", Type: UUID, Ref: "actions", Doc: "The action that carries the measure out."},
			{Name: "severity_after", OneOf: severities, Doc: "Expected with the measure; never above the one before."},
			likelihood("likelihood_after", "Expected with the measure; never above the one before."),
			{Name: "owner_user_id", Type: UUID, Names: "members", Label: "Responsible", Readers: leaders,
				Doc: "Who answers for the measure."},
			{Name: "review_on", Type: Date, Doc: "When the risk is looked at again."},
			{Name: "effect_checked_on", Type: Date,
				Doc: "When it was looked at whether the measure works (ArbSchG 3(1), 6(1))."},
			{Name: "effective", Type: Bool, Doc: "What the check found."},
			{Name: "rating_before", Type: Int, ReadOnly: true, Doc: "Severity (1-4) x likelihood (1-5)."},
			{Name: "rating_after", Type: Int, ReadOnly: true, Doc: "Severity (1-4) x likelihood (1-5)."},
			{Name: "rating_now", Type: Int, ReadOnly: true,
				Doc: "The rating after the measure once a check found it effective, until then the one before."},
			{Name: "priority", OneOf: severities, ReadOnly: true,
				Doc: "From rating_now: 15 and more critical, 10 high, 5 medium; a critical severity is medium at " +
					"least. Empty without a rating."},
		},
		Unique:  [][]string{{"entry_no"}},
		Listed:  []string{"updated_at", "rating_now", "review_on"},
		Indexes: [][]string{{"unit_id", "id"}},
		Access:  registerAccess(),
	}
}

func registerVersions() Resource {
	a := Access{
		Read:   []Grant{grantAll(everyone)},
		Update: []Grant{grantAll(officers).onlyFields("sent_on", "consulted_on")},
		Delete: []Grant{grantAll(admins)},
	}
	return Resource{
		Name: "risk_register_versions", Family: "safety",
		Doc: "What the risk register said when it was published: a frozen copy with its hash (document unique, Code " +
			"du travail R4121-1 to -4, L4121-3-1; ArbSchG 6). Kept 40 years: nobody changes or deletes it before.",
		Fields: []Field{
			{Name: "number", Type: Int, Required: true, ReadOnly: true, Min: "1", Label: "Version number",
				Doc: "Counts from 1 for each site, and for registers of the whole organisation."},
			{Name: "site_id", Type: UUID, Ref: "sites", ReadOnly: true, Doc: "Empty for the whole organisation."},
			{Name: "reason", Required: true, ReadOnly: true,
				OneOf: strings.Fields("yearly important_change new_information"),
				Doc:   "Why it was published (Code du travail R4121-2)."},
			{Name: "note", ReadOnly: true, MaxLen: 1000, Doc: "What changed."},
			{Name: "made_at", Type: Time, Required: true, ReadOnly: true},
			{Name: "made_by", Type: UUID, ReadOnly: true},
			{Name: "units", Type: Int, Required: true, ReadOnly: true, Label: "Work units"},
			{Name: "entries", Type: Int, Required: true, ReadOnly: true, Label: "Risks"},
			{Name: "gaps", Type: Int, Required: true, ReadOnly: true,
				Doc: "Risks without a rating or an active person responsible, and units without a site; the document lists them."},
			{Name: "content", Type: JSON, Shape: freeObject, Required: true, ReadOnly: true, Readers: leaders,
				Doc: "The copy. People are in it by the ids of their accounts, never by name."},
			{Name: "sha256", Format: Name, MaxLen: 64, Required: true, ReadOnly: true, Label: "SHA-256",
				Doc: "Of the bytes of content."},
			{Name: "keep_until", Type: Date, Required: true, ReadOnly: true,
				Doc: "40 years after it was made (Code du travail R4121-4); before, nobody deletes it."},
			{Name: "sent_on", Type: Date,
				Doc: "When the occupational health service got it (Code du travail L4121-3-1); set once."},
			{Name: "consulted_on", Type: Date,
				Doc: "When the works council was consulted (Code du travail L4121-3); set once."},
		},
		Unique: [][]string{{"site_id", "number"}},
		Access: a,
		Makers: leaders,
	}
}
