package app_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// said reads a chapter of docs/permissions.md, which is who may do what: the rest of
// each line of its table by the line's first cell, under the head's. What the page says
// was decided (TestDocsPermissions holds the catalog to it); here the answers are.
func said(t *testing.T, chapter string, each func(name string, at map[string]string)) {
	t.Helper()
	text, err := os.ReadFile("../../docs/permissions.md")
	testkit.Must(t, err)
	_, page, found := strings.Cut(string(text), "\n## "+chapter+"\n")
	page, _, _ = strings.Cut(page, "\n## ")
	var head []string
	lines := 0
	for line := range strings.Lines(page) {
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--"):
		case head == nil:
			head = row
		default:
			lines++
			at := map[string]string{}
			for i, cell := range row {
				at[strings.TrimSpace(head[i])] = strings.TrimSpace(cell)
			}
			each(strings.TrimSpace(row[0]), at)
		}
	}
	if !found || lines < 10 {
		t.Fatalf("docs/permissions.md: %d lines about %s", lines, chapter)
	}
}

// admits reports whether a line's list of roles has one.
func admits(list string, role actor.Role) bool {
	return list == "members" || slices.Contains(strings.Fields(list), string(role))
}

// owned says which rows are a caller's own, or shown to him: SQL over his user id $1, his
// worker's id $2 and his role $3.
var owned = map[string]string{
	"members": "user_id = $1",
	"audit": "actor_user_id = $1 OR entity_type IN ('incidents', 'incident_photos', 'actions', 'osha_cases', 'absences', 'osha_summaries', 'legal_clocks', " +
		"'checklist_templates', 'checklist_schedules', 'checklist_runs', 'checklist_answers', 'toolbox_talks', 'talk_attendances', 'regulations', " +
		"'compliance_events', 'courses', 'training_assignments', 'report_links', 'shared_documents', 'comments', 'files', " +
		"'work_units', 'risk_entries', 'risk_register_versions')",
	"orders":               "created_by = $1",
	"order_lines":          "created_by = $1",
	"pick_lists":           "assigned_worker_id = $2 OR created_by = $1 OR id IN (" + listsToClaim + ")",
	"pick_lines":           "assigned_worker_id = $2 OR created_by = $1 OR pick_list_id IN (" + listsToClaim + ")",
	"shipments":            "assigned_worker_id = $2",
	"routes":               "assigned_worker_id = $2",
	"workers":              "user_id = $1",
	"drivers":              "worker_id = $2",
	"shifts":               "worker_id = $2",
	"incidents":            "reported_by = $1 OR created_by = $1",
	"incident_photos":      "created_by = $1",
	"actions":              "assignee_user_id = $1 OR verifier_user_id = $1 OR created_by = $1",
	"checklist_runs":       "assignee_user_id = $1 OR completed_by = $1 OR created_by = $1",
	"checklist_photos":     "created_by = $1",
	"checklist_answers":    "answered_by = $1 OR created_by = $1",
	"talk_attendances":     "worker_id = $2",
	"predictive_scores":    "user_id = $1 OR $3 IN ('manager', 'viewer') AND entity_type IN ('zone', 'equipment')",
	"risk_clusters":        "about IN ('places', 'both')",
	"compliance_events":    "$3 IN ('manager', 'viewer') AND about = 'places' OR $3 = 'manager' AND about = 'person'",
	"compliance_states":    "$3 IN ('manager', 'viewer') AND about = 'places' OR $3 = 'manager' AND about = 'person'",
	"training_assignments": "user_id = $1",
	"shared_documents":     "created_by = $1",
	"point_events":         "user_id = $1",
	"user_badges":          "user_id = $1",
	"comments":             besideReadable,
	"files":                besideReadable,
}

// sealed says which rows are left to a caller once those for named readers are taken off.
var sealed = map[string]string{
	"incidents": "NOT confidential OR $3 IN ('owner', 'admin', 'safety') OR reader_ids LIKE '%\"' || $1 || '\"%'",
	"actions": "incident_id IS NULL OR $3 IN ('owner', 'admin', 'safety') OR assignee_user_id = $1 OR verifier_user_id = $1" +
		" OR incident_id IN (SELECT id FROM incidents WHERE NOT confidential OR reader_ids LIKE '%\"' || $1 || '\"%')",
	"incident_photos": "$3 IN ('owner', 'admin', 'safety')" +
		" OR incident_id IN (SELECT id FROM incidents WHERE NOT confidential OR reader_ids LIKE '%\"' || $1 || '\"%')",
}

