// Package worklist finds what a person on the floor does next: of the pick lists, put-aways,
// replenishments and counts that they may do, the one to begin with.
//
// Layer: domains. Begin at [FindNext].
package worklist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/decimal"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Asker is who wants work, and where they stand.
type Asker struct {
	At       string // a zone, "" for unknown
	Resource string // the collection of work that is looked at, "" for any
}

// Task is a piece of work.
type Task struct {
	Resource, ID string
	IsMine       bool
	Priority     int64       // 1 is most urgent
	PromisedAt   time.Time   // the earliest promise that waits for it, zero for none
	Distance     decimal.Dec // metres along the aisles, to its nearest stop
	IsPlaced     bool        // Distance is known
	Since        time.Time
}

// parts are what the statements below share: the worker, where they stand, whether a place
// can be worked at, how far away it is, and what comes first.
var parts = strings.NewReplacer(
	"{join asker}", `
	JOIN workers AS me ON me.tenant_id = $1 AND me.id = $2 AND `+query.WorkerIsEmployed+`
	LEFT JOIN zones AS here ON here.tenant_id = $1 AND here.id = $3`,
	"{can reach}", `(
		`+query.WorkerReaches+`
		AND (CAST($4 AS bigint) = 0 OR place.id IN {ids $5})
	)`,
	"{metres}", `CASE
		WHEN place.id = here.id THEN 0
		WHEN place.site_id IS DISTINCT FROM here.site_id THEN NULL
		WHEN here.x = 0 AND here.y = 0 AND here.z = 0 OR place.x = 0 AND place.y = 0 AND place.z = 0 THEN NULL
		ELSE ABS(place.x - here.x) + ABS(place.y - here.y) + ABS(place.z - here.z)
	END`,
	"{is waiting}", `(line.status = 'pending' AND (orders.id IS NULL OR orders.status <> 'on_hold'))`,
	"{mine or free}", `(task.assigned_worker_id IS NULL OR task.assigned_worker_id = $2)`,
	"{first}", `
	ORDER BY task.assigned_worker_id IS NULL, priority, due NULLS LAST, metres NULLS LAST, task.created_at, task.id
	LIMIT 1`,
)

// listsSQL selects the pick list to begin with: one with a line to pick, of which every line
// can be reached, as the row policy asks. Lines of orders on hold are not picked. $1 tenant,
// $2 worker, $3 where they stand or null, $4 1 = only in the zones $5.
const listsSQL = `
	SELECT task.id, task.assigned_worker_id IS NOT NULL, task.priority AS priority,
		MIN(CASE WHEN {is waiting} THEN orders.promised_at END) AS due,
		MIN(CASE WHEN {is waiting} THEN {metres} END) AS metres,
		task.created_at
	FROM pick_lists AS task{join asker}
	JOIN pick_lines AS line ON line.tenant_id = $1 AND line.pick_list_id = task.id
	JOIN zones AS place ON place.tenant_id = $1 AND place.id = line.zone_id
	LEFT JOIN order_lines AS asked ON asked.tenant_id = $1 AND asked.id = line.order_line_id
	LEFT JOIN orders ON orders.tenant_id = $1 AND orders.id = asked.order_id
	WHERE task.tenant_id = $1
		AND task.status IN ('released', 'in_progress')
		AND {mine or free}
	GROUP BY task.id, task.assigned_worker_id, task.priority, task.created_at
	HAVING MIN(CASE WHEN {can reach} THEN 1 ELSE 0 END) = 1
		AND MAX(CASE WHEN {is waiting} THEN 1 ELSE 0 END) = 1{first}`

// putawaysSQL selects the put-away to begin with. Parameters are those of listsSQL.
const putawaysSQL = `
	SELECT task.id, task.assigned_worker_id IS NOT NULL, 3 AS priority, NULL AS due, {metres} AS metres,
		task.created_at
	FROM putaway_tasks AS task{join asker}
	JOIN zones AS place ON place.tenant_id = $1 AND place.id = task.from_zone_id
	WHERE task.tenant_id = $1
		AND task.status IN ('open', 'in_progress')
		AND {mine or free}
		AND {can reach}{first}`

