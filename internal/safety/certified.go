package safety

import (
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

const checkCertifiedSQL = `
	SELECT equipment.asset_no, courses.title
	FROM equipment
	JOIN courses ON courses.tenant_id = $1 AND courses.id = equipment.required_course_id
	WHERE equipment.tenant_id = $1
		AND equipment.id = $2
		AND courses.status = 'active'
		AND courses.archived_at IS NULL
		AND NOT EXISTS (SELECT 1
		FROM training_assignments
		WHERE training_assignments.tenant_id = $1
			AND training_assignments.worker_id = $3
			AND training_assignments.course_id = courses.id
			AND training_assignments.status = 'completed'
			AND (training_assignments.expires_on IS NULL OR training_assignments.expires_on >= $4))`

// checkCertified refuses shifts that begin on equipment whose required course the
// worker has no valid certificate of. What is entered afterwards, with its end,
// is a fact and is taken.
func checkCertified(tx *db.Tx, tenant string, today localtime.Date, changes []store.Change) error {
	for _, c := range record.Changes[record.Shift](changes) {
		sh := c.After
		begins := c.Op == store.Insert || c.Before.EquipmentID() != sh.EquipmentID() ||
			c.Before.WorkerID() != sh.WorkerID()
		if !begins || sh.HasEndedAt() || !sh.HasEquipmentID() {
			continue
		}
		tx.Queue(checkCertifiedSQL,
			[]any{tenant, sh.EquipmentIDOrNull(), sh.WorkerIDOrNull(), today.String()}, func(r *db.Row) error {
				return fault.New(fault.Conflict, CodeGuard, "%s asks for a valid certificate of %s, which the worker does not have", r.Text(0), r.Text(1)).
					At("equipment_id", "asks for a certificate of %s", r.Text(1))
			})
	}
	return tx.Flush()
}

// asksCertificates reports a change that may begin a shift on equipment.
func asksCertificates(changes []store.Change) bool {
	for _, c := range record.Changes[record.Shift](changes) {
		if !c.After.HasEndedAt() && c.After.HasEquipmentID() {
			return true
		}
	}
	return false
}
