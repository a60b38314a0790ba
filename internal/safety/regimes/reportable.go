package regimes

import "time"

// europeDays is from how many days away an accident counts in Europe: more than three.
const europeDays = 4

// overSevenDays is more than how many consecutive days without the usual work an injury
// is reported in the United Kingdom (RIDDOR 2013 reg. 4(2)).
const overSevenDays = 7

// IsAtWork reports an accident that did not happen between home and work.
func (c *Accident) IsAtWork() bool { return c.Journey != commuting }

// HasStopped reports an accident at work with arrêt: a day away beside that of the
// accident, or death.
func (c *Accident) HasStopped() bool { return c.IsAtWork() && c.IsUnfit() }

// IsUnfit reports an accident with a day away beside that of the accident, or death,
// wherever it happened.
func (c *Accident) IsUnfit() bool { return c.allAway() > 0 || c.HasDied() }

// IsNotifiableInGermany reports an accident with more than three days away, or death;
// those on the way to work are among them (SGB VII § 8(2), § 193(1)).
func (c *Accident) IsNotifiableInGermany() bool { return c.allAway() >= europeDays || c.HasDied() }

// isReportableInGermany reports what the German figures count: notifiable accidents,
// commuting left out.
func (c *Accident) isReportableInGermany() bool { return c.IsAtWork() && c.IsNotifiableInGermany() }

// IsRecordableInGermany reports an accident after which somebody was wholly or partly
// unfit for more than three days, or died (ArbSchG § 6(2)).
func (c *Accident) IsRecordableInGermany() bool {
	return c.IsAtWork() && (c.unfitDays() >= europeDays || c.HasDied())
}

// IsUnderRIDDOR reports an accident at work that is none on a public road (reg. 14(3)).
func (c *Accident) IsUnderRIDDOR() bool { return c.IsAtWork() && c.Journey != onRoad }

// IsOverSevenDays reports more than seven consecutive days without the usual work.
func (c *Accident) IsOverSevenDays() bool { return c.longestRun() > overSevenDays }

// IsRecordableInBritain reports more than three consecutive days without the usual work
// (RIDDOR 2013 reg. 12(1)(c)), or what is reported anyway.
func (c *Accident) IsRecordableInBritain() bool {
	return c.IsUnderRIDDOR() && (c.longestRun() > 3 || c.IsReportableInBritain())
}

// IsReportableInBritain reports an accident that is told to the HSE: of somebody at
// work, with more than seven consecutive days without the usual work, a specified
// injury, or death within a year.
func (c *Accident) IsReportableInBritain() bool {
	return c.IsUnderRIDDOR() && (c.IsOverSevenDays() || c.IsSpecified || c.HasDiedInAYear())
}

// NthDayAway is the day that is the nth one away, as midnight UTC; the zero time when
// there are fewer. No day is in two absences of a case.
func (c *Accident) NthDayAway(n int64) time.Time {
	for day := c.Injured.AddDate(0, 0, 1); !day.After(c.Today); day = day.AddDate(0, 0, 1) {
		if n -= min(1, c.awayDays(day, day)); n == 0 {
			return day
		}
	}
	return time.Time{}
}