// replenishmentsSQL selects the replenishment to begin with. Parameters are those of
// listsSQL.
const replenishmentsSQL = `
	SELECT task.id, task.assigned_worker_id IS NOT NULL, 3 AS priority, NULL AS due, {metres} AS metres,
		task.created_at
	FROM replenish_tasks AS task{join asker}
	JOIN zones AS place ON place.tenant_id = $1 AND place.id = task.from_zone_id
	WHERE task.tenant_id = $1
		AND task.status IN ('open', 'in_progress')
		AND {mine or free}
		AND {can reach}{first}`

// countsSQL selects the count to begin with. Parameters are those of listsSQL.
const countsSQL = `
	SELECT task.id, task.assigned_worker_id IS NOT NULL, 3 AS priority, task.due_on AS due, {metres} AS metres,
		task.created_at
	FROM count_tasks AS task{join asker}
	JOIN zones AS place ON place.tenant_id = $1 AND place.id = task.zone_id
	WHERE task.tenant_id = $1
		AND task.status IN ('open', 'counting')
		AND {mine or free}
		AND {can reach}{first}`

// kinds are the collections of work, each with its statement.
var kinds = [...]struct{ resource, statement string }{
	{"pick_lists", listsSQL}, {"putaway_tasks", putawaysSQL}, {"replenish_tasks", replenishmentsSQL},
	{"count_tasks", countsSQL},
}

// FindNext returns the work that the caller of a transaction does next, nil where there is
// none: their own before that of nobody, then the most urgent, then what is promised first,
// then the nearest, then what has waited longest. A caller without a worker record has none.
func FindNext(tx *store.Tx, asker Asker) (*Task, error) {
	if tx.WorkerID == "" {
		return nil, nil
	}
	scoped, zones := int64(0), []string{}
	if isFloor := tx.Role == actor.Operator || tx.Role == actor.Driver; isFloor && len(tx.ZoneIDs) > 0 {
		scoped, zones = 1, tx.ZoneIDs
	}
	args := []any{tx.TenantID, tx.WorkerID, db.Null(asker.At), scoped, query.List(zones)}
	var zone string
	store.QueueZone(tx.Tx, tx.TenantID, &zone)
	var found []Task
	for _, kind := range kinds {
		if asker.Resource != "" && asker.Resource != kind.resource {
			continue
		}
		tx.Queue(parts.Replace(kind.statement), args, func(r *db.Row) error {
			task, err := readTask(r, kind.resource, zone)
			found = append(found, task)
			return err
		})
	}
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("worklist: find the next task: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	first := slices.MinFunc(found, compareTasks)
	return &first, nil
}

// readTask reads a row of the statements above. What is due on a day is promised for its
// end, where the tenant is.
func readTask(r *db.Row, resource, zone string) (Task, error) {
	t := Task{Resource: resource, ID: r.Text(0), IsMine: r.Bool(1), Priority: r.Int(2), Distance: r.Dec(4),
		IsPlaced: !r.Null(4), Since: r.Time(5)}
	if resource != "count_tasks" || r.Null(3) {
		t.PromisedAt = r.Time(3)
		return t, nil
	}
	day, err := localtime.ParseDate(r.Text(3))
	if err != nil {
		return t, fmt.Errorf("worklist: when a count is due: %w", err)
	}
	t.PromisedAt = day.End(localtime.Zone(zone))
	return t, nil
}

// compareTasks says which of two tasks comes first.
func compareTasks(a, b Task) int {
	return cmp.Or(
		compareFlags(a.IsMine, b.IsMine),
		cmp.Compare(a.Priority, b.Priority),
		compareFlags(!a.PromisedAt.IsZero(), !b.PromisedAt.IsZero()),
		a.PromisedAt.Compare(b.PromisedAt),
		compareFlags(a.IsPlaced, b.IsPlaced),
		cmp.Compare(a.Distance, b.Distance),
		a.Since.Compare(b.Since),
		cmp.Compare(a.ID, b.ID),
	)
}

// compareFlags puts what is so before what is not.
func compareFlags(a, b bool) int {
	if a == b {
		return 0
	}
	if a {
		return -1
	}
	return 1
}
