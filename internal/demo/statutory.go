package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/safety/osha"
	"holdfast/internal/safety/report"
	"holdfast/internal/store"
)

// statutoryResources are the records of the statutory log, in the order in
// which references point backwards.
var statutoryResources = [...]string{"osha_cases", "osha_summaries", "report_links"}

// lastYear is what stands on last year's log of an American establishment: it
// was certified, posted and submitted.
var lastYear = []struct {
	month, day int
	kind       string
	title      string
	severity   string
	c          store.Row
}{
	{2, 11, "injury", "Strained back when lifting a pump", "medium",
		store.Row{"basis": "days_away", "outcome": "days_away", "days_away": int64(6), "days_restricted": int64(9),
			"illness_type":   "injury",
			"where_occurred": "Receiving, lane 2", "description": "Strained lower back, lifting a 60 lb pump from the floor",
			"activity_before": "Unloading mixed pallets by hand.",
			"what_happened":   "Lifted a pump alone from floor level and felt a sharp pain when turning.",
			"injury_detail":   "Strain of the lower back.", "object_substance": "Pump in its carton."}},
	{5, 6, "injury", "Punctured by a needle in a returned parcel", "medium",
		store.Row{"basis": "medical_treatment", "outcome": "other", "illness_type": "injury", "privacy_case": true,
			"privacy_reason": "contaminated_sharp",
			"where_occurred": "Returns bench", "description": "Punctured finger, used needle in a returned parcel",
			"discreet_description": "Puncture wound, sharp object in a returned parcel", "emergency_room": true,
			"activity_before": "Opening returned parcels.", "what_happened": "A used needle pierced the glove.",
			"injury_detail": "Puncture of a finger.", "object_substance": "Hypodermic needle."}},
	{7, 22, "injury", "Finger pinched at the roller conveyor", "medium",
		store.Row{
			"basis":            "restricted",
			"outcome":          "restricted",
			"days_restricted":  int64(12),
			"illness_type":     "injury",
			"where_occurred":   "Shipping, conveyor 1",
			"description":      "Crushed right index finger between carton and side guide of a roller conveyor",
			"activity_before":  "Sorting cartons by carrier.",
			"what_happened":    "Reached in to free a jammed carton while the conveyor ran.",
			"injury_detail":    "Contusion of the right index finger.",
			"object_substance": "Roller conveyor.",
		}},
	{8, 30, "illness", "Rash after decanting cleaner", "low",
		store.Row{"basis": "medical_treatment", "outcome": "other", "illness_type": "skin_disorder",
			"where_occurred": "Hazmat room", "description": "Contact dermatitis of both hands, alkaline cleaner",
			"activity_before": "Decanting cleaner into spray bottles.",
			"what_happened":   "Worked without gloves for most of a shift.",
			"injury_detail":   "Contact dermatitis.", "object_substance": "Alkaline cleaner."}},
	{10, 14, "injury", "Cut on the hand when opening cartons", "low",
		store.Row{"basis": "first_aid_only", "where_occurred": "Pick module",
			"description": "Shallow cut on the left hand, carton knife"}},
}

// writeCases writes the cases behind injuries and illnesses, and the annual
// summary of an American establishment.
func writeCases(w *workplace) {
	american := w.country == "US"
	year := w.cal.t0.Year()
	numbers := map[string]int64{}
	if american {
		w.rows["sites"][0]["ein"] = "752634190"
		for i, x := range lastYear {
			w.fileCase(x.c, w.writePastIncident(i, year-1), numbers)
		}
	}
	filed := len(w.rows["osha_cases"])
	for _, in := range w.rows["incidents"] {
		of := func(c store.Row) bool { return c["incident_id"] == in["id"] }
		if kind := in["kind"]; (kind == "injury" || kind == "illness") && in["status"] != "void" &&
			!slices.ContainsFunc(w.rows["osha_cases"][:filed], of) {
			w.fileCase(w.decideCase(in), in, numbers)
		}
	}
	for _, day := range w.earlier {
		lostTime(w, w.cal.workingBefore(day), numbers)
	}
	w.writeReportLinks()
	if american {
		w.writeAnnualSummary(year-1, 46_912, 24, 31)
		w.writeAnnualSummary(year, 0, 0, 0)
	}
}

// writePastIncident writes one of last year's incidents.
func (w *workplace) writePastIncident(i, year int) store.Row {
	x := lastYear[i]
	at := time.Date(year, time.Month(x.month), x.day, 10, 20+i, 0, 0, w.cal.loc).UTC()
	day := -int(w.cal.t0.Sub(at).Hours()/24) - 1
	told := at.Add(40 * time.Minute)
	p := w.people[(2*i+1)%len(w.people)]
	zone := w.zonesIn("RCV")[0]
	w.addRecord("incidents", day, told,
		store.Row{"incident_no": w.nextNumber("IN", told), "kind": x.kind, "severity": x.severity, "title": x.title,
			"description": x.c["what_happened"],
			"occurred_at": formatMoment(at), "occurred_tz": w.timezone, "reported_at": formatMoment(told), "anonymous": false,
			"reported_by": w.userID("admin"), "created_by": w.userID("admin"), "site_id": w.sites[0],
			"zone_id": zone.id, "entities": rawJSON([]safety.Entity{{Type: "zone", ID: zone.id, Role: "source"},
				{Type: "worker", ID: p.id, Role: "injured"}}), "category_tags": rawJSON([]string{"manual_handling"}),
			"confidential": x.c["privacy_case"] == true, "reader_ids": rawJSON([]string{}),
			"root_causes": rawJSON([]any{}), "status": "closed",
			"closed_at": formatMoment(told.AddDate(0, 0,
				12)), "updated_at": formatMoment(told.AddDate(0, 0, 12)), "version": int64(4)})
	return w.rows["incidents"][len(w.rows["incidents"])-1]
}

