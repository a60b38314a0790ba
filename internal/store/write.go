package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/idempotency"
	"holdfast/internal/prefer"
	"holdfast/internal/query"
)

// upserts is how often an upsert that lost a race for its key starts over, or
// an insert whose number somebody else had chosen.
const upserts = 3

// Insert answers a POST: plain insert or upsert, all rows or none.
func (s *Store) Insert(ctx context.Context, a actor.Actor, w *query.Write) (*Result, error) {
	return s.runChange(ctx, a, w, s.insertOperation(a, w))
}

func (s *Store) insertOperation(a actor.Actor, w *query.Write) func(*Tx, *attempt) (*Result, error) {
	return func(tx *Tx, try *attempt) (*Result, error) {
		rows, err := s.checkIncoming(a, w)
		if err != nil {
			return nil, err
		}
		if err := tenantsExist(tx, w.Resource, rows); err != nil {
			return nil, err
		}
		if w.Conflict != nil {
			return tx.upsertRows(w, rows, try)
		}
		if err := checkNamed(tx, w.Resource, asInserts(rows)); err != nil {
			return nil, err
		}
		try.rows, try.fresh = rows, rows
		try.ahead = s.numbers.numberFromBlock(a, w.Resource, rows)
		changes, err := tx.insertRows(w.Resource, rows, nil)
		if err != nil {
			return nil, err
		}
		if err := checkCreateScope(tx, w.Resource, changes); err != nil {
			return nil, err
		}
		res := &Result{Status: Created, Inserted: len(rows) > 0}
		if w.Location && len(rows) == 1 {
			res.Location = "id=eq." + idOf(changes[0].After)
		}
		return representRows(tx, w, res, rowsOf(changes))
	}
}

// Put answers a PUT: the row with the id is replaced or made.
func (s *Store) Put(ctx context.Context, a actor.Actor, w *query.Write) (*Result, error) {
	insert := s.insertOperation(a, w)
	return s.runChange(ctx, a, w, func(tx *Tx, try *attempt) (*Result, error) {
		res, err := insert(tx, try)
		if err == nil && w.Return == nil {
			res.Status = Done
		}
		return res, err
	})
}

// Update answers a PATCH.
func (s *Store) Update(ctx context.Context, a actor.Actor, w *query.Write) (*Result, error) {
	return s.runChange(ctx, a, w, func(tx *Tx, try *attempt) (*Result, error) {
		g, err := query.Access(a, w.Resource, w.Resource.Access.Update)
		if err != nil {
			return nil, err
		}
		set, err := s.checkPatch(a, w, g)
		if err != nil {
			return nil, err
		}
		if len(set) == 0 { // nothing to change: no row is changed, as PostgREST has it
			return representRows(tx, w, &Result{Status: Done}, nil)
		}
		rows, err := tx.lockMatching(w, Touch{Columns: w.Body.Columns})
		if err != nil {
			return nil, err
		}
		changes, err := changesOf(a, w.Resource, rows, set, rights{fields: g.Fields})
		if err != nil {
			return nil, err
		}
		try.rows = rowsOf(changes)
		if err := checkNamed(tx, w.Resource, changes); err != nil {
			return nil, err
		}
		if err := tx.updateRows(w.Resource, changes); err != nil {
			return nil, err
		}
		return representRows(tx, w, &Result{Status: Done}, try.rows)
	})
}

// Delete answers a DELETE. The rows to answer with are read before they go.
func (s *Store) Delete(ctx context.Context, a actor.Actor, w *query.Write) (*Result, error) {
	return s.runChange(ctx, a, w, func(tx *Tx, try *attempt) (*Result, error) {
		rows, err := tx.lockMatching(w, Touch{Deletes: true})
		if err != nil {
			return nil, err
		}
		try.rows, try.deleting = rows, true
		res, err := representRows(tx, w, &Result{Status: Done}, rows)
		if err != nil {
			return nil, err
		}
		_, err = tx.deleteRows(w.Resource, rows)
		return res, err
	})
}

// attempt remembers what a transaction was about, to explain its failure.
type attempt struct {
	rows     []Row
	fresh    []Row // of rows, those to be inserted
	deleting bool
	upsert   bool
	ahead    bool // rows have numbers that were reserved before
}

func (s *Store) runChange(
	ctx context.Context, a actor.Actor, w *query.Write, fn func(*Tx, *attempt) (*Result, error),
) (*Result, error) {
	if a.Suspended && a.Role != actor.Service {
		return nil, refuseForbidden("the tenant is suspended: its records can be read, not changed")
	}
	if err := s.lookAhead(ctx, w); err != nil {
		return nil, err
	}
	write := s.Write
	if w.Try {
		write = s.Try
	}
	for n := 1; ; n++ {
		var res *Result
		var try attempt
		err := write(ctx, a, func(tx *Tx) (err error) {
			try = attempt{}
			if res, err = fn(tx, &try); err != nil {
				return err
			}
			return idempotency.Record(tx.Tx, res)
		})
		if err == nil {
			return res, nil
		}
		if try.upsert && n < upserts && fault.HasCode(err, "23505") {
			continue
		}
		if try.ahead && n < upserts && s.numbers.isChosenNumberClash(a, w.Resource, err) {
			continue
		}
		return nil, s.explainConstraint(ctx, a, w.Resource, try, err)
	}
}

