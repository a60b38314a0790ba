package undo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/imports/bulk"
	"holdfast/internal/imports/jobs"
	"holdfast/internal/imports/match"
	"holdfast/internal/imports/staged"
	"holdfast/internal/imports/targets"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

const idField = "id"

// listedConflicts is how many conflicts a refusal names; the count is exact.
const listedConflicts = 100

// inspection is what a rollback looks at and finds against itself.
type inspection struct {
	*bulk.Writer // of the records at hand, in the transaction at hand
	m            *Undoer
	step         *jobs.Step
	job          *jobs.Job // after the newest transaction
	target       *targets.Target
	partial      bool
	writers      map[string]*bulk.Writer // of this transaction
	made         map[string]staged.IDSet // by resource, what the job made
	kept         map[string]bool         // records left as they are, of stock the items
	settled      map[string]bool         // those of them of which all is back but what others changed
	conflicts    []Conflict
	count        int
}

// useResource turns to the records of a resource.
func (u *inspection) useResource(tx *db.Tx, resource string) error {
	if w := u.writers[resource]; w != nil {
		u.Writer = w
		return nil
	}
	r, ok := u.m.cat.Get(resource)
	if !ok {
		return fmt.Errorf("%w: no resource %s", staged.ErrSnapshot, resource)
	}
	u.Writer = u.m.records.Writer(tx, u.step.Actor, r)
	u.writers[resource] = u.Writer
	return nil
}

// addConflict notes a record that stands against the rollback.
func (u *inspection) addConflict(id, label, format string, args ...any) {
	if u.kept[id] {
		return // told before
	}
	u.count++
	u.kept[id] = true
	if len(u.conflicts) < listedConflicts {
		u.conflicts = append(u.conflicts, Conflict{EntityType: u.Resource.Name, EntityID: id, Label: label,
			Reason: fmt.Sprintf(format, args...)})
	}
}

// conflictFault is the fault of the conflicts found, or nil.
func (u *inspection) conflictFault() error {
	if u.count == 0 || u.partial {
		return nil
	}
	lines := make([]string, len(u.conflicts))
	for i, c := range u.conflicts {
		lines[i] = c.Label + ": " + c.Reason
	}
	f := fault.New(fault.Conflict, "import_conflict", "%s against rolling the import back; nothing was changed",
		fault.Counted(u.count, "record stands", "records stand"))
	if n := u.rolledBackSoFar(); n > 0 {
		f.Msg = fmt.Sprintf("%s against rolling the rest of the import back; %s rolled back before",
			fault.Counted(u.count, "record stands", "records stand"), fault.Counted(n, "was", "were"))
	}
	f.Details = strings.Join(lines, "; ")
	f.Data = u.conflicts
	return f
}

// rolledBackSoFar is how many records are back, of all runs.
func (u *inspection) rolledBackSoFar() int64 { return u.job.RolledBackCount }

// checkInserted looks for records made by the import that were changed since
// or that others refer to. Those deleted since are gone already.
func (u *inspection) checkInserted(data []byte) error {
	ids, err := staged.UnpackIDs(data)
	if err != nil || len(ids) == 0 {
		return err
	}
	made := groupOf(ids)
	if err := u.findChanged(made); err != nil {
		return err
	}
	for _, rel := range u.Resource.Relations() {
		from, _ := u.m.cat.Get(rel.From)
		m := mention{by: rel.From, in: rel.From, column: rel.Column, id: "id"}
		follows := from.Follows == rel.Column
		if rel.To != u.Resource.Name || follows && from.Binds == "" {
			continue
		}
		if follows {
			m.also = " AND (" + from.Binds + ")"
		}
		if err := u.checkMention(m, made); err != nil {
			return err
		}
	}
	return u.checkMentions(made)
}

// checkMentions looks for records that name those the import made where no
// foreign key keeps them.
func (u *inspection) checkMentions(g *group) error {
	for _, m := range u.mentionFields() {
		if err := u.checkMention(m, g); err != nil {
			return err
		}
	}
	return nil
}

// mention is a place where records of a resource name others.
type mention struct {
	by         string // the resource
	in         string // what follows FROM
	column, id string // that names, and of the record that names
	also       string // further conditions
	fresh      bool   // only what was written since the job, whose time is $4, can name its records
}

// mentionFields are the fields that name the resource's records by id though no
// foreign key holds them.
func (u *inspection) mentionFields() []mention {
	var out []mention
	for _, r := range u.m.cat.All() {
		for i := range r.Fields {
			f := &r.Fields[i]
			switch {
			case f.Names != u.Resource.Name || catalog.NamedBy(f.Names) != "id":
			case f.Type == catalog.Array:
				out = append(out, mention{by: r.Name, in: r.Name + " n, " + u.Tx.DB().Elements("n."+f.Name, "e"), column: "e.value",
					id: "n.id", also: " AND n." + f.Name + " <> '[]'", fresh: !r.Bare})
			default:
				out = append(out, mention{by: r.Name, in: r.Name, column: f.Name, id: "id"})
			}
		}
	}
	if kind := safety.EntityTypeOf(u.Resource.Name); kind != "" {
		out = append(out, mention{by: "incidents", in: safety.EntityTable, column: "entity_id", id: "incident_id",
			also: " AND entity_type IN ('" + kind + "', '" + safety.Bystander + "')"})
	}
	return out
}

