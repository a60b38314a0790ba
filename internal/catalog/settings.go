package catalog

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// Setting is a key of a tenant's settings that the server obeys.
type Setting struct {
	Section, Key string
	Doc          string
	Wants        string // what a value has to be, in words
	accepts      func(json.RawMessage) bool
}

// Accepts reports a value that can be obeyed.
func (s *Setting) Accepts(value json.RawMessage) bool { return s.accepts == nil || s.accepts(value) }

func number(least, most float64, whole bool) func(json.RawMessage) bool {
	return func(v json.RawMessage) bool {
		var n *float64
		return json.Unmarshal(v, &n) == nil && n != nil && *n >= least && *n <= most && (!whole || *n == math.Trunc(*n))
	}
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

func bounds(v json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(v, &m) == nil && m != nil
}

func kinds(v json.RawMessage) bool {
	var list []string
	return json.Unmarshal(v, &list) == nil && list != nil && !slices.ContainsFunc(list, func(k string) bool { return !slices.Contains(scored, k) })
}

// amount makes a setting of a number from least on.
func amount(section, key, doc string, least, most float64, whole bool, wants string) Setting {
	return Setting{section, key, doc, wants, number(least, most, whole)}
}

// TenantSettings are the keys of collection settings: each is read by the
// server, and no other is stored. Those without a check here are checked by the
// package that reads them.
func TenantSettings() []Setting {
	const most = 1e12
	list := []Setting{
		{"general", "locale", "Language of mails and digests.", `"en" or "de"`, nil},
		amount("stock", "over_receipt_tolerance", "Share of an ordered quantity that may come in above it.", 0, 10, false, "a number from 0 to 10"),
		amount("stock", "adjust_limit_value", "Value above which an adjustment waits for a second person.", 0, most, false, "an amount, 0 or more"),
		amount("stock", "count_auto_approve", "Value up to which a count approves itself.", 0, most, false, "an amount, 0 or more"),
		{"picking", "allow_partial_allocation", "Whether orders are promised a part of what they ask for.", "true or false", yesNo},
		{"scoring", "standard_units_per_hour", "Units an hour that count as a workload of 1, by entity type.",
			"a document of numbers above 0 by entity type", byType(number(math.SmallestNonzeroFloat64, most, false))},
		{"scoring", "score_bounds", "Values of each input that count as 0 and as 1, by entity type.", "a document by entity type", byType(bounds)},
		{"scoring", "scores_off", "Entity types that are not scored.", "a list of zone, driver, worker, equipment", kinds},
		amount("scoring", "min_group", "People a team needs before its mean is shown.", 1, 10_000, true, "a whole number from 1 to 10000"),
		amount("scoring", "score_retention_days", "Days that scores are kept; 31 at least.", 0, 36_500, true, "a whole number of days, 0 to 36500"),
		amount("safety", "training_due_days", "Days until training that is assigned is due.", 0, 3650, true, "a whole number of days, 0 to 3650"),
		{"safety", "digest", "Whether morning digests are sent.", "true or false", yesNo},
		{"safety", "public_reports", "Whether the public report page takes reports.", "true or false", yesNo},
		{"import", "keep_files_days", "Days that files of imports are kept.", "a whole number of days", nil},
		{"security", "mfa_required", "Who needs a second factor.", `"none", "administrators" or "everyone"`, nil},
		{"security", "mfa_self", "Whether a factor that a member enrolled himself is required.", `"require" or "ignore"`, nil},
		{"security", "session_idle_minutes", "How long a session lives without a refresh.", "a whole number of minutes", nil},
		{"security", "session_max_hours", "How long a session lives.", "a whole number of hours", nil},
		{"security", "single_session", "Whether a sign-in ends a member's other sessions.", "true or false", nil},
	}
	for _, key := range []string{"weight_incident", "weight_near_miss", "weight_shift_hours", "weight_load"} {
		list = append(list, amount("scoring", key, "Weight in the weighted score.", 0, 1000, false, "a number from 0 to 1000"))
	}
	for _, key := range []string{"cut_medium", "cut_high", "cut_critical"} {
		list = append(list, amount("scoring", key, "Score from which a cluster begins.", 0, 100, false, "a number from 0 to 100"))
	}
	for _, key := range strings.Fields("points_near_miss points_hazard points_injury_prompt points_injury_late points_action_on_time points_action_late " +
		"points_action_verified points_checklist points_course points_talk points_suggestion daily_cap") {
		list = append(list, amount("engagement", key, "Points of engagement.", 0, 10_000, true, "a whole number from 0 to 10000"))
	}
	return append(list, amount("engagement", "monthly_target", "Points of engagement.", 1, 10_000, true, "a whole number from 1 to 10000"))
}
