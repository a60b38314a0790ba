// Package inventory holds the formulas of stock: how full a place is, what is low,
// how healthy stock is, when to order more, how well it is counted and picked. It
// reads no records.
//
// Layer: domains. Begin at [Assessment].
package inventory

import (
	"strconv"
	"strings"

	"holdfast/internal/decimal"
)

// Utilization is 100 x load / capacity in percent, rounded half up to one
// decimal; both are in the capacity units that the tenant counts in. ok is false when the capacity is 0,
// which means unlimited. It may exceed 100; from a thousand million times the
// capacity on it stays at fullest.
func Utilization(load, capacity decimal.Dec) (percent decimal.Dec, ok bool) {
	if capacity <= 0 {
		return 0, false
	}
	if load/capacity >= crammed {
		return fullest, true
	}
	return (load/capacity*1000 + (load%capacity*2000+capacity)/(2*capacity)) * 1000, true
}

// Up to crammed times the capacity a utilization is computed; fullest stands
// for all beyond, in percent. Both keep it within 64 bits.
const (
	crammed = 1_000_000_000
	fullest = decimal.Dec(100 * crammed * decimal.Scale)
)

// UtilizationSQL is Utilization over SQL expressions, null when unlimited.
func UtilizationSQL(load, capacity string) string {
	replace := strings.NewReplacer("{load}", load, "{capacity}", capacity,
		"{crammed}", strconv.Itoa(crammed), "{fullest}", strconv.FormatInt(int64(fullest), 10))
	return replace.Replace("CASE WHEN {capacity} <= 0 THEN NULL " +
		"WHEN ({load}) / {capacity} >= {crammed} THEN {fullest} " +
		"ELSE (({load}) / {capacity} * 1000 + " +
		"(({load}) % {capacity} * 2000 + {capacity}) / (2 * {capacity})) * 1000 END")
}

// LowStock reports stock at or below its reorder point, in base units (an (s, Q)
// policy: Silver, Pyke & Thomas 2017); a reorder point of 0 means that none is
// kept.
func LowStock(available, reorderPoint decimal.Dec) bool {
	return reorderPoint > 0 && available <= reorderPoint
}
