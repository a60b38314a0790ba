package safety_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/safety"
	"holdfast/internal/safety/training"
	"holdfast/internal/store"
	"holdfast/internal/testkit/dbtest"
	"holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	north = "0190a000-0000-7000-8000-000000000001"
	south = "0190a000-0000-7000-8000-000000000002"
	ada   = "0190b000-0000-7000-8000-000000000001"
	bo    = "0190b000-0000-7000-8000-000000000002"
	cy    = "0190b000-0000-7000-8000-000000000003"
	noon  = "2026-03-01T12:00:00.000000Z"
)

type kit struct {
	testing.TB
	d   *db.DB
	s   *store.Store
	now time.Time
	as  actor.Actor
}

func each(t *testing.T, f func(k *kit)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, o db.Options) { f(open(t, o)) })
}

func open(t testing.TB, o db.Options) *kit {
	t.Helper()
	d := dbtest.Open(t, o)
	k := &kit{TB: t, d: d, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), as: actor.Actor{Role: actor.Service}}
	effects := safety.Effects()
	maps.Copy(effects.Before, training.Effects().Before)
	effects.After["workers"] = training.Effects().After["workers"]
	k.s = store.New(d, catalog.Default(), effects, func() time.Time { return k.now })
	for i, id := range []string{south, north} {
		k.as.TenantID = id
		k.add("tenants", store.Row{"id": id, "name": "T", "slug": fmt.Sprintf("t%d", i), "timezone": "America/Sao_Paulo"})
	}
	return k
}

func (k *kit) try(name string, row store.Row) (id string, err error) {
	err = k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		rows, err := k.s.In(tx, k.as).InsertRows(name, []store.Row{row})
		if err == nil {
			id = rows[0]["id"].(string)
		}
		return err
	})
	return id, err
}

func (k *kit) add(name string, row store.Row) string {
	k.Helper()
	id, err := k.try(name, row)
	if err != nil {
		k.Fatalf("insert %s %v: %v", name, row, err)
	}
	return id
}

func (k *kit) change(name, id string, set store.Row) error {
	return k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		err := k.s.In(tx, k.as).UpdateRows(name, []string{id}, set)
		return err
	})
}

func (k *kit) set(name, id string, set store.Row) {
	k.Helper()
	if err := k.change(name, id, set); err != nil {
		k.Fatalf("update %s %v: %v", name, set, err)
	}
}

// value is a field of a row as text.
func (k *kit) value(name, id, field string) (v string) {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		rows, err := k.s.In(tx, k.as).Rows(name, "id = $2", id)
		if err == nil && len(rows) == 1 {
			v = fmt.Sprint(rows[0][field])
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return v
}

func (k *kit) remove(name, id string) error {
	return k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		err := k.s.In(tx, k.as).DeleteRows(name, []string{id})
		return err
	})
}

// plan makes the runs that schedules owe.
func (k *kit) plan() (n int) {
	k.Helper()
	err := k.d.Write(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) (err error) {
		n, err = safety.PlanSchedules(k.s.In(tx, k.as))
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return n
}

// all are the ids of rows that a condition names.
func (k *kit) all(name, where string, args ...any) (ids []string) {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		ids = nil
		return tx.Query("SELECT id FROM "+name+" WHERE tenant_id = $1 AND "+where+" ORDER BY id",
			append([]any{k.as.TenantID}, args...), func(r *db.Row) error {
				ids = append(ids, r.Text(0))
				return nil
			})
	})
	if err != nil {
		k.Fatal(err)
	}
	return ids
}

// only is the one row that a condition names.
func (k *kit) only(name, where string, args ...any) string {
	k.Helper()
	ids := k.all(name, where, args...)
	if len(ids) != 1 {
		k.Fatalf("%d %s where %s %v, want 1", len(ids), name, where, args)
	}
	return ids[0]
}

