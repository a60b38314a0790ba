package training

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
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
func checkExternal(tx *store.Tx, c store.Change) error {
	ta := c.After
	entered := ta[issuerColumn] != nil && safety.IsChanged(c, externalFields[:]...)
	isVerified := c.Before.Text(statusColumn) == statusCompleted || c.Before[verifiedColumn] != nil
	if isVerified && (entered || safety.IsChanged(c, issuerColumn)) {
		return refuseVerified(c)
	}
	if ta[issuerColumn] == nil {
		return nil
	}
	if c.Op == store.Insert && isCompleted(c) {
		return safety.NotReady("a second person verifies an external certificate: enter it, and have it completed").
			At(statusColumn, "is set by a second person")
	}
	if entered {
		ta[enteredByColumn] = db.Null(tx.UserID)
	}
	if isCompleted(c) {
		return verifyExternal(tx, ta)
	}
	return nil
}

// verifyExternal wants the file and the day, and a second person, who is named.
func verifyExternal(tx *store.Tx, ta store.Row) error {
	makers, err := listFileMakers(tx, ta.Text(idColumn))
	if err != nil {
		return err
	}
	if len(makers) == 0 {
		return safety.NotReady("an external certificate has a file: add it to the training first").
			At("files", "are missing")
	}
	if ta[completedColumn] == nil {
		return safety.NotReady("say when the external certificate was issued: completed_at").At(completedColumn, "is missing")
	}
	if !tx.Seconds(ta[enteredByColumn]) || slices.Contains(makers, tx.UserID) {
		return fault.New(fault.Forbidden, "42501",
			"an external certificate is completed by another person than those who entered it "+
				"and added its files: status").
			At(statusColumn, "is set by a second person")
	}
	ta[verifiedByColumn], ta[verifiedColumn] = tx.UserID, query.FormatTime(tx.Now())
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
	for _, c := range changes {
		row := c.After
		if row == nil {
			row = c.Before
		}
		if id := row.Text(trainingColumn); id != "" && !tx.EndsWithParent() {
			tenant := cmp.Or(row.Text(tenantColumn), tx.TenantID)
			byTenant[tenant] = append(byTenant[tenant], id)
		}
	}
	for tenant, trainings := range byTenant {
		verified, err := tx.Of(tenant).Rows(resource, verifiedColumn+" IS NOT NULL AND id IN {ids $2}",
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
func refuseVerified(c store.Change) error {
	for _, f := range externalFields {
		if safety.IsChanged(c, f) {
			return safety.NotReady("an external certificate that was verified stays as it is: %s", f).At(f, "is kept as it is")
		}
	}
	return nil
}
