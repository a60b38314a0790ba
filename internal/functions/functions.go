// Package functions holds the interface's edge functions, one file each: an
// actor and an input go in, a typed answer comes out. It speaks no HTTP. Each
// dashboard reads its totals from the tenant's counters and its lists from the
// end of an index, in one round trip, so that its cost does not grow with the
// tenant.
//
// Layer: functions. Begin at [Table].
package functions

import (
	"cmp"
	"context"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/functions/planning"
	"holdfast/internal/functions/programme"
	"holdfast/internal/functions/programme/matrix"
	"holdfast/internal/imports"
	"holdfast/internal/imports/plan"
	"holdfast/internal/store"
)

// Function is one edge function.
type Function struct {
	Name    string
	Alias   string   // second name it answers to, or ""
	Methods []string // POST, GET
	Roles   []actor.Role
	TTL     time.Duration // 0 = never kept
	// Personal says that the answer depends on who asks, not only on the role;
	// User tells for whom it really does.
	Personal bool
	Writes   bool          // refused to a suspended tenant
	Imports  bool          // what it writes its input says: a key needs the scope of that too
	Patience time.Duration // that its answer may take; 0 = as any answer
	Reads    []string      // collections whose changes make a kept answer stale
	In       any           // zero input; its tags say how it is read (see Bind)
	Out      any           // zero answer; its tags say what it tells (see package output)
	Doc      string
	// Run answers with a pointer to the type of Out; in is a pointer to the type of
	// In.
	Run func(ctx context.Context, a actor.Actor, in any) (any, error)
	// Streamed says that the answer grows with the tenant: it is made while it is
	// sent, and what it tells is durable before it begins.
	Streamed bool
	// Forget drops what the function keeps of a tenant besides its answers, and
	// what it is looking at now is not kept; "" means of all tenants. nil where it
	// keeps nothing.
	Forget func(tenant string)
	// Changed drops of that what is told only while none of Reads changes. nil = nothing.
	Changed func(tenant string)
	// Dated says that the answer tells how old that is, so that who asks for a new
	// answer gets it yet.
	Dated bool

	params []param
	shared func(a actor.Actor) bool
}

// programmeTime is how long the safety programme of a large tenant may take, its
// turn and a slow line to the caller included.
const programmeTime = 10 * time.Minute

// importTime is how long a step of an import may take: a million rows on a busy
// machine.
const importTime = 30 * time.Minute

// User is the part of a cache key that stands for the caller: "" when
// everybody of the same role gets the same answer.
func (f *Function) User(a actor.Actor) string {
	if !f.Personal || f.shared != nil && f.shared(a) {
		return ""
	}
	return a.UserID
}

// Deps are what functions work with. Imports may be nil where no import
// function is called.
type Deps struct {
	Store   *store.Store
	Imports Importer
	Now     func() time.Time
	// Programme is the safety programme's verbs; nil = over Store, without hooks.
	Programme *programme.Programme
	Dear      time.Duration // figures of a whole inventory that took longer are kept for a while; 50 ms when 0
	AtOnce    int64         // items of an inventory whose health is looked at with an answer; 10,000 when 0
	Soon      time.Duration // how long answers wait for the first look at a larger one; 2 s when 0
}

// Table lists the functions.
func Table(d Deps) []Function {
	d.Dear, d.Soon, d.AtOnce = cmp.Or(d.Dear, 50*time.Millisecond), cmp.Or(d.Soon, healthSoon),
		cmp.Or(d.AtOnce, healthAtOnce)
	list := slices.Concat(newDashboard(d).dashboardFunctions(), programmeTable(d), planningTable(d), d.importTable())
	for i := range list {
		list[i].params = listParameters(list[i].In)
	}
	return list
}

