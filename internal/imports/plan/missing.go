package plan

import (
	"slices"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/imports/targets"
)

// givesLines reports that the file gives lines of records.
func (l *Layout) givesLines(t *targets.Target) bool {
	return t.Lines != nil && slices.ContainsFunc(l.Cols, func(c Mapped) bool { return c.Line })
}

// neededFields are the fields that a row cannot do without.
func (l *Layout) neededFields(t *targets.Target, mode string) map[string]bool {
	need := map[string]bool{"quantity": t.Posts != nil}
	if mode == targets.ModeUpdate {
		for _, k := range t.Resource.Import.Key {
			f, _ := t.Resource.Field(k)
			need[k] = f.Required && f.Default == "" || len(t.Resource.Import.Key) == 1
		}
		return need
	}
	if t.Lines != nil {
		need[t.Resource.Import.Key[0]] = true // which rows are lines of one record
	}
	lined := l.givesLines(t)
	for _, c := range t.Columns {
		if f := c.Field; f.Required && f.Default == "" && t.Defaults[c.Name] == "" && (!c.Line || lined) {
			need[c.Name] = c.Name != LineNumber
		}
	}
	return need
}

// Complete checks that the columns a record cannot do without are there.
func (l *Layout) Complete(t *targets.Target, s Settings) error {
	if s.Mode == targets.ModeUpdate && !t.Keyed() {
		return askQuestion("options.mode", "%s are never changed, only added: use the mode insert", targets.Spoken(t.Name))
	}
	missing := l.listMissing(t, s)
	if len(missing) == 0 {
		return nil
	}
	words := make([]string, len(missing))
	for i, name := range missing {
		words[i] = t.Column(name).Called()
	}
	says := "the file has no column for %s, which %s need. " +
		"Say in the mapping which of its columns is meant, or give one value for all rows"
	if s.Mode != targets.ModeUpdate && l.givesKey(t) {
		says += ". If it only changes records that are there, as a list of prices does, use the mode update"
	}
	f := fault.New(fault.Invalid, "import_question", says, joinWords(words, "and"), targets.Spoken(t.Name)).
		With("columns of the file: "+strings.Join(l.Headers, ", "), "mapping, or options.defaults")
	for _, name := range missing {
		f.At("mapping."+name, "no column gives it")
	}
	return f
}

// listMissing lists what records cannot do without and no column or default gives.
func (l *Layout) listMissing(t *targets.Target, s Settings) []string {
	need, implied := l.neededFields(t, s.Mode), l.impliedMembers(t)
	var out []string
	for i := range t.Columns {
		name := t.Columns[i].Name
		if need[name] && l.Column(name) == nil && s.Defaults[name] == "" && implied[name] == "" {
			out = append(out, name)
		}
	}
	return out
}

// impliedMembers are the members of closed sets that headers say of every row, by field.
func (l *Layout) impliedMembers(t *targets.Target) map[string]string {
	implied := map[string]string{}
	for i := range t.Columns {
		c := &t.Columns[i]
		if len(c.Field.OneOf) == 0 {
			continue
		}
		for _, header := range l.Headers {
			if member := t.ImpliedMember(c, header); member != "" {
				implied[c.Name] = member
			}
		}
	}
	return implied
}

// Fits reports a layout that lacks nothing but what a question for one value settles.
func (l *Layout) Fits(t *targets.Target) bool {
	return !slices.ContainsFunc(l.listMissing(t, Settings{}), func(name string) bool {
		return len(t.Column(name).Field.OneOf) == 0
	})
}
