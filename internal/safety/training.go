package safety

import (
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// course is what completing one depends on.
type course struct {
	months int64
	pass   decimal.Dec
	marked bool
}

// followTraining stamps the steps of an assignment, holds completion to the
// pass mark, and dates the certificate.
func followTraining(tx *db.Tx, a actor.Actor, s *store.Store, changes []store.Change) error {
	done := func(c store.Change) bool {
		return turned(c, "completed") || c.Op == store.Insert && c.After["status"] == "completed"
	}
	var ids []string
	for _, c := range changes {
		if done(c) {
			ids = append(ids, text(c.After, "course_id"))
		}
	}
	list, loc, err := readCourses(tx, a.TenantID, ids)
	if err != nil {
		return err
	}
	now := query.FormatTime(s.Now())
	for _, c := range changes {
		ta := c.After
		switch {
		case turned(c, "in_progress"):
			ta["started_at"] = now
		case (turned(c, "waived") || turned(c, "cancelled")) && ta["close_reason"] == nil:
			return notReady("say why the training is %s: close_reason", text(ta, "status"))
		case done(c):
			if err := certify(ta, list[text(ta, "course_id")], s.Now(), loc); err != nil {
				return err
			}
		}
	}
	return nil
}

func readCourses(tx *db.Tx, tenant string, ids []string) (map[string]course, *time.Location, error) {
	list, zone := map[string]course{}, "UTC"
	if len(ids) == 0 {
		return list, time.UTC, nil
	}
	tx.Queue("SELECT id, validity_months, pass_mark FROM courses WHERE tenant_id = $1 AND "+tx.DB().InUUID("id", 2), []any{tenant, query.List(ids)},
		func(r *db.Row) error {
			list[r.Text(0)] = course{r.Int(1), r.Dec(2), !r.Null(2)}
			return nil
		})
	tx.Queue("SELECT timezone FROM tenants WHERE id = $1", []any{tenant}, func(r *db.Row) error { zone = r.Text(0); return nil })
	err := tx.Flush()
	return list, Location(zone), err
}

// certify completes an assignment: a marked course needs its mark.
func certify(ta store.Row, c course, now time.Time, loc *time.Location) error {
	result, given := ta["result"].(decimal.Dec)
	if c.marked && (!given || result < c.pass) {
		return notReady("the course is passed with %s percent; the result is %v", c.pass, shown(given, result))
	}
	if ta["completed_at"] == nil {
		ta["completed_at"] = query.FormatTime(now)
	}
	if ahead(text(ta, "completed_at"), now) {
		return fault.New(fault.Invalid, CodeReport, "completed_at lies in the future").At("completed_at", "lies in the future")
	}
	at, err := time.Parse(db.TimeLayout, text(ta, "completed_at"))
	if err != nil {
		return err
	}
	if ta["expires_on"] == nil && c.months > 0 {
		ta["expires_on"] = AddMonths(at.In(loc), int(c.months)).Format(time.DateOnly)
	}
	if id := text(ta, "id"); ta["certificate_no"] == nil && len(id) == 36 {
		ta["certificate_no"] = "TC-" + strings.ToUpper(id[24:])
	}
	return nil
}

func shown(given bool, d decimal.Dec) string {
	if !given {
		return "missing"
	}
	return d.String()
}

// AddMonths is the same day n months later, or the last day of that month when
// it is shorter: a certificate of 31 August that holds six months ends with
// February.
func AddMonths(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// acknowledge stamps who took note of a compliance event, and wants a reason
// for a waiver.
func acknowledge(_ *db.Tx, a actor.Actor, _ *store.Store, changes []store.Change) error {
	for _, c := range changes {
		if c.Op != store.Update {
			continue
		}
		if c.After["acknowledged_at"] != c.Before["acknowledged_at"] {
			c.After["acknowledged_by"] = null(a.UserID)
		}
		if c.After["waived_until"] != nil && c.After["waive_reason"] == nil {
			return notReady("say why the rule is waived: waive_reason")
		}
	}
	return nil
}
