package warehouse

import (
	"slices"

	"holdfast/internal/fault"
	"holdfast/internal/record"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
)

// UnpackIn says what was taken out of a package.
type UnpackIn struct {
	PackageID string       `json:"package_id" required:"true" format:"uuid" names:"packages" doc:"It has not left."`
	Lines     []PackLineIn `json:"lines" max:"500" doc:"What was taken out; all of it when absent."`
}

// UnpackOut is the package, and what its goods belong to, as they are afterwards.
type UnpackOut struct {
	verb.Answer
	Package    verb.Record   `json:"package" record:"packages"`
	Repacked   verb.Record   `json:"repacked" record:"packages" doc:"Open, with the rest of a closed one, whose SSCC is spent."`
	Shipment   verb.Record   `json:"shipment" record:"shipments" doc:"Null where the package went with none."`
	OrderLines []verb.Record `json:"order_lines" record:"order_lines"`
}

// unpackGoods takes goods out of a package. They lie in the lane again, where they
// were picked to, and can be packed again or put back.
func (w Watch) unpackGoods(c *verb.Call, in *UnpackIn) (*UnpackOut, error) {
	k := w.workOf(c)
	p, contents, err := k.lockPackage(c, in.PackageID)
	if err != nil {
		return nil, err
	}
	rest, err := takeOut(in, contents)
	if err != nil {
		return nil, err
	}
	made, err := packing.EmptyPackage(k.Tx, p, contents, rest)
	if err != nil {
		return nil, err
	}
	lines := linesOfContents(contents)
	if err := k.updateOrderLines(lines, nil); err != nil {
		return nil, err
	}
	shipment := p.ShipmentID()
	if err := k.settleShipment(shipment, p.SSCC()); err != nil {
		return nil, err
	}
	out := &UnpackOut{}
	for _, r := range []struct {
		into         *verb.Record
		resource, id string
	}{
		{&out.Package, "packages", in.PackageID},
		{&out.Repacked, "packages", made},
		{&out.Shipment, "shipments", shipment},
	} {
		if r.id == "" {
			continue
		}
		if *r.into, err = c.Again(r.resource, r.id); err != nil {
			return nil, err
		}
	}
	rows, err := record.List[record.OrderLine](c.Tx, c.DB().InUUID("id", 2)+" ORDER BY id", jsonList(lines))
	out.OrderLines = record.ShowList(c, rows)
	out.Then("pack", "Pack again")
	out.Then("unpick", "Put goods back")
	return out, err
}

// lockPackage locks a package that has not left, with its shipment and the orders of
// what is in it.
func (k work) lockPackage(c *verb.Call, id string) (record.Package, []packing.Content, error) {
	seen, err := readRecord[record.Package](c, "package_id", id)
	if err != nil {
		return nil, nil, err
	}
	shipment := seen.ShipmentID()
	if shipment != "" {
		sh, err := record.One[record.Shipment](c, "package_id", shipment)
		if err != nil {
			return nil, nil, err
		}
		if st := sh.Status(); !slices.Contains(road[:3], st) {
			return nil, nil, notReady("shipment %s, which took the package along, is %s", sh.ShipmentNo(), st).
				At("package_id", "is of a shipment that is %s", st)
		}
	}
	contents, err := packing.ReadContentsOfPackage(k.Tx, id)
	if err != nil {
		return nil, nil, err
	}
	if _, err := locking.LockOrdersOfLines(k.Tx, linesOfContents(contents)); err != nil {
		return nil, nil, err
	}
	p, err := record.One[record.Package](c, "package_id", id)
	if err != nil {
		return nil, nil, err
	}
	if p.Status() == "emptied" {
		return nil, nil, refuseClosedPackage(p)
	}
	if p.ShipmentID() != shipment {
		return nil, nil, fault.New(fault.Unavailable, "40001", "another shipment has the package now; try again")
	}
	contents, err = packing.ReadContentsOfPackage(k.Tx, id)
	return p, contents, err
}

// linesOfContents are the order lines of what is in packages.
func linesOfContents(contents []packing.Content) []string {
	var lines set
	for _, g := range contents {
		lines.addID(g.OrderLineID)
	}
	return lines.list
}

// takeOut is what stays in a package of its contents, with a quantity of 0 where
// nothing does; nil where all is taken out.
func takeOut(in *UnpackIn, contents []packing.Content) ([]packing.Content, error) {
	if len(in.Lines) == 0 {
		return nil, nil
	}
	rest := slices.Clone(contents)
	for i, l := range in.Lines {
		has := packing.TakeOut(rest, l.LineID, l.readIdentity(), l.Quantity)
		if has == 0 {
			return nil, verb.Missing("order_lines", lineField(i, "order_line_id"))
		}
		if l.Quantity > has {
			return nil, refuseAbove(lineField(i, "quantity"), l.Quantity, has, "is in the package")
		}
	}
	return rest, nil
}
