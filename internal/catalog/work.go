package catalog

import "fmt"

// linkWork holds what a grant of own rows says of work and of other records to the fields
// that it names; check is that of the resource's own.
func (c *Catalog) linkWork(r *Resource, g Grant, check func(what string, names ...string) error) error {
	if g.Beside != "" {
		if err := check("grant", g.Beside); err != nil {
			return err
		}
		whole := c.byName[r.byName[g.Beside].Ref]
		if whole == nil {
			return fmt.Errorf("catalog: %s grants rows by %s, which is no reference", r.Name, g.Beside)
		}
		r.wholes = map[string]*Resource{g.Beside: whole}
	}
	w := g.Work
	if w == nil {
		return nil
	}
	stops := c.byName[w.Stops]
	if stops == nil || stops.byName[w.StopOf] == nil || stops.byName[w.At] == nil {
		return fmt.Errorf("catalog: %s grants work at the stops of %s, which have no %s or %s", r.Name, w.Stops,
			w.StopOf, w.At)
	}
	return check("work", w.Taken, w.Status)
}

// Whole returns the resource that a grant's Beside names.
func (r *Resource) Whole(reference string) *Resource { return r.wholes[reference] }
