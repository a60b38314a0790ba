package demo

import (
	"math"
	"time"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
)

// post is what a person does, and in which team.
type post struct {
	title  string
	team   int
	office bool // handles no goods
}

// duty is a person's working day: when it began and ended.
type duty struct {
	*person
	from, to time.Time
	lines    int64 // lines handled: received, put away, picked, shipped
}

// isAtWork reports whether somebody is at work at a moment. At midnight today's work has
// no length yet.
func (d *duty) isAtWork(t time.Time) bool {
	return !t.Before(d.from) && (t.Before(d.to) || d.to.Equal(d.from))
}

// picking is when the first picker goes on a walk.
const picking = 8.6

// rota is who works when. Nobody handles goods outside it.
type rota struct {
	cal    *calendar
	people []*person
	days   map[int][]*duty
}

// onDay is who works on a day.
func (r *rota) onDay(day int) []*duty {
	if list, ok := r.days[day]; ok {
		return list
	}
	var list []*duty
	for i, p := range r.people {
		// One in twenty is away. Number 8 is on leave; drivers stand in for each other.
		if !r.cal.isWorkingDay(day) || i == 8 || day < p.hired || !p.driver && (day*131+i*57+history*40)%20 == 7 {
			continue
		}
		begin, length := r.hoursOf(p, i, day)
		list = append(list, &duty{person: p, from: r.cal.momentAt(day, begin), to: r.cal.momentAt(day, begin+length)})
	}
	r.days[day] = list
	return list
}

// hoursOf is when a person's day begins and how long it is. Two of the crew work
// long days while a colleague is away; the rest keep to the plan.
func (r *rota) hoursOf(p *person, i, day int) (begin, length float64) {
	begin, length = 6, 8.5
	switch {
	case p.driver:
		begin, length = 7, 9
	case p.team == outTeam:
		begin = 9
	case i%4 == 3 && p.team != pickTeam:
		begin = 13
	}
	if day > -28 && (i == 2 || i == 5) {
		length = 11
	}
	if r.cal.localWeekday(day) == time.Thursday && (i == 9 || i == 13) {
		// A late Thursday before an early Friday leaves too little rest.
		begin = map[int]float64{9: 13.4, 13: 10.3}[i]
	}
	return begin + 0.1*float64(i%3), length
}

// findHand is a warehouse worker who is at work at a moment of a day, of the teams
// named if there is one, and notes a line for him. It is "" when nobody is.
func (r *rota) findHand(day int, at time.Time, teams ...int) string {
	d := r.onDuty(day, at, teams...)
	if d == nil {
		return ""
	}
	d.lines++
	return d.id
}

// atWork reports whether somebody is at work at a moment of a day.
func (r *rota) atWork(p *person, day int, at time.Time) bool {
	for _, d := range r.onDay(day) {
		if d.person == p {
			return d.isAtWork(at)
		}
	}
	return false
}

func (r *rota) onDuty(day int, at time.Time, teams ...int) *duty {
	var ours, others []*duty
	for _, d := range r.onDay(day) {
		if d.driver || d.office || !d.isAtWork(at) {
			continue
		}
		others = append(others, d)
		for _, t := range teams {
			if d.team == t {
				ours = append(ours, d)
			}
		}
	}
	if len(ours) == 0 {
		ours = others
	}
	if len(ours) == 0 {
		return nil
	}
	return pickOne(r.cal, ours)
}

// pickersOn are those who pick on a day.
func (r *rota) pickersOn(day int) []*duty {
	var out []*duty
	for _, d := range r.onDay(day) {
		if d.team == pickTeam && !d.office && d.isAtWork(r.cal.momentAt(day, picking)) {
			out = append(out, d)
		}
	}
	if len(out) == 0 { // all are away: somebody of the floor fills in
		for _, d := range r.onDay(day) {
			if d.team == inboundTeam && !d.office {
				return append(out, d)
			}
		}
	}
	return out
}

// writeShifts writes the hours of everybody's days. Those before the tenant began
// come from the book that was kept until then.
func (w *workplace) writeShifts() {
	for day := -w.hoursDays; day <= 0; day++ {
		for i, d := range w.onDay(day) {
			w.writeShift(d, i, day)
		}
	}
}

func (w *workplace) writeShift(d *duty, i, day int) {
	length := d.to.Sub(d.from)
	rest := length / 17 // half an hour of a day of eight and a half
	if day < 0 {
		rest = 30 * time.Minute
	}
	rest = rest.Truncate(time.Minute)
	hours := decimal.FromFloat(math.Round(100*(length-rest).Hours()) / 100)
	zone, machine := w.stationOf(d.person, day)
	units := d.lines
	if units == 0 {
		units = int64(60 * hours.Float() * w.handlingPace(zone, day))
	}
	r := store.Row{"worker_id": d.id, "team_id": w.rows["teams"][d.team]["id"], "started_at": formatMoment(d.from),
		"ended_at": formatMoment(d.to), "break_minutes": int64(
			rest.Minutes(),
		), "hours": hours, "units_done": decimal.FromInt(units), "source": "clock", "status": "approved",
		"zone_id":    nullableID(zone),
		"updated_at": formatMoment(w.cal.clipToNow(d.to.Add(20 * time.Hour))), "version": int64(2)}
	if day > -4 {
		r["status"], r["version"], r["updated_at"] = "closed", int64(1), formatMoment(d.to)
	}
	if machine >= 0 {
		r["equipment_id"] = w.rows["equipment"][machine]["id"]
	}
	made, at := day, d.to
	if day < -goLive {
		made, at = -goLive+2, w.cal.momentAt(-goLive+2, 11+0.01*float64(i))
		r["source"], r["updated_at"] = "import", formatMoment(at)
	}
	w.addRecord("shifts", made, at, r)
}

// handlingPace is how much of 60 units an hour a person handles whose lines are not told
// one by one.
func (w *workplace) handlingPace(zone string, day int) float64 {
	pace := 0.75 + 0.3*w.cal.rng.Float64()
	if day > -28 && zone != "" && w.zones["PCK"] != nil && zone == w.zones["PCK"].id {
		pace += 0.25 // the pick hall has been short of hands
	}
	return pace
}
