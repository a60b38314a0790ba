// Package store keeps the rows of any resource: reads with row policy and
// embeds, writes with validation, states, versions, audit, counters and the
// effects a domain hangs on a change, all in one transaction.
//
// Layer: records. Begin at [New].
package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
)

// Row is one record by field name: nil, string (Text, UUID, Date, and Time as
// canonical text), int64, decimal.Dec, float64, bool, or json.RawMessage (JSON
// and Array).
type Row = query.Row

// Op is what happened to a row.
type Op uint8

// What happened to a row.
const (
	Insert Op = iota
	Update
	Delete
)

func (o Op) String() string { return [...]string{"insert", "update", "delete"}[o] }

// Change is one row before and after. Before is nil on Insert, After on Delete.
type Change struct {
	Resource      *catalog.Resource
	Op            Op
	Before, After Row
	Given         Row // by an Update of a request: the fields that it names, also to the same value
}

// Effect is a consequence of changes to one resource, run in their transaction
// for all rows of a statement at once. An error undoes everything. Before
// effects may alter Change.After of inserts and updates before it is written.
type Effect func(tx *Tx, changes []Change) error

// Ahead checks the rows of a request with what is outside of the database, as a name server.
// It runs before the transaction, with what the caller sent of them.
type Ahead func(ctx context.Context, rows []Row) error

// First takes the locks that must precede a resource's row locks: where changes of two
// resources reach for each other's rows, both have to begin with the same one. It gets
// the rows as they are without a lock, and how they change. It runs where rows lock.
type First func(tx *Tx, rows []Row, how Touch) error

// Touch is how a request changes rows.
type Touch struct {
	Deletes bool
	Columns []string // that are set
}

// Sets reports a change that sets one of some columns, or deletes the rows.
func (h Touch) Sets(columns ...string) bool {
	return h.Deletes || slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(h.Columns, name) })
}

// Effects are the consequences by resource name.
type Effects struct {
	Ahead  map[string]Ahead  // before the transaction of a POST, PUT or PATCH
	First  map[string]First  // before the rows are locked for a PATCH, DELETE or upsert
	Before map[string]Effect // before the statement
	After  map[string]Effect // after it

	// Unmoved are the resources whose effects do nothing when a record is
	// deleted: bulk work deletes such records without reading them.
	Unmoved map[string]bool
}

// Store reads and writes the rows of every resource of a catalog. It is safe
// for concurrent use.
type Store struct {
	db        *db.DB
	cat       *catalog.Catalog
	eff       Effects
	now       func() time.Time
	defaults  map[*catalog.Field]any
	listeners *[]func(tenant string, resources []string)
	numbers   *numbering
	quiet     bool
}

// New returns a store over d. now is the clock.
func New(d *db.DB, c *catalog.Catalog, e Effects, now func() time.Time) *Store {
	s := &Store{db: d, cat: c, eff: e, now: now, defaults: map[*catalog.Field]any{},
		listeners: new([]func(string, []string)), numbers: &numbering{db: d, now: now, of: map[sequence]*block{}}}
	for _, r := range c.All() {
		for i := range r.Fields {
			f := &r.Fields[i]
			if f.Default == "" {
				continue
			}
			// A default that does not parse leaves the field without one; the
			// catalog's own test finds it.
			if v, err := query.Value(f, f.Default); err == nil {
				s.defaults[f] = v
			}
		}
	}
	return s
}

// Catalog returns the resources the store keeps.
func (s *Store) Catalog() *catalog.Catalog { return s.cat }

// DB returns the database below.
func (s *Store) DB() *db.DB { return s.db }

// Now is the store's clock, UTC.
func (s *Store) Now() time.Time { return s.now().UTC() }

// Unaudited returns the same store writing no audit rows, for bulk work that
// is audited as a whole (an applied import, demo data).
func (s *Store) Unaudited() *Store {
	q := *s
	q.quiet = true
	return &q
}

// Audited reports whether each change is recorded; it is not in bulk work.
func (s *Store) Audited() bool { return !s.quiet }

