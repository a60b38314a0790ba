// Package limit holds what the product is measured against: bare net/http
// handlers over the same drivers, without sign-in, validation, policy, audit or
// numbering. Rows are written from the driver's own values by appending. It is
// no product, but a ceiling.
package limit

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
)

// Options say what a limit server works on.
type Options struct {
	URL    string // PostgreSQL, or
	Dir    string // the data directory of the embedded engine
	Tenant string
	Body   string // file with the answer of the cached function
}

// statement is a query whose rows are appended as JSON.
type statement struct {
	sql  string
	cols []column
	args []any // beside the tenant
}

type column struct {
	key  string // `{"id":` or `,"name":`
	kind catalog.Type
}

// engine runs statements in one transaction of the tenant and one round trip.
type engine interface {
	read(ctx context.Context, tenant string, list []statement, out [][]byte) error
	insert(ctx context.Context, tenant string, sql string, args []any) error
	insertMany(ctx context.Context, tenant string, rows [][]any) error
	refresh(ctx context.Context, tenant, session string) error
}

type server struct {
	engine
	tenant   string
	body     []byte
	snapshot []statement
	page     statement
	row      statement
	seq      atomic.Int64
	key      *ecdsa.PrivateKey
}

// Handler opens the database and returns the limit server's handler.
func Handler(ctx context.Context, o Options) (http.Handler, error) {
	s := &server{tenant: o.Tenant, snapshot: snapshotStatements(), page: orderPage(), row: orderRow()}
	var err error
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	if o.Body != "" {
		if s.body, err = os.ReadFile(o.Body); err != nil {
			return nil, fmt.Errorf("limit: %w", err)
		}
	}
	switch {
	case o.URL != "":
		s.engine, err = openPostgres(ctx, o.URL)
	case o.Dir != "":
		s.engine, err = openSQLite(o.Dir)
	}
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hit", s.hit)
	mux.HandleFunc("GET /snapshot", s.snap)
	mux.HandleFunc("GET /orders", s.list)
	mux.HandleFunc("POST /orders", s.order)
	mux.HandleFunc("POST /same", s.same)
	mux.HandleFunc("GET /order", s.one)
	mux.HandleFunc("POST /many", s.many)
	mux.HandleFunc("POST /argon2", hash)
	mux.HandleFunc("POST /refresh", s.renew)
	return mux, nil
}

func (s *server) hit(w http.ResponseWriter, _ *http.Request) { send(w, s.body) }

func send(w http.ResponseWriter, b []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json; charset=utf-8"}
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	if _, err := w.Write(b); err != nil {
		return // the client is gone
	}
}

func fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	var offset int64
	if text := strings.TrimPrefix(r.URL.RawQuery, "offset="); text != "" {
		var err error
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	s.answer(w, r, s.page, offset)
}

// one answers one order by its id.
func (s *server) one(w http.ResponseWriter, r *http.Request) {
	s.answer(w, r, s.row, strings.TrimPrefix(r.URL.RawQuery, "id="))
}

// answer sends a statement's rows.
func (s *server) answer(w http.ResponseWriter, r *http.Request, st statement, arg any) {
	st.args = []any{arg}
	out := [][]byte{append(make([]byte, 0, 24<<10), '[')}
	if err := s.read(r.Context(), s.tenant, []statement{st}, out); err != nil {
		fail(w, err)
		return
	}
	send(w, append(out[0], ']'))
}

// snap answers what get-dashboard-snapshot-v2 answers, in the same order.
func (s *server) snap(w http.ResponseWriter, r *http.Request) {
	out := make([][]byte, len(s.snapshot))
	for i := range out {
		out[i] = make([]byte, 0, 16<<10)
	}
	if err := s.read(r.Context(), s.tenant, s.snapshot, out); err != nil {
		fail(w, err)
		return
	}
	counts := map[string]int64{}
	for _, pair := range strings.Split(strings.TrimSuffix(string(out[0]), "\n"), "\n") {
		if name, n, ok := strings.Cut(pair, "\t"); ok {
			counts[name], _ = strconv.ParseInt(n, 10, 64)
		}
	}
	send(w, assemble(s.tenant, counts, out))
}

