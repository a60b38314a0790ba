package report

import (
	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/query"
)

// linksResource is the resource of links for an actor who may read them, or change them.
func (d *Service) linksResource(a actor.Actor, change bool) (*catalog.Resource, error) {
	r, _ := d.store.Catalog().Get("report_links")
	grants := r.Access.Read
	if change {
		grants = r.Access.Update
	}
	_, err := query.Access(a, r, grants)
	return r, err
}
