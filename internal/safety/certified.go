package safety

import (
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/store"
)

// checkCertified refuses shifts that begin on equipment whose required course the
// worker has no valid certificate of. What is entered afterwards, with its end,
// is a fact and is taken.
func checkCertified(tx *db.Tx, tenant string, today localtime.Date, changes []store.Change) error {
	for _, c := range changes {
		sh := c.After
		begins := c.Op == store.Insert || c.Before["equipment_id"] != sh["equipment_id"] || c.Before["worker_id"] != sh["worker_id"]
		if !begins || sh["ended_at"] != nil || sh["equipment_id"] == nil {
			continue
		}
		tx.Queue("SELECT e.asset_no, c.title FROM equipment e JOIN courses c ON c.tenant_id = $1 AND c.id = e.required_course_id "+
			"WHERE e.tenant_id = $1 AND e.id = $2 AND c.status = 'active' AND c.archived_at IS NULL AND NOT EXISTS "+
			"(SELECT 1 FROM training_assignments t WHERE t.tenant_id = $1 AND t.worker_id = $3 AND t.course_id = c.id AND t.status = 'completed' "+
			"AND (t.expires_on IS NULL OR t.expires_on >= $4))",
			[]any{tenant, sh["equipment_id"], sh["worker_id"], today.String()}, func(r *db.Row) error {
				return fault.New(fault.Conflict, CodeGuard, "%s asks for a valid certificate of %s, which the worker does not have", r.Text(0), r.Text(1)).
					At("equipment_id", "asks for a certificate of %s", r.Text(1))
			})
	}
	return tx.Flush()
}

// asksCertificates reports a change that may begin a shift on equipment.
func asksCertificates(changes []store.Change) bool {
	for _, c := range changes {
		if c.After["ended_at"] == nil && c.After["equipment_id"] != nil {
			return true
		}
	}
	return false
}