// sections are the answer's members with a list, and the counters that count
// as active.
var sections = [...]struct {
	open   string
	active []string
}{
	{`,"zones":{"total":`, []string{"zones:active", "zones:blocked"}},
	{`,"inventory":{"total":`, []string{"items:active:true", "items:active:false"}},
	{`,"pick_lists":{"active":`, []string{"pick_lists:released", "pick_lists:in_progress"}},
	{`,"shipments":{"active":`,
		[]string{"shipments:planned", "shipments:packed", "shipments:ready", "shipments:in_transit", "shipments:arrived",
			"shipments:exception"}},
	{`,"drivers":{"active":`, []string{"drivers:available", "drivers:assigned", "drivers:on_trip"}},
	{`,"safety":{"total":`, nil},
	{`,"import":{"total":`, []string{"import_jobs:completed", "import_jobs:failed"}},
}

func assemble(tenant string, counts map[string]int64, out [][]byte) []byte {
	size := 1 << 10
	for _, b := range out {
		size += len(b)
	}
	b := make([]byte, 0, size)
	b = append(append(b, `{"tenant_id":"`...), tenant...)
	b = time.Now().UTC().AppendFormat(append(b, `","timestamp":"`...), db.TimeLayout)
	b = append(b, `","cached":false`...)
	for i, s := range sections {
		var n int64
		for _, a := range s.active {
			n += counts[a]
		}
		if s.active == nil {
			for name, c := range counts {
				if strings.HasPrefix(name, "incidents:") && !strings.HasPrefix(name, "incidents:void") {
					n += c
				}
			}
		}
		b = strconv.AppendInt(append(b, s.open...), n, 10)
		b = append(append(append(b, `,"items":[`...), out[i+1]...), "]}"...)
	}
	return append(b, `,"pagination":{"page":1,"pageSize":50,"hasMore":true}}`...)
}

type newOrder struct {
	Type      string `json:"type"`
	Priority  int64  `json:"priority"`
	PartyName string `json:"party_name"`
	Carrier   string `json:"carrier"`
}

const insertOrder = `INSERT INTO orders (tenant_id, id, order_no, type, status, stage, priority, party_name, carrier, tags,
	line_count, qty_ordered, qty_allocated, qty_picked,
	qty_packed, qty_shipped, qty_received, total_value, created_at, updated_at, version)
		VALUES ($1, $2, $3, $4, 'draft', 'unallocated', $5, $6, $7, '[]', 0, 0, 0, 0, 0, 0, 0, 0, $8, $8, 1)`

// order writes one row and nothing else.
func (s *server) order(w http.ResponseWriter, r *http.Request) { s.write(w, r, insertOrder) }

// same answers an insert that also keeps a counter, a number and an audit row
// as the product does, in one statement each: what the product's promises cost
// by hand.
func (s *server) same(w http.ResponseWriter, r *http.Request) { s.write(w, r, "+") }

