package plan

import (
	"slices"
	"strings"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/sheet"
)

// look collects what a file's columns prove of how they are written.
type look struct {
	layout  *Layout
	now     time.Time
	options *Settings
	dates   map[string]*cell.Dates // by field
	marks   map[string]*cell.Marks // by field
	watches []watch
	choices []*guessedChoice
	pairs   []*pair
	samples [][]string // of each column, a few different cells
	sampled int        // rows
}

// watch is a column of the file whose cells are looked at.
type watch struct {
	column  *Mapped
	options *Settings
	at      []int
	dates   *cell.Dates
	marks   *cell.Marks
	texts   map[string]bool

	epoch, far string // the first number that may count from 1970, and date of either century
}

// newLook begins to look at a file.
func (v *Survey) newLook() *look {
	l := &look{
		layout: v.Layout, now: v.now, options: &v.Settings,
		dates: map[string]*cell.Dates{}, marks: map[string]*cell.Marks{},
		choices: v.guessedChoices(), pairs: v.possiblePairs(), samples: make([][]string, len(v.Layout.Headers)),
	}
	for i := range v.Layout.Cols {
		c := &v.Layout.Cols[i]
		w := watch{column: c, options: &v.Settings, at: c.sourceIndexes()}
		switch {
		case c.Field.Ref != "":
			w.texts = map[string]bool{}
			v.Refs[c.Name] = w.texts
		case c.Field.Type == catalog.Date || c.Field.Type == catalog.Time:
			w.dates = &cell.Dates{}
			l.dates[c.Name] = w.dates
		case Number(c.Field):
			w.marks = &cell.Marks{}
			l.marks[c.Name] = w.marks
		default:
			continue
		}
		l.watches = append(l.watches, w)
	}
	return l
}

// seeRecord looks at the cells of a record.
func (l *look) seeRecord(rec *sheet.Record) {
	for i := range l.watches {
		l.watches[i].seeCells(rec, l)
	}
	for _, c := range l.choices {
		if c.Index < len(rec.Cells) {
			c.noteCell(rec.Cells[c.Index])
		}
	}
	for _, p := range l.pairs {
		if c := l.layout.Column(p.field); c != nil {
			p.noteRow(c, rec.Cells)
		}
	}
	if l.sampled < sampledRows && Width(rec.Cells, l.layout.Width) == l.layout.Width {
		l.sampled++
		l.takeSamples(rec.Cells)
	}
}

// seeCells looks at the cells of one field.
func (w *watch) seeCells(rec *sheet.Record, l *look) {
	if w.texts != nil {
		w.noteName(rec)
		return
	}
	for _, i := range w.at {
		if i < len(rec.Cells) && w.dates != nil {
			w.noteTime(rec.Cells[i], rec.Kind(i), l.options, l.now)
		}
		switch {
		case i >= len(rec.Cells) || rec.Kind(i) != sheet.Written:
		case w.dates != nil:
			w.dates.Add(rec.Cells[i])
		default:
			w.noteNumber(rec.Cells[i])
		}
	}
}

// noteNumber notes how a number is written, and whether it has a unit beside it.
func (w *watch) noteNumber(text string) {
	figure := Figure(w.column.Field, text)
	w.marks.Add(figure)
	if len(figure) != len(text) && !w.column.Units {
		_, unit := UnitBeside(w.column.Field, text)
		w.column.Units = unit != ""
	}
}

// noteName notes the name of a record that cells refer to.
func (w *watch) noteName(rec *sheet.Record) {
	if len(w.texts) >= refSample {
		return
	}
	for _, i := range w.at {
		if i >= len(rec.Cells) || rec.Kind(i) == sheet.Broken {
			return
		}
	}
	text := w.column.TextIn(rec)
	if meaning, ok := w.options.Meaning(w.column.Name, text); ok {
		text = meaning
	}
	if strings.TrimSpace(text) != "" {
		w.texts[strings.Clone(fault.Clip(NameIn(text), longestName))] = true // not the whole row with it
	}
}

// A column is shown by a few of its first different cells, shortened.
const (
	sampledRows  = 200
	shownSamples = 3
	sampleLength = 60 // characters
)

// takeSamples keeps cells as samples of their columns.
func (l *look) takeSamples(cells []string) {
	for i, text := range cells {
		if i >= len(l.samples) || len(l.samples[i]) == shownSamples {
			continue
		}
		text = fault.Clip(cell.Line(text), sampleLength)
		if text != "" && !slices.Contains(l.samples[i], text) {
			l.samples[i] = append(l.samples[i], strings.Clone(text)) // not the whole row with it
		}
	}
}
