package evidence

import (
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/safety/photo"
	"holdfast/internal/store"
)

// editTime is how long the author of a comment may change it.
const editTime = 15 * time.Minute

// checkComments holds new and changed comments to the rules: one record, a text,
// and after that a change by nobody but the author, for a while.
func checkComments(r *catalog.Resource) store.Effect {
	return func(tx *store.Tx, changes []store.Change) error {
		for _, c := range changes {
			if c.After == nil {
				continue
			}
			if err := checkComment(tx, r, c); err != nil {
				return err
			}
		}
		return photo.LeaveUnsigned(tx, slices.DeleteFunc(slices.Clone(changes), isNotReporters))
	}
}

const fromReporter = "from_reporter"

// isNotReporters reports anything but new words of whoever reported without an account: of an
// anonymous report they keep no more than the report itself.
func isNotReporters(c store.Change) bool {
	return c.Op != store.Insert || c.After[fromReporter] != true
}

func checkComment(tx *store.Tx, r *catalog.Resource, c store.Change) error {
	if c.Op == store.Insert {
		if err := checkOneParent(r, c.After); err != nil {
			return err
		}
	}
	if c.Op == store.Insert || safety.IsChanged(c, "text") {
		text := strings.TrimSpace(c.After.Text("text"))
		if text == "" {
			return safety.RefuseField("text", "has no words")
		}
		c.After["text"] = text
	}
	if c.Op == store.Update && safety.IsChanged(c, "text", "mentions") {
		if err := checkEdit(tx, c); err != nil {
			return err
		}
		c.After["edited_at"] = query.FormatTime(tx.Now())
	}
	if safety.Becomes(c, "struck") {
		return strikeComment(tx, c.After)
	}
	return nil
}

// checkOneParent refuses a row that names no record, or several.
func checkOneParent(r *catalog.Resource, row store.Row) error {
	var given []string
	for _, column := range r.Parents {
		if row.Text(column) != "" {
			given = append(given, column)
		}
	}
	switch len(given) {
	case 0:
		return safety.RefuseField(r.Parents[0], "is missing: name one record by it, or by one of %s",
			strings.Join(r.Parents[1:], ", "))
	case 1:
		return nil
	}
	return safety.RefuseField(given[1], "is given beside %s: name one record", given[0])
}

// checkEdit refuses a changed text by anybody but its author, late, or once it is struck.
func checkEdit(tx *store.Tx, c store.Change) error {
	if c.Before.Text("status") == "struck" {
		return safety.NotReady("the comment is struck: its text stays as it is").At("text", "is struck")
	}
	if !isAuthor(tx, c.Before) {
		return fault.New(fault.Forbidden, "42501", "the author alone changes a comment: add one of your own").
			At("text", "is another person's")
	}
	made, err := time.Parse(time.RFC3339Nano, c.Before.Text("created_at"))
	if err != nil || tx.Now().Sub(made) > editTime {
		return safety.NotReady("a comment stays as it is after %d minutes: strike it, and add another",
			int(editTime.Minutes())).At("text", "may be changed no more")
	}
	return nil
}

// strikeComment notes who strikes a comment: its author, or an officer.
func strikeComment(tx *store.Tx, row store.Row) error {
	officer := slices.Contains([]actor.Role{actor.Owner, actor.Admin, actor.Safety, actor.Service}, tx.Role)
	if !officer && !isAuthor(tx, row) {
		return fault.New(fault.Forbidden, "42501",
			"a comment is struck by its author, or by an owner, admin or safety officer").
			At("status", "is another person's")
	}
	row["struck_at"] = query.FormatTime(tx.Now())
	if tx.UserID != "" {
		row["struck_by"] = tx.UserID
	}
	return nil
}

// isAuthor reports that the caller wrote a comment; the service key stands for anybody.
func isAuthor(tx *store.Tx, row store.Row) bool {
	return tx.Role == actor.Service || tx.UserID != "" && row.Text("created_by") == tx.UserID
}
