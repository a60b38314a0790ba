package faults_test

import (
	"encoding/json"
	"net/http"
	"slices"
)

// These requests lead to a pick or a departure. What the model tells of an item they leave as it is, so that no history
// has them.

// prepare makes of what was chosen by chance what can be asked for: a pick of a line that is there, a shipment that was
// packed. It reports false where nothing came of it.
func (f *floor) prepare(c *http.Client, url string, item int, d deed) (deed, bool) {
	switch d.kind {
	case "pick":
		if len(f.openPicks(item)) == 0 {
			f.releasePicks(c, url, item, d.order)
		}
		return f.takePick(item)
	case "ship":
		return f.packShipment(c, url, item, d)
	}
	return d, true
}

func (f *floor) openPicks(item int) []deed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.picks[item]
}

// takePick takes the oldest line that nobody has picked.
func (f *floor) takePick(item int) (deed, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.picks[item]) == 0 {
		return deed{}, false
	}
	d := f.picks[item][0]
	f.picks[item] = f.picks[item][1:]
	return d, true
}

// releasePicks has lists made of what an order was promised.
func (f *floor) releasePicks(c *http.Client, url string, item, order int) {
	i := f.items[item]
	var out struct {
		Lines []struct {
			ID     string
			LotID  string `json:"lot_id"`
			ZoneID string `json:"zone_id"`
			Qty    int
		}
	}
	if !f.tell(c, url, "release_picks", map[string]any{"order_ids": []string{i.orders[order]}}, &out) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range out.Lines {
		if s := i.spot(l.LotID, l.ZoneID); s >= 0 {
			f.picks[item] = append(f.picks[item], deed{kind: "pick", id: l.ID, order: order, from: s, q: l.Qty})
		}
	}
}

// packShipment packs some of what was picked for an order, in a shipment of its own. One that cannot be packed is
// cancelled again.
func (f *floor) packShipment(c *http.Client, url string, item int, d deed) (deed, bool) {
	i := f.items[item]
	lines := []map[string]any{{"order_line_id": i.lines[d.order], "quantity": d.q}}
	var made struct{ Shipment struct{ ID string } }
	if !f.tell(c, url, "create_shipment", map[string]any{"carrier": "PARCEL", "lines": lines}, &made) {
		return d, false
	}
	d.id = made.Shipment.ID
	var packed struct {
		Package struct{ ID string }
		Lines   []struct {
			LotID    string `json:"lot_id"`
			Quantity int
		}
	}
	ok := f.tell(c, url, "pack", map[string]any{"shipment_id": d.id, "lines": lines}, &packed) &&
		f.tell(c, url, "close_package", map[string]any{"package_id": packed.Package.ID}, nil)
	if !ok {
		_, _, _ = asked(c, http.MethodPatch, url+"/v1/shipments?id=eq."+d.id, f.bearer[url],
			map[string]any{"status": "cancelled"})
		return d, false
	}
	for _, l := range packed.Lines {
		if lot := slices.Index(i.lots[:], l.LotID); lot >= 0 {
			d.lots[lot] += l.Quantity
		}
	}
	return d, true
}

// tell asks for a verb that may be refused, as nobody's history, and reports whether it was done.
func (f *floor) tell(c *http.Client, url, name string, in map[string]any, out any) bool {
	status, body, err := asked(c, http.MethodPost, url+"/v1/rpc/"+name, f.bearer[url], in)
	if err != nil || status == http.StatusConflict {
		return false
	}
	if status != http.StatusOK || out != nil && json.Unmarshal(body, out) != nil {
		f.Errorf("%s %v: %d %s", name, in, status, body)
		return false
	}
	return true
}

// shipped is what has left of an order line.
func (f *floor) shipped(c *http.Client, url, line string) int {
	f.Helper()
	var rows []struct {
		Shipped int `json:"qty_shipped"`
	}
	path := url + "/v1/order_lines?select=qty_shipped&id=eq." + line
	status, body, err := asked(c, http.MethodGet, path, f.bearer[url], nil)
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &rows) != nil || len(rows) != 1 {
		f.Fatalf("the line cannot be read: %d %s %v", status, body, err)
	}
	return rows[0].Shipped
}
