package training

import (
	"fmt"
	"maps"
	"slices"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// namePeopleSQL selects workers by their accounts and their ids. $1 tenant, $2 ids
// of accounts, $3 ids of workers.
const namePeopleSQL = `
	SELECT id, user_id
	FROM workers
	WHERE tenant_id = $1
		AND (user_id IN {ids $2} OR id IN {ids $3})`

// namePeople gives new assignments the worker of their account, or the account
// of their worker. The two are one person.
func namePeople(tx *db.Tx, tenant string, changes []store.Change) error {
	var users, workers []string
	for i, c := range record.Changes[record.TrainingAssignment](changes) {
		if c.Op != store.Insert {
			continue
		}
		user, worker := c.After.UserID(), c.After.WorkerID()
		if user == "" && worker == "" {
			return safety.NotReady("row %d: say whose training it is: user_id or worker_id", i+1)
		}
		users, workers = append(users, user), append(workers, worker)
	}
	if len(users) == 0 {
		return nil
	}
	account, person := map[string]string{}, map[string]string{}
	err := tx.Query(namePeopleSQL,
		[]any{tenant, query.List(dropEmpty(users)), query.List(dropEmpty(workers))}, func(r *db.Row) error {
			account[r.Text(0)] = r.Text(1)
			if !r.Null(1) {
				person[r.Text(1)] = r.Text(0)
			}
			return nil
		})
	if err != nil {
		return err
	}
	for i, c := range record.Changes[record.TrainingAssignment](changes) {
		if c.Op != store.Insert {
			continue
		}
		user, worker := c.After.UserID(), c.After.WorkerID()
		if user != "" && worker != "" && account[worker] != user {
			err := fault.New(fault.Invalid, "22023", "user_id is not the account of the worker").
				At(userColumn, "is another person's")
			if len(changes) > 1 {
				err.Details = fmt.Sprintf("row %d", i+1)
			}
			return err
		}
		if user == "" {
			c.After.SetUserIDOrNull(db.Null(account[worker]))
		}
		if worker == "" {
			c.After.SetWorkerIDOrNull(db.Null(person[user]))
		}
	}
	return nil
}

// dropEmpty leaves the empty ones out.
func dropEmpty(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
}

// linkTraining gives the assignments of a worker who has got an account that
// account, and those of the account the worker.
func linkTraining(tx *store.Tx, changes []store.Change) error {
	user, worker := map[string]string{}, map[string]string{} // by the other
	for _, c := range record.Changes[record.Worker](changes) {
		if c.After == nil || !c.After.HasUserID() {
			continue
		}
		if c.Op == store.Insert || c.Before.UserID() != c.After.UserID() {
			id, account := c.After.ID(), c.After.UserID()
			user[id] = account
			worker[account] = id
		}
	}
	if len(user) == 0 {
		return nil
	}

	d := tx.DB()
	unlinked := "((worker_id IS NULL AND " + d.InUUID(userColumn, 2) + ") " +
		"OR (user_id IS NULL AND " + d.InUUID(workerColumn, 3) + "))"
	rows, err := record.List[record.TrainingAssignment](tx, unlinked,
		query.List(slices.Sorted(maps.Keys(worker))), query.List(slices.Sorted(maps.Keys(user))))
	if err != nil || len(rows) == 0 {
		return err
	}
	sets := make([]record.TrainingAssignment, len(rows))
	for i, row := range rows {
		if !row.HasWorkerID() {
			sets[i] = record.TrainingAssignment{"id": row.ID(), workerColumn: worker[row.UserID()]}
		} else {
			sets[i] = record.TrainingAssignment{"id": row.ID(), userColumn: user[row.WorkerID()]}
		}
	}
	return tx.UpdateEach(resource, record.Rows(sets))
}
