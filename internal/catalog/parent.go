package catalog

import (
	"fmt"
	"slices"
)

// ParentRecord is a reference from a row to the record that it is kept with.
type ParentRecord struct {
	Column   string
	Resource *Resource // the record's
}

// linkParents finds the resources that a resource's Parents point to.
func (c *Catalog) linkParents(r *Resource) error {
	for _, column := range r.Parents {
		f := r.byName[column]
		if f == nil || f.Ref == "" || len(c.byName[f.Ref].Parents) > 0 {
			return fmt.Errorf("catalog: %s: its parent %q is no reference to a record that stands alone",
				r.Name, column)
		}
		r.parents = append(r.parents, ParentRecord{column, c.byName[f.Ref]})
	}
	for _, g := range append(slices.Clone(r.Access.Read), r.Access.Create...) {
		if g.Scope == Parent && len(r.Parents) == 0 {
			return fmt.Errorf("catalog: %s grants what stands beside a record, and names none", r.Name)
		}
	}
	return nil
}

// ParentRecords returns the references by which a row may name the record that it
// is kept with.
func (r *Resource) ParentRecords() []ParentRecord { return r.parents }