// group is the records of a batch. Their ids, made one after the other, lie
// close together, so that one scan of an index from first to last finds what
// stands against them; what else lies there is no member.
type group struct {
	ids         []string
	first, last string
	member      map[string]bool // of ids, once somebody asks
}

func groupOf(ids []string) *group {
	return &group{ids: ids, first: slices.Min(ids), last: slices.Max(ids)}
}

func (g *group) hasID(id string) bool {
	if g.member == nil {
		g.member = make(map[string]bool, len(g.ids))
		for _, id := range g.ids {
			g.member[id] = true
		}
	}
	return g.member[id]
}

// withinCondition is the condition that a column lies in the group, whose bounds are $2
// and $3.
func withinCondition(col string) string {
	return "tenant_id = $1 AND " + col + " >= $2 AND " + col + " <= $3"
}

func (u *inspection) boundArguments(g *group) []any { return []any{u.Actor.TenantID, g.first, g.last} }

// findChanged finds the records that somebody changed since the import made them.
func (u *inspection) findChanged(g *group) error {
	err := u.Tx.Query(db.FillWords(`
		SELECT id, {label}, version
		FROM {name}
		WHERE {within condition}
			AND version <> 1
		ORDER BY id`,
		"{label}", match.LabelSQL(u.Resource), "{name}", u.Resource.Name, "{within condition}", withinCondition("id")),
		u.boundArguments(g), func(r *db.Row) error {
			if id := r.Text(0); g.hasID(id) {
				u.addConflict(id, cmp.Or(r.Text(1), id), "was changed after the import (version %d)", r.Int(2))
			}
			return nil
		})
	if err != nil {
		return fmt.Errorf("imports: look at %s: %w", u.Resource.Name, err)
	}
	return nil
}

// held is a record as it stands: its version and what people call it.
type held struct {
	version int64
	label   string
}