// OnChange adds a listener that is told, after each commit, which resources of
// which tenant changed. Listeners are added before the store is used.
func (s *Store) OnChange(f func(tenant string, resources []string)) {
	*s.listeners = append(*s.listeners, f)
}

// Scope is the caller's reach in the database. Only the service key without a
// tenant reaches beyond one tenant.
func Scope(a actor.Actor) db.Scope {
	if a.TenantID == "" && a.Role == actor.Service {
		return db.Scope{All: true}
	}
	return db.Scope{Tenant: a.TenantID, User: a.UserID}
}

// Outcome is what kind of answer a Result is.
type Outcome uint8

// Outcomes, as the face of the collections tells them apart.
const (
	Rows    Outcome = iota // rows in the body
	Part                   // some of the rows that were counted
	Created                // at least one row was inserted
	Done                   // changed, with nothing to show
)

func (o Outcome) String() string { return [...]string{"rows", "part", "created", "done"}[o] }

// Result is the answer to one request.
type Result struct {
	Body        []byte
	ContentType string
	First       int   // position of the first row
	Count       int   // rows in Body, or rows a write affected
	Total       int64 // -1 = not asked for
	Status      Outcome
	Inserted    bool              // a write inserted at least one row
	Location    string            // of the single row inserted, as a query
	Version     int64             // of the single row, when asked for
	Next        []json.RawMessage // place behind a full page, when asked for
	Sorted      string            // columns whose order no index keeps: all that match were read for the page
}

// Select answers a read.
func (s *Store) Select(ctx context.Context, a actor.Actor, q *query.Select) (*Result, error) {
	var res *Result
	err := s.db.Read(ctx, Scope(a), func(tx *db.Tx) (err error) {
		res, err = readRows(tx, q)
		return err
	})
	return res, err
}

// readField reads column i of a result row as the field's stored form.
func readField(f *catalog.Field, r *db.Row, i int) any {
	if r.Null(i) {
		return nil
	}
	switch f.Type {
	case catalog.Int:
		return r.Int(i)
	case catalog.Decimal:
		return r.Dec(i)
	case catalog.Float:
		return r.Float(i)
	case catalog.Bool:
		return r.Bool(i)
	case catalog.JSON, catalog.Array:
		return json.RawMessage(r.AppendText(nil, i))
	}
	return r.Text(i)
}

func scanRow(res *catalog.Resource, r *db.Row) Row {
	row := make(Row, len(res.Fields))
	for i := range res.Fields {
		row[res.Fields[i].Name] = readField(&res.Fields[i], r, i)
	}
	return row
}

// splitTail splits a condition from the ORDER BY, LIMIT or FOR UPDATE behind it.
// Such words inside parentheses, as of a subquery, are part of the condition.
func splitTail(where string) (condition, tail string) {
	depth, quoted := 0, false
	for i := range len(where) {
		switch c := where[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
			continue
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if depth == 0 && beginsTail(where[i:]) {
			return strings.TrimSpace(where[:i]), " " + where[i:]
		}
	}
	return strings.TrimSpace(where), ""
}

func beginsTail(sql string) bool {
	for _, word := range [...]string{"ORDER BY ", "LIMIT ", "FOR UPDATE", "FOR NO KEY UPDATE",
		"{for update}", "{skip locked}"} {
		if strings.HasPrefix(sql, word) {
			return true
		}
	}
	return false
}

func tenantColumn(r *catalog.Resource) string {
	if r.Root {
		return "id"
	}
	return "tenant_id"
}

func columnList(r *catalog.Resource) string {
	b := make([]byte, 0, 16*len(r.Fields))
	for i := range r.Fields {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, r.Fields[i].Name...)
	}
	return string(b)
}

// tenantOf is the tenant a row belongs to.
func tenantOf(r *catalog.Resource, row Row) string {
	t, _ := row[tenantColumn(r)].(string)
	return t
}

func idOf(row Row) string {
	id, _ := row["id"].(string)
	return id
}

func refuseForbidden(format string, args ...any) error {
	return fault.New(fault.Forbidden, "42501", format, args...)
}
