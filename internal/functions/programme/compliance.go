package programme

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/query"
	"holdfast/internal/safety"
	"holdfast/internal/score"
	"holdfast/internal/store"
)

// ComplianceIn asks for a scan.
type ComplianceIn struct {
	EntityType   string `query:"entity_type" oneof:"zone driver worker equipment" doc:"Type of entity; all when absent."`
	EntityID     string `query:"entity_id" format:"uuid" doc:"One entity; all when absent."`
	Jurisdiction string `query:"jurisdiction" oneof:"US EU Global" doc:"Only regulations of this jurisdiction; all when absent."`
}

type summaryOut struct {
	Regulations int    `json:"total_regulations"`
	Compliant   int    `json:"compliant_count"`
	Warning     int    `json:"warning_count"`
	Breach      int    `json:"breach_count"`
	LastCheck   string `json:"last_check"`
}

// regulation is one that is in force, with its rule.
type regulation struct {
	id, code string
	rule     *safety.Rule
	worst    uint8
}

// verdicts are ordered by how bad they are.
var statusNames = [...]string{"compliant", "warning", "breach"}

func rank(status string) uint8 { return uint8(slices.Index(statusNames[:], status)) }

// scan is one compliance check.
type scan struct {
	tenant string
	in     *ComplianceIn
	now    time.Time
	st     *settings
	regs   []*regulation
	groups map[string]*group
	detail map[string]map[string]string // entity type -> id -> kind or job title
	root   string                       // zone that stands for the tenant
	waived map[[2]string]bool           // regulation and entity
	facts  map[string]float64
	tables *metricTables
	fresh  []verdictOut
	notes  []*safety.Rule // rules of fresh, in step
}

type verdictOut struct {
	ID         string   `json:"id"`
	Regulation string   `json:"regulation_id"`
	Code       string   `json:"regulation_code"`
	EntityType string   `json:"entity_type"`
	EntityID   string   `json:"entity_id"`
	Status     string   `json:"status"`
	Previous   *string  `json:"previous_status"`
	Value      *float64 `json:"value"`
	Threshold  float64  `json:"threshold"`
	Details    details  `json:"details"`
}

func (v *verdictOut) personalScore() bool {
	return personal(v.EntityType) && v.Details.Metric == "predictive_score"
}

type details struct {
	Metric       string `json:"metric"`
	Insufficient bool   `json:"insufficient_data,omitempty"`
	Exempt       bool   `json:"not_applicable,omitempty"`
	WindowDays   int    `json:"window_days"`
}

// Compliance holds every entity in scope to every regulation in force, writes
// an event at the first check and at each change of status, and answers
// check-compliance-rules. Nothing changed means nothing written.
func (p *Programme) Compliance(ctx context.Context, a actor.Actor, in *ComplianceIn) ([]byte, error) {
	s := &scan{tenant: a.TenantID, in: in, now: p.now().UTC().Truncate(time.Microsecond)}
	err := p.read(ctx, a, func(tx *db.Tx) error {
		if err := s.prepare(tx); err != nil {
			return err
		}
		return s.measure(tx)
	})
	if err != nil {
		return nil, err
	}
	err = p.write(ctx, a, func(tx *db.Tx) error {
		if err := lock(tx, a.TenantID); err != nil {
			return err
		}
		if err := s.judge(tx); err != nil || len(s.fresh) == 0 {
			return err
		}
		if err := s.keep(tx); err != nil {
			return err
		}
		tx.After(func() { p.hooks.Changed(a.TenantID, []string{"compliance_events"}) })
		if err := p.hooks.Tell(tx, "compliance_events", s.news()); err != nil {
			return err
		}
		return p.audit(tx, a, "compliance.check", map[string]any{"events_created": len(s.fresh), "regulations": len(s.regs)})
	})
	if err != nil {
		return nil, err
	}
	return s.answer(a)
}

