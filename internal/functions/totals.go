package functions

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/decimal"
	"holdfast/internal/safety"
)

// States that count as active.
var (
	activePicks     = []string{"released", "in_progress"}
	activeShipments = []string{"planned", "packed", "ready", "in_transit", "arrived", "exception"}
	activeDrivers   = []string{"available", "assigned", "on_trip"}
	openOrders      = []string{"confirmed", "in_progress", "on_hold"}
)

// totals are a tenant's counters by name (see catalog.Counter).
type totals map[string]int64

// sumOf sums the counters name:state for the states.
func (t totals) sumOf(name string, states ...string) int64 {
	var n int64
	for _, s := range states {
		n += t[name+":"+s]
	}
	return n
}

// sumAll sums every counter of a name.
func (t totals) sumAll(name string) int64 {
	var n int64
	for k, v := range t {
		if strings.HasPrefix(k, name) && len(k) > len(name) && k[len(name)] == ':' {
			n += v
		}
	}
	return n
}

// OrdersOut are a tenant's open orders in figures: confirmed, in progress or on
// hold.
type OrdersOut struct {
	Open   int64            `json:"open" doc:"Orders that are confirmed, in progress or on hold."`
	Late   int64            `json:"late" doc:"Those whose promised moment has passed."`
	Stages map[string]int64 `json:"by_stage" doc:"Open orders by stage."`
}

func (t totals) ordersOut(late int64) OrdersOut {
	out := OrdersOut{Open: t.sumOf("orders", openOrders...), Late: late, Stages: map[string]int64{}}
	for name, n := range t {
		if stage, ok := strings.CutPrefix(name, "order_stages:"); ok && stage != "" && n != 0 {
			out.Stages[stage] += n
		}
	}
	return out
}

// InventoryMetrics are a tenant's stock in figures, over active items.
type InventoryMetrics struct {
	Items int64 `json:"total_items" doc:"Active items."`
	Low   int64 `json:"low_stock_count" doc:"Active items whose available quantity, of own stock, is at or below their reorder point."`
	// Value is null for those who do not see what goods cost: it tells the cost of whatever they book.
	Value *decimal.Dec `json:"total_stock_value" doc:"Own stock x unit cost, or null." unit:"the tenant's currency"`
}

func (t totals) activeItems() int64 { return t.sumOf("items", "active:true", "active:false") }

// inventoryMetrics are the figures that role sees.
func (t totals) inventoryMetrics(role actor.Role) InventoryMetrics {
	out := InventoryMetrics{Items: t.activeItems(), Low: t["items:active:true"]}
	if catalog.SeesCosts(role) {
		value := decimal.Dec(t["items.stock_value"])
		out.Value = &value
	}
	return out
}

// SafetyMetrics are a tenant's incidents in figures: all that are not void,
// without a window.
type SafetyMetrics struct {
	Total    int64            `json:"total_incidents" doc:"Incidents that are not void."`
	Critical int64            `json:"critical_incidents" doc:"Those of critical severity."`
	Open     int64            `json:"open_incidents" doc:"Those that are not closed."`
	Kinds    map[string]int64 `json:"incidents_by_category" doc:"Incidents by kind; empty in the lightweight form."`
}

func (t totals) safetyMetrics() SafetyMetrics {
	in := SafetyMetrics{Kinds: map[string]int64{"injury": 0, "near_miss": 0, "hazard": 0}}
	for name, n := range t {
		parts := strings.Split(name, ":")
		if parts[0] != "incidents" || len(parts) != 4 || parts[1] == "void" || n == 0 {
			continue
		}
		in.Total += n
		in.Kinds[parts[3]] += n
		if parts[2] == "critical" {
			in.Critical += n
		}
		if safety.OpenIncident(parts[1]) {
			in.Open += n
		}
	}
	return in
}

// ImportMetrics are a tenant's import jobs in figures.
type ImportMetrics struct {
	Jobs      int64 `json:"total_jobs" doc:"Import jobs."`
	Completed int64 `json:"completed_jobs" doc:"Those that were applied."`
	Failed    int64 `json:"failed_jobs" doc:"Those that failed."`
	Imported  int64 `json:"total_imported" doc:"Records imported, without what was rolled back."`
}

func (t totals) importMetrics() ImportMetrics {
	return ImportMetrics{
		Jobs:      t.sumAll("import_jobs"),
		Completed: t["import_jobs:completed"],
		Failed:    t["import_jobs:failed"],
		Imported:  t.sumAll("import_jobs.imported") - t["import_jobs.imported:rolled_back"],
	}
}
