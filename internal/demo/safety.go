package demo

import (
	"slices"
	"time"

	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// event is something that may happen, and how it reads.
type event struct {
	kind       string
	severity   string
	potential  string
	tags       []string
	zone       string // prefix of the codes of zones where it happens
	title      string
	text       string
	first      string // what was done at once
	likelihood int64
	entity     string // besides the zone: worker, driver or nothing
}

var events = []event{
	{"near_miss", "low", "high", []string{"powered_truck", "traffic"}, "PCK",
		"Forklift stopped short of a pedestrian at the aisle end",
		"The truck came out of the aisle without sounding the horn; the picker stepped back in time.",
		"Talked to the driver on the spot.", 3, "worker"},
	{"near_miss", "medium", "high", []string{"struck_by"}, "BLK", "Carton fell from the second beam",
		"A carton slid off a badly wrapped pallet and landed on the walkway. Nobody was near.",
		"Area cordoned off, pallet rewrapped.", 3, ""},
	{"near_miss", "low", "medium", []string{"slip_trip"}, "SHP", "Stumbled over stretch film on the floor",
		"Loose film end in front of the wrapping station.", "Film removed.", 4, "worker"},
	{"near_miss", "low", "medium", []string{"manual_handling"}, "RCV", "Pallet truck rolled off the dock leveller",
		"Parked without lowering the forks on a slight slope.", "Chocks put out.", 3, "worker"},
	{"near_miss", "high", "critical", []string{"traffic"}, "DOCK", "Trailer moved while the leveller was still down",
		"The driver started before the light changed; the loader was on the leveller.", "Loading stopped, keys taken.", 2,
		"driver"},
	{"near_miss", "low", "medium", []string{"fall_height"}, "PCK", "Step ladder slipped while reaching a top bin",
		"Worn feet on the ladder.", "Ladder taken out of use.", 3, "worker"},
	{"near_miss", "low", "low", []string{"struck_by"}, "PCK", "Tote fell from the picking trolley",
		"Trolley stacked above the marked height.", "", 4, ""},
	{"hazard", "low", "medium", []string{"electrical"}, "SHP", "Damaged plug on the stretch wrapper",
		"Insulation cracked near the plug.", "Machine unplugged and tagged.", 3, ""},
	{"hazard", "low", "medium", []string{"powered_truck"}, "PCK", "Mirror at the crossing is broken",
		"No view of trucks from the bulk side.", "", 4, ""},
	{"hazard", "medium", "high", []string{"struck_by"}, "BLK", "Rack upright dented at knee height",
		"Dent of about 4 cm in the second bay, seen during the round.", "Bay unloaded and closed.", 3, ""},
	{"hazard", "low", "medium", []string{"chemical"}, "HAZ", "Drip tray full under the spray cans",
		"About half a litre of solvent in the tray.", "Tray emptied.", 3, ""},
	{
		"hazard",
		"low",
		"low",
		[]string{"ergonomics"},
		"SHP",
		"Packing table too low for the night shift",
		"Two packers report sore backs.",
		"",
		4,
		"worker",
	},
	{"hazard", "low", "medium", []string{"slip_trip"}, "CLD", "Ice at the cool room door",
		"The door curtain lets warm air in.", "Salt put down.", 4, ""},
	{"hazard", "high", "high", []string{"other"}, "RCV", "Emergency exit blocked by empty pallets",
		"Pallets stacked in front of the exit beside the receiving office.", "Cleared within the hour.", 3, ""},
	{"injury", "low", "medium", []string{"manual_handling"}, "PCK", "Cut on the hand when opening cartons",
		"Knife slipped; glove was not worn.", "First aid, back at work.", 3, "worker"},
	{"injury", "medium", "medium", []string{"manual_handling", "ergonomics"}, "RCV", "Strained back when lifting a pump",
		"28 kg lifted alone from floor level.", "Sent to the doctor; three days off.", 3, "worker"},
	{"injury", "medium", "high", []string{"caught_in"}, "SHP", "Finger pinched at the roller conveyor",
		"Hand between carton and side guide.", "Cooled, X-ray without finding.", 2, "worker"},
	{
		"injury",
		"low",
		"medium",
		[]string{"struck_by"},
		"BLK",
		"Bruised foot under a pallet truck",
		"Wheel ran over the toe cap.",
		"Ice pack.",
		2,
		"worker",
	},
	{"property_damage", "low", "medium", []string{"powered_truck"}, "BLK", "Forklift hit the rack guard",
		"Guard bent, upright untouched.", "Guard checked.", 4, ""},
	{"property_damage", "medium", "medium", []string{"powered_truck"}, "DOCK", "Dock door struck by a raised mast",
		"Door panel torn, door stuck at half height.", "Door closed off.", 3, ""},
	{"property_damage", "low", "low", []string{"traffic"}, "SHP", "Van mirror torn off in the yard",
		"Reversing without a guide.", "", 3, "driver"},
	{"environmental", "medium", "high", []string{"chemical"}, "HAZ", "Hydraulic oil canister leaked",
		"About three litres ran towards the drain; the drain cover held.", "Binder spread, canister overpacked.", 2, ""},
	{"fire", "high", "critical", []string{"electrical"}, "SEC", "Smoke from a battery charger",
		"Charger of the second row overheated; extinguished by hand.", "Power cut, area ventilated.", 1, ""},
	{"security", "low", "low", []string{"other"}, "SEC", "Cage found unlocked in the morning",
		"Nothing missing after a count.", "Locked, key log checked.", 2, ""},
	{"illness", "low", "medium", []string{"chemical"}, "HAZ", "Headache after decanting cleaner",
		"Extraction was switched off.", "Fresh air, sent home.", 2, "worker"},
}

// leak is the story of dock 3: the leveller loses oil from day -62, people
// slip more and more often, the seal is replaced on day -29, and it ends.
var leak = []struct {
	day int
	e   event
}{
	{-62, event{"hazard", "low", "medium", []string{"slip_trip"}, "DOCK-3", "Oil film at dock 3",
		"Thin film of hydraulic oil beside the leveller after the morning truck.", "Wiped up.", 3, ""}},
	{-56, event{"near_miss", "low", "medium", []string{"slip_trip"}, "DOCK-3", "Slipped at dock 3, caught the rail",
		"Floor greasy again under the leveller lip.", "Binder spread.", 3, "worker"}},
	{-51, event{"near_miss", "low", "medium", []string{"slip_trip"}, "DOCK-3", "Pallet truck skidded at dock 3",
		"Could not brake on the wet patch.", "Patch dried.", 4, "worker"}},
	{-47, event{"hazard", "medium", "high", []string{"slip_trip"}, "DOCK-3", "Leveller at dock 3 drips steadily",
		"About a cup in an hour. Maintenance informed by phone.", "Tray put underneath.", 4, ""}},
	{-44, event{"near_miss", "medium", "high", []string{"slip_trip"}, "DOCK-3", "Fell on one knee at dock 3",
		"Tray had overflowed during the night.", "Area cordoned off until noon.", 4, "worker"}},
	{-40, event{"injury", "medium", "high", []string{"slip_trip"}, "DOCK-3", "Sprained wrist after a slip at dock 3",
		"Slipped stepping off the leveller and caught the fall with the hand.", "Doctor; five days off.", 4, "worker"}},
	{-37, event{"near_miss", "low", "high", []string{"slip_trip"}, "DOCK-3", "Truck driver slipped at dock 3",
		"Visitor without safety shoes on the oily strip.", "Spoke to the carrier.", 4, "driver"}},
	{-34, event{"near_miss", "medium", "high", []string{"slip_trip"}, "DOCK-3", "Two near falls in one shift at dock 3",
		"Reported by the shift leader; binder runs out.", "Binder fetched from store.", 5, "worker"}},
	{-31, event{"injury", "high", "high", []string{"slip_trip"}, "DOCK-3", "Fractured ankle at dock 3",
		"Slid between leveller and trailer while guiding a pallet.", "Ambulance, dock 3 closed.", 4, "worker"}},
	{-24, event{"near_miss", "low", "low", []string{"slip_trip"}, "DOCK-3", "Residual oil on the ramp of dock 3",
		"From cleaning after the repair.", "Ramp degreased.", 2, "worker"}},
	{-13, event{"hazard", "low", "low", []string{"slip_trip"}, "DOCK-3", "Anti-slip strip at dock 3 loose at one end",
		"New strip lifts at the corner.", "Strip glued.", 2, ""}},
}

// reported is an incident that happened.
type reported struct {
	event
	day  int
	hour float64
}

// writeSafety writes incidents and what is done about them.
func (w *workplace) writeSafety() {
	var days []int
	for i, x := range w.mixEvents() {
		w.writeIncident(x, i)
		days = append(days, x.day)
	}
	w.writeActions(days)
}

// mixEvents mixes everyday events with the story, in the order of time.
func (w *workplace) mixEvents() []reported {
	var all []reported
	if w.leak {
		for _, x := range leak {
			all = append(all, reported{x.e, x.day, w.cal.drawHour(6.5, 16)})
		}
	}
	for i := range w.incidents {
		e := w.drawEvent(i)
		day := -w.cal.drawBetween(1, history-1)
		if i < 2 {
			day = 0
		}
		if !w.cal.isWorkingDay(day) {
			day++
		}
		all = append(all, reported{e, min(day, 0), w.cal.drawHour(6, 20)})
	}
	for i := range w.reportsBefore {
		day := w.cal.workingBefore(-w.cal.drawBetween(history+1, w.hoursDays-5))
		all = append(all, reported{w.drawEvent(i), day, w.cal.drawHour(6, 20)})
	}
	all = append(
		all,
		reported{event{"injury", "critical", "critical", []string{"powered_truck", "struck_by"}, "PCK",
			"Picker struck by a reversing reach truck",
			"The truck reversed out of the aisle while the picker crossed behind it. Leg injured, hospital treatment.",
			"First aid, ambulance, aisle closed, authority informed.", 2, "worker"}, -19, 10.3},
		reported{event{"near_miss", "critical", "critical", []string{"fall_height"}, "BLK",
			"Pallet hung over the rack edge above the walkway",
			"A 600 kg pallet stood with one runner off the beam at 4.5 m for most of a shift.",
			"Walkway closed, pallet taken down.", 2, ""}, -5, 13.1},
	)
	sortStable(all, func(a, b reported) bool { return a.day < b.day || a.day == b.day && a.hour < b.hour })
	return all
}

// mix is how often the kinds come: reports of what nearly happened outnumber
// what did. "" stands for the rarer kinds.
var mix = [...]string{"near_miss", "hazard", "near_miss", "injury", "near_miss", "hazard", "property_damage",
	"near_miss", "hazard", "near_miss", "", "near_miss", "hazard",
	"near_miss", "property_damage", "injury", "near_miss", "hazard", ""}

// drawEvent draws the ith ordinary event.
func (w *workplace) drawEvent(i int) event {
	want := mix[i%len(mix)]
	for {
		e := pickOne(w.cal, events)
		rare := e.kind != "near_miss" && e.kind != "hazard" && e.kind != "injury" && e.kind != "property_damage"
		if (e.kind == want || want == "" && rare) && len(w.zonesIn(e.zone)) > 0 {
			return e
		}
	}
}

// zonesIn lists zones by the start of their code.
func (w *workplace) zonesIn(prefix string) []*zone {
	var out []*zone
	for _, z := range w.tree {
		if len(z.code) >= len(prefix) && z.code[:len(prefix)] == prefix {
			out = append(out, z)
		}
	}
	return out
}

var grade = map[string]int64{"low": 1, "medium": 2, "high": 3, "critical": 4}

func (w *workplace) writeIncident(x reported, n int) {
	zones := w.zonesIn(x.zone)
	if len(zones) == 0 {
		zones = w.zonesIn("RCV")
	}
	z := pickOne(w.cal, zones)
	at := w.cal.momentAt(x.day, x.hour)
	told := at.Add(time.Duration(w.cal.drawBetween(5, 200)) * time.Minute)
	if x.day == 0 || told.After(w.cal.now) {
		told = w.cal.momentAt(x.day, min(23.5, x.hour+0.4))
	}
	anonymous := n%9 == 4
	by := []string{w.userID("operator"), w.userID("driver"), w.userID("manager"), w.userID("safety"),
		w.userID("operator")}[n%5]
	r := store.Row{"incident_no": w.nextNumber("IN", told), "kind": x.kind, "severity": x.severity,
		"potential_severity": x.potential, "title": x.title, "description": x.text,
		"immediate_action": nullableID(
			x.first,
		), "occurred_at": formatMoment(at), "occurred_tz": w.timezone, "reported_at": formatMoment(told),
		"anonymous": anonymous, "confidential": w.isPrivate(x), "reader_ids": rawJSON([]string{}),
		"site_id": w.sites[z.site],
		"zone_id": z.id, "entities": rawJSON(w.involvedEntities(x, z, at)), "category_tags": rawJSON(x.tags),
		"likelihood":  x.likelihood,
		"risk_rating": grade[x.severity] * x.likelihood,
		"root_causes": rawJSON([]any{})}
	if !anonymous {
		r["reported_by"], r["created_by"] = by, by
	}
	w.advanceIncident(r, x, told, n)
	w.addRecord("incidents", x.day, told, r)
}

// isPrivate reports the first illness at North, which only named readers see.
func (w *workplace) isPrivate(x reported) bool {
	isIllness := func(in store.Row) bool { return in["kind"] == "illness" }
	return w.id == North && x.kind == "illness" && !slices.ContainsFunc(w.rows["incidents"], isIllness)
}

// personRole is what a person is in an incident of a kind.
func personRole(kind string) string {
	if kind == "injury" || kind == "illness" {
		return "injured"
	}
	return "involved"
}

func (w *workplace) involvedEntities(e reported, z *zone, at time.Time) []safety.Entity {
	list := []safety.Entity{{Type: "zone", ID: z.id, Role: "source"}}
	role := personRole(e.kind)
	switch e.entity {
	case "worker":
		if d := w.onDuty(e.day, at); d != nil {
			list = append(list, safety.Entity{Type: "worker", ID: d.id, Role: role})
		}
	case "driver":
		list = append(list, safety.Entity{Type: "driver", ID: pickOne(w.cal, w.drivers).id, Role: role})
	}
	return list
}

// advanceIncident takes an incident as far as its age allows.
func (w *workplace) advanceIncident(r store.Row, x reported, told time.Time, n int) {
	age := -x.day
	status, steps, last := "reported", int64(0), told
	after := func(days float64) time.Time {
		return told.Add(time.Duration(days * 24 * float64(time.Hour))).Truncate(time.Second)
	}
	switch {
	case age > 21 && n%19 == 7:
		status, steps, last = "void", 1, after(1.2)
		r["void_reason"] = "reported twice"
	case x.severity == "critical":
		status, steps, last = "investigating", 3, after(1.1)
		if age > 10 {
			status = "action_pending"
		}
	case age > 24 && n%8 != 1, age > 12 && n%3 != 1:
		status, steps, last = "closed", 3, after(4+float64(n%7))
		r["closed_at"] = formatMoment(last)
		r["lessons"] = pickOne(w.cal,
			[]string{"Covered in the next shift talk.", "Check added to the weekly round.",
				"Layout changed so that the ways no longer cross."})
	case age > 8:
		status, steps, last = []string{"action_pending", "investigating"}[n%2], 2, after(2)
	case age > 1:
		status, steps, last = "triaged", 1, after(0.7)
	}
	if steps > 1 && status != "void" && grade[x.potential] >= 2 {
		r["root_causes"] = rawJSON([]any{map[string]any{"method": "5whys", "layer": "underlying",
			"text": pickOne(w.cal, []string{"No fixed inspection interval", "Walkway and truck way cross",
				"Time pressure at shift change", "Task not covered by the induction", "Defect known but not reported on"})}})
	}
	if status == "investigating" || status == "action_pending" {
		r["lead_user_id"], r["due_on"] = w.userID("safety"), w.cal.localDate(min(14, x.day+21))
	}
	// What is serious was investigated, and ended with a root cause.
	if serious := grade[x.severity] >= 3 || x.potential == "critical"; status == "investigating" ||
		serious && (status == "closed" || status == "action_pending") {
		r["lead_user_id"], r["due_on"], r["investigated_at"] = w.userID(
			"safety",
		), w.cal.localDate(
			min(14, x.day+21),
		), formatMoment(
			w.cal.clipToNow(after(1)),
		)
	}
	if last.After(w.cal.now) {
		last = told
	}
	r["status"], r["updated_at"], r["version"] = status, formatMoment(last), 1+steps
}

var remedies = []struct{ title, level, kind string }{
	{
		"Paint and fence the pedestrian way at the aisle end",
		"engineer",
		"corrective",
	}, {"Replace the hydraulic seal of the leveller", "engineer", "corrective"},
	{
		"Brief all shifts on horn and speed rules",
		"administrate",
		"preventive",
	}, {"Order cut-resistant gloves for the opening station", "ppe", "corrective"},
	{"Fit a mirror at the crossing", "engineer", "corrective"},
	{"Replace step ladders by a rolling platform", "substitute", "preventive"},
	{"Add the dock floor to the daily round", "administrate", "preventive"},
	{"Check all wrapped pallets above 2 m", "administrate", "containment"},
	{
		"Move the charging station behind the fire wall",
		"eliminate",
		"preventive",
	}, {"Wheel chocks and light interlock at all docks", "engineer", "corrective"},
	{"Repair the rack upright and reload the bay", "engineer", "corrective"},
	{"Height-adjustable packing tables", "engineer", "preventive"},
}

// writeActions writes what is done about every second incident: finished for the old
// ones, some late for the newer ones.
func (w *workplace) writeActions(days []int) {
	open := 0
	for n, in := range w.rows["incidents"] {
		status := in["status"].(string)
		if n%2 == 1 && status != "action_pending" || status == "void" || status == "reported" {
			continue
		}
		told, err := time.Parse(time.RFC3339, in["reported_at"].(string))
		if err != nil {
			continue
		}
		m := remedies[(n*5)%len(remedies)]
		made := w.cal.clipToNow(told.Add(3 * time.Hour))
		age := -days[n]
		r := store.Row{
			"action_no":        w.nextNumber("AC", made),
			"title":            m.title,
			"type":             m.kind,
			"source":           "incident",
			"incident_id":      in["id"],
			"source_id":        in["id"],
			"control_level":    m.level,
			"priority":         in["severity"],
			"assignee_user_id": []string{w.userID("manager"), w.userID("operator"), w.userID("safety")}[n%3],
			"evidence":         rawJSON([]any{}),
			"created_by":       w.userID("safety"),
		}
		r["verifier_user_id"] = w.otherUser("admin", r["assignee_user_id"])
		if status == "closed" {
			w.finishAction(r, made, age)
		} else {
			w.leaveActionOpen(r, open, age)
			open++
		}
		w.addRecord("actions", -age, made, r)
	}
}

// otherUser is the user with a name part, or another one where that is who did the
// work: nobody verifies his own.
func (w *workplace) otherUser(local string, doer any) string {
	if id := w.userID(local); id != doer {
		return id
	}
	return w.userID("operator")
}

func (w *workplace) finishAction(r store.Row, made time.Time, age int) {
	due := -age + 14
	w.dueOn(r, due)
	done := made.Add(time.Duration(24+age%24) * time.Hour)
	verified := done.Add(20 * time.Hour)
	if verified.After(w.cal.now) {
		done, verified = made, w.cal.now
	}
	if age%11 == 3 {
		r["status"], r["cancel_reason"], r["updated_at"], r["version"] = "cancelled", "replaced by a rebuild of the area",
			formatMoment(done), int64(2)
		return
	}
	r["evidence"] = rawJSON([]any{map[string]any{"kind": "note", "text": "Done and checked on site."}})
	r["status"], r["completed_at"], r["completed_by"], r["verified_at"] = "verified", formatMoment(done),
		r["assignee_user_id"], formatMoment(verified)
	if review := verified.AddDate(0, 0, 14); review.Before(w.cal.now) {
		r["effectiveness"], r["reviewed_at"] = "effective", formatMoment(review)
		verified = review
	} else {
		r["review_on"] = localtime.DateOf(review, w.cal.loc).String()
	}
	r["updated_at"], r["version"] = formatMoment(verified), int64(4)
}

func (w *workplace) leaveActionOpen(r store.Row, nth, age int) {
	due := []int{-6, 5, 12, -2, 9, 3, 20}[nth%7]
	w.dueOn(r, max(due, -age+1))
	r["status"] = "open"
	switch nth % 5 {
	case 1, 3:
		r["status"], r["version"] = "in_progress", int64(2)
	case 4:
		if age < 2 {
			return
		}
		r["status"], r["completed_at"], r["completed_by"], r["version"] = "done", formatMoment(w.cal.now.Add(-time.Hour)),
			r["assignee_user_id"], int64(3)
		r["evidence"] = rawJSON([]any{map[string]any{"kind": "note", "text": "Ready for verification."}})
	}
}

func (w *workplace) dueOn(r store.Row, day int) {
	r["due_on"] = w.cal.localDate(day)
	if date, err := localtime.ParseDate(w.cal.localDate(day)); err == nil {
		r["due_at"] = formatMoment(date.End(w.cal.loc))
	}
}
