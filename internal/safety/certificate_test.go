package safety_test

import (
	"maps"
	"strings"
	"testing"

	"holdfast/internal/fault"
	"holdfast/internal/store"
)

// The last day of a certificate follows from the course, may be earlier, never
// lies behind the course's validity and never before the training was done; a
// year that nobody means is called a typing error.
func TestCertificateDates(t *testing.T) {
	each(t, func(k *kit) {
		year := k.add("courses", store.Row{"code": "YEAR", "title": "Year", "validity_months": 12})
		always := k.add("courses", store.Row{"code": "ALWAYS", "title": "Always"})
		row := func(course, completed string, expires any) store.Row {
			return store.Row{"course_id": course, "user_id": ada, "status": "completed", "completed_at": completed,
				"expires_on": expires}
		}
		const done = "2026-01-15T12:00:00Z"
		for _, c := range []struct {
			course, completed string
			expires           any
			field, words      string
		}{
			{year, done, nil, "", "2027-01-15"},
			{year, done, "2027-01-14", "", "2027-01-14"},
			{year, done, "2027-01-15", "", "2027-01-15"},
			{year, done, "2027-01-16", "expires_on", "2027-01-15"},
			{year, done, "2026-01-15", "", "2026-01-15"},
			{year, done, "2026-01-14", "expires_on", "before the certificate begins"},
			{year, done, "2226-01-15", "expires_on", "typing error"},
			{always, done, nil, "", "null"},
			{always, done, "2076-12-31", "", "2076-12-31"},
			{always, done, "2077-01-01", "expires_on", "typing error"},
			{always, "1956-01-15T12:00:00Z", nil, "", "null"},
			{always, "1955-01-15T12:00:00Z", nil, "completed_at", "typing error"},
			{always, "2226-01-15T12:00:00Z", nil, "completed_at", "typing error"},
			{always, "2026-03-02T12:00:00Z", nil, "completed_at", "future"},
		} {
			id, err := k.try("training_assignments", row(c.course, c.completed, c.expires))
			switch {
			case c.field == "" && err != nil:
				t.Errorf("%v to %v: %v", c.completed, c.expires, err)
			case c.field == "":
				k.is("training_assignments", id, "expires_on", c.words)
			default:
				k.names(err, c.field)
				if err != nil && !strings.Contains(err.Error(), c.words) {
					t.Errorf("%v to %v: %v does not say %q", c.completed, c.expires, err, c.words)
				}
			}
		}

		// A certificate is held to the same dates when it is changed.
		id := k.add("training_assignments", row(year, done, nil))
		k.names(k.change("training_assignments", id, store.Row{"expires_on": "2027-02-01"}), "expires_on")
		k.names(k.change("training_assignments", id, store.Row{"completed_at": "2027-02-01T12:00:00Z"}), "completed_at")
		k.is("training_assignments", id, "expires_on", "2027-01-15")
		k.set("training_assignments", id, store.Row{"expires_on": "2026-06-30"})
		k.set("training_assignments", id, store.Row{"expires_on": nil})
		k.is("training_assignments", id, "expires_on", "2027-01-15")
	})
}

// A course that needs an evaluation is completed when its certificate names who
// trained and who evaluated, and the two days; the validity counts from the
// evaluation (29 CFR 1910.178(l)(4)(iii), (l)(6)).
func TestEvaluations(t *testing.T) {
	each(t, func(k *kit) {
		course := store.Row{"code": "TRUCK", "title": "Truck", "validity_months": 36, "needs_evaluation": true}
		truck := k.add("courses", course)
		plain := k.add("courses", store.Row{"code": "PLAIN", "title": "Plain", "validity_months": 36})
		full := func(course string, set store.Row) store.Row {
			row := store.Row{
				"course_id": course, "user_id": ada, "status": "completed", "completed_at": "2026-01-15T12:00:00Z",
				"trained_on": "2026-01-14", "trainer": "Grace Hopper", "evaluated_on": "2026-01-20", "evaluator": "Mary Ward",
			}
			maps.Copy(row, set)
			return row
		}
		for _, missing := range []string{"trained_on", "trainer", "evaluated_on", "evaluator"} {
			_, err := k.try("training_assignments", full(truck, store.Row{missing: nil}))
			if f := fault.As(err); err == nil || f.Kind != fault.Conflict || f.Fields[0].Name != missing {
				t.Errorf("without %s: %v", missing, err)
			}
			k.add("training_assignments", full(plain, store.Row{missing: nil}))
		}

		id := k.add("training_assignments", full(truck, nil))
		k.is("training_assignments", id, "expires_on", "2029-01-20")
		for _, c := range []struct {
			set   store.Row
			field string
			words string
		}{
			{store.Row{"evaluated_on": "2026-01-14"}, "", ""},
			{store.Row{"evaluated_on": "2026-01-13"}, "evaluated_on", "before the training"},
			{store.Row{"evaluated_on": "2026-03-01"}, "", ""},
			{store.Row{"evaluated_on": "2026-03-02"}, "evaluated_on", "future"},
			{store.Row{"evaluated_on": "2226-01-20"}, "evaluated_on", "typing error"},
			{store.Row{"trained_on": "1955-01-14"}, "trained_on", "typing error"},
			{store.Row{"trained_on": "2026-01-15"}, "", ""},
			{store.Row{"trained_on": "2026-01-16"}, "trained_on", "completed"},
			{store.Row{"expires_on": "2029-01-20"}, "", ""},
			{store.Row{"expires_on": "2029-01-21"}, "expires_on", "2029-01-20"},
			{store.Row{"expires_on": "2026-01-20"}, "", ""},
			{store.Row{"expires_on": "2026-01-19"}, "expires_on", "before the certificate begins"},
		} {
			_, err := k.try("training_assignments", full(truck, c.set))
			if c.field == "" && err != nil {
				t.Errorf("%v: %v", c.set, err)
			}
			if c.field != "" {
				k.names(err, c.field)
				if err != nil && !strings.Contains(err.Error(), c.words) {
					t.Errorf("%v: %v does not say %q", c.set, err, c.words)
				}
			}
		}

		// What is said of a training before it is completed is held to the days too.
		open := k.add("training_assignments", store.Row{"course_id": truck, "user_id": ada})
		k.names(k.change("training_assignments", open, store.Row{"trained_on": "2226-01-14"}), "trained_on")
		k.set("training_assignments", open, store.Row{"trained_on": "2026-01-14", "trainer": "Grace Hopper"})
	})
}
