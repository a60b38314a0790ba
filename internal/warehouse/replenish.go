package warehouse

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/sites"
)

// refill plans how pick zones are filled up by their rules.
type refill struct {
	work
	today string
	rules []record.ReplenishRule
	units *units
	keep  map[string]int64        // days that goods of an item have to last
	stock map[string][]*freeStock // free stock by item
	open  []record.ReplenishTask  // tasks that are not done
	faces map[[2]string]bool      // item and zone that a rule fills

	places map[string]sites.Zone // that rules fill
}

// Lacking is what a rule asks for and no reserve has.
type Lacking struct {
	RuleID   string      `json:"rule_id" format:"uuid"`
	Quantity decimal.Dec `json:"quantity" doc:"Base units."`
}

// planReplenishment opens tasks by rules: all of the tenant's, or those named, for
// which full fills up a zone that holds its least, too. A zone that has less free
// stock than its rule's least, with what open tasks bring, is filled up to the
// rule's most, of what expires first at its site. The items are locked, so nobody else plans
// with the same stock.
func (k work) planReplenishment(ids []string, full bool) (tasks []record.ReplenishTask, short []Lacking, err error) {
	p := &refill{work: k, keep: map[string]int64{}, faces: map[[2]string]bool{}}
	if err := p.lockItemsAndReadStock(ids); err != nil || len(p.rules) == 0 {
		return nil, nil, err
	}
	for _, rule := range p.rules {
		if len(ids) > 0 && !slices.Contains(ids, rule.ID()) {
			continue
		}
		sources, err := p.zonesWithin(rule.SourceZoneID())
		if err != nil {
			return nil, nil, err
		}
		rows, lacks := p.fillByRule(rule, sources, full)
		tasks = append(tasks, rows...)
		if lacks > 0 {
			short = append(short, Lacking{RuleID: rule.ID(), Quantity: lacks})
		}
	}
	tasks, err = record.Insert(k.Tx, tasks)
	return tasks, short, err
}

// lockItemsAndReadStock locks the items of rules, and reads their free stock and open tasks.
func (p *refill) lockItemsAndReadStock(ids []string) (err error) {
	in := p.DB().InUUID
	where, args := "archived_at IS NULL ORDER BY id", []any(nil)
	if len(ids) > 0 {
		where, args = "archived_at IS NULL AND item_id IN (SELECT r.item_id FROM replenish_rules r WHERE r.tenant_id = $1 AND "+in("r.id", 2)+") ORDER BY id",
			[]any{jsonList(ids)}
	}
	if p.rules, err = record.List[record.ReplenishRule](p.Tx, where, args...); err != nil || len(p.rules) == 0 {
		return err
	}
	if p.today, err = readLocalToday(p.work.Tx); err != nil {
		return err
	}
	var items, faces set
	var wishes []demandLine
	for _, r := range p.rules {
		items.addID(r.ItemID())
		faces.addID(r.PickZoneID())
		p.faces[[2]string{r.ItemID(), r.PickZoneID()}] = true
	}
	for _, id := range items.list {
		wishes = append(wishes, demandLine{item: id})
	}
	if p.stock, err = p.lockItemsAndListFreeStock(wishes); err != nil {
		return err
	}
	if p.places, err = sites.ReadOfZones(p.Tx, faces.list); err != nil {
		return err
	}
	p.units = queueUnits(p.Tx.Tx, p.TenantID, items.list)
	rows, err := record.List[record.Item](p.Tx, in("id", 2), jsonList(items.list))
	if err != nil {
		return err
	}
	for _, r := range rows {
		p.keep[r.ID()] = r.MinRemainingDays()
	}
	if p.open, err = record.List[record.ReplenishTask](p.Tx,
		in("item_id", 2)+" AND status IN ('open', 'in_progress') ORDER BY id",
		jsonList(items.list)); err != nil {
		return err
	}
	for _, t := range p.open {
		p.takeOpenTask(t)
	}
	return nil
}

