package query

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
)

// Policy is the row policy of one caller on one resource: which of the records
// a statement may reach. Everything that reads or changes records takes it from
// here; there is no second place that reads grants.
type Policy struct {
	tenant string // "" = the service key without a tenant
	root   bool   // the resource is the tenants themselves
	limit  bool   // only rows that match one of the following
	user   []string
	userID string
	hands  []string // columns that name the caller's worker record
	worker string
	zone   string
	zones  []string
	goods  []string // a client's: the columns from the row to the owner of its goods,
	via    string   // the table that the first of two points to,
	owner  string   // and who that has to be
	also   string   // column by which more rows are reached,
	words  []string
	work   *catalog.Work // what nobody has taken is reached too, in zones, or in any where there are none

	parents []parentPolicy // the records beside which rows are read; nil = rows are not judged by a record
	seal    *catalog.Seal  // which rows are kept from the caller all the same; nil = none
	reader  string         // the account that a seal may name
}

// parentPolicy is the policy on a record that rows are kept with.
type parentPolicy struct {
	column, table string // the reference, and what it points to
	policy        Policy
}

// Access finds the caller's grant among gs. A caller without identity, tenant
// or grant is refused; where no role has one, the hint is what the collection
// says of itself, and so of the door that leads to it.
func Access(a actor.Actor, r *catalog.Resource, gs []catalog.Grant) (catalog.Grant, error) {
	if a.Anonymous() {
		return catalog.Grant{}, fault.New(fault.Unauthorized, "PGRST302", "anonymous access is disabled: sign in")
	}
	if a.Role != actor.Service && a.TenantID == "" {
		return catalog.Grant{}, fault.New(fault.Forbidden, "42501", "the user is not associated with a tenant")
	}
	g, ok := catalog.Find(gs, a.Role)
	if !ok || g.Scope == catalog.None || !a.Scope.Reads(r.Name) {
		err := fault.New(fault.Forbidden, "42501", "permission denied for table %s", r.Name)
		if len(gs) == 0 {
			err = err.With("", r.Doc)
		}
		return catalog.Grant{}, err
	}
	return g, nil
}

// May reports whether a role has a grant among gs.
func May(gs []catalog.Grant, role actor.Role) bool {
	g, ok := catalog.Find(gs, role)
	return ok && g.Scope != catalog.None
}

// MayAll reports whether a role's grant among gs reaches every row and every
// field of it.
func MayAll(gs []catalog.Grant, role actor.Role) bool {
	g, ok := catalog.Find(gs, role)
	return ok && g.Scope == catalog.All && len(g.Fields) == 0
}

// Audience is what a policy of own rows looks at, by column: the ids by which a
// record names people, and the words by which roles read rows that are not their
// own. nil where there is none.
func Audience(r *catalog.Resource, row map[string]any) map[string]string {
	columns := slices.Clone(r.Own)
	for _, g := range r.Access.Read {
		if g.Also != "" {
			columns = append(columns, g.Also)
		}
	}

	var m map[string]string
	for _, c := range columns {
		if text, _ := row[c].(string); text != "" {
			if m == nil {
				m = map[string]string{}
			}
			m[c] = text
		}
	}
	return m
}

// ReadsWhole reports that a role reads all of a tenant's records of a resource, or none.
func ReadsWhole(r *catalog.Resource, role actor.Role) bool {
	return MayAll(r.Access.Read, role) && r.Zoned == "" && (r.Seal == nil || r.Seal.Opens(role))
}

// ReadPolicy is the policy by which the caller reads a resource's records; false
// when the caller may read none.
func ReadPolicy(a actor.Actor, r *catalog.Resource) (Policy, bool) {
	g, err := Access(a, r, r.Access.Read)
	if err != nil {
		return Policy{}, false
	}
	return newPolicy(a, r, g), true
}

func newPolicy(a actor.Actor, r *catalog.Resource, g catalog.Grant) Policy {
	p := newGrantPolicy(a, r, g)
	if r.Seal != nil && !r.Seal.Opens(a.Role) {
		p.seal, p.reader = r.Seal, a.UserID
	}
	return p
}

