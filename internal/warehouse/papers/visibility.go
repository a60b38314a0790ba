package papers

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
	"holdfast/internal/warehouse/epcis"
)

// Visibility tells what happened to goods in the words of EPCIS 2.0: of every
// movement that is a step of theirs an ObjectEvent, of every closed package an
// AggregationEvent. Counts, adjustments and opening stock are no events: they
// say what the books lacked. Who may read movements and packages is told of them.
type Visibility struct{ store *store.Store }

// NewVisibility returns what tells the events of the records of s.
func NewVisibility(s *store.Store) *Visibility { return &Visibility{s} }

// Now is the time that documents are made at.
func (v *Visibility) Now() time.Time { return v.store.Now() }

// EventQuery asks for events in the order in which they were recorded.
type EventQuery struct {
	Steps         []string  // business steps, nil = all
	After         Recorded  // behind this one
	Before        time.Time // recorded before it; zero = no end
	PerPage       int       // events; one correction more where it has to stay whole
	withMovements bool
	withPackages  bool
}

// Recorded is a place in the order of events.
type Recorded struct {
	Time time.Time
	ID   string // of the record, "" before all of that time
}

// compareRecorded compares places.
func (r Recorded) compareRecorded(o Recorded) int {
	if c := r.Time.Compare(o.Time); c != 0 {
		return c
	}
	return strings.Compare(r.ID, o.ID)
}

// told is a record with its events.
type told struct {
	at     Recorded
	events []epcis.Event
}

// toldTypeSQL is the type of a movement o from zone f to zone t as partners are told of it: a leg of a transfer
// between sites leaves as other shipments do and arrives as other goods do.
const toldTypeSQL = `
	CASE
		WHEN o.type = 'transfer' AND t.kind = 'transit' THEN 'ship'
		WHEN o.type = 'transfer' AND f.kind = 'transit' THEN 'receipt'
		ELSE o.type
	END`

// moved says in SQL of a movement o from zone f to zone t which business step it is.
var moved = map[string]string{
	epcis.Receiving: "(o.type IN ('receipt', 'return_in') OR o.type = 'transfer' AND f.kind = 'transit')",
	epcis.Storing: "(o.type IN ('putaway', 'replenish', 'unpick') " +
		"OR o.type = 'transfer' AND f.kind <> 'transit' AND t.kind <> 'transit' " +
		"OR o.type = 'status_change' AND o.to_status = 'available')",
	epcis.Picking:    "o.type = 'pick'",
	epcis.Shipping:   "(o.type = 'ship' OR o.type = 'transfer' AND t.kind = 'transit')",
	epcis.Holding:    "o.type = 'status_change' AND o.to_status <> 'available'",
	epcis.Destroying: "o.type = 'scrap'",
}

// Events are the events that q asks for, and where the next page begins; nil
// behind the last. A caller who may not read movements is fault.Forbidden.
func (v *Visibility) Events(
	ctx context.Context, a actor.Actor, q EventQuery,
) (events []epcis.Event, next *Recorded, err error) {
	if len(q.Steps) == 0 {
		q.Steps = epcis.Steps
	}
	movements, _ := v.store.Catalog().Get("stock_movements")
	packages, _ := v.store.Catalog().Get("packages")
	if _, err := query.Access(a, movements, movements.Access.Read); err != nil {
		return nil, nil, err
	}
	_, q.withPackages = query.ReadPolicy(a, packages)
	q.withPackages = q.withPackages && slices.Contains(q.Steps, epcis.Packing)
	q.withMovements = !slices.Equal(q.Steps, []string{epcis.Packing})
	var list []told
	err = v.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		list, err = (&sight{reading: reading{s: v.store, tx: tx, a: a}, q: q}).readEvents()
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(list, func(a, b told) int { return a.at.compareRecorded(b.at) })
	for i, t := range list {
		events = append(events, t.events...)
		if len(events) >= q.PerPage && i < len(list)-1 {
			return events, &t.at, nil
		}
	}
	return events, nil, nil
}

