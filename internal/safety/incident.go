package safety

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/localtime"
	"holdfast/internal/query"
	"holdfast/internal/record"
	"holdfast/internal/store"
)

// reportIncidents completes a report and holds an incident to the conditions
// of its next state.
func reportIncidents(tx *store.Tx, changes []store.Change) error {
	now := query.FormatTime(tx.Now())
	refs := references{}
	var closing, pending []string
	zone, err := readZoneOfAnonymous(tx, changes)
	if err != nil {
		return err
	}
	for _, c := range record.Changes[record.Incident](changes) {
		if err := checkClosed(c); err != nil && tx.Store.Audited() {
			return err
		}
		in := c.After
		if c.Op == store.Insert {
			fillReport(tx.Actor, in, now)
		}
		if zone != nil && isAnonymousReport(c.Change) {
			err := RoundMoments(store.Row(in), zone, occurredColumn, reportedColumn, knownColumn, "created_at",
				"updated_at")
			if err != nil {
				return err
			}
		}
		if err := checkKnown(c); err != nil {
			return err
		}
		for _, f := range [...]string{occurredColumn, reportedColumn} {
			isSet := c.Op == store.Insert || c.Op == store.Update && in[f] != c.Before[f]
			if isSet && IsAhead(store.Row(in).Text(f), tx.Now()) {
				return fault.New(fault.Invalid, CodeReport, "%s lies in the future", f).At(f, "lies in the future")
			}
		}
		in.SetRiskRatingOrNull(RiskRating(in.Severity(), in.LikelihoodOrNull()))
		if err := refs.collectEntities(c); err != nil {
			return err
		}
		if err := checkCauses(c); err != nil {
			return err
		}
		if err := checkInvestigation(c, now); err != nil {
			return err
		}
		switch {
		case Becomes(c.Change, "void") && !in.HasVoidReason() && !in.HasDuplicateOf():
			return NotReady("say why the report is void: void_reason, or duplicate_of")
		case Becomes(c.Change, "closed"):
			in.SetClosedAt(now)
			closing = append(closing, in.ID())
		case Becomes(c.Change, "action_pending"):
			pending = append(pending, in.ID())
		case c.Op == store.Update && in.Status() != "closed":
			in.ClearClosedAt()
		}
		if in.HasDuplicateOf() && in.DuplicateOfOrNull() == in.IDOrNull() {
			return fault.New(fault.Invalid, CodeReport, "an incident is not a duplicate of itself").At("duplicate_of", "names the incident itself")
		}
	}
	refs.queueLookups(tx.Tx, tx.TenantID)
	open := openActions(tx.Tx, tx.TenantID, append(append([]string{}, closing...), pending...))
	if err := tx.Flush(); err != nil {
		return err
	}
	for _, id := range closing {
		if n := open[id]; n > 0 {
			return NotReady("%d of the incident's actions are still open", n)
		}
	}
	for _, id := range pending {
		if open[id] == 0 {
			return NotReady("no action is open for this incident")
		}
	}
	return refs.missingEntity()
}

// Columns of when an incident happened, became known to the employer and was reported.
const (
	occurredColumn = "occurred_at"
	knownColumn    = "known_at"
	reportedColumn = "reported_at"
)

// checkKnown holds when the employer learned of an incident between the incident and its
// report, which told the employer at the latest.
func checkKnown(c record.Change[record.Incident]) error {
	at := c.After.KnownAt()
	isSet := c.Op == store.Insert || IsChanged(c.Change, knownColumn, occurredColumn)
	switch {
	case at == "" || !isSet:
		return nil
	case at < c.After.OccurredAt():
		return RefuseField(knownColumn, "lies before the incident")
	case at > c.After.ReportedAt():
		return RefuseField(knownColumn, "lies after the report, which told the employer at the latest")
	}
	return nil
}

// checkClosed refuses changes of an incident that was closed and stays so: what was
// concluded changes by reopening it, which leaves a reason. Imports correct
// history.
func checkClosed(c record.Change[record.Incident]) *fault.Error {
	if c.Op != store.Update || c.Before.Status() != "closed" || c.After.Status() != "closed" {
		return nil
	}
	for i := range c.Resource.Fields {
		f := &c.Resource.Fields[i]
		if f.ReadOnly || saysWhoReads(f) || equalValues(c.Before[f.Name], c.After[f.Name]) {
			continue
		}
		return fault.New(fault.Conflict, CodeGuard, "incident %s is closed: %s no longer changes",
			c.After.IncidentNo(), f.Name).
			With("", "reopen it: status investigating with a reopen_reason").At(f.Name, "is kept as it is")
	}
	return nil
}