// newGrantPolicy is the policy of a grant, before seals.
func newGrantPolicy(a actor.Actor, r *catalog.Resource, g catalog.Grant) Policy {
	p := Policy{tenant: a.TenantID, root: r.Root}
	zoned := r.Zoned != "" && len(a.ZoneIDs) > 0 && (a.Role == actor.Operator || a.Role == actor.Driver)
	if g.Scope == catalog.Goods {
		p.limit, p.goods, p.owner = true, r.Goods, a.GoodsOwner
		if f, _ := r.Field(r.Goods[0]); len(r.Goods) > 1 {
			p.via = f.Ref
		}
		return p
	}
	if g.Scope == catalog.Parent {
		p.limitToParents(a, r)
		return p
	}
	if g.Scope != catalog.Own && !zoned {
		return p
	}
	p.limit = true
	if g.Scope == catalog.Own {
		p.also, p.words = g.Also, g.In
		p.addWork(a, g.Work)
		p.addWhole(a, r, g.Beside)
	}
	for _, c := range r.Own {
		if worker := strings.HasSuffix(c, "worker_id"); worker && a.WorkerID != "" {
			p.hands, p.worker = append(p.hands, c), a.WorkerID
		} else if !worker && a.UserID != "" {
			p.user, p.userID = append(p.user, c), a.UserID
		}
	}
	if g.Scope != catalog.Own {
		p.zone, p.zones = r.Zoned, a.ZoneIDs
	}
	return p
}

// limitToParents keeps a policy to rows beside records that the caller may read. A
// caller who reads all the records that rows can be beside is not limited.
func (p *Policy) limitToParents(a actor.Actor, r *catalog.Resource) {
	for _, parent := range r.ParentRecords() {
		policy, ok := ReadPolicy(a, parent.Resource)
		if !ok {
			p.limit = true
			continue
		}
		p.limit = p.limit || policy.limit || policy.seal != nil
		p.parents = append(p.parents, parentPolicy{parent.Column, parent.Resource.Name, policy})
	}
}

// isGlobal reports a policy across tenants.
func (p *Policy) isGlobal() bool { return p.tenant == "" && !p.root }

// Shared reports that the policy reaches the same rows for everybody of the
// caller's role in the tenant.
func (p *Policy) Shared() bool { return !p.limit && (p.seal == nil || p.reader == "") }

// Where is the policy as a condition on the table or alias t of a statement,
// its values appended to args. The tenant that stands first among them is not
// bound again.
func (p *Policy) Where(d Dialect, t string, args *[]any) string {
	w := &writer{d: d, args: *args}
	if len(w.args) > 0 && w.args[0] == any(p.tenant) {
		w.tenant = 1
	}
	w.writePolicy(p, t, "", true)
	*args = w.args
	return string(w.b)
}

// Reach says in a word which rows of the tenant the caller's row policy under
// grant g leaves: all, owner, own, zones, own or zones, parent, none.
func Reach(a actor.Actor, r *catalog.Resource, g catalog.Grant) string {
	p := newPolicy(a, r, g)
	own, zone := len(p.user)+len(p.hands) > 0, p.zone != ""
	switch {
	case !p.limit:
		return "all"
	case g.Scope == catalog.Parent && len(p.parents) > 0:
		return "parent"
	case len(p.goods) > 0:
		return "owner"
	case own && zone:
		return "own or zones"
	case own:
		return "own"
	case zone:
		return "zones"
	}
	return "none"
}

// Admits reports whether the caller's row policy under grant g reaches a row
// (for rows that are not found by a statement: inserts and upserts).
func Admits(a actor.Actor, r *catalog.Resource, g catalog.Grant, row Row) bool {
	p := newPolicy(a, r, g)
	return p.Admits(row)
}

