package localtime

import "time"

// Offset is by how much the clock of a place is ahead of UTC, until it is changed; the
// zero Until is no end.
type Offset struct {
	Until time.Time
	Ahead time.Duration
}

// Offsets lists the offsets of a place between two moments, oldest first: what a statement
// needs to find the dates of moments there.
func Offsets(from, to time.Time, zone *time.Location) []Offset {
	var list []Offset
	for at := from; ; {
		_, seconds := at.In(zone).Zone()
		_, until := at.In(zone).ZoneBounds()
		ahead := time.Duration(seconds) * time.Second
		if until.IsZero() || until.After(to) {
			return append(list, Offset{Ahead: ahead})
		}
		list = append(list, Offset{Until: until.UTC(), Ahead: ahead})
		at = until
	}
}
