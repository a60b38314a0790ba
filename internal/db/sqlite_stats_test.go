package db

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What an ANALYZE by somebody else has left is overwritten at the next start: plans are those of the tests.
func TestStatisticsAreTheProgramsOwn(t *testing.T) {
	o := Options{Dir: t.TempDir(), Migrate: true}
	var texts [2]map[string]string
	for start := range texts {
		d, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		texts[start] = map[string]string{}
		err = d.Write(t.Context(), Scope{}, func(tx *Tx) error {
			return tx.Query("SELECT idx, stat FROM sqlite_stat1", nil, func(r *Row) error {
				texts[start][r.Text(0)] = r.Text(1)
				return nil
			})
		})
		if err == nil && start == 0 {
			err = d.Write(t.Context(), Scope{}, func(tx *Tx) error { tx.Queue("ANALYZE", nil, nil); return nil })
		}
		if err = errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(texts[0], texts[1]); d != "" || len(texts[0]) < 300 {
		t.Errorf("%d statistics, then (-want +got):\n%s", len(texts[0]), d)
	}
}
