package report

import (
	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/query"
)

// mine is the resource of links for an actor who may read them, or change them.
func (d *Desk) mine(a actor.Actor, change bool) (*catalog.Resource, error) {
	r, _ := d.store.Catalog().Get("report_links")
	grants := r.Access.Read
	if change {
		grants = r.Access.Update
	}
	_, err := query.Access(a, r, grants)
	return r, err
}