// lookAhead runs the Ahead effect of a resource over what a request sets. Rows that hold values
// which cannot be are left to the write itself, which names them.
func (s *Store) lookAhead(ctx context.Context, w *query.Write) error {
	ahead := s.eff.Ahead[w.Resource.Name]
	if ahead == nil || w.Body == nil {
		return nil
	}
	var rows []Row
	for _, sent := range w.Body.Rows {
		if row, errs := s.checkRow(w.Resource, sent, Update); len(errs) == 0 {
			rows = append(rows, row)
		}
	}
	return ahead(ctx, rows)
}

// tenantsExist refuses a service key's rows of a tenant there is not: rows have
// no foreign key to it. Members and their keys belong to one that exists.
func tenantsExist(tx *Tx, r *catalog.Resource, rows []Row) error {
	if tx.Role != actor.Service || r.Root {
		return nil
	}
	missing := map[string]bool{}
	for _, row := range rows {
		if id, _ := row["tenant_id"].(string); id != "" {
			missing[id] = true
		} else if tx.TenantID != "" {
			missing[tx.TenantID] = true
		}
	}
	ids := slices.Sorted(maps.Keys(missing))
	if len(ids) == 0 {
		return nil
	}
	err := tx.Query("SELECT id FROM tenants WHERE id IN {ids $1}", []any{query.List(ids)}, func(row *db.Row) error {
		delete(missing, row.Text(0))
		return nil
	})
	if err != nil {
		return fmt.Errorf("store: look up tenants: %w", err)
	}
	for _, id := range ids {
		if missing[id] {
			return fault.New(fault.Conflict, "23503", "insert or update on table %q violates foreign key constraint %q", r.Name,
				r.Name+"_tenant_id_fkey").
				With(fmt.Sprintf("Key (tenant_id)=(%s) is not present in table \"tenants\".", id), "").At("tenant_id",
				"names no tenant")
		}
	}
	return nil
}

// checkIncoming checks the rows of a POST or PUT body.
func (s *Store) checkIncoming(a actor.Actor, w *query.Write) ([]Row, error) {
	r := w.Resource
	for _, c := range w.Body.Columns {
		if f, _ := r.Field(c); f.ReadOnly {
			return nil, readOnly(f)
		} else if !f.Settable(a.Role) {
			return nil, refuseForbidden("permission denied for column %q of table %s", c, r.Name)
		}
	}
	if r.Root && a.Role != actor.Service {
		return nil, refuseForbidden("permission denied for table %s", r.Name)
	}
	out := make([]Row, len(w.Body.Rows))
	for i, raw := range w.Body.Rows {
		for _, c := range w.Body.Columns {
			// A key that columns= promises and the object lacks is null, unless
			// defaults were asked for; the server's own keys never are.
			if _, ok := raw[c]; !ok && !w.Missing && !isStoreFilled(c) {
				raw[c] = nil
			}
		}
		row, errs := s.checkRow(r, raw, Insert)
		if err := mergeRefusals(errs, rowNumber(i, len(w.Body.Rows))); err != nil {
			return nil, err
		}
		out[i] = row
	}
	return out, nil
}

// checkPatch checks the one object of a PATCH.
func (s *Store) checkPatch(a actor.Actor, w *query.Write, g catalog.Grant) (Row, error) {
	if len(w.Body.Rows) == 0 {
		return Row{}, nil
	}
	for _, k := range w.Body.Columns {
		f, _ := w.Resource.Field(k)
		if f.ReadOnly {
			return nil, readOnly(f)
		}
		if !f.Fixed && (!f.Visible(a.Role) || !f.Settable(a.Role) || len(g.Fields) > 0 && !oneOf(g.Fields, k)) {
			return nil, refuseForbidden("permission denied for column %q of table %s", k, w.Resource.Name)
		}
	}
	set, errs := s.checkRow(w.Resource, w.Body.Rows[0], Update)
	return set, mergeRefusals(errs, 0)
}

