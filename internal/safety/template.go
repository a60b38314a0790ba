package safety

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/safety/checklist"
	"holdfast/internal/store"
)

// changeTemplates counts the revisions of a code, reads what a template asks,
// and keeps a published one as it is.
func changeTemplates(tx *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.ChecklistTemplate](changes) {
		if c.Op == store.Delete && c.Before.Status() != "draft" {
			return NotReady("a template that was published stays: retire it")
		}
	}
	return PerTenant(followTemplates)(tx, changes)
}

func followTemplates(tx *store.Tx, changes []store.Change) error {
	revisions, published, err := readCodes(tx.Tx, tx.TenantID, changes)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.ChecklistTemplate](changes) {
		t, code := c.After, strings.ToLower(c.After.Code())
		if c.Op == store.Insert {
			revisions[code]++
			t.SetRevision(revisions[code])
		} else if c.Before.Status() != "draft" && isRewritten(c) {
			return NotReady("a published template is not changed: make a new draft with the code %s", t.Code())
		}
		raw := t.Sections()
		tpl, err := checklist.Parse(raw)
		if err != nil {
			return err
		}
		if !Becomes(c.Change, "published") {
			continue
		}
		if len(tpl.Items()) == 0 {
			return fault.New(fault.Conflict, CodeGuard, "a template without items asks nothing").At("sections", "has no item")
		}
		t.SetPublishedAt(query.FormatTime(tx.Now()))
		t.SetSupersedesIDOrNull(db.Null(published[code]))
		published[code] = t.ID()
	}
	return nil
}

const readCodesSQL = `
	SELECT id, lower(code), revision, status
	FROM checklist_templates
	WHERE tenant_id = $1 AND lower(code) IN {texts $2}
	{for update}`

// readCodes asks for the last revision and the published template of the codes in
// changes.
func readCodes(tx *db.Tx, tenant string, changes []store.Change) (revisions map[string]int64, published map[string]string, err error) {
	revisions, published = map[string]int64{}, map[string]string{}
	var list []string
	for _, c := range record.Changes[record.ChecklistTemplate](changes) {
		if c.Op == store.Insert || Becomes(c.Change, "published") {
			list = append(list, strings.ToLower(c.After.Code()))
		}
	}
	if len(list) == 0 {
		return revisions, published, nil
	}
	err = tx.Query(readCodesSQL, []any{tenant, query.List(list)}, func(r *db.Row) error {
		revisions[r.Text(1)] = max(revisions[r.Text(1)], r.Int(2))
		if r.Text(3) == "published" {
			published[r.Text(1)] = r.Text(0)
		}
		return nil
	})
	return revisions, published, err
}

// isRewritten reports a change of what a template asks.
func isRewritten(c record.Change[record.ChecklistTemplate]) bool {
	for _, f := range [...]string{"title", "description"} {
		if c.Before[f] != c.After[f] {
			return true
		}
	}
	for _, f := range [...]string{"applies_to", "kinds", "sections"} {
		was, _ := c.Before[f].(json.RawMessage)
		is, _ := c.After[f].(json.RawMessage)
		if string(was) != string(is) {
			return true
		}
	}
	return false
}

