package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"holdfast/internal/fault"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/db"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/plan"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/store"
)

// A file of records with lines (orders) has a row for each line, which repeats
// what it says of the record, or leaves it blank after the record's first row.

// ledgerOf remembers of each record of a file where it began, what its first
// Fields said of it, and how many lines it has so far.
type ledgerOf struct {
	seed maphash.Seed
	docs map[uint64]document
	says []uint32 // hashes of the records' fields, 0 = blank: a row of them for each record
}

// document has no pointers: there may be a million of them.
type document struct {
	line, lines int32 // of the first row; how many
	says        int   // where its row of hashes begins
}

func newLedger() *ledgerOf { return &ledgerOf{seed: maphash.MakeSeed(), docs: map[uint64]document{}} }

// enter numbers a draft's line and holds it to what the record's first row
// said.
func (l *ledgerOf) enter(v *survey, d *draft) {
	key := v.Target.Resource.Import.Key[0]
	name, _ := d.row[key].(string)
	if name == "" {
		if !d.refused(v, key) {
			d.fail(v.header(key), "required", "%s is required: it says which rows belong together", v.Target.Words(key))
		}
		return
	}
	k := maphash.String(l.seed, name)
	doc, there := l.docs[k]
	if !there {
		doc = document{line: int32(d.line), says: len(l.says)}
	}
	doc.lines++
	l.docs[k] = doc
	if d.row[plan.LineNumber] == nil && v.Layout.Column(plan.LineNumber) == nil {
		d.row[plan.LineNumber] = int64(doc.lines)
	}
	at := 0
	for _, c := range v.Layout.Cols {
		if c.Line || c.Name == key {
			continue
		}
		h := l.hash(d.row[c.Name])
		switch {
		case !there:
			l.says = append(l.says, h)
		case h != 0 && h != l.says[doc.says+at]:
			d.fail(c.Header, "differs", "line %d says something else of %s %s, or nothing", doc.line, targets.Spoken(codeOf(v.Target.Name)), fault.Clip(name, 80))
		}
		at++
	}
}

func (l *ledgerOf) hash(v any) uint32 {
	if v == nil {
		return 0
	}
	return uint32(maphash.String(l.seed, text(v))) | 1
}

func text(v any) string {
	if raw, ok := v.(json.RawMessage); ok {
		return string(raw)
	}
	return fmt.Sprint(v)
}

// documents writes a batch of rows that are lines of records: the records
// first, then the lines.
func (ap *application) documents(rows []store.Row, lines []int) error {
	ids, kept, err := ap.putHeads(rows, lines)
	if err != nil {
		return err
	}
	details := make([]store.Row, len(rows))
	for i, row := range rows {
		details[i] = ap.target.Part(row, true)
		details[i][ap.target.Parent] = ids[text(row[ap.target.Resource.Import.Key[0]])]
	}
	head := ap.writer
	defer func() { ap.writer = head }()
	ap.writer = ap.lineWriter()
	return ap.putLines(details, lines, kept)
}

// putHeads makes and changes the records that a batch of lines names. Those
// that this job made with an earlier batch stay as they are. It returns the
// ids by name, and those that were there and do not change themselves.
func (ap *application) putHeads(rows []store.Row, lines []int) (ids map[string]string, kept map[string]store.Row, err error) {
	key := ap.target.Resource.Import.Key[0]
	ids, kept = map[string]string{}, map[string]store.Row{}
	var heads []store.Row
	var at []int
	for i, row := range rows {
		if name := text(row[key]); ids[name] == "" {
			ids[name] = name
			heads, at = append(heads, ap.target.Part(row, false)), append(at, lines[i])
		}
	}
	existing, err := ap.existing(heads)
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
		id, _ := existing[keyText(ap.resource, row)]["id"].(string)
		if ids[text(row[key])] = id; !made[id] {
			list, listed = append(list, row), append(listed, at[i])
		}
	}
	s, err := ap.sortOut(list, listed, existing)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range s.changes {
		if len(store.Differing(c)) == 0 {
			kept[text(c.Before["id"])] = c.Before
		}
	}
	sum := ap.sum // rows are counted as lines
	err = ap.write(s)
	ap.sum = sum
	for _, row := range s.fresh {
		ids[text(row[key])] = text(row["id"])
		ap.own[text(row["id"])] = true
	}
	return ids, kept, err
}