// sight is one read of events.
type sight struct {
	reading
	q    EventQuery
	list []told
	glns map[string]string // of sites
	only string            // the GLN of the tenant's only site
}

func (s *sight) readEvents() ([]told, error) {
	if err := s.readTenant(); err != nil {
		return nil, err
	}
	if err := s.readSites(); err != nil {
		return nil, err
	}
	if s.q.withMovements {
		if err := s.readMovements(); err != nil {
			return nil, err
		}
	}
	if s.q.withPackages {
		if err := s.readPackages(); err != nil {
			return nil, err
		}
	}
	return s.list, nil
}

// readSites reads which GLN a place lies under: its site's, or the only site's.
func (s *sight) readSites() error {
	s.glns = map[string]string{}
	return s.tx.Query(`
		SELECT id, gln
		FROM sites
		WHERE tenant_id = $1
			AND archived_at IS NULL
		ORDER BY id`,
		[]any{s.a.TenantID}, func(r *db.Row) error {
			s.glns[r.Text(0)] = r.Text(1)
			if s.only = ""; len(s.glns) == 1 {
				s.only = r.Text(1)
			}
			return nil
		})
}

func (s *sight) siteGLN(site string) string {
	if site == "" {
		return s.only
	}
	return s.glns[site]
}

// windowClause is the part of a statement that takes the records behind a place, in
// order: their time is t.at, their id t.id.
func (s *sight) windowClause(t, at string, args *[]any) string {
	n := func(v any) string {
		*args = append(*args, v)
		return "$" + decimal.FromInt(int64(len(*args))).String()
	}
	column := t + "." + at
	since := n(query.FormatTime(s.q.After.Time))
	where := column + " >= " + since
	if s.q.After.ID != "" {
		where += " AND (" + column + " > " + since + " OR " + t + ".id > " + n(s.q.After.ID) + ")"
	}
	if !s.q.Before.IsZero() {
		where += " AND " + column + " < " + n(query.FormatTime(s.q.Before))
	}
	return where
}

// orderClause orders the records of a window and takes one more than a page.
func (s *sight) orderClause(t, at string) string {
	return " ORDER BY " + t + "." + at + ", " + t + ".id LIMIT " + decimal.FromInt(int64(s.q.PerPage+1)).String()
}

// earlier says in SQL of a movement p that it took back a part of the same one
// before m did.
const earlier = `
				FROM stock_movements p
				WHERE p.tenant_id = $1
					AND p.reversal_of = m.reversal_of
					AND (p.created_at < m.created_at OR p.created_at = m.created_at AND p.id < m.id)`

