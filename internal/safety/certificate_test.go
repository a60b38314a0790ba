package safety_test

import (
	"strings"
	"testing"

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
			return store.Row{"course_id": course, "user_id": ada, "status": "completed", "completed_at": completed, "expires_on": expires}
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
			{year, done, "2026-01-14", "expires_on", "before"},
			{year, done, "2226-01-15", "expires_on", "typing error"},
			{always, done, nil, "", "null"},
			{always, done, "2076-12-31", "", "2076-12-31"},
			{always, done, "2077-01-01", "expires_on", "typing error"},
			{always, "1956-01-15T12:00:00Z", nil, "", "null"},
			{always, "1955-01-15T12:00:00Z", nil, "completed_at", "typing error"},
			{always, "2226-01-15T12:00:00Z", nil, "completed_at", "future"},
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
