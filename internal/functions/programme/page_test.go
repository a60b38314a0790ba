package programme_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/db"
	"holdfast/internal/mail"
	"holdfast/internal/store"
)

// page reports a critical incident.
func (k *kit) page(no int) {
	k.Helper()
	err := k.d.Write(context.Background(), db.Scope{Tenant: north}, func(tx *db.Tx) error {
		return letterhead.Page(tx, north, []store.Row{{"incident_no": fmt.Sprint("IN-", no), "title": "Fall",
			"occurred_at": "2026-03-20T11:00:00Z"}}, k.now)
	})
	if err != nil {
		k.Fatal(explain(err))
	}
}

// The first critical incident is mailed at once; those of the next quarter of an
// hour come together in one mail to each officer, and so on. Each is told once.
func TestPagesAreGathered(t *testing.T) {
	each(t, func(k *kit) {
		k.member(ada, "ada", "safety")
		k.member(bo, "bo", "safety")
		k.member(cy, "cy", "manager")
		var box mail.Sink
		start := k.now
		no := 0
		for _, c := range []struct {
			minute, reports int
			subject         string // of the mail that goes out then, to each officer
		}{
			{0, 1, "Critical incident IN-1"}, {1, 1, ""}, {2, 12, ""}, {14, 1, ""}, {15, 0, "14 critical incidents"},
			{16, 1, ""}, {29, 0, ""}, {30, 0, "Critical incident IN-16"}, {60, 2, "2 critical incidents"}, {90, 0, ""},
		} {
			k.now = start.Add(time.Duration(c.minute) * time.Minute)
			for range c.reports {
				no++
				k.page(no)
			}
			before := len(box.List(""))
			if _, err := k.send(&box); err != nil {
				t.Fatal(explain(err))
			}
			sent := box.List("")[:len(box.List(""))-before] // newest first
			if want := map[bool]int{true: 2, false: 0}[c.subject != ""]; len(sent) != want {
				t.Errorf("minute %d: %d mails, want %d", c.minute, len(sent), want)
			}
			for _, m := range sent {
				if m.Subject != c.subject || !strings.Contains(m.Text, "Open Harbour Safety: https://site.example/app") {
					t.Errorf("minute %d: %q\n%s", c.minute, m.Subject, m.Text)
				}
				if c.minute == 15 && (!strings.Contains(m.Text, "IN-2 Fall") || !strings.Contains(m.Text, "and 4 more") ||
					!strings.Contains(m.HTML, "IN-11 Fall")) {
					t.Errorf("what was gathered:\n%s", m.Text)
				}
			}
		}
		for to, want := range map[string]int{"ada@north.example": 4, "bo@north.example": 4, "cy@north.example": 0} {
			if n := len(box.List(to)); n != want {
				t.Errorf("%s has %d mails, want %d", to, n, want)
			}
		}
	})
}

// A mail that cannot be sent is tried again as it is: what comes after it waits
// for the next one.
func TestPageBehindAFailure(t *testing.T) {
	each(t, func(k *kit) {
		k.member(ada, "ada", "safety")
		s := &stubborn{refuse: errors.New("closed")}
		k.page(1)
		if _, err := k.send(s); err == nil {
			t.Fatal("the mail went")
		}
		k.page(2)
		s.refuse = nil
		k.now = k.now.Add(20 * time.Minute)
		if n, err := k.send(s); n != 2 || err != nil {
			t.Errorf("%d mails, %v, want both", n, err)
		}
	})
}

// Reports at the same moment make one mail, whichever is first.
func TestPagesAtOnce(t *testing.T) {
	each(t, func(k *kit) {
		k.member(ada, "ada", "safety")
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { k.page(i) })
		}
		wg.Wait()
		var box mail.Sink
		if n, err := k.send(&box); n != 1 || err != nil || box.List("")[0].Subject != "8 critical incidents" {
			t.Errorf("%d mails, %v: %v", n, err, box.List(""))
		}
	})
}
