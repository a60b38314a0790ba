package catalog

import (
	"strings"

	"holdfast/internal/actor"
)

func countTasks() Resource {
	return Resource{
		Name: "count_tasks", Family: "warehouse",
		Doc: "A count that somebody has to make at a place: opened by start_count, a short pick or a plan, entered by enter_count.",
		Fields: []Field{
			{Name: "count_no", Format: Number, Prefix: "CT", ReadOnly: true},
			{Name: "zone_id", Type: UUID, Ref: "zones", Required: true, ReadOnly: true},
			{Name: "item_id", Type: UUID, Ref: "items", ReadOnly: true, Doc: "Null: everything in the zone."},
			{Name: "method", Required: true, Default: "cycle", OneOf: []string{"cycle", "full", "zero_check"}, ReadOnly: true},
			{Name: "blind", Type: Bool, Required: true, Default: "true", ReadOnly: true,
				Doc: "The counter is not told what the books say."},
			{Name: "status", Required: true, Default: "open",
				OneOf: strings.Fields("open counting counted approved recount cancelled")},
			{Name: "open_key", Format: Name, ReadOnly: true, Readers: nobody,
				Doc: "Zone and item while the task is not closed: one at a time."},
			{Name: "assigned_worker_id", Type: UUID, Ref: "workers", Readers: taskReaders()},
			{Name: "due_on", Type: Date},
			{Name: "reason", Format: Name, MaxLen: 500, ReadOnly: true, Doc: "Why a variance was approved or counted again."},
			{Name: "recount_of", Type: UUID, Ref: "count_tasks", ReadOnly: true},
			{Name: "variance_value", Type: Decimal, Unit: Currency, Cost: true, ReadOnly: true,
				Doc: "Sum of the lines' variances at unit cost, each without its sign."},
			{Name: "counted_by", Type: UUID, ReadOnly: true},
			{Name: "counted_at", Type: Time, ReadOnly: true},
			{Name: "approved_by", Type: UUID, ReadOnly: true, Doc: "Null when the variance was within count_auto_approve."},
			{Name: "approved_at", Type: Time, ReadOnly: true},
		},
		Unique:  [][]string{{"count_no"}, {"open_key"}},
		Indexes: [][]string{{"status", "id"}},
		Listed:  []string{"due_on"},
		Makers:  leaders,
		Own:     []string{"assigned_worker_id"},
		Zoned:   "zone_id",
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer))},
			Update: []Grant{grantAll(managers).onlyFields("status", "assigned_worker_id", "due_on")},
		},
		States: &States{Field: "status", Initial: []string{"open"}, Moves: []Move{
			{From: []string{"open"}, To: "counting"},
			{From: []string{"open", "counting"}, To: "counted"},
			{From: []string{"counted"}, To: "approved"},
			{From: []string{"counted"}, To: "recount"},
			{From: []string{"open", "counting", "counted"}, To: "cancelled", Roles: managers},
		}},
	}
}

// taskReaders see whose turn a task is: those who do such work, and those who hand it out.
// Whoever only looks would read from a list of tasks that are done how much each did.
func taskReaders() []actor.Role { return plusRoles(leaders, actor.Operator, actor.Driver) }

// bookReaders see what the books have beside a count: those who count do not.
func bookReaders() []actor.Role { return plusRoles(leaders, actor.Viewer) }

func countLines() Resource {
	books := bookReaders()
	return Resource{
		Name: "count_lines", Family: "warehouse",
		Doc: "What was found of one stock key in a count, beside what the books said. Written by verb enter_count.",
		Fields: []Field{
			{Name: "count_task_id", Type: UUID, Ref: "count_tasks", Required: true, ReadOnly: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "lot_id", Type: UUID, Ref: "lots", ReadOnly: true},
			{Name: "serial", Format: Name, MaxLen: 64, ReadOnly: true},
			{Name: "owner_id", Type: UUID, ReadOnly: true},
			{Name: "lpn", Format: Name, MaxLen: 64, ReadOnly: true, Label: "License plate"},
			{Name: "stock_status", Required: true, Default: "available", OneOf: stockStatuses, ReadOnly: true},
			{Name: "counted", Type: Decimal, Required: true, Min: "0", ReadOnly: true, Doc: "In base units."},
			{Name: "expected", Type: Decimal, Required: true, ReadOnly: true, Readers: books},
			{Name: "variance", Type: Decimal, Required: true, ReadOnly: true, Readers: books},
			{Name: "reason_code", Format: Name, MaxLen: 64, ReadOnly: true},
		},
		Access: keptByVerbs(),
	}
}

func stockAdjustments() Resource {
	return Resource{
		Name: "stock_adjustments", Family: "warehouse",
		Doc: "Adjustments of stock worth more than setting adjust_limit_value: they wait for a second person, who approves or rejects them by verb.",
		Fields: []Field{
			{Name: "adjustment_no", Format: Number, Prefix: "AD", ReadOnly: true},
			{Name: "status", Required: true, Default: "waiting", OneOf: []string{"waiting", "approved", "rejected"},
				ReadOnly: true},
			{Name: "zone_id", Type: UUID, Ref: "zones", Required: true, ReadOnly: true},
			{Name: "item_id", Type: UUID, Ref: "items", Required: true, ReadOnly: true},
			{Name: "lot_id", Type: UUID, Ref: "lots", ReadOnly: true},
			{Name: "serial", Format: Name, MaxLen: 64, ReadOnly: true},
			{Name: "owner_id", Type: UUID, ReadOnly: true},
			{Name: "lpn", Format: Name, MaxLen: 64, ReadOnly: true, Label: "License plate"},
			{Name: "stock_status", Required: true, Default: "available", OneOf: stockStatuses, ReadOnly: true},
			{Name: "quantity", Type: Decimal, Required: true, ReadOnly: true, Doc: "In base units; negative takes away."},
			{Name: "value", Type: Decimal, Unit: Currency, Cost: true, Required: true, ReadOnly: true,
				Doc: "Quantity without its sign x unit cost."},
			{Name: "reason_code", Format: Name, MaxLen: 64, Required: true, ReadOnly: true},
			{Name: "note", Format: Name, MaxLen: 500, ReadOnly: true},
			{Name: "decided_by", Type: UUID, ReadOnly: true},
			{Name: "decided_at", Type: Time, ReadOnly: true},
			{Name: "decision_note", Format: Name, MaxLen: 500, ReadOnly: true},
			{Name: "movement_id", Type: UUID, ReadOnly: true},
		},
		Unique:  [][]string{{"adjustment_no"}},
		Indexes: [][]string{{"status", "id"}},
		Zoned:   "zone_id",
		Access:  keptByVerbs(),
		States: &States{Field: "status", Initial: []string{"waiting"}, Moves: []Move{
			{From: []string{"waiting"}, To: "approved"},
			{From: []string{"waiting"}, To: "rejected"},
		}},
	}
}