// dashboardFunctions is the functions that read dashboards.
func (d *dashboard) dashboardFunctions() []Function {
	return []Function{
		{
			Name: "get-dashboard-snapshot-v2", Alias: "get-dashboard-snapshot", Methods: []string{"GET"},
			TTL: time.Minute, Personal: true, shared: d.snapshotShared,
			In: SnapshotIn{}, Out: SnapshotOut{}, Run: adaptFunction(d.dashboardSnapshot),
			Reads: []string{"zones", "items", "stock_movements", "stock_levels", "orders",
				"pick_lists", "shipments", "drivers", "incidents", "import_jobs", "members"},
			Doc: "Zones, inventory, open orders, active pick lists, shipments and drivers, safety and imports in one answer; lightweight=true gives totals only.",
		},
		{
			Name: "admin-dashboard-summary", Methods: []string{"GET"},
			TTL: summaryFor, Personal: true, shared: d.summaryShared, Forget: d.forgetHealth,
			Changed: d.unchanged.Forget,
			Dated:   true,
			In:      SummaryIn{}, Out: SummaryOut{}, Run: adaptFunction(d.adminSummary),
			Reads: []string{"zones", "items", "stock_movements", "stock_levels", "orders", "order_lines", "pick_lists",
				"shipments", "settings", "tenants", "members"},
			Doc: "Zones, inventory with its health, open orders, pick lists, shipments and settings.",
		},
		{
			Name: "site-overview", Methods: []string{"GET"}, Roles: overviewRoles,
			TTL: summaryFor, Personal: true, shared: d.overviewShared, Forget: d.forgetHealth,
			Changed: d.unchanged.Forget,
			Dated:   true,
			In:      OverviewIn{}, Out: OverviewOut{}, Run: adaptFunction(d.siteOverview),
			Reads: []string{"zones", "items", "stock_movements", "stock_levels", "orders", "order_lines", "pick_lists",
				"shipments", "incidents", "actions", "checklist_runs", "tenants", "members"},
			Doc: "What the console's first page shows of a site, in one answer: stock and its health, late orders, " +
				"work under way, the fullest places, incidents and the safety figures of 30 days.",
		},
		{
			Name: "safety-kpis", Methods: []string{"GET"},
			TTL: time.Minute, Personal: true, shared: d.kpisShared,
			In: KPIsIn{}, Out: KPIsOut{}, Run: adaptFunction(d.safetyKPIs),
			Reads: []string{"incidents", "actions", "checklist_runs", "members", "legal_clocks"},
			Doc:   "Reports, critical incidents, open and overdue actions and checklist compliance of the last days.",
		},
		{
			Name: "safety-overview", Methods: []string{"GET"}, Roles: overviewRoles,
			TTL: time.Minute, Personal: true, Dated: true,
			In: SafetyOverviewIn{}, Out: SafetyOverviewOut{}, Run: adaptFunction(d.safetyOverview),
			Reads: []string{"incidents", "actions", "checklist_runs", "training_assignments", "legal_clocks", "osha_cases",
				"shifts", "workers", "zones", "equipment", "sites", "predictive_scores", "score_runs", "settings", "tenants",
				"members"},
			Doc: "What waits for the caller, and the calendar months up to now in figures: reports, actions and " +
				"inspections in time, hours, recordable cases and their rates; the riskiest places and machines.",
		},
		{
			Name: "safety-rates", Methods: []string{"GET"}, TTL: time.Minute, Roles: actor.Leaders,
			In: RatesIn{}, Out: RatesOut{}, Run: adaptFunction(d.safetyRates),
			Reads: []string{"osha_cases", "absences", "osha_summaries", "incidents", "shifts", "workers", "zones", "sites",
				"tenants"},
			Doc: "TRIR, DART, LTIFR, severity rate and European incidence of a year, with exact Poisson 90 % intervals; and " +
				"what the establishments' countries count: TF, TG, IF, 1000-Mann-Quote, RIDDOR, ESAW.",
		},
	}
}

// programmeTable is the functions of the safety programme.
func programmeTable(d Deps) []Function {
	prog := d.Programme
	if prog == nil {
		prog = programme.New(d.Store, d.Now, programme.Hooks{})
	}
	return []Function{
		{
			Name: "calculate-predictive-safety-scores", Methods: []string{"POST", "GET"}, Roles: actor.Leaders, Writes: true,
			Patience: programmeTime,
			In:       programme.ScoresIn{}, Out: programme.ScoresOut{}, Run: adaptFunction(prog.Scores), Streamed: true,
			Doc: "Scores zones, drivers, workers and equipment from incidents, near misses, hours and workload of a period; " +
				"every score comes with its inputs, terms and model.",
		},
		{
			Name: "assign-risk-clusters", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Patience: programmeTime,
			In: programme.ClustersIn{}, Out: programme.ClustersOut{}, Run: adaptFunction(prog.Clusters),
			Doc: "Groups entities into Critical, High, Medium and Low by their newest official scores, replacing those that the filter names.",
		},
		{
			Name: "check-compliance-rules", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true,
			Patience: programmeTime,
			In:       programme.ComplianceIn{}, Out: programme.ComplianceOut{}, Run: adaptFunction(prog.Compliance),
			Streamed: true,
			Doc:      "Holds entities to the regulations in force; a first verdict and every change of one becomes an event.",
		},
		{
			Name: "auto-assign-training", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Patience: programmeTime,
			In: programme.TrainingIn{}, Out: programme.TrainingOut{}, Run: adaptFunction(prog.Training),
			Doc: "Assigns courses to the people behind scores that reach a course's threshold, unless they have it open or valid.",
		},
		{
			Name: "training-matrix", Methods: []string{"GET"}, TTL: time.Minute, Roles: actor.Leaders,
			In: matrix.In{}, Out: matrix.Out{}, Run: adaptFunction(matrix.New(d.Store, d.Now).Page),
			Reads: []string{"workers", "courses", "training_assignments", "shifts", "equipment", "regulations", "tenants"},
			Doc: "People by courses: what is asked of whom and why, how long it is valid, what is missing. Absence is never " +
				"told as held.",
		},
		{
			Name: "safety-engagement", Methods: []string{"GET"}, TTL: time.Minute, Personal: true,
			In: programme.EngagementIn{}, Out: programme.EngagementOut{}, Run: adaptFunction(prog.Engagement),
			Reads: []string{"point_events", "badges", "user_badges", "score_runs", "checklist_runs", "actions", "incidents",
				"workers", "teams", "zones", "settings", "tenants", "members"},
			Doc: "The caller's points, badges and score of the month; administrators also see teams and zones.",
		},
	}
}

