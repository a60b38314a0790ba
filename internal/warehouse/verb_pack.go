package warehouse

import (
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/gs1"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/packing"
)

// PackageIn is the carton or pallet.
type PackageIn struct {
	LPN    string       `json:"lpn" code:"true" max:"64" doc:"Its license plate."`
	SSCC   string       `json:"sscc" code:"true" max:"18" doc:"Its SSCC; closing it gives one when absent."`
	Length *decimal.Dec `json:"length_mm" min:"0" unit:"mm" doc:"Outside."`
	Width  *decimal.Dec `json:"width_mm" min:"0" unit:"mm" doc:"Outside."`
	Height *decimal.Dec `json:"height_mm" min:"0" unit:"mm" doc:"Outside."`
	Weight *decimal.Dec `json:"weight_kg" min:"0" unit:"kg" doc:"With its content."`
}

// PackLineIn is goods of an order line that go into a package or out of it.
type PackLineIn struct {
	LineID   string      `json:"order_line_id" required:"true" format:"uuid" names:"order_lines" doc:"Of an outbound order."`
	Quantity decimal.Dec `json:"quantity" required:"true" min:"0.0001" doc:"Base units."`
	LotID    string      `json:"lot_id" format:"uuid" names:"lots" doc:"Of which lot; any when absent."`
	Serial   string      `json:"serial" code:"true" max:"64" doc:"Which piece; any when absent."`
}

// readIdentity is the lot and piece that a line names, nil where it names none.
func (l PackLineIn) readIdentity() *packing.Identity {
	if l.LotID == "" && l.Serial == "" {
		return nil
	}
	return &packing.Identity{LotID: l.LotID, Serial: l.Serial}
}

// PackIn says what was packed.
type PackIn struct {
	ShipmentID string `json:"shipment_id" format:"uuid" names:"shipments" doc:"The shipment that it travels with; or"`
	OrderID    string `json:"order_id" format:"uuid" names:"orders" doc:"the order that it is for, and the shipment that waits for it."`
	PackageID  string `json:"package_id" format:"uuid" names:"packages" doc:"An open package that they go into; a new one when absent."`

	Package *PackageIn   `json:"package" doc:"The new package."`
	Lines   []PackLineIn `json:"lines" max:"500" doc:"Picked, not packed yet. None to give package_id to the shipment."`
}

// PackOut is the package with what is in it.
type PackOut struct {
	verb.Answer
	Package    verb.Record   `json:"package" record:"packages"`
	Shipment   verb.Record   `json:"shipment" record:"shipments" doc:"That it travels with; null where none takes it yet."`
	Lines      []verb.Record `json:"lines" record:"package_lines"`
	OrderLines []verb.Record `json:"order_lines" record:"order_lines"`
}

// filling is a package that is filled.
type filling struct {
	work
	call     *verb.Call
	in       *PackIn
	shipment string   // that it travels with, "" while none takes it
	orders   []string // whose goods may go into it
	ids      []string // order lines, in the order of the request
	loads    []packing.Load
}

func (w Watch) packGoods(c *verb.Call, in *PackIn) (*PackOut, error) {
	f := &filling{work: w.workOf(c), call: c, in: in, shipment: in.ShipmentID, orders: []string{in.OrderID}}
	if (in.ShipmentID == "") == (in.OrderID == "") {
		return nil, fault.New(fault.Invalid, "22023", "name a shipment_id or an order_id").
			At("shipment_id", "or order_id is required, not both")
	}
	if len(in.Lines) == 0 && in.PackageID == "" {
		return nil, fault.New(fault.Invalid, "22023", "say what is packed").At("lines", "is required")
	}
	for _, l := range in.Lines {
		f.ids = append(f.ids, l.LineID)
	}
	if err := f.lockReceiver(); err != nil {
		return nil, err
	}
	id, err := f.openPackage()
	if err != nil {
		return nil, err
	}
	if err := f.fillPackage(id); err != nil {
		return nil, err
	}
	if err := f.settleShipment(f.shipment); err != nil {
		return nil, err
	}
	return f.makeAnswer(id)
}

func (f *filling) makeAnswer(id string) (out *PackOut, err error) {
	c := f.call
	out = &PackOut{}
	if out.Package, err = c.Again("packages", id); err != nil {
		return nil, err
	}
	packed, err := record.List[record.PackageLine](c.Tx, "package_id = $2 ORDER BY id", id)
	if err != nil {
		return nil, err
	}
	out.Lines = record.ShowList(c, packed)
	if f.shipment != "" {
		if out.Shipment, err = c.Again("shipments", f.shipment); err != nil {
			return nil, err
		}
	}
	ordered, err := record.List[record.OrderLine](c.Tx, c.DB().InUUID("id", 2)+" ORDER BY id", jsonList(f.ids))
	out.OrderLines = record.ShowList(c, ordered)
	out.Then("close_package", "Close the package")
	out.Then("pack", "Pack more")
	out.Then("unpack", "Take goods out again")
	return out, err
}

