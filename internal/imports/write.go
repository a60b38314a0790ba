package imports

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/store"
)

// writer puts checked rows of one resource into the database in bulk, and
// tells what is refused by the lines of the file.
type writer struct {
	m        *Importer
	tx       *db.Tx
	actor    actor.Actor
	resource *catalog.Resource
	bulk     *store.Bulk
}

func (m *Importer) writer(tx *db.Tx, a actor.Actor, r *catalog.Resource) *writer {
	a = jobs.Server(a)
	return &writer{m: m, tx: tx, actor: a, resource: r, bulk: m.quiet.Bulk(tx, a, r)}
}

// insert makes new records and returns their ids. lines names the file's line
// of each row, for what is refused.
func (w *writer) insert(rows []store.Row, lines []int) ([]string, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if err := w.bulk.Insert(rows); err != nil {
		return nil, atLine(err, lines)
	}
	if err := w.tx.Flush(); err != nil {
		return nil, clash(err, lines)
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i], _ = row["id"].(string)
	}
	return ids, nil
}

// update writes changed records. Those that come out as they were are passed
// over; the others are returned.
func (w *writer) update(changes []store.Change, lines []int) ([]store.Change, error) {
	changed, err := w.bulk.Update(changes)
	if err != nil {
		return nil, atLine(err, lines)
	}
	return changed, w.tx.Flush()
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
	return fault.Wrap(err, fault.Conflict, "import_stale", "%s cannot be written: %s; process the file again", where, why).With(where, "")
}

// done writes the counters and tells who caches answers.
func (w *writer) done() {
	w.bulk.Close()
	tenant, name := w.actor.TenantID, w.resource.Name
	w.tx.After(func() { w.m.changed(tenant, []string{name}) })
}