// prepare reads what is in force and whom it is about.
func (s *scan) prepare(tx *db.Tx) error {
	s.regs = nil
	s.st, s.groups, s.waived, s.facts = queueSettings(tx, s.tenant), map[string]*group{}, map[[2]string]bool{}, map[string]float64{}
	args := []any{s.tenant}
	only := ""
	if s.in.Jurisdiction != "" {
		args = append(args, s.in.Jurisdiction)
		only = " AND jurisdiction = $2"
	}
	tx.Queue("SELECT id, code, rule FROM regulations WHERE tenant_id = $1 AND status = 'active' AND archived_at IS NULL"+only+" ORDER BY lower(code)", args, func(r *db.Row) error {
		rule, err := safety.ParseRule([]byte(r.Text(2)))
		if err != nil {
			return nil // written before rules were checked: it has no verdict
		}
		if s.in.EntityType == "" || slices.Contains(rule.Scope.EntityTypes, s.in.EntityType) {
			s.regs = append(s.regs, &regulation{id: r.Text(0), code: r.Text(1), rule: rule})
		}
		return nil
	})
	for _, t := range types(s.in.EntityType) {
		s.groups[t] = queueEntities(tx, selector{s.tenant, t, s.in.EntityID})
	}
	s.queueDetails(tx)
	tx.Queue("SELECT id FROM zones WHERE tenant_id = $1 AND status <> 'archived' ORDER BY CASE WHEN parent_id IS NULL THEN 0 ELSE 1 END, "+
		"CASE WHEN site_id IS NULL THEN 1 ELSE 0 END, lower(code) LIMIT 1", []any{s.tenant}, func(r *db.Row) error { s.root = r.Text(0); return nil })
	tx.Queue("SELECT regulation_id, entity_id FROM compliance_events WHERE tenant_id = $1 AND waived_until > $2", []any{s.tenant, s.now}, func(r *db.Row) error {
		s.waived[[2]string{r.Text(0), r.Text(1)}] = true
		return nil
	})
	tx.Queue("SELECT coalesce(MAX(n), 0), CAST(coalesce(SUM(n), 0) AS bigint) FROM (SELECT COUNT(*) AS n FROM workers WHERE tenant_id = $1 AND status = 'active' GROUP BY site_id) x",
		[]any{s.tenant}, func(r *db.Row) error {
			s.facts["site.avg_employees"], s.facts["tenant.workers"] = float64(r.Int(0)), float64(r.Int(1))
			return nil
		})
	if err := tx.Flush(); err != nil {
		return err
	}
	s.st.usable()
	list := make([]*group, 0, len(s.groups))
	for _, g := range s.groups {
		list = append(list, g)
	}
	return absent(s.in.EntityType, s.in.EntityID, list)
}

// queueDetails asks for what filters on entities look at.
func (s *scan) queueDetails(tx *db.Tx) {
	s.detail = map[string]map[string]string{}
	for kind, sql := range map[string]string{
		score.Zone: "SELECT id, kind FROM zones WHERE tenant_id = $1", score.Equipment: "SELECT id, kind FROM equipment WHERE tenant_id = $1",
		score.Worker: "SELECT id, job_title FROM workers WHERE tenant_id = $1 AND job_title IS NOT NULL",
	} {
		if s.groups[kind] == nil {
			continue
		}
		m := map[string]string{}
		s.detail[kind] = m
		tx.Queue(sql, []any{s.tenant}, func(r *db.Row) error { m[r.Text(0)] = r.Text(1); return nil })
	}
}

// covers reports whether a rule's filters let an entity in.
func (s *scan) covers(f *safety.Filter, kind, id string) bool {
	wanted := map[string][]string{score.Zone: f.ZoneKind, score.Equipment: f.EquipmentKind, score.Worker: f.JobTitle}[kind]
	return len(wanted) == 0 || slices.Contains(wanted, s.detail[kind][id])
}

// judge evaluates, compares with the verdicts in force and gathers what
// changed.
func (s *scan) judge(tx *db.Tx) error {
	s.fresh, s.notes = nil, nil
	for _, r := range s.regs {
		before := map[string]string{}
		err := tx.Query("SELECT entity_id, status FROM compliance_states WHERE tenant_id = $1 AND regulation_id = $2", []any{s.tenant, r.id}, func(row *db.Row) error {
			before[row.Text(0)] = row.Text(1)
			return nil
		})
		if err != nil {
			return err
		}
		if r.rule.Per == "tenant" {
			if s.root != "" && (s.in.EntityID == "" || s.in.EntityID == s.root) {
				s.verdict(r, score.Zone, s.root, s.tables.tenant(r.rule, s), before)
			}
			continue
		}
		for _, kind := range r.rule.Scope.EntityTypes {
			g := s.groups[kind]
			if g == nil {
				continue
			}
			read := s.tables.entities(r.rule, kind, s)
			for i := range g.list {
				if id := g.list[i].id; s.covers(&r.rule.Scope.Filter, kind, id) {
					s.verdict(r, kind, id, read(i), before)
				}
			}
		}
	}
	return nil
}