// lockReceiver locks the shipment, which goods packed for an order have as well
// where it waits for them, and the orders, and reads what shipments wait for.
func (f *filling) lockReceiver() error {
	if f.in.OrderID != "" {
		if err := f.findWaitingShipment(); err != nil {
			return err
		}
	}
	if f.shipment != "" {
		sh, err := record.One[record.Shipment](f.call, "shipment_id", f.shipment)
		if err != nil {
			return err
		}
		if st := sh.Status(); sh.Direction() != "outbound" || st != "planned" && st != "packed" {
			return notReady("shipment %s is %s", sh.ShipmentNo(), st).At("shipment_id", "is %s", st)
		}
		if f.in.OrderID == "" {
			f.orders = store.Texts(sh.OrderIDs())
		}
	}
	found, err := record.Lock[record.Order](f.call, "order_id", f.orders...)
	if err != nil {
		return err
	}
	for _, o := range found {
		if err := checkWorkable(o); err != nil {
			return err
		}
	}
	f.loads, err = packing.ReadLoadsOfLines(f.Tx, f.ids)
	return err
}

// findWaitingShipment assigns goods that are packed for an order to the one shipment
// that waits for all of them. Where several wait, or for a part, the caller has to
// name the shipment.
func (f *filling) findWaitingShipment() error {
	loads, err := packing.ReadLoadsOfLines(f.Tx, f.ids)
	if err != nil {
		return err
	}
	asked := map[string]decimal.Dec{}
	for _, l := range f.in.Lines {
		asked[l.LineID] += l.Quantity
	}
	for i, id := range f.ids {
		waiting := slices.DeleteFunc(slices.Clone(loads), func(l packing.Load) bool {
			return l.OrderLineID != id || l.Lacks() <= 0
		})
		if len(waiting) == 0 {
			if f.shipment != "" {
				return refuseMixed(i, "it travels with no shipment that waits for it, other lines do")
			}
			continue
		}
		var numbers []string
		for _, l := range waiting {
			numbers = append(numbers, l.ShipmentNo)
		}
		switch first := waiting[0]; {
		case len(waiting) > 1:
			return refuseMixed(i, "shipments "+strings.Join(numbers, ", ")+" wait for it")
		case asked[id] > first.Lacks():
			return refuseMixed(i, "shipment "+first.ShipmentNo+" waits for "+first.Lacks().String()+" of it")
		case f.shipment != "" && f.shipment != first.ShipmentID, f.shipment == "" && i > 0:
			return refuseMixed(i, "shipment "+first.ShipmentNo+" waits for it, not for other lines")
		default:
			f.shipment = first.ShipmentID
		}
	}
	return nil
}

// refuseMixed refuses a line that is packed for an order but belongs to a shipment
// that has to be named.
func refuseMixed(i int, why string) error {
	return fault.New(fault.Conflict, CodeOver, "line %d of the package: %s", i+1, why).
		With("", "name the shipment_id, and pack for each shipment apart").At(lineField(i, "quantity"), "%s", why)
}

// openPackage is the package named, or a new one.
func (f *filling) openPackage() (string, error) {
	if f.in.PackageID != "" {
		return f.in.PackageID, f.joinPackage()
	}
	row := record.Package{"order_id": db.Null(f.in.OrderID), "shipment_id": db.Null(f.shipment)}
	if p := f.in.Package; p != nil {
		if p.SSCC != "" && !gs1.IsSSCC(p.SSCC) {
			return "", fault.New(fault.Invalid, "22023", "%q is no SSCC", p.SSCC).At("package.sscc",
				"has a wrong length or check digit")
		}
		row.SetLPNOrNull(db.Null(p.LPN))
		row.SetSSCCOrNull(db.Null(p.SSCC))
		for name, v := range map[string]*decimal.Dec{"length_mm": p.Length, "width_mm": p.Width, "height_mm": p.Height,
			"weight_kg": p.Weight} {
			if v != nil {
				row[name] = *v
			}
		}
	}
	made, err := record.Insert(f.Tx, []record.Package{row})
	if err != nil {
		return "", err
	}
	return made[0].ID(), nil
}

