package warehouse

import (
	"cmp"
	"context"
	"errors"
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
	MaxOrders int64  `json:"max_orders" min:"1" max:"1000" default:"200" doc:"Promised at most, most urgent first."`
}

// AllocateOpenOut is what orders were promised.
type AllocateOpenOut struct {
	verb.Answer
	Orders       []verb.Record `json:"orders" record:"orders" doc:"Those that were promised goods."`
	Reservations []verb.Record `json:"reservations" record:"reservations" doc:"Those that are new."`
	Short        []Short       `json:"short" doc:"What found no stock, of the orders that were looked at."`
	Looked       int64         `json:"looked_at" doc:"Orders that were looked at."`
	More         bool          `json:"more" doc:"Orders beyond looked_at wait for goods which are free."`

	Transfers []ProposedTransfer `json:"transfers" doc:"What lies at another site: a transfer would bring it."`
}

func (w Watch) allocateOpen(c *verb.Call, in *AllocateOpenIn) (*AllocateOpenOut, error) {
	if _, err := readRecord[record.Site](c, "site_id", in.SiteID); err != nil {
		return nil, err
	}
	out := &AllocateOpenOut{Orders: []verb.Record{}, Short: []Short{}, Transfers: []ProposedTransfer{}}
	var rows []record.Reservation
	var ids []string
	after := arrivals.First()
	for out.Looked < mostLooked && len(ids) < int(in.MaxOrders) {
		page, err := arrivals.ListWaiting(c.Tx, in.SiteID, after, waitingAtOnce)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		done, err := w.workOf(c).allocateWaiting(arrivals.IDs(page), int(in.MaxOrders)-len(ids))
		if err != nil {
			return nil, err
		}
		looked := len(page)
		if done.last != "" {
			looked = 1 + slices.IndexFunc(page, func(w arrivals.Waiting) bool { return w.ID == done.last })
		}
		after = page[looked-1]
		out.Looked += int64(looked)
		ids, rows = append(ids, done.orders...), append(rows, done.rows...)
		out.Short, out.Transfers = append(out.Short, done.short...), append(out.Transfers, done.transfers...)
	}
	rest, err := arrivals.ListWaiting(c.Tx, in.SiteID, after, 1)
	if err != nil {
		return nil, err
	}
	orders, err := byID[record.Order](c, ids)
	if err != nil {
		return nil, err
	}
	out.Reservations, out.More = record.ShowList(c, rows), len(rest) > 0
	for _, id := range ids {
		out.Orders = append(out.Orders, record.Show(c, orders[id]))
	}
	if len(out.Orders) > 0 {
		out.Then("release_picks", "Release to pick")
	}
	return out, nil
}

// allocateWaiting promises what is free to those of some orders that still may be worked on: to
// as many of them at most, 0 for all.
func (k work) allocateWaiting(ids []string, most int) (*allocated, error) {
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
	p.most = most
	return k.allocateOrders(record.IDs(orders), p)
}

// waitingAtOnce is how many orders that wait are looked at together, and mostLooked how many one
// request looks at.
const (
	waitingAtOnce = 100
	mostLooked    = 2000
)

// AllocateWaiting is AllocateArrived of every tenant: goods that were written while the job that
// they asked for began are promised by it.
func (w Watch) AllocateWaiting(ctx context.Context, s *store.Store) error {
	var tenants []string
	err := s.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) (err error) {
		tenants, err = arrivals.ListTenants(tx)
		return err
	})
	if err != nil {
		return err
	}
	var failed []error
	for _, tenant := range tenants {
		if err := w.AllocateArrived(ctx, s, tenant); err != nil {
			failed = append(failed, fmt.Errorf("warehouse: tenant %s: %w", tenant, err))
		}
	}
	return errors.Join(failed...)
}

// AllocateArrived promises what is free to the orders of a tenant that wait for it, the most
// urgent first, unless the tenant does so by hand.
func (w Watch) AllocateArrived(ctx context.Context, s *store.Store, tenant string) error {
	scope, as := db.Scope{Tenant: tenant}, actor.Actor{TenantID: tenant, Role: actor.Service}
	after := arrivals.First()
	var failed error
	for {
		var page []arrivals.Waiting
		err := s.DB().Read(ctx, scope, func(tx *db.Tx) (err error) {
			in := s.In(tx, as)
			page = nil
			isAsked, err := arrivals.IsAsked(in)
			if err != nil || !isAsked {
				return err
			}
			page, err = arrivals.ListWaiting(in, "", after, waitingAtOnce)
			return err
		})
		if err != nil {
			return fmt.Errorf("warehouse: find orders that wait: %w", err)
		}
		if len(page) == 0 {
			return failed
		}
		after = page[len(page)-1]
		if err := w.allocatePage(ctx, s, as, arrivals.IDs(page)); err != nil {
			failed = cmp.Or(failed, err)
		}
	}
}

// allocatePage promises what is free to orders together, and to each alone where that fails: one
// that cannot be promised anything does not keep the others. The error is that of the first.
func (w Watch) allocatePage(ctx context.Context, s *store.Store, as actor.Actor, ids []string) error {
	allocate := func(ids []string) error {
		return s.DB().Write(ctx, db.Scope{Tenant: as.TenantID}, func(tx *db.Tx) error {
			_, err := work{s.In(tx, as), w}.allocateWaiting(ids, 0)
			return err
		})
	}
	if allocate(ids) == nil {
		return nil
	}
	var failed error
	for _, id := range ids {
		if err := allocate([]string{id}); err != nil && failed == nil {
			failed = fmt.Errorf("warehouse: allocate what has arrived to order %s: %w", id, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return failed
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