// readMovements reads those of a page. A reversal m is told by what it reverses, o.
func (s *sight) readMovements() error {
	r, _ := s.s.Catalog().Get("stock_movements")
	policy, _ := query.ReadPolicy(s.a, r)
	var steps []string
	for _, step := range epcis.Steps {
		if slices.Contains(s.q.Steps, step) && moved[step] != "" {
			steps = append(steps, moved[step])
		}
	}
	args := []any{s.a.TenantID}
	where := s.windowClause("m", "created_at", &args) + " AND (" + strings.Join(steps, " OR ") + ") AND " +
		policy.Where(s.tx.DB(), "m", &args)
	return s.tx.Query(db.FillWords(`
		SELECT m.id, m.created_at, m.reversal_of, m.quantity,
			CASE WHEN m.reversal_of IS NOT NULL
				THEN CAST((SELECT COALESCE(SUM(p.quantity), 0) {earlier}) AS bigint)
			END,
			CASE WHEN m.reversal_of IS NOT NULL
				THEN (SELECT p.id {earlier} ORDER BY p.created_at DESC, p.id DESC LIMIT 1)
			END,
			{told type}, o.to_status, o.occurred_at, o.quantity, o.weight_kg, o.serial,
			i.id, i.gtin, i.base_uom,
			b.id, b.lot_no, b.expires_on,
			f.id, f.code, f.site_id,
			t.id, t.code, t.site_id,
			d.id, d.type, d.order_no, d.external_ref, d.party_gln,
			h.id, h.shipment_no
		FROM stock_movements m
		JOIN stock_movements o ON o.tenant_id = $1 AND o.id = COALESCE(m.reversal_of, m.id)
		JOIN items i ON i.tenant_id = $1 AND i.id = o.item_id
		LEFT JOIN lots b ON b.tenant_id = $1 AND b.id = o.lot_id
		LEFT JOIN zones f ON f.tenant_id = $1 AND f.id = o.from_zone_id
		LEFT JOIN zones t ON t.tenant_id = $1 AND t.id = o.to_zone_id
		LEFT JOIN reservations v ON v.tenant_id = $1 AND v.id = o.reservation_id
		LEFT JOIN receipts c ON c.tenant_id = $1 AND o.ref_type = 'receipts' AND c.id = o.ref_id
		LEFT JOIN order_lines l ON l.tenant_id = $1 AND l.id = COALESCE(v.order_line_id, o.order_line_id,
			CASE WHEN o.ref_type = 'order_lines' THEN o.ref_id END)
		LEFT JOIN orders d ON d.tenant_id = $1 AND d.id = COALESCE(l.order_id, c.order_id)
		LEFT JOIN shipments h ON h.tenant_id = $1 AND o.ref_type = 'shipments' AND h.id = o.ref_id
		WHERE m.tenant_id = $1
			AND {where} {order clause}`,
		"{earlier}", earlier, "{told type}", toldTypeSQL, "{where}", where,
		"{order clause}", s.orderClause("m", "created_at")),
		args, func(r *db.Row) error {
			m := motion{
				at: Recorded{r.Time(1), r.Text(0)}, reverses: r.Text(2), quantity: r.Dec(3), before: r.Dec(4), last: r.Text(5),
				kind: r.Text(6), status: r.Text(7), occurred: r.Time(8),
				goods: epcis.Goods{Quantity: r.Dec(9), Weight: r.Dec(10), Serial: r.Text(11), ItemID: r.Text(12),
					GTIN: r.Text(13), Unit: r.Text(14), LotID: r.Text(15), LotNo: r.Text(16)},
				expires: r.Text(17), from: location{r.Text(18), r.Text(19), r.Text(20)},
				to:       location{r.Text(21), r.Text(22), r.Text(23)},
				order:    commission{r.Text(24), r.Text(25), r.Text(26), r.Text(27), r.Text(28)},
				shipment: r.Text(29), shipmentNo: r.Text(30),
			}
			s.list = append(s.list, told{at: m.at, events: s.movementEvents(m)})
			return nil
		})
}

// motion is a movement of goods with what an event says of it. Of a reversal it
// is the movement that was reversed, with reverses, quantity, before and last of
// the reversal.
type motion struct {
	at           Recorded
	reverses     string      // the movement, "" = m is no reversal
	quantity     decimal.Dec // taken back now
	before       decimal.Dec // taken back by earlier reversals
	last         string      // the newest of these
	kind, status string
	occurred     time.Time
	goods        epcis.Goods
	expires      string // day of the lot
	from, to     location
	order        commission
	shipment     string
	shipmentNo   string
}

// location is a zone.
type location struct{ id, code, site string }

// commission is the order that goods move for.
type commission struct{ id, kind, number, external, party string }

// movementEvents tells a movement: the event, or, of a reversal, that an event was wrong,
// and the one that holds in its place where a part was right.
func (s *sight) movementEvents(m motion) []epcis.Event {
	e := s.newEvent(m.at, m.occurred)
	e.Type, e.Action = "ObjectEvent", epcis.Observe
	e.Step, e.Disposition = businessStep(m.kind, m.status), s.dispositionAfter(m)
	from, to := s.eventPlaces(m)
	if e.ReadPoint, e.Location = from, to; from == nil || e.Step == epcis.Storing {
		e.ReadPoint = to
	}
	e.Papers = s.businessTransactions(m)
	switch e.Step {
	case epcis.Shipping:
		e.To = epcis.Owner(m.order.party)
	case epcis.Destroying:
		e.Action = epcis.Delete
	}
	if m.reverses == "" {
		e.Of(m.goods)
		return []epcis.Event{e}
	}
	m.goods = takeBack(m.goods, m.before)
	return correctionEvents(e, epcis.ID(cmp.Or(m.last, m.reverses)), m.goods, m.quantity)
}