// supersedeRevisions lets a newly published revision take the place of the one before:
// schedules move on to it, and the old one retires. A template that retires
// without a successor ends its schedules.
func supersedeRevisions(tx *store.Tx, changes []store.Change) error {
	for _, c := range record.Changes[record.ChecklistTemplate](changes) {
		var err error
		if Becomes(c.Change, "published") && c.After.HasSupersedesID() {
			old := c.After.SupersedesID()
			if err = updateSchedules(tx, old, record.ChecklistSchedule{"template_id": c.After.IDOrNull()}); err == nil {
				err = record.Update(tx, []string{old}, record.ChecklistTemplate{"status": "retired"})
			}
		} else if Becomes(c.Change, "retired") {
			err = updateSchedules(tx, c.After.ID(), record.ChecklistSchedule{"status": "ended"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const updateSchedulesSQL = `
	SELECT id
	FROM checklist_schedules
	WHERE tenant_id = $1 AND template_id = $2 AND status IN ('active', 'paused')
	ORDER BY id`

// updateSchedules changes the schedules of a template that are not over.
func updateSchedules(tx *store.Tx, template string, set record.ChecklistSchedule) error {
	ids, err := idsOf(tx.Tx,
		updateSchedulesSQL, tx.TenantID, template)
	if err != nil {
		return err
	}
	return record.Update(tx, ids, set)
}

// idsOf reads ids.
func idsOf(tx *db.Tx, sql string, args ...any) (ids []string, err error) {
	err = tx.Query(sql, args, func(r *db.Row) error { ids = append(ids, r.Text(0)); return nil })
	return ids, err
}

// InsertRecords adds records, as the server.
func InsertRecords[R record.Kind](tx *store.Tx, records []R) error {
	_, err := record.Insert(tx, records)
	return err
}

// readWords reads an Array field.
func readWords(row store.Row, field string) (list []string) {
	raw, _ := row[field].(json.RawMessage)
	// The store keeps nothing but arrays of texts there.
	_ = json.Unmarshal(raw, &list)
	return list
}

// asked is a template as inspections use it.
type asked struct {
	title, status string
	appliesTo     []string
	kinds         []string
	sections      string
	parsed        *checklist.Template
}

const queueTemplatesSQL = `
	SELECT id, title, status, applies_to, kinds, sections
	FROM checklist_templates
	WHERE tenant_id = $1 AND id IN {ids $2}`

// queueTemplates asks for templates by id; they are there after the next
// flush.
func queueTemplates(tx *db.Tx, tenant string, ids []string) map[string]*asked {
	out := map[string]*asked{}
	if len(ids) > 0 {
		tx.Queue(queueTemplatesSQL, []any{tenant, query.List(ids)}, func(r *db.Row) error {
			row := store.Row{"a": json.RawMessage(r.Text(3)), "k": json.RawMessage(r.Text(4))}
			out[r.Text(0)] = &asked{
				title: r.Text(1), status: r.Text(2), sections: r.Text(5),
				appliesTo: readWords(row, "a"), kinds: readWords(row, "k"),
			}
			return nil
		})
	}
	return out
}

// parseTemplate parses what is asked, once.
func (t *asked) parseTemplate() (*checklist.Template, error) {
	if t.parsed != nil {
		return t.parsed, nil
	}
	var err error
	t.parsed, err = checklist.Parse([]byte(t.sections))
	return t.parsed, err
}

// checkFits says why a template is not for what a row is about, or nil. The fault
// stands at the field that is wrong.
func (t *asked) checkFits(row store.Row, p *whereabouts) error {
	if t.status != "published" {
		return badRun("template_id", "names a template that is %s, not published", t.status)
	}
	targets := map[string]string{"zone": "zone_id", "driver": "worker_id", "worker": "worker_id", "equipment": "equipment_id", "vehicle": "vehicle_id",
		"site": "site_id"}
	if len(t.appliesTo) > 0 && !slices.ContainsFunc(t.appliesTo, func(kind string) bool { return row[targets[kind]] != nil }) {
		return badRun(targets[t.appliesTo[0]], "is required: the template is for %s", strings.Join(t.appliesTo, ", "))
	}
	for _, field := range [...]string{"equipment_id", "vehicle_id"} {
		if kind, ok := p.kinds[row.Text(field)]; ok && len(t.kinds) > 0 && !slices.Contains(t.kinds, kind) {
			return badRun(field, "is a %s; the template is for %s", kind, strings.Join(t.kinds, ", "))
		}
	}
	return nil
}

func badRun(field, format string, args ...any) error {
	return fault.New(fault.Invalid, CodeReport, field+" "+format, args...).At(field, format, args...)
}
