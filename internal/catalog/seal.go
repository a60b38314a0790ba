package catalog

import (
	"fmt"
	"slices"

	"holdfast/internal/actor"
)

// Seal keeps some rows of a resource from everybody but named readers, whatever the grants say. A
// row is sealed by its own flag, or by that of a record that it is about.
type Seal struct {
	Flag  string       // boolean column of a row that only named readers reach
	Roles []actor.Role // who reach every such row
	Named string       // array column with the accounts of who reach it besides

	By     string   // instead of all these: the reference to a record with a seal
	Except []string // with By: the columns with the account of who reaches the row all the same

	record *Resource // that By points to
}

// Record is the resource with the flag that a seal looks at, nil where it is the row's own.
func (s *Seal) Record() *Resource { return s.record }

// Opens reports a role that reaches sealed rows as it does others.
func (s *Seal) Opens(role actor.Role) bool {
	if s.record != nil {
		return s.record.Seal.Opens(role)
	}
	return role == actor.Service || slices.Contains(s.Roles, role)
}

// linkSeal finds the record that a seal looks at, and holds its columns to the fields.
func (c *Catalog) linkSeal(r *Resource) error {
	s := r.Seal
	if s == nil {
		return nil
	}
	if s.By == "" {
		flag, named := r.byName[s.Flag], r.byName[s.Named]
		if flag == nil || flag.Type != Bool || !flag.Required || named == nil || named.Type != Array {
			return fmt.Errorf("catalog: %s: its seal names no flag or no readers", r.Name)
		}
		return nil
	}
	by := r.byName[s.By]
	if by == nil || c.byName[by.Ref] == nil || c.byName[by.Ref].Seal == nil || c.byName[by.Ref].Seal.By != "" {
		return fmt.Errorf("catalog: %s: its seal %q is no reference to a record with one", r.Name, s.By)
	}
	for _, name := range s.Except {
		if r.byName[name] == nil {
			return fmt.Errorf("catalog: %s: its seal names unknown field %q", r.Name, name)
		}
	}
	s.record = c.byName[by.Ref]
	return nil
}

// TellsText reports a field with words or people in it: what a sealed row keeps from others.
func (f *Field) TellsText() bool {
	isText := f.Type == Text && len(f.OneOf) == 0 && (f.Format == Plain || f.Format == Name)
	return isText || f.Names == "members"
}
