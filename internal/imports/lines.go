package imports

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/store"
)

// A file of records with lines (orders) has a row for each line, which repeats
// what it says of the record, or leaves it blank after the record's first row.

// lineNumber is the lines' field that counts them; where no column gives it,
// rows are counted as they come, and so the same file gives the same lines
// again.
const lineNumber = "line_no"

// ledgerOf remembers of each record of a file where it began, what its first
// row said of it, and how many lines it has so far.
type ledgerOf struct {
	seed maphash.Seed
	docs map[uint64]*document
}

type document struct {
	line  int // of the first row
	lines int64
	says  []uint64 // hashes of the fields' values, 0 = blank
}

func newLedger() *ledgerOf { return &ledgerOf{seed: maphash.MakeSeed(), docs: map[uint64]*document{}} }

// enter numbers a draft's line and holds it to what the record's first row
// said.
func (l *ledgerOf) enter(v *survey, d *draft) {
	key := v.target.resource.Import.Key[0]
	name, _ := d.row[key].(string)
	if name == "" {
		if !d.refused(v, key) {
			d.fail(v.header(key), "required", "%s is required: it says which rows belong together", key)
		}
		return
	}
	doc, first := l.of(name, d.line)
	doc.lines++
	if d.row[lineNumber] == nil && v.layout.column(lineNumber) == nil {
		d.row[lineNumber] = doc.lines
	}
	at := 0
	for _, c := range v.layout.cols {
		if c.line || c.name == key {
			continue
		}
		h := l.hash(d.row[c.name])
		switch {
		case first:
			doc.says = append(doc.says, h)
		case h != 0 && at < len(doc.says) && h != doc.says[at]:
			d.fail(c.header, "differs", "line %d says something else of %s %s, or nothing", doc.line, codeOf(v.target.name), clip(name, 80))
		}
		at++
	}
}

func (l *ledgerOf) of(name string, line int) (doc *document, first bool) {
	k := maphash.String(l.seed, name)
	if doc = l.docs[k]; doc != nil {
		return doc, false
	}
	doc = &document{line: line}
	l.docs[k] = doc
	return doc, true
}

func (l *ledgerOf) hash(v any) uint64 {
	if v == nil {
		return 0
	}
	return maphash.String(l.seed, text(v)) | 1
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
		details[i] = ap.target.part(row, true)
		details[i][ap.target.parent] = ids[text(row[ap.target.resource.Import.Key[0]])]
	}
	head := ap.writer
	defer func() { ap.writer = head }()
	if ap.writer, err = ap.lineWriter(); err != nil {
		return err
	}
	return ap.putLines(details, lines, kept)
}

// putHeads makes and changes the records that a batch of lines names. Those
// that this job made with an earlier batch stay as they are. It returns the
// ids by name, and those that were there and do not change themselves.
func (ap *application) putHeads(rows []store.Row, lines []int) (ids map[string]string, kept map[string]store.Row, err error) {
	key := ap.target.resource.Import.Key[0]
	ids, kept = map[string]string{}, map[string]store.Row{}
	var heads []store.Row
	var at []int
	for i, row := range rows {
		if name := text(row[key]); ids[name] == "" {
			ids[name] = name
			heads, at = append(heads, ap.target.part(row, false)), append(at, lines[i])
		}
	}
	existing, err := ap.existing(heads)
	if err != nil {
		return nil, nil, err
	}
	made, err := ap.made()
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
		if len(differing(ap.resource, c.Before, c.After)) == 0 {
			kept[text(c.Before["id"])] = c.Before
		}
	}
	sum := ap.sum // rows are counted as lines
	err = ap.write(s)
	ap.sum = sum
	for _, row := range s.fresh {
		ids[text(row[key])] = text(row["id"])
		made[text(row["id"])] = true
	}
	return ids, kept, err
}

// made are the records that this job made, by id.
func (ap *application) made() (map[string]bool, error) {
	if ap.own != nil {
		return ap.own, nil
	}
	var err error
	ap.own, err = madeBy(ap.tx, ap.actor.TenantID, ap.step.job.ID, ap.target.name)
	return ap.own, err
}

// madeBy reads which records of a resource a job made.
func madeBy(tx *db.Tx, tenant, job, resource string) (map[string]bool, error) {
	out := map[string]bool{}
	err := tx.Query("SELECT data FROM import_snapshots WHERE tenant_id = $1 AND job_id = $2 AND entity_type = $3 AND op = 'insert'", []any{tenant, job, resource}, func(r *db.Row) error {
		ids, err := unpackIDs(r.Bytes(0))
		for _, id := range ids {
			out[id] = true
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("imports: read what the job made: %w", err)
	}
	return out, nil
}

func (ap *application) lineWriter() (*writer, error) {
	if ap.details == nil {
		var err error
		if ap.details, err = ap.m.writer(ap.tx, ap.step.actor, ap.target.lines); err != nil {
			return nil, err
		}
	}
	return ap.details, nil
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
		touched[text(row[ap.target.parent])] = true
	}
	for _, c := range s.changes {
		if len(differing(ap.resource, c.Before, c.After)) > 0 {
			touched[text(c.After[ap.target.parent])] = true
		}
	}
	if err := ap.touch(touched, kept); err != nil {
		return err
	}
	return ap.write(s)
}

// touch keeps when records were last changed that only their lines change.
func (ap *application) touch(ids map[string]bool, kept map[string]store.Row) error {
	var list []image
	for id := range ids {
		if old := kept[id]; old != nil {
			v, _ := old["version"].(int64)
			list = append(list, image{ID: id, Version: v, Was: v, Before: map[string]json.RawMessage{"updated_at": json.RawMessage(db.AppendString(nil, text(old["updated_at"])))}})
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b image) int { return strings.Compare(a.ID, b.ID) })
	data, err := packList(list)
	if err != nil {
		return err
	}
	lines := ap.resource
	defer func() { ap.resource = lines }()
	ap.resource = ap.target.resource
	return ap.snapshot("update", len(list), data)
}
