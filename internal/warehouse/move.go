package warehouse

import (
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// readRecord reads a record without locking it; nil for no id.
func readRecord(c *verb.Call, resource, field, id string) (store.Row, error) {
	if id == "" {
		return nil, nil
	}
	rows, err := c.Rows(resource, "id = $2", id)
	if err == nil && len(rows) == 0 {
		err = verb.Missing(resource, field)
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// byID reads records by their ids.
func byID(c *verb.Call, resource string, ids []string) (map[string]store.Row, error) {
	out := map[string]store.Row{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := c.Rows(resource, c.DB().InUUID("id", 2), query.List(ids))
	for _, row := range rows {
		out[row.Text("id")] = row
	}
	return out, err
}

// postMovement books one movement.
func postMovement(c *verb.Call, m store.Row) (verb.Record, error) {
	rows, err := c.Tx.InsertRows("stock_movements", []store.Row{m})
	if err != nil {
		return verb.Record{}, err
	}
	return c.Record("stock_movements", rows[0]), nil
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
