package training

import (
	"encoding/json"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// externalFields are what an external certificate says: whoever sets one enters it.
var externalFields = [...]string{
	issuerColumn, filesColumn, completedColumn, trainedColumn, trainerColumn, evaluatedColumn, evaluatorColumn,
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
	if !hasFile(ta) {
		return safety.NotReady("an external certificate has a file: attachments, with the url of one").
			At(filesColumn, "names no file")
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

// hasFile reports that a training has an attachment that is kept somewhere.
func hasFile(ta store.Row) bool {
	raw, _ := ta[filesColumn].(json.RawMessage)
	var files []struct{ URL string }
	// The store keeps nothing but arrays of such objects there.
	_ = json.Unmarshal(raw, &files)
	return slices.ContainsFunc(files, func(f struct{ URL string }) bool { return f.URL != "" })
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
