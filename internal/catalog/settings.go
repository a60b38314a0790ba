package catalog

import (
	"encoding/json"
	"slices"
	"strconv"

	"holdfast/internal/schema"
)

// Setting is a key of a tenant's settings that the server obeys.
type Setting struct {
	Section, Key string
	Doc          string
	Wants        string       // what a value has to be, in words
	Absent       string       // what holds where it is not set: JSON, or words
	Value        schema.Shape // what a value is made of
}

// Accepts reports a value that can be obeyed.
func (s *Setting) Accepts(value json.RawMessage) bool {
	_, reason := s.Value.Check(value)
	return reason == "" && hasOnlyKnown(value, &s.Value)
}

// hasOnlyKnown reports a value whose documents, at any depth, have no other members than
// those of their shapes, and none that is null.
func hasOnlyKnown(value json.RawMessage, shape *schema.Shape) bool {
	if shape.Kind != schema.Object {
		return true
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(value, &m) != nil {
		return false
	}
	for name, v := range m {
		i := slices.IndexFunc(shape.Members, func(x schema.Member) bool { return x.Name == name })
		if i < 0 || string(v) == "null" || !hasOnlyKnown(v, &shape.Members[i].Shape) {
			return false
		}
	}
	return true
}

// Share is the unit of a number that people write in percent: 0.05 is 5 %.
const Share = "share"

var (
	yesOrNo = schema.Shape{Kind: schema.Bool}
	anyText = schema.Shape{Kind: schema.Text}
	// aCount is a whole number whose bounds the package checks that reads it.
	aCount = schema.Shape{Kind: schema.Integer}
)

// oneWord is one of a closed set of words.
func oneWord(words ...string) schema.Shape { return schema.Shape{Kind: schema.Text, OneOf: words} }

// wholeNumber is a whole number between bounds, which are allowed.
func wholeNumber(least, most int) schema.Shape {
	return schema.Shape{Kind: schema.Integer, Min: strconv.Itoa(least), Max: strconv.Itoa(most)}
}

// numberIn is a number between bounds, which are allowed; unit is "" where it has none.
func numberIn(least, most, unit string) schema.Shape {
	return schema.Shape{Kind: schema.Number, Min: least, Max: most, Unit: unit}
}

// mostAmount bounds what may be worth something.
const mostAmount = "1000000000000"

// byEntityType has one value for each entity type that it names.
type byEntityType[T any] struct {
	Zone      T `json:"zone,omitzero" min:"0.000001" max:"1000000000000"`
	Driver    T `json:"driver,omitzero" min:"0.000001" max:"1000000000000"`
	Worker    T `json:"worker,omitzero" min:"0.000001" max:"1000000000000"`
	Equipment T `json:"equipment,omitzero" min:"0.000001" max:"1000000000000"`
}

// scoreBounds are those of package score; what is not said there has the server's own.
type scoreBounds struct {
	HoursLow        float64 `json:"hours_low,omitempty" doc:"Weekly hours that count as 0." unit:"h"`
	HoursHigh       float64 `json:"hours_high,omitempty" doc:"Weekly hours that count as 1." unit:"h"`
	LoadLow         float64 `json:"load_low,omitempty" doc:"Workload that counts as 0."`
	LoadHigh        float64 `json:"load_high,omitempty" doc:"Workload that counts as 1."`
	IncidentHalf    float64 `json:"incident_half,omitempty" doc:"Incidents in 30 days that count as one half."`
	NearMissHalf    float64 `json:"near_miss_half,omitempty" doc:"Near misses in 30 days that count as one half."`
	ConfidenceHours float64 `json:"confidence_hours,omitempty" doc:"Hours at which the confidence is one half." unit:"h"`
}

var scoredKinds = schema.Shape{Kind: schema.List, Of: &schema.Shape{Kind: schema.Text,
	OneOf: []string{"zone", "driver", "worker", "equipment"}}}

// absent is what the readers of settings take where none is set. A test holds
// those with a table of their own to it.
var absent = map[string]string{
	"costing_method": "standard",
	"locale":         "en", "over_receipt_tolerance": "0", "adjust_limit_value": "no limit",
	"count_auto_approve":  "no limit",
	"orders_across_sites": "false", "default_site": "the only site; with several, such orders have none",
	"allow_partial_allocation": "true", "allocate_arrivals": "true",
	"standard_units_per_hour": "the server's own", "score_bounds": "the server's own",
	"scores_off":          "[]",
	"score_places_within": "false", "min_group": "10", "score_retention_days": "396", "training_due_days": "30",
	"waiver_months": "12", "escalate_after_days": "0",
	"digest": "true", "public_reports": "false",
	"keep_files_days": "90", "drivers_hours": "warn",
	"mfa_required": "administrators, after seven days", "mfa_self": "require", "session_idle_minutes": "no limit",
	"session_max_hours": "no limit",
	"single_session":    "false", "weight_incident": "0.45", "weight_near_miss": "0.2", "weight_shift_hours": "0.2",
	"weight_load": "0.15",
	"cut_medium":  "25", "cut_high": "50", "cut_critical": "75", "points_near_miss": "10", "points_hazard": "8",
	"points_injury_prompt": "8",
	"points_injury_late":   "5", "points_action_on_time": "10", "points_action_late": "3", "points_action_verified": "5",
	"points_checklist": "5",
	"points_course":    "20", "points_talk": "5", "points_suggestion": "15", "daily_cap": "40", "monthly_target": "100",
}

// TenantSettings are the keys of collection settings: each is read by the
// server, and no other is stored.
func TenantSettings() []Setting {
	list := slices.Concat(workSettings(), scoreSettings(), safetySettings(), accessSettings(), pointSettings())
	for i := range list {
		list[i].Absent = absent[list[i].Key]
	}
	return list
}

// workSettings are those of stock, picking and imports, and the language of mails.
func workSettings() []Setting {
	amount, whether := numberIn("0", mostAmount, Currency), "true or false"
	return []Setting{
		{Section: "general", Key: "locale", Doc: "Language of mails and digests.",
			Wants: `"en" or "de"`, Value: oneWord("en", "de")},
		{Section: "stock", Key: "over_receipt_tolerance", Doc: "Share of an ordered quantity that may come in above it.",
			Wants: "a share from 0 to 10; 0.05 is 5 %", Value: numberIn("0", "10", Share)},
		{Section: "stock", Key: "adjust_limit_value", Doc: "Value above which an adjustment waits for a second person.",
			Wants: "an amount, 0 or more", Value: amount},
		{Section: "stock", Key: "count_auto_approve", Doc: "Value up to which a count approves itself.",
			Wants: "an amount, 0 or more", Value: amount},
		{Section: "stock", Key: "costing_method",
			Doc:   "At what cost goods move: what their item costs, or what they cost on average.",
			Wants: `"standard" or "moving_average"`, Value: oneWord("standard", "moving_average")},
		{Section: "picking", Key: "allow_partial_allocation", Doc: "Whether orders are promised a part of what they ask for.",
			Wants: whether, Value: yesOrNo},
		{Section: "picking", Key: "allocate_arrivals",
			Doc:   "Whether orders that wait are promised goods as they arrive.",
			Wants: whether, Value: yesOrNo},
		{Section: "picking", Key: "default_site", Doc: "Site of orders that name none.",
			Wants: "the code of a site", Value: anyText},
		{Section: "picking", Key: "orders_across_sites",
			Doc:   "Whether orders are promised stock of other sites after their own.",
			Wants: whether, Value: yesOrNo},
		{Section: "import", Key: "keep_files_days", Doc: "Days that files of imports are kept.",
			Wants: "a whole number of days", Value: aCount},
	}
}

// scoreSettings are those of risk scores.
func scoreSettings() []Setting {
	list := []Setting{
		{Section: "scoring", Key: "standard_units_per_hour",
			Doc:   "Units an hour that count as a workload of 1, by entity type.",
			Wants: "a document of numbers above 0 by entity type", Value: *schema.Of(byEntityType[float64]{})},
		{Section: "scoring", Key: "score_bounds", Doc: "Values of each input that count as 0 and as 1, by entity type.",
			Wants: "a document by entity type", Value: *schema.Of(byEntityType[scoreBounds]{})},
		{Section: "scoring", Key: "scores_off", Doc: "Entity types that are not scored.",
			Wants: "a list of zone, driver, worker, equipment", Value: scoredKinds},
		{Section: "scoring", Key: "score_places_within",
			Doc:   "Whether incidents and hours in the places within a zone count for its score.",
			Wants: "true or false", Value: yesOrNo},
		{Section: "scoring", Key: "min_group", Doc: "People a group needs before a figure of it is shown.",
			Wants: "a whole number from 2 to 10000", Value: wholeNumber(2, 10_000)},
		{Section: "scoring", Key: "score_retention_days", Doc: "Days that scores are kept; 31 at least.",
			Wants: "a whole number of days, 0 to 36500", Value: wholeNumber(0, 36_500)},
	}
	for _, of := range [...][2]string{{"incident", "incidents"}, {"near_miss", "near misses"},
		{"shift_hours", "shift hours"}, {"load", "workload"}} {
		list = append(list, Setting{Section: "scoring", Key: "weight_" + of[0],
			Doc:   "Weight of " + of[1] + " in the weighted score.",
			Wants: "a number from 0 to 1000", Value: numberIn("0", "1000", "")})
	}
	for _, band := range []string{"medium", "high", "critical"} {
		list = append(list, Setting{Section: "scoring", Key: "cut_" + band, Doc: "Score from which a risk is " + band + ".",
			Wants: "a number from 0 to 100", Value: numberIn("0", "100", "")})
	}
	return list
}

// safetySettings are those of training, verdicts and reports.
func safetySettings() []Setting {
	return []Setting{
		{Section: "safety", Key: "training_due_days", Doc: "Days until training that is assigned is due.",
			Wants: "a whole number of days, 0 to 3650", Value: wholeNumber(0, 3650)},
		{Section: "safety", Key: "waiver_months", Doc: "Months that a waiver of a verdict lasts at most.",
			Wants: "a whole number of months, 0 to 120", Value: wholeNumber(0, 120)},
		{Section: "safety", Key: "escalate_after_days",
			Doc:   "Days overdue from which an action is told to safety, and from twice as many to managers; 0 is never.",
			Wants: "a whole number of days, 0 to 365", Value: wholeNumber(0, 365)},
		{Section: "safety", Key: "digest", Doc: "Whether morning digests are sent.",
			Wants: "true or false", Value: yesOrNo},
		{Section: "safety", Key: "public_reports", Doc: "Whether the public report page takes reports.",
			Wants: "true or false", Value: yesOrNo},
		{Section: "safety", Key: "drivers_hours", Doc: "What start_route does against a regulation EU-561 in force.",
			Wants: `"warn", "refuse" or "off"`, Value: oneWord("warn", "refuse", "off")},
	}
}

// accessSettings are those of sessions and second factors.
func accessSettings() []Setting {
	return []Setting{
		{Section: "security", Key: "mfa_required", Doc: "Who needs a second factor.",
			Wants: `"none", "administrators" or "everyone"`, Value: oneWord("none", "administrators", "everyone")},
		{Section: "security", Key: "mfa_self", Doc: "Whether a factor that a member enrolled himself is required.",
			Wants: `"require" or "ignore"`, Value: oneWord("require", "ignore")},
		{Section: "security", Key: "session_idle_minutes", Doc: "How long a session lives without a refresh.",
			Wants: "a whole number of minutes", Value: aCount},
		{Section: "security", Key: "session_max_hours", Doc: "How long a session lives.",
			Wants: "a whole number of hours", Value: aCount},
		{Section: "security", Key: "single_session", Doc: "Whether a sign-in ends a member's other sessions.",
			Wants: "true or false", Value: yesOrNo},
	}
}

// pointSettings are those of engagement.
func pointSettings() []Setting {
	list := make([]Setting, 0, 16)
	for _, of := range [...][2]string{{"points_near_miss", "Points for the report of a near miss."},
		{"points_hazard", "Points for the report of a hazard."},
		{"points_injury_prompt", "Points for the report of an injury within 24 hours."},
		{"points_injury_late", "Points for the report of an injury later."},
		{"points_action_on_time", "Points for an action done in time."},
		{"points_action_late", "Points for an action done late."},
		{"points_action_verified", "Points for an action whose effect is verified."},
		{"points_checklist", "Points for an inspection done in time."},
		{"points_course", "Points for a course."}, {"points_talk", "Points for a toolbox talk."},
		{"points_suggestion", "Points for a suggestion that is put to work."},
		{"daily_cap", "Most points of a person in a day."}} {
		list = append(list, Setting{Section: "engagement", Key: of[0], Doc: of[1],
			Wants: "a whole number from 0 to 10000", Value: wholeNumber(0, 10_000)})
	}
	return append(list, Setting{Section: "engagement", Key: "monthly_target",
		Doc:   "Points of a month that make a full score.",
		Wants: "a whole number from 1 to 10000", Value: wholeNumber(1, 10_000)})
}
