package evidence

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/store"
)

// LongestTimeline bounds the entries of one source in a timeline.
const LongestTimeline = 500

// Entry is one thing that happened to a record.
type Entry struct {
	At      string   `json:"at" format:"date-time"`
	Kind    string   `json:"kind" oneof:"made changed comment file photo"`
	ID      string   `json:"id" format:"uuid" doc:"Of the entry in the log, the comment, the file or the photo."`
	By      *string  `json:"by" format:"uuid" doc:"Account; null where nobody is named, or not to the reader."`
	Text    string   `json:"text,omitempty" doc:"Of a comment; name of a file; caption of a photo."`
	Struck  bool     `json:"struck,omitempty" doc:"The comment is struck."`
	Changes []Change `json:"changes,omitempty"`
}

// Change is a field before and after.
type Change struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	Masked bool            `json:"masked,omitempty" doc:"The log keeps what it was and is to itself."`
}

// loggedSQL selects what the audit log says of a record. $1 tenant, $2 collection,
// $3 record; the caller's policy on the log follows.
const loggedSQL = `
	SELECT id, at, actor_user_id, action, before, after
	FROM audit
	WHERE tenant_id = $1
		AND entity_type = $2
		AND entity_id = $3
		AND outcome = 'ok'
		AND `

// Timeline lists what happened to a record that the actor may read, oldest first:
// what people said, files and photos, and changes as far as the actor may read the
// audit log. Fields that the actor does not see are left out of changes.
func (s *Store) Timeline(ctx context.Context, a actor.Actor, of Record) ([]Entry, error) {
	var list []Entry
	add := func(e Entry) { list = append(list, e) }
	err := s.store.DB().Read(ctx, store.Scope(a), func(tx *db.Tx) error {
		if err := s.checkReadable(tx, a, of); err != nil {
			return err
		}
		for _, source := range s.sourcesOf(of) {
			if err := s.queueSource(tx, a, of, source, add); err != nil {
				return err
			}
		}
		s.queueLogged(tx, a, of, add)
		return tx.Flush()
	})
	if err != nil {
		return nil, fmt.Errorf("evidence: timeline: %w", err)
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// source is a collection whose rows are entries of a timeline.
type source struct {
	resource, column, kind, text string
	strikes                      bool // its rows can be struck
}

func (s *Store) sourcesOf(of Record) []source {
	list := []source{
		{resource: "comments", column: of.Column(), kind: "comment", text: "text", strikes: true},
		{resource: "files", column: of.Column(), kind: "file", text: "name"},
	}
	switch of.Collection() {
	case "incidents":
		list = append(list, source{resource: "incident_photos", column: "incident_id", kind: "photo", text: "caption"})
	case "checklist_runs":
		list = append(list, source{resource: "checklist_photos", column: "run_id", kind: "photo", text: "caption"})
	}
	return list
}

// queueSource queues reading the rows of a source that the actor may read.
func (s *Store) queueSource(tx *db.Tx, a actor.Actor, of Record, from source, add func(Entry)) error {
	r, _ := s.store.Catalog().Get(from.resource)
	policy, ok := query.ReadPolicy(a, r)
	if !ok {
		return nil
	}
	status := "''"
	if from.strikes {
		status = "status"
	}
	maker, _ := r.Field("created_by")
	args := []any{a.TenantID, of.ID}
	where := policy.Where(tx.DB(), r.Name, &args)
	sql := fmt.Sprintf(`
		SELECT id, created_at, created_by, COALESCE(%s, ''), %s
		FROM %s
		WHERE tenant_id = $1
			AND %s = $2
			AND %s
		ORDER BY id DESC
		LIMIT %d`, from.text, status, r.Name, from.column, where, LongestTimeline)
	tx.Queue(sql, args, func(row *db.Row) error {
		e := Entry{ID: row.Text(0), At: query.FormatTime(row.Time(1)), Kind: from.kind, Text: row.Text(3),
			Struck: row.Text(4) == "struck"}
		if by := row.Text(2); by != "" && maker.Visible(a.Role) {
			e.By = &by
		}
		add(e)
		return nil
	})
	return nil
}

// queueLogged queues reading what the audit log says of the record, to those who
// may read those rows of it.
func (s *Store) queueLogged(tx *db.Tx, a actor.Actor, of Record, add func(Entry)) {
	log, _ := s.store.Catalog().Get("audit")
	policy, ok := query.ReadPolicy(a, log)
	if !ok {
		return
	}
	actorField, _ := log.Field("actor_user_id")
	args := []any{a.TenantID, of.Collection(), of.ID}
	where := policy.Where(tx.DB(), log.Name, &args)
	sql := loggedSQL + where + fmt.Sprintf(`
	ORDER BY id DESC
	LIMIT %d`, LongestTimeline)
	tx.Queue(sql, args, func(row *db.Row) error {
		e := Entry{ID: row.Text(0), At: query.FormatTime(row.Time(1)), Kind: "changed"}
		if by := row.Text(2); by != "" && actorField.Visible(a.Role) {
			e.By = &by
		}
		if strings.HasSuffix(row.Text(3), ".insert") {
			e.Kind = "made"
			add(e)
			return nil
		}
		var err error
		if e.Changes, err = changesIn(of.parent.Resource, a.Role, row.Text(4), row.Text(5)); err != nil {
			return err
		}
		if len(e.Changes) > 0 {
			add(e)
		}
		return nil
	})
}

// unsaid are fields that change with every change and say nothing.
var unsaid = []string{"updated_at", "version"}

// changesIn lists the fields that differ between two images of a record and that a
// role sees, in the order of the catalog.
func changesIn(r *catalog.Resource, role actor.Role, before, after string) ([]Change, error) {
	was, err := fieldsOf(before)
	if err != nil {
		return nil, err
	}
	is, err := fieldsOf(after)
	if err != nil {
		return nil, err
	}
	var list []Change
	for i := range r.Fields {
		f := &r.Fields[i]
		old, now := was[f.Name], is[f.Name]
		if isMasked(old) || isMasked(now) {
			// The log has changed fields alone, so that this one changed too.
			if f.Visible(role) {
				list = append(list, Change{Field: f.Name, Before: orNull(nil), After: orNull(nil), Masked: true})
			}
			continue
		}
		if string(old) == string(now) || slices.Contains(unsaid, f.Name) || !f.Visible(role) {
			continue
		}
		list = append(list, Change{Field: f.Name, Before: orNull(old), After: orNull(now)})
	}
	return list, nil
}

func isMasked(v json.RawMessage) bool { return string(v) == `"`+catalog.Masked+`"` }

func fieldsOf(image string) (fields map[string]json.RawMessage, err error) {
	if image == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(image), &fields); err != nil {
		return nil, fmt.Errorf("evidence: an image in the audit log: %w", err)
	}
	return fields, nil
}

func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}