func (s *server) write(w http.ResponseWriter, r *http.Request, sql string) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		fail(w, err)
		return
	}
	var o newOrder
	if err := json.Unmarshal(raw, &o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	args, err := s.values(&o)
	if err != nil {
		fail(w, err)
		return
	}
	if sql == "+" {
		args = append(args, string(raw))
	}
	if err := s.insert(r.Context(), s.tenant, sql, args); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// values are what insertOrder binds.
func (s *server) values(o *newOrder) ([]any, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Format(db.TimeLayout)
	return []any{s.tenant, id.String(), fmt.Sprintf("LM-%09d", s.seq.Add(1)), o.Type, o.Priority, o.PartyName, o.Carrier,
		now}, nil
}

// many writes an array of rows, all or none, and nothing else.
func (s *server) many(w http.ResponseWriter, r *http.Request) {
	var list []newOrder
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	rows := make([][]any, len(list))
	for i := range list {
		var err error
		if rows[i], err = s.values(&list[i]); err != nil {
			fail(w, err)
			return
		}
	}
	if err := s.insertMany(r.Context(), s.tenant, rows); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// The statements that keep what the product keeps beside a row.
const (
	keepNumber = `INSERT INTO sequences (tenant_id, name, year, value) VALUES ($1, 'limit', 2026, 1)
		ON CONFLICT (tenant_id, name, year) DO UPDATE SET value = sequences.value + 1`
	keepCounter = `INSERT INTO counters (tenant_id, name, slot, delta) VALUES ($1, 'orders:draft', $2, 1)
		ON CONFLICT (tenant_id, name, slot) DO UPDATE SET delta = counters.delta + 1`
	keepAudit = `INSERT INTO audit (tenant_id, id, at, action, entity_type, entity_id, outcome, after, batch)
		VALUES ($1, $2, $3, 'orders.insert', 'orders', $2, 'ok', $4, 1)`
)

// columnsOf lists what an owner sees of a resource.
func columnsOf(r *catalog.Resource, only ...string) (sql string, cols []column) {
	var names []string
	for i := range r.Fields {
		f := &r.Fields[i]
		wanted := len(only) == 0
		for _, o := range only {
			wanted = wanted || o == f.Name
		}
		if !wanted || !f.Visible(actor.Owner) {
			continue
		}
		lead := ","
		if len(cols) == 0 {
			lead = "{"
		}
		cols = append(cols, column{lead + `"` + f.Name + `":`, f.Type})
		names = append(names, "r."+f.Name)
	}
	return strings.Join(names, ", "), cols
}

// Snapshot is the text of the statements, the counters' first.
func Snapshot() (list []string) {
	for _, s := range snapshotStatements() {
		list = append(list, s.sql)
	}
	return list
}

func snapshotStatements() []statement {
	c := catalog.Default()
	list := []statement{{sql: "SELECT name, CAST(SUM(delta) AS bigint) FROM counters WHERE tenant_id = $1 GROUP BY name"}}
	plain := func(name, where string) {
		r, _ := c.Get(name)
		sql, cols := columnsOf(r)
		list = append(list, statement{sql: "SELECT " + sql + " FROM " + name + " r WHERE r.tenant_id = $1" + where,
			cols: cols})
	}
	states := func(name string, states ...string) {
		r, _ := c.Get(name)
		sql, cols := columnsOf(r)
		var parts []string
		for i, st := range states {
			parts = append(parts, fmt.Sprintf(
				"SELECT id FROM (SELECT id FROM %s WHERE tenant_id = $1 AND status = '%s' ORDER BY id DESC LIMIT 51) s%d", name, st,
				i))
		}
		list = append(list, statement{sql: "SELECT " + sql + " FROM (SELECT id FROM (" + strings.Join(parts, " UNION ALL ") +
			") u ORDER BY id DESC LIMIT 51) p CROSS JOIN " + name +
			" r WHERE r.tenant_id = $1 AND r.id = p.id ORDER BY r.id DESC", cols: cols})
	}
	plain("zones", " AND r.status <> 'archived' ORDER BY lower(r.code) LIMIT 51")
	plain("items", " AND r.status = 'active' ORDER BY r.sku LIMIT 51")
	states("pick_lists", "released", "in_progress")
	states("shipments", "planned", "packed", "ready", "in_transit", "arrived", "exception")
	states("drivers", "available", "assigned", "on_trip")
	plain("incidents", " AND r.reported_at IS NOT NULL AND r.status <> 'void' ORDER BY r.reported_at DESC LIMIT 10")
	plain("import_jobs", " ORDER BY r.id DESC LIMIT 10")
	return list
}

// OrderColumns are the ten columns of the list page.
const OrderColumns = "id,order_no,type,status,priority,party_name,requested_at,promised_at,qty_ordered,total_value"

// orderPage is a page of the list, orderRow one order.
func orderPage() statement {
	return orderStatement("r.status = 'confirmed' ORDER BY r.id DESC LIMIT 50 OFFSET CAST($2 AS bigint)")
}

func orderRow() statement { return orderStatement("r.id = $2") }

func orderStatement(where string) statement {
	r, _ := catalog.Default().Get("orders")
	sql, cols := columnsOf(r, strings.Split(OrderColumns, ",")...)
	return statement{sql: "SELECT " + sql + " FROM orders r WHERE r.tenant_id = $1 AND " + where, cols: cols}
}
