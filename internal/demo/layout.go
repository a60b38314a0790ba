package demo

import (
	"fmt"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/inventory"
)

// zone is a place and, after the simulation, its load.
type zone struct {
	id, code, name, kind string
	class                string
	parent               *zone
	site                 int
	x, y, z              float64
	seq                  int
	tags                 []string
	blocked              bool
	load                 decimal.Dec // capacity units here and below
	capacity             int64       // capacity units; 0 = unlimited
}

// area is a part of a building in the profile's plan.
type area struct {
	code, name, kind, class string
	x, y                    float64
	aisles, racks, bins     int // an area may be cut into aisles of racks of bins, or into bins alone
	lanes, docks, firstDock int
	tags                    []string
}

// building is a site in the profile's plan.
type building struct {
	code, name, city, state, zip, country, address, gln string
	areas                                               []area
}

func (w *world) addZone(z *zone) *zone {
	z.id = w.cal.newID(-goLive, w.cal.momentAt(-goLive, 9))
	if z.class == "" {
		z.class = "ambient"
	}
	z.seq = len(w.tree) + 1
	w.tree = append(w.tree, z)
	w.zones[z.code] = z
	return z
}

// makeLayout makes the tree of zones, parents first.
func (w *world) makeLayout() {
	for i, b := range w.buildings {
		root := w.addZone(&zone{code: b.code, name: b.name, kind: "area", site: i})
		for _, a := range b.areas {
			w.addArea(root, a)
		}
	}
}

func (w *world) addArea(root *zone, a area) {
	top := w.addZone(&zone{code: a.code, name: a.name, kind: a.kind, class: a.class, parent: root, site: root.site, x: a.x,
		y: a.y, tags: a.tags})
	w.addDocks(top, a)
	if a.aisles == 0 {
		w.addBins(top, a, a.name)
	}
	for i := range a.aisles {
		letter := string(rune('A' + i))
		aisle := w.addZone(&zone{code: a.code + "-" + letter, name: "Aisle " + letter, kind: "aisle", class: a.class,
			parent: top, site: top.site, x: a.x + 4*float64(i), y: a.y})
		for r := 1; r <= a.racks; r++ {
			rack := w.addZone(&zone{code: fmt.Sprintf("%s%02d", aisle.code, r), name: fmt.Sprintf("Rack %s%02d", letter, r),
				kind: "rack", class: a.class, parent: aisle, site: top.site, x: aisle.x, y: a.y + 3*float64(r)})
			w.addBins(rack, a, rack.name)
		}
	}
}

// addBins hangs storage places under a rack, or under the area itself.
func (w *world) addBins(parent *zone, a area, name string) {
	for i := 1; i <= a.bins; i++ {
		w.addZone(&zone{code: fmt.Sprintf("%s-%02d", parent.code, i), name: fmt.Sprintf("%s bin %d", name, i), kind: "bin",
			class: a.class, parent: parent,
			site: parent.site, x: parent.x + 1.2*float64(i-1), y: parent.y, z: 1.6 * float64((i-1)%4), tags: a.tags})
	}
}

// addDocks adds the lanes and docks of a receiving or shipping area. They hold
// goods on their way, without a limit.
func (w *world) addDocks(parent *zone, a area) {
	for i := 1; i <= a.lanes; i++ {
		w.addZone(&zone{code: fmt.Sprintf("%s-L%d", parent.code, i), name: fmt.Sprintf("%s lane %d", a.name, i),
			kind: "staging", parent: parent, site: parent.site, x: parent.x + 5*float64(i-1), y: parent.y + 3})
	}
	for i := range a.docks {
		no := a.firstDock + i
		w.addZone(&zone{code: fmt.Sprintf("DOCK-%d", no), name: fmt.Sprintf("Dock %d", no), kind: "dock", parent: parent,
			site: parent.site, x: parent.x + 6*float64(i), y: parent.y - 2, tags: []string{"powered_truck", "fall_edge"}})
	}
}

// settleCapacities adds up what each zone holds and settles capacities: chosen so that
// most bins are half to four fifths full, some nearly, and one too full.
func (w *stock) settleCapacities() {
	for _, l := range w.levels {
		for z := l.zone; z != nil; z = z.parent {
			z.load += l.item.capacity * decimal.Dec(l.qty)
		}
	}
	near, held := 0, 0
	for _, z := range w.tree {
		if z.kind != "bin" && z.kind != "quarantine" {
			continue
		}
		full := 0.25 + 0.6*w.cal.rng.Float64()
		if z.load > 0 {
			held++
		}
		if z.load > 0 && near < 9 && held%5 == 3 {
			near++
			full = 0.9 + 0.01*float64(near)
			if near == 5 {
				full = 1.06
			}
		}
		z.capacity = roundUp(z.load.Float()/full, 10)
		if z.capacity == 0 {
			z.capacity = 200
		}
		if full >= 0.9 {
			z.capacity = max(1, int64(z.load.Float()/full))
		}
	}
	for i := len(w.tree) - 1; i >= 0; i-- {
		z := w.tree[i]
		if z.parent != nil && z.parent.parent != nil && z.capacity > 0 {
			z.parent.capacity += z.capacity
		}
	}
}

func roundUp(f float64, to int64) int64 { return int64(f/float64(to)+1) * to }

// emitZones writes the tree with its loads.
func (w *stock) emitZones() {
	w.settleCapacities()
	made := w.cal.momentAt(-goLive, 9)
	for _, z := range w.tree {
		r := store.Row{"id": z.id, "code": z.code, "name": z.name, "site_id": w.sites[z.site], "kind": z.kind,
			"x": decimal.FromFloat(z.x), "y": decimal.FromFloat(z.y), "z": decimal.FromFloat(z.z),
			"max_capacity":  wholeUnits(z.capacity),
			"pick_sequence": int64(10 * z.seq), "storage_class": z.class, "mix_policy": "any",
			"hazard_tags": rawJSON(append([]string{}, z.tags...)),
			"status":      "active", "load_units": z.load, "updated_at": formatMoment(w.cal.momentAt(0, 1)), "version": int64(2)}
		if z.parent != nil {
			r["parent_id"] = z.parent.id
		}
		if z.blocked {
			r["status"] = "blocked"
		}
		if z.kind == "rack" {
			r["max_weight_kg"] = wholeUnits(4000)
		}
		if u, ok := inventory.Utilization(z.load, wholeUnits(z.capacity)); ok {
			r["utilization"] = u
		}
		w.addRecord("zones", -goLive, made, r)
	}
}
