package app_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// The list of actions is that of the board, narrowed alike, of actions that the caller may
// read; one that is too long is refused.
func TestActionsSheet(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		operator, safety := testkit.As(actor.Operator), testkit.As(actor.Safety)
		const path = "/v1/actions/actions.pdf"
		site := k.Insert(t, testkit.As(actor.Admin), "sites", map[string]any{"code": "LIL", "name": "Lille Éstaires"})
		incident := k.Insert(t, safety, "incidents", map[string]any{"kind": "hazard", "title": "Öl",
			"occurred_at": "2026-01-05T10:00:00Z", "site_id": site})
		k.Insert(t, safety, "actions", map[string]any{"title": "Rinne abdecken", "control_level": "engineer",
			"source": "incident", "incident_id": incident, "due_on": "2020-02-08"})
		k.Insert(t, safety, "actions", map[string]any{"title": "Weste tragen", "control_level": "ppe", "due_on": "2099-02-08",
			"assignee_user_id": accountOf(t, actor.Operator)})
		me := accountOf(t, actor.Operator)
		for _, c := range []struct {
			as, query     string
			wants, nevers []string
		}{
			{safety, "", []string{"Actions", "Rinne abdecken", "Weste tragen", reporter}, []string{"□"}},
			{safety, "?language=de&level=engineer", []string{"Maßnahmen", "Rinne abdecken", "Technisch", "08.02.2020"},
				[]string{"Weste tragen"}},
			{safety, "?site=" + site, []string{"Rinne abdecken", "Lille Éstaires", "Number 1"}, []string{"Weste tragen"}},
			{safety, "?late=1", []string{"Rinne abdecken"}, []string{"Weste tragen"}},
			{safety, "?person=" + me, []string{"Weste tragen"}, []string{"Rinne abdecken"}},
			{safety, "?person=none", []string{"Rinne abdecken", "nobody yet"}, []string{"Weste tragen"}},
			{safety, "?who=mine", nil, []string{"Rinne abdecken", "Weste tragen"}},
			{operator, "", []string{"Weste tragen"}, []string{"Rinne abdecken"}},
			{operator, "?site=" + site, []string{"No action is like that."}, []string{"Rinne abdecken"}},
			{"admin@south.example", "", nil, []string{"Rinne abdecken", "Weste tragen"}},
		} {
			text, _ := readSheet(t, k, c.as, path+c.query)
			holdSaid(t, c.as+"'s list "+c.query, text, c.wants, c.nevers...)
		}
		for _, query := range []string{"?site=x", "?level=hope", "?person=me", "?late=maybe", "?who=all", "?language=xx",
			"?who=mine&who=mine", "?status=open"} {
			if r := k.Get(safety, path+query); r.Status != 400 {
				t.Errorf("%s: %d %s", query, r.Status, r.Body)
			}
		}
		if r := k.Get("", path); r.Status != 401 {
			t.Errorf("to nobody: %d", r.Status)
		}
		rows := make([]map[string]any, 501)
		for i := range rows {
			rows[i] = map[string]any{"title": fmt.Sprintf("Action %d", i)}
		}
		if r := k.Post(safety, "/v1/actions", rows); r.Status != 201 {
			t.Fatalf("%d %.300s", r.Status, r.Body)
		}
		if r := k.Get(safety, path); r.Status != 413 || !strings.Contains(string(r.Body), "more than 500 actions") {
			t.Errorf("%d %.300s", r.Status, r.Body)
		}
	})
}
