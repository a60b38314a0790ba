package kits

import (
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/blocks"
	"holdfast/internal/warehouse/pricing"
)

// StandingSQL is the statement that says of lines of kits what is allocated, picked, packed,
// shipped and cancelled of them, as they say and as the lines of their components make
// whole kits: the fewest of any. What is cancelled is what can no longer be made. Its
// argument is the tenant; {which} is a condition on kit.
const StandingSQL = `
	SELECT kit.id, kit.qty_ordered,
		kit.qty_allocated, kit.qty_picked, kit.qty_packed, kit.qty_shipped, kit.qty_cancelled,
		CAST(MIN(part.qty_allocated / part.kit_qty) * 10000 AS bigint),
		CAST(MIN(part.qty_picked / part.kit_qty) * 10000 AS bigint),
		CAST(MIN(part.qty_packed / part.kit_qty) * 10000 AS bigint),
		CAST(MIN(part.qty_shipped / part.kit_qty) * 10000 AS bigint),
		CAST(kit.qty_ordered - MIN((part.qty_ordered - part.qty_cancelled) / part.kit_qty) * 10000 AS bigint),
		kit.unit_price, kit.price_qty
	FROM order_lines AS kit
	JOIN order_lines AS part ON part.tenant_id = $1 AND part.kit_line_id = kit.id
	WHERE kit.tenant_id = $1
		AND {which}
	GROUP BY kit.id, kit.qty_ordered, kit.qty_allocated, kit.qty_picked, kit.qty_packed, kit.qty_shipped,
		kit.qty_cancelled, kit.unit_price, kit.price_qty`

// ComponentLinesSQL is the statement that says of lines of components how much is ordered,
// as they say and as so many kits take, and whether the line that they belong to is a
// kit's. Its argument is the tenant.
const ComponentLinesSQL = `
	SELECT part.id, part.qty_ordered, kit.qty_ordered / 10000 * part.kit_qty, kit.id, kit.is_kit
	FROM order_lines AS part
	JOIN order_lines AS kit ON kit.tenant_id = $1 AND kit.id = part.kit_line_id
	WHERE part.tenant_id = $1`

// Counted are the quantities of a line of a kit that follow its components, in the order of
// [Standing].
var Counted = [...]string{"qty_allocated", "qty_picked", "qty_packed", "qty_shipped", "qty_cancelled"}

// Standing is how far a line of a kit has come.
type Standing struct {
	LineID     string
	Kept, Real [len(Counted)]decimal.Dec // as the line says, as its components do

	ordered, price, per decimal.Dec
	priced              bool
}

// ReadStanding reads a row of [StandingSQL].
func ReadStanding(r *db.Row) Standing {
	s := Standing{LineID: r.Text(0), ordered: r.Dec(1), price: r.Dec(12), per: r.Dec(13), priced: !r.Null(12)}
	for i := range Counted {
		s.Kept[i] = r.Dec(2 + i)
		s.Real[i] = r.Dec(2 + len(Counted) + i)
	}
	return s
}

// SettleLines brings the lines of kits up to date with those of their components, beside
// the store: nobody edited them. The caller holds the orders.
func SettleLines(tx *store.Tx, changes []store.Change) error {
	var kits []string
	for _, c := range record.Changes[record.OrderLine](changes) {
		row := c.After
		if row == nil {
			row = c.Before
		}
		if id := row.KitLineID(); id != "" && !slices.Contains(kits, id) {
			kits = append(kits, id)
		}
	}
	if len(kits) == 0 {
		return nil
	}
	var list []Standing
	text := db.FillWords(StandingSQL, "{which}", "kit.id IN {ids $2}")
	err := tx.Query(text, []any{tx.TenantID, query.List(kits)}, func(r *db.Row) error {
		if s := ReadStanding(r); s.Kept != s.Real {
			list = append(list, s)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("kits: standing: %w", err)
	}
	return queueStanding(tx, list)
}

// standingBlock writes the quantities and the amount of lines of kits. The first row of
// values has no meaning but its types. $1 tenant, $2 now.
var standingBlock = blocks.Block{
	Head: `
		WITH v(id, allocated, picked, packed, shipped, cancelled, amount) AS (VALUES (
			(SELECT id FROM order_lines WHERE 1 = 0), CAST(0 AS bigint), CAST(0 AS bigint), CAST(0 AS bigint),
			CAST(0 AS bigint), CAST(0 AS bigint), CAST(NULL AS bigint)), `,
	Tail: `)
		UPDATE order_lines
		SET qty_allocated = v.allocated, qty_picked = v.picked, qty_packed = v.packed, qty_shipped = v.shipped,
			qty_cancelled = v.cancelled, amount = v.amount, updated_at = $2
		FROM v
		WHERE order_lines.tenant_id = $1
			AND order_lines.id = v.id`,
	Width: 2 + len(Counted),
}

func queueStanding(tx *store.Tx, list []Standing) error {
	amounts := make([]any, len(list))
	for i, s := range list {
		amount, err := s.reckonAmount()
		if err != nil {
			return err
		}
		amounts[i] = amount
	}
	b := standingBlock
	b.Fixed = []any{tx.TenantID, query.FormatTime(tx.Now())}
	b.QueueRows(tx.Tx, len(list), func(i int, args []any) []any {
		args = append(args, list[i].LineID)
		for _, q := range list[i].Real {
			args = append(args, q)
		}
		return append(args, amounts[i])
	})
	return nil
}

// reckonAmount is what the line of a kit is worth for what is not cancelled of it, nil without
// a price.
func (s Standing) reckonAmount() (any, error) {
	if !s.priced {
		return nil, nil
	}
	amount, err := pricing.MultiplyPrice(s.ordered-s.Real[len(Counted)-1], s.price, s.per)
	if err != nil {
		return nil, fmt.Errorf("kits: amount: %w", err)
	}
	return amount, nil
}
