package warehouse

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/arrivals"
	"holdfast/internal/warehouse/locking"
	"holdfast/internal/warehouse/plates"
)

// AllocateOpenIn says which orders are looked at.
type AllocateOpenIn struct {
	SiteID    string `json:"site_id" format:"uuid" names:"sites" doc:"Orders of this site alone."`
	MaxOrders int64  `json:"max_orders" min:"1" max:"1000" default:"200" doc:"Orders at most, the most urgent first."`
}

// AllocateOpenOut is what orders were promised.
type AllocateOpenOut struct {
	verb.Answer
	Orders       []verb.Record `json:"orders" record:"orders" doc:"Those that were promised goods."`
	Reservations []verb.Record `json:"reservations" record:"reservations" doc:"Those that are new."`
	Short        []Short       `json:"short" doc:"What found no stock, of the orders that were looked at."`
	More         bool          `json:"more" doc:"Orders beyond max_orders wait for goods which are free."`

	Transfers []ProposedTransfer `json:"transfers" doc:"What lies at another site: a transfer would bring it."`
}

func (w Watch) allocateOpen(c *verb.Call, in *AllocateOpenIn) (*AllocateOpenOut, error) {
	if _, err := readRecord[record.Site](c, "site_id", in.SiteID); err != nil {
		return nil, err
	}
	waiting, err := arrivals.ListWaiting(c.Tx, in.SiteID)
	if err != nil {
		return nil, err
	}
	most := min(len(waiting), int(in.MaxOrders))
	done, err := w.workOf(c).allocateWaiting(waiting[:most])
	if err != nil {
		return nil, err
	}
	orders, err := byID[record.Order](c, waiting[:most])
	if err != nil {
		return nil, err
	}
	promised, err := listOrdersPromised(c, done.rows)
	if err != nil {
		return nil, err
	}
	out := &AllocateOpenOut{
		Orders:       []verb.Record{},
		Reservations: record.ShowList(c, done.rows),
		Short:        append([]Short{}, done.short...),
		Transfers:    append([]ProposedTransfer{}, done.transfers...),
		More:         most < len(waiting),
	}
	for _, id := range waiting[:most] {
		if promised[id] {
			out.Orders = append(out.Orders, record.Show(c, orders[id]))
		}
	}
	if len(out.Orders) > 0 {
		out.Then("release_picks", "Release to pick")
	}
	return out, nil
}

// listOrdersPromised are the orders that new reservations are for.
func listOrdersPromised(c *verb.Call, rows []record.Reservation) (map[string]bool, error) {
	lines, err := byID[record.OrderLine](c, record.Texts(rows, record.Reservation.OrderLineID))
	promised := map[string]bool{}
	for _, l := range lines {
		promised[l.OrderID()] = true
	}
	return promised, err
}

// allocateWaiting promises what is free to those of some orders that still may be worked on.
func (k work) allocateWaiting(ids []string) (*allocated, error) {
	orders, err := locking.LockRows[record.Order](k.Tx, ids)
	if err != nil {
		return nil, err
	}
	orders = slices.DeleteFunc(orders, func(o record.Order) bool { return checkWorkable(o) != nil })
	if len(orders) == 0 {
		return &allocated{}, nil
	}
	p, err := k.defaultPlan()
	if err != nil {
		return nil, err
	}
	return k.allocateOrders(record.IDs(orders), p)
}

// waitingAtOnce is how many orders one transaction promises goods that have arrived.
const waitingAtOnce = 100

// AllocateArrived promises what is free to the orders of a tenant that wait for it, the most
// urgent first, unless the tenant does so by hand.
func (w Watch) AllocateArrived(ctx context.Context, s *store.Store, tenant string) error {
	scope, as := db.Scope{Tenant: tenant}, actor.Actor{TenantID: tenant, Role: actor.Service}
	var waiting []string
	err := s.DB().Read(ctx, scope, func(tx *db.Tx) error {
		in := s.In(tx, as)
		isAsked, err := arrivals.IsAsked(in)
		if err != nil || !isAsked {
			waiting = nil
			return err
		}
		waiting, err = arrivals.ListWaiting(in, "")
		return err
	})
	if err != nil {
		return fmt.Errorf("warehouse: find orders that wait: %w", err)
	}
	for ids := range slices.Chunk(waiting, waitingAtOnce) {
		err := s.DB().Write(ctx, scope, func(tx *db.Tx) error {
			_, err := work{s.In(tx, as), w}.allocateWaiting(ids)
			return err
		})
		if err != nil {
			return fmt.Errorf("warehouse: allocate what has arrived: %w", err)
		}
	}
	return nil
}

// followMovements posts movements, and asks for the allocation of orders that wait for what
// they bring.
func (w Watch) followMovements(tx *store.Tx, changes []store.Change) error {
	if err := w.postMovements(tx, changes); err != nil {
		return err
	}
	// The items are held now: who brings more of them on the same plate waits.
	if err := plates.CheckPlaces(tx, changes); err != nil {
		return err
	}
	return arrivals.AskForAllocation(tx, changes)
}
