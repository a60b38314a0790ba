// Package carriers keeps what shipments say of their carrier in step with its record.
//
// Layer: domains. Begin at [KeepCarrier].
package carriers

import (
	"slices"

	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// codeOrder is a shipment that is not ready for a step, as package warehouse has it.
const codeOrder = "HF006"

// KeepCarrier keeps the code and the record of the carrier that shipments name the
// same, and holds what is asked of a carrier to the services that it has. A code
// without a record is taken as it is: not every forwarder of an import has one.
func KeepCarrier(tx *store.Tx, changes []store.Change) error {
	var ids, codes []string
	for _, c := range changes {
		if isSet(c, "carrier_id") || isSet(c, "carrier") || isSet(c, "service") {
			ids, codes = addText(ids, c.After.Text("carrier_id")), addText(codes, c.After.Text("carrier"))
		}
	}
	if len(ids)+len(codes) == 0 {
		return clearCarrier(changes)
	}
	named := "(" + tx.DB().InUUID("id", 2) + " OR " + tx.DB().InText("code", 3) + ")"
	rows, err := tx.Rows("carriers", named, query.List(ids), query.List(codes))
	if err != nil {
		return err
	}
	of := map[string]store.Row{}
	for _, r := range rows {
		of[r.Text("id")], of["code "+r.Text("code")] = r, r
	}
	for _, c := range changes {
		if err := setCarrier(c, of); err != nil {
			return err
		}
	}
	return nil
}

// isSet reports a column that a new record gives or a change sets.
func isSet(c store.Change, field string) bool {
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
	for _, c := range changes {
		if isSet(c, "carrier_id") || isSet(c, "carrier") {
			c.After["carrier_id"], c.After["carrier"] = nil, nil
		}
	}
	return nil
}

func setCarrier(c store.Change, of map[string]store.Row) error {
	byID, byCode := isSet(c, "carrier_id"), isSet(c, "carrier")
	if !byID && !byCode && !isSet(c, "service") {
		return nil
	}
	id, code := c.After.Text("carrier_id"), c.After.Text("carrier")
	r := of[id]
	switch {
	case byID && r != nil && byCode && code != "" && code != r.Text("code"):
		return fault.New(fault.Invalid, "22023", "carrier %s is not the code of carrier_id, which is %s", code,
			r.Text("code")).
			At("carrier", "is not the code of carrier_id")
	case byID && r != nil:
		c.After["carrier"] = r["code"]
	case byID && id != "":
		return nil // of nobody: the reference is refused
	case byID && !byCode:
		c.After["carrier"] = nil
	case byCode:
		if r = of["code "+code]; r != nil {
			c.After["carrier_id"] = r["id"]
		} else {
			c.After["carrier_id"] = nil
		}
	}
	if r == nil {
		return nil
	}
	if (byID || byCode) && r["archived_at"] != nil {
		field := "carrier"
		if byID {
			field = "carrier_id"
		}
		return fault.New(fault.Conflict, codeOrder, "%s names %s, which is archived", field, r.Text("code")).At(field,
			"is archived")
	}
	return checkService(c, r)
}

// checkService refuses a service that the carrier does not have.
func checkService(c store.Change, r store.Row) error {
	has, want := store.Texts(r["services"]), c.After.Text("service")
	if want == "" || len(has) == 0 || slices.Contains(has, want) {
		return nil
	}
	return fault.New(fault.Invalid, "22023", "service %q is none of those of carrier %s", want,
		r.Text("code")).At("service", "is none of the carrier's services")
}
