package plan

import (
	"fmt"
	"strings"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
)

// Where years of two digits lie.
const (
	YearsPast   = "past"
	YearsFuture = "future"
)

// pastFields are of what has happened when it is written down. Not left_on: the day a
// contract ends may be known before.
var pastFields = map[string]bool{
	"hired_on": true, "occurred_at": true, "reported_at": true, "started_at": true, "ended_at": true, "completed_at": true,
	"made_on": true, "received_on": true, "requested_at": true,
}

// IsExpiry reports a field of the day until which something is good.
func IsExpiry(f *catalog.Field) bool {
	return strings.Contains(f.Name, "expir") || f.Name == "best_before"
}

// shortYears says where a field's years of two digits lie: past, future, or "" for near
// to now.
func (s *Settings) shortYears(f *catalog.Field) string {
	if pastFields[f.Name] {
		return YearsPast
	}
	if IsExpiry(f) || strings.Contains(f.Name, "due") || strings.HasPrefix(f.Name, "promised") {
		return YearsFuture
	}
	return s.ShortYears
}

// WithYear is a moment with the century that its field, or the options, give to a year of
// two digits. ok is false where neither does and no century is near.
func (s *Settings) WithYear(f *catalog.Field, m cell.Moment, now time.Time) (at cell.Moment, ok bool) {
	if !m.Short || now.IsZero() {
		return m, true
	}
	switch s.shortYears(f) {
	case YearsPast:
		return m.InThePast(now), true
	case YearsFuture:
		return m.InTheFuture(), true
	}
	return m.Nearest(now)
}

// noteTime notes numbers that may count from 1970, and years of two digits that may be
// of either century.
func (w *watch) noteTime(text string, kind sheet.Kind, s *Settings, now time.Time) {
	if w.epoch == "" && kind != sheet.Dated && cell.EpochUnit(text) != "" {
		w.epoch = strings.Clone(strings.TrimSpace(text)) // not the whole row with it
	}
	if kind == sheet.Written && w.far == "" && s.shortYears(w.column.Field) == "" && cell.IsFarYear(text, now) {
		w.far = strings.Clone(strings.TrimSpace(text)) // not the whole row with it
	}
}

// settleTimes asks about numbers that may count from 1970, and about years of two digits,
// where no option says what they mean.
func (v *Survey) settleTimes(list []watch) error {
	for i := range list {
		w := &list[i]
		if w.epoch != "" && v.Settings.Epoch == "" {
			unit := cell.EpochUnit(w.epoch)
			at, _ := cell.Epoch(w.epoch, unit)
			return askQuestion("options.epoch",
				"column %q has numbers such as %s: are they %s since 1970 (this one is %s)? Say so (epoch: %s)",
				w.column.Header, w.epoch, unit, at.Format("2 January 2006, 15:04 UTC"), unit)
		}
		if w.far != "" && v.Settings.ShortYears == "" {
			return askQuestion("options.short_years",
				"column %q has years of two digits such as in %s: do they lie in the past or in the future? "+
					"Say which (short_years: past or future)",
				w.column.Header, w.far)
		}
	}
	return nil
}

// explainTimes says how a column's numbers are read that count from 1970.
func (v *Survey) explainTimes(f *catalog.Field) string {
	if v.Settings.Epoch == "" || f.Type != catalog.Date && f.Type != catalog.Time {
		return ""
	}
	return fmt.Sprintf(" Its numbers are %s since 1970.", v.Settings.Epoch)
}