// joinPackage holds a package that more is put into to the shipment or order that
// it is for. One that no shipment takes yet goes with this one, if that waits for all
// that is in it.
func (f *filling) joinPackage() error {
	p, err := record.One[record.Package](f.call, "package_id", f.in.PackageID)
	if err != nil {
		return err
	}
	number, of := p.PackageNo(), p.ShipmentID()
	switch st := p.Status(); {
	case st == "emptied", st == "closed" && len(f.ids) > 0:
		return refuseClosedPackage(p)
	case of == f.shipment && (of != "" || p.OrderID() == f.in.OrderID):
		return nil
	case of != "":
		return fault.New(fault.Conflict, CodeInUse, "package %s goes with another shipment", number).
			With("", "take its goods out with unpack, or pack into another package").
			At("package_id", "goes with another shipment")
	case f.shipment == "":
		return fault.New(fault.Conflict, CodeInUse, "package %s is for another order", number).
			At("package_id", "is for another order")
	}
	contents, err := packing.ReadContentsOfPackage(f.Tx, f.in.PackageID)
	if err != nil {
		return err
	}
	own, err := packing.ReadLoadsOfShipments(f.Tx, []string{f.shipment})
	if err != nil {
		return err
	}
	if len(contents) > 0 && len(packing.Fill(own, [][]packing.Content{contents})) == 0 {
		return fault.New(fault.Conflict, CodeOver, "package %s holds other goods than the shipment waits for", number).
			At("package_id", "holds other goods than the shipment waits for")
	}
	if err := f.UpdateRows("packages", []string{f.in.PackageID}, store.Row{"shipment_id": f.shipment}); err != nil {
		return err
	}
	f.loads, err = packing.ReadLoadsOfLines(f.Tx, f.ids)
	return err
}

func refuseClosedPackage(p record.Package) error {
	st := p.Status()
	no := p.PackageNo()
	return fault.New(fault.Conflict, CodeInUse, "package %s is %s; its content no longer changes", no, st).
		At("package_id", "is %s", st)
}

// fillPackage puts picked goods into a package.
func (f *filling) fillPackage(id string) error {
	if len(f.ids) == 0 {
		return nil
	}
	lines, err := lockLines(f.call, f.ids)
	if err != nil {
		return err
	}
	loose, err := packing.ReadLoose(f.Tx, f.ids)
	if err != nil {
		return err
	}
	var rows []record.PackageLine
	var said []spoken
	for i, l := range f.in.Lines {
		at := slices.IndexFunc(lines, func(r record.OrderLine) bool { return r.ID() == l.LineID })
		if !slices.Contains(f.orders, lines[at].OrderID()) {
			return notReady("line %v is of another order", lines[at].LineNo()).
				At(lineField(i, "order_line_id"), "is of another order")
		}
		all := loose.Sum(l.LineID, l.readIdentity())
		if l.Quantity > all {
			return refuseAbove(lineField(i, "quantity"), l.Quantity, all, "is picked and not packed")
		}
		if err := f.takeRoom(i, loose); err != nil {
			return err
		}
		for _, g := range loose.Take(l.LineID, l.readIdentity(), l.Quantity) {
			said = append(said, spoken{item: g.ItemID, member: lineField(i, "quantity"), quantity: l.Quantity, all: all})
			rows = append(rows, record.PackageLine{"package_id": id, "order_line_id": g.OrderLineID,
				"item_id": g.ItemID,
				"lot_id":  db.Null(g.LotID), "serial": db.Null(g.Serial), "quantity": g.Quantity})
		}
	}
	if err := checkBaseUnitDecimals(f.call, said...); err != nil {
		return err
	}
	if _, err := record.Insert(f.Tx, rows); err != nil {
		return err
	}
	return f.updateOrderLines(f.ids, nil)
}

// takeRoom holds a line of the request to what its shipment waits for. Goods that no
// shipment is named for are those that no shipment waits for.
func (f *filling) takeRoom(i int, loose *packing.Loose) error {
	l := f.in.Lines[i]
	at := slices.IndexFunc(f.loads, func(o packing.Load) bool {
		return o.ShipmentID == f.shipment && o.OrderLineID == l.LineID
	})
	if at >= 0 {
		if lacks := f.loads[at].Lacks(); l.Quantity > lacks {
			return refuseAbove(lineField(i, "quantity"), l.Quantity, max(lacks, 0),
				"is to travel with the shipment and not packed")
		}
		f.loads[at].Packed += l.Quantity
		return nil
	}
	if spare := loose.Sum(l.LineID, nil) - packing.SumLacking(f.loads, l.LineID, f.shipment); l.Quantity > spare {
		return refuseAbove(lineField(i, "quantity"), l.Quantity, max(spare, 0), "is picked and no other shipment's")
	}
	return nil
}
