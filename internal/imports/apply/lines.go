package apply

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/imports/bulk"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/staged"
	"holdfast/internal/store"
)

// writeDocuments writes a batch of rows that are lines of records: the records
// first, then the lines.
func (ap *application) writeDocuments(rows []store.Row, lines []int) error {
	ids, kept, err := ap.putHeads(rows, lines)
	if err != nil {
		return err
	}
	details := make([]store.Row, len(rows))
	for i, row := range rows {
		details[i] = ap.target.Part(row, true)
		details[i][ap.target.Parent] = ids[match.Text(row[ap.target.Resource.Import.Key[0]])]
	}
	head := ap.Writer
	defer func() { ap.Writer = head }()
	ap.Writer = ap.lineWriter()
	return ap.putLines(details, lines, kept)
}

// putHeads makes and changes the records that a batch of lines names. Those
// that this job made with an earlier batch stay as they are. It returns the
// ids by name, and those that were there and do not change themselves.
func (ap *application) putHeads(
	rows []store.Row, lines []int,
) (ids map[string]string, kept map[string]store.Row, err error) {
	key := ap.target.Resource.Import.Key[0]
	ids, kept = map[string]string{}, map[string]store.Row{}
	var heads []store.Row
	var at []int
	for i, row := range rows {
		if name := match.Text(row[key]); ids[name] == "" {
			ids[name] = name
			heads, at = append(heads, ap.target.Part(row, false)), append(at, lines[i])
		}
	}
	existing, err := ap.Existing(heads)
	if err != nil {
		return nil, nil, err
	}
	made, err := ap.madeAmong(existing)
	if err != nil {
		return nil, nil, err
	}
	var list []store.Row
	var listed []int
	for i, row := range heads {
		id, _ := existing[match.Key(ap.Resource, row)]["id"].(string)
		if ids[match.Text(row[key])] = id; !made[id] {
			list, listed = append(list, row), append(listed, at[i])
		}
	}
	s, err := ap.sortOut(list, listed, existing)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range s.changes {
		if len(store.Differing(c)) == 0 {
			kept[match.Text(c.Before["id"])] = c.Before
		}
	}
	sum := ap.sum // rows are counted as lines
	err = ap.writeSorted(s)
	ap.sum = sum
	for _, row := range s.fresh {
		ids[match.Text(row[key])] = match.Text(row["id"])
		ap.own[match.Text(row["id"])] = true
	}
	return ids, kept, err
}

const findMadeSQL = `
	SELECT seq, data
	FROM import_snapshots
	WHERE tenant_id = $1 AND job_id = $2 AND entity_type = $3 AND op = 'insert' AND seq < $4
	ORDER BY seq DESC
	LIMIT 1`

// madeAmong tells which of the records there are this job made: in this
// transaction, or in one before, the newest of which are asked first. A record is
// split by the end of a chunk and goes on in the next.
func (ap *application) madeAmong(existing map[string]store.Row) (map[string]bool, error) {
	if ap.own == nil {
		ap.own = map[string]bool{}
	}
	made, ask := map[string]bool{}, map[string]bool{}
	for _, row := range existing {
		if id := match.Text(row["id"]); ap.own[id] {
			made[id] = true
		} else if !isOlder(row, ap.step.Job) {
			ask[id] = true
		}
	}
	for before := int64(math.MaxInt64); len(ask) > 0 && before > 0; {
		args := []any{ap.Actor.TenantID, ap.step.Job.ID, ap.target.Name, before}
		before = 0
		err := ap.Tx.Query(findMadeSQL, args, func(r *db.Row) error {
			before = r.Int(0)
			ids, err := staged.UnpackIDs(r.Bytes(1))
			for _, id := range ids {
				if ask[id] {
					made[id] = true
					delete(ask, id)
				}
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("imports: read what the job made: %w", err)
		}
	}
	return made, nil
}

// isOlder reports a record made well before a job, whose maker's clock may differ.
func isOlder(row store.Row, job *jobs.Job) bool {
	at, err := time.Parse(db.TimeLayout, match.Text(row["created_at"]))
	began, fail := time.Parse(db.TimeLayout, job.CreatedAt)
	return err == nil && fail == nil && at.Before(began.Add(-time.Hour))
}

func (ap *application) lineWriter() *bulk.Writer {
	if ap.details == nil {
		ap.details = ap.m.records.Writer(ap.Tx, ap.step.Actor, ap.target.Lines)
	}
	return ap.details
}

// putLines makes and changes lines. A record that was there and is not changed
// itself still follows its lines: what it says of its last change is kept
// before, to be put back behind them.
func (ap *application) putLines(details []store.Row, lines []int, kept map[string]store.Row) error {
	existing, err := ap.Existing(details)
	if err != nil {
		return err
	}
	s, err := ap.sortOut(details, lines, existing)
	if err != nil {
		return err
	}
	touched := map[string]bool{}
	for _, row := range s.fresh {
		touched[match.Text(row[ap.target.Parent])] = true
	}
	for _, c := range s.changes {
		if len(store.Differing(c)) > 0 {
			touched[match.Text(c.After[ap.target.Parent])] = true
		}
	}
	if err := ap.touchHeads(touched, kept); err != nil {
		return err
	}
	err = ap.writeSorted(s)
	ap.noteOutcomes(s.all)
	return err
}

// touchHeads keeps when records were last changed that only their lines change.
func (ap *application) touchHeads(ids map[string]bool, kept map[string]store.Row) error {
	var list []staged.Image
	for id := range ids {
		if old := kept[id]; old != nil {
			v, _ := old["version"].(int64)
			list = append(list, staged.Image{ID: id, Version: v, Was: v,
				Before: map[string]json.RawMessage{"updated_at": json.RawMessage(db.AppendString(nil,
					match.Text(old["updated_at"])))}})
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b staged.Image) int { return strings.Compare(a.ID, b.ID) })
	data, err := staged.PackList(list)
	if err != nil {
		return err
	}
	return ap.queueSnapshot(ap.target.Resource.Name, "update", len(list), data)
}
