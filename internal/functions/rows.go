package functions

import (
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
)

// shape is how a role sees a resource's records in a list: every field it may
// read, in catalog order.
type shape struct {
	res    *catalog.Resource
	sql    string // column list, each with the alias r
	cells  []cell
	sees   bool // the role may read rows at all
	own    bool // only rows that name the caller
	toZone bool // a caller limited to zones sees only theirs
}

type cell struct {
	prefix []byte // `{"id":` or `,"name":`
	kind   catalog.Type
}

func newShape(r *catalog.Resource, role actor.Role) *shape {
	g, ok := catalog.Find(r.Access.Read, role)
	s := &shape{res: r, sees: ok && g.Scope != catalog.None, own: g.Scope == catalog.Own,
		toZone: r.Zoned != "" && (role == actor.Operator || role == actor.Driver)}
	var cols []string
	for i := range r.Fields {
		f := &r.Fields[i]
		if !f.Visible(role) {
			continue
		}
		lead := byte(',')
		if len(s.cells) == 0 {
			lead = '{'
		}
		s.cells = append(s.cells, cell{append(db.AppendString([]byte{lead}, f.Name), ':'), f.Type})
		cols = append(cols, "r."+f.Name)
	}
	s.sql = strings.Join(cols, ", ")
	return s
}

// append writes a row whose first columns are the shape's.
func (s *shape) append(b []byte, r *db.Row) []byte {
	for i := range s.cells {
		c := &s.cells[i]
		b = append(b, c.prefix...)
		if r.Null(i) {
			b = append(b, "null"...)
			continue
		}
		switch c.kind {
		case catalog.Int:
			b = strconv.AppendInt(b, r.Int(i), 10)
		case catalog.Decimal:
			b = r.Dec(i).Append(b)
		case catalog.Float:
			b = strconv.AppendFloat(b, r.Float(i), 'g', -1, 64)
		case catalog.Bool:
			b = strconv.AppendBool(b, r.Bool(i))
		case catalog.JSON, catalog.Array:
			b = r.AppendText(b, i)
		default:
			b = append(b, '"')
			at := len(b)
			b = append(db.EscapeTail(r.AppendText(b, i), at), '"')
		}
	}
	return append(b, '}')
}

// policy is the condition that keeps a caller to the rows he may read, as the
// store has it for collections: own rows, and zones for those limited to some.
// It starts with " AND " or is empty.
func (s *shape) policy(d *db.DB, a actor.Actor, args *[]any) string {
	zoned := s.toZone && len(a.ZoneIDs) > 0
	if !s.own && !zoned {
		return ""
	}
	var or []string
	bind := func(v any) int {
		*args = append(*args, v)
		return len(*args)
	}
	for _, col := range s.res.Own {
		switch worker := strings.HasSuffix(col, "worker_id"); {
		case worker && a.WorkerID != "":
			or = append(or, "r."+col+" = $"+strconv.Itoa(bind(a.WorkerID)))
		case !worker && a.UserID != "":
			or = append(or, "r."+col+" = $"+strconv.Itoa(bind(a.UserID)))
		}
	}
	if !s.own {
		or = append(or, d.InUUID("r."+s.res.Zoned, bind(query.List(a.ZoneIDs))))
	}
	if len(or) == 0 {
		return " AND 1 = 0"
	}
	return " AND (" + strings.Join(or, " OR ") + ")"
}

// shared reports that the caller sees what everybody of his role sees.
func (s *shape) shared(a actor.Actor) bool {
	return !s.sees || !s.own && !(s.toZone && len(a.ZoneIDs) > 0)
}

// list collects the rows of one list of an answer.
type list struct {
	*shape
	buf  []byte
	n    int
	size int  // rows wanted
	more bool // at least one more row exists
	each func(r *db.Row)
}

func (l *list) add(r *db.Row) error {
	if l.n == l.size {
		l.more = true
		return nil
	}
	if l.n > 0 {
		l.buf = append(l.buf, ',')
	}
	l.n++
	l.buf = l.append(l.buf, r)
	if l.each != nil {
		l.each(r)
	}
	return nil
}

// page is a part of a list: rows from the offset on.
type page struct {
	size   int
	offset int64
}

// fetch is how many rows to ask for, one more than wanted, as literal text: a
// planner that knows the limit walks the index. Few sizes keep prepared texts
// few.
func (p page) fetch() int {
	for _, n := range [...]int{11, 21, 51, 101, 201} {
		if p.size < n {
			return n
		}
	}
	return p.size + 1
}

// tail is the LIMIT clause.
func (p page) tail(args *[]any) string {
	s := " LIMIT " + strconv.Itoa(p.fetch())
	if p.offset > 0 {
		*args = append(*args, p.offset)
		s += " OFFSET $" + strconv.Itoa(len(*args))
	}
	return s
}

// queue asks for a page of rows of the tenant: where follows the tenant's
// condition and order ends the statement.
func (l *list) queue(tx *db.Tx, a actor.Actor, p page, where, order string, args ...any) {
	l.size = p.size
	if !l.sees {
		return
	}
	all := append([]any{a.TenantID}, args...)
	sql := "SELECT " + l.sql + " FROM " + l.res.Name + " r WHERE r.tenant_id = $1" + where
	sql += l.policy(tx.DB(), a, &all) + " ORDER BY " + order + p.tail(&all)
	tx.Queue(sql, all, l.add)
}

// queueStates asks for a page of the records in any of the states, newest
// first: each state's index is walked from its end, and the ends are merged.
func (l *list) queueStates(tx *db.Tx, a actor.Actor, p page, states []string) {
	l.size = p.size
	if !l.sees {
		return
	}
	args := []any{a.TenantID}
	policy := l.policy(tx.DB(), a, &args)
	most := " LIMIT " + strconv.Itoa(p.fetch())
	if p.offset > 0 {
		args = append(args, p.offset+int64(p.fetch()))
		most = " LIMIT $" + strconv.Itoa(len(args))
	}
	var b strings.Builder
	b.WriteString("SELECT " + l.sql + " FROM (SELECT id FROM (")
	for i, st := range states {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		// A limit inside a member of UNION needs a SELECT of its own around it.
		b.WriteString("SELECT id FROM (SELECT r.id FROM " + l.res.Name + " r WHERE r.tenant_id = $1 AND r.status = '" + st + "'" + policy + " ORDER BY r.id DESC" + most + ") s" + strconv.Itoa(i))
	}
	b.WriteString(") u ORDER BY id DESC" + p.tail(&args) + ") p CROSS JOIN " + l.res.Name + " r WHERE r.tenant_id = $1 AND r.id = p.id ORDER BY r.id DESC")
	tx.Queue(b.String(), args, l.add)
}

// appendTo writes the list as a JSON array.
func (l *list) appendTo(b []byte) []byte { return append(append(append(b, '['), l.buf...), ']') }

func appendMember(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(db.AppendString(b, name), ':'), n, 10)
}
