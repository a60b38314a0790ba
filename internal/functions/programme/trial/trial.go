// Package trial tries the models of scores on the history of one type of entity: it
// fits them and has them forecast periods that are known.
//
// Layer: functions. Begin at [New].
package trial

import (
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/score"
)

// Trial is what the history of one type of entity says about the models. Of a Thin
// one, the history is too short for any.
type Trial struct {
	Kind       string
	Thin       bool
	Panel      *score.Panel
	Report     score.Report
	Prior      score.Prior
	Regression *score.Regression // nil while the data do not carry one
}

// New tries the models on the periods that have hours: a tenant that began half a
// year ago has no year to look back on.
func New(kind string, history *score.Panel, weights score.Weights) (*Trial, error) {
	panel, err := history.SinceFirstHours()
	if err != nil {
		return nil, err
	}
	t := &Trial{Kind: kind, Panel: panel}
	if t.Report, err = score.Backtest(panel, score.Models(weights), score.Origins); err != nil {
		return nil, err
	}
	if t.Prior, err = score.FitPrior(panel.Exposures()); err != nil {
		return nil, err
	}
	t.Regression, err = score.FitRegression(panel)
	if fault.HasCode(err, "too_little_data") {
		t.Regression, err = nil, nil
	}
	return t, err
}

// Champion is the name of the model that won. Where the regression had too little
// data it forecast as the Bayes model.
func (t *Trial) Champion() string {
	if t.Report.Champion == score.NameRegression && t.Regression == nil {
		return score.NameBayes
	}
	return t.Report.Champion
}

// DaysBefore is how many days before today the day of a moment lies, as the tenant
// counts days.
func DaysBefore(now, at time.Time, zone *time.Location) int {
	return max(localtime.DateOf(now, zone).DaysSince(localtime.DateOf(at, zone)), 0)
}

// selectReportsSQL selects when the incidents of a type happened and were reported.
// $1 tenant, $2 type, $3 and $4 the window.
const selectReportsSQL = `
	SELECT part.at, incident.reported_at
	FROM incident_entities AS part
	JOIN incidents AS incident ON incident.tenant_id = $1 AND incident.id = part.incident_id
	WHERE part.tenant_id = $1
		AND part.entity_type = $2
		AND part.at > $3
		AND part.at <= $4
		AND part.kind NOT IN ('near_miss', 'hazard')`

// ReadReports counts the incidents that the forecasts of a trial knew before anybody
// reported them.
func (t *Trial) ReadReports(tx *db.Tx, tenant string, now time.Time, zone *time.Location) error {
	period := func(at time.Time) int { return DaysBefore(now, at, zone) / score.PanelDays }
	args := []any{tenant, t.Kind, t.Panel.Start, now}
	return tx.Query(selectReportsSQL, args, func(r *db.Row) error {
		t.Report.Incidents++
		if period(r.Time(1)) < period(r.Time(0)) {
			t.Report.LateReports++
		}
		return nil
	})
}
