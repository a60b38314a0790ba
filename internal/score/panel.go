package score

import (
	"fmt"
	"math"
	"time"
)

// PanelDays is the length of one period of a panel.
const PanelDays = 28

// yearPeriods is a year of periods (364 days), the history the Bayes models
// read and the least over which a season can be seen.
const yearPeriods = 13

// Cell is what happened to one entity in one period. Overdue (open actions past
// due) and ChecklistGap (1 - checklist compliance, 0..1) are as at its end;
// Workload is 1 at standard.
type Cell struct {
	Events       float32
	NearMisses   float32
	Hours        float32
	Workload     float32
	Overdue      float32
	ChecklistGap float32
}

// Panel is the history of peers in consecutive periods of 28 days, 24 bytes per
// cell. Features of a period are read from the periods before it only.
type Panel struct {
	Entities int
	Periods  int
	Start    time.Time // first moment of period 0
	Bounds   Bounds    // of the entity type
	stride   int
	cells    []Cell
}

// NewPanel returns an empty panel whose period 0 begins at start, or
// fault.Invalid naming the dimension or bound refused.
func NewPanel(entities, periods int, start time.Time, b Bounds) (*Panel, error) {
	err := firstError(
		inRange("entities", float64(entities), 1, 1e7),
		inRange("periods", float64(periods), 1, 1000),
		b.checkBounds(),
	)
	if err != nil {
		return nil, err
	}
	return &Panel{entities, periods, start, b, periods, make([]Cell, entities*periods)}, nil
}

// At returns the cell of entity e in period t for filling or reading.
func (p *Panel) At(e, t int) *Cell { return &p.cells[e*p.stride+t] }

// Before returns the panel as it was known before period t; it shares the
// cells. 1 <= t <= Periods.
func (p *Panel) Before(t int) *Panel {
	q := *p
	q.Periods = t
	return &q
}

// Check refuses a NaN, negative or absurd cell as fault.Invalid naming its
// place.
func (p *Panel) Check() error {
	for e := range p.Entities {
		for t := range p.Periods {
			if err := p.At(e, t).checkCell(); err != nil {
				return fmt.Errorf("score: cell of entity %d, period %d: %w", e, t, err)
			}
		}
	}
	return nil
}

func (c *Cell) checkCell() error {
	ok := func(v, most float32) bool { return v >= 0 && v <= most }
	if ok(c.Events, maxCount) && ok(c.NearMisses, maxCount) && ok(c.Hours, maxHours) &&
		ok(c.Workload, maxLoad) && ok(c.Overdue, maxCount) && ok(c.ChecklistGap, 1) {
		return nil
	}
	return firstError(
		inRange("events", float64(c.Events), 0, maxCount),
		inRange("near_misses", float64(c.NearMisses), 0, maxCount),
		inRange("hours", float64(c.Hours), 0, maxHours),
		inRange("workload", float64(c.Workload), 0, maxLoad),
		inRange("overdue", float64(c.Overdue), 0, maxCount),
		inRange("checklist_gap", float64(c.ChecklistGap), 0, 1),
	)
}

// recencyWeight is the weight of period t seen from the end of the panel: half for
// every 180 days from the period's middle, 0 past one year.
func (p *Panel) recencyWeight(t int) float64 {
	if p.Periods-t > yearPeriods {
		return 0
	}
	return Decay((float64(p.Periods-t)-0.5)*PanelDays, HalfLife)
}

// SinceFirstHours returns the panel without the periods before the first hours.
func (p *Panel) SinceFirstHours() (*Panel, error) {
	first := p.Periods
	for e := range p.Entities {
		for t := range first {
			if p.At(e, t).Hours > 0 {
				first = t
				break
			}
		}
	}
	if first == 0 || first == p.Periods {
		return p, nil
	}
	q, err := NewPanel(p.Entities, p.Periods-first, p.Start.Add(time.Duration(first)*PanelDays*24*time.Hour), p.Bounds)
	if err != nil {
		return nil, err
	}
	for e := range q.Entities {
		for t := range q.Periods {
			*q.At(e, t) = *p.At(e, t+first)
		}
	}
	return q, nil
}

// Exposures returns the decayed history of every entity, of a year at most.
func (p *Panel) Exposures() []Exposure {
	xs := make([]Exposure, p.Entities)
	for t := max(0, p.Periods-yearPeriods); t < p.Periods; t++ {
		w := p.recencyWeight(t)
		for e := range xs {
			c := p.At(e, t)
			xs[e].AddEvents(int(c.Events), w)
			xs[e].AddHours(float64(c.Hours), w)
		}
	}
	return xs
}

// inputsBefore returns what the weighted score knew of entity e when period t began:
// the period before it.
func (p *Panel) inputsBefore(e, t int) Inputs {
	c := p.At(e, t-1)
	return Inputs{
		IncidentCount: int(c.Events),
		NearMissCount: int(c.NearMisses),
		ShiftHours:    float64(c.Hours),
		Workload:      float64(c.Workload),
		PeriodDays:    PanelDays,
	}
}

// features of the regression, in their order.
const (
	featNearMiss = iota
	featHours
	featLoad
	featOverdue
	featChecklist
	featSin
	featCos
	features
)

func featureNames() [features]string {
	return [features]string{"near_misses", "shift_hours", "load", "overdue_actions", "checklists", "season_sin", "season_cos"}
}

// fillFeatures writes what is known of entity e when period t >= 1 begins: near
// misses per 1,000 hours of the 84 days before (log), the hours and load terms
// of the weighted score and the open state of the period before, and the
// season at the middle of t.
func (p *Panel) fillFeatures(e, t int, season bool, x []float64) {
	var near, hours float64
	for k := max(0, t-3); k < t; k++ {
		c := p.At(e, k)
		near, hours = near+float64(c.NearMisses), hours+float64(c.Hours)
	}
	clear(x)
	if hours > 0 {
		x[featNearMiss] = math.Log1p(1000 * near / hours)
	}
	c := p.At(e, t-1)
	x[featHours] = rampTo01(7*float64(c.Hours)/PanelDays, p.Bounds.HoursLow, p.Bounds.HoursHigh)
	x[featLoad] = rampTo01(float64(c.Workload), p.Bounds.LoadLow, p.Bounds.LoadHigh)
	x[featOverdue] = math.Log1p(float64(c.Overdue))
	x[featChecklist] = float64(c.ChecklistGap)
	if season {
		x[featSin], x[featCos] = p.seasonTerms(t)
	}
}

func (p *Panel) seasonTerms(t int) (sin, cos float64) {
	mid := p.Start.Add(time.Duration(t)*PanelDays*24*time.Hour + PanelDays*12*time.Hour)
	return math.Sincos(2 * math.Pi * float64(mid.YearDay()-1) / 365.25)
}
