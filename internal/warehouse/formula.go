package warehouse

import (
	"sort"
	"strconv"

	"holdfast/internal/decimal"
)

// Utilization is 100 x load / capacity in percent, rounded half up to one
// decimal (domain formulas, inventory). ok is false when the capacity is 0,
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

// utilizationSQL is Utilization over SQL expressions, null when unlimited.
func utilizationSQL(load, capacity string) string {
	return "CASE WHEN " + capacity + " <= 0 THEN NULL WHEN (" + load + ") / " + capacity + " >= " + strconv.Itoa(crammed) + " THEN " + strconv.FormatInt(int64(fullest), 10) + " ELSE ((" + load + ") / " + capacity + " * 1000 + ((" + load + ") % " + capacity + " * 2000 + " + capacity + ") / (2 * " + capacity + ")) * 1000 END"
}

// LowStock reports stock at or below its reorder point; a reorder point of 0
// means that none is kept.
func LowStock(available, reorderPoint decimal.Dec) bool {
	return reorderPoint > 0 && available <= reorderPoint
}

// ABC sorts values (yearly issue value per item) into classes by cumulative
// share, greatest first: up to 80 % of the total A, up to 95 % B, the rest C
// (Flores & Whybark 1987 discuss further criteria). The greatest is always A,
// also when it alone passes 80 %; an item without value is C. The class of
// values[i] is at i of the result.
func ABC(values []decimal.Dec) []string {
	order := make([]int, len(values))
	var total decimal.Dec
	for i, v := range values {
		order[i] = i
		total += v
	}
	sort.SliceStable(order, func(i, j int) bool { return values[order[i]] > values[order[j]] })
	out := make([]string, len(values))
	var sum decimal.Dec
	for n, i := range order {
		sum += values[i]
		switch share := sum.Float() / total.Float(); {
		case values[i] <= 0:
			out[i] = "C"
		case share <= 0.80, n == 0:
			out[i] = "A"
		case share <= 0.95:
			out[i] = "B"
		default:
			out[i] = "C"
		}
	}
	return out
}
