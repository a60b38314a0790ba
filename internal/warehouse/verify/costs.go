package verify

import (
	"holdfast/internal/db"
	"holdfast/internal/warehouse/costs"
)

// keptCostsSQL selects what is kept of what goods cost. $1 tenant.
const keptCostsSQL = `
	SELECT item_id, owner_id, quantity, average_cost, postings
	FROM item_costs
	WHERE tenant_id = $1`

// unknownCost stands for the average of goods of which nothing of known cost has come in.
const unknownCost = -1

// recountCosts reckons the average cost of each item and owner anew from the movements.
func (r *recount) recountCosts() error {
	err := r.tx.Query(keptCostsSQL, []any{r.tenant}, func(row *db.Row) error {
		average := row.Int(3)
		if row.Null(3) {
			average = unknownCost
		}
		name := costName(row.Text(0), row.Text(1))
		r.kept[name+" quantity"], r.kept[name+" average_cost"], r.kept[name+" postings"] = row.Int(2), average, row.Int(4)
		return nil
	})
	if err != nil {
		return err
	}
	return costs.ReadAll(r.tx, r.tenant, func(item, owner string, s costs.Standing) {
		average := int64(s.Average)
		if !s.Known {
			average = unknownCost
		}
		name := costName(item, owner)
		r.real[name+" quantity"], r.real[name+" average_cost"], r.real[name+" postings"] = int64(s.Quantity), average,
			s.Postings
	})
}

func costName(item, owner string) string {
	name := "cost of item " + item
	if owner != "" {
		name += " of owner " + owner
	}
	return name
}