func (s *scan) verdict(r *regulation, kind, id string, in safety.Reading, before map[string]string) {
	v := r.rule.Evaluate(in, s.facts)
	if !s.waived[[2]string{r.id, id}] {
		r.worst = max(r.worst, rank(v.Status))
	}
	old, seen := before[id]
	if seen && old == v.Status {
		return
	}
	out := verdictOut{ID: newID(), Regulation: r.id, Code: r.code, EntityType: kind, EntityID: id, Status: v.Status, Threshold: v.Threshold,
		Details: details{r.rule.Metric, v.Insufficient, v.Exempt, r.rule.WindowDays}}
	if seen {
		out.Previous = &old
	}
	if v.Known {
		x := score.Round(v.Value, 2)
		out.Value = &x
	}
	s.fresh = append(s.fresh, out)
	s.notes = append(s.notes, r.rule)
}

var eventColumns = []safety.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "id", Type: "uuid"}, {Name: "regulation_id", Type: "uuid"}, {Name: "entity_type", Type: "text"},
	{Name: "entity_id", Type: "uuid"}, {Name: "status", Type: "text"}, {Name: "value", Type: "bigint"}, {Name: "threshold", Type: "bigint"}, {Name: "window_start", Type: "timestamptz"},
	{Name: "window_end", Type: "timestamptz"}, {Name: "details", Type: "text"}, {Name: "evaluated_at", Type: "timestamptz"}, {Name: "created_at", Type: "timestamptz"},
	{Name: "updated_at", Type: "timestamptz"}, {Name: "version", Type: "bigint"}}

var stateColumns = []safety.Column{{Name: "tenant_id", Type: "uuid"}, {Name: "regulation_id", Type: "uuid"}, {Name: "entity_type", Type: "text"}, {Name: "entity_id", Type: "uuid"},
	{Name: "status", Type: "text"}, {Name: "event_id", Type: "uuid"}}

// keep writes the events and the verdicts now in force.
func (s *scan) keep(tx *db.Tx) error {
	events := safety.NewRows(tx, "compliance_events", eventColumns, "")
	states := safety.NewRows(tx, "compliance_states", stateColumns,
		"ON CONFLICT (tenant_id, regulation_id, entity_type, entity_id) DO UPDATE SET status = excluded.status, event_id = excluded.event_id")
	for i := range s.fresh {
		e := &s.fresh[i]
		notes, err := json.Marshal(e.Details)
		if err != nil {
			return err
		}
		var value any
		// Events are read by more people than single persons' scores are.
		if e.Value != nil && !e.personalScore() {
			value = signed(*e.Value)
		}
		from, _ := window(s.now, int64(s.notes[i].WindowDays))
		if err := events.Add(s.tenant, e.ID, e.Regulation, e.EntityType, e.EntityID, e.Status, value, signed(e.Threshold), from, s.now, string(notes), s.now, s.now, s.now, 1); err != nil {
			return err
		}
		if err := states.Add(s.tenant, e.Regulation, e.EntityType, e.EntityID, e.Status, e.ID); err != nil {
			return err
		}
	}
	events.Queue()
	states.Queue()
	return tx.Flush()
}

// news are the events that somebody may wait for: a verdict that changed, or a
// first one that is not compliant.
func (s *scan) news() []store.Row {
	var rows []store.Row
	for i := range s.fresh {
		if e := &s.fresh[i]; e.Previous != nil || e.Status != "compliant" {
			rows = append(rows, store.Row{"tenant_id": s.tenant, "id": e.ID, "regulation_id": e.Regulation, "entity_type": e.EntityType, "entity_id": e.EntityID,
				"status": e.Status, "evaluated_at": query.FormatTime(s.now)})
		}
	}
	return rows
}

// signed is a figure of either sign as a decimal column holds it.
func signed(f float64) int64 { return int64(math.Copysign(float64(scaled(math.Abs(f))), f)) }

func (s *scan) answer(a actor.Actor) ([]byte, error) {
	sum := summaryOut{Regulations: len(s.regs), LastCheck: query.FormatTime(s.now)}
	for _, r := range s.regs {
		switch r.worst {
		case 0:
			sum.Compliant++
		case 1:
			sum.Warning++
		default:
			sum.Breach++
		}
	}
	totals, err := json.Marshal(sum)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"success":true,"tenant_id":"`), a.TenantID...)
	b = strconv.AppendInt(append(b, `","events_created":`...), int64(len(s.fresh)), 10)
	b = append(append(b, `,"summary":`...), totals...)
	b = append(b, `,"events":[`...)
	for i := range s.fresh {
		e := s.fresh[i]
		// A person's score is for the safety officer and the person.
		if e.personalScore() && !sees(a.Role) {
			e.Value = nil
		}
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, text...)
	}
	return append(b, "]}"...), nil
}