// lockMatching finds and locks the rows of a PATCH or DELETE and judges their
// number and version.
func (tx *Tx) lockMatching(w *query.Write, how Touch) ([]Row, error) {
	lock := tx.DB().ForUpdate()
	if lock != "" && tx.Store.eff.First[w.Resource.Name] != nil {
		rows, err := findRows(tx.Tx, w, "")
		if err != nil {
			return nil, err
		}
		if err := tx.lockPredecessors(w.Resource, rows, how); err != nil {
			return nil, err
		}
	}
	rows, err := findRows(tx.Tx, w, lock)
	switch {
	case err != nil:
		return nil, err
	case len(rows) > query.MaxWriteRows:
		return nil, fault.New(fault.Invalid, "54000", "more than %d rows would change at once", query.MaxWriteRows).With("",
			"narrow the filter")
	case w.MaxRows >= 0 && len(rows) > w.MaxRows:
		return nil, fault.New(fault.Invalid, "PGRST124", "more rows would change than max-affected allows").
			With(fmt.Sprintf("The query affects %d rows", len(rows)), "")
	case w.IfVersion != 0 && len(rows) == 1 && rows[0]["version"] != any(w.IfVersion):
		return nil, fault.New(fault.Conflict, "HF008", "the record was changed by somebody else").
			With(fmt.Sprintf("version %d was expected, it is %v", w.IfVersion, rows[0]["version"]), "read it again")
	}
	return rows, oneTenant(w.Resource, rows)
}

// findRows are the rows of a PATCH or DELETE.
func findRows(tx *db.Tx, w *query.Write, lock string) (rows []Row, err error) {
	st, err := w.Match.Matching(tx.DB(), lock)
	if err != nil {
		return nil, err
	}
	err = tx.Query(st.SQL, st.Args, func(r *db.Row) error {
		rows = append(rows, scanRow(w.Resource, r))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store: match %s: %w", w.Resource.Name, err)
	}
	return rows, nil
}

// lockPredecessors locks what comes before rows of a resource, tenant by tenant.
func (tx *Tx) lockPredecessors(r *catalog.Resource, rows []Row, how Touch) error {
	byTenant := map[string][]Row{}
	for _, row := range rows {
		t := tenantOf(r, row)
		byTenant[t] = append(byTenant[t], row)
	}
	for _, t := range slices.Sorted(maps.Keys(byTenant)) {
		if err := tx.Store.eff.First[r.Name](tx.Of(t), byTenant[t], how); err != nil {
			return err
		}
	}
	return nil
}

// oneTenant refuses a change by a service key that meets two tenants' records of
// one id: only one of them can be meant.
func oneTenant(r *catalog.Resource, rows []Row) error {
	tenants := make(map[string]string, len(rows))
	for _, row := range rows {
		id, tenant := idOf(row), tenantOf(r, row)
		if other, met := tenants[id]; met && other != tenant {
			return fault.New(fault.Conflict, "21000", "id %s is that of a record of %s in two tenants", id, r.Name).
				With("tenants "+other+" and "+tenant, "say which is meant: tenant_id=eq.<id>").At("tenant_id",
				"is needed beside the id")
		}
		tenants[id] = tenant
	}
	return nil
}

func rowsOf(changes []Change) []Row {
	out := make([]Row, len(changes))
	for i, c := range changes {
		out[i] = c.currentRow()
	}
	return out
}

// checkCreateScope holds new rows to the scope of the caller's right to create.
func checkCreateScope(tx *Tx, r *catalog.Resource, changes []Change) error {
	g, err := query.Access(tx.Actor, r, r.Access.Create)
	if err != nil {
		return err
	}
	if g.Scope == catalog.Parent {
		return checkParents(tx, r, changes)
	}
	for _, c := range changes {
		if c.Op == Insert && !query.Admits(tx.Actor, r, g, c.After) {
			return rowPolicy(r)
		}
	}
	return nil
}

// representRows finishes a write: the number of rows is judged, and the rows are
// read back in the asked shape.
func representRows(tx *Tx, w *query.Write, res *Result, rows []Row) (*Result, error) {
	res.Count, res.Total = len(rows), -1
	if w.Count != prefer.NoCount {
		res.Total = int64(len(rows))
	}
	if w.Singular && len(rows) != 1 {
		return nil, NotOne(len(rows))
	}
	if len(rows) == 1 {
		res.Version, _ = rows[0]["version"].(int64)
	}
	if w.Return == nil {
		return res, nil
	}
	if res.Status == Done {
		res.Status = Rows
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = idOf(row)
	}
	q := *w.Return
	q.Root.Only = ids
	version := res.Version
	root, err := fetchRows(tx.Tx, &q, res)
	if err != nil {
		return nil, err
	}
	res.Version = version
	return res, writeAnswer(res, root, orderAsSent(&q, root, w.Resource, rows), q.Form)
}

// orderAsSent puts the rows in the order they were sent in, unless the request
// says otherwise.
func orderAsSent(q *query.Select, root *batch, r *catalog.Resource, rows []Row) []int {
	order := make([]int, 0, len(rows))
	if q.Root.Grouped() || q.Root.Ordered() && !q.Root.Global() {
		for i := range root.rows {
			order = append(order, i)
		}
		return order
	}
	for _, row := range rows {
		k := idOf(row)
		if q.Root.Global() {
			k = tenantOf(r, row) + k
		}
		if i, ok := root.byID[k]; ok {
			order = append(order, i)
		}
	}
	return order
}