// madeAmong tells which of the records there are this job made: in this
// transaction, or in one before, the newest of which are asked first. A record is
// split by the end of a chunk and goes on in the next.
func (ap *application) madeAmong(existing map[string]store.Row) (map[string]bool, error) {
	if ap.own == nil {
		ap.own = map[string]bool{}
	}
	made, ask := map[string]bool{}, map[string]bool{}
	for _, row := range existing {
		switch id := text(row["id"]); {
		case ap.own[id]:
			made[id] = true
		case !older(row, ap.step.Job):
			ask[id] = true
		}
	}
	for before := int64(math.MaxInt64); len(ask) > 0 && before > 0; {
		args := []any{ap.actor.TenantID, ap.step.Job.ID, ap.target.Name, before}
		before = 0
		err := ap.tx.Query("SELECT seq, data FROM import_snapshots WHERE tenant_id = $1 AND job_id = $2 AND entity_type = $3 AND op = 'insert' AND seq < "+
			"$4 ORDER BY seq DESC LIMIT 1", args, func(r *db.Row) error {
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

// older reports a record made well before a job, whose maker's clock may differ.
func older(row store.Row, job *jobs.Job) bool {
	at, err := time.Parse(db.TimeLayout, text(row["created_at"]))
	began, fail := time.Parse(db.TimeLayout, job.CreatedAt)
	return err == nil && fail == nil && at.Before(began.Add(-time.Hour))
}

// idSet is a set of ids in sixteen bytes each, in order.
type idSet [][16]byte

func (s idSet) has(id string) bool {
	u, err := uuid.Parse(id)
	_, there := slices.BinarySearchFunc(s, u, func(x [16]byte, y uuid.UUID) int { return bytes.Compare(x[:], y[:]) })
	return err == nil && there
}

// madeBy reads which records of a resource a job made.
func madeBy(tx *db.Tx, tenant, job, resource string) (idSet, error) {
	var out idSet
	err := tx.Query("SELECT data FROM import_snapshots WHERE tenant_id = $1 AND job_id = $2 AND entity_type = $3 AND op = 'insert'",
		[]any{tenant, job, resource}, func(r *db.Row) error {
			for b := range slices.Chunk(r.Bytes(0), 16) {
				if len(b) < 16 {
					return staged.ErrSnapshot
				}
				out = append(out, [16]byte(b))
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("imports: read what the job made: %w", err)
	}
	slices.SortFunc(out, func(x, y [16]byte) int { return bytes.Compare(x[:], y[:]) })
	return out, nil
}

func (ap *application) lineWriter() *writer {
	if ap.details == nil {
		ap.details = ap.m.writer(ap.tx, ap.step.Actor, ap.target.Lines)
	}
	return ap.details
}

// putLines makes and changes lines. A record that was there and is not changed
// itself still follows its lines: what it says of its last change is kept
// before, to be put back behind them.
func (ap *application) putLines(details []store.Row, lines []int, kept map[string]store.Row) error {
	existing, err := ap.existing(details)
	if err != nil {
		return err
	}
	s, err := ap.sortOut(details, lines, existing)
	if err != nil {
		return err
	}
	touched := map[string]bool{}
	for _, row := range s.fresh {
		touched[text(row[ap.target.Parent])] = true
	}
	for _, c := range s.changes {
		if len(store.Differing(c)) > 0 {
			touched[text(c.After[ap.target.Parent])] = true
		}
	}
	if err := ap.touch(touched, kept); err != nil {
		return err
	}
	err = ap.write(s)
	ap.became(s.all)
	return err
}

// touch keeps when records were last changed that only their lines change.
func (ap *application) touch(ids map[string]bool, kept map[string]store.Row) error {
	var list []staged.Image
	for id := range ids {
		if old := kept[id]; old != nil {
			v, _ := old["version"].(int64)
			list = append(list, staged.Image{ID: id, Version: v, Was: v, Before: map[string]json.RawMessage{"updated_at": json.RawMessage(db.AppendString(nil,
				text(old["updated_at"])))}})
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
	lines := ap.resource
	defer func() { ap.resource = lines }()
	ap.resource = ap.target.Resource
	return ap.snapshot("update", len(list), data)
}
