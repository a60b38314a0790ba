package cell

import (
	"strings"
	"sync"
	"time"
)

// offsets are the zones that people abbreviate, in minutes east of Greenwich.
// Where an abbreviation has several meanings it is the North American one; one
// whose meanings are all as common (IST, of India, Ireland and Israel) is none.
var offsets = map[string]int{
	"z": 0, "utc": 0, "gmt": 0, "wet": 0,
	"nst": -210, "ndt": -150, "ast": -240, "adt": -180, "est": -300, "edt": -240, "cst": -360, "cdt": -300,
	"mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "akst": -540, "akdt": -480, "hst": -600, "brt": -180, "art": -180,
	"bst": 60, "west": 60, "cet": 60, "cest": 120, "mez": 60, "mesz": 120, "eet": 120, "eest": 180, "sast": 120,
	"msk": 180,
	"pkt": 300, "ict": 420, "wib": 420, "sgt": 480, "hkt": 480, "pht": 480, "awst": 480, "jst": 540, "kst": 540,
	"acst": 570, "acdt": 630, "aest": 600, "aedt": 660, "nzst": 720, "nzdt": 780,
}

// regions are the zones that are called by a word and have summer time.
var regions = map[string]string{
	"newfoundland": "America/St_Johns", "atlantic": "America/Halifax", "eastern": "America/New_York",
	"central":  "America/Chicago",
	"mountain": "America/Denver", "pacific": "America/Los_Angeles", "arizona": "America/Phoenix",
	"alaska": "America/Anchorage", "hawaii": "Pacific/Honolulu",
	"et": "America/New_York", "ct": "America/Chicago", "mt": "America/Denver", "pt": "America/Los_Angeles",
}

// standard are the regions' own times, which "standard time" and "daylight
// time" name whatever the date.
var standard = map[string]string{"atlantic": "a", "eastern": "e", "central": "c", "mountain": "m", "pacific": "p",
	"alaska": "ak"}

// findZone finds a zone by its abbreviation, the region's word or its name in the
// tz database; nil is none.
func findZone(word string) *time.Location {
	low := strings.ToLower(strings.Trim(word, " ()"))
	if region, ok := strings.CutSuffix(low, " time"); ok {
		low = strings.TrimSpace(region)
	}
	for season, letters := range map[string]string{" standard": "st", " daylight": "dt"} {
		if region, ok := strings.CutSuffix(low, season); ok {
			low = standard[region] + letters
		}
	}
	if minutes, ok := offsets[low]; ok {
		return time.FixedZone(strings.ToUpper(low), minutes*60)
	}
	if name := regions[low]; name != "" {
		return loadLocation(name)
	}
	if name := strings.Trim(word, " ()"); strings.Contains(name, "/") {
		return loadLocation(name)
	}
	return nil
}

// known are the locations that were loaded; there are some hundred.
var known sync.Map

func loadLocation(name string) *time.Location {
	if l, ok := known.Load(name); ok {
		return l.(*time.Location)
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	known.Store(name, l)
	return l
}
