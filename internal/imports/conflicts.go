package imports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/imports/staged"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/store"
)

// Called are the fields people call a record by, the best first.
func called() []string {
	return []string{"sku", "code", "lot_no", "incident_no", "order_no", "action_no", "employee_no", "plate", "asset_no", "external_ref", "name",
		"title", "certificate_no"}
}

// label is what people call a record by.
func label(row store.Row) string {
	for _, f := range called() {
		if s, ok := row[f].(string); ok && s != "" {
			return s
		}
	}
	s, _ := row["id"].(string)
	return s
}

// labelSQL is label as an expression; null where a record has only its id.
func labelSQL(r *catalog.Resource) string {
	var fields []string
	for _, f := range called() {
		if _, ok := r.Field(f); ok {
			fields = append(fields, "NULLIF("+f+", '')")
		}
	}
	return "COALESCE(" + strings.Join(append(fields, "NULL", "NULL"), ", ") + ")"
}

// checkInserted looks for records made by the import that were changed since
// or that others refer to. Those deleted since are gone already.
func (u *undo) checkInserted(data []byte) error {
	ids, err := staged.UnpackIDs(data)
	if err != nil || len(ids) == 0 {
		return err
	}
	made := groupOf(ids)
	if err := u.changed(made); err != nil {
		return err
	}
	for _, rel := range u.resource.Relations() {
		from, _ := u.m.cat.Get(rel.From)
		if rel.To != u.resource.Name || from.Follows == rel.Column {
			continue
		}
		if err := u.checkMention(mention{by: rel.From, in: rel.From, column: rel.Column, id: "id"}, made); err != nil {
			return err
		}
	}
	return u.checkMentions(made)
}

