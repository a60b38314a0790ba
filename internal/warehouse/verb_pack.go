package warehouse

import (
	"holdfast/internal/db"
	"slices"

	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/gs1"
	"holdfast/internal/rpc"
	"holdfast/internal/store"
)

// PackageIn is the carton or pallet.
type PackageIn struct {
	LPN    string       `json:"lpn" max:"64" doc:"Its license plate."`
	SSCC   string       `json:"sscc" max:"18" doc:"Its SSCC, when it has one already; else closing it gives one."`
	Length *decimal.Dec `json:"length_mm" min:"0" unit:"mm" doc:"Outside."`
	Width  *decimal.Dec `json:"width_mm" min:"0" unit:"mm" doc:"Outside."`
	Height *decimal.Dec `json:"height_mm" min:"0" unit:"mm" doc:"Outside."`
	Weight *decimal.Dec `json:"weight_kg" min:"0" unit:"kg" doc:"With its content."`
}

// PackIn says what was packed.
type PackIn struct {
	ShipmentID string           `json:"shipment_id" format:"uuid" names:"shipments" doc:"The shipment that it travels with; or"`
	OrderID    string           `json:"order_id" format:"uuid" names:"orders" doc:"the order that it is for."`
	PackageID  string           `json:"package_id" format:"uuid" names:"packages" doc:"An open package that the goods go into; a new one when absent."`
	Package    *PackageIn       `json:"package" doc:"The new package."`
	Lines      []ShipmentLineIn `json:"lines" required:"true" max:"500" doc:"What went into it: picked, and not packed yet."`
}

// PackOut is the package with what is in it.
type PackOut struct {
	rpc.Answer
	Package    rpc.Record   `json:"package" record:"packages"`
	Shipment   rpc.Record   `json:"shipment" record:"shipments" doc:"Null where it is packed for an order."`
	Lines      []rpc.Record `json:"lines" record:"package_lines"`
	OrderLines []rpc.Record `json:"order_lines" record:"order_lines"`
}

func (w Watch) packGoods(c *rpc.Call, in *PackIn) (*PackOut, error) {
	k := w.workOf(c)
	orders, err := packedFor(c, in)
	if err != nil {
		return nil, err
	}
	id, err := k.packageOf(c, in)
	if err != nil {
		return nil, err
	}
	lines, err := k.fillPackage(c, in, id, orders)
	if err != nil {
		return nil, err
	}
	if in.ShipmentID != "" {
		if err := k.allPacked(in.ShipmentID); err != nil {
			return nil, err
		}
	}
	out := &PackOut{}
	if out.Package, err = c.Again("packages", id); err != nil {
		return nil, err
	}
	rows, err := c.Rows("package_lines", "package_id = $2 ORDER BY id", id)
	if err != nil {
		return nil, err
	}
	out.Lines = c.Records("package_lines", rows)
	if in.ShipmentID != "" {
		if out.Shipment, err = c.Again("shipments", in.ShipmentID); err != nil {
			return nil, err
		}
	}
	rows, err = c.Rows("order_lines", c.DB().InUUID("id", 2)+" ORDER BY id", jsonList(lines))
	out.OrderLines = c.Records("order_lines", rows)
	out.Then("close_package", "Close the package")
	out.Then("pack", "Pack more")
	return out, err
}

// packedFor locks the shipment or order, and returns the orders whose goods may
// go into the package.
func packedFor(c *rpc.Call, in *PackIn) ([]string, error) {
	if (in.ShipmentID == "") == (in.OrderID == "") {
		return nil, fault.New(fault.Invalid, "22023", "name a shipment_id or an order_id").At("shipment_id", "or order_id is required, not both")
	}
	orders := []string{in.OrderID}
	if in.ShipmentID != "" {
		sh, err := c.One("shipments", "shipment_id", in.ShipmentID)
		if err != nil {
			return nil, err
		}
		if st := sh.Text("status"); sh["direction"] != "outbound" || st != "planned" && st != "packed" {
			return nil, notReady("shipment %s is %s", sh.Text("shipment_no"), st).At("shipment_id", "is %s", st)
		}
		orders = store.Texts(sh["order_ids"])
	}
	found, err := c.Lock("orders", "order_id", orders...)
	for _, o := range found {
		if err := checkWorkable(o); err != nil {
			return nil, err
		}
	}
	return orders, err
}

