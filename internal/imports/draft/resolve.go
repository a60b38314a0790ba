package draft

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/gs1"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Resolver turns what cells call other records by into ids, a batch of rows at
// a time, by the namings below, and lots by item and number; any of them by id.
type Resolver struct {
	db    *db.DB
	actor actor.Actor
	known map[string]map[string]found // resource -> text -> record
	lots  map[match.LotKey]lot
}

// found is the outcome of one look-up; n counts the records with that name.
// state is what movements depend on: an item's tracking, a zone's status. gives is
// the field that takes the id, where it is not the one that was asked for.
type found struct {
	id    string
	n     int
	state string
	gives string
}

// states are the columns read into found.state; behind an item's tracking stands the
// unit that its stock is counted in.
var states = map[string]string{"items": "tracking || ' ' || base_uom", "zones": "status"}

type lot struct{ id, expires string }

// cacheLimit bounds what is remembered between batches.
const cacheLimit = 50_000

// NewResolver returns a resolver for who reads the file.
func NewResolver(d *db.DB, a actor.Actor) *Resolver {
	return &Resolver{db: d, actor: a, known: map[string]map[string]found{}, lots: map[match.LotKey]lot{}}
}

// naming is a column that records are called by. fold says that it ignores
// case, gtin that a GTIN stands in it with 14 digits, uuid that it is an id; table and id are set where the
// names stand in another table, and gives where the id is of another field than the
// one that files fill.
type naming struct {
	column     string
	fold, gtin bool
	uuid       bool
	table, id  string
	gives      string
}

// labels are the barcodes of items in the unit that their stock is counted in: what a
// file counts by the barcode of a carton are no pieces.
const labels = `(
	SELECT item_barcodes.tenant_id, item_barcodes.item_id, item_barcodes.value, items.tracking, items.base_uom
	FROM item_barcodes
	JOIN items ON items.tenant_id = item_barcodes.tenant_id AND items.id = item_barcodes.item_id
	WHERE item_barcodes.uom = items.base_uom
) AS labels`

// accounts are people by the address that they sign in with.
var accounts = naming{column: "email", fold: true, table: "members", id: "user_id"}

// namings are what files call records by, best first.
var namings = map[string][]naming{
	"items":     {{column: "sku"}, {column: "value", gtin: true, table: labels, id: "item_id"}},
	"zones":     {{column: "code", fold: true}, {column: "name"}},
	"sites":     {{column: "code", fold: true}, {column: "name"}},
	"teams":     {{column: "code", fold: true}, {column: "name"}},
	"workers":   {{column: "employee_no"}, {column: "name"}},
	"vehicles":  {{column: "plate"}},
	"equipment": {{column: "asset_no", fold: true}, {column: "serial_no"}, {column: "name"}},
	"courses":   {{column: "code", fold: true}, {column: "title"}},
	"incidents": {{column: "incident_no"}, {column: "external_ref"}},
	"orders":    {{column: "order_no"}},
	targets.People: {
		accounts,
		{column: "employee_no", table: "workers", id: "user_id"},
		{column: "name", table: "workers", id: "user_id"},
	},
	targets.Holders: {
		accounts,
		{column: "employee_no", table: "workers", id: "id", gives: targets.Worker},
		{column: "name", table: "workers", id: "id", gives: targets.Worker},
	},
}

// singulars are what one record is called where that is more than its
// resource without the s.
var singulars = map[string]string{
	"equipment": "equipment", targets.People: "person who signs in", targets.Holders: "person",
}

func singularName(resource string) string {
	if s := singulars[resource]; s != "" {
		return s
	}
	return strings.TrimSuffix(targets.Spoken(resource), "s")
}

func codeOf(resource string) string {
	if resource == targets.People || resource == targets.Holders {
		return "person"
	}
	return strings.TrimSuffix(resource, "s")
}

// Resolve looks up the references of a batch and sets the ids.
func (r *Resolver) Resolve(ctx context.Context, v *Reader, batch []*Draft) error {
	r.forgetLookups()
	want := map[string]map[string]bool{}
	for _, d := range batch {
		for _, ref := range d.refs {
			to := ref.col.Field.Ref
			if to == "lots" || r.known[to][ref.text].n > 0 {
				continue
			}
			if want[to] == nil {
				want[to] = map[string]bool{}
			}
			want[to][ref.text] = true
		}
	}
	err := r.db.Read(ctx, store.Scope(r.actor), func(tx *db.Tx) error {
		for to, texts := range want {
			if err := r.lookUp(tx, to, texts); err != nil {
				return err
			}
		}
		for _, d := range batch {
			r.putIDs(v, d)
		}
		if v.Target.NamesHolder() {
			if err := r.nameHolders(tx, batch); err != nil {
				return err
			}
		}
		return r.resolveLots(tx, v, batch)
	})
	if err != nil {
		return fmt.Errorf("imports: resolve references: %w", err)
	}
	return nil
}

