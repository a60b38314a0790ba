// Package record has a type for the rows of each resource, made from the catalog:
// [Order] knows the columns of orders and [PickLine] those of pick_lines, so that the
// compiler refuses a column that its resource has not. Code that works on rows of any
// resource keeps [store.Row].
//
// Layer: typed records. Begin at [List].
package record

import (
	"iter"

	"holdfast/internal/store"
	"holdfast/internal/verb"
)

// Kind is the type of one resource's rows. Each is a [store.Row] by another name: it is
// converted and not copied, and a column that is set is set in both.
type Kind interface {
	~map[string]any

	ResourceName() string
}

// NameOf is the resource of a type.
func NameOf[R Kind]() string {
	var none R
	return none.ResourceName()
}

// idColumn is the id of a record of any resource.
const idColumn = "id"

// IDOf is the id of a record.
func IDOf[R Kind](r R) string { return store.Row(r).Text(idColumn) }

// IDs are the ids of records.
func IDs[R Kind](records []R) []string { return Texts(records, IDOf[R]) }

// Texts lists a column of records: record.Texts(lines, record.PickLine.ZoneID).
func Texts[R Kind](records []R, column func(R) string) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = column(r)
	}
	return out
}

// List is [store.Tx.Rows] of a resource: whole rows of the actor's tenant. where is a
// condition whose parameters start at $2; it may end in ORDER BY, LIMIT and FOR UPDATE.
func List[R Kind](tx *store.Tx, where string, args ...any) ([]R, error) {
	rows, err := tx.Rows(NameOf[R](), where, args...)
	return From[R](rows), err
}

// Lock is [verb.Call.Lock] of a resource: the rows with these ids, locked.
func Lock[R Kind](c *verb.Call, field string, ids ...string) ([]R, error) {
	rows, err := c.Lock(NameOf[R](), field, ids...)
	return From[R](rows), err
}

// One is Lock of a single row.
func One[R Kind](c *verb.Call, field, id string) (R, error) {
	row, err := c.One(NameOf[R](), field, id)
	return R(row), err
}

// Insert is [store.Tx.InsertRows]: the records as they are stored.
func Insert[R Kind](tx *store.Tx, records []R) ([]R, error) {
	rows, err := tx.InsertRows(NameOf[R](), Rows(records))
	return From[R](rows), err
}

// Update is [store.Tx.UpdateRows]: what is in set is set on the records with these ids.
func Update[R Kind](tx *store.Tx, ids []string, set R) error {
	return tx.UpdateRows(NameOf[R](), ids, store.Row(set))
}

// Show shows a record to the caller of a verb.
func Show[R Kind](c *verb.Call, r R) verb.Record { return c.Record(NameOf[R](), store.Row(r)) }

// ShowList shows records to the caller of a verb.
func ShowList[R Kind](c *verb.Call, records []R) []verb.Record {
	return c.Records(NameOf[R](), Rows(records))
}

// From gives rows of a resource their type.
func From[R Kind](rows []store.Row) []R {
	if rows == nil {
		return nil
	}
	out := make([]R, len(rows))
	for i, row := range rows {
		out[i] = R(row)
	}
	return out
}

// Rows are records as rows of any resource.
func Rows[R Kind](records []R) []store.Row {
	if records == nil {
		return nil
	}
	out := make([]store.Row, len(records))
	for i, r := range records {
		out[i] = store.Row(r)
	}
	return out
}

// Change is a change of a resource whose rows have their type. Before is nil on insert,
// After on delete; what is set of After is written, as [store.Effect] says.
type Change[R Kind] struct {
	store.Change

	Before, After R
}

// ChangeOf gives the rows of a change their type.
func ChangeOf[R Kind](c store.Change) Change[R] {
	return Change[R]{Change: c, Before: R(c.Before), After: R(c.After)}
}

// Current is the record as it is now, or was last.
func (c Change[R]) Current() R {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Becomes reports whether a column gets a value, by insert or update. The column is the
// method that reads it: c.Becomes(record.Order.Status, "confirmed").
func (c Change[R]) Becomes(column func(R) string, value string) bool {
	return c.After != nil && column(c.After) == value && (c.Before == nil || column(c.Before) != value)
}

// Leaves reports whether a column has a value no longer, by update or delete.
func (c Change[R]) Leaves(column func(R) string, value string) bool {
	return c.Before != nil && column(c.Before) == value && (c.After == nil || column(c.After) != value)
}

// Alters reports whether an update changes one of some columns.
func (c Change[R]) Alters(columns ...func(R) any) bool {
	if c.Op != store.Update {
		return false
	}
	for _, column := range columns {
		if !store.Same(column(c.Before), column(c.After)) {
			return true
		}
	}
	return false
}

// Changes goes through the changes of a resource.
func Changes[R Kind](changes []store.Change) iter.Seq2[int, Change[R]] {
	return func(yield func(int, Change[R]) bool) {
		for i := range changes {
			if !yield(i, ChangeOf[R](changes[i])) {
				return
			}
		}
	}
}
