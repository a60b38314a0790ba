package programme_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/mail"
	"holdfast/internal/store"
)

// An action that is overdue for long is told to safety, and after twice as long to
// managers: once each, on the record, in the audit log and by mail.
func TestEscalateActions(t *testing.T) {
	each(t, func(k *kit) {
		k.member(ada, "ada", "operator")
		k.member(bo, "bo", "safety")
		k.member(cy, "cy", "manager")
		k.now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
		addAction := func(title, due string) string {
			return k.add("actions", store.Row{"title": title, "assignee_user_id": ada, "due_on": due})
		}
		recent, late, old := addAction("Recent", "2026-03-18"), addAction("Late", "2026-03-14"), addAction("Old", "2026-03-01")
		k.set("actions", addAction("Finished", "2026-03-01"), store.Row{"status": "done"})
		wantNight := func(want int) {
			k.Helper()
			if n, err := k.p.EscalateActions(context.Background(), north); err != nil || n != want {
				k.Errorf("told of %d actions, want %d: %v", n, want, explain(err))
			}
		}
		wantTold := func(action, level string) {
			k.Helper()
			if k.count("actions", "id = '"+action+"' AND coalesce(escalated_to, '') = '"+level+"'") != 1 {
				k.Errorf("%s was not escalated to %q", action, level)
			}
		}

		wantNight(0) // as long as nobody asks for it
		k.add("settings", store.Row{"section": "safety", "key": "escalate_after_days", "value": json.RawMessage(`5`)})
		wantNight(2)
		wantTold(recent, "")
		wantTold(late, "safety")
		wantTold(old, "manager")
		wantNight(0)
		k.now = k.now.Add(time.Hour)
		var box mail.Sink
		if n, err := k.send(&box); err != nil || n != 2 {
			k.Fatalf("sent %d: %v", n, explain(err))
		}
		for _, m := range box.List("") {
			isManager := m.To == "cy@north.example"
			if !strings.Contains(m.Text, "Old (2026-03-01)") || strings.Contains(m.Text, "Late (2026-03-14)") == isManager ||
				strings.Contains(m.Text, "Recent") || strings.Contains(m.Text, "Finished") {
				k.Errorf("to %s: %s", m.To, m.Text)
			}
		}

		k.now = k.now.AddDate(0, 0, 5)
		wantNight(2)
		wantTold(recent, "safety")
		wantTold(late, "manager")
		if k.count("audit", "entity_id = '"+late+"' AND after LIKE '%escalated_to%'") != 2 {
			k.Error("the audit log lacks an escalation")
		}

		// With time again it begins anew.
		k.set("actions", late, store.Row{"due_on": "2026-04-01"})
		wantTold(late, "")
		k.now = k.now.AddDate(0, 0, 13)
		wantNight(2)
		wantTold(late, "safety")
		wantTold(recent, "manager")
	})
}

// A backlog that takes several transactions is one mail for each who is told, which counts
// all of it.
func TestEscalationOfABacklogIsOneMail(t *testing.T) {
	each(t, func(k *kit) {
		k.member(bo, "bo", "safety")
		k.add("settings", store.Row{"section": "safety", "key": "escalate_after_days", "value": json.RawMessage(`5`)})
		rows := make([]store.Row, 1203)
		for i := range rows {
			rows[i] = store.Row{"title": fmt.Sprint("Late ", i), "due_on": "2026-03-14"}
		}
		k.add("actions", rows...)

		if n, err := k.p.EscalateActions(context.Background(), north); err != nil || n != len(rows) {
			k.Fatalf("told of %d actions: %v", n, explain(err))
		}
		k.now = k.now.Add(time.Hour)
		var box mail.Sink
		if n, err := k.send(&box); err != nil || n != 1 {
			k.Fatalf("sent %d mails: %v", n, explain(err))
		}
		if text := box.List("")[0].Text; !strings.Contains(text, "and 1193 more") {
			k.Errorf("the mail does not count all: %s", text)
		}
	})
}