// listsToClaim are the pick lists that an operator may take: those of nobody, with lines that
// all are at the site of the worker, who has not left, or at none.
const listsToClaim = "SELECT l.id FROM pick_lists l JOIN workers w ON w.id = $2 WHERE $3 = 'operator'" +
	" AND w.status <> 'left' AND w.archived_at IS NULL AND l.assigned_worker_id IS NULL" +
	" AND l.status IN ('released', 'in_progress') AND l.id IN (SELECT s.pick_list_id FROM pick_lines s)" +
	" AND l.id NOT IN (SELECT s.pick_list_id FROM pick_lines s JOIN zones z ON z.id = s.zone_id" +
	" WHERE z.site_id IS NOT NULL AND (w.site_id IS NULL OR z.site_id <> w.site_id))"

// besideReadable are the rows beside a record that a caller reads, by what the other
// lines say of operators and drivers; leaders and viewers read all such records.
const besideReadable = "$3 NOT IN ('operator', 'driver') OR equipment_id IS NOT NULL" +
	" OR incident_id IN (SELECT id FROM incidents WHERE reported_by = $1 OR created_by = $1)" +
	" OR action_id IN (SELECT id FROM actions WHERE assignee_user_id = $1 OR verifier_user_id = $1 OR created_by = $1)" +
	" OR run_id IN (SELECT id FROM checklist_runs WHERE $3 = 'operator' OR assignee_user_id = $1 OR completed_by = $1 OR created_by = $1)" +
	" OR assignment_id IN (SELECT id FROM training_assignments WHERE user_id = $1)" +
	" OR order_id IN (SELECT id FROM orders WHERE $3 = 'operator' OR created_by = $1)" +
	" OR shipment_id IN (SELECT id FROM shipments WHERE $3 = 'operator' OR assigned_worker_id = $2)"

// hidden are fields that are there for others and empty for these roles.
const hidden = `
field                        hidden from
workers.name                 viewer
workers.hired_on             operator driver viewer
workers.left_on              operator driver viewer
workers.birth_year           manager operator driver viewer
shifts.worker_id             operator viewer
drivers.licence_no           operator driver viewer
drivers.phone                operator driver viewer
drivers.last_lat             safety operator driver viewer
drivers.last_lon             safety operator driver viewer
drivers.last_seen_at         safety operator driver viewer
shifts.created_by            operator viewer
courses.risk_threshold       manager operator driver viewer
training_assignments.source_score_id manager operator driver viewer
training_assignments.source_incident_id operator driver viewer
incidents.reported_by        operator driver viewer
incidents.created_by         operator driver viewer
incident_photos.created_by   operator driver viewer
incidents.reporter_name      operator driver viewer
incidents.entities           operator driver viewer
incidents.root_causes        operator driver viewer
risk_clusters.members        manager operator driver viewer
report_links.token           operator driver viewer
webhooks.secret              owner admin manager safety operator driver viewer
webhooks.old_secret          owner admin manager safety operator driver viewer
invitations.token_hash       owner admin manager safety operator driver viewer
invitations.declined_at      owner admin manager safety operator driver viewer
sso_connections.secret       owner admin manager safety operator driver viewer
import_jobs.blob_key         owner admin manager safety operator driver viewer
checklist_photos.blob_key    owner admin manager safety operator driver viewer
incident_photos.blob_key     owner admin manager safety operator driver viewer
files.blob_key               owner admin manager safety operator driver viewer
files.thumbnail_key          owner admin manager safety operator driver viewer
shared_documents.narrowed      owner admin manager safety operator driver viewer
shared_documents.token_hash    owner admin manager safety operator driver viewer
shared_documents.password_hash owner admin manager safety operator driver viewer
files.created_by             operator driver viewer
risk_entries.owner_user_id     operator driver viewer
risk_register_versions.content operator driver viewer
comments.created_by          viewer
comments.struck_by           viewer
`

// cells reads a table: the words of each line under those of the first.
func cells(table string, each func(name string, role actor.Role, cell string)) {
	var head []string
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if head == nil {
			head = words
			continue
		}
		for i, cell := range words[1:] {
			each(words[0], actor.Role(head[i+1]), cell)
		}
	}
}

