package programme_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/internal/mail"
	"holdfast/internal/store"
)

// The morning's mail tells the safety officer of clocks that are over or end within three
// days, by the incident and where the duty is written, and nothing of how somebody was
// hurt; a right that has run out, and what is met, is told to nobody.
func TestDigestTellsOfClocks(t *testing.T) {
	each(t, func(k *kit) {
		digests(k)
		k.now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
		for code, c := range map[string]struct{ due, state string }{
			"FR-DEATH": {"2026-03-19T21:00:00Z", "running"},
			"DE-ANZ":   {"2026-03-23T12:00:00Z", "running"},
			"GB-7D":    {"2026-03-23T12:00:01Z", "running"},
			"FR-RES":   {"2026-03-20T11:59:59Z", "running"},
			"FR-DAT":   {"2026-03-19T21:00:00Z", "late"},
		} {
			in := k.add("incidents", store.Row{"kind": "injury", "title": "Fall", "occurred_at": "2026-03-18T08:00:00Z"})
			row := store.Row{"code": code, "incident_id": in, "starts_at": "2026-03-18T09:00:00Z", "due_at": c.due,
				"state": c.state}
			if c.state == "late" {
				row["met_at"] = "2026-03-20T08:00:00Z"
			}
			k.add("legal_clocks", row)
		}
		if n, err := k.p.Digest(context.Background(), north); err != nil || n != 3 {
			t.Fatalf("%d digests: %v", n, explain(err))
		}
		var box mail.Sink
		if _, err := k.send(&box); err != nil {
			t.Fatal(explain(err))
		}
		text := map[string]string{}
		for _, m := range box.List("") {
			text[m.To] += m.Text
		}
		officer := text["bo@north.example"]
		for _, s := range []string{"Legal deadlines of accidents", "Code du travail R4121-5 (2026-03-19 22:00)",
			"SGB VII § 193(1), (4), (5), (7) (2026-03-23 13:00)"} {
			if !strings.Contains(officer, s) {
				t.Errorf("the officer is not told %q:\n%s", s, officer)
			}
		}
		for _, s := range []string{"DEATH", "RIDDOR", "R441"} {
			if strings.Contains(officer, s) {
				t.Errorf("the officer's mail says %q:\n%s", s, officer)
			}
		}
		if strings.Contains(text["ada@north.example"], "R4121-5") {
			t.Errorf("ada is told of clocks:\n%s", text["ada@north.example"])
		}
	})
}
