package undo

import (
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/imports/bulk"
	"holdfast/internal/store"
)

// reversalReason is the reason code of movements that undo an import.
const reversalReason = "import_rollback"

// undoMovements undoes an import of stock by movements the other way. Effects
// refuse what is not there any more; which stock that is, is found first, so
// that all of it can be named.
func (u *rollback) undoMovements() error {
	if err := u.checkStock(); err != nil {
		return err
	}
	if err := u.conflictFault(); err != nil {
		return err
	}
	if err := u.readNeeded(); err != nil {
		return err
	}
	for before := ""; ; {
		var more bool
		var err error
		if before, more, err = u.reverseMovements(before, bulk.Movements); err != nil || !more {
			return err
		}
	}
}

// reverseMovements undoes up to n of the job's movements, those before one: the newest
// first, so that what is there at each step was there once. It returns the one
// to go on before.
func (u *rollback) reverseMovements(before string, n int) (next string, more bool, err error) {
	rows, err := u.readBooked(before, n)
	if err != nil || len(rows) == 0 {
		return before, false, err
	}
	if u.needed == nil {
		if err := u.readNeeded(); err != nil {
			return before, false, err
		}
	}
	reversals := make([]store.Row, 0, len(rows))
	for _, row := range rows {
		if id, _ := row["item_id"].(string); !u.kept[id] {
			reversals = append(reversals, reversalOf(row, u.needed[id]))
		}
	}
	if _, err := u.Insert(reversals, nil); err != nil {
		return before, false, err
	}
	u.undone += int64(len(reversals))
	return rows[len(rows)-1]["id"].(string), len(rows) == n, nil
}

// unreversed are the movements of a job that nobody has reversed.
const unreversed = "import_job_id = $2 AND reversal_of IS NULL AND NOT EXISTS (SELECT 1 FROM stock_movements r WHERE r.tenant_id = $1 AND " +
	"r.reversal_of = stock_movements.id)"

// readBooked reads the next batch of the job's movements that are not undone.
func (u *rollback) readBooked(before string, n int) ([]store.Row, error) {
	where := unreversed
	args := []any{u.step.Job.ID}
	if before != "" {
		where += " AND id < $3"
		args = append(args, before)
	}
	tail := fmt.Sprintf(" ORDER BY id DESC LIMIT %d", n)
	rows, err := u.m.store.In(u.Tx, u.Actor).Rows(u.Resource.Name, where+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("imports: read movements: %w", err)
	}
	return rows, nil
}

// reversalOf is the movement that undoes one. It happened when the other did, so that no
// past day has either; where the past cannot do without the other, it happens now, since
// no place has ever held less than nothing.
func reversalOf(row store.Row, isNeeded bool) store.Row {
	out := store.Row{"reversal_of": row["id"], "reason_code": reversalReason, "quantity": row["quantity"],
		"item_id": row["item_id"], "from_status": row["to_status"], "to_status": row["from_status"]}
	for _, f := range []string{"lot_id", "serial", "owner_id", "lpn", "unit_cost", "uom", "uom_quantity", "occurred_at"} {
		if row[f] != nil {
			out[f] = row[f]
		}
	}
	if isNeeded {
		delete(out, "occurred_at")
	}
	from, to := row["from_zone_id"], row["to_zone_id"]
	switch {
	case from == nil:
		out["type"], out["from_zone_id"] = "adjust_loss", to
	case to == nil:
		out["type"], out["to_zone_id"] = "adjust_gain", from
	default:
		out["type"], out["from_zone_id"], out["to_zone_id"] = "transfer", to, from
		if from == to {
			out["type"] = "status_change"
		}
	}
	return out
}

// neededSQL selects the items of which some place would have held less than nothing at
// some time without a job's movements: goods left that the job had brought, and others
// came since. A movement counts from when it happened, at the latest from when it was
// booked. $1 tenant, $2 job.
const neededSQL = `
	WITH rest AS (
		SELECT *, CASE WHEN occurred_at < created_at THEN occurred_at ELSE created_at END AS moment
		FROM stock_movements
		WHERE tenant_id = $1
			AND item_id IN (
				SELECT item_id
				FROM stock_movements
				WHERE tenant_id = $1
					AND import_job_id = $2
			)
			AND ({unreversed}) IS NOT TRUE
	), steps(zone_id, item_id, lot_id, serial, owner_id, lpn, status, moment, quantity) AS (
		SELECT to_zone_id, item_id, lot_id, serial, owner_id,
			CASE WHEN plate_change = 'taken_off' THEN NULL ELSE lpn END, to_status, moment, quantity
		FROM rest
		WHERE to_zone_id IS NOT NULL
		UNION ALL
		SELECT from_zone_id, item_id, lot_id, serial, owner_id,
			CASE WHEN plate_change = 'put_back' THEN NULL ELSE lpn END, from_status, moment, -quantity
		FROM rest
		WHERE from_zone_id IS NOT NULL
	), walked AS (
		SELECT item_id, SUM(quantity) OVER (
			PARTITION BY zone_id, item_id, lot_id, serial, owner_id, lpn, status
			ORDER BY moment
		) AS held
		FROM steps
	)
	SELECT DISTINCT item_id
	FROM walked
	WHERE held < 0`