// planningTable is the functions that say how work is best done.
func planningTable(d Deps) []Function {
	plan := planning.New(d.Store, d.Now, d.Dear)
	return []Function{
		{
			Name: "inventory-plan", Methods: []string{"GET"}, TTL: time.Minute, Forget: plan.Forget,
			In: planning.StockIn{}, Out: planning.StockOut{}, Run: adaptFunction(plan.Stock),
			Reads: []string{"items", "stock_movements", "stock_levels", "orders", "order_lines", "tenants"},
			Doc:   "How items move, and the reorder point that their demand asks for: demand of the lead time and a safety stock for its spread.",
		},
		{
			Name: "warehouse-kpis", Methods: []string{"GET"}, TTL: time.Minute,
			In: planning.KPIsIn{}, Out: planning.KPIsOut{}, Run: adaptFunction(plan.KPIs),
			Reads: []string{"stock_counts", "stock_movements", "item_costs", "pick_lines", "pick_lists", "shifts", "settings"},
			Doc:   "How often a count finds what the books say, lines picked in an hour, and what the stock is worth.",
		},
		{
			Name: "plan-pick-path", Methods: []string{"POST"}, Roles: planning.Managers, Writes: true,
			In: planning.WalkIn{}, Out: planning.WalkOut{}, Run: adaptFunction(plan.Walk),
			Doc: "Puts the pending lines of a pick list in walking order, S-shape improved by 2-opt, and says what distance that saves.",
		},
		{
			Name: "plan-routes", Methods: []string{"POST"}, Roles: planning.Managers, Writes: true,
			In: planning.DriveIn{}, Out: planning.DriveOut{}, Run: adaptFunction(plan.Drive),
			Doc: "Joins outbound shipments to routes by the savings method and 2-opt, for a driver or for all that nobody drives yet, " +
				"and says what distance that saves.",
		},
	}
}

// importTable is the functions that run import jobs.
func (d Deps) importTable() []Function {
	return []Function{
		{
			Name: "process-import-job", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Imports: true,
			Patience: importTime,
			In:       JobIn{}, Out: plan.Processed{}, Run: adaptFunction(d.processJob),
			Doc: "Reads the file of an import job and checks its rows.",
		},
		{
			Name: "apply-import-job", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Imports: true,
			Patience: importTime,
			In:       JobIn{}, Out: imports.Applied{}, Run: adaptFunction(d.applyJob),
			Doc: "Writes the valid rows of an import job: up to 20,000 in one transaction, more in chunks; called again it goes on where it broke off.",
		},
		{
			Name: "rollback-import-job", Methods: []string{"POST"}, Roles: []actor.Role{actor.Owner, actor.Admin}, Writes: true,
			Imports: true, Patience: importTime,
			In: RollbackIn{}, Out: imports.RolledBackResult{}, Run: adaptFunction(d.rollbackJob),
			Doc: "Puts back what an applied import job changed, if nothing was edited since.",
		},
	}
}

// adaptFunction gives a typed function the table's shape.
func adaptFunction[In, Out any](
	f func(context.Context, actor.Actor, *In) (*Out, error),
) func(context.Context, actor.Actor, any) (any, error) {
	return func(ctx context.Context, a actor.Actor, in any) (any, error) {
		out, err := f(ctx, a, in.(*In))
		if err != nil {
			return nil, err
		}
		return out, nil
	}
}

// Extra is a fault's Data whose members stand beside error and details in the
// function surface's error body.
type Extra map[string]any

// Body is the error body with the extra members.
func (x Extra) Body(msg, details string) any {
	body := map[string]any{"error": msg, "details": details}
	for k, v := range x {
		body[k] = v
	}
	return body
}
