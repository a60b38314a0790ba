package catalog

import (
	"encoding/json"
	"math"
	"slices"
)

// Setting is a key of a tenant's settings that the server obeys.
type Setting struct {
	Section, Key string
	Doc          string
	Wants        string // what a value has to be, in words
	Absent       string // what holds where it is not set: JSON, or words
	accepts      func(json.RawMessage) bool
}

// Accepts reports a value that can be obeyed.
func (s *Setting) Accepts(value json.RawMessage) bool { return s.accepts == nil || s.accepts(value) }

func acceptsNumber(least, most float64, whole bool) func(json.RawMessage) bool {
	return func(v json.RawMessage) bool {
		var n *float64
		return json.Unmarshal(v, &n) == nil && n != nil && *n >= least && *n <= most && (!whole || *n == math.Trunc(*n))
	}
}

func isText(v json.RawMessage) bool {
	var text *string
	return json.Unmarshal(v, &text) == nil && text != nil
}

func yesNo(v json.RawMessage) bool { return string(v) == "true" || string(v) == "false" }

// byType accepts a document of one member for each entity type that it names.
func byType(member func(json.RawMessage) bool) func(json.RawMessage) bool {
	return func(v json.RawMessage) bool {
		var m map[string]json.RawMessage
		if json.Unmarshal(v, &m) != nil || m == nil {
			return false
		}
		for kind, value := range m {
			if !slices.Contains(scored, kind) || !member(value) {
				return false
			}
		}
		return true
	}
}

var scored = []string{"zone", "driver", "worker", "equipment"}

func hoursWord(v json.RawMessage) bool {
	var word string
	return json.Unmarshal(v, &word) == nil && slices.Contains([]string{"warn", "refuse", "off"}, word)
}

func acceptsBounds(v json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(v, &m) == nil && m != nil
}

func acceptsKinds(v json.RawMessage) bool {
	var list []string
	return json.Unmarshal(v, &list) == nil && list != nil && !slices.ContainsFunc(list, func(k string) bool {
		return !slices.Contains(scored, k)
	})
}

// amountSetting makes a setting of a number from least on.
func amountSetting(section, key, doc string, least, most float64, whole bool, wants string) Setting {
	return Setting{Section: section, Key: key, Doc: doc, Wants: wants, Absent: absent[key],
		accepts: acceptsNumber(least, most, whole)}
}

// otherSetting makes a setting of any form; nil accepts what its reader does.
func otherSetting(section, key, doc, wants string, accepts func(json.RawMessage) bool) Setting {
	return Setting{Section: section, Key: key, Doc: doc, Wants: wants, Absent: absent[key], accepts: accepts}
}

