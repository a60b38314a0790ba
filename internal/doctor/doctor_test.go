package doctor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/doctor"
	"holdfast/internal/testkit/dbtest"
)

// A clock two hours off is found: on PostgreSQL by the server's, on the embedded
// engine when it is behind what was recorded. One that agrees is not.
func TestClockOff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, o db.Options) {
		d, err := db.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
			_, err := tx.Exec("INSERT INTO audit (tenant_id, id, at, action, outcome) VALUES ($1, $1, $2, 'x', 'ok')", db.NoTenant, time.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		dir := o.Dir
		if dir == "" {
			dir = t.TempDir()
		}
		c, err := config.Load("", nil, map[string]string{"data": dir})
		if err != nil {
			t.Fatal(err)
		}
		c.DatabaseURL = o.URL
		for off, want := range map[time.Duration]bool{0: false, -2 * time.Hour: true, 2 * time.Hour: o.URL != ""} {
			p := &doctor.Patient{Config: c, Now: func() time.Time { return time.Now().Add(off) }, Open: func(context.Context) error { return nil }}
			var found []doctor.Finding
			for _, f := range doctor.Examine(t.Context(), p) {
				if f.Check == "clock" && f.Level == doctor.Failure {
					found = append(found, f)
				}
			}
			if (len(found) > 0) != want {
				t.Errorf("%s off: %+v", off, found)
			}
			for _, f := range found {
				if !strings.Contains(f.What, "2h0m") && !strings.Contains(f.What, "1h59m5") || f.Command == "" {
					t.Errorf("%s off: %+v", off, f)
				}
			}
		}
	})
}