// decideCase is how the safety officer judged an incident of this year by what
// its report says; what is younger than four days is still open.
func (w *workplace) decideCase(in store.Row) store.Row {
	c := store.Row{"description": in["title"]}
	for _, z := range w.tree {
		if z.id == in["zone_id"] {
			c["where_occurred"] = z.name
		}
	}
	if in["kind"] == "injury" {
		c["illness_type"] = "injury"
	} else {
		c["illness_type"] = "respiratory"
	}
	if w.cal.t0.Sub(parseMoment(in["reported_at"])) < 4*24*time.Hour {
		return store.Row{"illness_type": c["illness_type"]}
	}
	age := int64(w.cal.t0.Sub(parseMoment(in["occurred_at"])).Hours() / 24)
	switch {
	case in["severity"] == "low" || age < 2:
		c["basis"] = "first_aid_only"
	case in["severity"] == "critical":
		c["basis"], c["outcome"], c["days_away"], c["in_patient"] = "days_away", "days_away", min(15, age-1), true
	case len(w.rows["osha_cases"])%2 == 0: // back at once, to lighter work
		c["basis"], c["outcome"], c["days_restricted"] = "restricted", "restricted", min(6, age-1)
	default:
		c["basis"], c["outcome"] = "medical_treatment", "other"
	}
	return c
}

// lostTime writes an injury from before the stories, with days away from work.
func lostTime(w *workplace, day int, numbers map[string]int64) {
	at := w.cal.momentAt(day, 10.7)
	told := at.Add(20 * time.Minute)
	zone, p := w.zonesIn("RCV")[0], w.people[0]
	closed := formatMoment(told.AddDate(0, 0, 20))
	in := w.addRecord(
		"incidents",
		day,
		told,
		store.Row{"incident_no": w.nextNumber("IN", told), "kind": "injury", "severity": "high", "potential_severity": "high",
			"title":            "Broken wrist after a fall from the dock",
			"description":      "Stepped back over the edge while counting pallets.",
			"immediate_action": "First aid, taken to hospital.", "occurred_at": formatMoment(at), "occurred_tz": w.timezone,
			"reported_at": formatMoment(told),
			"anonymous":   false, "reported_by": w.userID("manager"), "created_by": w.userID("manager"), "site_id": w.sites[0],
			"zone_id": zone.id,
			"entities": rawJSON([]safety.Entity{{Type: "zone", ID: zone.id, Role: "source"},
				{Type: "worker", ID: p.id, Role: "injured"}}),
			"category_tags": rawJSON([]string{"fall_height"}), "likelihood": int64(2), "risk_rating": int64(6),
			"root_causes": rawJSON([]any{map[string]any{"method": "5whys", "layer": "underlying",
				"text": "No edge marking at open docks"}}),
			"lead_user_id": w.userID("safety"), "investigated_at": formatMoment(told.AddDate(0, 0, 2)),
			"due_on": w.cal.localDate(day + 21),
			"status": "closed", "closed_at": closed, "updated_at": closed, "version": int64(4)},
	)
	w.fileCase(store.Row{"basis": "days_away", "outcome": "days_away", "days_away": int64(24),
		"days_restricted": int64(10), "illness_type": "injury",
		"where_occurred": zone.name, "description": in["title"]}, in, numbers)
}

// fileCase writes the case of an incident.
func (w *workplace) fileCase(c, in store.Row, numbers map[string]int64) {
	told, at := parseMoment(in["reported_at"]), parseMoment(in["occurred_at"]).In(w.cal.loc)
	// Today's hour changes no record of other days: what would be entered only
	// today was entered at once.
	entered := told.Add(52 * time.Hour)
	if entered.After(w.cal.momentAt(0, 0)) {
		entered = w.cal.clipToNow(told.Add(20 * time.Minute))
	}
	r := store.Row{"incident_id": in["id"], "site_id": in["site_id"], "year": int64(at.Year()), "recordable": "yes",
		"privacy_case": false, "days_away": int64(0), "days_restricted": int64(0),
		"emergency_room": false, "in_patient": false, "amputation": false, "eye_loss": false, "time_unknown": false,
		"work_began": "06:00", "event_time": at.Format("15:04"),
		"entered_at": formatMoment(
			entered,
		), "entered_late": false, "created_by": w.userID("safety"), "updated_at": formatMoment(entered), "version": int64(2)}
	for k, v := range c {
		r[k] = v
	}
	w.fillInjuredPerson(r, in)
	switch r["basis"] {
	case nil:
		r["recordable"], r["entered_at"], r["entered_late"] = "undecided", nil, nil
	case "first_aid_only":
		r["recordable"] = "no"
	default:
		log := r["site_id"].(string) + at.Format("2006")
		numbers[log]++
		r["case_no"] = numbers[log]
	}
	if due := osha.DueAt(record.OSHACase(r), record.Incident(in), at.Location()); !due.IsZero() {
		r["osha_due_at"], r["osha_told_at"] = formatMoment(due), formatMoment(told.Add(3*time.Hour))
	}
	w.addRecord("osha_cases", -1, entered, r)
}

