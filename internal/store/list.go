package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// Lists are collections as answers show their records: to each role every field
// that it may read, in catalog order. Made once; safe for concurrent use.
type Lists map[string]map[actor.Role]*listing

// listing is a collection as one role sees it.
type listing struct {
	res     *catalog.Resource
	columns string // each with the alias r
	cells   []query.Out
	names   [][]byte // `{"id":` or `,"name":` of each cell
	isWhole bool     // whoever of the role sees records sees all of the tenant's
}

// Lists prepares collections for answers. A name that the catalog lacks is a
// fault of the program.
func (s *Store) Lists(names ...string) Lists {
	out := Lists{}
	for _, name := range names {
		r, ok := s.cat.Get(name)
		if !ok {
			panic(fmt.Sprintf("store: the catalog has no %s", name))
		}
		out[name] = map[actor.Role]*listing{}
		for _, role := range append([]actor.Role{actor.Service}, actor.Members...) {
			out[name][role] = newListing(r, role)
		}
	}
	return out
}

func newListing(r *catalog.Resource, role actor.Role) *listing {
	l := &listing{res: r, cells: query.Members(r, role)}
	l.isWhole = query.ReadsWhole(r, role)
	columns := make([]string, len(l.cells))
	for i, c := range l.cells {
		lead := byte(',')
		if i == 0 {
			lead = '{'
		}
		l.names = append(l.names, append(db.AppendString([]byte{lead}, c.Key), ':'))
		columns[i] = "r." + c.Key
	}
	l.columns = strings.Join(columns, ", ")
	return l
}

// Of is an empty list of a collection for the caller, who sees nothing without a
// tenant or a grant.
func (ls Lists) Of(a actor.Actor, name string) *List {
	l := &List{listing: ls[name][a.Role]}
	if l.listing != nil && a.TenantID != "" {
		l.policy, l.sees = listPolicy(a, l.res)
	}
	return l
}

// listPolicy is the policy by which lists are read. What is for named readers is left to those whose
// role reads it: lists are kept for all of a role.
func listPolicy(a actor.Actor, r *catalog.Resource) (query.Policy, bool) {
	p, sees := query.ReadPolicy(a, r)
	if r.Seal != nil && r.Seal.By == "" {
		p.ForgetReader()
	}
	return p, sees
}

// Shared reports that everybody of the caller's role sees the same records in
// these collections.
func (ls Lists) Shared(a actor.Actor, names ...string) bool {
	for _, n := range names {
		l := ls[n][a.Role]
		if l == nil || l.isWhole || a.TenantID == "" {
			continue
		}
		if policy, sees := listPolicy(a, l.res); sees && !policy.Shared() {
			return false
		}
	}
	return true
}

// List is a page of a collection's records on its way into an answer. It is
// queued beside other statements, and its rows are written as JSON while they
// come.
type List struct {
	// Each hears of every row of the page, whose columns are the list's.
	Each func(r *db.Row)
	More bool // at least one record follows the page

	*listing
	policy query.Policy
	sees   bool
	buf    []byte
	n      int
	size   int // rows wanted
}

// Visible reports that the caller may read records of the collection at all.
func (l *List) Visible() bool { return l.sees }

// Column is a field's place in the rows, -1 when the caller does not see it.
func (l *List) Column(field string) int {
	if l.listing == nil {
		return -1
	}
	for i := range l.cells {
		if l.cells[i].Key == field {
			return i
		}
	}
	return -1
}

// JSON is the list as an array, once its rows have come.
func (l *List) JSON() json.RawMessage {
	if l.n == 0 {
		return json.RawMessage("[]")
	}
	return append(l.buf, ']')
}

func (l *List) addRow(r *db.Row) error {
	if l.n == l.size {
		l.More = true
		return nil
	}
	lead := byte('[')
	if l.n > 0 {
		lead = ','
	}
	l.buf = append(l.buf, lead)
	l.n++
	for i := range l.cells {
		l.buf = appendCell(append(l.buf, l.names[i]...), &l.cells[i], r)
	}
	l.buf = append(l.buf, '}')
	if l.Each != nil {
		l.Each(r)
	}
	return nil
}

// Page is a part of a list: rows from the offset on.
type Page struct {
	Size   int
	Offset int64
}

// fetchSize is how many rows to ask for, one more than wanted, as literal text: a
// planner that knows the limit walks the index. Few sizes keep prepared texts
// few.
func (p Page) fetchSize() int {
	for _, n := range [...]int{11, 21, 51, 101, 201} {
		if p.Size < n {
			return n
		}
	}
	return p.Size + 1
}

// limitClause is the LIMIT clause.
func (p Page) limitClause(args *[]any) string {
	s := " LIMIT " + strconv.Itoa(p.fetchSize())
	if p.Offset > 0 {
		*args = append(*args, p.Offset)
		s += " OFFSET $" + strconv.Itoa(len(*args))
	}
	return s
}

// Queue asks for a page of the records of the caller's tenant. where narrows it,
// beginning with AND or empty; its values are args, the first being $2. order
// ends the statement.
func (l *List) Queue(tx *Tx, p Page, where, order string, args ...any) {
	l.size = p.Size
	if !l.sees {
		return
	}
	all := append([]any{tx.TenantID}, args...)
	may := l.policy.Where(tx.DB(), "r", &all)
	sql := "SELECT " + l.columns + " FROM " + l.res.Name + " r WHERE " + may + where + " ORDER BY " + order +
		p.limitClause(&all)
	tx.Queue(sql, all, l.addRow)
}

// QueueStates asks for a page of the records in any of the states, newest
// first: each state's index is walked from its end, and the ends are merged.
func (l *List) QueueStates(tx *Tx, p Page, states []string) {
	l.size = p.Size
	if !l.sees {
		return
	}
	args := []any{tx.TenantID}
	may := l.policy.Where(tx.DB(), "r", &args)
	most := " LIMIT " + strconv.Itoa(p.fetchSize())
	if p.Offset > 0 {
		args = append(args, p.Offset+int64(p.fetchSize()))
		most = " LIMIT $" + strconv.Itoa(len(args))
	}
	var b strings.Builder
	b.WriteString("SELECT " + l.columns + " FROM (SELECT id FROM (")
	for i, st := range states {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		// A limit inside a member of UNION needs a SELECT of its own around it.
		b.WriteString("SELECT id FROM (SELECT r.id FROM " + l.res.Name + " r WHERE " + may +
			" AND r.status = '" + st + "' ORDER BY r.id DESC" + most + ") s" + strconv.Itoa(i))
	}
	b.WriteString(") u ORDER BY id DESC" + p.limitClause(&args) + ") p CROSS JOIN " + l.res.Name +
		" r WHERE r.tenant_id = $1 AND r.id = p.id ORDER BY r.id DESC")
	tx.Queue(b.String(), args, l.addRow)
}