// takeOpenTask takes what an open task will fetch from its place.
func (p *refill) takeOpenTask(task record.ReplenishTask) {
	left := task.Quantity() - task.QuantityDone()
	for _, c := range p.stock[task.ItemID()] {
		if c.zone == task.FromZoneID() && c.lot == task.LotID() && c.serial == task.Serial() &&
			c.lpn == task.LPN() && c.owner == task.OwnerID() {
			c.free -= min(c.free, left)
		}
	}
}

// zonesWithin are the zones in a zone, itself included; nil = anywhere.
func (p *refill) zonesWithin(zone string) (map[string]bool, error) {
	if zone == "" {
		return nil, nil
	}
	in := map[string]bool{}
	err := p.Query(`
		WITH RECURSIVE down(id, depth) AS (
			SELECT z.id, 0
			FROM zones z
			WHERE z.tenant_id = $1
				AND z.id = $2
			UNION ALL
			SELECT z.id, d.depth + 1
			FROM down d
			JOIN zones z ON z.tenant_id = $1 AND z.parent_id = d.id
			WHERE d.depth < 6
		)
		SELECT id
		FROM down`,
		[]any{p.TenantID, zone}, func(r *db.Row) error {
			in[r.Text(0)] = true
			return nil
		})
	return in, err
}

// fillByRule opens the tasks of one rule and says what no reserve has.
func (p *refill) fillByRule(rule record.ReplenishRule, sources map[string]bool,
	full bool) (tasks []record.ReplenishTask, lacks decimal.Dec) {
	item, face, owner := rule.ItemID(), rule.PickZoneID(), rule.OwnerID()
	w := demandLine{item: item, ship: p.today, keep: p.keep[item]}
	var held decimal.Dec
	for _, c := range p.stock[item] {
		if c.zone == face && c.owner == owner && w.lastsLongEnough(c.expires) {
			held += c.free
		}
	}
	for _, t := range p.open {
		if t.ItemID() == rule.ItemID() && t.ToZoneID() == face && t.OwnerID() == owner {
			held += t.Quantity() - t.QuantityDone()
		}
	}
	need := rule.MaxQty() - held
	step := p.units.smallestQuantity(p.units.base[item])
	need -= need % step
	if need <= 0 || held >= rule.MinQty() && !full {
		return nil, 0
	}
	list := p.stock[item]
	slices.SortFunc(list, plan{}.compareByStrategy(need))
	for _, c := range list {
		reserve := !c.floor && !p.faces[[2]string{item, c.zone}] && (sources == nil || sources[c.zone]) &&
			c.site == p.places[face].SiteID
		if need == 0 || c.free == 0 || !reserve || c.owner != owner || !w.lastsLongEnough(c.expires) {
			continue
		}
		q := min(need, c.free)
		c.free -= q
		need -= q
		need -= need % step
		tasks = append(tasks, record.ReplenishTask{"rule_id": rule.ID(), "item_id": item, "lot_id": db.Null(c.lot),
			"serial": db.Null(c.serial), "owner_id": db.Null(c.owner),
			"lpn": db.Null(c.lpn), "from_zone_id": c.zone, "to_zone_id": face, "quantity": q})
	}
	return tasks, need
}

// Replenish opens the tasks that the rules of every tenant ask for.
func Replenish(ctx context.Context, s *store.Store) error {
	tenants := map[string][]string{}
	err := s.DB().Read(ctx, db.Scope{All: true}, func(tx *db.Tx) error {
		clear(tenants)
		return tx.Query(`
			SELECT DISTINCT tenant_id
			FROM replenish_rules
			WHERE archived_at IS NULL
			ORDER BY tenant_id`, nil,
			func(r *db.Row) error {
				tenants[r.Text(0)] = nil
				return nil
			})
	})
	if err != nil {
		return fmt.Errorf("warehouse: find tenants with rules of replenishment: %w", err)
	}
	return eachTenant(ctx, s, tenants, "replenish", func(k work, _ []string) error {
		_, _, err := k.planReplenishment(nil, false)
		return err
	})
}

// ReplenishEvery is how soon a zone that fell below its least gets its tasks.
const ReplenishEvery = 10 * time.Minute