// readHeld reads how records stand.
func (u *inspection) readHeld(ids []string) (map[string]held, error) {
	out := make(map[string]held, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	err := u.Tx.Query(db.FillWords(`
		SELECT id, version, {label}
		FROM {name}
		WHERE tenant_id = $1
			AND id IN {ids $2}`,
		"{label}", match.LabelSQL(u.Resource), "{name}", u.Resource.Name),
		[]any{u.Actor.TenantID, query.List(ids)}, func(r *db.Row) error {
			out[r.Text(0)] = held{r.Int(1), cmp.Or(r.Text(2), r.Text(0))}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("imports: look at %s: %w", u.Resource.Name, err)
	}
	return out, nil
}

// checkMention looks for records that name those the import made. Those that it
// made too go with them, unless they stay.
func (u *inspection) checkMention(m mention, g *group) error {
	made, err := u.madeOf(m.by)
	if err != nil {
		return err
	}
	count, last := "COUNT(*)", " GROUP BY "+m.column
	if len(made) > 0 {
		count, last = m.id, ""
	}
	args, also := u.boundArguments(g), m.also
	if m.fresh {
		args, also = append(args, u.startMoment()), also+" AND n.updated_at >= $4"
	}
	uses := map[string]int64{}
	var order []string
	err = u.Tx.Query(db.FillWords(`
		SELECT {column}, {count}
		FROM {in}
		WHERE {within condition} {also} {last}
		ORDER BY {column}`,
		"{column}", m.column, "{count}", count, "{in}", m.in, "{within condition}", withinCondition(m.column),
		"{also}", also, "{last}", last),
		args, func(r *db.Row) error {
			to, n := r.Text(0), int64(1)
			if !g.hasID(to) || len(made) > 0 && made.Has(r.Text(1)) && !u.kept[r.Text(1)] {
				return nil
			}
			if len(made) == 0 {
				n = r.Int(1)
			}
			if uses[to] == 0 {
				order = append(order, to)
			}
			uses[to] += n
			return nil
		})
	if err != nil {
		return fmt.Errorf("imports: look for references in %s: %w", m.by, err)
	}
	names, err := u.readHeld(order)
	if err != nil {
		return err
	}
	for _, id := range order {
		many := "a record"
		if uses[id] > 1 {
			many = strconv.FormatInt(uses[id], 10) + " records"
		}
		u.addConflict(id, names[id].label, "is used by %s of %s", many, strings.ReplaceAll(m.by, "_", " "))
	}
	return nil
}

// startMoment is a moment before the job made anything, whatever a node's clock says.
func (u *inspection) startMoment() string {
	at, _ := time.Parse(time.RFC3339Nano, u.step.Job.CreatedAt) // the zero time looks at everything
	return query.FormatTime(at.Add(-time.Hour))
}

// madeOf are the records of a resource that the job made and that are not back.
func (u *inspection) madeOf(resource string) (staged.IDSet, error) {
	if u.made == nil {
		u.made = map[string]staged.IDSet{}
	}
	if m, ok := u.made[resource]; ok {
		return m, nil
	}
	m, err := staged.MadeBy(u.Tx, u.Actor.TenantID, u.step.Job.ID, resource)
	u.made[resource] = m
	return m, err
}

// keepLines keeps the lines of records that stay: half an order is none.
func (u *inspection) keepLines() error {
	if u.target.Lines == nil || len(u.kept) == 0 {
		return nil
	}
	made, err := u.madeOf(u.target.Lines.Name)
	if err != nil {
		return err
	}
	if err := u.useResource(u.Tx, u.target.Lines.Name); err != nil {
		return err
	}
	sql := db.FillWords(`
		SELECT id
		FROM {name}
		WHERE tenant_id = $1
			AND {parent} IN {ids $2}
		ORDER BY id`,
		"{name}", u.target.Lines.Name, "{parent}", u.target.Parent)
	return u.Tx.Query(sql, []any{u.Actor.TenantID, query.List(slices.Sorted(maps.Keys(u.kept)))}, func(r *db.Row) error {
		if id := r.Text(0); made.Has(id) {
			u.addConflict(id, id, "belongs to a record that stays")
		}
		return nil
	})
}

// checkUpdated looks for fields that the import changed and somebody else after it. What
// was deleted since is gone already.
func (u *inspection) checkUpdated(data []byte) error {
	images, err := staged.UnpackImages(data)
	if err != nil {
		return err
	}
	ids := make([]string, len(images))
	for i, im := range images {
		ids[i] = im.ID
	}
	now, err := u.readHeld(ids)
	if err != nil {
		return err
	}
	changed := map[string]staged.Image{}
	for _, im := range images {
		if h, there := now[im.ID]; there && h.version != im.Version {
			changed[im.ID] = im
		}
	}
	if len(changed) == 0 {
		return nil
	}
	rows, err := u.ReadRecords(slices.Sorted(maps.Keys(changed)))
	for _, row := range rows {
		if err == nil {
			_, err = u.findOverridden(changed[match.Text(row[idField])], row)
		}
	}
	return err
}

// findOverridden finds the fields of a record that somebody changed after the import
// did; they are a conflict, which names them and who it was.
func (u *inspection) findOverridden(im staged.Image, now store.Row) ([]string, error) {
	fields, err := im.Overridden(u.Resource, now)
	if err != nil || len(fields) == 0 || u.kept[im.ID] {
		return fields, err
	}
	by := ""
	if u.count < listedConflicts {
		if by, err = u.findChanger(im.ID, fields); err != nil {
			return nil, err
		}
	}
	words := make([]string, len(fields))
	for i, name := range fields {
		f, _ := u.Resource.Field(name)
		words[i] = f.Label
	}
	u.addConflict(im.ID, match.Label(now), "%s: changed after the import%s", strings.Join(words, ", "), by)
	return fields, nil
}

// changesSQL selects the newest changes of a record, each with who made it. $1 tenant,
// $2 record.
const changesSQL = `
	SELECT log.at, members.email, log.after
	FROM audit AS log
	LEFT JOIN members ON members.tenant_id = $1 AND members.user_id = log.actor_user_id
	WHERE log.tenant_id = $1
		AND log.entity_id = $2
		AND log.after IS NOT NULL
	ORDER BY log.id DESC
	LIMIT 100`

// findChanger is who changed one of some fields last, and when, as the audit log has
// it: " by anna@example.com on 2026-03-01 12:00".
func (u *inspection) findChanger(id string, fields []string) (says string, err error) {
	err = u.Tx.Query(changesSQL, []any{u.Actor.TenantID, id}, func(r *db.Row) error {
		var after map[string]json.RawMessage
		if says != "" || json.Unmarshal(r.Bytes(2), &after) != nil {
			return nil
		}
		if !slices.ContainsFunc(fields, func(name string) bool { return after[name] != nil }) {
			return nil
		}
		if who := r.Text(1); who != "" {
			says = " by " + who
		}
		says += " on " + strings.Replace(fault.Clip(r.Text(0), 16), "T", " ", 1)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("imports: look who changed %s: %w", u.Resource.Name, err)
	}
	return says, nil
}

// lockCurrent reads and locks the records of images.
func (u *inspection) lockCurrent(images []staged.Image) (map[string]store.Row, error) {
	ids := make([]string, len(images))
	for i, im := range images {
		ids[i] = im.ID
	}
	rows, err := u.Lock(ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]store.Row, len(rows))
	for _, row := range rows {
		out[match.Text(row[idField])] = row
	}
	return out, nil
}
