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
var labelled = map[string]func(*reading, []store.Row) ([]label.Label, error){
	"packages": (*reading).packageLabels, "zones": (*reading).zoneLabels, "items": (*reading).itemLabels,
	"lots": (*reading).lotLabels,
}

// Labels are the labels of records of one of Labelled, in the order of their
// ids. An id that is not there is fault.NotFound, a package that has no SSCC
// yet fault.Conflict.
func (p *Printer) Labels(ctx context.Context, a actor.Actor, of string, ids []string) (out []label.Label, err error) {
	err = p.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		k := &reading{s: p.store, tx: tx, a: a}
		rows, err := k.readVisible(of, "ids", ids)
		if err != nil {
			return err
		}
		if err := k.readTenant(); err != nil {
			return err
		}
		out, err = labelled[of](k, rows)
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
func (k *reading) readVisible(resource, field string, ids []string) ([]store.Row, error) {
	r, _ := k.s.Catalog().Get(resource)
	if _, err := query.Access(k.a, r, r.Access.Read); err != nil {
		return nil, err
	}
	policy, _ := query.ReadPolicy(k.a, r)
	args := []any{k.a.TenantID, query.List(ids)}
	where := k.tx.DB().InUUID("id", 2) + " AND " + policy.Where(k.tx.DB(), resource, &args)
	rows, err := k.s.In(k.tx, k.a).Rows(r.Name, where, args[1:]...)
	if err != nil {
		return nil, err
	}
	known := byIDs(rows)
	out := make([]store.Row, len(ids))
	for i, id := range ids {
		if out[i] = known[id]; out[i] == nil {
			return nil, fault.New(fault.NotFound, "PGRST116", "no row of %s has the id %s", resource, id).At(field,
				"%s is unknown", id)
		}
	}
	return out, nil
}

func byIDs(rows []store.Row) map[string]store.Row {
	m := make(map[string]store.Row, len(rows))
	for _, r := range rows {
		m[r.Text("id")] = r
	}
	return m
}

// readRows reads records of the tenant, whoever may read them: those that belong to
// what is printed.
func (k *reading) readRows(resource, where string, args ...any) ([]store.Row, error) {
	return k.s.In(k.tx, k.a).Rows(resource, where, args...)
}

// readReferenced are the records that a column of others names, by id.
func (k *reading) readReferenced(resource, column string, of []store.Row) (map[string]store.Row, error) {
	ids := distinctIDs(of, column)
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := k.readRows(resource, k.tx.DB().InUUID("id", 2), query.List(ids))
	return byIDs(rows), err
}

// distinctIDs lists the ids in a column of rows, each once, in the order of the rows.
func distinctIDs(rows []store.Row, column string) []string {
	var ids []string
	seen := map[string]bool{"": true}
	for _, r := range rows {
		if id := r.Text(column); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func (k *reading) zoneLabels(rows []store.Row) ([]label.Label, error) {
	out := make([]label.Label, len(rows))
	for i, z := range rows {
		l := label.Label{Kind: titleCase(z.Text("kind")), Big: z.Text("code"),
			Symbols: []label.Symbol{label.Of(z.Text("code"))}}
		if z.Text("name") != z.Text("code") {
			l.Lines = []label.Line{{Name: "Name", Value: z.Text("name")}}
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

func (k *reading) itemLabels(rows []store.Row) ([]label.Label, error) {
	out := make([]label.Label, len(rows))
	for i, it := range rows {
		l := label.Label{Kind: "Item", Big: it.Text("sku"), Lines: []label.Line{{Name: "Name", Value: it.Text("name")}}}
		if g, err := gs1.Compose(gs1.Element{AI: "01", Value: it.Text("gtin")}); err == nil {
			l.Symbols = label.OfGS1(g)
		} else { // no GTIN
			l.Symbols = []label.Symbol{label.Of(it.Text("sku"))}
		}
		out[i] = l
	}
	return out, nil
}

func (k *reading) lotLabels(rows []store.Row) ([]label.Label, error) {
	items, err := k.readReferenced("items", "item_id", rows)
	if err != nil {
		return nil, err
	}
	out := make([]label.Label, len(rows))
	for i, lot := range rows {
		it := items[lot.Text("item_id")]
		l := label.Label{Kind: "Lot", Big: lot.Text("lot_no"),
			Lines: []label.Line{{Name: "Item", Value: it.Text("sku") + "  " + it.Text("name")}}}
		for _, d := range [...]struct{ name, column string }{{"Made", "manufactured_on"}, {"Best before", "best_before"},
			{"Expires", "expires_on"}} {
			if on := lot.Text(d.column); on != "" {
				l.Lines = append(l.Lines, label.Line{Name: d.name, Value: on})
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
func lotSymbols(it, lot store.Row, now time.Time) []label.Symbol {
	elements := []gs1.Element{{AI: "01", Value: it.Text("gtin")}}
	for _, d := range [...]struct{ ai, column string }{{"17", "expires_on"}, {"15", "best_before"}} {
		if v, ok := gs1.YYMMDD(lot.Text(d.column), now.Year()); ok {
			elements = append(elements, gs1.Element{AI: d.ai, Value: v})
			break
		}
	}
	l, err := gs1.Compose(append(elements, gs1.Element{AI: "10", Value: lot.Text("lot_no")})...)
	if err != nil {
		return []label.Symbol{label.Of(lot.Text("lot_no"))}
	}
	return label.OfGS1(l)
}

// packageLabels are the labels of logistic units: closed ones, which have an SSCC.
func (k *reading) packageLabels(rows []store.Row) ([]label.Label, error) {
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
	shipments, orders, carriers map[string]store.Row
	order                       map[string]string // of a package: its order, or the first of its shipment
	counts                      map[string]string // of a package: which of its shipment's it is
	from                        func(order store.Row) string
}

func (k *reading) readConsignment(rows []store.Row) (w *way, err error) {
	w = &way{order: map[string]string{}}
	if w.shipments, err = k.readReferenced("shipments", "shipment_id", rows); err != nil {
		return nil, err
	}
	var going, heads []store.Row
	for _, sh := range w.shipments {
		going = append(going, sh)
	}
	for _, p := range rows {
		id := p.Text("order_id")
		if list := store.Texts(w.shipments[p.Text("shipment_id")]["order_ids"]); id == "" && len(list) > 0 {
			id = list[0]
		}
		w.order[p.Text("id")] = id
		heads = append(heads, store.Row{"order_id": db.Null(id)})
	}
	if w.orders, err = k.readReferenced("orders", "order_id", heads); err != nil {
		return nil, err
	}
	if w.carriers, err = k.readReferenced("carriers", "carrier_id", going); err != nil {
		return nil, err
	}
	if w.from, err = k.senderAddresses(w.orders); err != nil {
		return nil, err
	}
	w.counts, err = k.packageCounts(rows)
	return w, err
}

func (w *way) packageLabel(p store.Row) (label.Label, error) {
	no, order, sh := p.Text("package_no"), w.orders[w.order[p.Text("id")]], w.shipments[p.Text("shipment_id")]
	if p["status"] != "closed" {
		return label.Label{}, fault.New(fault.Conflict, warehouse.CodeOrder,
			"package %s is open: close it, then it has an SSCC", no).At("ids", "%s is open", p["id"])
	}
	l, err := gs1.Compose(gs1.Element{AI: "00", Value: p.Text("sscc")})
	if err != nil {
		return label.Label{}, fault.Wrap(err, fault.Internal, "", "package %s", no)
	}
	lines := []label.Line{{Name: "From", Value: w.from(order)}, {Name: "To", Value: receiverAddress(order, sh)}}
	lines = appendLines(lines, "Order", order.Text("order_no"), "Reference", order.Text("external_ref"), "Shipment",
		sh.Text("shipment_no"),
		"Carrier", carrierOf(sh, w.carriers), "Tracking", sh.Text("tracking_no"), "Weight",
		formatWithUnit(p, "weight_kg", "kg"), "Package", w.counts[p.Text("id")])
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

func formatWithUnit(r store.Row, column, name string) string {
	if r[column] == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", r.Decimal(column), name))
}

// packageCounts says which of its shipment's packages each is: "2 of 5".
func (k *reading) packageCounts(rows []store.Row) (map[string]string, error) {
	ids := distinctIDs(rows, "shipment_id")
	out := map[string]string{}
	if len(ids) == 0 {
		return out, nil
	}
	all, err := k.readRows("packages", k.tx.DB().InUUID("shipment_id", 2)+" ORDER BY package_no, id", query.List(ids))
	if err != nil {
		return nil, err
	}
	total, nth := map[string]int{}, map[string]int{}
	for _, p := range all {
		total[p.Text("shipment_id")]++
	}
	for _, p := range all {
		sh := p.Text("shipment_id")
		nth[sh]++
		out[p.Text("id")] = fmt.Sprintf("%d of %d", nth[sh], total[sh])
	}
	return out, nil
}

// senderAddresses tells whose address stands on what an order sends: its site's, else
// the tenant's only one, else the tenant's name.
func (k *reading) senderAddresses(orders map[string]store.Row) (func(order store.Row) string, error) {
	var list []store.Row
	for _, o := range orders {
		list = append(list, o)
	}
	sites, err := k.readReferenced("sites", "site_id", list)
	if err != nil {
		return nil, err
	}
	only, err := k.readRows("sites", "archived_at IS NULL ORDER BY id LIMIT 2")
	if err != nil {
		return nil, err
	}
	return func(order store.Row) string {
		site := sites[order.Text("site_id")]
		if site == nil && len(only) == 1 {
			site = only[0]
		}
		company := site.Text("company_name")
		if company == "" {
			company = k.name
		}
		return joinLines(company, site.Text("name"), site.Text("address"),
			joinWords(site.Text("zip"), site.Text("city"), site.Text("state"), site.Text("country")))
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
func receiverAddress(order, sh store.Row) string {
	var to address
	raw, _ := order["ship_to"].(json.RawMessage)
	if len(raw) == 0 {
		raw, _ = sh["destination"].(json.RawMessage)
	}
	_ = json.Unmarshal(raw, &to) // the store has checked it; null is none
	if to.Name == "" {
		to.Name = order.Text("party_name")
	}
	lines := append([]string{to.Name}, to.Lines...)
	return joinLines(append(lines, joinWords(to.PostalCode, to.City, to.Region, to.Country))...)
}

func joinLines(parts ...string) string { return strings.Join(slices.DeleteFunc(parts, isBlank), "\n") }

func joinWords(parts ...string) string { return strings.Join(slices.DeleteFunc(parts, isBlank), " ") }

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// Now is the time that printed files are made at.
func (p *Printer) Now() time.Time { return p.store.Now() }
