package score

// Marshall is marshall of counts without decay; histories without exposure are
// left out.
func Marshall(xs []Exposure) (alpha, beta float64) {
	return marshall(rawCounts(xs))
}
