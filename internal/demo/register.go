package demo

import (
	"maps"

	"holdfast/internal/safety/register"
	"holdfast/internal/store"
)

// registerResources are the records of the risk register, in the order in which references
// point backwards. What it published is left to whoever tries it: a version is kept 40 years.
var registerResources = [...]string{register.Units, register.Entries}

// hazard is a risk of the demonstration's register, with days from today for its review.
type hazard struct {
	family, situation, harm, existing string
	severity                          string
	likelihood                        int64
	measure, level                    string
	severityAfter                     string
	likelihoodAfter                   int64
	review                            int
	isDone                            bool // the measure is in place and was found effective
}

// stations are the work units of the demonstration's register.
var stations = []struct {
	code, name, zones string
	headcount         int64
	activities, kinds []string
	hazards           []hazard
}{
	{"U-DOCK", "Receiving and docks", "RCV", 9, []string{"Unloading", "Checking goods"}, []string{"forklift"},
		[]hazard{
			{"powered_truck", "People on foot cross the lanes of forklifts at the dock.", "Crushing, death",
				"Marked walkways, horn at corners", "critical", 3, "Barriers between walkway and lane", "engineer",
				"critical", 1, 60, false},
			{"manual_handling", "Mixed pallets are unloaded by hand, up to 30 kg a piece.", "Back injury",
				"Training in lifting", "medium", 4, "Vacuum lifter at lane 2", "engineer", "medium", 2, -6, false},
			{"thermal", "Dock doors stand open in winter and in summer heat.", "Cold, heat exhaustion",
				"Warm clothing, water", "medium", 3, "Rapid doors with air curtains", "engineer", "low", 2, 120, false},
		}},
	{"U-PICK", "Picking", "P", 14, []string{"Picking", "Replenishing"}, []string{"order_picker", "pallet_truck"},
		[]hazard{
			{"psychosocial", "Rates are compared by the hour, and breaks are put off at peaks.",
				"Stress, sleep disorder", "Rotation of tasks", "medium", 4,
				"Rates by team instead of by person, fixed breaks", "eliminate", "medium", 2, 45, false},
			{"slip_trip", "Film and straps lie in the aisles.", "Fractures", "Bins at the end of each aisle", "high", 3,
				"Cleaning round twice a shift", "administrate", "high", 1, 90, true},
		}},
	{"U-PACK", "Packing and dispatch", "SHIP", 7, []string{"Packing", "Labelling", "Loading"}, []string{"conveyor"},
		[]hazard{
			{"machinery", "Hands reach between carton and side guide of the running conveyor.", "Crushed fingers",
				"Emergency stop at each bench", "high", 3, "Guard with interlock", "engineer", "high", 1, 75, true},
			{"noise", "Strapping machines and conveyors run all shift, 82 dB(A).", "Loss of hearing",
				"Ear plugs are offered", "medium", 3, "Hood over the strapping machine", "substitute", "medium", 1, 150,
				false},
		}},
}

// checkedDaysAgo is when the measures that are in place were looked at, and done before.
const checkedDaysAgo = 20

// writeRegister writes the work units and their risks. It draws nothing but ids, and comes
// last as the units of quantities do.
func (w *workplace) writeRegister() {
	made := w.cal.momentAt(-goLive-1, 9)
	for _, s := range stations {
		var zones []string
		site := w.sites[0]
		for _, z := range w.zonesIn(s.zones) {
			if len(zones) < 4 && w.sites[z.site] == site {
				zones = append(zones, z.id)
			}
		}
		unit := w.cal.newID(-goLive-1, made)
		w.addRecord(register.Units, -goLive-1, made, store.Row{"id": unit, "code": s.code, "name": s.name,
			"site_id": site, "headcount": s.headcount, "activities": rawJSON(s.activities),
			"zone_ids": rawJSON(append([]string{}, zones...)), "equipment_kinds": rawJSON(s.kinds),
			"created_by": w.userID("safety")})
		for _, h := range s.hazards {
			row := store.Row{"entry_no": w.nextNumber("RK", made), "unit_id": unit, "hazard_family": h.family,
				"situation": h.situation, "possible_harm": h.harm, "existing_measures": h.existing,
				"severity_before": h.severity, "likelihood_before": h.likelihood, "measure": h.measure,
				"control_level": h.level, "severity_after": h.severityAfter, "likelihood_after": h.likelihoodAfter,
				"owner_user_id": w.userID("safety"), "review_on": w.cal.localDate(h.review),
				"created_by": w.userID("safety")}
			if h.isDone {
				maps.Copy(row, store.Row{"measure_done_on": w.cal.localDate(-2 * checkedDaysAgo),
					"effect_checked_on": w.cal.localDate(-checkedDaysAgo), "effective": true})
			}
			register.RateEntry(row)
			w.addRecord(register.Entries, -goLive-1, made, row)
		}
	}
}
