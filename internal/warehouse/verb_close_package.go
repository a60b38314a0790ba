package warehouse

import (
	"strconv"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/gs1"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/packing"
)

// LabelsPath is where labels are served: a collection follows, and ids in the
// query.
const LabelsPath = "/v1/labels/"

// ClosePackageIn names an open package.
type ClosePackageIn struct {
	PackageID string       `json:"package_id" required:"true" format:"uuid" names:"packages" doc:"The package, with something in it."`
	Weight    *decimal.Dec `json:"weight_kg" min:"0" unit:"kg" doc:"Weighed, with its content."`
}

// ClosePackageOut is the package with its SSCC.
type ClosePackageOut struct {
	verb.Answer
	Package  verb.Record `json:"package" record:"packages"`
	Shipment verb.Record `json:"shipment" record:"shipments" doc:"Null where it is packed for an order."`
	Labels   LabelLinks  `json:"labels"`
}

// LabelLinks lead to a record's label.
type LabelLinks struct {
	PDF string `json:"pdf" doc:"Path of its label."`
	ZPL string `json:"zpl" doc:"The same for a label printer."`
}

// inHouse is the company prefix of SSCCs of a tenant without one of its own: GS1
// keeps 20 to 29 for numbers that are used inside a company (GS1 General
// Specifications, restricted circulation numbers).
const inHouse = "2000000"

func (w Watch) closePackage(c *verb.Call, in *ClosePackageIn) (*ClosePackageOut, error) {
	k := w.workOf(c)
	p, err := readRecord[record.Package](c, "package_id", in.PackageID)
	if err != nil {
		return nil, err
	}
	if id := p.ShipmentID(); id != "" {
		if _, err := locking.LockRows[record.Shipment](k.Tx, []string{id}); err != nil {
			return nil, err
		}
	}
	if p, err = record.One[record.Package](c, "package_id", in.PackageID); err != nil {
		return nil, err
	}
	if p.Status() != "open" {
		return nil, refuseClosedPackage(p)
	}
	inside, err := packing.ReadContentsOfPackage(k.Tx, in.PackageID)
	if err != nil {
		return nil, err
	}
	if len(inside) == 0 {
		return nil, notReady("package %s is empty", p.PackageNo()).At("package_id", "is empty")
	}
	set := record.Package{"status": "closed", "closed_at": query.FormatTime(c.Now())}
	if in.Weight != nil {
		set.SetWeightKg(*in.Weight)
	}
	sscc := p.SSCC()
	if sscc == "" {
		if sscc, err = makeSSCC(k.Tx, p.PackageNo()); err != nil {
			return nil, err
		}
		set.SetSSCC(sscc)
	}
	if err := record.Update(k.Tx, []string{in.PackageID}, set); err != nil {
		return nil, err
	}
	out := &ClosePackageOut{}
	if id := p.ShipmentID(); id != "" {
		if err := k.settleShipment(id); err != nil {
			return nil, err
		}
		if out.Shipment, err = c.Again("shipments", id); err != nil {
			return nil, err
		}
		out.Then("dispatch", "Send the shipment off")
	} else {
		out.Then("create_shipment", "Make a shipment")
	}
	path := LabelsPath + "packages?ids=" + in.PackageID
	out.Labels = LabelLinks{path, path + "&format=zpl"}
	out.Package, err = c.Again("packages", in.PackageID)
	return out, err
}

// makeSSCC makes a package's SSCC of the tenant's company prefix and the package's
// number.
func makeSSCC(tx *store.Tx, number string) (string, error) {
	prefix := inHouse
	err := tx.Query("SELECT gs1_company_prefix FROM tenants WHERE id = $1", []any{tx.TenantID}, func(r *db.Row) error {
		if p := r.Text(0); p != "" {
			prefix = p
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	serial, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimPrefix(number, "PK-20"), "-", ""), 10, 64)
	if err != nil {
		return "", fault.Wrap(err, fault.Internal, "", "package number %s", number)
	}
	room := int64(1)
	for range max(0, 16-len(prefix)) {
		room *= 10
	}
	return gs1.SSCC(0, prefix, serial%room)
}