func (k *kit) is(name, id, field, want string) {
	k.Helper()
	err := k.d.Read(context.Background(), db.Scope{Tenant: k.as.TenantID}, func(tx *db.Tx) error {
		rows, err := k.s.In(tx, k.as).Rows(name, "id = $2", id)
		if err != nil {
			return err
		}
		got := "null"
		if v := rows[0][field]; v != nil {
			got = fmt.Sprint(v)
			if raw, ok := v.(json.RawMessage); ok {
				got = string(raw)
			}
		}
		if got != want {
			k.Errorf("%s.%s = %s, want %s", name, field, got, want)
		}
		return nil
	})
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) refused(err error, code string) {
	k.Helper()
	if !fault.HasCode(err, code) {
		k.Errorf("err = %v, want code %s", err, code)
	}
}

func hazard(more store.Row) store.Row {
	r := store.Row{"kind": "hazard", "title": "Oil", "occurred_at": "2026-03-01T11:00:00Z"}
	for f, v := range more {
		r[f] = v
	}
	return r
}

func TestReports(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID, k.as.Role = ada, actor.Operator
		in := k.add("incidents", hazard(store.Row{"severity": "high", "likelihood": 4, "reported_by": bo}))
		k.is("incidents", in, "reported_at", noon)
		k.is("incidents", in, "reported_by", ada)
		k.is("incidents", in, "risk_rating", "12")
		hidden := k.add("incidents", hazard(store.Row{"anonymous": true, "reported_by": ada}))
		k.is("incidents", hidden, "reported_by", "null")
		k.is("incidents", hidden, "created_by", "null")
		_, err := k.try("incidents", hazard(store.Row{"occurred_at": "2026-03-01T12:05:01Z"}))
		k.refused(err, "HF007")
		k.add("incidents", hazard(store.Row{"occurred_at": "2026-03-01T12:05:00Z"}))
		k.set("incidents", in, store.Row{"severity": "low"})
		k.is("incidents", in, "risk_rating", "4")
	})
}

func TestEntities(t *testing.T) {
	each(t, func(k *kit) {
		zone := k.add("zones", store.Row{"code": "A", "name": "A"})
		entity := func(kind, id, role string) store.Row {
			return hazard(store.Row{"entities": json.RawMessage(fmt.Sprintf(`[{"entity_type":%q,"entity_id":%q,"role":%q}]`,
				kind, id, role))})
		}
		in := k.add("incidents", entity("zone", zone, "source"))
		k.is("incidents", in, "entities", `[{"entity_type":"zone","entity_id":"`+zone+`","role":"source"}]`)
		k.add("incidents", entity("equipment", k.add("equipment", store.Row{"asset_no": "T1"}), "source"))
		for name, row := range map[string]store.Row{
			"unknown zone":   entity("zone", bo, "source"),
			"unknown worker": entity("worker", bo, "injured"),
			"unknown truck":  entity("equipment", bo, "source"),
			"unknown type":   entity("tenant", north, "source"),
			"unknown role":   entity("zone", zone, "boss"),
			"no array":       hazard(store.Row{"entities": json.RawMessage(`{}`)}),
		} {
			if _, err := k.try("incidents", row); err == nil {
				t.Errorf("%s: accepted", name)
			} else {
				k.refused(err, "HF007")
			}
		}
		k.as.TenantID = south
		_, err := k.try("incidents", entity("zone", zone, "source"))
		k.refused(err, "HF007")
	})
}

