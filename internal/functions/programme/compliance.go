package programme

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/functions/output"
	"holdfast/internal/jobtitle"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/safety/jurisdiction"
	"holdfast/internal/safety/yearly"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// ComplianceIn asks for a scan.
type ComplianceIn struct {
	EntityType   string `query:"entity_type" oneof:"zone driver worker equipment" doc:"Type of entity; all when absent."`
	EntityID     string `query:"entity_id" format:"uuid" doc:"One entity; all when absent."`
	Jurisdiction string `query:"jurisdiction" oneof:"US EU Global" doc:"Only regulations of this jurisdiction; all when absent."`
}

// ComplianceOut is the answer of check-compliance-rules.
type ComplianceOut struct {
	Success bool              `json:"success" doc:"true."`
	Tenant  string            `json:"tenant_id" format:"uuid" doc:"The tenant."`
	Created int               `json:"events_created" doc:"Verdicts that are new or have changed."`
	Summary ComplianceSummary `json:"summary" doc:"The regulations in force by their worst verdict."`
	// Events of earlier checks are not told again, but that there are some is.
	Standing StandingVerdicts `json:"standing" doc:"The warnings and breaches of earlier checks that have not changed."`

	Events output.Rows[EventOut] `json:"events" doc:"The verdicts that are new or have changed."`
}

// EventOut is a verdict that is new or has changed.
type EventOut struct {
	ID         uuid.UUID `json:"id" format:"uuid" doc:"The event."`
	Regulation string    `json:"regulation_id" format:"uuid" doc:"The regulation."`
	Code       string    `json:"regulation_code" doc:"Its code."`
	EntityType string    `json:"entity_type" enum:"zone,driver,worker,equipment" doc:"Type of the entity."`
	Entity     uuid.UUID `json:"entity_id" format:"uuid" doc:"Whom or what the verdict is about."`
	Status     string    `json:"status" enum:"compliant,insufficient_data,warning,breach" doc:"The verdict."`
	Previous   *string   `json:"previous_status" enum:"compliant,insufficient_data,warning,breach" doc:"The verdict before; null for the first."`
	Value      *float64  `json:"value" unit:"as the metric" doc:"What was measured; null where unknown."`
	Threshold  float64   `json:"threshold" unit:"as the metric" doc:"What it was held against."`

	Evidence []uuid.UUID `json:"evidence" format:"uuid" doc:"The records that decide, of the rule's evidence; at most five."`

	Details json.RawMessage `json:"details" doc:"How the verdict came about: metric, window_days, insufficient_data or never_recorded, not_applicable."`
}

// regulation is one that is in force, with its rule.
type regulation struct {
	id, code string
	law      string // its jurisdiction
	rule     *safety.Rule
	worst    safety.Standing
	judged   bool               // it has a verdict in this scan
	notes    [notesCount]string // details by notesOf
	jobs     []string           // what the job titles of its filter mean
	driven   []bool             // of each worker: drove equipment that goes with one of jobs
}

// statusNames are ordered by how bad they are.
var statusNames = safety.Statuses

func statusRank(status string) uint8 { return uint8(slices.Index(statusNames[:], status)) }

// isBad reports a warning or a breach.
func isBad(status uint8) bool { return status > statusRank(safety.InsufficientData) }

// unseen stands for the status of an entity without a verdict.
const unseen = uint8(len(statusNames))

// scan is one compliance check.
type scan struct {
	tenant string
	in     *ComplianceIn
	now    time.Time
	st     *settings
	regs   []*regulation
	groups map[string]*group
	detail map[string][]string             // entity type -> kind or job title of each of the group
	titles map[string][2]string            // job and folded title by title
	root   uuid.UUID                       // zone that stands for the tenant; Nil = none
	sites  sites                           // zones that stand for the sites
	places map[string][]jurisdiction.Place // entity type -> law of each of the group; none where one law holds
	waived map[[2]string]bool              // regulation and entity
	sees   bool                            // the caller may see the scores of single people
	facts  map[string]float64
	known  surroundings
	tables *metricTables
	finish []func() // what completes tables once all rows are read

	submitters *yearly.Register // nil while no rule asks who submits
	fresh      findings
	moved      findings // the status is as it was, what it rests on is not
	left       []leaver // verdicts that are in force no more
	stand      int      // warnings and breaches that have not changed and that the caller may see
}

// prepareNotes writes the details of every kind of verdict of a rule.
func (r *regulation) prepareNotes() {
	for n := range r.notes {
		// Plain structs always marshal.
		text, _ := json.Marshal(details{r.rule.Metric, n&noteUnknown != 0, n&noteNever != 0, n&noteExempt != 0, r.rule.WindowDays})
		r.notes[n] = string(text)
	}
}

