package safety

import (
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// stampRuns stamps the steps of an inspection and says whether it was in time.
func stampRuns(_ *db.Tx, a actor.Actor, s *store.Store, changes []store.Change) error {
	now := query.FormatTime(s.Now())
	for _, c := range changes {
		run := c.After
		switch {
		case c.After == nil:
		case turned(c, "in_progress"):
			run["started_at"] = now
		case turned(c, "completed"):
			if run["started_at"] == nil {
				run["started_at"] = now
			}
			run["completed_at"], run["completed_by"] = now, null(a.UserID)
			due, err := time.Parse(db.TimeLayout, text(run, "due_at"))
			if err != nil {
				return err
			}
			grace, _ := run["grace_minutes"].(int64)
			run["on_time"] = !s.Now().After(due.Add(time.Duration(grace) * time.Minute))
		}
	}
	return nil
}