func TestIncidentStates(t *testing.T) {
	each(t, func(k *kit) {
		in := k.add("incidents", hazard(nil))
		k.refused(k.change("incidents", in, store.Row{"status": "void"}), "HF006")
		k.set("incidents", in, store.Row{"status": "triaged"})
		k.refused(k.change("incidents", in, store.Row{"status": "action_pending"}), "HF006")
		ac := k.add("actions", store.Row{"title": "Mop", "incident_id": in})
		k.set("incidents", in, store.Row{"status": "action_pending"})
		k.refused(k.change("incidents", in, store.Row{"status": "closed"}), "HF006")
		k.refused(k.change("actions", ac, store.Row{"status": "cancelled"}), "HF006")
		k.set("actions", ac, store.Row{"status": "cancelled", "cancel_reason": "dry by itself"})
		k.set("incidents", in, store.Row{"status": "closed"})
		k.is("incidents", in, "closed_at", noon)
		k.refused(k.change("incidents", in, store.Row{"lessons": "none"}), "HF006")
		k.is("incidents", in, "closed_at", noon)
		k.refused(k.change("incidents", in, store.Row{"status": "investigating", "lead_user_id": ada,
			"due_on": "2026-03-09"}), "HF006")
		k.set("incidents", in, store.Row{"status": "investigating", "lead_user_id": ada, "due_on": "2026-03-09",
			"reopen_reason": "it dripped again"})
		k.is("incidents", in, "closed_at", "null")
		k.is("incidents", in, "investigated_at", noon)
		k.refused(k.change("incidents", in, store.Row{"status": "closed"}), "HF006")

		other := k.add("incidents", hazard(nil))
		k.set("incidents", other, store.Row{"status": "triaged"})
		_, err := k.try("actions", store.Row{"title": "Mop", "source": "incident", "source_id": other, "incident_id": in})
		k.refused(err, "HF007")
		ac = k.add("actions", store.Row{"title": "Mop", "source": "incident", "source_id": other})
		k.is("actions", ac, "incident_id", other)
		k.refused(k.change("incidents", other, store.Row{"status": "closed"}), "HF006")
		k.set("actions", ac, store.Row{"incident_id": nil})
		k.refused(k.change("incidents", other, store.Row{"status": "closed"}), "HF006")
		k.set("incidents", other, store.Row{"status": "action_pending"})

		// Its incident goes with its source; one from before the two were one can
		// be worked on, and followed.
		third := k.add("incidents", hazard(nil))
		k.set("actions", ac, store.Row{"source_id": third})
		k.is("actions", ac, "incident_id", third)
		if err := k.d.Write(context.Background(), db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec("UPDATE actions SET incident_id = $3 WHERE tenant_id = $1 AND id = $2", k.as.TenantID, ac, other)
			return err
		}); err != nil {
			k.Fatal(err)
		}
		k.set("actions", ac, store.Row{"title": "Mop well", "assignee_user_id": ada})
		k.is("actions", ac, "incident_id", other)
		k.refused(k.change("actions", ac, store.Row{"incident_id": in}), "HF007")
		k.set("actions", ac, store.Row{"status": "done"})
		k.as.UserID = bo
		k.set("actions", ac, store.Row{"status": "verified"})
		k.set("actions", ac, store.Row{"effectiveness": "not_effective"})
		k.is("actions", k.only("actions", "follows_id = $2", ac), "source_id", other)
		k.as.UserID = ada

		twin := k.add("incidents", hazard(nil))
		k.refused(k.change("incidents", twin, store.Row{"duplicate_of": twin}), "HF007")
		k.set("incidents", twin, store.Row{"status": "void", "duplicate_of": in})
	})
}

// What is serious is investigated, by somebody and to a day, before anything
// else; what was investigated ends with a root cause.
func TestInvestigation(t *testing.T) {
	each(t, func(k *kit) {
		cause := func(list string) store.Row { return store.Row{"root_causes": json.RawMessage(list)} }
		for name, more := range map[string]store.Row{"high": {"severity": "high"}, "critical": {"severity": "critical"},
			"could have been": {"potential_severity": "critical"}} {
			in := k.add("incidents", hazard(more))
			k.refused(k.change("incidents", in, store.Row{"status": "closed"}), "HF006")
			k.set("incidents", in, store.Row{"status": "triaged"})
			ac := k.add("actions", store.Row{"title": "Mop", "incident_id": in})
			k.refused(k.change("incidents", in, store.Row{"status": "action_pending"}), "HF006")
			k.refused(k.change("incidents", in, store.Row{"status": "investigating"}), "HF006")
			k.refused(k.change("incidents", in, store.Row{"status": "investigating", "lead_user_id": ada}), "HF006")
			k.set("incidents", in, store.Row{"status": "investigating", "lead_user_id": ada, "due_on": "2026-03-09"})
			k.is("incidents", in, "investigated_at", noon)
			k.set("incidents", in, store.Row{"status": "action_pending"})
			k.set("actions", ac, store.Row{"status": "cancelled", "cancel_reason": "x"})
			k.refused(k.change("incidents", in, store.Row{"status": "closed"}), "HF006")
			for _, bad := range []string{`{}`, `[{"method":"5whys","layer":"underlying"}]`,
				`[{"method":"guess","layer":"underlying","text":"x"}]`,
				`[{"method":"5whys","layer":"top","text":"x"}]`,
				`[{"method":"5whys","layer":"underlying","text":"x","who":"me"}]`} {
				k.refused(k.change("incidents", in, cause(bad)), "HF007")
			}
			k.set("incidents", in, cause(`[{"method":"5whys","layer":"organisational","text":"No interval","whys":["worn","not looked at"]}]`))
			k.set("incidents", in, store.Row{"status": "closed"})
			if t.Failed() {
				t.Fatal(name)
			}
		}
	})
}

