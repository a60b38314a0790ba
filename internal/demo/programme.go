package demo

import (
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// programmeResources are the records of the safety programme, in the order in
// which references point backwards.
var programmeResources = [...]string{"courses", "equipment", "shifts", "regulations", "badges", "training_assignments",
	"checklist_templates", "checklist_schedules", "checklist_runs", "checklist_answers",
	"toolbox_talks", "talk_attendances", "point_events"}

// writeProgramme adds the safety programme to a tenant: who worked where and with
// what, rules, training, and points for what was reported and done. Scores,
// clusters, verdicts and boards are left to the nightly round, which works
// them out of these.
func writeProgramme(w *workplace) {
	w.writeCourses()
	w.writeMachines()
	if w.leak {
		w.writeCrossingStory()
	}
	w.writeShifts()
	w.writeRegulations()
	w.writeCertificates()
	w.writeInspections()
	w.writeTalks()
	w.writeSuggestions()
	w.writePoints()
}

func (w *workplace) writeCourses() {
	made := w.cal.momentAt(-goLive-4, 9)
	for _, c := range []struct {
		code, title, kind string
		minutes, months   int64
		threshold         int64
		entities, needed  []string
	}{
		{"FORK-OP", "Forklift operation and daily check", "practical", 480, 36, 60, []string{"equipment", "worker"},
			[]string{"Forklift operator", "forklift", "reach_truck"}},
		{"MANUAL", "Lifting and carrying", "classroom", 90, 24, 20, []string{"worker", "zone"},
			[]string{"Picker", "Packer", "Goods receiver"}},
		{"SLIPS", "Clean floors, sure steps", "online", 20, 12, 15, []string{"zone"}, nil},
		{"TRAFFIC", "People and trucks in the same aisle", "online", 30, 24, 30, []string{"zone", "driver"},
			[]string{"Driver"}},
		{"HAZMAT", "Hazardous goods in store", "classroom", 240, 12, 0, nil, []string{"Goods receiver"}},
		{"FIRE", "Fire extinguishers, hands on", "practical", 60, 24, 0, nil, nil},
	} {
		r := store.Row{"code": c.code, "title": c.title, "kind": c.kind, "minutes": c.minutes, "validity_months": c.months,
			"entity_types": wordList(c.entities), "categories": wordList(nil),
			"jurisdictions": wordList(nil), "required_for": wordList(c.needed), "status": "active",
			"created_by":       w.userID("safety"),
			"needs_evaluation": c.code == "FORK-OP"}
		if c.threshold > 0 {
			r["risk_threshold"] = wholeUnits(c.threshold)
		}
		w.addRecord("courses", -goLive-4, made, r)
	}
}

func wordList(words []string) json.RawMessage {
	if words == nil {
		words = []string{}
	}
	return rawJSON(words)
}

func (w *workplace) courseID(code string) string {
	for _, r := range w.rows["courses"] {
		if r["code"] == code {
			return r["id"].(string)
		}
	}
	return ""
}

// writeMachines are what people work with; the last one waits for its repair.
func (w *workplace) writeMachines() {
	made := w.cal.momentAt(-goLive-4, 10)
	for i, m := range []struct{ no, name, kind, zone string }{
		{"FLT-01", "Counterbalance truck 1", "forklift", "RCV"}, {"FLT-02", "Counterbalance truck 2", "forklift", "SHP"},
		{"RT-01", "Reach truck", "reach_truck", "PCK"},
		{"DL-03", "Leveller of dock 3", "dock_leveller", "DOCK-3"}, {"CONV-1", "Roller conveyor", "conveyor", "SHP"},
		{"CHG-02", "Battery charger, second row", "charger", "RCV"},
	} {
		r := store.Row{"asset_no": m.no, "name": m.name, "kind": m.kind,
			"serial_no": fmt.Sprintf("%s%05d", m.kind[:2], 20417+331*i), "hours_meter": wholeUnits(int64(1200 + 613*i)),
			"service_due_on": w.cal.localDate(9 + 23*i), "status": "in_service", "created_by": w.userID("admin")}
		if z := w.zones[m.zone]; z != nil {
			r["zone_id"] = z.id
		}
		if m.kind == "forklift" || m.kind == "reach_truck" {
			r["required_course_id"] = w.courseID("FORK-OP")
		}
		if i == 5 {
			r["status"] = "out_of_service"
		}
		w.addRecord("equipment", -goLive-4, made, r)
	}
}

// writeCrossingStory is the story of aisle A in the pick hall: pickers and the reach truck
// share it while hands are short, and it goes wrong more and more often. It is
// where scores are highest, training is assigned and the manager should look.
func (w *workplace) writeCrossingStory() {
	truck := w.rows["equipment"][2]["id"].(string)
	var picker string
	for _, p := range w.people {
		if p.user == w.userID("operator") {
			picker = p.id
		}
	}
	near := func(severity, title, text string) event {
		return event{
			"near_miss",
			severity,
			"high",
			[]string{"powered_truck", "traffic"},
			"PCK-A",
			title,
			text,
			"Work stopped for a minute, spoke to both.",
			4,
			"",
		}
	}
	for n, x := range []struct {
		day  int
		hour float64
		e    event
		hurt bool // the picker takes part
	}{
		{-27, 9.2, near("low", "Reach truck turned into aisle A without looking", "A picker stood behind the second rack."),
			false},
		{-23, 14.7, event{"property_damage", "low", "medium", []string{"powered_truck"}, "PCK-A",
			"Reach truck scraped the end guard of aisle A", "Swerved for a trolley.", "Guard checked.", 4, ""}, false},
		{-20, 10.1, near("medium", "Trolley caught by the reach truck's mast",
			"The trolley tipped; the picker had just let go."), true},
		{-16, 15.5, event{"injury", "low", "high", []string{"powered_truck", "struck_by"}, "PCK-A",
			"Bruised hip between trolley and rack in aisle A",
			"Pressed against the rack to let the truck pass.", "First aid, back at work.", 4, ""}, true},
		{-13, 8.4, near("medium", "Two people and the reach truck in aisle A at once", "One-way rule was not kept."), false},
		{-9, 11.9, event{"property_damage", "medium", "high", []string{"powered_truck"}, "PCK-A",
			"Load fell from the reach truck in aisle A",
			"Braked hard for a picker; two cartons came down.", "Aisle closed for an hour.", 3, ""}, false},
		{-6, 9.8, near("medium", "Picker stepped out in front of the reach truck",
			"Mirror at the aisle end is still broken."), true},
		{-3, 13.2, event{"injury", "medium", "high", []string{"powered_truck", "struck_by"}, "PCK-A",
			"Foot caught under the reach truck's fork carriage",
			"The picker bent down behind the truck.", "Sent to the doctor; truck stopped.", 3, ""}, true},
	} {
		w.writeIncident(reported{x.e, x.day, x.hour}, 18*n+2)
		in := w.rows["incidents"][len(w.rows["incidents"])-1]
		aisle := w.zones["PCK-A"]
		list := []safety.Entity{{Type: "zone", ID: aisle.id, Role: "source"},
			{Type: "equipment", ID: truck, Role: "involved"}}
		if x.hurt && picker != "" {
			list = append(list, safety.Entity{Type: "worker", ID: picker, Role: personRole(x.e.kind)})
		}
		in["zone_id"], in["entities"] = aisle.id, rawJSON(list)
	}
}

// stationOf is where a person works, and with which machine (-1 = none).
func (w *workplace) stationOf(p *person, day int) (zone string, machine int) {
	codes := map[int][]string{inboundTeam: {"RCV", "DOCK-3", "DOCK-1", "RCV"}, pickTeam: {"PCK", "PCK-A", "PCK-B", "BLK"},
		outTeam: {"SHP", "DOCK-4"}}[p.team]
	machine = -1
	if p.job == "Forklift operator" {
		machine = len(p.name) % 3
	}
	if p.team == transportTeam || len(codes) == 0 {
		return "", machine
	}
	for k := range codes {
		if z := w.zones[codes[(len(p.name)+day+k+400)%len(codes)]]; z != nil {
			return z.id, machine
		}
	}
	return "", machine
}

// writeRegulations are the shipped regulations and badges, as a new tenant gets them.
func (w *workplace) writeRegulations() {
	made := w.cal.momentAt(-goLive-8, 10)
	for _, r := range safety.ShippedRegulations(w.jurisdictions) {
		r["owner_user_id"] = w.userID("safety")
		w.addRecord("regulations", -goLive-8, made, r)
	}
	for _, r := range safety.ShippedBadges() {
		w.addRecord("badges", -goLive-8, made, r)
	}
}

// writeCertificates are what the users have learned: most of it valid, one soon to
// expire, one already expired.
func (w *workplace) writeCertificates() {
	for i, u := range w.users {
		for k, code := range []string{"FIRE", "MANUAL", "TRAFFIC"} {
			if (i+k)%3 == 2 {
				continue
			}
			done := -400 - 31*i - 57*k
			expires := done + 730
			if k == 1 && i%5 == 1 {
				done, expires = -712, 18
			}
			status := "completed"
			if k == 2 && i%5 == 4 {
				done, expires, status = -742, -12, "expired"
			}
			at := w.cal.momentAt(done, 15)
			r := store.Row{"course_id": w.courseID(code), "user_id": u.ID, "assignment_type": "role_based",
				"assignment_reason": "Induction", "started_at": formatMoment(at.Add(-2 * time.Hour)),
				"completed_at": formatMoment(
					at,
				), "result": wholeUnits(int64(80 + (7*i+11*k)%21)), "expires_on": w.cal.localDate(expires), "status": status,
				"created_by": w.userID("safety"),
				"updated_at": formatMoment(at), "version": int64(3)}
			row := w.addRecord("training_assignments", done, at.Add(-72*time.Hour), r)
			row["certificate_no"], row["worker_id"] = "TC-"+row["id"].(string)[24:], workerOf(w.world, u.WorkerEmployeeNo)
		}
	}
	writeLicences(w)
}

// writePoints are what the users earned in 90 days, as the server would have given
// them: at acceptance, once for each source, 40 a day at most. Today's are still
// to come.
func (w *workplace) writePoints() {
	day := map[string]int64{}
	give := func(user any, kind, source string, id any, n int64, at time.Time) {
		u, _ := user.(string)
		key := u + localtime.DateOf(at, w.cal.loc).String()
		if n = min(n, 40-day[key]); u == "" || n <= 0 || !at.Before(w.cal.t0) || at.Before(w.cal.momentAt(-history, 0)) {
			return
		}
		day[key] += n
		w.addRecord(
			"point_events",
			-1,
			at,
			store.Row{"user_id": u, "kind": kind, "points": n, "source_type": source, "source_id": id,
				"occurred_at": formatMoment(at)},
		)
	}
	for _, in := range w.rows["incidents"] {
		if st := in["status"]; st == "reported" || st == "void" {
			continue
		}
		at := parseMoment(in["reported_at"]).Add(17 * time.Hour)
		switch in["kind"] {
		case "near_miss":
			give(in["reported_by"], "near_miss", "incidents", in["id"], 10, at)
		case "hazard":
			give(in["reported_by"], "hazard", "incidents", in["id"], 8, at)
		case "injury", "illness":
			give(in["reported_by"], "injury_report", "incidents", in["id"], 8, at)
		}
	}
	for _, ac := range w.rows["actions"] {
		if ac["status"] != "verified" {
			continue
		}
		at, n := parseMoment(ac["verified_at"]), int64(3)
		if done, _ := ac["completed_at"].(string); done <= ac["due_at"].(string) {
			n = 10
		}
		give(ac["assignee_user_id"], "action_done", "actions", ac["id"], n, at)
		give(ac["verifier_user_id"], "action_verified", "actions", ac["id"], 5, at)
		give(ac["suggested_by"], "suggestion", "actions", ac["id"], 15, at)
	}
	users := map[string]string{}
	for _, p := range w.people {
		users[p.id] = p.user
	}
	for _, at := range w.rows["talk_attendances"] {
		if at["signed_at"] != nil {
			give(users[at["worker_id"].(string)], "talk", "talk_attendances", at["id"], 5, parseMoment(at["signed_at"]))
		}
	}
	for _, run := range w.rows["checklist_runs"] {
		if run["on_time"] == true {
			give(run["completed_by"], "checklist", "checklist_runs", run["id"], 5, parseMoment(run["completed_at"]))
		}
	}
}

// parseMoment reads a time this package has written.
func parseMoment(v any) time.Time {
	s, _ := v.(string)
	// A text that is no time is the zero time, which lies before any history.
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}
