package imports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/imports/cell"
	"holdfast/internal/store"
)

// Column tells what became of a column of the file: the field it gives, how
// that was found, and how its cells are written. Index counts from 0. How is
// given (in the mapping), saved (in the mapping of an earlier job), name,
// synonym, or ignored, which has no Field.
type Column struct {
	Index  int    `json:"index"`
	Header string `json:"header"`
	Field  string `json:"field,omitempty"`
	How    string `json:"how"`
	Order  string `json:"date_order,omitempty"`
	// Orders are those that the column's dates do not rule out, and read the same in.
	Orders []string `json:"date_orders,omitempty"`
	Mark   string   `json:"decimal_mark,omitempty"`
	Why    string   `json:"why"`
}

// told is a column that is read.
func (c mapped) told() Column {
	out := Column{Index: c.index, Header: c.header, Field: c.name, How: c.how}
	switch len(c.orders) {
	case 0:
	case 1:
		out.Order = c.orders[0]
	default:
		out.Orders = c.orders
	}
	if c.mark != 0 {
		out.Mark = string(c.mark)
	}
	why := map[string]string{
		"given":   "The mapping says so.",
		"saved":   "An earlier mapping of a file with these columns says so.",
		"name":    fmt.Sprintf("The header is the name of the field %s.", c.name),
		"synonym": fmt.Sprintf("The header is a usual word for %s.", c.name),
	}
	out.Why = why[c.how]
	switch out.Order {
	case cell.DMY:
		out.Why += " Its dates have the day first, where they are not year-month-day."
	case cell.MDY:
		out.Why += " Its dates have the month first, where they are not year-month-day."
	case cell.YMD:
		out.Why += " Its dates have the year first."
	}
	if c.mark == ',' {
		out.Why += " Its numbers have a comma before the fraction."
	}
	return out
}

// explain tells of every column of the file, in its order.
func (v *survey) explain() []Column {
	out := []Column{}
	read := map[int]bool{}
	for _, c := range v.layout.cols {
		if v.saved != "" {
			c.how = "saved"
		}
		read[c.index] = true
		out = append(out, c.told())
	}
	for _, c := range v.layout.withheld {
		read[c.index] = true
		out = append(out, Column{Index: c.index, Header: c.header, How: "ignored", Why: fmt.Sprintf("It gives %s, which your role may not set.", c.name)})
	}
	for i, h := range v.layout.headers {
		if !read[i] {
			out = append(out, Column{Index: i, Header: h, How: "ignored",
				Why: fmt.Sprintf("No field of %s is called that; a mapping can use it.", spoken(v.target.name))})
		}
	}
	slices.SortStableFunc(out, func(a, b Column) int { return a.Index - b.Index })
	return out
}

// signature tells files of the same columns: a digest of their headers in
// their order.
func signature(headers []string) string {
	folds := make([]string, len(headers))
	for i, h := range headers {
		folds[i] = cell.Fold(heading(h))
	}
	sum := sha256.Sum256([]byte(strings.Join(folds, "\x1f")))
	return hex.EncodeToString(sum[:])
}

// saveMapping remembers a mapping that somebody gave, for files of the same
// columns.
func (m *Importer) saveMapping(tx *db.Tx, a actor.Actor, job *Job, v *survey) error {
	if !v.headed || len(job.Mapping) == 0 || string(job.Mapping) == "null" {
		return nil
	}
	tx.Queue("INSERT INTO import_mappings (tenant_id, target, signature, mapping, job_no, saved_at) VALUES ($1, $2, $3, $4, $5, $6) "+
		"ON CONFLICT (tenant_id, target, signature) DO UPDATE SET mapping = excluded.mapping, job_no = excluded.job_no, saved_at = excluded.saved_at",
		[]any{a.TenantID, v.target.name, signature(v.layout.headers), string(job.Mapping), orNull(job.JobNo), m.store.Now()}, nil)
	return tx.Flush()
}

// savedMapping returns the mapping that was last given for such columns, nil
// when there is none, and the number of the job it was given to.
func (m *Importer) savedMapping(ctx context.Context, a actor.Actor, target string, headers []string) (mapping json.RawMessage, job string, err error) {
	err = m.db.Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		return tx.Query("SELECT mapping, job_no FROM import_mappings WHERE tenant_id = $1 AND target = $2 AND signature = $3",
			[]any{a.TenantID, target, signature(headers)}, func(r *db.Row) error {
				mapping, job = json.RawMessage(r.Text(0)), r.Text(1)
				return nil
			})
	})
	if err != nil {
		return nil, "", fmt.Errorf("imports: saved mapping: %w", err)
	}
	return mapping, job, nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