// Admits reports whether the policy reaches a row of the policy's tenant. What is
// kept with a record of which the caller reads some is found by a statement alone.
func (p *Policy) Admits(row Row) bool {
	if p.isSealed(row) {
		return false
	}
	if !p.limit {
		return true
	}
	for _, c := range p.user {
		if row[c] == any(p.userID) {
			return true
		}
	}
	for _, c := range p.hands {
		if row[c] == any(p.worker) {
			return true
		}
	}
	if word, _ := row[p.also].(string); word != "" && containsText(p.words, word) {
		return true
	}
	if len(p.goods) == 1 && p.owner != "" { // another record's owner is found by a statement alone
		return row[p.goods[0]] == any(p.owner)
	}
	zone, _ := row[p.zone].(string)
	return zone != "" && containsText(p.zones, zone)
}

// AsksRows reports a policy that reaches rows which are found by a statement alone, besides those
// that Admits knows: work that nobody has taken, and rows of records that the caller may read; or
// one that keeps rows from the caller by what only a statement knows.
func (p *Policy) AsksRows() bool {
	return p.limit && (p.work != nil || len(p.parents) > 0) || p.seal != nil
}

// writePolicy writes the tenant's condition and, unless the rows are named one by
// one, what narrows the caller's rows. parent is the table of the enclosing
// statement of a correlated one.
func (w *writer) writePolicy(p *Policy, t, parent string, narrow bool) {
	switch {
	case p.tenant != "":
		col := ".tenant_id = $"
		if p.root {
			col = ".id = $"
		}
		if w.tenant == 0 {
			w.tenant = w.addArgument(p.tenant)
		}
		w.s(t, col, strconv.Itoa(w.tenant))
	case parent != "" && !p.root:
		w.s(t, ".tenant_id = ", parent, ".tenant_id")
	default:
		w.s("1 = 1")
	}
	if p.limit && narrow {
		w.s(" AND ")
		w.writeOwnRows(p, t)
	}
	if p.seal != nil {
		w.s(" AND ")
		w.writeUnsealed(p, t)
	}
}

// writeOwnRows writes the condition that keeps the caller to some rows of the tenant.
func (w *writer) writeOwnRows(p *Policy, t string) {
	w.s("(")
	sep := ""
	for _, c := range p.user {
		w.s(sep, t, ".", c, " = ")
		w.bind(p.userID)
		sep = " OR "
	}
	for _, c := range p.hands {
		w.s(sep, t, ".", c, " = ")
		w.bind(p.worker)
		sep = " OR "
	}
	if p.zone != "" {
		w.s(sep, w.d.InUUID(t+"."+p.zone, w.addArgument(List(p.zones))))
		sep = " OR "
	}
	if p.also != "" {
		w.s(sep, w.d.InText(t+"."+p.also, w.addArgument(List(p.words))))
		sep = " OR "
	}
	if len(p.goods) > 0 && p.owner != "" {
		w.s(sep)
		w.writeOwnGoods(p, t)
		sep = " OR "
	}
	if p.work != nil {
		w.s(sep)
		w.writeWork(p, t)
		sep = " OR "
	}
	for i := range p.parents {
		w.s(sep)
		w.writeReadableParent(&p.parents[i], t)
		sep = " OR "
	}
	if sep == "" {
		w.s("1 = 0")
	}
	w.s(")")
}

// writeOwnGoods writes the condition that the goods a row is about are the caller's.
func (w *writer) writeOwnGoods(p *Policy, t string) {
	if p.via != "" {
		w.s(t, ".", p.goods[0], " IN (SELECT id FROM ", p.via, " WHERE tenant_id = $", strconv.Itoa(w.tenant), " AND ",
			p.goods[1], " = ")
		w.bind(p.owner)
		w.s(")")
		return
	}
	w.s(t, ".", p.goods[0], " = ")
	w.bind(p.owner)
}

// writeReadableParent writes the condition that a row is kept with a record that
// the caller may read. The record is looked up for each row that the filters leave: a
// list of all such records would be worked out for one row too, as would EXISTS on
// PostgreSQL.
func (w *writer) writeReadableParent(parent *parentPolicy, t string) {
	if !parent.policy.limit && parent.policy.seal == nil {
		w.s(t, ".", parent.column, " IS NOT NULL")
		return
	}
	w.s("1 = (SELECT 1 FROM ", parent.table, " WHERE ", parent.table, ".id = ", t, ".", parent.column, " AND ")
	w.writePolicy(&parent.policy, parent.table, t, true)
	w.s(")")
}
