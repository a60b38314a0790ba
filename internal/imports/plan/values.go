package plan

import (
	"strings"

	"holdfast/internal/imports/cell"
)

// Values are what cells mean once and for all rows: by field, and by the text of the
// cell.
type Values map[string]map[string]string

// Meaning is what the options say that a text in the column of a field means.
func (s *Settings) Meaning(field, text string) (meaning string, ok bool) {
	words := s.Values[field]
	if len(words) == 0 {
		return "", false
	}
	text = cell.Line(text)
	if meaning, ok = words[text]; ok {
		return meaning, true
	}
	fold := cell.Fold(text)
	for word, meaning := range words {
		if fold != "" && cell.Fold(word) == fold {
			return meaning, true
		}
	}
	return "", false
}

// unknownLimit is how many different cells that mean nothing are listed of a column.
const unknownLimit = 50

// NoteUnknown lists a text that names no member of a field's closed set, or no record, to
// be given a meaning.
func (p *Processed) NoteUnknown(field, text string) {
	for i := range p.Columns {
		c := &p.Columns[i]
		if c.Field != field || c.How == "joined" && len(c.Parts) == 0 {
			continue
		}
		for _, known := range c.Unknown {
			if known == text {
				return
			}
		}
		if len(c.Unknown) < unknownLimit {
			c.Unknown = append(c.Unknown, strings.Clone(text)) // not the whole row with it
		}
		return
	}
}
