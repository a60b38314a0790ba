package routing

import (
	"encoding/json"
	"math"
)

// At reads where a shipment's origin or destination lies, a document with lat
// and lon; ok is false where it does not say so within their range.
func At(place []byte) (at Stop, ok bool) {
	var v struct{ Lat, Lon *float64 }
	if json.Unmarshal(place, &v) != nil || v.Lat == nil || v.Lon == nil || math.Abs(*v.Lat) > 90 ||
		math.Abs(*v.Lon) > 180 {
		return Stop{}, false
	}
	return Stop{Lat: *v.Lat, Lon: *v.Lon}, true
}

// Weight adds up weight_kg of a shipment's packages, a list; what is no weight
// counts nothing.
func Weight(packages []byte) (kg float64) {
	var list []struct {
		Weight float64 `json:"weight_kg"`
	}
	if json.Unmarshal(packages, &list) != nil {
		return 0
	}
	for _, p := range list {
		if p.Weight > 0 {
			kg += p.Weight
		}
	}
	return kg
}