// fillInjuredPerson fills in the injured person: the worker named in the incident, else
// one of the crew.
func (w *workplace) fillInjuredPerson(c, in store.Row) {
	var list []safety.Entity
	if text, ok := in["entities"].(json.RawMessage); ok && json.Unmarshal(text, &list) != nil {
		list = nil
	}
	p := w.people[len(in["title"].(string))%len(w.people)]
	for _, q := range w.people {
		for _, e := range list {
			if e.Type == "worker" && e.ID == q.id {
				p = q
			}
		}
	}
	c["worker_id"], c["employee_name"], c["job_title"] = p.id, p.name, p.job
	i := len(p.name)
	c["birth_date"] = time.Date(1963+(i*7)%40, time.Month(1+i%12), 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	c["hire_date"] = time.Date(2014+i%8, time.Month(1+i%12), 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	c["sex"] = "M"
	if first, _, _ := strings.Cut(p.name, " "); slices.Contains(women, first) {
		c["sex"] = "F"
	}
}

var women = []string{"Anke", "Jana", "Dorota", "Fatima", "Hanna", "Julia", "Lena", "Nadia", "Paula", "Rosa", "Tanja",
	"Ashley", "Ingrid", "Elena", "Gloria", "Jolene", "Agnieszka", "Sabine"}

// writeAnnualSummary writes the annual summary of the first establishment, with the totals
// that its log adds up to. Last year's went all the way.
func (w *workplace) writeAnnualSummary(year, hours, employees, peak int) {
	made := w.cal.momentAt(-goLive+1, 9)
	r := store.Row{"site_id": w.sites[0], "year": int64(year), "avg_employees": int64(employees),
		"additional_hours": int64(hours), "hours_worked": int64(hours), "status": "open"}
	if peak > 0 {
		r["peak_employees"] = int64(peak)
	}
	osha.Total(record.OSHASummary(r), record.From[record.OSHACase](w.rows["osha_cases"]))
	from := time.Date(year, 1, 1, 0, 0, 0, 0, w.cal.loc)
	worked := 0.0
	for _, s := range w.rows["shifts"] {
		if at := parseMoment(s["started_at"]); s["status"] == "approved" && !at.Before(from) &&
			at.Before(from.AddDate(1, 0, 0)) {
			hours, _ := s["hours"].(decimal.Dec)
			worked += hours.Float()
		}
	}
	r["hours_worked"] = int64(hours) + int64(worked+0.5)
	if employees == 0 {
		r["avg_employees"] = int64(len(w.rows["workers"]))
	}
	if year < w.cal.t0.Year() {
		signed := time.Date(year+1, 1, 2, 9, 0, 0, 0, w.cal.loc)
		if signed.After(w.cal.now) {
			signed = w.cal.now
		}
		made = signed.Add(-time.Hour)
		r["status"], r["version"], r["updated_at"] = "submitted", int64(3), formatMoment(signed)
		r["certified_name"], r["certified_title"], r["certified_phone"] = "Ingrid Castellano", "General Manager",
			"+1 214 555 0117"
		r["certified_by"], r["certified_at"], r["submitted_at"] = w.userID("admin"), formatMoment(signed),
			formatMoment(signed)
		r["posted_from"], r["posted_to"] = signed.Format(time.DateOnly),
			time.Date(year+1, 4, 30, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	w.addRecord("osha_summaries", -1, made, r)
}

// writeReportLinks writes the codes on the wall: one for the dock that leaked, or where
// there is none for receiving, and one for the whole site.
func (w *workplace) writeReportLinks() {
	made := w.cal.momentAt(-goLive-2, 13)
	zone := w.zonesIn("RCV")[0]
	if docks := w.zonesIn("DOCK-3"); len(docks) > 0 {
		zone = docks[0]
	}
	for _, l := range []store.Row{{"name": zone.name, "zone_id": zone.id, "site_id": w.sites[zone.site]},
		{"name": w.buildings[0].name, "site_id": w.sites[0]}} {
		secret := make([]byte, 16)
		for i := range secret {
			secret[i] = byte(w.cal.rng.Uint32())
		}
		l["token"], l["status"], l["created_by"] = report.Token(w.profile.id, secret), "active", w.userID("admin")
		w.addRecord("report_links", -goLive-2, made, l)
	}
}
