package catalog

import (
	"testing"

	"holdfast/internal/actor"
)

// Nobody changes or deletes rows that the role does not read: an answer that returns what was
// changed, or a refusal, would tell of them.
func TestNoChangeReachesFurtherThanReading(t *testing.T) {
	for _, r := range Default().All() {
		for _, role := range actor.Members {
			read, _ := Find(r.Access.Read, role)
			for what, grants := range map[string][]Grant{"update": r.Access.Update, "delete": r.Access.Delete} {
				change, found := Find(grants, role)
				if found && change.Scope > read.Scope {
					t.Errorf("%s: a %s may %s rows that the role does not read", r.Name, role, what)
				}
			}
		}
	}
}
