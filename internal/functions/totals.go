package functions

import (
	"sort"
	"strings"

	"holdfast/internal/decimal"
	"holdfast/internal/safety"
)

// States that count as active.
var (
	activePicks     = []string{"released", "in_progress"}
	activeShipments = []string{"planned", "packed", "ready", "in_transit", "arrived", "exception"}
	activeDrivers   = []string{"available", "assigned", "on_trip"}
)

// totals are a tenant's counters by name (see catalog.Counter).
type totals map[string]int64

// of sums the counters name:state for the states.
func (t totals) of(name string, states ...string) int64 {
	var n int64
	for _, s := range states {
		n += t[name+":"+s]
	}
	return n
}

// all sums every counter of a name.
func (t totals) all(name string) int64 {
	var n int64
	for k, v := range t {
		if strings.HasPrefix(k, name) && len(k) > len(name) && k[len(name)] == ':' {
			n += v
		}
	}
	return n
}

// inventory are the interface's inventory metrics.
type inventory struct {
	items, low int64
	value      decimal.Dec
}

func (t totals) inventory() inventory {
	return inventory{
		items: t.of("items", "active:true", "active:false"),
		low:   t["items:active:true"],
		value: decimal.Dec(t["items.stock_value"]),
	}
}

func (v inventory) append(b []byte) []byte {
	b = appendMember(append(b, '{'), "total_items", v.items)
	b = appendMember(append(b, ','), "low_stock_count", v.low)
	b = v.value.Append(append(b, `,"total_stock_value":`...))
	return append(b, '}')
}

// incidents are the interface's safety metrics: over all incidents that are
// not void, without a window.
type incidents struct {
	total, critical, open int64
	kinds                 map[string]int64
}

func (t totals) incidents() incidents {
	in := incidents{kinds: map[string]int64{}}
	for name, n := range t {
		parts := strings.Split(name, ":")
		if parts[0] != "incidents" || len(parts) != 4 || parts[1] == "void" || n == 0 {
			continue
		}
		in.total += n
		in.kinds[parts[3]] += n
		if parts[2] == "critical" {
			in.critical += n
		}
		if safety.OpenIncident(parts[1]) {
			in.open += n
		}
	}
	return in
}

func (in incidents) append(b []byte, kinds bool) []byte {
	b = appendMember(append(b, '{'), "total_incidents", in.total)
	b = appendMember(append(b, ','), "critical_incidents", in.critical)
	b = appendMember(append(b, ','), "open_incidents", in.open)
	b = append(b, `,"incidents_by_category":`...)
	if kinds {
		b = appendCounts(b, in.kinds, "injury", "near_miss", "hazard")
	} else {
		b = append(b, "{}"...)
	}
	return append(b, '}')
}

// appendCounts writes an object of counts: the named keys always, others when
// they count something, in alphabetical order behind them.
func appendCounts(b []byte, counts map[string]int64, always ...string) []byte {
	rest := make([]string, 0, len(counts))
	for k, n := range counts {
		if n != 0 && !contains(always, k) {
			rest = append(rest, k)
		}
	}
	sort.Strings(rest)
	b = append(b, '{')
	for i, k := range append(append([]string{}, always...), rest...) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(b, k, counts[k])
	}
	return append(b, '}')
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// jobs writes the interface's import metrics: total_imported leaves out what
// was rolled back.
func (t totals) jobs(b []byte) []byte {
	b = appendMember(append(b, '{'), "total_jobs", t.all("import_jobs"))
	b = appendMember(append(b, ','), "completed_jobs", t["import_jobs:completed"])
	b = appendMember(append(b, ','), "failed_jobs", t["import_jobs:failed"])
	b = appendMember(append(b, ','), "total_imported", t.all("import_jobs.imported")-t["import_jobs.imported:rolled_back"])
	return append(b, '}')
}
