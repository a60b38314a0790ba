package warehouse

import (
	"holdfast/internal/actor"
	"holdfast/internal/rpc"
)

// Who does what in a warehouse.
var (
	managers  = []actor.Role{actor.Owner, actor.Admin, actor.Manager}
	operators = append([]actor.Role{actor.Operator}, managers...)
)

// Verbs is the table of what people of a warehouse say they did: one line and
// one file each.
func Verbs() []rpc.Verb {
	return []rpc.Verb{
		rpc.New("hold_order", "Stops new picks of an order; what is reserved for it stays.", managers, holdOrder),
	}
}