// Compliance holds every entity in scope to every regulation in force, writes
// an event at the first check and at each change of status, keeps the verdicts in
// force with what they rest on, and answers check-compliance-rules. Where nothing
// changed, the moment of each regulation alone is written.
func (p *Programme) Compliance(ctx context.Context, a actor.Actor, in *ComplianceIn) (*ComplianceOut, error) {
	return inTurn(ctx, p, a, in.EntityID, func() (*ComplianceOut, error) { return p.checkCompliance(ctx, a, in) })
}

func (p *Programme) checkCompliance(ctx context.Context, a actor.Actor, in *ComplianceIn) (*ComplianceOut, error) {
	s := &scan{tenant: a.TenantID, in: in, sees: seesPeople(a.Role), now: p.now().UTC().Truncate(time.Microsecond)}
	err := p.read(ctx, a, func(tx *db.Tx) error {
		if err := s.readRules(tx); err != nil {
			return err
		}
		return s.measureMetrics(tx)
	})
	if err != nil {
		return nil, err
	}
	err = p.write(ctx, a, func(tx *db.Tx) error {
		lockTenant(tx, a.TenantID)
		if err := s.judgeRules(tx); err != nil {
			return err
		}
		if err := s.writeStates(tx); err != nil {
			return err
		}
		tx.After(func() {
			p.hooks.Changed(a.TenantID, []string{"compliance_events", "compliance_states", "regulations"})
		})
		if s.fresh.n == 0 {
			return nil
		}
		if err := s.writeVerdicts(tx); err != nil {
			return err
		}
		if err := s.sendEvents(tx, p.hooks.Tell); err != nil {
			return err
		}
		p.writeAudit(tx, a, "compliance.check", map[string]any{"events_created": s.fresh.n, "regulations": len(s.regs)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.complianceOut(), nil
}

// regulationsSQL selects the regulations in force. $1 tenant; the word is a condition.
const regulationsSQL = `
	SELECT id, code, rule, jurisdiction
	FROM regulations
	WHERE tenant_id = $1
		AND status = 'active'
		AND archived_at IS NULL
		%s
	ORDER BY lower(code)`

const readRulesSQL = `
	SELECT id
	FROM zones
	WHERE tenant_id = $1 AND status <> 'archived'
	ORDER BY CASE WHEN parent_id IS NULL THEN 0 ELSE 1 END, CASE WHEN site_id IS NULL THEN 1 ELSE 0 END,
		lower(code)
	LIMIT 1`

// readRules reads what is in force and whom it is about.
func (s *scan) readRules(tx *db.Tx) error {
	s.regs = nil
	s.st, s.groups, s.waived, s.facts = queueSettings(tx, s.tenant), map[string]*group{}, map[[2]string]bool{}, map[string]float64{}
	args := []any{s.tenant}
	only := ""
	if s.in.Jurisdiction != "" {
		args = append(args, s.in.Jurisdiction)
		only = "AND jurisdiction = $2"
	}
	tx.Queue(fmt.Sprintf(regulationsSQL, only), args,
		func(r *db.Row) error {
			rule, err := safety.ParseRule([]byte(r.Text(2)))
			if err != nil {
				return nil // written before rules were checked: it has no verdict
			}
			if s.in.EntityType == "" || slices.Contains(rule.Scope.EntityTypes, s.in.EntityType) {
				g := &regulation{id: r.Text(0), code: r.Text(1), law: r.Text(3), rule: rule, jobs: rule.Scope.Filter.Jobs()}
				g.prepareNotes()
				s.regs = append(s.regs, g)
			}
			return nil
		})
	for _, t := range entityTypes(s.in.EntityType) {
		s.groups[t] = queueEntities(tx, selector{tenant: s.tenant, kind: t, id: s.in.EntityID})
	}
	tx.Queue(readRulesSQL, []any{s.tenant}, func(r *db.Row) error { s.root = r.UUID(0); return nil })
	tx.Queue(`
		SELECT regulation_id, entity_id
		FROM compliance_events
		WHERE tenant_id = $1
			AND waived_until > $2`, []any{s.tenant, s.now}, func(r *db.Row) error {
		s.waived[[2]string{r.Text(0), r.Text(1)}] = true
		return nil
	})
	tx.Queue(safety.RuleFactsSQL, []any{s.tenant}, func(r *db.Row) error {
		if r.Int(1) > 0 { // nobody on record is not a small establishment
			s.facts["site.avg_employees"], s.facts["tenant.workers"] = float64(r.Int(0)), float64(r.Int(1))
		}
		return nil
	})
	s.queueSurroundings(tx)
	if err := tx.Flush(); err != nil {
		return err
	}
	s.st.repairSettings()
	list := make([]*group, 0, len(s.groups))
	for _, g := range s.groups {
		list = append(list, g)
	}
	if err := refuseAbsent(s.in.EntityType, s.in.EntityID, list); err != nil {
		return err
	}
	s.regs = slices.DeleteFunc(s.regs, func(r *regulation) bool { return !s.readsAll(r.rule) })
	s.queueDetails(tx)
	s.queueDriven(tx)
	s.queueSites(tx)
	s.queuePlaces(tx)
	return nil
}

// readsAll reports whether the scan reads all that a rule is about. A rule for the
// tenant is recorded on one zone; a scan of other entities has no verdict on it,
// nor has one of that zone alone where the rule looks at every zone.
func (s *scan) readsAll(r *safety.Rule) bool {
	if r.Per != "tenant" {
		return true
	}
	if s.groups[score.Zone] == nil {
		return false
	}
	return s.in.EntityID == "" || s.in.EntityID == s.root.String() && r.Metric != "predictive_score" && r.Metric != "zone_utilization"
}

// queueDetails asks for what filters on entities look at, if any do.
func (s *scan) queueDetails(tx *db.Tx) {
	s.detail, s.titles = map[string][]string{}, map[string][2]string{}
	for kind, sql := range map[string]string{
		score.Zone: "SELECT id, kind FROM zones WHERE tenant_id = $1", score.Equipment: "SELECT id, kind FROM equipment WHERE tenant_id = $1",
		score.Worker: `
			SELECT id, job_title
			FROM workers
			WHERE tenant_id = $1
				AND job_title IS NOT NULL`,
	} {
		g := s.groups[kind]
		if g == nil || !slices.ContainsFunc(s.regs, func(r *regulation) bool { return len(r.filterWords(kind)) > 0 }) {
			continue
		}
		list := make([]string, len(g.list))
		s.detail[kind] = list
		tx.Queue(sql, []any{s.tenant}, func(r *db.Row) error {
			if i := g.findPlace(r, 0); i >= 0 {
				list[i] = r.Text(1)
			}
			return nil
		})
	}
}

// filterWords are the kinds or jobs that a rule's filter lets in; none lets in all.
func (r *regulation) filterWords(kind string) []string {
	switch kind {
	case score.Zone:
		return r.rule.Scope.Filter.ZoneKind
	case score.Equipment:
		return r.rule.Scope.Filter.EquipmentKind
	case score.Worker:
		return r.jobs
	}
	return nil
}

// isCovered reports whether a rule's filters let in the ith entity of a type. A
// worker has a job by its title, or by what they drove in the rule's window.
func (s *scan) isCovered(r *regulation, kind string, i int) bool {
	wanted := r.filterWords(kind)
	if len(wanted) == 0 {
		return true
	}
	word := s.detail[kind][i]
	if kind != score.Worker {
		return slices.Contains(wanted, word)
	}
	return s.hasJob(word, wanted) || r.driven != nil && r.driven[i]
}

// hasJob reports whether a title means one of some jobs, or is the name of one.
func (s *scan) hasJob(title string, jobs []string) bool {
	is, known := s.titles[title]
	if !known {
		is = [2]string{jobtitle.Of(title), jobtitle.Fold(title)}
		s.titles[title] = is
	}
	return slices.Contains(jobs, is[0]) || slices.Contains(jobs, is[1])
}

// judgeRules evaluates, compares with the verdicts in force and gathers what
// changed.
func (s *scan) judgeRules(tx *db.Tx) error {
	s.fresh, s.moved, s.left, s.stand = findings{}, findings{}, nil, 0
	for _, r := range s.regs {
		before, err := s.readPast(tx, r)
		if err != nil {
			return err
		}
		if r.rule.Per == "tenant" {
			if s.root != uuid.Nil {
				t := s.tables.by[tableKey(r, score.Zone)]
				s.addVerdict(r, verdictPlace{t, s.root, everyEntity}, s.tables.tenantReading(r), before.takeRoot(s))
			}
			s.noteLeavers(r, before)
			continue
		}
		if r.rule.Per == "site" {
			s.judgeSites(r, before)
			s.noteLeavers(r, before)
			continue
		}
		for _, kind := range r.rule.Scope.EntityTypes {
			g := s.groups[kind]
			if g == nil {
				continue
			}
			t := s.tables.by[tableKey(r, kind)]
			for i := range g.list {
				if s.isUnderLaw(r, kind, i) && s.isCovered(r, kind, i) {
					s.addVerdict(r, verdictPlace{t, g.list[i].id, int32(i)}, t.readingOf(i), before.takeVerdict(kind, i))
				}
			}
		}
		s.noteLeavers(r, before)
	}
	return nil
}

// verdictPlace is whom or what a verdict is about, and where it was measured.
type verdictPlace struct {
	measured *table
	entity   uuid.UUID
	place    int32
}

func (s *scan) addVerdict(r *regulation, at verdictPlace, in safety.Reading, before lastVerdict) {
	kind, id := at.measured.kind, at.entity
	v := r.rule.Evaluate(in, s.facts)
	status := statusRank(v.Status)
	if s.sees || r.about(kind) != aboutScore {
		r.judged = true
		waived := len(s.waived) > 0 && s.waived[[2]string{r.id, id.String()}]
		r.worst = max(r.worst, safety.StandingOf(v.Status, waived))
	}
	found := finding{reg: r, measured: at.measured, place: at.place, entity: id, value: score.Round(v.Value, 2),
		threshold: v.Threshold, status: status, previous: before.status, known: v.Known, notes: notesOf(&v)}
	if before.status == status {
		if s.in.EntityID != "" || found.hashBasis() != before.basis {
			s.moved.addFinding(found)
		}
		if isBad(status) && (s.sees || r.about(kind) != aboutScore) {
			s.stand++
		}
		return
	}
	found.id = uuid.Must(uuid.NewV7())
	s.fresh.addFinding(found)
}

var eventColumns = []db.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"}, {Name: "regulation_id", Type: "uuid"},
	{Name: "entity_type", Type: "text"},
	{Name: "entity_id", Type: "uuid"}, {Name: "about", Type: "text"},
	{Name: "status", Type: "text"}, {Name: "value", Type: "bigint"}, {Name: "threshold", Type: "bigint"},
	{Name: "window_start", Type: "timestamptz"},
	{Name: "window_end", Type: "timestamptz"}, {Name: "details", Type: "text"}, {Name: "evaluated_at", Type: "timestamptz"},
	{Name: "created_at", Type: "timestamptz"},
	{Name: "updated_at", Type: "timestamptz"}, {Name: "version", Type: "bigint"}}

// writeVerdicts writes the events.
func (s *scan) writeVerdicts(tx *db.Tx) error {
	events := tx.InsertMany("compliance_events", eventColumns, "")
	for f := range s.fresh.allFindings() {
		from, _ := windowOf(s.now, int64(f.reg.rule.WindowDays))
		events.Text(s.tenant)
		events.UUID(f.id)
		events.Text(f.reg.id)
		events.Text(f.entityKind())
		events.UUID(f.entity)
		events.Text(f.reg.about(f.entityKind()))
		events.Text(statusNames[f.status])
		// Events are read by more people than single persons' scores are.
		if f.known && !f.isPersonal() {
			events.Int(signedDecimal(f.value))
		} else {
			events.Null()
		}
		events.Int(signedDecimal(f.threshold))
		events.Time(from)
		events.Time(s.now)
		events.Text(f.reg.notes[f.notes])
		for range 3 { // evaluated, created, updated
			events.Time(s.now)
		}
		events.Int(1)
		if err := events.End(); err != nil {
			return err
		}
	}
	events.Queue()
	return tx.Flush()
}

// toldAtOnce bounds the memory of events on their way.
const toldAtOnce = 1000

// sendEvents hands on the events that somebody may wait for: a verdict that changed,
// or a first one that is a warning or a breach.
func (s *scan) sendEvents(tx *db.Tx, tell func(*db.Tx, string, []store.Row) error) error {
	var rows []store.Row
	for f := range s.fresh.allFindings() {
		if f.previous == unseen && !isBad(f.status) {
			continue
		}
		rows = append(rows, store.Row{"tenant_id": s.tenant, "id": f.id.String(), "regulation_id": f.reg.id,
			"entity_type": f.entityKind(), "entity_id": f.entity.String(), "about": f.reg.about(f.entityKind()),
			"status": statusNames[f.status], "evaluated_at": query.FormatTime(s.now)})
		if len(rows) < toldAtOnce {
			continue
		}
		if err := tell(tx, "compliance_events", rows); err != nil {
			return err
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		rows = rows[:0]
	}
	return tell(tx, "compliance_events", rows)
}

// signedDecimal is a figure of either sign as a decimal column holds it.
func signedDecimal(f float64) int64 {
	return int64(math.Copysign(float64(scaledDecimal(math.Abs(f))), f))
}

// complianceOut is the answer; its events are read while they are sent. Verdicts on the
// scores of people are left out of it, counts included, for who may not see them.
func (s *scan) complianceOut() *ComplianceOut {
	sees, fresh := s.sees, s.fresh // what nothing was found in is not needed any more
	shown := func(f *finding) bool { return sees || !f.isPersonal() }
	out := &ComplianceOut{Success: true, Tenant: s.tenant, Summary: s.summaryOf(), Standing: s.standingVerdicts()}
	out.Events = func(yield func(*EventOut) bool) {
		var x eventRow
		for f := range fresh.allFindings() {
			if !shown(f) {
				continue
			}
			if x.fillFrom(f); !yield(&x.EventOut) {
				return
			}
		}
	}
	for f := range fresh.allFindings() {
		if shown(f) {
			out.Created++
		}
	}
	return out
}
