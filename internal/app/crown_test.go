package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/functions/programme"
	"holdfast/internal/store"
	"holdfast/internal/testkit"
)

// fleetStory is a year of forklifts, whose first four have accidents.
type fleetStory struct {
	*testing.T
	k        *testkit.Kit
	by       actor.Actor
	now      time.Time
	machines []string
}

func newFleetStory(t *testing.T, k *testkit.Kit) *fleetStory {
	s := &fleetStory{T: t, k: k, by: actor.Actor{Role: actor.Service, TenantID: demo.North, KeyID: "test"},
		now: time.Now().UTC()}
	s.write(func(tx *db.Tx) error {
		tx.Queue("UPDATE shifts SET equipment_id = NULL WHERE tenant_id = $1", []any{demo.North}, nil)
		tx.Queue("DELETE FROM incident_entities WHERE tenant_id = $1 AND entity_type = 'equipment'", []any{demo.North}, nil)
		return tx.Flush()
	})
	return s
}

func (s *fleetStory) write(f func(tx *db.Tx) error) {
	s.Helper()
	if err := s.k.App.DB.Write(s.Context(), db.Scope{Tenant: demo.North}, f); err != nil {
		s.Fatal(err)
	}
}

func (s *fleetStory) insert(resource string, rows ...store.Row) (ids []string) {
	s.Helper()
	s.write(func(tx *db.Tx) error {
		stored, err := s.k.App.Store.In(tx, s.by).InsertRows(resource, rows)
		ids = nil
		for _, r := range stored {
			ids = append(ids, r.Text("id"))
		}
		return err
	})
	return ids
}

// buy adds forklifts, each driven by somebody of its own in the periods given,
// counted back from the last.
func (s *fleetStory) buy(n, periods int) {
	s.Helper()
	var machines, people, shifts []store.Row
	for i := range n {
		no := fmt.Sprintf("CR%d", len(s.machines)+i)
		machines = append(machines, store.Row{"asset_no": no, "kind": "forklift"})
		people = append(people, store.Row{"employee_no": no, "name": no})
	}
	fresh, drivers := s.insert("equipment", machines...), s.insert("workers", people...)
	for i, machine := range fresh {
		for week := range 4 * periods {
			end := s.now.AddDate(0, 0, -7*week-2)
			shifts = append(shifts, store.Row{"worker_id": drivers[i], "equipment_id": machine,
				"started_at": end.Add(-8 * time.Hour), "ended_at": end})
		}
	}
	s.insert("shifts", shifts...)
	s.machines = append(s.machines, fresh...)
}

// crash reports an accident of a forklift some days ago, after a delay in days.
func (s *fleetStory) crash(machine, daysAgo, delay int) {
	s.Helper()
	at := s.now.AddDate(0, 0, -daysAgo)
	s.insert("incidents", store.Row{"kind": "injury", "title": "Crash", "occurred_at": at,
		"reported_at": at.AddDate(0, 0, delay),
		"entities":    json.RawMessage(`[{"entity_type":"equipment","entity_id":"` + s.machines[machine] + `","role":"involved"}]`)})
}

// train has the models tried, and returns which of them scores the forklifts and why.
func (s *fleetStory) train() (kind, why string) {
	s.Helper()
	if _, err := programme.New(s.k.App.Store, time.Now, programme.Hooks{}).Train(s.Context(), s.by); err != nil {
		s.Fatal(err)
	}
	r := s.k.Post(testkit.As(actor.Safety), "/functions/v1/calculate-predictive-safety-scores",
		map[string]any{"entity_type": "equipment"})
	var out struct{ Model struct{ Kind, Why string } }
	if r.JSON(s.T, &out); r.Status != 200 {
		s.Fatalf("%d %s", r.Status, r.Body)
	}
	return out.Model.Kind, out.Model.Why
}

// A statistical model speaks when ten incidents happened in the periods that it
// forecast, by a prior of the tenant's own; else the weighted model does, and the
// answer says why.
func TestCrownsAreEarned(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := newFleetStory(t, k)
		weightedBecause := func(when, words string) {
			t.Helper()
			if kind, why := s.train(); kind != "weighted" || !strings.Contains(why, words) {
				t.Errorf("%s: %s speaks because %q, want the weighted model because %q", when, kind, why, words)
			}
		}
		weightedBecause("without data", "could be fitted")

		s.buy(9, 13)
		for period := range 10 {
			for machine := range 4 {
				if (period+machine*machine)%3 != 0 {
					s.crash(machine, 28*(period+3)+10, 0)
				}
			}
		}
		for machine := range 3 {
			s.crash(machine, 28*machine+5, 0)
			s.crash(machine, 28*machine+6, 0)
			s.crash((machine+1)%3, 28*machine+7, 40*(machine/2))
		}
		weightedBecause("nine incidents", "9 incidents happened")
		s.crash(3, 5, 0)
		weightedBecause("nine forklifts", "not the tenant's own")

		s.buy(11, 13)
		s.buy(1, 1)
		speaks := func(when string) {
			t.Helper()
			if kind, why := s.train(); kind == "weighted" || why != "" {
				t.Errorf("%s: %s speaks because %q", when, kind, why)
			}
		}
		speaks("ten incidents of twenty forklifts")
		s.crash(3, 33, 0)
		speaks("eleven incidents")

		// What flatters the forecasts stands beside the figures; who left is still in them.
		s.write(func(tx *db.Tx) error {
			return s.k.App.Store.In(tx, s.by).UpdateRows("equipment", s.machines[:1], store.Row{"status": "retired"})
		})
		speaks("after a forklift was retired")
		for _, x := range testkit.List[struct {
			Metrics struct {
				Newcomers   int
				Incidents   int
				LateReports int `json:"late_reports"`
			}
		}](t, k, testkit.As(actor.Safety), "score_models?select=metrics&entity_type=eq.equipment&status=eq.active") {
			if x.Metrics.Newcomers != 1 || x.Metrics.Incidents != 37 || x.Metrics.LateReports != 1 {
				t.Errorf("%+v, want 1 newcomer, 37 incidents, 1 late report", x.Metrics)
			}
		}
	})
}