// checkMentions looks for records that name those the import made where no
// foreign key keeps them.
func (u *undo) checkMentions(g *group) error {
	for _, m := range u.mentions() {
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

// mentions are the fields that name the resource's records by id though no
// foreign key holds them.
func (u *undo) mentions() []mention {
	var out []mention
	for _, r := range u.m.cat.All() {
		for i := range r.Fields {
			f := &r.Fields[i]
			switch {
			case f.Names != u.resource.Name || catalog.NamedBy(f.Names) != "id":
			case f.Type == catalog.Array:
				out = append(out, mention{by: r.Name, in: r.Name + " n, " + u.tx.DB().Elements("n."+f.Name, "e"), column: "e.value", id: "n.id",
					also: " AND n." + f.Name + " <> '[]'", fresh: !r.Bare})
			default:
				out = append(out, mention{by: r.Name, in: r.Name, column: f.Name, id: "id"})
			}
		}
	}
	if kind := safety.EntityTypeOf(u.resource.Name); kind != "" {
		out = append(out, mention{by: "incidents", in: safety.EntityTable, column: "entity_id", id: "incident_id", also: " AND entity_type = '" + kind + "'"})
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

func (g *group) has(id string) bool {
	if g.member == nil {
		g.member = make(map[string]bool, len(g.ids))
		for _, id := range g.ids {
			g.member[id] = true
		}
	}
	return g.member[id]
}

// within is the condition that a column lies in the group, whose bounds are $2
// and $3.
func within(col string) string { return "tenant_id = $1 AND " + col + " >= $2 AND " + col + " <= $3" }

func (u *undo) bounds(g *group) []any { return []any{u.actor.TenantID, g.first, g.last} }

// changed finds the records that somebody changed since the import made them.
func (u *undo) changed(g *group) error {
	err := u.tx.Query("SELECT id, "+labelSQL(u.resource)+", version FROM "+u.resource.Name+" WHERE "+within("id")+" AND version <> 1 ORDER BY id",
		u.bounds(g), func(r *db.Row) error {
			if id := r.Text(0); g.has(id) {
				u.conflict(id, cmp.Or(r.Text(1), id), "was changed after the import (version %d)", r.Int(2))
			}
			return nil
		})
	if err != nil {
		return fmt.Errorf("imports: look at %s: %w", u.resource.Name, err)
	}
	return nil
}

// Held is a record as it stands: its version and what people call it.
type held struct {
	version int64
	label   string
}

// Held reads how records stand.
func (u *undo) held(ids []string) (map[string]held, error) {
	out := make(map[string]held, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	err := u.tx.Query("SELECT id, version, "+labelSQL(u.resource)+" FROM "+u.resource.Name+" WHERE tenant_id = $1 AND "+u.tx.DB().InUUID("id", 2),
		[]any{u.actor.TenantID, query.List(ids)}, func(r *db.Row) error {
			out[r.Text(0)] = held{r.Int(1), cmp.Or(r.Text(2), r.Text(0))}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("imports: look at %s: %w", u.resource.Name, err)
	}
	return out, nil
}

// checkMention looks for records that name those the import made. Those that it
// made too go with them, unless they stay.
func (u *undo) checkMention(m mention, g *group) error {
	made, err := u.madeOf(m.by)
	if err != nil {
		return err
	}
	count, last := "COUNT(*)", " GROUP BY "+m.column
	if len(made) > 0 {
		count, last = m.id, ""
	}
	args, also := u.bounds(g), m.also
	if m.fresh {
		args, also = append(args, u.since()), also+" AND n.updated_at >= $4"
	}
	uses := map[string]int64{}
	var order []string
	err = u.tx.Query("SELECT "+m.column+", "+count+" FROM "+m.in+" WHERE "+within(m.column)+also+last+" ORDER BY "+m.column, args, func(r *db.Row) error {
		to, n := r.Text(0), int64(1)
		switch {
		case !g.has(to) || len(made) > 0 && made.has(r.Text(1)) && !u.kept[r.Text(1)]:
			return nil
		case len(made) == 0:
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
	names, err := u.held(order)
	if err != nil {
		return err
	}
	for _, id := range order {
		many := "a record"
		if uses[id] > 1 {
			many = strconv.FormatInt(uses[id], 10) + " records"
		}
		u.conflict(id, names[id].label, "is used by %s of %s", many, strings.ReplaceAll(m.by, "_", " "))
	}
	return nil
}

// since is a moment before the job made anything, whatever a node's clock says.
func (u *undo) since() string {
	at, _ := time.Parse(time.RFC3339Nano, u.step.Job.CreatedAt) // the zero time looks at everything
	return query.FormatTime(at.Add(-time.Hour))
}

// madeOf are the records of a resource that the job made and that are not back.
func (u *undo) madeOf(resource string) (idSet, error) {
	if u.made == nil {
		u.made = map[string]idSet{}
	}
	if m, ok := u.made[resource]; ok {
		return m, nil
	}
	m, err := madeBy(u.tx, u.actor.TenantID, u.step.Job.ID, resource)
	u.made[resource] = m
	return m, err
}

// keepLines keeps the lines of records that stay: half an order is none.
func (u *undo) keepLines() error {
	if u.target.Lines == nil || len(u.kept) == 0 {
		return nil
	}
	made, err := u.madeOf(u.target.Lines.Name)
	if err != nil {
		return err
	}
	if err := u.use(u.tx, u.target.Lines.Name); err != nil {
		return err
	}
	sql := "SELECT id FROM " + u.target.Lines.Name + " WHERE tenant_id = $1 AND " + u.tx.DB().InUUID(u.target.Parent, 2) + " ORDER BY id"
	return u.tx.Query(sql, []any{u.actor.TenantID, query.List(slices.Sorted(maps.Keys(u.kept)))}, func(r *db.Row) error {
		if id := r.Text(0); made.has(id) {
			u.conflict(id, id, "belongs to a record that stays")
		}
		return nil
	})
}

// checkUpdated looks for records changed again after the import changed them.
func (u *undo) checkUpdated(data []byte) error {
	images, err := staged.UnpackImages(data)
	if err != nil {
		return err
	}
	ids := make([]string, len(images))
	for i, im := range images {
		ids[i] = im.ID
	}
	now, err := u.held(ids)
	if err != nil {
		return err
	}
	for _, im := range images {
		h, there := now[im.ID]
		u.stands(im, h, there)
	}
	return nil
}

// stands reports a record that is as the import left it; another is a conflict.
func (u *undo) stands(im staged.Image, h held, there bool) bool {
	switch {
	case !there:
		u.conflict(im.ID, im.ID, "was deleted after the import")
	case h.version != im.Version:
		u.conflict(im.ID, h.label, "was changed after the import (version %d, the import left %d)", h.version, im.Version)
	default:
		return !u.kept[im.ID]
	}
	return false
}

// current reads and locks the records of images.
func (u *undo) current(images []staged.Image) (map[string]store.Row, error) {
	ids := make([]string, len(images))
	for i, im := range images {
		ids[i] = im.ID
	}
	rows, err := u.lockRows(ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]store.Row, len(rows))
	for _, row := range rows {
		out[row["id"].(string)] = row
	}
	return out, nil
}
