package warehouse

import (
	"cmp"
	"time"

	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/transfers"
)

// AllocateOrderIn names an order that ships goods and says how stock is chosen.
type AllocateOrderIn struct {
	OrderID   string `json:"order_id" required:"true" format:"uuid" names:"orders" doc:"Outbound or a transfer, confirmed or in progress."`
	Strategy  string `json:"strategy" enum:"fefo fifo pick_sequence" doc:"fefo when absent; fifo; or the bins as they are walked past."`
	Partial   *bool  `json:"partial" doc:"Take what there is; the setting allow_partial_allocation when absent."`
	ExpiresAt string `json:"expires_at" format:"date-time" doc:"When the promise ends unless it is picked; never when absent."`
}

// AllocateOrderOut is the order with what it was promised now.
type AllocateOrderOut struct {
	OrderLinesOut
	Reservations []verb.Record `json:"reservations" record:"reservations" doc:"Those that are new."`
	Short        []Short       `json:"short" doc:"What found no stock."`

	Transfers []ProposedTransfer `json:"transfers" doc:"What lies at another site than the order's: a transfer order would bring it."`
}

func (w Watch) allocateOrder(c *verb.Call, in *AllocateOrderIn) (*AllocateOrderOut, error) {
	k := w.workOf(c)
	if _, err := lockWorkableOrder(c, in.OrderID); err != nil {
		return nil, err
	}
	p, err := k.defaultPlan()
	if err != nil {
		return nil, err
	}
	p.strategy = cmp.Or(in.Strategy, p.strategy)
	if in.Partial != nil {
		p.whole = !*in.Partial
	}
	if p.expires, err = parseFuture(k, in.ExpiresAt); err != nil {
		return nil, err
	}
	done, err := k.allocateOrders([]string{in.OrderID}, p)
	if err != nil {
		return nil, err
	}
	if p.whole {
		if err := refuseShortage(done); err != nil {
			return nil, err
		}
	}
	o, err := orderLinesOut(c, in.OrderID)
	if err != nil {
		return nil, err
	}
	return &AllocateOrderOut{
		OrderLinesOut: *o,
		Reservations:  record.ShowList(c, done.rows),
		Short:         append([]Short{}, done.short...),
		Transfers:     append([]ProposedTransfer{}, done.transfers...),
	}, nil
}

// lockWorkableOrder locks an order that ships goods and that work may go on with.
func lockWorkableOrder(c *verb.Call, id string) (record.Order, error) {
	o, err := record.One[record.Order](c, "order_id", id)
	if err != nil {
		return nil, err
	}
	if err := checkWorkable(o); err != nil {
		return nil, err
	}
	return o, nil
}

// checkWorkable refuses work on an order that ships no goods, or is neither confirmed nor
// in progress.
func checkWorkable(o record.Order) error {
	if st := o.Status(); !transfers.CanShip(o) {
		return notReady("order %s is %s; stock is promised to outbound orders and transfers", o.OrderNo(),
			o.Type()).At("order_id", "is neither outbound nor a transfer")
	} else if st != "confirmed" && st != "in_progress" {
		return notReady("order %s is %s", o.OrderNo(), st).At("order_id", "is %s", st)
	}
	return nil
}

// parseFuture reads an instant that lies ahead, as it is stored.
func parseFuture(k work, at string) (string, error) {
	if at == "" {
		return "", nil
	}
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil || !t.After(k.Now()) {
		return "", fault.New(fault.Invalid, "22008", "expires_at must lie ahead").At("expires_at", "must lie ahead")
	}
	return query.FormatTime(t), nil
}
