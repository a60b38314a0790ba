package warehouse

import (
	"slices"
	"strconv"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// PlanWaveIn says which orders are fetched together: those named, or what waits.
type PlanWaveIn struct {
	OrderIDs  []string `json:"order_ids" max:"200" format:"uuid" names:"orders" doc:"These orders; what the other members say when absent."`
	DueBefore string   `json:"due_before" format:"date-time" doc:"Orders promised before then."`
	Carrier   string   `json:"carrier" code:"true" max:"64" doc:"Orders that go with this carrier."`
	MaxOrders int64    `json:"max_orders" min:"1" max:"200" default:"50" doc:"Orders at most, the most urgent first."`
	PlannedAt string   `json:"planned_at" format:"date-time" doc:"When the wave is to be released."`
}

// PlanWaveOut is the wave.
type PlanWaveOut struct {
	verb.Answer
	Wave   verb.Record   `json:"wave" record:"waves"`
	Orders []verb.Record `json:"orders" record:"orders"`
}

func (w Watch) planWave(c *verb.Call, in *PlanWaveIn) (*PlanWaveOut, error) {
	k := w.workOf(c)
	taken, err := listOrdersInWaves(k.Tx)
	if err != nil {
		return nil, err
	}
	ids := slices.Compact(slices.Sorted(slices.Values(in.OrderIDs)))
	if len(ids) == 0 {
		if ids, err = k.listWaitingOrders(in, taken); err != nil {
			return nil, err
		}
	}
	orders, err := record.Lock[record.Order](c, "order_ids", ids...)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		if err := checkWorkable(o); err != nil {
			return nil, err
		}
		if no := taken[o.ID()]; no != "" {
			return nil, fault.New(fault.Conflict, CodeInUse, "order %s is in wave %s", o.OrderNo(), no).At("order_ids",
				"names an order of wave %s", no)
		}
	}
	open, err := k.listUnlisted(ids)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return nil, notReady("no reserved goods wait to be picked for these orders").At("order_ids",
			"have no reservation that no list has")
	}
	row := record.Wave{"order_ids": ids}
	setGiven(store.Row(row), "planned_at", in.PlannedAt)
	rows, err := record.Insert(k.Tx, []record.Wave{row})
	if err != nil {
		return nil, err
	}
	out := &PlanWaveOut{Wave: record.Show(c, rows[0]), Orders: record.ShowList(c, orders)}
	out.Then("release_picks", "Release the wave")
	return out, nil
}

// listOrdersInWaves are the numbers of the planned waves that orders are in.
func listOrdersInWaves(tx *store.Tx) (map[string]string, error) {
	rows, err := record.List[record.Wave](tx, "status = 'planned' ORDER BY id"+tx.DB().ForUpdate())
	taken := map[string]string{}
	for _, r := range rows {
		for _, id := range store.Texts(r.OrderIDs()) {
			taken[id] = r.WaveNo()
		}
	}
	return taken, err
}

// listWaitingOrders are the orders with reserved goods that no list fetches and no wave has.
func (k work) listWaitingOrders(in *PlanWaveIn, taken map[string]string) ([]string, error) {
	args := []any{}
	and := ""
	bind := func(cond string, v any) {
		args = append(args, v)
		and += " AND " + cond + "$" + strconv.Itoa(len(args)+1)
	}
	if in.DueBefore != "" {
		due, err := time.Parse(time.RFC3339, in.DueBefore)
		if err != nil {
			return nil, refuseMovement("due_before", "is no timestamp")
		}
		bind("promised_at < ", query.FormatTime(due))
	}
	if in.Carrier != "" {
		bind("carrier = ", in.Carrier)
	}
	rows, err := record.List[record.Order](k.Tx,
		"type IN ('outbound', 'transfer') AND status IN ('confirmed', 'in_progress')"+and+
			" AND EXISTS (SELECT 1 FROM order_lines l "+
			"JOIN reservations r ON r.tenant_id = $1 AND r.order_line_id = l.id WHERE l.tenant_id = $1 AND l.order_id = orders.id AND "+
			"r.state = 'active' AND NOT r.picked AND NOT EXISTS (SELECT 1 FROM pick_lines p WHERE p.tenant_id = $1 AND p.reservation_id = r.id "+
			"AND p.status = 'pending')) ORDER BY priority, promised_at, id LIMIT 1000", args...)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range rows {
		if id := r.ID(); taken[id] == "" && len(ids) < int(in.MaxOrders) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, notReady("no order with reserved goods waits to be picked").At("order_ids", "nothing waits")
	}
	slices.Sort(ids)
	return ids, nil
}
