package training

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// externalFields are what an external certificate says: whoever sets one enters it.
var externalFields = [...]string{
	issuerColumn, completedColumn, trainedColumn, trainerColumn, evaluatedColumn, evaluatorColumn,
	expiresColumn, numberColumn,
}

// checkExternal holds a certificate that somebody else issued to a second person:
// one person enters what it says, with its file, another person completes it,
// having looked at the file. From then on it stays as it is.
func checkExternal(tx *store.Tx, c record.Change[record.TrainingAssignment]) error {
	ta := c.After
	entered := ta.HasIssuer() && safety.IsChanged(c.Change, externalFields[:]...)
	isVerified := c.Before.Status() == statusCompleted || c.Before.HasVerifiedAt()
	if isVerified && (entered || safety.IsChanged(c.Change, issuerColumn)) {
		return refuseVerified(c)
	}
	if !ta.HasIssuer() {
		return nil
	}
	if c.Op == store.Insert && isCompleted(c) {
		return safety.NotReady("a second person verifies an external certificate: enter it, and have it completed").
			At(statusColumn, "is set by a second person")
	}
	if entered {
		ta.SetEnteredByOrNull(db.Null(tx.UserID))
	}
	if isCompleted(c) {
		return verifyExternal(tx, ta)
	}
	return nil
}

// verifyExternal wants the file and the day, and a second person, who is named.
func verifyExternal(tx *store.Tx, ta record.TrainingAssignment) error {
	makers, err := listFileMakers(tx, ta.ID())
	if err != nil {
		return err
	}
	if len(makers) == 0 {
		return safety.NotReady("an external certificate has a file: add it to the training first").
			At("files", "are missing")
	}
	if !ta.HasCompletedAt() {
		return safety.NotReady("say when the external certificate was issued: completed_at").At(completedColumn, "is missing")
	}
	if !tx.Seconds(ta.EnteredByOrNull()) || slices.Contains(makers, tx.UserID) {
		return fault.New(fault.Forbidden, "42501",
			"an external certificate is completed by another person than those who entered it "+
				"and added its files: status").
			At(statusColumn, "is set by a second person")
	}
	ta.SetVerifiedBy(tx.UserID)
	ta.SetVerifiedAt(query.FormatTime(tx.Now()))
	return nil
}

// listFileMakers lists who added the files of a training, a text for each file.
func listFileMakers(tx *store.Tx, training string) (makers []string, err error) {
	const fileSQL = `
		SELECT created_by
		FROM files
		WHERE tenant_id = $1
			AND assignment_id = $2`
	err = tx.Query(fileSQL, []any{tx.TenantID, training}, func(r *db.Row) error {
		makers = append(makers, r.Text(0))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("training: look for files: %w", err)
	}
	return makers, nil
}

// keepVerifiedFiles refuses new, changed and deleted files of external certificates
// that were verified: they stay as they are, as long as the training is there.
func keepVerifiedFiles(tx *store.Tx, changes []store.Change) error {
	byTenant := map[string][]string{}
	for _, c := range record.Changes[record.File](changes) {
		row := c.After
		if row == nil {
			row = c.Before
		}
		if id := row.AssignmentID(); id != "" && !tx.EndsWithParent() {
			tenant := cmp.Or(row.TenantID(), tx.TenantID)
			byTenant[tenant] = append(byTenant[tenant], id)
		}
	}
	for tenant, trainings := range byTenant {
		verified, err := record.List[record.TrainingAssignment](tx.Of(tenant),
			verifiedColumn+" IS NOT NULL AND id IN {ids $2}",
			query.List(trainings))
		if err != nil {
			return fmt.Errorf("training: read whose the files are: %w", err)
		}
		if len(verified) > 0 {
			return safety.NotReady("an external certificate that was verified stays as it is: files").
				At("files", "are kept as they are")
		}
	}
	return nil
}

// refuseVerified names the field of a certificate that no longer changes.
func refuseVerified(c record.Change[record.TrainingAssignment]) error {
	for _, f := range externalFields {
		if safety.IsChanged(c.Change, f) {
			return safety.NotReady("an external certificate that was verified stays as it is: %s", f).At(f, "is kept as it is")
		}
	}
	return nil
}
