package warehouse

import (
	"encoding/json"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/costs"
)

// rules are what a tenant's settings say about the work on the floor, and the
// day it is there.
type rules struct {
	now         time.Time
	zone, date  string       // the tenant's time zone, and what today asked of it
	overReceipt decimal.Dec  // share of an ordered quantity that may come in above it
	adjustLimit *decimal.Dec // value above which an adjustment waits for a second person; nil = never
	countLimit  *decimal.Dec // value up to which a count approves itself; nil = always
	average     bool         // goods move at their average cost
}

// queueRules queues reading them.
func queueRules(tx *db.Tx, tenant string, now time.Time) *rules {
	ru := &rules{now: now}
	store.QueueZone(tx, tenant, &ru.zone)
	tx.Queue(`
		SELECT lower(key), value
		FROM settings
		WHERE tenant_id = $1
			AND section = 'stock'`, []any{tenant},
		func(r *db.Row) error {
			ru.setRule(r.Text(0), r.Text(1))
			return nil
		})
	return ru
}

// localToday is the date where the tenant is, YYYY-MM-DD.
func (ru *rules) localToday() string {
	if ru.date == "" {
		ru.date = localtime.DateOf(ru.now, localtime.Zone(ru.zone)).String()
	}
	return ru.date
}

func (ru *rules) setRule(key, value string) {
	if key == costs.MethodSetting {
		ru.average = costs.IsAverage(value)
		return
	}
	var n decimal.Dec
	if json.Unmarshal([]byte(value), &n) != nil || n < 0 {
		return
	}
	switch key {
	case "over_receipt_tolerance":
		ru.overReceipt = n
	case "adjust_limit_value":
		ru.adjustLimit = &n
	case "count_auto_approve":
		ru.countLimit = &n
	}
}