// saysWhoReads reports a field that says who reads an incident, which is no conclusion about it.
func saysWhoReads(f *catalog.Field) bool { return f.Name == "confidential" || f.Name == "reader_ids" }

// equalValues compares stored values, of which JSON comes as bytes.
func equalValues(a, b any) bool {
	x, raw := a.(json.RawMessage)
	y, too := b.(json.RawMessage)
	if raw || too {
		return raw && too && string(x) == string(y)
	}
	return a == b
}

// isSerious reports an incident that must be investigated.
func isSerious(in record.Incident) bool {
	return severity[in.Severity()] >= severity["high"] || in.PotentialSeverity() == "critical"
}

// checkInvestigation holds an incident to its investigation: one is led by somebody
// and due, what is serious cannot go around it, and one that was begun ends
// with a root cause. A closed incident is reopened with a reason.
func checkInvestigation(c record.Change[record.Incident], now string) error {
	in := c.After
	if Becomes(c.Change, "investigating") {
		if c.Before.Status() == "closed" && (!in.HasReopenReason() ||
			in.ReopenReasonOrNull() == c.Before.ReopenReasonOrNull()) {
			return NotReady("say why the incident is reopened: reopen_reason").At("reopen_reason", "is required")
		}
		for _, f := range [...]string{"lead_user_id", "due_on"} {
			if in[f] == nil {
				return NotReady("an investigation has a lead and a due day: %s", f).At(f, "is required")
			}
		}
		if !in.HasInvestigatedAt() {
			in.SetInvestigatedAt(now)
		}
	} else if Becomes(c.Change, "action_pending") || Becomes(c.Change, "closed") {
		if isSerious(in) && !in.HasInvestigatedAt() {
			return NotReady("an incident of severity high or critical, or that could have been critical, is investigated first")
		}
		if in.Status() == "closed" && in.HasInvestigatedAt() && noCause(in) {
			return NotReady("an investigation ends with a root cause").At("root_causes", "has none")
		}
	}
	return nil
}

// fillReport fills who reported and when. A member reports as himself; only the
// server's own code (imports) reports for others. An anonymous report keeps no
// trace of the reporter in the record.
func fillReport(a actor.Actor, in record.Incident, now string) {
	if !in.HasReportedAt() {
		in.SetReportedAt(now)
	}
	if in.Anonymous() {
		in.ClearReportedBy()
		in.ClearCreatedBy()
	} else if a.Role != actor.Service || !in.HasReportedBy() {
		in.SetReportedByOrNull(db.Null(a.UserID))
	}
}

func isAnonymousReport(c store.Change) bool {
	return c.Op == store.Insert && c.After["anonymous"] == true
}

// readZoneOfAnonymous returns where the tenant's days begin, or nil where no report is
// anonymous.
func readZoneOfAnonymous(tx *store.Tx, changes []store.Change) (*time.Location, error) {
	if !slices.ContainsFunc(changes, isAnonymousReport) {
		return nil, nil
	}
	zone := ""
	store.QueueZone(tx.Tx, tx.TenantID, &zone)
	if err := tx.Flush(); err != nil {
		return nil, fmt.Errorf("safety: time zone of the tenant: %w", err)
	}
	return localtime.Zone(zone), nil
}

// RoundMoments sets moments of a row to the beginning of their day: who works in a
// small shift is known by the hour.
func RoundMoments(row store.Row, zone *time.Location, fields ...string) error {
	for _, f := range fields {
		text := row.Text(f)
		if text == "" {
			continue
		}
		at, err := time.Parse(db.TimeLayout, text)
		if err != nil {
			return fmt.Errorf("safety: %s: %w", f, err)
		}
		row[f] = query.FormatTime(localtime.DateOf(at, zone).Start(zone))
	}
	return nil
}

const openActionsSQL = `
	SELECT incident_id, COUNT(*)
	FROM actions
	WHERE tenant_id = $1 AND incident_id IN {ids $2} AND status IN ('open', 'in_progress', 'done')
	GROUP BY incident_id`

// openActions queues counting the open actions of incidents.
func openActions(tx *db.Tx, tenant string, ids []string) map[string]int64 {
	open := map[string]int64{}
	if len(ids) > 0 {
		tx.Queue(openActionsSQL, []any{tenant, query.List(ids)}, func(r *db.Row) error {
			open[r.Text(0)] = r.Int(1)
			return nil
		})
	}
	return open
}
