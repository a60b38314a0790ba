// Package jurisdiction switches shipped regulations with the countries of a tenant's
// sites: those of a jurisdiction are active while a site in use, or the tenant's own
// setting, lies in it, and drafts otherwise. A regulation that somebody wrote, or whose
// rule or status somebody changed, is never switched.
//
// Layer: domains. Begin at [Effects].
package jurisdiction

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Words of a regulation's jurisdiction and status.
const (
	unitedStates = "US"
	union        = "EU"

	active = "active"
	draft  = "draft"
)

const (
	resource       = "regulations"
	followsColumn  = "follows_sites"
	statusColumn   = "status"
	codeColumn     = "code"
	archivedColumn = "archived_at"
)

// byHand are the columns with which somebody takes a regulation into their own hands.
var byHand = []string{codeColumn, "title", "jurisdiction", "citation", "url", "category", "rule", "severity",
	statusColumn}

// unionCountries are the member states and those of the European Economic Area, where
// 89/391/EEC, 2003/88/EC and (EC) 561/2006 apply too (EEA Agreement, annexes XIII and
// XVIII). The United Kingdom left both.
var unionCountries = []string{"AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE",
	"IS", "IT", "LI", "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK"}

// jurisdictionOf is the jurisdiction of a country; "" where only global rules hold.
func jurisdictionOf(country string) string {
	if LawOf(country) == unitedStates {
		return unitedStates
	}
	if slices.Contains(unionCountries, country) {
		return union
	}
	return ""
}

// Effects returns the consequences of changes to sites, tenants and regulations, for
// store.New. A site that is deleted counts, in bulk work too.
func Effects() store.Effects {
	return store.Effects{
		Before: map[string]store.Effect{resource: noteHands},
		After: map[string]store.Effect{
			"sites":   followSites,
			"tenants": followTenants,
			resource:  safety.PerTenant(followHandedBack),
		},
	}
}

// engineKey names the server where it switches regulations, which is no act of a person.
const engineKey = "shipped-regulations"

// isShipped reports whether a regulation of that code came with Holdfast.
func isShipped(code string) bool {
	isOfCode := func(row store.Row) bool { return row.Text(codeColumn) == code }
	return slices.ContainsFunc(safety.ShippedRegulations(nil), isOfCode)
}

// noteHands notes that a regulation is in somebody's hands from now on, unless the same
// change hands it back. To set its status is to take it, to the one that it has too.
func noteHands(tx *store.Tx, changes []store.Change) error {
	if tx.KeyID == engineKey {
		return nil
	}
	isServer := tx.Role == actor.Service && tx.UserID == "" && tx.KeyID == "" // a request has a user or a key
	for _, c := range record.Changes[record.Regulation](changes) {
		follows := c.After.FollowsSites()
		isOwn := c.Op == store.Insert || safety.IsChanged(c.Change, followsColumn) && !isShipped(c.After.Code())
		if isOwn && follows && !isServer {
			return safety.RefuseField(followsColumn, "is for shipped rules: no site switches what somebody wrote")
		}
		if c.Op != store.Update {
			continue
		}
		_, setsStatus := c.Given[statusColumn]
		setsFollows := record.Regulation(c.Given).FollowsSites()
		if setsFollows && setsStatus && safety.IsChanged(c.Change, statusColumn, followsColumn) {
			return safety.RefuseField(followsColumn, "is not set together with status: the sites say that")
		}
		isTaken := setsStatus || safety.IsChanged(c.Change, byHand...)
		if isTaken && !setsFollows && !safety.IsChanged(c.Change, followsColumn) {
			c.After.SetFollowsSites(false)
		}
	}
	return nil
}

// followHandedBack switches regulations as soon as they are handed back, or in use again.
func followHandedBack(tx *store.Tx, changes []store.Change) error {
	if tx.KeyID == engineKey {
		return nil
	}
	isBack := func(c store.Change) bool {
		follows, _ := c.After[followsColumn].(bool)
		return c.Op == store.Update && follows && safety.IsChanged(c, followsColumn, archivedColumn)
	}
	if !slices.ContainsFunc(changes, isBack) {
		return nil
	}
	return switchRegulations(tx, false)
}

