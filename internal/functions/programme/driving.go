package programme

import (
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/safety"
	"holdfast/internal/score"
	"holdfast/internal/warehouse/driving"
)

// drivingMetrics are what is read of a driver's trips; ok is false where they say
// nothing of it.
var drivingMetrics = map[string]func([]driving.Trip, *time.Location) (of time.Duration, ok bool){
	"driving_day_hours":       alwaysKnown(driving.LongestDay),
	"driving_week_hours":      alwaysKnown(driving.LongestWeek),
	"driving_fortnight_hours": alwaysKnown(driving.LongestFortnight),
	"driving_stint_hours": func(trips []driving.Trip, _ *time.Location) (time.Duration, bool) {
		return driving.LongestStint(trips), true
	},
	"driving_rest_hours": func(trips []driving.Trip, _ *time.Location) (time.Duration, bool) { return driving.ShortestRest(trips) },
}

func alwaysKnown(f func([]driving.Trip, *time.Location) time.Duration) func([]driving.Trip, *time.Location) (time.Duration, bool) {
	return func(trips []driving.Trip, at *time.Location) (time.Duration, bool) { return f(trips, at), true }
}

// tripsSQL selects the routes that drivers began in a window. $1 tenant, $2 and $3 the
// window; the word is a condition.
const tripsSQL = `
	SELECT driver_id, started_at, finished_at, coalesce(driving_min, -1), id
	FROM routes
	WHERE tenant_id = $1
		AND started_at > $2
		AND started_at <= $3
		%s
	ORDER BY driver_id, started_at`

// fillDriving reads drivers' hours off their routes, from the week on before the
// window, so that the weeks and the rests at its edge are whole. A driver without
// a route has no value.
func (s *scan) fillDriving(tx *db.Tx, r *safety.Rule, t *table) {
	g, at, measure := s.groups[score.Driver], localtime.Zone(s.st.place), drivingMetrics[r.Metric]
	args := []any{s.tenant, s.windowStart(r.WindowDays + 7), s.now}
	one := selector{tenant: s.tenant, kind: score.Driver, id: s.in.EntityID}.entityCondition("driver_id", &args)
	var trips []driving.Trip
	who := -1
	tx.Queue(fmt.Sprintf(tripsSQL, one), args, func(row *db.Row) error {
		i := g.findPlace(row, 0)
		if i < 0 {
			return nil
		}
		if i != who {
			who, trips = i, nil
		}
		trips = append(trips, driving.Of(row.Time(1), row.Time(2), s.now, row.Int(3)))
		if of, ok := measure(trips, at); ok && (!t.known[i] || of.Hours() != t.values[i]) {
			t.putValue(i, of.Hours(), row.UUID(4))
		}
		return nil
	})
}
