package draft

import (
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/sheet"
	"holdfast/internal/query"
)

// takeParts reads the cells of the file that together give a field.
func (v *Reader) takeParts(d *Draft, c *plan.Mapped, rec *sheet.Record) {
	for _, p := range c.Parts {
		text := rec.Cells[p.Index]
		kind := rec.Kind(p.Index)
		if kind == sheet.Broken {
			d.Fail(p.Header, "formula", "the cell %s", text)
			return
		}
		if kind == sheet.Dated && c.Field.Type != catalog.Time {
			d.Fail(p.Header, "dated", "%s is the date that a spreadsheet made of another text: %s",
				fault.Clip(text, 80), enterAsText)
			return
		}
	}
	v.readInto(d, c, c.TextIn(rec))
}

// moveToNextDay gives times that share the date of one that stands before them in the
// record, and that would lie before it, the day after: a shift from 22:00 to 06:00 ends
// on the next day.
func (v *Reader) moveToNextDay(d *Draft, rec *sheet.Record) {
	if !v.Layout.SharesDates() {
		return
	}
	before := ""
	for i := range v.Target.Columns {
		c := v.Layout.Column(v.Target.Columns[i].Name)
		if c == nil || !c.Shared || c.Field.Type != catalog.Time {
			continue
		}
		at, ok := d.Row[c.Name].(string)
		if !ok {
			continue
		}
		if before != "" && at < before {
			v.readOnNextDay(d, c, c.TextIn(rec))
		} else {
			before = at
		}
	}
}

// readOnNextDay reads a time of the day after the one that a text names.
func (v *Reader) readOnNextDay(d *Draft, c *plan.Mapped, text string) {
	m, err := cell.Date(text, c.Orders...)
	if err != nil {
		return
	}
	m, _ = v.Settings.WithYear(c.Field, m, v.Now)
	m.Date = m.Date.AddDate(0, 0, 1)
	if !m.Exists(v.Zone) {
		d.Fail(c.Header, "date", "%q, on the next day, is a time that no clock showed: summer time began", text)
		return
	}
	d.Row[c.Name] = query.FormatTime(m.In(v.Zone))
}

// unitBeside is the unit that stands beside a number in a column, as its code.
type unitBeside struct{ header, code string }

// giveUnit gives the record the unit that stands beside its quantities, and refuses one
// that is not the record's.
func (v *Reader) giveUnit(d *Draft) {
	field := v.Target.UnitField()
	if field == "" {
		return
	}
	for _, u := range d.units {
		switch given := d.Row[field]; {
		case given == nil && !d.isPending(v.Header(field)) && v.HasUnits():
			d.Row[field] = u.code
		case given == nil:
			d.Fail(u.header, "unit", "a unit cannot stand here: give it in the column of %s", v.Target.Words(field))
		case given != u.code:
			d.Fail(u.header, "unit", "%s is another unit than %v, which the row has as %s", u.code, given, v.Target.Words(field))
		}
	}
}

// checkItemUnit refuses quantities in another unit than the item's stock is counted in.
func (d *Draft) checkItemUnit() {
	for _, u := range d.units {
		if d.unit != "" && d.unit != u.code {
			d.Fail(u.header, "unit", "%s is another unit than %s, which the item is counted in", u.code, d.unit)
		}
	}
}