// readNeeded reads the items whose past cannot do without the job's movements: once for
// the whole job, since its items' past may be longer than the job.
func (u *rollback) readNeeded() error {
	u.needed = map[string]bool{}
	text := strings.ReplaceAll(neededSQL, "{unreversed}", unreversed)
	err := u.Tx.Query(text, []any{u.Actor.TenantID, u.step.Job.ID}, func(r *db.Row) error {
		u.needed[r.Text(0)] = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("imports: walk through the stock's past: %w", err)
	}
	return nil
}

// net is what a job's movements that nobody has reversed did to each place.
const net = `WITH net(zone_id, item_id, lot_id, serial, owner_id, lpn, status, quantity) AS (
  SELECT to_zone_id, item_id, lot_id, serial, owner_id, lpn, to_status, quantity FROM stock_movements
    WHERE tenant_id = $1 AND ` + unreversed + ` AND to_zone_id IS NOT NULL
  UNION ALL
  SELECT from_zone_id, item_id, lot_id, serial, owner_id, lpn, from_status, -quantity FROM stock_movements
    WHERE tenant_id = $1 AND ` + unreversed + ` AND from_zone_id IS NOT NULL)`

// checkStock compares what undoing takes out of each place with what is free
// there, and looks for serial numbers that it would bring back while they are in
// stock again.
func (u *inspection) checkStock() error {
	const moved = net + `,
due AS (
  SELECT zone_id, item_id, lot_id, serial, owner_id, lpn, status, CAST(SUM(quantity) AS bigint) AS quantity FROM net
    GROUP BY zone_id, item_id, lot_id, serial, owner_id, lpn, status HAVING SUM(quantity) > 0)
SELECT d.item_id, i.sku, z.code, d.quantity, COALESCE(l.quantity - l.reserved, 0) FROM due d
  JOIN items i ON i.tenant_id = $1 AND i.id = d.item_id
  JOIN zones z ON z.tenant_id = $1 AND z.id = d.zone_id
  LEFT JOIN stock_levels l ON l.tenant_id = $1 AND l.item_id = d.item_id AND l.zone_id = d.zone_id AND l.lot_id IS NOT DISTINCT FROM d.lot_id
    AND l.serial IS NOT DISTINCT FROM d.serial AND l.owner_id IS NOT DISTINCT FROM d.owner_id AND l.lpn IS NOT DISTINCT FROM d.lpn AND l.stock_status = d.status
  WHERE COALESCE(l.quantity - l.reserved, 0) < d.quantity
  ORDER BY i.sku, z.code`
	err := u.Tx.Query(moved, []any{u.Actor.TenantID, u.step.Job.ID}, func(r *db.Row) error {
		u.addConflict(r.Text(0), r.Text(1)+" in "+r.Text(2), "%s were imported and only %s are free there",
			decimal.Dec(r.Int(3)), decimal.Dec(r.Int(4)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("imports: compare stock: %w", err)
	}
	const again = net + `,
gone AS (SELECT item_id, serial FROM net WHERE serial IS NOT NULL GROUP BY item_id, serial HAVING SUM(quantity) < 0)
SELECT g.item_id, i.sku, g.serial, z.code FROM gone g
  JOIN items i ON i.tenant_id = $1 AND i.id = g.item_id
  JOIN stock_levels l ON l.tenant_id = $1 AND l.item_id = g.item_id AND l.serial = g.serial AND l.quantity > 0
  JOIN zones z ON z.tenant_id = $1 AND z.id = l.zone_id
  ORDER BY i.sku, g.serial, z.code`
	err = u.Tx.Query(again, []any{u.Actor.TenantID, u.step.Job.ID}, func(r *db.Row) error {
		u.addConflict(r.Text(0), r.Text(1)+" "+r.Text(2), "serial number %s was taken out of stock and is in %s again",
			r.Text(2), r.Text(3))
		return nil
	})
	if err != nil {
		return fmt.Errorf("imports: compare serial numbers: %w", err)
	}
	return nil
}
