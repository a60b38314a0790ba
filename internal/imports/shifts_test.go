package imports_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/decimal"
	"holdfast/internal/store"
)

// givenWorkers makes workers with these numbers.
func (k *kit) givenWorkers(numbers ...string) {
	k.Helper()
	for _, no := range numbers {
		k.add("workers", store.Row{"employee_no": no, "name": "Worker " + no})
	}
}

// shiftsOn lists the shifts that began on a day (in UTC), each as its worker's
// number, start, end, status and hours.
func (k *kit) shiftsOn(day string) []string {
	k.Helper()
	numbers := map[any]string{}
	for _, w := range k.rows("workers") {
		numbers[w["id"]] = w.Text("employee_no")
	}

	clock := func(at string) string {
		_, time, _ := strings.Cut(strings.TrimSuffix(at, ":00.000000Z"), "T")
		return time
	}
	list := []string{}
	for _, s := range k.rows("shifts") {
		if !strings.HasPrefix(s.Text("started_at"), day) {
			continue
		}
		hours, _ := s["hours"].(decimal.Dec)
		list = append(list, strings.Join([]string{numbers[s["worker_id"]], clock(s.Text("started_at")),
			clock(s.Text("ended_at")), s.Text("status"),
			hours.String()}, " "))
	}
	slices.Sort(list)
	return list
}

// Hours without an end are kept: the shift ends after them and its break, and the
// next shift of the worker has room behind it.
func TestHoursWithoutEnd(t *testing.T) {
	each(t, func(k *kit) {
		k.givenWorkers("E1", "E2", "E3")
		k.now = k.now.AddDate(1, 0, 0)
		_, p, _ := k.imported("shifts", "", "", "shifts.csv", real(k, "cases/shifts-hours-without-end.csv"))
		if diff := cmp.Diff([]string{"E1 07:00 15:00 closed 8", "E2 07:00 14:30 closed 7.5"},
			k.shiftsOn("2026-11-02")); diff != "" {
			k.Errorf("%s%+v", diff, p)
		}

		_, p, _ = k.imported("shifts", "", "", "more.csv", []byte("Employee no;Start;Break;Hours worked\n"+
			"E1;2026-11-03 08:00;30;7,5\nE1;2026-11-03 15:59;;1\nE1;2026-11-03 16:00;;0,5\n"+
			"E3;2026-11-03 08:00;;0\nE3;2028-01-03 08:00;;8\nE3;2026-11-04 08:00;120;23\n"))
		want := []string{"3 Start overlap", "5 Hours worked rule", "6 Start rule", "7 Hours worked rule"}
		if diff := cmp.Diff(want, where(p.Errors)); diff != "" {
			k.Errorf("%s%+v", diff, p.Errors)
		}
		if diff := cmp.Diff([]string{"E1 07:00 15:00 closed 7.5", "E1 15:00 15:30 closed 0.5"},
			k.shiftsOn("2026-11-03")); diff != "" {
			k.Error(diff)
		}
	})
}

// A shift that is open takes its end from the hours that a file gives it; one that
// has ended keeps its end.
func TestHoursOfShiftsThatAreThere(t *testing.T) {
	each(t, func(k *kit) {
		k.givenWorkers("E1", "E2")
		k.now = k.now.AddDate(1, 0, 0)
		const start = "2026-11-05T08:00:00+01:00"
		k.add("shifts", store.Row{"worker_id": k.find("workers", "employee_no", "E1")["id"], "started_at": start,
			"ended_at": "2026-11-05T18:00:00+01:00"})
		k.add("shifts", store.Row{"worker_id": k.find("workers", "employee_no", "E2")["id"], "started_at": start})
		_, p, _ := k.imported("shifts", `{"mode":"update"}`, "", "hours.csv",
			[]byte("Employee no;Start;Hours worked\nE1;2026-11-05 08:00;9\nE2;2026-11-05 08:00;6\n"))
		if diff := cmp.Diff([]string{"E1 07:00 17:00 closed 9", "E2 07:00 13:00 closed 6"},
			k.shiftsOn("2026-11-05")); diff != "" {
			k.Errorf("%s%+v", diff, p)
		}
	})
}
