package demo

import (
	"maps"
	"time"

	"holdfast/internal/store"
)

// workerOf is the worker of a number, nil for none.
func workerOf(w *world, no string) any {
	for _, r := range w.rows["workers"] {
		if no != "" && r["employee_no"] == any(no) {
			return r["id"]
		}
	}
	return nil
}

// writeLicences are the certificates that jobs ask for: every driver and truck
// operator has his, but for the last two operators of South, of whom one let it
// run out and one was never trained.
func writeLicences(w *workplace) {
	course := map[any]string{"Driver": "TRAFFIC", "Forklift operator": "FORK-OP"}
	var bare []any
	for _, r := range w.rows["workers"] {
		if w.profile.id == South && r["job_title"] == "Forklift operator" {
			bare = append(bare, r["id"])
		}
	}
	bare = bare[max(0, len(bare)-2):]
	held := map[[2]any]bool{}
	for _, r := range w.rows["training_assignments"] {
		held[[2]any{r["worker_id"], r["course_id"]}] = r["status"] == "completed"
	}
	for i, r := range w.rows["workers"] {
		code := course[r["job_title"]]
		if code == "" || held[[2]any{r["id"], w.courseID(code)}] {
			continue
		}
		done, expires, status := -300-3*i, 430, "completed"
		if len(bare) > 0 && r["id"] == bare[len(bare)-1] {
			continue
		}
		if len(bare) == 2 && r["id"] == bare[0] {
			done, expires, status = -1120, -24, "expired"
		}
		at := w.cal.momentAt(done, 15)
		row := w.addRecord(
			"training_assignments",
			done,
			at.Add(-72*time.Hour),
			store.Row{"course_id": w.courseID(code), "user_id": r["user_id"], "worker_id": r["id"],
				"assignment_type": "role_based", "assignment_reason": "Induction",
				"started_at": formatMoment(at.Add(-2 * time.Hour)), "completed_at": formatMoment(at),
				"result": wholeUnits(
					int64(80 + i%20),
				), "expires_on": w.cal.localDate(expires), "status": status, "created_by": w.userID("safety"),
				"updated_at": formatMoment(at),
				"version":    int64(3)},
		)
		row["certificate_no"] = "TC-" + row["id"].(string)[24:]
		if code == "FORK-OP" {
			w.nameVouchers(row, done)
		}
	}
}

// nameVouchers names on a truck operator's certificate who trained and who
// evaluated, and when: 29 CFR 1910.178(l)(6).
func (w *workplace) nameVouchers(certificate store.Row, day int) {
	maps.Copy(certificate, store.Row{
		"trained_on": w.cal.localDate(day - 2), "trainer": "Jorge Alvarez",
		"evaluated_on": w.cal.localDate(day), "evaluator": "Ines Duarte",
	})
}
