package store

import (
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/prefer"
	"holdfast/internal/query"
)

// readRows answers q inside a transaction: the root's rows and the total in one
// round trip, then one per level of embeds.
func readRows(tx *db.Tx, q *query.Select) (*Result, error) {
	res := &Result{First: q.Passed + q.Root.Offset, Total: -1, Status: Rows}
	root, err := fetchRows(tx, q, res)
	if err != nil {
		return nil, err
	}
	res.Count, res.Version, res.Next = len(root.rows), root.version, root.next
	if err := outOfRange(q, res); err != nil {
		return nil, err
	}
	order := make([]int, len(root.rows))
	for i := range order {
		order[i] = i
	}
	return res, writeAnswer(res, root, order, q.Form)
}

// fetchRows reads the rows of q with all their embeds.
func fetchRows(tx *db.Tx, q *query.Select, res *Result) (*batch, error) {
	if q.Form.CSV {
		for _, e := range q.Root.Embeds {
			if e.Spread {
				return nil, fault.New(fault.Invalid, "PGRST127", "spreading an embed in CSV is not implemented")
			}
		}
	}
	root := newBatch(q.Root, q.Form)
	if q.Root.Only != nil && !q.Root.Grouped() {
		root.idAt, root.byID = q.Root.IDAt(), map[string]int{}
		q.Root.TenantAt()
	}
	root.verAt = versionAt(q)
	if q.Paged {
		root.places = q.Continued()
	}
	st, err := q.Rows(tx.DB())
	if err != nil {
		return nil, err
	}
	res.Sorted = st.Sorted
	tx.Queue(st.SQL, st.Args, root.addRow)
	if q.Count != prefer.NoCount && q.Root.Only == nil {
		total, err := q.Total(tx.DB())
		if err != nil {
			return nil, err
		}
		tx.Queue(total.SQL, total.Args, func(r *db.Row) error {
			res.Total = r.Int(0)
			if !q.Root.Capped() {
				return nil
			}
			return q.Root.Enough(r.Int(1))
		})
	}
	level := []*batch{root}
	if err := flushLevel(tx, level); err != nil {
		return nil, err
	}
	return root, readEmbeds(tx, level)
}

// flushLevel runs what is queued, as the end of the read when no level is below.
func flushLevel(tx *db.Tx, level []*batch) error {
	for _, b := range level {
		if slices.ContainsFunc(b.node.Embeds, func(e *query.Embed) bool { return !e.Hidden }) {
			return tx.Flush()
		}
	}
	return tx.End()
}

// versionAt asks for the version where one object is answered.
func versionAt(q *query.Select) int {
	if !q.Form.Singular || q.Root.Grouped() {
		return -1
	}
	return q.WithVersion()
}

// readEmbeds reads the next level of embeds below the given batches.
func readEmbeds(tx *db.Tx, level []*batch) error {
	var next []*batch
	total := 0
	for _, b := range level {
		for i, e := range b.node.Embeds {
			if e.Hidden {
				continue
			}
			c := newBatch(&e.Node, query.Shape{Stripped: b.shape.Stripped})
			c.embed, c.byKey = e, map[string][]int{}
			b.children[i] = c
			next = append(next, c)
			keys := b.keys[i]
			if len(keys) == 0 {
				continue
			}
			slices.Sort(keys)
			st, err := e.Rows(tx.DB(), slices.Compact(keys))
			if err != nil {
				return err
			}
			tx.Queue(st.SQL, st.Args, func(r *db.Row) error {
				if total++; total > query.MaxInRows {
					return fault.New(fault.Invalid, "54000", "more than %d embedded rows", query.MaxInRows).
						With("", "ask for fewer rows, or limit the embed")
				}
				return c.addRow(r)
			})
		}
	}
	if len(next) == 0 {
		return nil
	}
	if err := flushLevel(tx, next); err != nil {
		return err
	}
	return readEmbeds(tx, next)
}

// outOfRange judges the page against the total, when one was asked for.
func outOfRange(q *query.Select, res *Result) error {
	if res.Total < 0 {
		return nil
	}
	if q.Root.Offset > 0 && int64(q.Root.Offset) > res.Total {
		e := fault.New(fault.BadRange, "PGRST103", "the requested range cannot be served")
		e.Details = fmt.Sprintf("an offset of %d was requested, but there are only %d rows", q.Root.Offset, res.Total)
		e.Data = res.Total
		return e
	}
	if int64(res.Count) < res.Total {
		res.Status = Part
	}
	return nil
}

// writeAnswer writes the rows of the answer in the given order.
func writeAnswer(res *Result, root *batch, order []int, shape query.Shape) error {
	res.ContentType = contentType(shape)
	size := len(root.buf) + len(order) + 2
	for _, c := range root.children {
		if c != nil {
			size += len(c.buf)
		}
	}
	dst := make([]byte, 0, size)
	switch {
	case shape.Singular:
		if len(order) != 1 {
			return NotOne(len(order))
		}
		dst = root.appendRow(dst, order[0])
	case shape.CSV:
		dst = root.csvHeader(dst)
		for _, i := range order {
			dst = root.appendRow(append(dst, '\n'), i)
		}
	default:
		dst = append(dst, '[')
		for n, i := range order {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = root.appendRow(dst, i)
		}
		dst = append(dst, ']')
	}
	res.Body = dst
	return nil
}

// NotOne is the fault of a singular answer with n rows. Older clients look for
// "0 rows" in the details.
func NotOne(n int) error {
	return fault.New(fault.NotAcceptable, "PGRST116", "exactly one row was asked for").
		With(fmt.Sprintf("The result contains %d rows", n), "")
}

func contentType(s query.Shape) string {
	if s.CSV {
		return "text/csv; charset=utf-8"
	}
	if s.Singular {
		return "application/vnd.pgrst.object+json; charset=utf-8"
	}
	return "application/json; charset=utf-8"
}