// absent is what the readers of settings take where none is set. A test holds
// those with a table of their own to it.
var absent = map[string]string{
	"locale": "en", "over_receipt_tolerance": "0", "adjust_limit_value": "no limit", "count_auto_approve": "no limit",
	"orders_across_sites": "false", "default_site": "the only site; with several, such orders have none",
	"allow_partial_allocation": "true", "standard_units_per_hour": "the server's own", "score_bounds": "the server's own",
	"scores_off":          "[]",
	"score_places_within": "false", "min_group": "10", "score_retention_days": "396", "training_due_days": "30",
	"waiver_months": "12",
	"digest":        "true", "public_reports": "false",
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
// server, and no other is stored. Those without a check here are checked by the
// package that reads them.
func TenantSettings() []Setting {
	const most = 1e12
	list := []Setting{
		otherSetting("general", "locale", "Language of mails and digests.", `"en" or "de"`, nil),
		amountSetting("stock", "over_receipt_tolerance", "Share of an ordered quantity that may come in above it.", 0, 10,
			false, "a number from 0 to 10"),
		amountSetting("stock", "adjust_limit_value", "Value above which an adjustment waits for a second person.", 0, most,
			false, "an amount, 0 or more"),
		amountSetting("stock", "count_auto_approve", "Value up to which a count approves itself.", 0, most, false,
			"an amount, 0 or more"),
		otherSetting("picking", "allow_partial_allocation", "Whether orders are promised a part of what they ask for.",
			"true or false", yesNo),
		otherSetting("picking", "default_site", "Site of orders that name none.", "the code of a site", isText),
		otherSetting("picking", "orders_across_sites", "Whether orders are promised stock of other sites after their own.",
			"true or false", yesNo),
		otherSetting("scoring", "standard_units_per_hour", "Units an hour that count as a workload of 1, by entity type.",
			"a document of numbers above 0 by entity type", byType(acceptsNumber(math.SmallestNonzeroFloat64, most, false))),
		otherSetting(
			"scoring",
			"score_bounds",
			"Values of each input that count as 0 and as 1, by entity type.",
			"a document by entity type",
			byType(acceptsBounds),
		),
		otherSetting("scoring", "scores_off", "Entity types that are not scored.",
			"a list of zone, driver, worker, equipment", acceptsKinds),
		otherSetting(
			"scoring",
			"score_places_within",
			"Whether incidents and hours in the places within a zone count for its score.",
			"true or false",
			yesNo,
		),
		amountSetting("scoring", "min_group", "People a group needs before a figure of it is shown.", 1, 10_000, true,
			"a whole number from 1 to 10000"),
		amountSetting("scoring", "score_retention_days", "Days that scores are kept; 31 at least.", 0, 36_500, true,
			"a whole number of days, 0 to 36500"),
		amountSetting("safety", "training_due_days", "Days until training that is assigned is due.", 0, 3650, true,
			"a whole number of days, 0 to 3650"),
		amountSetting("safety", "waiver_months", "Months that a waiver of a verdict lasts at most.", 0, 120, true,
			"a whole number of months, 0 to 120"),
		otherSetting("safety", "digest", "Whether morning digests are sent.", "true or false", yesNo),
		otherSetting("safety", "public_reports", "Whether the public report page takes reports.", "true or false", yesNo),
		otherSetting("safety", "drivers_hours", "What start_route does against a regulation EU-561 in force.",
			`"warn", "refuse" or "off"`, hoursWord),
		otherSetting("import", "keep_files_days", "Days that files of imports are kept.", "a whole number of days", nil),
		otherSetting("security", "mfa_required", "Who needs a second factor.", `"none", "administrators" or "everyone"`, nil),
		otherSetting("security", "mfa_self", "Whether a factor that a member enrolled himself is required.",
			`"require" or "ignore"`, nil),
		otherSetting("security", "session_idle_minutes", "How long a session lives without a refresh.",
			"a whole number of minutes", nil),
		otherSetting("security", "session_max_hours", "How long a session lives.", "a whole number of hours", nil),
		otherSetting("security", "single_session", "Whether a sign-in ends a member's other sessions.", "true or false", nil),
	}
	for _, of := range [...][2]string{{"incident", "incidents"}, {"near_miss", "near misses"},
		{"shift_hours", "shift hours"}, {"load", "workload"}} {
		list = append(
			list,
			amountSetting("scoring", "weight_"+of[0], "Weight of "+of[1]+" in the weighted score.", 0, 1000, false,
				"a number from 0 to 1000"),
		)
	}
	for _, band := range []string{"medium", "high", "critical"} {
		list = append(list, amountSetting("scoring", "cut_"+band, "Score from which a risk is "+band+".", 0, 100, false,
			"a number from 0 to 100"))
	}
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
		list = append(list, amountSetting("engagement", of[0], of[1], 0, 10_000, true, "a whole number from 0 to 10000"))
	}
	return append(
		list,
		amountSetting("engagement", "monthly_target", "Points of a month that make a full score.", 1, 10_000, true,
			"a whole number from 1 to 10000"),
	)
}
