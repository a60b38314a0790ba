package packing

import (
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// EmptyPackage writes what stays of a package's contents: in the package while it is
// open. A closed one is spent with its SSCC, and the rest goes into an open one, whose
// id is returned.
func EmptyPackage(tx *store.Tx, p record.Package, contents, rest []Content) (made string, err error) {
	id := p.ID()
	stays := slices.ContainsFunc(rest, func(g Content) bool { return g.Quantity > 0 })
	if stays && p.Status() == "open" {
		return "", changeContents(tx, contents, rest)
	}
	if stays {
		if made, err = repackRest(tx, p, rest); err != nil {
			return "", err
		}
	}
	return made, EndPackages(tx, []string{id})
}

// changeContents brings the lines of an open package to what stays in it.
func changeContents(tx *store.Tx, contents, rest []Content) error {
	var sets []record.PackageLine
	var gone []string
	for i, g := range rest {
		switch g.Quantity {
		case 0:
			gone = append(gone, g.ID)
		case contents[i].Quantity:
		default:
			sets = append(sets, record.PackageLine{"id": g.ID, "quantity": g.Quantity})
		}
	}
	if len(gone) > 0 {
		if err := tx.DeleteRows("package_lines", gone); err != nil {
			return err
		}
	}
	return tx.UpdateEach("package_lines", record.Rows(sets))
}

// repackRest puts what stays of a closed package into an open one like it.
func repackRest(tx *store.Tx, p record.Package, rest []Content) (string, error) {
	row := record.Package{}
	for _, f := range [...]string{"order_id", "shipment_id", "lpn", "length_mm", "width_mm", "height_mm"} {
		row[f] = p[f]
	}
	made, err := record.Insert(tx, []record.Package{row})
	if err != nil {
		return "", err
	}
	id := made[0].ID()
	return id, putInto(tx, id, rest)
}

// putInto writes goods into a package.
func putInto(tx *store.Tx, id string, goods []Content) error {
	var rows []record.PackageLine
	for _, g := range goods {
		if g.Quantity > 0 {
			rows = append(rows, record.PackageLine{"package_id": id, "order_line_id": g.OrderLineID,
				"item_id": g.ItemID,
				"lot_id":  db.Null(g.LotID), "serial": db.Null(g.Serial), "quantity": g.Quantity})
		}
	}
	_, err := record.Insert(tx, rows)
	return err
}

// EndPackages writes that nothing is in packages any more; their lines say what was.
func EndPackages(tx *store.Tx, ids []string) error {
	set := record.Package{"status": "emptied", "emptied_at": query.FormatTime(tx.Now()), "shipment_id": nil}
	return record.Update(tx, ids, set)
}

// KeepSSCCs brings a shipment's SSCCs up to date with its closed packages.
func KeepSSCCs(tx *store.Tx, sh record.Shipment, contents []Content, spent []string) error {
	was := store.Texts(sh.SSCC())
	list := slices.DeleteFunc(slices.Clone(was), func(s string) bool { return slices.Contains(spent, s) })
	for _, c := range contents {
		if c.Status == "closed" && c.SSCC != "" && !slices.Contains(list, c.SSCC) {
			list = append(list, c.SSCC)
		}
	}
	if slices.Equal(list, was) {
		return nil
	}
	return tx.UpdateRows("shipments", []string{sh.ID()}, store.Row{"sscc": list})
}
