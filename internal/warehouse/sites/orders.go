package sites

import (
	"encoding/json"
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// Keys of settings.
const (
	settingDefault = "default_site"        // code of a site
	settingAcross  = "orders_across_sites" // true or false
)

// defaultSQL selects the tenant's only site, else the value of the setting that names the
// site of new orders, a text of JSON. $1 tenant, $2 its key.
var defaultSQL = FillStatement(`
	SELECT coalesce(CAST({only site} AS text), CAST((
		SELECT settings.value
		FROM settings
		WHERE settings.tenant_id = $1
			AND lower(settings.key) = $2
	) AS text))`)

// siteSQL selects a site by its code. $1 tenant, $2 code.
const siteSQL = `
	SELECT CAST(sites.id AS text)
	FROM sites
	WHERE sites.tenant_id = $1
		AND lower(sites.code) = lower($2)
		AND sites.archived_at IS NULL`

// ReadDefault returns the site of work for which none is named: the tenant's only one, else
// that of the setting default_site; "" where there is neither.
func ReadDefault(tx *store.Tx) (site string, err error) {
	found, err := tx.Recall(defaultSQL, tx.TenantID, settingDefault)
	if err != nil {
		return "", fmt.Errorf("sites: default: %w", err)
	}
	if isCode := strings.HasPrefix(found, `"`); isCode {
		return findByCode(tx, json.RawMessage(found))
	}
	return found, nil
}

// findByCode returns the site whose code is a text of JSON, "" for none.
func findByCode(tx *store.Tx, value json.RawMessage) (site string, err error) {
	var code string
	if json.Unmarshal(value, &code) != nil {
		return "", nil
	}
	if site, err = tx.Recall(siteSQL, tx.TenantID, code); err != nil {
		return "", fmt.Errorf("sites: by code: %w", err)
	}
	return site, nil
}

// NameOfOrders gives new orders that name no site the tenant's default one. An order that
// has none then may take goods of several sites.
func NameOfOrders(tx *store.Tx, changes []store.Change) error {
	var bare []record.Order
	for _, c := range record.Changes[record.Order](changes) {
		if c.Op == store.Insert && !c.After.HasSiteID() {
			bare = append(bare, c.After)
		}
	}
	if len(bare) == 0 {
		return nil
	}
	site, err := ReadDefault(tx)
	if err != nil {
		return err
	}
	for _, row := range bare {
		row.SetSiteIDOrNull(db.Null(site))
	}
	return nil
}

// CheckSettings refuses a default site that there is not.
func CheckSettings(tx *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.Setting](changes) {
		if c.After == nil || !strings.EqualFold(c.After.Key(), settingDefault) {
			continue
		}
		value := c.After.Value()
		site, err := findByCode(tx, value)
		if err != nil {
			return err
		}
		if site == "" {
			return fault.New(fault.Unprocessable, "22023", "setting %s must be the code of a site", settingDefault).
				At("value", "no site has this code")
		}
	}
	return nil
}

// acrossSQL selects the setting that lets orders take goods of other sites. $1 tenant, $2
// its key.
const acrossSQL = `
	SELECT settings.value
	FROM settings
	WHERE settings.tenant_id = $1
		AND lower(settings.key) = $2`

// ReadAcross reports whether orders of a site may take goods of others, too.
func ReadAcross(tx *store.Tx) (across bool, err error) {
	err = tx.Query(acrossSQL, []any{tx.TenantID, settingAcross}, func(r *db.Row) error {
		across = r.Text(0) == "true"
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("sites: orders across sites: %w", err)
	}
	return across, nil
}

// CheckEntry refuses goods of orders that come in at another site than the orders', unless
// the tenant lets orders go across sites. zones are their ids by the request's fields.
func CheckEntry(tx *store.Tx, orders []record.Order, zones map[string]string) error {
	if len(orders) == 0 || len(zones) == 0 {
		return nil
	}
	var ids []string
	for _, zone := range zones {
		ids = append(ids, zone)
	}
	known, err := ReadOfZones(tx, uniqueIDs(ids))
	if err != nil {
		return err
	}
	numbers, kinds := record.Texts(orders, record.Order.OrderNo), record.Texts(orders, record.Order.Type)
	homes, targets := record.Texts(orders, record.Order.SiteID), record.Texts(orders, record.Order.ToSiteID)
	for field, id := range zones {
		for n, site := range homes {
			isTransfer := kinds[n] == "transfer"
			if isTransfer && site != known[id].SiteID { // what does not arrive comes back to where it left
				site = targets[n]
			}
			if !Differ(site, known[id].SiteID) {
				continue
			}
			across, err := ReadAcross(tx)
			if err != nil || across && !isTransfer {
				return err
			}
			return refuseEntry(tx, numbers[n], site, known[id], field)
		}
	}
	return nil
}

// refuseEntry says of goods of an order that they come in at another site.
func refuseEntry(tx *store.Tx, order, site string, zone Zone, field string) error {
	codes, err := ReadCodes(tx, []string{site, zone.SiteID})
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, CodeElsewhere, "order %s is of site %s, zone %s lies at site %s",
		order, codes[site], zone.Code, codes[zone.SiteID]).
		With("", "name a zone of site "+codes[site]+", or give the order the other site").
		At(field, "lies at another site than the order's")
}
