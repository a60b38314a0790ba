package tenants

import (
	"testing"

	"holdfast/internal/actor"
)

func TestMayGrant(t *testing.T) {
	for _, tt := range []struct {
		by, role actor.Role
		ok       bool
	}{
		{actor.Owner, actor.Owner, true}, {actor.Admin, actor.Owner, false}, {actor.Admin, actor.Admin, true},
		{actor.Manager, actor.Admin, false},
		{actor.Viewer, actor.Viewer, true}, {actor.Driver, actor.Operator, false}, {actor.Service, actor.Owner, true},
		{actor.Owner, "king", false}, {"",
			actor.Viewer, false},
		{actor.Owner, actor.Service, false},
	} {
		if err := MayGrant(tt.by, tt.role); (err == nil) != tt.ok {
			t.Errorf("%s grants %s: %v", tt.by, tt.role, err)
		}
	}
}
