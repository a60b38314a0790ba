// Package papers prints and reports what the records of the warehouse say: labels,
// delivery notes and pick lists, and what happened to goods as events of EPCIS 2.0.
//
// Layer: domains. Begin at [Printer].
package papers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/gs1"
	"holdfast/internal/localtime"
	"holdfast/internal/pdf"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
	"holdfast/internal/warehouse"
	"holdfast/internal/warehouse/label"
)

// Printer reads what labels and papers say. Whoever may read a record may print
// it, with what its paper says of others; a record that the caller may not read
// is one that is not there.
type Printer struct{ store *store.Store }

// NewPrinter returns a printer of the records of s.
func NewPrinter(s *store.Store) *Printer { return &Printer{s} }

// Labelled are the collections whose records have labels.
var Labelled = []string{"packages", "zones", "items", "lots"}

// MostLabels is the most labels of one file.
const MostLabels = 200

// labelled makes the labels of records of each collection.
var labelled = map[string]func(k *reading, ids []string) ([]label.Label, error){
	"packages": labelsOf((*reading).packageLabels),
	"zones":    labelsOf((*reading).zoneLabels),
	"items":    labelsOf((*reading).itemLabels),
	"lots":     labelsOf((*reading).lotLabels),
}

// labelsOf reads records of one kind and makes their labels.
func labelsOf[R record.Kind](
	make func(*reading, []R) ([]label.Label, error),
) func(k *reading, ids []string) ([]label.Label, error) {
	return func(k *reading, ids []string) ([]label.Label, error) {
		rows, err := readVisible[R](k, "ids", ids)
		if err != nil {
			return nil, err
		}
		if err := k.readTenant(); err != nil {
			return nil, err
		}
		return make(k, rows)
	}
}

// Labels are the labels of records of one of Labelled, in the order of their
// ids. An id that is not there is fault.NotFound, a package that has no SSCC
// yet fault.Conflict.
func (p *Printer) Labels(ctx context.Context, a actor.Actor, of string, ids []string) (out []label.Label, err error) {
	err = p.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		out, err = labelled[of](&reading{s: p.store, tx: tx, a: a}, ids)
		return err
	})
	return out, err
}

// reading is one read of what is printed.
type reading struct {
	s  *store.Store
	tx *db.Tx
	a  actor.Actor

	name string         // the tenant's
	size string         // of its paper
	zone *time.Location // its days
}

// readTenant reads what of the tenant stands on papers.
func (k *reading) readTenant() error {
	return k.tx.Query("SELECT name, country, timezone FROM tenants WHERE id = $1", []any{k.a.TenantID},
		func(r *db.Row) error {
			k.name, k.size = r.Text(0), pdf.SizeIn(r.Text(1))
			k.zone = localtime.Zone(r.Text(2))
			return nil
		})
}

// localDay is the first of instants that is known, as a day of the tenant.
func (k *reading) localDay(instants ...string) string {
	for _, s := range instants {
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			return localtime.DateOf(at, k.zone).String()
		}
	}
	return ""
}

// readVisible are the records with ids, in their order, all of which the caller may
// read; field is where the request names them.
func readVisible[R record.Kind](k *reading, field string, ids []string) ([]R, error) {
	name := record.NameOf[R]()
	r, _ := k.s.Catalog().Get(name)
	if _, err := query.Access(k.a, r, r.Access.Read); err != nil {
		return nil, err
	}
	policy, _ := query.ReadPolicy(k.a, r)
	args := []any{k.a.TenantID, query.List(ids)}
	where := k.tx.DB().InUUID("id", 2) + " AND " + policy.Where(k.tx.DB(), name, &args)
	rows, err := record.List[R](k.s.In(k.tx, k.a), where, args[1:]...)
	if err != nil {
		return nil, err
	}
	known := byIDs(rows)
	out := make([]R, len(ids))
	for i, id := range ids {
		if out[i] = known[id]; out[i] == nil {
			return nil, fault.New(fault.NotFound, "PGRST116", "no row of %s has the id %s", name, id).At(field,
				"%s is unknown", id)
		}
	}
	return out, nil
}

func byIDs[R record.Kind](records []R) map[string]R {
	m := make(map[string]R, len(records))
	for _, r := range records {
		m[record.IDOf(r)] = r
	}
	return m
}

// readRows reads records of the tenant, whoever may read them: those that belong to
// what is printed.
func readRows[R record.Kind](k *reading, where string, args ...any) ([]R, error) {
	return record.List[R](k.s.In(k.tx, k.a), where, args...)
}

// readReferenced are the records that a column of others names, by id.
func readReferenced[R, Of record.Kind](k *reading, column func(Of) string, of []Of) (map[string]R, error) {
	ids := distinctIDs(of, column)
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := readRows[R](k, k.tx.DB().InUUID("id", 2), query.List(ids))
	return byIDs(rows), err
}

