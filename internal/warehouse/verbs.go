package warehouse

import (
	"holdfast/internal/actor"
	"holdfast/internal/verb"
	"holdfast/internal/warehouse/owners"
	"holdfast/internal/warehouse/scanning"
)

// Who does what in a warehouse.
var (
	managers  = []actor.Role{actor.Owner, actor.Admin, actor.Manager}
	recallers = append([]actor.Role{actor.Safety}, managers...)
	operators = append([]actor.Role{actor.Operator}, managers...)
	// billers see what was done for owners of goods: a client for itself.
	billers = append([]actor.Role{actor.Client}, managers...)
)

// Verbs is the table of what people of a warehouse say they did: one line and
// one file each.
func Verbs() []verb.Verb { return Watch{}.Verbs() }

// Verbs is the package's Verbs with somebody watching.
func (w Watch) Verbs() []verb.Verb {
	return []verb.Verb{
		verb.New("confirm_order", "Confirms a draft order; an outbound one is promised the stock that is free for it.",
			managers, w.confirmOrder),
		verb.New("allocate_order", "Promises free stock to what an outbound order still lacks.", managers, w.allocateOrder),
		verb.New("allocate_open", "Promises what is free to all orders that wait for it, the most urgent first.",
			managers,
			w.allocateOpen),
		verb.New("deallocate_order", "Gives back what an order, or one line of it, was promised and is not picked.", managers,
			w.deallocateOrder),
		verb.New("hold_order", "Stops new picks of an order; what is reserved for it stays.", managers, holdOrder),
		verb.New("resume_order", "Lets an order on hold go on where it was.", managers, resumeOrder),
		verb.New("cancel_order", "Cancels an order of which nothing has left; what it was promised is free again.", managers,
			cancelOrder),
		verb.New("close_order", "Ends the rest of an order that came in or left in part; the order is completed.",
			managers, w.closeOrder),
		verb.New("plan_wave", "Gathers orders whose goods are fetched together.", managers, w.planWave),
		verb.New("release_picks", "Makes pick lists of what is reserved for orders, in walking order.", managers,
			w.releasePicks),
		verb.New("claim_pick_list", "Takes a released list to pick it.", operators, w.claimPickList),
		verb.New("next_task", "Names the work that comes next for the caller, or claims it.", operators, w.findNextTask),
		verb.New("pick_line", "Takes goods from their bin to the staging lane; what is promised of them goes along.",
			operators, w.pickLine),
		verb.New("short_pick", "Says that a bin held less: the rest is looked for in other bins, and the bin is counted.",
			operators, w.shortPick),
		verb.New("pack", "Puts picked goods into a package.", operators, w.packGoods),
		verb.New("close_package", "Closes a package, which gets its SSCC; its content no longer changes.", operators,
			w.closePackage),
		verb.New("unpack", "Takes goods out of a package that has not left: they lie in the lane again.",
			operators, w.unpackGoods),
		verb.New("create_shipment", "Makes an outbound shipment of order lines, or of all that is reserved for orders.",
			managers, w.createShipment),
		verb.New("dispatch", "Sends shipments off whose goods, driver and vehicle are ready; their stock leaves.", managers,
			w.dispatchShipments),
		verb.New("plan_route", "Makes a route of shipments, its stops in a short order.", managers, w.planRoute),
		verb.New("start_route", "Sends a route's shipments off; those that may not leave come off it.", drivers,
			w.startRoute),
		verb.New("finish_route", "Ends a route whose stops are done.", drivers, w.finishRoute),
		verb.New("deliver", "Says that a shipment reached its receiver.", drivers, w.deliverShipment),
		verb.New("report_exception", "Says that a shipment cannot be delivered.", drivers, w.reportException),
		verb.New("return_shipment", "Takes a shipment back; its goods come in under a return order.", drivers,
			w.returnShipment),
		verb.New("unpick", "Puts picked goods back, where they are free.", operators, w.unpickGoods),
		verb.New("receive", "Takes goods in at a dock: against an order, an advance shipping notice, or unannounced; opens put-away tasks.", operators, receiveGoods),
		verb.Asks("suggest_putaway", "Names the places that would take goods, best first.", operators, suggestPutaway),
		verb.New("put_away", "Puts goods in their place: those of a task, or others.", operators, putAway),
		verb.New("move_stock", "Moves goods from one place to another.", operators, moveStock),
		verb.New("move_plate", "Moves a license plate with all that is on it.", operators, w.movePlate),
		verb.New("plan_replenishment", "Opens the tasks that rules of replenishment ask for.", managers, w.planReplenishment),
		verb.New("replenish", "Brings goods from the reserve to their pick zone.", operators, w.replenishZone),
		verb.New("adjust_stock", "Corrects the stock of a place; what is worth more than adjust_limit_value waits for a second person.", operators, adjustStock),
		verb.New("approve_adjustment", "A second person lets an adjustment through.", managers, approveAdjustment),
		verb.New("reject_adjustment", "A second person refuses an adjustment.", managers, rejectAdjustment),
		verb.New("start_count", "Opens a count of a place, or of one item there.", operators, startCount),
		verb.New("enter_count", "Enters what was found; a variance worth more than count_auto_approve waits for a second person.", operators, w.enterCount),
		verb.New("approve_count", "A second person lets the variance of a count through.", managers, w.approveCount),
		verb.New("recount", "Has a place counted again instead of booking its variance.", managers, recountStock),
		verb.New("recall_lot", "Recalls a lot: what is not packed goes on hold, and the answer says where it is and who was sent it.", recallers, w.recallLot),
		verb.New("receive_return", "Takes back what a customer returned, each piece with its disposition.", operators,
			receiveReturn),
		verb.Asks("owner_activity", "Says what was done with a goods owner's goods, day by day, and what lay there: what a client is billed for.", billers,
			owners.ListActivity),
		verb.Asks("owner_stock", "Says what lies here of an owner's goods, by item and lot, and what is free.", billers,
			owners.ListStock),
		verb.Asks("scan", "Says what a scanned code is and what can be done with it.", actor.Members,
			scanning.ScanCode),
	}
}

// workOf is the work of a verb.
func (w Watch) workOf(c *verb.Call) work { return work{c.Tx, w} }
