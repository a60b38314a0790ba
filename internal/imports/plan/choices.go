package plan

import (
	"fmt"
	"strings"

	"holdfast/internal/catalog"
	"holdfast/internal/imports/cell"
	"holdfast/internal/imports/targets"
)

// guessedChoice is a column that was taken by a usual word for a field of a closed set:
// the word may mean something else, as Genre is the kind of an event, or who was hurt.
type guessedChoice struct {
	Mapped
	filled, known bool // some cell is, one of them names a member
	options       *Settings
}

// guessedChoices are those of the file. Fields that a record cannot do without keep
// their columns, whatever these hold.
func (v *Survey) guessedChoices() []*guessedChoice {
	var list []*guessedChoice
	for _, c := range v.Layout.Cols {
		needed := c.Field.Required && c.Field.Default == "" && v.Target.Defaults[c.Name] == ""
		if c.How == "synonym" && len(c.Field.OneOf) > 0 && c.Field.Type == catalog.Text && !needed {
			list = append(list, &guessedChoice{Mapped: c, options: &v.Settings})
		}
	}
	return list
}

// noteCell notes whether a cell names a member of the closed set.
func (g *guessedChoice) noteCell(text string) {
	if g.known || strings.TrimSpace(text) == "" {
		return
	}
	g.filled = true
	if _, g.known = g.options.Meaning(g.Name, text); !g.known {
		_, g.known = cell.Choice(text, g.Field.OneOf, g.Values)
	}
}

// dropForeign leaves out the columns none of whose cells names a member.
func (v *Survey) dropForeign(list []*guessedChoice) {
	for _, g := range list {
		if g.filled && !g.known {
			v.Layout.Drop(g.Name)
			v.Warnings = append(v.Warnings, fmt.Sprintf("Column %q names none of %s and was left out; a mapping can use it.",
				g.Header, targets.SpokenList(g.Field.OneOf, ", ")))
		}
	}
}
