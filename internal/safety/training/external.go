package training

import (
	"fmt"
	"maps"
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
	isShown, err := hasFile(tx, ta.Text(idColumn))
	if err != nil {
		return err
	}
	if !isShown {
		return safety.NotReady("an external certificate has a file: add it to the training first").
			At("files", "are missing")
	}
	if ta[completedColumn] == nil {
		return safety.NotReady("say when the external certificate was issued: completed_at").At(completedColumn, "is missing")
	}
	if !tx.Seconds(ta[enteredByColumn]) {
		return fault.New(fault.Forbidden, "42501",
			"an external certificate is completed by another person than the one who entered it: status").
			At(statusColumn, "is set by a second person")
	}
	ta[verifiedByColumn], ta[verifiedColumn] = tx.UserID, query.FormatTime(tx.Now())
	return nil
}

// hasFile reports that a training has a file.
func hasFile(tx *store.Tx, training string) (found bool, err error) {
	const fileSQL = `
		SELECT id
		FROM files
		WHERE tenant_id = $1
			AND assignment_id = $2
		LIMIT 1`
	err = tx.Query(fileSQL, []any{tx.TenantID, training}, func(*db.Row) error {
		found = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("training: look for a file: %w", err)
	}
	return found, nil
}

// enterFiles holds new files of external certificates to the rule for what they say:
// whoever adds one enters the certificate, and a verified one stays as it is.
func enterFiles(tx *store.Tx, changes []store.Change) error {
	added := map[string]bool{}
	for _, c := range changes {
		if id := c.After.Text(trainingColumn); c.Op == store.Insert && id != "" {
			added[id] = true
		}
	}
	if len(added) == 0 {
		return nil
	}
	trainings, err := tx.Rows(resource, issuerColumn+" IS NOT NULL AND id IN {ids $2}",
		query.List(slices.Sorted(maps.Keys(added))))
	if err != nil {
		return fmt.Errorf("training: read what files are added to: %w", err)
	}
	for _, training := range trainings {
		if training[verifiedColumn] != nil {
			return safety.NotReady("an external certificate that was verified stays as it is: files").
				At("files", "are kept as they are")
		}
		entered := store.Row{enteredByColumn: db.Null(tx.UserID)}
		if err := tx.UpdateRows(resource, []string{training.Text(idColumn)}, entered); err != nil {
			return err
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