// forgetLookups drops what was remembered when it gets too much, between batches
// only: a batch looks up just what is not known when it begins.
func (r *Resolver) forgetLookups() {
	for to, hits := range r.known {
		if len(hits) > cacheLimit {
			delete(r.known, to)
		}
	}
	if len(r.lots) > cacheLimit {
		r.lots = map[match.LotKey]lot{}
	}
}

// lookUp finds texts among one resource's ids and names.
func (r *Resolver) lookUp(tx *db.Tx, to string, texts map[string]bool) error {
	hits := r.known[to]
	if hits == nil {
		hits = map[string]found{}
		r.known[to] = hits
	}
	var ids, rest []string
	for t := range texts {
		if id, err := uuid.Parse(t); err == nil && len(t) == 36 {
			ids = append(ids, id.String())
		} else {
			rest = append(rest, t)
		}
	}
	if len(ids) > 0 {
		id := naming{column: "id", fold: true}
		if to == targets.People || to == targets.Holders {
			id = naming{column: "user_id", fold: true, table: "members", id: "user_id"}
		}
		if err := r.byColumn(tx, to, id, ids, hits); err != nil {
			return err
		}
	}
	for _, n := range namings[to] {
		var left []string
		for _, t := range rest {
			if hits[t].n == 0 {
				left = append(left, t)
			}
		}
		if len(left) == 0 {
			return nil
		}
		if err := r.byColumn(tx, to, n, left, hits); err != nil {
			return err
		}
	}
	return nil
}

func (r *Resolver) byColumn(tx *db.Tx, to string, n naming, texts []string, hits map[string]found) error {
	spelled := map[string][]string{} // key in the database -> texts of the file
	keys := make([]string, 0, len(texts))
	for _, t := range texts {
		k := t
		if n.fold {
			k = strings.ToLower(t)
		}
		if padded, ok := gs1.GTIN(t); ok && n.gtin {
			k = padded
		}
		if spelled[k] == nil {
			keys = append(keys, k)
		}
		spelled[k] = append(spelled[k], t)
	}
	expr, table, id := n.column, to, "id"
	if n.table != "" {
		table, id = n.table, n.id
	}
	in := ""
	switch {
	case n.column == id || n.uuid:
		in = tx.DB().InUUID(n.column, 2)
	case n.fold:
		expr = "lower(" + n.column + ")"
		in = tx.DB().InText(expr, 2)
	default:
		in = tx.DB().InText(expr, 2)
	}
	state := states[to]
	if state == "" {
		state = "''"
	}
	return tx.Query(db.FillWords(`
		SELECT {id}, {expr}, {state}
		FROM {table}
		WHERE tenant_id = $1
			AND {id} IS NOT NULL
			AND {in}`,
		"{id}", id, "{expr}", expr, "{state}", state, "{table}", table, "{in}", in),
		[]any{r.actor.TenantID, query.List(keys)}, func(row *db.Row) error {
			for _, t := range spelled[row.Text(1)] {
				t = strings.Clone(t) // not the whole row of the file with it
				hits[t] = found{id: row.Text(0), n: hits[t].n + 1, state: row.Text(2), gives: n.gives}
			}
			return nil
		})
}

// putIDs writes the ids found into a draft, and an error where there is none or
// more than one.
func (r *Resolver) putIDs(v *Reader, d *Draft) {
	for _, ref := range d.refs {
		to := ref.col.Field.Ref
		if to == "lots" {
			continue
		}
		hit := r.known[to][ref.text]
		one := singularName(to)
		switch hit.n {
		case 1:
			d.Row[cmp.Or(hit.gives, ref.col.Name)] = hit.id
			state, unit, _ := strings.Cut(hit.state, " ")
			d.noteState(ref.col.Name, state)
			if to == "items" {
				d.unit = unit
			}
		case 0:
			d.Fail(ref.col.Header, "unknown_"+codeOf(to), "there is no %s %q", one, fault.Clip(ref.text, 80))
			d.Unknown = append(d.Unknown, Unknown{ref.col.Name, ref.text})
		default:
			d.Fail(ref.col.Header, "ambiguous_"+codeOf(to), "%d %s are called %q: use the code", hit.n, targets.Spoken(to),
				fault.Clip(ref.text, 80))
		}
	}
}