// eventPlaces are where goods leave and where they are then. On the way between sites they are in no place.
func (s *sight) eventPlaces(m motion) (from, to *epcis.Place) {
	from, to = s.eventPlace(m.from), s.eventPlace(m.to)
	switch businessStep(m.kind, m.status) {
	case epcis.Shipping:
		return from, nil
	case epcis.Receiving:
		return nil, to
	}
	return from, to
}

func (s *sight) eventPlace(at location) *epcis.Place {
	return epcis.At(s.siteGLN(at.site), at.code, at.id)
}

// correctionEvents tells that quantity q of goods g, told by the event with the id held,
// was wrong. e is the event of the reversal without its goods.
func correctionEvents(e epcis.Event, held string, g epcis.Goods, q decimal.Dec) []epcis.Event {
	wrong := e
	wrong.ID = held
	wrong.Of(g)
	if g.Quantity <= q {
		wrong.Error = epcis.Undone(e.RecordTime)
		return []epcis.Event{wrong}
	}
	wrong.Error = epcis.Corrected(e.RecordTime, e.ID)
	e.Of(takeBack(g, q))
	return []epcis.Event{wrong, e}
}

// takeBack takes a quantity off goods, and its share off what they weigh.
func takeBack(g epcis.Goods, q decimal.Dec) epcis.Goods {
	left := g.Quantity - q
	if share, err := g.Weight.MulDiv(left, g.Quantity); err == nil {
		g.Weight = share
	}
	g.Quantity = left
	return g
}

// newEvent is what every event of a record has.
func (s *sight) newEvent(at Recorded, happened time.Time) epcis.Event {
	return epcis.Event{ID: epcis.ID(at.ID), Time: happened.UTC(), Offset: happened.In(s.zone).Format("-07:00"),
		RecordTime: at.Time.UTC()}
}

func businessStep(kind, status string) string {
	switch kind {
	case "receipt", "return_in":
		return epcis.Receiving
	case "pick":
		return epcis.Picking
	case "ship":
		return epcis.Shipping
	case "scrap":
		return epcis.Destroying
	case "status_change":
		if status != "available" {
			return epcis.Holding
		}
	}
	return epcis.Storing
}

// dispositionAfter is the state goods are in after a movement.
func (s *sight) dispositionAfter(m motion) string {
	switch {
	case m.kind == "ship":
		return epcis.InTransit
	case m.kind == "scrap":
		return epcis.Destroyed
	case m.status == "damaged":
		return epcis.Damaged
	case m.status != "available":
		return epcis.NotSellable
	case m.kind == "return_in":
		return epcis.Returned
	case m.expires != "" && m.expires < localtime.DateOf(m.occurred, s.zone).String():
		return epcis.Expired
	}
	return epcis.InProgress
}

// businessTransactions are the business transactions of a movement. A number is whoever's who
// gave it: the warehouse's, or of an outbound order the customer's.
func (s *sight) businessTransactions(m motion) (list []epcis.Paper) {
	own := s.siteGLN(cmp.Or(m.from, m.to).site)
	switch o := m.order; o.kind {
	case "inbound":
		list = append(list, epcis.Numbered("po", own, o.number, o.id))
	case "return":
		list = append(list, epcis.Numbered("rma", own, o.number, o.id))
	case "outbound":
		list = append(list, epcis.Numbered("po", o.party, o.external, o.id))
	}
	if m.shipment != "" {
		list = append(list, epcis.Numbered("desadv", own, m.shipmentNo, m.shipment))
	}
	return list
}

