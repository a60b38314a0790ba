package safety

import (
	"encoding/json"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// followActions keeps an action's due moment and stamps, and holds it to the
// conditions of its next state: evidence for what is urgent, a reason for what
// is dropped, four eyes for what is verified.
func followActions(tx *db.Tx, a actor.Actor, s *store.Store, changes []store.Change) error {
	if err := dueMoments(tx, a.TenantID, changes); err != nil {
		return err
	}
	now := query.FormatTime(s.Now())
	for _, c := range changes {
		ac := c.After
		if handedOver(c) {
			return notReady("an action that is done keeps who did it: put it back in progress to assign it again")
		}
		switch {
		case turned(c, "done"):
			if urgent(text(ac, "priority")) && noEvidence(ac) {
				return notReady("an action of priority %s needs evidence before it is done", text(ac, "priority"))
			}
			ac["completed_at"] = now
			if ac["assignee_user_id"] == nil {
				ac["assignee_user_id"] = null(a.UserID)
			}
		case turned(c, "in_progress") && c.Before["status"] == "done":
			ac["completed_at"] = nil
		case turned(c, "verified"):
			if err := fourEyes(a, c.Before, ac); err != nil {
				return err
			}
			ac["verified_at"] = now
		case turned(c, "cancelled") && ac["cancel_reason"] == nil:
			return notReady("say why the action is cancelled: cancel_reason")
		}
	}
	return nil
}

// handedOver reports another assignee for work that is done already: four eyes
// need to know whose it was.
func handedOver(c store.Change) bool {
	if c.Op != store.Update || text(c.Before, "status") != "done" && text(c.Before, "status") != "verified" {
		return false
	}
	return text(c.After, "status") != "in_progress" && c.Before["assignee_user_id"] != nil && c.Before["assignee_user_id"] != c.After["assignee_user_id"]
}

func urgent(priority string) bool { return priority == "high" || priority == "critical" }

func noEvidence(ac store.Row) bool {
	raw, _ := ac["evidence"].(json.RawMessage)
	return len(raw) == 0 || string(raw) == "[]" || string(raw) == "null"
}

// fourEyes keeps the person who did the work from verifying it: the assignee,
// who is also whoever finished an action nobody was assigned. Neither the one
// before the verification nor the one it names may be the verifier, so handing
// the action over in the same step changes nothing.
func fourEyes(a actor.Actor, was, ac store.Row) error {
	if a.UserID != "" && (ac["verifier_user_id"] == nil || a.Role != actor.Service) {
		ac["verifier_user_id"] = a.UserID
	}
	for _, who := range []any{was["assignee_user_id"], ac["assignee_user_id"]} {
		if who != nil && (who == ac["verifier_user_id"] || a.UserID != "" && who == any(a.UserID)) {
			return fault.New(fault.Forbidden, "42501", "the person an action is assigned to, or who finished it, may not verify it").At("verifier_user_id", "must be somebody else")
		}
	}
	return nil
}

// dueMoments turns a due day into the last moment of that day where the tenant
// is.
func dueMoments(tx *db.Tx, tenant string, changes []store.Change) error {
	var dated []store.Row
	for _, c := range changes {
		switch day := c.After["due_on"]; {
		case day != nil && (c.Op == store.Insert || day != c.Before["due_on"] || c.After["due_at"] != c.Before["due_at"]):
			dated = append(dated, c.After)
		case day == nil && c.Before["due_on"] != nil && c.After["due_at"] == c.Before["due_at"]:
			c.After["due_at"] = nil
		}
	}
	if len(dated) == 0 {
		return nil
	}
	zone := "UTC"
	err := tx.Query("SELECT timezone FROM tenants WHERE id = $1", []any{tenant}, func(r *db.Row) error {
		zone = r.Text(0)
		return nil
	})
	if err != nil {
		return err
	}
	for _, ac := range dated {
		day, err := time.Parse(time.DateOnly, text(ac, "due_on"))
		if err != nil {
			return fault.New(fault.Invalid, "22007", "due_on is not a date").At("due_on", "is not a date")
		}
		ac["due_at"] = query.FormatTime(EndOfDay(day, Location(zone)))
	}
	return nil
}
