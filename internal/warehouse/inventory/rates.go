package inventory

import "holdfast/internal/decimal"

// CountAccuracy is 100 x (1 - lines with a variance / lines counted), in
// percent, one decimal, half up; ok is false when nothing was counted. A line
// is wrong by any variance, however small (the inventory record accuracy of
// cycle counting: Brooks & Wilson 2007, Inventory Record Accuracy, 2nd ed.,
// without a tolerance).
func CountAccuracy(lines, wrong int64) (percent decimal.Dec, ok bool) {
	if lines <= 0 {
		return 0, false
	}
	right := max(0, lines-wrong)
	return decimal.Dec((right*2000 + lines) / (2 * lines) * 1000), true
}

// LinesPerHour is what pickers get done: lines picked in an hour of the shifts
// they were picked in, one decimal, half up; ok is false without hours.
func LinesPerHour(lines int64, hours decimal.Dec) (rate decimal.Dec, ok bool) {
	if hours <= 0 {
		return 0, false
	}
	return decimal.Dec((lines*20*decimal.Scale+int64(hours))/(2*int64(hours))) * (decimal.Scale / 10), true
}
