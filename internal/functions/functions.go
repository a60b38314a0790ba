// Package functions holds the interface's edge functions, one file each: an
// actor and an input go in, ready JSON bytes come out. It speaks no HTTP. Each
// dashboard reads its totals from the tenant's counters and its lists from the
// end of an index, in one round trip, so that its cost does not grow with the
// tenant.
package functions

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/planning"
	"holdfast/internal/functions/programme"
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
	Patience time.Duration // that its answer may take; 0 = as any answer
	Reads    []string      // collections whose changes make a kept answer stale
	In       any           // zero input; its tags say how it is read (see Bind)
	Doc      string
	Run      func(ctx context.Context, a actor.Actor, in any) ([]byte, error) // in is a pointer to the type of In
	// Stream is in place of Run where the answer grows with the tenant: it is made
	// while it is sent. What it tells is durable before it begins.
	Stream func(ctx context.Context, a actor.Actor, in any) (io.WriterTo, error)
	// Forget drops what the function keeps of a tenant besides its answers, and
	// what it is looking at now is not kept; "" means of all tenants. nil where it
	// keeps nothing.
	Forget func(tenant string)

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
}

// Table lists the functions.
func Table(d Deps) []Function {
	d.Dear = cmp.Or(d.Dear, 50*time.Millisecond)
	dash := newDashboard(d)
	prog := d.Programme
	if prog == nil {
		prog = programme.New(d.Store, d.Now, programme.Hooks{})
	}
	plan := planning.New(d.Store, d.Now, d.Dear)
	list := []Function{
		{
			Name: "get-dashboard-snapshot-v2", Alias: "get-dashboard-snapshot", Methods: []string{"GET"},
			TTL: time.Minute, Personal: true, shared: dash.snapshotShared, In: SnapshotIn{}, Run: call(dash.snapshot),
			Reads: []string{"zones", "items", "stock_movements", "stock_levels", "pick_lists", "shipments", "drivers", "incidents", "import_jobs", "members"},
			Doc:   "Zones, inventory, active pick lists, shipments and drivers, safety and imports in one answer; lightweight=true gives totals only.",
		},
		{
			Name: "admin-dashboard-summary", Methods: []string{"GET"},
			TTL: summaryFor, Personal: true, shared: dash.summaryShared, In: SummaryIn{}, Run: call(dash.summary), Forget: dash.health.Forget,
			Reads: []string{"zones", "items", "stock_movements", "stock_levels", "orders", "order_lines", "pick_lists", "shipments", "settings", "tenants", "members"},
			Doc:   "Zones, inventory with its health, pick lists, shipments and settings.",
		},
		{
			Name: "safety-kpis", Methods: []string{"GET"},
			TTL: time.Minute, Personal: true, shared: dash.kpisShared, In: KPIsIn{}, Run: call(dash.kpis),
			Reads: []string{"incidents", "actions", "checklist_runs", "members"},
			Doc:   "Reports, critical incidents, open and overdue actions and checklist compliance of the last days.",
		},
		{
			Name: "calculate-predictive-safety-scores", Methods: []string{"POST", "GET"}, Roles: actor.Leaders, Writes: true, Patience: programmeTime, In: programme.ScoresIn{}, Stream: call(prog.Scores),
			Doc: "Scores zones, drivers, workers and equipment from incidents, near misses, hours and workload of a period; every score comes with its inputs, terms and model.",
		},
		{
			Name: "assign-risk-clusters", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Patience: programmeTime, In: programme.ClustersIn{}, Run: call(prog.Clusters),
			Doc: "Groups entities into Critical, High, Medium and Low by their newest scores, replacing the tenant's groups.",
		},
		{
			Name: "check-compliance-rules", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Patience: programmeTime, In: programme.ComplianceIn{}, Stream: call(prog.Compliance),
			Doc: "Holds entities to the regulations in force; a first verdict and every change of one becomes an event.",
		},
		{
			Name: "auto-assign-training", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Patience: programmeTime, In: programme.TrainingIn{}, Run: call(prog.Training),
			Doc: "Assigns courses to the people behind scores that reach a course's threshold, unless they have it open or valid.",
		},
		{
			Name: "safety-engagement", Methods: []string{"GET"}, TTL: time.Minute, Personal: true, In: programme.EngagementIn{}, Run: call(prog.Engagement),
			Reads: []string{"point_events", "badges", "user_badges", "score_runs", "checklist_runs", "actions", "incidents", "workers", "teams", "zones", "settings", "tenants", "members"},
			Doc:   "The caller's points, badges and score of the month; administrators also see teams and zones.",
		},
		{
			Name: "safety-rates", Methods: []string{"GET"}, TTL: time.Minute, In: RatesIn{}, Run: call(dash.rates), Roles: actor.Leaders,
			Reads: []string{"osha_cases", "osha_summaries", "incidents", "shifts", "workers", "sites", "tenants"},
			Doc:   "TRIR, DART, LTIFR, severity rate and European incidence of a year, with exact Poisson 90 % intervals.",
		},
		{
			Name: "inventory-plan", Methods: []string{"GET"}, TTL: time.Minute, In: planning.StockIn{}, Run: call(plan.Stock), Forget: plan.Forget,
			Reads: []string{"items", "stock_movements", "stock_levels", "orders", "order_lines"},
			Doc:   "How items move, and the reorder point that their demand asks for: demand of the lead time and a safety stock for its spread.",
		},
		{
			Name: "warehouse-kpis", Methods: []string{"GET"}, TTL: time.Minute, In: planning.KPIsIn{}, Run: call(plan.KPIs),
			Reads: []string{"stock_counts", "pick_lines", "pick_lists", "shifts"},
			Doc:   "How often a count finds what the books say, and lines picked in an hour.",
		},
		{
			Name: "plan-pick-path", Methods: []string{"POST"}, Roles: planning.Managers, Writes: true, In: planning.WalkIn{}, Run: call(plan.Walk),
			Doc: "Puts the pending lines of a pick list in walking order, S-shape improved by 2-opt, and says what distance that saves.",
		},
		{
			Name: "plan-routes", Methods: []string{"POST"}, Roles: planning.Managers, Writes: true, In: planning.DriveIn{}, Run: call(plan.Drive),
			Doc: "Joins outbound shipments to routes by the savings method and 2-opt, for a driver or for all that nobody drives yet, and says what distance that saves.",
		},
		{
			Name: "process-import-job", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Patience: importTime, In: JobIn{}, Run: call(d.processJob),
			Doc: "Reads the file of an import job and checks its rows.",
		},
		{
			Name: "apply-import-job", Methods: []string{"POST"}, Roles: actor.Leaders, Writes: true, Patience: importTime, In: JobIn{}, Run: call(d.applyJob),
			Doc: "Writes the valid rows of an import job: up to 20,000 in one transaction, more in chunks; called again it goes on where it broke off.",
		},
		{
			Name: "rollback-import-job", Methods: []string{"POST"}, Writes: true, Patience: importTime, In: RollbackIn{}, Run: call(d.rollbackJob),
			Roles: []actor.Role{actor.Owner, actor.Admin},
			Doc:   "Puts back what an applied import job changed, if nothing was edited since.",
		},
	}
	for i := range list {
		list[i].params = parameters(list[i].In)
	}
	return list
}

// call gives a typed function the table's shape.
func call[In, Out any](f func(context.Context, actor.Actor, *In) (Out, error)) func(context.Context, actor.Actor, any) (Out, error) {
	return func(ctx context.Context, a actor.Actor, in any) (Out, error) { return f(ctx, a, in.(*In)) }
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

// The first members of every dashboard's answer have a fixed width, so that
// the place of "cached" is known.
const (
	headTenant = `{"tenant_id":"`
	headTime   = `","timestamp":"`
	headCached = `","cached":false`
	cachedAt   = len(headTenant) + 36 + len(headTime) + len(db.TimeLayout)
)

// AsHit returns the form of an answer that a cache hit sends: "cached" says
// true. An answer without that member is returned as it is.
func AsHit(body []byte) []byte {
	end := cachedAt + len(headCached)
	if len(body) < end || string(body[:len(headTenant)]) != headTenant || string(body[cachedAt:end]) != headCached {
		return body
	}
	out := make([]byte, 0, len(body)-1)
	out = append(out, body[:end-len("false")]...)
	out = append(out, "true"...)
	return append(out, body[end:]...)
}

func encode(v any) ([]byte, error) { return json.Marshal(v) }
