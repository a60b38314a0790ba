package score

// Marshall is marshall of counts without decay; histories without exposure are
// left out.
func Marshall(xs []Exposure) (alpha, beta float64) {
	return marshallMoments(rawCounts(xs))
}

// WithPeers returns the prior of a group whose decayed history is g: its mean
// becomes (alpha + Y)/(beta + E) at the same strength Beta. On the French
// sectors this gained nothing, so no tenant can ask for it.
func (p Prior) WithPeers(g Exposure) Prior {
	p.Mean = (p.Alpha + g.Events) / (p.Beta + g.Units)
	p.Alpha = p.Mean * p.Beta
	return p
}
