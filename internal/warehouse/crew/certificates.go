package crew

import (
	"slices"

	"holdfast/internal/jobtitle"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// ListMissingCertificates says which certificates workers lack that their jobs ask for: of
// courses they were never certified in as well as of those whose certificate has
// run out.
func ListMissingCertificates(tx *store.Tx, ids []string, today string) (map[string][]string, error) {
	out := map[string][]string{}
	in := tx.DB().InUUID
	workers, err := record.List[record.Worker](tx, in("id", 2)+" AND job_title IS NOT NULL ORDER BY id",
		query.List(ids))
	if err != nil || len(workers) == 0 {
		return out, err
	}
	courses, err := record.List[record.Course](tx, "status = 'active' AND archived_at IS NULL ORDER BY code")
	if err != nil || len(courses) == 0 {
		return out, err
	}
	where := in("worker_id", 2) + " AND status IN ('completed', 'expired')"
	held, err := record.List[record.TrainingAssignment](tx, where, query.List(ids))
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		id := w.ID()
		for _, c := range courses {
			if !jobtitle.IsNamed(store.Texts(c.RequiredFor()), w.JobTitle()) {
				continue
			}
			mine := slices.DeleteFunc(slices.Clone(held), func(r record.TrainingAssignment) bool {
				return r.WorkerID() != w.ID() || r.CourseID() != c.ID()
			})
			valid := slices.ContainsFunc(mine, func(r record.TrainingAssignment) bool {
				return r.Status() == "completed" && (!r.HasExpiresOn() || r.ExpiresOn() >= today)
			})
			if len(mine) == 0 {
				out[id] = append(out[id], "the driver has no certificate of "+c.Title())
			} else if !valid {
				out[id] = append(out[id], "the driver's certificate of "+c.Title()+" is not valid")
			}
		}
	}
	return out, nil
}
