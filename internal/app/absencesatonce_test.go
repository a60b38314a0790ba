package app_test

import (
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/testkit"
)

// Two who write down the same day at once do not both find it free.
func TestAbsencesAtOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := givenStory(t, k, "ONCE", 10, nil)
		const n = 6
		token := k.Token(testkit.As(actor.Safety))
		statuses := make(chan int, n)
		for i := range n {
			row := s.absenceRow("away", 1, 2+i%2, nil)
			go func() {
				q := testkit.Request{Method: "POST", Path: "/v1/absences", Bearer: token, Body: row}
				statuses <- k.Call(q).Status
			}()
		}
		count := map[int]int{}
		for range n {
			count[<-statuses]++
		}
		if count[201] != 1 || count[409] != n-1 {
			t.Errorf("answers %v, want one 201 and %d times 409", count, n-1)
		}
	})
}

// When all absences of a case are deleted at once, one by one, the last delete sees
// that none is left, and the case has neither days nor an outcome of days.
func TestAbsencesDeletedAtOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		s := givenStory(t, k, "GONE", 10, nil)
		token := k.Token(testkit.As(actor.Safety))
		const n = 8
		for range 3 {
			statuses := make(chan int, n)
			var ids []string
			for i := range n {
				row := s.absenceRow("away", 1+i, 1+i, nil)
				ids = append(ids, k.Insert(t, testkit.As(actor.Safety), "absences", row))
			}
			for _, id := range ids {
				go func() {
					statuses <- k.Call(testkit.Request{Method: "DELETE", Path: "/v1/absences?id=eq." + id,
						Bearer: token}).Status
				}()
			}
			for range n {
				if status := <-statuses; status != 204 {
					t.Errorf("delete: %d", status)
				}
			}
			s.caseIs(t, "none is left", "days_away,away_from,outcome",
				`[{"days_away":0,"away_from":null,"outcome":"other"}]`)
		}
	})
}
