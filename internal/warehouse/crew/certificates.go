package crew

import (
	"slices"

	"holdfast/internal/jobtitle"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// ListMissingCertificates says which certificates workers lack that their jobs ask for: of
// courses they were never certified in as well as of those whose certificate has
// run out.
func ListMissingCertificates(tx *store.Tx, ids []string, today string) (map[string][]string, error) {
	out := map[string][]string{}
	in := tx.DB().InUUID
	workers, err := tx.Rows("workers", in("id", 2)+" AND job_title IS NOT NULL ORDER BY id", query.List(ids))
	if err != nil || len(workers) == 0 {
		return out, err
	}
	courses, err := tx.Rows("courses", "status = 'active' AND archived_at IS NULL ORDER BY code")
	if err != nil || len(courses) == 0 {
		return out, err
	}
	where := in("worker_id", 2) + " AND status IN ('completed', 'expired')"
	held, err := tx.Rows("training_assignments", where, query.List(ids))
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		id := w.Text("id")
		for _, c := range courses {
			if !jobtitle.IsNamed(store.Texts(c["required_for"]), w.Text("job_title")) {
				continue
			}
			mine := slices.DeleteFunc(slices.Clone(held), func(r store.Row) bool {
				return r["worker_id"] != w["id"] || r["course_id"] != c["id"]
			})
			valid := slices.ContainsFunc(mine, func(r store.Row) bool {
				return r["status"] == "completed" && (r["expires_on"] == nil || r.Text("expires_on") >= today)
			})
			if len(mine) == 0 {
				out[id] = append(out[id], "the driver has no certificate of "+c.Text("title"))
			} else if !valid {
				out[id] = append(out[id], "the driver's certificate of "+c.Text("title")+" is not valid")
			}
		}
	}
	return out, nil
}
