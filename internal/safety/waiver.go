package safety

import (
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// waiverMonths is the longest term of a waiver unless a setting says otherwise.
const waiverMonths = 12

// waiverSetting is the key of the setting, in section safety.
const waiverSetting = "waiver_months"

// waiverTermSQL selects a tenant's longest term of a waiver. $1 tenant, $2
// waiverSetting.
const waiverTermSQL = `
	SELECT value
	FROM settings
	WHERE tenant_id = $1
		AND section = 'safety'
		AND key = $2`

// changeVerdicts stamps who took note of a verdict, and holds waivers to their
// conditions.
func changeVerdicts(tx *store.Tx, changes []store.Change) error {
	var waived []store.Change
	for _, c := range record.Changes[record.ComplianceEvent](changes) {
		if c.Op != store.Update {
			continue
		}
		if IsChanged(c.Change, "acknowledged_at") {
			c.After.SetAcknowledgedByOrNull(db.Null(tx.UserID))
		}
		if IsChanged(c.Change, "waived_until", "waive_reason") {
			waived = append(waived, c.Change)
		}
	}
	if len(waived) == 0 {
		return nil
	}
	latest, err := readLastWaiverMoment(tx)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.ComplianceEvent](waived) {
		if err := checkWaiver(tx, c.After, latest); err != nil {
			return err
		}
	}
	return nil
}

// readLastWaiverMoment returns the end of the last day on which a waiver that
// begins today may end, where the tenant is.
func readLastWaiverMoment(tx *store.Tx) (time.Time, error) {
	months, zone := int64(waiverMonths), "UTC"
	tx.Queue(waiverTermSQL, []any{tx.TenantID, waiverSetting}, func(r *db.Row) error {
		if set := int64(0); json.Unmarshal([]byte(r.Text(0)), &set) == nil {
			months = set
		}
		return nil
	})
	store.QueueZone(tx.Tx, tx.TenantID, &zone)
	if err := tx.Flush(); err != nil {
		return time.Time{}, fmt.Errorf("safety: longest term of a waiver: %w", err)
	}
	loc := localtime.Zone(zone)
	return localtime.DateOf(tx.Now(), loc).AddMonths(int(months)).End(loc), nil
}

// checkWaiver wants an end, a reason and a second person: one takes note of the
// verdict, another waives it. A waiver that is taken back needs nothing.
func checkWaiver(tx *store.Tx, event record.ComplianceEvent, latest time.Time) error {
	end, reason, acknowledged := event.WaivedUntil(), event.WaiveReason(), event.AcknowledgedBy()
	if end == "" && reason == "" {
		return nil
	}
	if end == "" {
		return RefuseField("waived_until", "is missing: a waiver has an end")
	}
	if reason == "" {
		return NotReady("say why the rule is waived: waive_reason").At("waive_reason", "is missing")
	}
	until, err := time.Parse(db.TimeLayout, end)
	if err != nil {
		return err
	}
	if !until.After(tx.Now()) {
		return RefuseField("waived_until", "has passed")
	}
	if until.After(latest) {
		return RefuseField("waived_until", "lies behind %s, the end of the longest term of a waiver",
			latest.Format(time.RFC3339))
	}
	if acknowledged == "" {
		return NotReady("a waiver needs two people: one acknowledges the verdict, another waives it").
			At("acknowledged_at", "is missing")
	}
	if tx.UserID == "" || acknowledged == tx.UserID {
		return fault.New(fault.Forbidden, "42501",
			"a waiver needs two people: who acknowledged the verdict does not waive it").
			At("waived_until", "is another person's to set")
	}
	return nil
}
