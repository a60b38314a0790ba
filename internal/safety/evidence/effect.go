package evidence

import (
	"context"
	"fmt"

	"holdfast/internal/blob"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/safety/photo"
	"holdfast/internal/store"
)

// Effects checks comments and what shows that an action is done, deletes comments
// and files with the record that they are kept with, and bytes with the record of
// their file. A record that has some is no longer as an import left it, so bulk
// deletions leave it alone.
func Effects(c *catalog.Catalog, files photo.Files) store.Effects {
	comments, _ := c.Get("comments")
	e := store.Effects{
		Before: map[string]store.Effect{
			"comments": checkComments(comments),
			"files":    photo.LeaveUnsigned,
		},
		After:   map[string]store.Effect{"files": deleteBytes(files)},
		Unmoved: map[string]bool{},
	}
	for _, parent := range comments.ParentRecords() {
		e.Before[parent.Resource.Name] = deleteBeside(parent)
		e.Unmoved[parent.Resource.Name] = true
	}
	e.Before["actions"] = runBoth(e.Before["actions"], checkDone)
	return e
}

func runBoth(first, second store.Effect) store.Effect {
	return func(tx *store.Tx, changes []store.Change) error {
		if err := first(tx, changes); err != nil {
			return err
		}
		return second(tx, changes)
	}
}

// deleteBeside deletes what is kept with deleted records. Bulk work, which is not
// audited row by row, deletes nothing that people said: the reference refuses it.
func deleteBeside(parent catalog.ParentRecord) store.Effect {
	return func(tx *store.Tx, changes []store.Change) error {
		if !tx.Store.Audited() {
			return nil
		}
		gone := map[string][]string{}
		for _, c := range changes {
			if c.Op == store.Delete {
				gone[c.Before.Text("tenant_id")] = append(gone[c.Before.Text("tenant_id")], c.Before.Text("id"))
			}
		}
		for tenant, ids := range gone {
			for _, resource := range [...]string{"comments", "files"} {
				if err := deleteRowsOf(tx.Of(tenant).WithParent(), resource, parent.Column, ids); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func deleteRowsOf(tx *store.Tx, resource, column string, parents []string) error {
	var rows []string
	args := []any{tx.TenantID, query.List(parents)}
	err := tx.Query(db.FillWords(`
		SELECT id
		FROM {resource}
		WHERE tenant_id = $1
			AND {column} IN {ids $2}`, "{resource}", resource, "{column}", column), args,
		func(r *db.Row) error {
			rows = append(rows, r.Text(0))
			return nil
		})
	if err != nil {
		return fmt.Errorf("evidence: find %s of deleted records: %w", resource, err)
	}
	return tx.DeleteRows(resource, rows)
}

// deleteBytes deletes the bytes of files whose records are gone for good.
func deleteBytes(files photo.Files) store.Effect {
	return func(tx *store.Tx, changes []store.Change) error {
		for _, c := range changes {
			if c.Op != store.Delete {
				continue
			}
			for _, column := range blob.KeyColumns {
				key := c.Before.Text(column)
				tx.After(func() { deleteFile(context.Background(), files, key) })
			}
		}
		return nil
	}
}
