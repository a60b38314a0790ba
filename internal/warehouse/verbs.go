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
func Verbs() []rpc.Verb { return Watch{}.Verbs() }

// Verbs is the package's Verbs with somebody watching.
func (w Watch) Verbs() []rpc.Verb {
	return []rpc.Verb{
		rpc.New("confirm_order", "Confirms a draft order; an outbound one is promised the stock that is free for it.", managers, w.confirmOrder),
		rpc.New("allocate_order", "Promises free stock to what an outbound order still lacks.", managers, w.allocateOrder),
		rpc.New("deallocate_order", "Gives back what an order, or one line of it, was promised and is not picked.", managers, w.deallocateOrder),
		rpc.New("hold_order", "Stops new picks of an order; what is reserved for it stays.", managers, holdOrder),
		rpc.New("resume_order", "Lets an order on hold go on where it was.", managers, resumeOrder),
		rpc.New("cancel_order", "Cancels an order of which nothing has left; what it was promised is free again.", managers, cancelOrder),
		rpc.New("release_picks", "Makes pick lists of what is reserved for orders, in walking order.", managers, w.releasePicks),
		rpc.New("claim_pick_list", "Takes a released list to pick it.", operators, w.claimPickList),
		rpc.New("pick_line", "Takes goods from their bin to the staging lane; what is promised of them goes along.", operators, w.pickLine),
		rpc.New("short_pick", "Says that a bin held less: the rest is looked for in other bins, and the bin is counted.", operators, w.shortPick),
		rpc.New("unpick", "Puts picked goods back, where they are free.", operators, w.unpick),
	}
}

// on is the work of a verb.
func (w Watch) on(c *rpc.Call) work { return work{w: w, tx: c.Tx, a: c.Actor, s: c.Store} }