// followSites switches regulations after sites were made, deleted, archived or moved to
// another country.
func followSites(tx *store.Tx, changes []store.Change) error {
	var tenants []string
	for _, c := range record.Changes[record.Site](changes) {
		if c.Op == store.Update && !safety.IsChanged(c.Change, "country", archivedColumn) {
			continue
		}
		row := c.After
		if row == nil {
			row = c.Before
		}
		if tenant := row.TenantID(); !slices.Contains(tenants, tenant) {
			tenants = append(tenants, tenant)
		}
	}
	for _, tenant := range tenants {
		if err := switchRegulations(tx.Of(tenant), false); err != nil {
			return err
		}
	}
	return nil
}

// followTenants switches the regulations of tenants whose jurisdictions changed, or whose
// country, which is that of sites that name none.
func followTenants(tx *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.Tenant](changes) {
		if c.Op != store.Update || !safety.IsChanged(c.Change, "country", "jurisdictions") {
			continue
		}
		isNamed := safety.IsChanged(c.Change, "jurisdictions")
		if err := switchRegulations(tx.Of(c.After.ID()), isNamed); err != nil {
			return err
		}
	}
	return nil
}

// followingSQL locks the regulations that the server switches: changes of two sites at
// once wait for each other here, and the second sees what the first did. $1 tenant.
const followingSQL = `
	SELECT id, jurisdiction, status
	FROM regulations
	WHERE tenant_id = $1
		AND follows_sites = TRUE
		AND archived_at IS NULL
		AND jurisdiction <> 'Global'
		AND status IN ('active', 'draft')
	ORDER BY id
	{for update}`

// namedSQL selects the jurisdictions that a tenant names itself. $1 tenant.
const namedSQL = `
	SELECT jurisdictions
	FROM tenants
	WHERE id = $1`

// countriesSQL selects where a tenant's sites in use are. $1 tenant.
var countriesSQL = FillStatement(`
	SELECT DISTINCT {country}
	FROM sites AS site
	JOIN tenants AS tenant ON tenant.id = site.tenant_id
	WHERE site.tenant_id = $1
		AND site.archived_at IS NULL
		AND {country} IS NOT NULL`)

// regulation is one that the server switches.
type regulation struct{ id, jurisdiction, status string }

// switchRegulations makes the shipped regulations of the jurisdictions in force active,
// and those of others drafts. A tenant without a site keeps what it has, unless it has
// just named its jurisdictions.
func switchRegulations(tx *store.Tx, isNamed bool) error {
	var following []regulation
	var named, countries []string
	tx.Queue(followingSQL, []any{tx.TenantID}, func(r *db.Row) error {
		following = append(following, regulation{r.Text(0), r.Text(1), r.Text(2)})
		return nil
	})
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("jurisdiction: lock regulations: %w", err)
	}
	if len(following) == 0 {
		return nil
	}
	tx.Queue(namedSQL, []any{tx.TenantID}, func(r *db.Row) error { return json.Unmarshal([]byte(r.Text(0)), &named) })
	tx.Queue(countriesSQL, []any{tx.TenantID}, func(r *db.Row) error {
		countries = append(countries, r.Text(0))
		return nil
	})
	if err := tx.Flush(); err != nil {
		return fmt.Errorf("jurisdiction: read where the sites are: %w", err)
	}
	if len(countries) == 0 && (!isNamed || len(named) == 0) {
		return nil
	}

	inForce := slices.Clone(named)
	for _, country := range countries {
		inForce = append(inForce, jurisdictionOf(country))
	}
	moves := map[string][]string{}
	for _, g := range following {
		status := draft
		if slices.Contains(inForce, g.jurisdiction) {
			status = active
		}
		if status != g.status {
			moves[status] = append(moves[status], g.id)
		}
	}
	server := tx.As(actor.Actor{Role: actor.Service, TenantID: tx.TenantID, KeyID: engineKey})
	for _, status := range []string{draft, active} {
		if err := server.UpdateRows(resource, moves[status], store.Row{statusColumn: status}); err != nil {
			return fmt.Errorf("jurisdiction: switch regulations: %w", err)
		}
	}
	return nil
}