// packageOf is the open package named, or a new one.
func (k work) packageOf(c *rpc.Call, in *PackIn) (string, error) {
	if in.PackageID != "" {
		p, err := c.One("packages", "package_id", in.PackageID)
		if err == nil && p["status"] != "open" {
			err = refuseClosedPackage(p)
		}
		return in.PackageID, err
	}
	row := store.Row{"order_id": db.Null(in.OrderID), "shipment_id": db.Null(in.ShipmentID)}
	if p := in.Package; p != nil {
		if p.SSCC != "" && !gs1.IsSSCC(p.SSCC) {
			return "", fault.New(fault.Invalid, "22023", "%q is no SSCC", p.SSCC).At("package.sscc", "has a wrong length or check digit")
		}
		row["lpn"], row["sscc"] = db.Null(p.LPN), db.Null(p.SSCC)
		for name, v := range map[string]*decimal.Dec{"length_mm": p.Length, "width_mm": p.Width, "height_mm": p.Height, "weight_kg": p.Weight} {
			if v != nil {
				row[name] = *v
			}
		}
	}
	made, err := k.InsertRows("packages", []store.Row{row})
	if err != nil {
		return "", err
	}
	return made[0].Text("id"), nil
}

func refuseClosedPackage(p store.Row) error {
	return fault.New(fault.Conflict, CodeInUse, "package %s is closed; its content no longer changes", p.Text("package_no")).At("package_id", "is closed")
}

// fillPackage puts picked goods into a package.
func (k work) fillPackage(c *rpc.Call, in *PackIn, id string, orders []string) (ids []string, err error) {
	more := map[string]decimal.Dec{}
	for _, l := range in.Lines {
		more[l.LineID] += l.Quantity
		ids = append(ids, l.LineID)
	}
	lines, err := lockLines(c, ids)
	if err != nil {
		return nil, err
	}
	var rows, sets []store.Row
	var said []spoken
	for _, l := range lines {
		q, loose, at := more[l.Text("id")], l.Decimal("qty_picked")-l.Decimal("qty_packed"), slices.Index(ids, l.Text("id"))
		if !slices.Contains(orders, l.Text("order_id")) {
			return nil, notReady("line %v is of another order", l["line_no"]).At(lineField(at, "order_line_id"), "is of another order")
		}
		if q > loose {
			return nil, refuseAbove(lineField(at, "quantity"), q, loose, "is picked and not packed")
		}
		said = append(said, spoken{item: l.Text("item_id"), member: lineField(at, "quantity"), quantity: q, all: loose})
		rows = append(rows, store.Row{"package_id": id, "order_line_id": l["id"], "item_id": l["item_id"], "quantity": q})
		sets = append(sets, store.Row{"id": l["id"], "qty_packed": l.Decimal("qty_packed") + q})
	}
	if err := checkBaseUnitDecimals(c, said...); err != nil {
		return nil, err
	}
	if _, err := k.InsertRows("package_lines", rows); err != nil {
		return nil, err
	}
	return ids, k.UpdateEach("order_lines", sets)
}

// allPacked calls a planned shipment packed once nothing of it is loose.
func (k work) allPacked(id string) error {
	d := readiness{k, map[string][]string{}}
	if err := d.addUnpacked([]string{id}); err != nil || len(d.why[id]) > 0 {
		return err
	}
	rows, err := k.Rows("shipments", "id = $2 AND status = 'planned'", id)
	if err != nil {
		return err
	}
	return k.UpdateRows("shipments", store.TextColumn(rows, "id"), store.Row{"status": "packed"})
}