// packedGoodsSQL adds up what is or was in packages. $1 tenant, $2 ids of packages.
const packedGoodsSQL = `
	SELECT line.package_id, item.id, item.gtin, item.base_uom, lot.id, lot.lot_no, line.serial,
		CAST(SUM(line.quantity) AS bigint)
	FROM package_lines AS line
	JOIN items AS item ON item.tenant_id = $1 AND item.id = line.item_id
	LEFT JOIN lots AS lot ON lot.tenant_id = $1 AND lot.id = line.lot_id
	WHERE line.tenant_id = $1
		AND {packages}
	GROUP BY line.package_id, item.id, item.gtin, item.base_uom, lot.id, lot.lot_no, line.serial
	ORDER BY line.package_id, item.id, lot.lot_no, line.serial`

// readPackages reads the packages of a page and what is in them: closed, and emptied
// again.
func (s *sight) readPackages() error {
	at, ids := map[string][]int{}, []string{}
	for _, column := range []string{"closed_at", "emptied_at"} {
		if err := s.readPackagesBy(column, at, &ids); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	text := strings.ReplaceAll(packedGoodsSQL, "{packages}", s.tx.DB().InUUID("line.package_id", 2))
	return s.tx.Query(text, []any{s.a.TenantID, query.List(ids)}, func(r *db.Row) error {
		g := epcis.Goods{
			ItemID: r.Text(1), GTIN: r.Text(2), Unit: r.Text(3),
			LotID: r.Text(4), LotNo: r.Text(5), Serial: r.Text(6), Quantity: r.Dec(7),
		}
		for _, i := range at[r.Text(0)] {
			s.list[i].events[0].Of(g)
		}
		return nil
	})
}

// packagesSQL selects closed packages by one of their times, with the order that each is
// for. $1 tenant, more as {where} says.
const packagesSQL = `
	SELECT p.id, p.{column}, p.sscc, d.site_id, d.id, d.external_ref, d.party_gln
	FROM packages p
	LEFT JOIN orders d ON d.tenant_id = $1 AND d.id = p.order_id
	WHERE p.tenant_id = $1
		AND p.closed_at IS NOT NULL
		AND p.{column} IS NOT NULL
		AND {where}
	{order}`

// readPackagesBy reads the packages that were closed, or emptied after that, and notes
// where in the list the events of each are.
func (s *sight) readPackagesBy(column string, at map[string][]int, ids *[]string) error {
	r, _ := s.s.Catalog().Get("packages")
	policy, _ := query.ReadPolicy(s.a, r)
	args := []any{s.a.TenantID}
	where := s.windowClause("p", column, &args) + " AND " + policy.Where(s.tx.DB(), "p", &args)
	order := s.orderClause("p", column)
	text := strings.NewReplacer("{column}", column, "{where}", where, "{order}", order).Replace(packagesSQL)
	return s.tx.Query(text, args, func(r *db.Row) error {
		t := told{at: Recorded{r.Time(1), r.Text(0)}}
		e := s.newEvent(t.at, t.at.Time)
		e.Type, e.Action, e.Step, e.Disposition = "AggregationEvent", epcis.Add, epcis.Packing, epcis.InProgress
		if column == "emptied_at" {
			e.Action, e.Step = epcis.Delete, epcis.Unpacking
			e.ID = epcis.ID(uuid.NewSHA1(uuid.MustParse(r.Text(0)), []byte(column)).String())
		}
		e.Parent = epcis.Unit(r.Text(2), r.Text(0))
		e.ReadPoint = epcis.Site(s.siteGLN(r.Text(3)))
		e.Location = e.ReadPoint
		if !r.Null(4) {
			e.Papers = []epcis.Paper{epcis.Numbered("po", r.Text(6), r.Text(5), r.Text(4))}
		}
		at[r.Text(0)] = append(at[r.Text(0)], len(s.list))
		*ids = append(*ids, r.Text(0))
		t.events = []epcis.Event{e}
		s.list = append(s.list, t)
		return nil
	})
}
