// Package localtime is the calendar of a place: on which day, in which month and
// in which year a moment lies there, and when its days begin and end. A date in a
// record is a day where the tenant is, never a day of UTC, so every package that
// turns a moment into a date does it here.
//
// Layer: foundations. Begin at [DateOf].
package localtime

import (
	"sync"
	"time"

	// Time zones must be known on a machine that has no zone files.
	_ "time/tzdata"
)

// Zones are read from files, and rows of a list each ask for their tenant's: those that
// were read are kept. There are some 600; names written in other ways that are taken too,
// as with two slashes, are not kept beyond mostZones.
const mostZones = 1000

var (
	zoneMu     sync.RWMutex
	zoneByName = map[string]*time.Location{}
)

// Zone returns the time zone of an IANA name, UTC where there is none of that
// name.
func Zone(name string) *time.Location {
	zoneMu.RLock()
	zone := zoneByName[name]
	zoneMu.RUnlock()
	if zone != nil {
		return zone
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return time.UTC
	}
	zoneMu.Lock()
	defer zoneMu.Unlock()
	if len(zoneByName) < mostZones {
		zoneByName[name] = zone
	}
	return zone
}

// Day returns the bounds [from, to) of the day of a place that a moment lies in,
// in UTC. Days around a change of the clock are 23 or 25 hours long.
func Day(at time.Time, zone *time.Location) (from, to time.Time) {
	date := DateOf(at, zone)
	from, to = date.Start(zone), date.AddDays(1).Start(zone)

	// A clock that is set back across midnight shows the end of a date twice. The
	// day then lasts until the clock shows midnight for the second time.
	if at.Before(from) {
		return date.AddDays(-1).Start(zone), from
	}
	return from, to
}

// Month returns the first and the last date of the month of a place that a moment
// lies in.
func Month(at time.Time, zone *time.Location) (first, last Date) {
	year, month, _ := at.In(zone).Date()
	return NewDate(year, month, 1), NewDate(year, month+1, 0)
}

// Year is the year of a place that a moment lies in.
func Year(at time.Time, zone *time.Location) int { return at.In(zone).Year() }

// The places where a date begins first (Kiritimati) and ends last (Baker Island).
var (
	easternmost = time.FixedZone("UTC+14", 14*60*60)
	westernmost = time.FixedZone("UTC-12", -12*60*60)
)

// Dates returns the earliest and the latest date that it is anywhere at a moment:
// bounds for a statement about tenants of several time zones.
func Dates(at time.Time) (earliest, latest Date) {
	return DateOf(at, westernmost), DateOf(at, easternmost)
}
