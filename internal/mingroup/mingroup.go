// Package mingroup decides which groups of people a figure is shown of. The mean of
// a small team is the figure of its members: those in it know their own, and in
// a team of one it is a single person's. Every board and every aggregate about
// people asks here, so that the least size is one setting and one rule.
//
// Layer: groups of people. Begin at [Least].
package mingroup

import (
	"encoding/json"

	"holdfast/internal/db"
)

// Default is how many people a group needs where the tenant says nothing. The
// Federal Labour Court of Germany counts groups of 5 to 6 people as watched one by
// one, since pressure on the group reaches each member (BAG 1 ABR 6/94): twice
// that is the least that is well apart from it.
const Default Least = 10

// Fewest is the least size that a tenant may choose: a group of one is a person.
const Fewest Least = 2

// Least is how many people a group needs before a figure of it is shown.
type Least int64

const leastSQL = `
	SELECT value
	FROM settings
	WHERE tenant_id = $1 AND section = 'scoring' AND key = 'min_group'`

// Queue asks for the tenant's setting; it is there after the next flush.
func Queue(tx *db.Tx, tenant string) *Least {
	least := Default
	tx.Queue(leastSQL, []any{tenant}, func(r *db.Row) error {
		least.Set([]byte(r.Text(0)))
		return nil
	})
	return &least
}

// Set takes the value of the setting; one of the wrong form leaves what was there. A 1,
// which could be set once, is read as the least that may be.
func (l *Least) Set(value []byte) {
	var v int64
	if json.Unmarshal(value, &v) == nil && v >= 1 {
		*l = max(Least(v), Fewest)
	}
}

// Shows reports whether a group of n people is large enough.
func (l Least) Shows(n int64) bool { return n >= int64(l) }

// Choose reports for each group, by its number of people, whether it is shown, and
// counts those that are left out. Others are people of no group who are in the same
// total. Whoever knows the total subtracts what is shown: the rest, which are the
// groups left out and the others, is therefore nobody or a group that is large
// enough itself. Until it is, the smallest group that is shown is left out too.
func (l Least) Choose(sizes []int64, others int64) (shown []bool, suppressed int) {
	shown = make([]bool, len(sizes))
	rest := others
	for i, n := range sizes {
		shown[i] = l.Shows(n)
		if !shown[i] {
			rest += n
			suppressed++
		}
	}

	for rest > 0 && !l.Shows(rest) {
		smallest := -1
		for i, n := range sizes {
			if shown[i] && (smallest < 0 || n < sizes[smallest]) {
				smallest = i
			}
		}
		if smallest < 0 {
			break
		}
		shown[smallest] = false
		rest += sizes[smallest]
		suppressed++
	}
	return shown, suppressed
}
