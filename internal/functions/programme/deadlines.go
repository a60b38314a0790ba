package programme

import (
	"context"
	"fmt"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// Deadline is a record with a day that comes near: Days from today, none on the
// day itself, fewer when it has passed.
type Deadline struct {
	Event string // event type
	Row   store.Row
	Days  int
}

// dated is a kind of record with a day that is told of.
type dated struct {
	event, table, day string
	used              string // condition on records in use
}

func deadlineKinds() []dated {
	return []dated{
		{"equipment.service_due", "equipment", "service_due_on", "status <> 'retired'"},
		{"vehicle.inspection_due", "vehicles", "inspection_due_on", "status <> 'retired'"},
		{"driver.licence_expiring", "drivers", "licence_expires_on", "status <> 'suspended'"},
	}
}

// deadlineRows bounds what one transaction tells of.
const deadlineRows = 500

// RemindDeadlines tells of services and inspections that are due and licences
// that run out: once for each due day and each of noticeDays before it, and
// returns how many it told of. What was not told in time, since nothing ran or
// the day was entered late, is told by the nearest of noticeDays alone. Days are
// the tenant's.
func (p *Programme) RemindDeadlines(ctx context.Context, tenant string) (total int, err error) {
	for _, d := range deadlineKinds() {
		for n := deadlineRows; n == deadlineRows; total += n {
			err := p.write(ctx, serverActor(tenant), func(tx *db.Tx) error {
				today, err := p.localToday(tx, tenant)
				if err != nil {
					return err
				}
				list, err := p.listNearDeadlines(tx, tenant, d, today)
				n = len(list)
				if err != nil || n == 0 {
					return err
				}
				return p.tellDeadlines(tx, tenant, d, list)
			})
			if err != nil {
				return total, fmt.Errorf("programme: deadlines of %s: %w", d.table, err)
			}
		}
	}
	return total, nil
}

// listNearDeadlines lists records that were not told of by the notice their day is in, the
// nearest days first.
func (p *Programme) listNearDeadlines(tx *db.Tx, tenant string, d dated, today localtime.Date) (out []Deadline, err error) {
	r, err := p.resource(d.table)
	if err != nil {
		return nil, err
	}
	args := []any{d.table}
	var notice strings.Builder // the first notice whose bound the day has reached
	for _, n := range noticeDays {
		args = append(args, today.AddDays(n).String())
		fmt.Fprintf(&notice, "WHEN %s <= $%d THEN %d ", d.day, len(args)+1, n)
	}
	where := fmt.Sprintf("%[1]s <= $%[2]d AND archived_at IS NULL AND %[3]s AND NOT EXISTS (SELECT 1 FROM deadline_notices n WHERE n.tenant_id = "+
		"%[4]s.tenant_id AND n.collection = $2 "+
		"AND n.record_id = %[4]s.id AND n.due_on = %[4]s.%[1]s AND n.days = CASE %[5]sEND) ORDER BY %[1]s, id LIMIT %[6]d", d.day, len(args)+1, d.used, d.table,
		notice.String(), deadlineRows)
	rows, err := p.store.In(tx, serverActor(tenant)).Rows(r.Name, where, args...)
	for _, row := range rows {
		on, perr := localtime.ParseDate(fmt.Sprint(row[d.day]))
		if perr != nil {
			return nil, fmt.Errorf("programme: %s of %s %v: %w", d.day, d.table, row["id"], perr)
		}
		out = append(out, Deadline{Event: d.event, Row: row, Days: on.DaysSince(today)})
	}
	return out, err
}

// tellDeadlines notes what is told and tells it.
func (p *Programme) tellDeadlines(tx *db.Tx, tenant string, d dated, list []Deadline) error {
	notes := tx.InsertMany("deadline_notices", []db.Column{
		{Name: "tenant_id", Type: "uuid"}, {Name: "collection", Type: "text"},
		{Name: "record_id", Type: "uuid"}, {Name: "due_on", Type: "text"},
		{Name: "days", Type: "bigint"}, {Name: "told_at", Type: "timestamptz"}}, "")
	for _, l := range list {
		if err := notes.Add(tenant, d.table, l.Row["id"], l.Row[d.day], noticeOf(l.Days), query.FormatTime(p.now())); err != nil {
			return err
		}
	}
	notes.Queue()
	return p.hooks.Due(tx, tenant, list)
}

// noticeOf is which of noticeDays a day that many days ahead is told by.
func noticeOf(days int) int {
	for _, n := range noticeDays {
		if days <= n {
			return n
		}
	}
	return noticeDays[len(noticeDays)-1]
}