// distinctIDs lists the ids in a column of records, each once, in the order of the records.
func distinctIDs[R record.Kind](records []R, column func(R) string) []string {
	var ids []string
	seen := map[string]bool{"": true}
	for _, r := range records {
		if id := column(r); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func (k *reading) zoneLabels(rows []record.Zone) ([]label.Label, error) {
	out := make([]label.Label, len(rows))
	for i, z := range rows {
		l := label.Label{Kind: titleCase(z.Kind()), Big: z.Code(), Symbols: []label.Symbol{label.Of(z.Code())}}
		if z.Name() != z.Code() {
			l.Lines = []label.Line{{Name: "Name", Value: z.Name()}}
		}
		out[i] = l
	}
	return out, nil
}

func titleCase(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + strings.ReplaceAll(word[1:], "_", " ")
}

func (k *reading) itemLabels(rows []record.Item) ([]label.Label, error) {
	out := make([]label.Label, len(rows))
	for i, it := range rows {
		l := label.Label{Kind: "Item", Big: it.SKU(), Lines: []label.Line{{Name: "Name", Value: it.Name()}}}
		if g, err := gs1.Compose(gs1.Element{AI: "01", Value: it.GTIN()}); err == nil {
			l.Symbols = label.OfGS1(g)
		} else { // no GTIN
			l.Symbols = []label.Symbol{label.Of(it.SKU())}
		}
		out[i] = l
	}
	return out, nil
}

func (k *reading) lotLabels(rows []record.Lot) ([]label.Label, error) {
	items, err := readReferenced[record.Item](k, record.Lot.ItemID, rows)
	if err != nil {
		return nil, err
	}
	out := make([]label.Label, len(rows))
	for i, lot := range rows {
		it := items[lot.ItemID()]
		l := label.Label{Kind: "Lot", Big: lot.LotNo(),
			Lines: []label.Line{{Name: "Item", Value: it.SKU() + "  " + it.Name()}}}
		for _, d := range [...]struct{ name, on string }{{"Made", lot.ManufacturedOn()},
			{"Best before", lot.BestBefore()}, {"Expires", lot.ExpiresOn()}} {
			if d.on != "" {
				l.Lines = append(l.Lines, label.Line{Name: d.name, Value: d.on})
			}
		}
		l.Symbols = lotSymbols(it, lot, k.s.Now())
		out[i] = l
	}
	return out, nil
}

// lotSymbols are the elements of a lot: GTIN, the date by which it is used, and
// its number. Where the item has no GTIN, or GS1 does not take the lot's number,
// the number stands alone.
func lotSymbols(it record.Item, lot record.Lot, now time.Time) []label.Symbol {
	elements := []gs1.Element{{AI: "01", Value: it.GTIN()}}
	for _, d := range [...]struct{ ai, on string }{{"17", lot.ExpiresOn()}, {"15", lot.BestBefore()}} {
		if v, ok := gs1.YYMMDD(d.on, now.Year()); ok {
			elements = append(elements, gs1.Element{AI: d.ai, Value: v})
			break
		}
	}
	l, err := gs1.Compose(append(elements, gs1.Element{AI: "10", Value: lot.LotNo()})...)
	if err != nil {
		return []label.Symbol{label.Of(lot.LotNo())}
	}
	return label.OfGS1(l)
}

// packageLabels are the labels of logistic units: closed ones, which have an SSCC.
func (k *reading) packageLabels(rows []record.Package) ([]label.Label, error) {
	w, err := k.readConsignment(rows)
	if err != nil {
		return nil, err
	}
	out := make([]label.Label, len(rows))
	for i, p := range rows {
		if out[i], err = w.packageLabel(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// way is where packages go.
type way struct {
	shipments map[string]record.Shipment
	orders    map[string]record.Order
	carriers  map[string]record.Carrier
	order     map[string]string // of a package: its order, or the first of its shipment
	counts    map[string]string // of a package: which of its shipment's it is
	from      func(order record.Order) string
}

func (k *reading) readConsignment(rows []record.Package) (w *way, err error) {
	w = &way{order: map[string]string{}}
	if w.shipments, err = readReferenced[record.Shipment](k, record.Package.ShipmentID, rows); err != nil {
		return nil, err
	}
	var going []record.Shipment
	var heads []record.Order
	for _, sh := range w.shipments {
		going = append(going, sh)
	}
	for _, p := range rows {
		id := p.OrderID()
		if list := store.Texts(w.shipments[p.ShipmentID()].OrderIDs()); id == "" && len(list) > 0 {
			id = list[0]
		}
		w.order[p.ID()] = id
		heads = append(heads, record.Order{"id": db.Null(id)})
	}
	if w.orders, err = readReferenced[record.Order](k, record.Order.ID, heads); err != nil {
		return nil, err
	}
	if w.carriers, err = readReferenced[record.Carrier](k, record.Shipment.CarrierID, going); err != nil {
		return nil, err
	}
	if w.from, err = k.senderAddresses(w.orders); err != nil {
		return nil, err
	}
	w.counts, err = k.packageCounts(rows)
	return w, err
}

func (w *way) packageLabel(p record.Package) (label.Label, error) {
	no, order, sh := p.PackageNo(), w.orders[w.order[p.ID()]], w.shipments[p.ShipmentID()]
	if p.Status() != "closed" {
		return label.Label{}, fault.New(fault.Conflict, warehouse.CodeOrder,
			"package %s is open: close it, then it has an SSCC", no).At("ids", "%s is open", p.IDOrNull())
	}
	l, err := gs1.Compose(gs1.Element{AI: "00", Value: p.SSCC()})
	if err != nil {
		return label.Label{}, fault.Wrap(err, fault.Internal, "", "package %s", no)
	}
	lines := []label.Line{{Name: "From", Value: w.from(order)}, {Name: "To", Value: receiverAddress(order, sh)}}
	lines = appendLines(lines, "Order", order.OrderNo(), "Reference", order.ExternalRef(), "Shipment",
		sh.ShipmentNo(),
		"Carrier", carrierOf(sh, w.carriers), "Tracking", sh.TrackingNo(), "Weight",
		formatWeight(p, "kg"), "Package", w.counts[p.ID()])
	return label.Label{Tall: true, Kind: "SSCC", Big: no, Lines: lines, Symbols: label.OfGS1(l)}, nil
}

// appendLines appends lines whose value is not empty, names and values in turn.
func appendLines(lines []label.Line, pairs ...string) []label.Line {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			lines = append(lines, label.Line{Name: pairs[i], Value: pairs[i+1]})
		}
	}
	return lines
}

func formatWeight(p record.Package, unit string) string {
	if !p.HasWeightKg() {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", p.WeightKg(), unit))
}

// packageCounts says which of its shipment's packages each is: "2 of 5".
func (k *reading) packageCounts(rows []record.Package) (map[string]string, error) {
	ids := distinctIDs(rows, record.Package.ShipmentID)
	out := map[string]string{}
	if len(ids) == 0 {
		return out, nil
	}
	all, err := readRows[record.Package](k, k.tx.DB().InUUID("shipment_id", 2)+" ORDER BY package_no, id",
		query.List(ids))
	if err != nil {
		return nil, err
	}
	total, nth := map[string]int{}, map[string]int{}
	for _, p := range all {
		total[p.ShipmentID()]++
	}
	for _, p := range all {
		sh := p.ShipmentID()
		nth[sh]++
		out[p.ID()] = fmt.Sprintf("%d of %d", nth[sh], total[sh])
	}
	return out, nil
}

// senderAddresses tells whose address stands on what an order sends: its site's, else
// the tenant's only one, else the tenant's name.
func (k *reading) senderAddresses(orders map[string]record.Order) (func(order record.Order) string, error) {
	var list []record.Order
	for _, o := range orders {
		list = append(list, o)
	}
	sites, err := readReferenced[record.Site](k, record.Order.SiteID, list)
	if err != nil {
		return nil, err
	}
	only, err := readRows[record.Site](k, "archived_at IS NULL ORDER BY id LIMIT 2")
	if err != nil {
		return nil, err
	}
	return func(order record.Order) string {
		site := sites[order.SiteID()]
		if site == nil && len(only) == 1 {
			site = only[0]
		}
		company := site.CompanyName()
		if company == "" {
			company = k.name
		}
		return joinLines(company, site.Name(), site.Address(),
			joinWords(site.Zip(), site.City(), site.State(), site.Country()))
	}, nil
}

// address is where goods go, as orders and shipments keep it.
type address struct {
	Name       string   `json:"name"`
	Lines      []string `json:"lines"`
	City       string   `json:"city"`
	Region     string   `json:"region"`
	PostalCode string   `json:"postal_code"`
	Country    string   `json:"country"`
}

// receiverAddress is the address that goods go to: the order's, else the shipment's
// destination, else the name of the order's party.
func receiverAddress(order record.Order, sh record.Shipment) string {
	var to address
	raw := order.ShipTo()
	if len(raw) == 0 {
		raw = sh.Destination()
	}
	_ = json.Unmarshal(raw, &to) // the store has checked it; null is none
	if to.Name == "" {
		to.Name = order.PartyName()
	}
	lines := append([]string{to.Name}, to.Lines...)
	return joinLines(append(lines, joinWords(to.PostalCode, to.City, to.Region, to.Country))...)
}

func joinLines(parts ...string) string { return strings.Join(slices.DeleteFunc(parts, isBlank), "\n") }

func joinWords(parts ...string) string { return strings.Join(slices.DeleteFunc(parts, isBlank), " ") }

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// Now is the time that printed files are made at.
func (p *Printer) Now() time.Time { return p.store.Now() }