// Every role meets every collection and every function as docs/permissions.md says.
func TestPermissionMatrix(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		stated := map[string]bool{}
		said(t, "Collections", func(name string, at map[string]string) {
			stated[name] = true
			for _, role := range actor.Members {
				meets(t, k, name, role, at[string(role)])
			}
		})
		for _, r := range catalog.Default().All() {
			if !stated[r.Name] {
				t.Errorf("docs/permissions.md does not say who may use %s", r.Name)
			}
		}
		said(t, "Functions", func(name string, at map[string]string) {
			stated[name] = true
			method, _, _ := strings.Cut(at["methods"], " ")
			for _, role := range actor.Members {
				// Parameters are read after the caller is admitted.
				r := k.Call(testkit.Request{Method: method, Path: "/functions/v1/" + name + "?page=x&days=x", As: testkit.As(role),
					Body: "["})
				if admitted := r.Status != http.StatusForbidden; admitted != admits(at["roles"], role) {
					t.Errorf("%s as %s: %d %s, the page says %s", name, role, r.Status, r.Body, at["roles"])
				}
			}
		})
		for _, f := range k.App.Functions() {
			if !stated[f.Name] {
				t.Errorf("docs/permissions.md does not say who may call %s", f.Name)
			}
		}
	})
}

// meets holds one cell to the answers.
func meets(t *testing.T, k *testkit.Kit, name string, role actor.Role, cell string) {
	t.Helper()
	path, nowhere := "/rest/v1/"+name, "?id=eq."+uuid.NewString()
	for _, c := range []struct{ letter, method, path, body string }{
		{"R", "GET", "?select=id&order=id&limit=1000", ""}, {"C", "POST", "", "{}"}, {"U", "PATCH", nowhere, "{}"},
		{"D", "DELETE", nowhere, ""},
	} {
		q := testkit.Request{Method: c.method, Path: path + c.path, As: testkit.As(role)}
		if c.body != "" {
			q.Body = c.body
		}
		r := k.Call(q)
		own := strings.Contains(cell, strings.ToLower(c.letter))
		may := own || strings.Contains(cell, c.letter)
		switch {
		case may && (r.Status == http.StatusForbidden || r.Status >= 500), !may && r.Status != http.StatusForbidden:
			t.Errorf("%s %s as %s: %d %s, the page says %s", c.method, name, role, r.Status, r.Body, cell)
		case may && c.letter == "R":
			var rows []struct{ ID string }
			r.JSON(t, &rows)
			got := []string{}
			for _, row := range rows {
				got = append(got, row.ID)
			}
			where := "1 = 1"
			if own {
				where = owned[name]
			}
			if left := sealed[name]; left != "" {
				where = "(" + where + ") AND (" + left + ")"
			}
			if want := rowsIn(t, k, name, role, where); !slices.Equal(got, want) {
				t.Errorf("%s sees %d rows of %s, the page says %s: %d", role, len(got), name, cell, len(want))
			}
		}
	}
}