func TestActions(t *testing.T) {
	each(t, func(k *kit) {
		// The day ends in Sao Paulo, three hours behind UTC.
		ac := k.add("actions", store.Row{"title": "Mop", "due_on": "2026-03-05", "assignee_user_id": ada, "priority": "high"})
		k.is("actions", ac, "due_at", "2026-03-06T02:59:59.999999Z")
		k.set("actions", ac, store.Row{"due_on": nil})
		k.is("actions", ac, "due_at", "null")
		k.set("actions", ac, store.Row{"due_at": "2026-03-04T00:00:00Z"})
		k.is("actions", ac, "due_at", "2026-03-04T00:00:00.000000Z")
		k.set("actions", ac, store.Row{"due_on": "2026-03-06"})
		k.set("actions", ac, store.Row{"due_at": "2026-03-05T00:00:00Z"})
		k.is("actions", ac, "due_at", "2026-03-05T00:00:00.000000Z")
		k.is("actions", ac, "due_on", "null")

		k.as.UserID, k.as.Role = ada, actor.Operator
		k.set("actions", ac, store.Row{"status": "done", "evidence": json.RawMessage(`[{"kind":"photo"}]`)})
		k.is("actions", ac, "completed_at", noon)
		k.refused(k.change("actions", ac, store.Row{"status": "verified"}), "42501")
		k.set("actions", ac, store.Row{"status": "in_progress"})
		k.is("actions", ac, "completed_at", "null")
		k.set("actions", ac, store.Row{"status": "done"})
		k.as.UserID = bo
		k.set("actions", ac, store.Row{"status": "verified"})
		k.is("actions", ac, "verified_at", noon)
		k.is("actions", ac, "verifier_user_id", bo)
	})
}

// Who finishes an action that nobody was assigned is its assignee from then on:
// somebody else verifies it, however the action is handed around.
func TestFourEyesWithoutAssignee(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID, k.as.Role = bo, actor.Safety
		ac := k.add("actions", store.Row{"title": "Fix the rail", "priority": "low"})
		k.as.UserID = ada
		k.set("actions", ac, store.Row{"status": "done"})
		k.is("actions", ac, "assignee_user_id", ada)
		k.refused(k.change("actions", ac, store.Row{"status": "verified"}), "42501")
		k.refused(k.change("actions", ac, store.Row{"status": "verified", "verifier_user_id": bo}), "42501")
		k.refused(k.change("actions", ac, store.Row{"status": "verified", "assignee_user_id": bo}), "HF006")
		k.refused(k.change("actions", ac, store.Row{"assignee_user_id": bo}), "HF006")
		k.refused(k.change("actions", ac, store.Row{"assignee_user_id": nil}), "HF006")
		k.as.UserID = bo
		k.set("actions", ac, store.Row{"status": "verified"})
		k.is("actions", ac, "verifier_user_id", bo)
		k.is("actions", ac, "assignee_user_id", ada)
	})
}

