package bulk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Records are the tenants' records, for imports to write: each import is audited as
// a whole, and so its records are not one by one.
type Records struct {
	store, quiet *store.Store
	changed      func(tenant string, resources []string)
}

// New returns the records that s holds. changed is told after a commit which
// resources of which tenant it wrote.
func New(s *store.Store, changed func(tenant string, resources []string)) *Records {
	return &Records{s, s.Unaudited(), changed}
}

// Movements is how many movements are posted at once. Every posting rewrites the
// zones and items it touches, and PostgreSQL, which cannot tidy up after a
// running transaction, walks over each such version at the next one.
const Movements = 10_000

// Writer puts checked rows of one resource into the database in bulk, and
// tells what is refused by the lines of the file.
type Writer struct {
	Tx       *db.Tx
	Actor    actor.Actor // the server, on behalf of who asked
	Resource *catalog.Resource
	Bulk     *store.Bulk

	of   *Records
	role actor.Role // of who asked
}

// Writer begins to write records of one resource in a transaction.
func (r *Records) Writer(tx *db.Tx, a actor.Actor, of *catalog.Resource) *Writer {
	server := jobs.Server(a)
	return &Writer{Tx: tx, Actor: server, Resource: of, Bulk: r.quiet.In(tx, server).Bulk(of), of: r, role: a.Role}
}

// Insert makes new records and returns their ids. lines names the file's line
// of each row, for what is refused.
func (w *Writer) Insert(rows []store.Row, lines []int) ([]string, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if err := w.Bulk.Insert(rows); err != nil {
		return nil, atLine(err, lines)
	}
	if err := w.Tx.Flush(); err != nil {
		return nil, clash(err, lines)
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i], _ = row["id"].(string)
	}
	return ids, nil
}

// Update writes changed records. Those that come out as they were are passed
// over; the others are returned.
func (w *Writer) Update(changes []store.Change, lines []int) ([]store.Change, error) {
	changed, err := w.Bulk.Update(changes)
	if err != nil {
		return nil, atLine(err, lines)
	}
	return changed, w.Tx.Flush()
}

// atLine makes the row number that a refusal names, counted in its batch, the
// file's line.
func atLine(err error, lines []int) error {
	f := fault.As(err)
	n, ok := rowOf(f.Details)
	switch {
	case ok && n <= len(lines):
		n = lines[n-1]
	case len(lines) == 1:
		n = lines[0]
	default:
		return err
	}
	c := *f
	c.Details = fmt.Sprintf("line %d", n)
	c.Msg = fmt.Sprintf("line %d: %s", n, f.Msg)
	c.Err = err
	return &c
}

// rowOf reads the number of a row that details begin with, from 1.
func rowOf(details string) (n int, ok bool) {
	rest, named := strings.CutPrefix(details, "row ")
	number, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(number)
	return n, named && err == nil && n >= 1
}

// clash explains a constraint that stood against a batch: a record made or
// removed between checking and applying.
func clash(err error, lines []int) error {
	f := fault.As(err)
	if f.Kind != fault.Conflict || len(lines) == 0 {
		return err
	}
	where := fmt.Sprintf("lines %d to %d", lines[0], lines[len(lines)-1])
	why := "a record with the same key exists by now"
	if f.Code == "23503" {
		why = "a record they refer to is gone by now"
	}
	return fault.Wrap(err, fault.Conflict, "import_stale", "%s cannot be written: %s; process the file again", where,
		why).With(where, "")
}

// Done writes the counters and tells who caches answers.
func (w *Writer) Done() {
	w.Bulk.Close()
	tenant, name := w.Actor.TenantID, w.Resource.Name
	w.Tx.After(func() { w.of.changed(tenant, []string{name}) })
}

// Existing reads and locks the records that have the rows' keys.
func (w *Writer) Existing(rows []store.Row) (map[string]store.Row, error) {
	ids := map[string]string{}
	err := match.Look(w.Tx, w.Actor.TenantID, w.Resource, rows, []string{"id"}, func(key string, r *db.Row) {
		ids[key] = r.Text(0)
	})
	if err != nil {
		return nil, fmt.Errorf("imports: look up keys: %w", err)
	}
	var want []string
	for _, row := range rows {
		if id := ids[match.Key(w.Resource, row)]; id != "" {
			want = append(want, id)
		}
	}
	out := map[string]store.Row{}
	if len(want) == 0 {
		return out, nil
	}
	old, err := w.Lock(want)
	for _, row := range old {
		out[match.Key(w.Resource, row)] = row
	}
	return out, err
}

// Lock reads and locks records.
func (w *Writer) Lock(ids []string) ([]store.Row, error) {
	return w.readRecords(ids, w.Tx.DB().ForUpdate())
}

// ReadRecords reads records.
func (w *Writer) ReadRecords(ids []string) ([]store.Row, error) { return w.readRecords(ids, "") }

func (w *Writer) readRecords(ids []string, last string) ([]store.Row, error) {
	rows, err := w.of.store.In(w.Tx, w.Actor).Rows(w.Resource.Name, w.Tx.DB().InUUID("id", 2)+" ORDER BY id"+last,
		query.List(ids))
	if err != nil {
		return nil, fmt.Errorf("imports: read %s: %w", w.Resource.Name, err)
	}
	return rows, nil
}

// Change is what a row of the file makes of a record: fields it gives are set, the
// rest stay, and so do fields that are fixed at creation and those that are soft.
func (w *Writer) Change(old, row store.Row, line int, soft []string) (store.Change, error) {
	after := make(store.Row, len(old))
	for k, v := range old {
		after[k] = v
	}
	for k, v := range row {
		if f, ok := w.Resource.Field(k); ok && !f.Fixed && !f.ReadOnly && !slices.Contains(soft, k) {
			after[k] = v
		}
	}
	c := store.Change{Resource: w.Resource, Op: store.Update, Before: old, After: after}
	st := w.Resource.States
	if st == nil {
		return c, nil
	}
	from, _ := old[st.Field].(string)
	to, _ := after[st.Field].(string)
	if from == to {
		return c, nil
	}
	if legal, permitted := st.Allows(from, to, w.role); !legal || !permitted {
		return c, fault.New(fault.Conflict, "HF001", "line %d: a record of %s cannot move from %q to %q",
			line, targets.Spoken(w.Resource.Name), targets.Spoken(from), targets.Spoken(to)).
			With(fmt.Sprintf("line %d", line), "").At(st.Field, "cannot become %s", to)
	}
	return c, nil
}

// Stale refuses a row that what was checked no longer holds for.
func Stale(line int, why string) error {
	return fault.New(fault.Conflict, "import_stale", "line %d cannot be written: %s; process the file again", line,
		why).With(fmt.Sprintf("line %d", line), "")
}