// nameHolders gives rows that name an account its worker, and those that name a worker
// the account, as the records that they become have them (safety's namePeople).
func (r *Resolver) nameHolders(tx *db.Tx, batch []*Draft) error {
	for _, pair := range [...]struct {
		has, lacks string
		by         naming
	}{
		{targets.Account, targets.Worker, naming{column: "user_id", uuid: true, table: "workers", id: "id"}},
		{targets.Worker, targets.Account, naming{column: "id", uuid: true, table: "workers", id: "user_id"}},
	} {
		var ids []string
		for _, d := range batch {
			if d.Row[pair.has] != nil && d.Row[pair.lacks] == nil {
				ids = append(ids, d.Row.Text(pair.has))
			}
		}
		others := map[string]found{}
		if len(ids) == 0 {
			continue
		}
		if err := r.byColumn(tx, targets.Holders, pair.by, ids, others); err != nil {
			return err
		}
		for _, d := range batch {
			if other := others[d.Row.Text(pair.has)].id; other != "" && d.Row[pair.lacks] == nil {
				d.Row[pair.lacks] = other
			}
		}
	}
	return nil
}

const findLotsSQL = `
	SELECT id, item_id, lot_no, expires_on
	FROM lots
	WHERE tenant_id = $1 AND item_id IN {ids $2} AND lot_no IN {texts $3}`

// resolveLots finds the lots that rows name beside their item. A lot that does
// not exist is staged by its number, to be made when the file is applied, if
// the file says when lots expire.
func (r *Resolver) resolveLots(tx *db.Tx, v *Reader, batch []*Draft) error {
	type need struct {
		d   *Draft
		ref reference
		key match.LotKey
	}
	var needs []need
	var items, numbers []string
	for _, d := range batch {
		for _, ref := range d.refs {
			item, _ := d.Row["item_id"].(string)
			if ref.col.Field.Ref != "lots" || item == "" {
				continue
			}
			key := match.LotKey{Item: item, No: ref.text}
			needs = append(needs, need{d, ref, key})
			if _, ok := r.lots[key]; !ok {
				items, numbers = append(items, item), append(numbers, ref.text)
			}
		}
	}
	if len(needs) == 0 {
		return nil
	}
	err := tx.Query(findLotsSQL,
		[]any{r.actor.TenantID, query.List(items), query.List(numbers)}, func(row *db.Row) error {
			r.lots[match.LotKey{Item: row.Text(1), No: row.Text(2)}] = lot{row.Text(0), row.Text(3)}
			return nil
		})
	if err != nil {
		return err
	}
	for _, n := range needs {
		r.putLot(v, n.d, n.ref, n.key)
	}
	return nil
}

func (r *Resolver) putLot(v *Reader, d *Draft, ref reference, key match.LotKey) {
	expires, given := d.Row[targets.LotExpiry].(string)
	known, ok := r.lots[key]
	switch {
	case !ok && v.Target.Posts == nil:
		d.Fail(ref.col.Header, "unknown_lot", "the item has no lot %q", fault.Clip(ref.text, 80))
		return
	case !ok && v.Layout.Column(targets.LotExpiry) == nil:
		d.Fail(ref.col.Header, "unknown_lot", "the item has no lot %q; with a column for the expiry of lots it would be made",
			fault.Clip(ref.text, 80))
		return
	case !ok:
		if len(ref.text) > 64 {
			d.Fail(ref.col.Header, "invalid", "a lot number has at most 64 characters")
			return
		}
		known = lot{expires: strings.Clone(expires)}
		r.lots[match.LotKey{Item: key.Item, No: strings.Clone(key.No)}] = known
	case given && known.expires != expires:
		d.Fail(v.Header(targets.LotExpiry), "lot_expiry", "lot %q expires on %s, not on %s", fault.Clip(ref.text, 80),
			orNever(known.expires), expires)
		return
	}
	if known.id != "" {
		d.Row["lot_id"] = known.id
		delete(d.Row, targets.LotExpiry)
		return
	}
	d.Row[targets.LotNumber] = ref.text
}

func orNever(date string) string {
	if date == "" {
		return "no date"
	}
	return date
}

// Strangers finds reference columns none of whose texts names a record of
// ours. Where the mapping was guessed and the field may be empty, such a
// column means something else and is left out; the rest stay, and their rows
// are errors.
func (r *Resolver) Strangers(ctx context.Context, v *Reader) error {
	for _, c := range append([]plan.Mapped(nil), v.Layout.Cols...) {
		texts := v.Refs[c.Name]
		if c.How == "given" || c.Field.Required || c.Field.Ref == "lots" || len(texts) == 0 || v.Target.Posts != nil {
			continue
		}
		err := r.db.Read(ctx, store.Scope(r.actor), func(tx *db.Tx) error { return r.lookUp(tx, c.Field.Ref, texts) })
		if err != nil {
			return fmt.Errorf("imports: resolve references: %w", err)
		}
		known := 0
		for t := range texts {
			if r.known[c.Field.Ref][t].n > 0 {
				known++
			}
		}
		if known == 0 {
			v.Layout.Drop(c.Name)
			v.Warnings = append(v.Warnings, fmt.Sprintf("Column %q names none of your %s and was left out.", c.Header,
				strings.ReplaceAll(strings.ReplaceAll(c.Field.Ref, targets.Holders, targets.People), "_", " ")))
		}
	}
	return nil
}
