package demo

import (
	"time"

	"holdfast/internal/store"
)

// topics of the weekly talk; some take up what has just happened.
var topics = [...]string{"Horn and speed in the aisles", "Lifting from the floor",
	"Oil at dock 3: walk around, do not step over",
	"What a near miss is and why we want to hear of it", "Pallets above two metres",
	"Knives and gloves at the opening station", "Wheel chocks before the first pallet", "Aisle A: one way, people first",
	"Charging station and fire load", "Night shift and fatigue", "Where the extinguishers are",
	"New forklift check", "Step ladders", "Winter tyres and ramps"}

// writeTalks writes a talk each Monday, each time for another team, and the next
// one, for which nobody has signed yet.
func (w *workplace) writeTalks() {
	n := 0
	for day := -history; day <= 7; day++ {
		if w.cal.t0.AddDate(0, 0, day).Weekday() != time.Monday || day == 0 {
			continue
		}
		team := n % len(teamNames)
		leader := []string{w.userID("safety"), w.userID("manager")}[n%2]
		held := w.cal.momentAt(day, [...]float64{6.6, 6.6, 9.6, 7.6}[team])
		made := w.cal.momentAt(min(day, 0)-2, 14)
		r := store.Row{"topic": topics[n%len(topics)], "site_id": w.rows["teams"][team]["site_id"],
			"team_id": w.rows["teams"][team]["id"],
			"held_at": formatMoment(held), "leader_user_id": leader, "minutes": int64(10 + 5*(n%2)),
			"created_by": leader}
		n++
		talk := w.addRecord("toolbox_talks", min(day, 0)-2, made, r)
		for _, p := range w.people {
			// Who has an account comes to every talk, the others to their team's.
			if (p.team == team && w.cal.drawChance(0.9) || p.user != "") && (day > 0 || w.atWork(p, day, held)) {
				w.writeAttendance(talk, p, day, held)
			}
		}
	}
}

func (w *workplace) writeAttendance(talk store.Row, p *person, day int, held time.Time) {
	made := parseMoment(talk["created_at"])
	r := store.Row{"talk_id": talk["id"], "worker_id": p.id, "created_by": talk["leader_user_id"]}
	if signed := held.Add(12 * time.Minute); day < 0 && signed.Before(w.cal.now) {
		r["signed_at"], r["signature"], r["signed_by"], r["updated_at"], r["version"] = formatMoment(
			signed,
		), p.name, talk["leader_user_id"], formatMoment(
			signed,
		), int64(
			2,
		)
		if p.user != "" {
			r["signed_by"], r["signature"] = p.user, nil
		}
	}
	w.addRecord("talk_attendances", min(day, 0)-2, made, r)
}

// writeSuggestions are what the operator proposed and the manager had done.
func (w *workplace) writeSuggestions() {
	for i, title := range []string{"A mirror where aisle A meets the cross way",
		"Hooks for the film cutters at every packing table"} {
		day := -40 + 22*i
		made := w.cal.momentAt(day, 12.5)
		done := w.cal.momentAt(day+6, 15)
		r := store.Row{"action_no": w.nextNumber("AC", made), "title": title, "type": "preventive", "source": "manual",
			"priority": "low", "control_level": "engineer", "evidence": rawJSON([]any{}), "created_by": w.userID("operator"),
			"suggested_by": w.userID("operator"), "assignee_user_id": w.userID("manager"), "status": "verified",
			"completed_at": formatMoment(done),
			"completed_by": w.userID("manager"),
			"verified_at":  formatMoment(done.Add(24 * time.Hour)), "verifier_user_id": w.otherUser("safety",
				w.userID("manager")), "updated_at": formatMoment(done.Add(24 * time.Hour)), "version": int64(4)}
		w.dueOn(r, day+14)
		w.addRecord("actions", day, made, r)
	}
}
