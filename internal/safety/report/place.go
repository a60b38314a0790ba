package report

import (
	"context"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
)

// Place is where a link's reports belong.
type Place struct {
	Name     string // of the link, shown on the page
	Tenant   string // name of the organisation
	Location *time.Location
	tenantID string
	link     string
	site     any
	zone     any
}

// IsKnown reports that the link names the zone itself: nobody is asked where it was.
func (p *Place) IsKnown() bool { return p.zone != nil }

// refuseUnknown is the answer to every link that does not work, whatever the reason.
func refuseUnknown() error {
	return fault.New(fault.NotFound, "PGRST116", "this report page does not exist or is switched off")
}

const findSQL = `
	SELECT report_links.id, report_links.name, report_links.zone_id, coalesce(report_links.site_id, zones.site_id),
		sites.timezone, tenants.name, tenants.timezone
	FROM report_links
	JOIN tenants ON tenants.id = report_links.tenant_id
	LEFT JOIN zones ON zones.tenant_id = report_links.tenant_id AND zones.id = report_links.zone_id
	LEFT JOIN sites ON sites.tenant_id = report_links.tenant_id
		AND sites.id = coalesce(report_links.site_id, zones.site_id)
	WHERE report_links.tenant_id = $1
		AND report_links.token = $2
		AND report_links.status = 'active'
		AND tenants.status = 'active'`

// Find returns the place of a token, or fault.NotFound: unknown, disabled,
// switched off by the tenant, or the tenant is suspended.
func (d *Service) Find(ctx context.Context, token string) (*Place, error) {
	tenant, ok := tenantOf(token)
	if !ok {
		return nil, refuseUnknown()
	}
	p := &Place{tenantID: tenant}
	found, on, zone := false, false, ""
	err := d.store.DB().Read(ctx, db.Scope{Tenant: tenant}, func(tx *db.Tx) error {
		tx.Queue(findSQL, []any{tenant, token}, func(r *db.Row) error {
			found = true
			p.link, p.Name, p.zone, p.site, p.Tenant = r.Text(0), r.Text(1), optionalText(r, 2), optionalText(r, 3), r.Text(5)
			if zone = r.Text(4); zone == "" {
				zone = r.Text(6)
			}
			return nil
		})
		tx.Queue(`
			SELECT value
			FROM settings
			WHERE tenant_id = $1
				AND lower(key) = $2`, []any{tenant, Setting}, func(r *db.Row) error {
			on = r.Text(0) == "true"
			return nil
		})
		return tx.Flush()
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("report: find the place: %w", err)
	case !found || !on:
		return nil, refuseUnknown()
	}
	p.Location = localtime.Zone(zone)
	return p, nil
}

func optionalText(r *db.Row, i int) any {
	if r.Null(i) {
		return nil
	}
	return r.Text(i)
}

// findZone is the zone whose code somebody typed, at the link's site where it names one, or nil.
func (d *Service) findZone(ctx context.Context, p *Place, typed string) (any, error) {
	var zone any
	if p.IsKnown() || typed == "" {
		return p.zone, nil
	}
	site, _ := p.site.(string)
	args := []any{p.tenantID, typed, site}
	err := d.store.DB().Read(ctx, db.Scope{Tenant: p.tenantID}, func(tx *db.Tx) error {
		return tx.Query(`
			SELECT id
			FROM zones
			WHERE tenant_id = $1
				AND lower(code) = lower($2)
				AND status <> 'archived'
				AND ($3 = '' OR CAST(site_id AS text) = $3)`, args, func(r *db.Row) error {
			zone = r.Text(0)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("report: look for the zone: %w", err)
	}
	return zone, nil
}
