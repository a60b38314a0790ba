package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/verb"
)

// readRecord reads a record without locking it; nil for no id.
func readRecord[R record.Kind](c *verb.Call, field, id string) (R, error) {
	if id == "" {
		return nil, nil
	}
	rows, err := record.List[R](c.Tx, "id = $2", id)
	if err == nil && len(rows) == 0 {
		err = verb.Missing(record.NameOf[R](), field)
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// byID reads records by their ids.
func byID[R record.Kind](c *verb.Call, ids []string) (map[string]R, error) {
	out := map[string]R{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := record.List[R](c.Tx, c.DB().InUUID("id", 2), query.List(ids))
	for _, row := range rows {
		out[record.IDOf(row)] = row
	}
	return out, err
}

// checkAllKnown refuses ids of which the tenant does not have each.
func checkAllKnown[R record.Kind](c *verb.Call, field string, ids []string) error {
	known, err := byID[R](c, ids)
	if err == nil && len(known) != len(ids) {
		err = verb.Missing(record.NameOf[R](), field)
	}
	return err
}

// postMovement books one movement.
func postMovement(c *verb.Call, m record.StockMovement) (verb.Record, error) {
	rows, err := record.Insert(c.Tx, []record.StockMovement{m})
	if err != nil {
		return verb.Record{}, err
	}
	return record.Show(c, rows[0]), nil
}

// inBase turns a quantity in a unit into base units of an item.
func inBase(c *verb.Call, item, unit string, quantity decimal.Dec) (decimal.Dec, error) {
	u := queueUnits(c.Tx.Tx, c.TenantID, []string{item})
	if err := c.Flush(); err != nil {
		return 0, err
	}
	if u.base[item] == "" {
		return 0, verb.Missing("items", "item_id")
	}
	base, err := u.toBase(item, unit, quantity)
	if err != nil {
		return 0, err
	}
	return base, nil
}
