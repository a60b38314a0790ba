package draft

import (
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/plan"
	"holdfast/internal/query"
)

// date reads a date or a time. A month without a day is its last day where it says
// until when something is good; a year of two digits lies in the past where the
// field does. A number counts from 1970 where the options say what.
func (v *Reader) date(c *plan.Mapped, text string) (value any, code, why string) {
	f := c.Field
	if end, ok := cell.MonthEnd(text); ok && f.Type == catalog.Date && plan.IsExpiry(f) {
		return end, "", ""
	}
	if at, ok := cell.Epoch(text, v.Settings.Epoch); ok {
		if f.Type == catalog.Date {
			return at.In(v.Zone).Format(time.DateOnly), "", ""
		}
		return query.FormatTime(at), "", ""
	}
	m, err := cell.Date(text, c.Orders...)
	if err != nil {
		return nil, "date", err.Error()
	}
	m, ok := v.Settings.WithYear(f, m, v.Now)
	if !ok {
		return nil, "date", "has a year of two digits that may be of the past or of the future: write it with four"
	}
	if f.Type == catalog.Date {
		return m.Date.Format(time.DateOnly), "", ""
	}
	if !m.Exists(v.Zone) {
		return nil, "date", "is a time that no clock showed: summer time began"
	}
	return query.FormatTime(m.In(v.Zone)), "", ""
}