// A leader who marks another's action done has done it too, and may not verify
// it; nor may the one it is assigned to.
func TestFourEyesOfWhoMarkedItDone(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID, k.as.Role = bo, actor.Safety
		ac := k.add("actions", store.Row{"title": "Fix the rail", "priority": "low", "assignee_user_id": ada})
		k.set("actions", ac, store.Row{"status": "done"})
		k.is("actions", ac, "completed_by", bo)
		k.is("actions", ac, "assignee_user_id", ada)
		k.refused(k.change("actions", ac, store.Row{"status": "verified"}), "42501")
		k.as.UserID = ada
		k.refused(k.change("actions", ac, store.Row{"status": "verified"}), "42501")
		k.as.UserID = cy
		k.set("actions", ac, store.Row{"status": "verified"})
		k.is("actions", ac, "verifier_user_id", cy)
	})
}

// An action without effect is followed by another, once.
func TestEffectiveness(t *testing.T) {
	each(t, func(k *kit) {
		in := k.add("incidents", hazard(nil))
		ac := k.add("actions", store.Row{"title": "Mop", "incident_id": in, "source": "incident", "source_id": in,
			"assignee_user_id": ada,
			"review_on":        "2026-04-01"})
		k.refused(k.change("actions", ac, store.Row{"effectiveness": "effective"}), "HF006")
		k.set("actions", ac, store.Row{"status": "done"})
		k.as.UserID = bo
		k.refused(k.change("actions", ac, store.Row{"status": "verified", "effectiveness": "effective"}), "HF006")
		k.set("actions", ac, store.Row{"status": "verified"})
		k.set("actions", ac, store.Row{"effectiveness": "not_effective"})
		k.is("actions", ac, "reviewed_at", noon)
		next := k.only("actions", "follows_id = $2", ac)
		for f, want := range map[string]string{"title": "Mop", "incident_id": in, "source_id": in, "assignee_user_id": ada,
			"status": "open",
			"due_on": "2026-03-15"} {
			k.is("actions", next, f, want)
		}
		k.refused(k.change("actions", ac, store.Row{"effectiveness": "effective"}), "HF006")
		k.set("actions", ac, store.Row{"description": "x"})
		k.only("actions", "follows_id = $2", ac)
	})
}

// An action names a source of its own tenant, or none.
func TestActionSources(t *testing.T) {
	each(t, func(k *kit) {
		in := k.add("incidents", hazard(nil))
		k.as.TenantID = south
		for _, row := range []store.Row{{"source": "incident", "source_id": in}, {"source": "talk", "source_id": bo},
			{"source": "manual", "source_id": in}} {
			row["title"] = "Mop"
			_, err := k.try("actions", row)
			k.refused(err, "HF007")
		}
	})
}

func TestChecklistRuns(t *testing.T) {
	each(t, func(k *kit) {
		k.as.UserID = ada
		for _, c := range []struct {
			due, onTime string
			grace       int
		}{{"2026-03-01T12:00:00Z", "true", 0}, {"2026-03-01T11:59:59Z", "false", 0}, {"2026-03-01T11:50:00Z", "true", 10},
			{"2026-03-01T11:49:59Z", "false", 10}} {
			run := k.add("checklist_runs", store.Row{"title": "Racks", "due_at": c.due, "grace_minutes": c.grace})
			k.is("checklist_runs", run, "on_time", "null")
			k.set("checklist_runs", run, store.Row{"status": "completed"})
			k.is("checklist_runs", run, "on_time", c.onTime)
			k.is("checklist_runs", run, "completed_by", ada)
			k.is("checklist_runs", run, "started_at", noon)
		}

		unasked := k.add("checklist_runs", store.Row{"title": "Racks", "grace_minutes": 10})
		k.is("checklist_runs", unasked, "deadline_at", "null")
		k.set("checklist_runs", unasked, store.Row{"grace_minutes": 20})
		k.is("checklist_runs", unasked, "deadline_at", "null")
		k.set("checklist_runs", unasked, store.Row{"due_at": "2026-03-02T12:00:00Z"})
		k.is("checklist_runs", unasked, "deadline_at", "2026-03-02T12:20:00.000000Z")
		k.set("checklist_runs", unasked, store.Row{"grace_minutes": 0})
		k.is("checklist_runs", unasked, "deadline_at", "2026-03-02T12:00:00.000000Z")
	})
}