// rowsIn returns the ids of the first rows of tenant north that meet where.
func rowsIn(t *testing.T, k *testkit.Kit, table string, role actor.Role, where string) []string {
	t.Helper()
	ids := []string{}
	err := k.App.DB.Read(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		var user, worker string
		for _, u := range demo.Users() {
			if u.Email == testkit.As(role) {
				user = u.ID
			}
		}
		if err := tx.Query("SELECT id FROM workers WHERE tenant_id = $1 AND user_id = $2", []any{demo.North, user},
			func(r *db.Row) error {
				worker = r.Text(0)
				return nil
			}); err != nil {
			return err
		}
		if worker == "" {
			worker = db.NoTenant
		}
		of := "tenant_id"
		if table == "tenants" {
			of = "id"
		}
		sql := fmt.Sprintf("SELECT id FROM %s WHERE %s = '%s' AND (%s) ORDER BY id LIMIT 1000", table, of, demo.North,
			strings.NewReplacer("$1", "'"+user+"'", "$2", "'"+worker+"'", "$3", "'"+string(role)+"'").Replace(where))
		return tx.Query(sql, nil, func(r *db.Row) error { ids = append(ids, r.Text(0)); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// A hidden field is empty in every row and cannot be found by: nothing tells
// its value.
func TestHiddenFields(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for line := range strings.Lines(strings.TrimSpace(hidden)) {
			words := strings.Fields(line)
			table, field, ok := strings.Cut(words[0], ".")
			if !ok {
				continue // the head
			}
			for _, role := range words[1:] {
				as := testkit.As(actor.Role(role))
				r := k.Get(as, "/v1/"+table+"?limit=1000")
				var rows []map[string]any
				if r.Status == http.StatusOK {
					r.JSON(t, &rows)
				}
				for _, row := range rows {
					if row[field] != nil {
						t.Errorf("%s sees %s: %v", role, words[0], row[field])
						break
					}
				}
				for _, ask := range []string{field + "=not.is.null", "order=" + field} {
					if r := k.Get(as, "/v1/"+table+"?"+ask); r.Status/100 != 4 {
						t.Errorf("%s may ask for %s by %s: %d", role, words[0], ask, r.Status)
					}
				}
			}
		}
	})
}

// moves says who may lead a record from one state to another.
const moves = `
move                                   owner admin manager safety operator viewer
incidents:reported>triaged             x     x     x       x      -        -
incidents:reported>void                x     x     -       x      -        -
incidents:action_pending>closed        x     x     -       x      -        -
incidents:closed>investigating         x     x     -       x      -        -
actions:open>cancelled                 x     x     -       x      -        -
orders:draft>confirmed                 x     x     x       -      x        -
orders:draft>cancelled                 x     x     x       -      -        -
shipments:planned>packed               x     x     x       -      x        -
shipments:planned>cancelled            x     x     x       -      -        -
checklist_templates:draft>published    x     x     -       x      -        -
training_assignments:assigned>waived   x     x     -       x      -        -
regulations:active>retired             x     x     -       x      -        -
equipment:in_service>maintenance       x     x     x       x      -        -
equipment:in_service>retired           x     x     x       -      -        -
`

func TestMoves(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		cells(moves, func(name string, role actor.Role, cell string) {
			table, states, _ := strings.Cut(name, ":")
			from, to, _ := strings.Cut(states, ">")
			id := begin(t, k, table, from)
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/" + table + "?id=eq." + id, As: testkit.As(role),
				Body: map[string]string{"status": to}, Header: whole})
			// An own row is not found, and so not changed, by others.
			if admitted := r.Status != http.StatusForbidden && string(r.Body) != "[]"; admitted != (cell == "x") ||
				r.Status >= 500 {
				t.Errorf("%s as %s: %d %s, the table says %s", name, role, r.Status, r.Body, cell)
			}
		})
	})
}

// begin puts some record of tenant north in a state, past the server's rules.
func begin(t *testing.T, k *testkit.Kit, table, state string) (id string) {
	t.Helper()
	err := k.App.DB.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
		err := tx.One("SELECT id FROM "+table+" WHERE tenant_id = $1 ORDER BY id LIMIT 1", []any{demo.North},
			func(r *db.Row) error { id = r.Text(0); return nil })
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		_, err = tx.Exec("UPDATE "+table+" SET status = $3 WHERE tenant_id = $1 AND id = $2", demo.North, id, state)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Operators and drivers who work in some zones see those zones and their stock.
func TestZoneScope(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var levels []struct {
			Zone string `json:"zone_id"`
		}
		k.Get(testkit.As(actor.Admin), "/v1/stock_levels?select=zone_id&limit=1").JSON(t, &levels)
		mine := levels[0].Zone
		for _, role := range []actor.Role{actor.Operator, actor.Driver, actor.Manager} {
			bounded := role != actor.Manager
			var user string
			for _, u := range demo.Users() {
				if u.Email == testkit.As(role) {
					user = u.ID
				}
			}
			r := k.Call(testkit.Request{Method: "PATCH", Path: "/v1/members?user_id=eq." + user, As: testkit.As(actor.Admin),
				Body: map[string]any{"zone_ids": []string{mine}}, Header: whole})
			if r.Status != http.StatusOK {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			for path, column := range map[string]string{"zones?select=zone:id": "id",
				"stock_levels?select=zone:zone_id": "zone_id"} {
				within(t, path+" as "+string(role), func() bool {
					var rows []struct{ Zone string }
					k.Get(testkit.As(role), "/v1/"+path).JSON(t, &rows)
					inside := len(rows) > 0
					for _, row := range rows {
						inside = inside && row.Zone == mine
					}
					return inside == bounded
				})
				other := k.Get(testkit.As(role), "/v1/"+path+"&"+column+"=neq."+mine)
				if (string(other.Body) == "[]") != bounded {
					t.Errorf("%s asks for other %s: %.100s", role, path, other.Body)
				}
			}
		}
	})
}
