// Package carriers keeps what shipments say of their carrier in step with its record.
//
// Layer: domains. Begin at [KeepCarrier].
package carriers

import (
	"slices"

	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// codeOrder is a shipment that is not ready for a step, as package warehouse has it.
const codeOrder = "HF006"

// KeepCarrier keeps the code and the record of the carrier that shipments name the
// same, and holds what is asked of a carrier to the services that it has. A code
// without a record is taken as it is: not every forwarder of an import has one.
func KeepCarrier(tx *store.Tx, changes []store.Change) error {
	var ids, codes []string
	for _, c := range record.Changes[record.Shipment](changes) {
		if isSet(c, "carrier_id") || isSet(c, "carrier") || isSet(c, "service") {
			ids, codes = addText(ids, c.After.CarrierID()), addText(codes, c.After.Carrier())
		}
	}
	if len(ids)+len(codes) == 0 {
		return clearCarrier(changes)
	}
	named := "(" + tx.DB().InUUID("id", 2) + " OR " + tx.DB().InText("code", 3) + ")"
	rows, err := record.List[record.Carrier](tx, named, query.List(ids), query.List(codes))
	if err != nil {
		return err
	}
	of := map[string]record.Carrier{}
	for _, r := range rows {
		of[r.ID()], of["code "+r.Code()] = r, r
	}
	for _, c := range record.Changes[record.Shipment](changes) {
		if err := setCarrier(c, of); err != nil {
			return err
		}
	}
	return nil
}

// isSet reports a column that a new record gives or a change sets.
func isSet(c record.Change[record.Shipment], field string) bool {
	return c.Op == store.Insert && c.After[field] != nil || c.Op == store.Update && c.Before[field] != c.After[field]
}

// addText adds a text to a list unless it is "".
func addText(list []string, text string) []string {
	if text == "" {
		return list
	}
	return append(list, text)
}

// clearCarrier takes the carrier off shipments that no longer name one.
func clearCarrier(changes []store.Change) error {
	for _, c := range record.Changes[record.Shipment](changes) {
		if isSet(c, "carrier_id") || isSet(c, "carrier") {
			c.After.ClearCarrierID()
			c.After.ClearCarrier()
		}
	}
	return nil
}

func setCarrier(c record.Change[record.Shipment], of map[string]record.Carrier) error {
	byID, byCode := isSet(c, "carrier_id"), isSet(c, "carrier")
	if !byID && !byCode && !isSet(c, "service") {
		return nil
	}
	id, code := c.After.CarrierID(), c.After.Carrier()
	r := of[id]
	switch {
	case byID && r != nil && byCode && code != "" && code != r.Code():
		return fault.New(fault.Invalid, "22023", "carrier %s is not the code of carrier_id, which is %s", code,
			r.Code()).
			At("carrier", "is not the code of carrier_id")
	case byID && r != nil:
		c.After.SetCarrier(r.Code())
	case byID && id != "":
		return nil // of nobody: the reference is refused
	case byID && !byCode:
		c.After.ClearCarrier()
	case byCode:
		if r = of["code "+code]; r != nil {
			c.After.SetCarrierID(r.ID())
		} else {
			c.After.ClearCarrierID()
		}
	}
	if r == nil {
		return nil
	}
	if (byID || byCode) && r.HasArchivedAt() {
		field := "carrier"
		if byID {
			field = "carrier_id"
		}
		return fault.New(fault.Conflict, codeOrder, "%s names %s, which is archived", field, r.Code()).At(field,
			"is archived")
	}
	return checkService(c, r)
}

// checkService refuses a service that the carrier does not have.
func checkService(c record.Change[record.Shipment], r record.Carrier) error {
	has, want := store.Texts(r.Services()), c.After.Service()
	if want == "" || len(has) == 0 || slices.Contains(has, want) {
		return nil
	}
	return fault.New(fault.Invalid, "22023", "service %q is none of those of carrier %s", want,
		r.Code()).At("service", "is none of the carrier's services")
}
