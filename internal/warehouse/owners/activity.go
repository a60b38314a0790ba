// Package owners says whose goods are whose: which owner a shipment's goods have, and what
// was done with an owner's goods, day by day, which a client of a third-party warehouse is
// billed for, and what lies here of them.
//
// Layer: domains. Begin at [ListStock].
package owners

import (
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// OwnerActivityIn names a goods owner and a span of days.
type OwnerActivityIn struct {
	OwnerID string `json:"owner_id" format:"uuid" names:"goods_owners" doc:"The goods owner; a client's own when absent."`
	From    string `json:"from" required:"true" format:"date" doc:"First day, where the tenant is."`
	To      string `json:"to" required:"true" format:"date" doc:"Last day; at most 92 days in all."`
}

// OwnerActivityOut is what was done with an owner's goods, day by day.
type OwnerActivityOut struct {
	verb.Answer
	Owner verb.Record `json:"owner" record:"goods_owners"`
	Days  []OwnerDay  `json:"days" doc:"Each day of the span, in order."`
}

// OwnerDay is one day's work on an owner's goods, and what lay there at its end.
type OwnerDay struct {
	On       string      `json:"on" format:"date" doc:"The day, where the tenant is."`
	Closing  decimal.Dec `json:"closing_quantity" doc:"Base units in the warehouse when it ended, or now."`
	Activity []Handled   `json:"activities" doc:"By type of movement; types without one are left out."`
}

// Handled is the movements of one type.
type Handled struct {
	Type     string      `json:"type" doc:"Type of the movements."`
	Lines    int64       `json:"lines" doc:"How many movements."`
	Quantity decimal.Dec `json:"quantity" doc:"Base units that they moved."`
}

// ownerDays is how long a span of activity may be.
const ownerDays = 92

// ListActivity lists what was done with an owner's goods. A client sees its own alone.
func ListActivity(c *verb.Call, in *OwnerActivityIn) (*OwnerActivityOut, error) {
	owner, err := findOwner(c, in.OwnerID)
	if err != nil {
		return nil, err
	}
	days, err := readSpan(in)
	if err != nil {
		return nil, err
	}
	zone := ""
	store.QueueZone(c.Tx.Tx, c.TenantID, &zone)
	if err := c.Flush(); err != nil {
		return nil, err
	}
	out := &OwnerActivityOut{Owner: record.Show(c, owner), Days: make([]OwnerDay, len(days))}
	return out, out.fillDays(c, owner.ID(), days, localtime.Zone(zone))
}

// findOwner finds a goods owner, of whom a client is one: it need not say so, and finds no other.
func findOwner(c *verb.Call, owner string) (record.GoodsOwner, error) {
	if c.Role == actor.Client {
		if owner != "" && owner != c.GoodsOwner {
			return nil, verb.Missing("goods_owners", "owner_id")
		}
		owner = c.GoodsOwner
	}
	if owner == "" {
		return nil, refuseField("owner_id", "name the goods owner")
	}
	rows, err := record.List[record.GoodsOwner](c.Tx, "id = $2", owner)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, verb.Missing("goods_owners", "owner_id")
	}
	return rows[0], nil
}

func refuseField(field, why string) error {
	return fault.New(fault.Invalid, "HF003", "%s", why).At(field, "%s", why)
}

// readSpan returns the dates of a span, in order.
func readSpan(in *OwnerActivityIn) ([]localtime.Date, error) {
	from, err := localtime.ParseDate(in.From)
	if err != nil {
		return nil, refuseField("from", "is no date")
	}
	to, err := localtime.ParseDate(in.To)
	switch {
	case err != nil:
		return nil, refuseField("to", "is no date")
	case to.Before(from):
		return nil, refuseField("to", "lies before from")
	case to.DaysSince(from) >= ownerDays:
		return nil, refuseField("to", "lies more than 91 days after from")
	}
	var days []localtime.Date
	for day := from; !to.Before(day); day = day.AddDays(1) {
		days = append(days, day)
	}
	return days, nil
}

// net is what movements brought into the warehouse less what they took out of it.
const net = "CAST(COALESCE(SUM(CASE WHEN from_zone_id IS NULL AND to_zone_id IS NOT NULL THEN quantity WHEN from_zone_id IS NOT NULL AND " +
	"to_zone_id IS NULL THEN -quantity ELSE 0 END), 0) AS bigint)"

// fillDays reads each day's movements, and what lay there from what lies there now,
// less what came since.
func (out *OwnerActivityOut) fillDays(c *verb.Call, owner string, days []localtime.Date, zone *time.Location) error {
	tenant, since := c.TenantID, make([]decimal.Dec, len(days)+1)
	var now decimal.Dec
	for i := range out.Days {
		day := &out.Days[i]
		day.On, day.Activity = days[i].String(), []Handled{}
		c.Queue(db.FillWords(`
			SELECT type, COUNT(*), CAST(SUM(quantity) AS bigint), {net}
			FROM stock_movements
			WHERE tenant_id = $1
				AND owner_id = $2
				AND occurred_at >= $3
				AND occurred_at < $4
			GROUP BY type
			ORDER BY type`, "{net}", net),
			[]any{tenant, owner, query.FormatTime(days[i].Start(zone)), query.FormatTime(days[i].AddDays(1).Start(zone))},
			func(r *db.Row) error {
				day.Activity = append(day.Activity, Handled{Type: r.Text(0), Lines: r.Int(1), Quantity: r.Dec(2)})
				since[i] += r.Dec(3)
				return nil
			})
	}
	end := query.FormatTime(days[len(days)-1].AddDays(1).Start(zone))
	c.Queue(db.FillWords(`
		SELECT {net}
		FROM stock_movements
		WHERE tenant_id = $1
			AND owner_id = $2
			AND occurred_at >= $3`, "{net}", net),
		[]any{tenant, owner, end}, func(r *db.Row) error {
			since[len(since)-1] = r.Dec(0)
			return nil
		})
	c.Queue(`
		SELECT CAST(COALESCE(SUM(quantity), 0) AS bigint)
		FROM stock_levels
		WHERE tenant_id = $1
			AND owner_id = $2`,
		[]any{tenant, owner}, func(r *db.Row) error {
			now = r.Dec(0)
			return nil
		})
	if err := c.Flush(); err != nil {
		return err
	}
	for i := len(out.Days) - 1; i >= 0; i-- {
		now -= since[i+1]
		out.Days[i].Closing = now
	}
	return nil
}
