package event

import (
	"slices"
	"strings"

	"holdfast/internal/fault"
	"holdfast/internal/suggest"
)

// Type is one kind of event. An event of a record carries the fields named
// here, as the catalog describes them; none of them may be one that not every
// reader of the record sees.
type Type struct {
	Name       string
	Doc        string
	Collection string   // whose read grant lets a role see the event
	Fields     []string // fields of the collection's record that Data holds
	Members    []Member // of Data, when it is no record
	when       func(before, after map[string]any) bool
}

// Member is one member of an event's data that is no field of a record.
type Member struct {
	Name, Type, Doc string // Type is a JSON Schema type
}

var (
	orderFields = []string{"id", "order_no", "type", "status", "priority", "party_name", "source", "external_ref",
		"promised_at", "line_count", "qty_ordered", "qty_shipped"}
	pickListFields = []string{"id", "pick_no", "status", "strategy", "priority", "completed_at"}
	pickLineFields = []string{"id", "pick_list_id", "seq", "order_line_id", "item_id", "zone_id", "qty", "qty_picked",
		"short_reason"}
	shipmentFields = []string{
		"id",
		"shipment_no",
		"direction",
		"status",
		"carrier",
		"tracking_no",
		"dispatched_at",
		"eta",
		"completed_at",
		"exception_code",
	}
	itemFields     = []string{"id", "sku", "name", "on_hand", "available", "reorder_point"}
	movementFields = []string{"id", "type", "item_id", "lot_id", "from_zone_id", "to_zone_id", "quantity", "reason_code",
		"occurred_at"}
	incidentFields = []string{"id", "incident_no", "kind", "severity", "status", "title", "occurred_at", "reported_at",
		"site_id", "zone_id", "closed_at"}
	actionFields = []string{"id", "action_no", "title", "type", "priority", "status", "incident_id", "assignee_user_id",
		"due_at"}
	runFields = []string{"id", "title", "template_id", "zone_id", "equipment_id", "vehicle_id", "due_at", "completed_at",
		"score", "failed", "failed_critical", "status"}
	jobFields = []string{
		"id",
		"job_no",
		"target",
		"file_name",
		"status",
		"total_rows",
		"valid_rows",
		"invalid_rows",
		"imported_count",
		"rolled_back_count",
	}
	memberFields   = []string{"id", "user_id", "role", "status"}
	verdictFields  = []string{"id", "regulation_id", "entity_type", "entity_id", "status", "evaluated_at"}
	expiryFields   = []string{"id", "course_id", "user_id", "worker_id", "certificate_no", "expires_on", "status"}
	trainingFields = []string{"id", "course_id", "user_id", "worker_id", "assignment_type", "assignment_reason", "status",
		"due_on"}
	clusterFields = []string{"id", "entity_type", "entity_id", "cluster"}
	lotFields     = []string{"id", "item_id", "lot_no", "expires_on", "status"}
	serviceFields = []string{"id", "asset_no", "name", "kind", "zone_id", "service_due_on", "status"}
	roadFields    = []string{"id", "plate", "kind", "site_id", "inspection_due_on", "status"}
	licenceFields = []string{"id", "worker_id", "licence_class", "licence_expires_on", "status"}
	webhookFields = []string{"id", "url", "status", "disabled_reason"}
)

var escalatedFields = append(slices.Clone(actionFields), "escalated_to", "escalated_at")

// Types returns the catalogue of event types, by name.
func Types() []Type {
	return []Type{
		{Name: "action.escalated", Doc: "An action is overdue for so long that the next level is told.",
			Collection: "actions", Fields: escalatedFields, when: whenMoved("escalated_to", "safety", "manager")},
		{Name: "action.overdue", Doc: "An open action has passed its due time.", Collection: "actions", Fields: actionFields,
			when: madeOverdue},
		{Name: "checklist.failed", Doc: "An inspection was missed, or completed with an item that failed.",
			Collection: "checklist_runs", Fields: runFields, when: failedRun},
		{Name: "compliance.changed", Doc: "A rule's verdict on an entity is new or has changed.",
			Collection: "compliance_events", Fields: verdictFields,
			when: whenCreated("status", "compliant", "insufficient_data", "warning", "breach")},
		{Name: "driver.licence_expiring",
			Doc:        "A driver's licence runs out in 30, 14, 7, 3 or 1 days, or has run out; once for each.",
			Collection: "drivers", Fields: licenceFields, Members: daysLeft()},
		{Name: "equipment.service_due",
			Doc: "The service of equipment is due in 30, 14, 7, 3 or 1 days, or now; once for each.", Collection: "equipment",
			Fields: serviceFields, Members: daysLeft()},
		{
			Name:       "import.completed",
			Doc:        "An import was applied.",
			Collection: "import_jobs",
			Fields:     jobFields,
			when:       movedFrom("status", "completed", "applying"),
		},
		{Name: "import.failed", Doc: "An import could not be read or applied to its end; imported_count tells how many of its rows are in.",
			Collection: "import_jobs", Fields: jobFields,
			when: movedFrom("status", "failed", "processing", "applying")},
		{
			Name:       "import.rolled_back",
			Doc:        "An applied import was undone.",
			Collection: "import_jobs",
			Fields:     jobFields,
			when:       whenMoved("status", "rolled_back"),
		},
		{Name: "incident.closed", Doc: "An incident was closed.", Collection: "incidents", Fields: incidentFields,
			when: whenMoved("status", "closed")},
		{Name: "incident.reported", Doc: "An incident, near miss or hazard was reported.", Collection: "incidents",
			Fields: incidentFields, when: whenCreated("status", "reported")},
		{Name: "lot.expiring", Doc: "A lot that may be used expires within 30 days.", Collection: "lots", Fields: lotFields,
			when: madeExpiring("released", "quarantine")},
		{
			Name:       "lot.recalled",
			Doc:        "A lot was recalled: its stock may not leave.",
			Collection: "lots",
			Fields:     lotFields,
			when:       whenMoved("status", "recalled"),
		},
		{
			Name:       "member.added",
			Doc:        "A person became a member of the tenant.",
			Collection: "members",
			Fields:     memberFields,
			when:       whenCreated("status", "active"),
		},
		{Name: "member.removed", Doc: "A membership ended.", Collection: "members", Fields: memberFields, when: isDeleted},
		{Name: "member.role_changed", Doc: "A member's role changed.", Collection: "members", Fields: memberFields,
			when: whenAltered("role")},
		{Name: "member.suspended", Doc: "A member was suspended.", Collection: "members", Fields: memberFields,
			when: whenMoved("status", "suspended")},
		{Name: "order.cancelled", Doc: "An order was cancelled.", Collection: "orders", Fields: orderFields,
			when: whenMoved("status", "cancelled")},
		{Name: "order.completed", Doc: "Every line of an order is shipped, received or cancelled.", Collection: "orders",
			Fields: orderFields, when: whenMoved("status", "completed")},
		{
			Name:       "order.confirmed",
			Doc:        "An order was confirmed.",
			Collection: "orders",
			Fields:     orderFields,
			when:       movedFrom("status", "confirmed", "draft"),
		},
		{Name: "order.on_hold", Doc: "An order was put on hold.", Collection: "orders", Fields: orderFields,
			when: whenMoved("status", "on_hold")},
		{
			Name:       "pick_list.completed",
			Doc:        "A pick list is done.",
			Collection: "pick_lists",
			Fields:     pickListFields,
			when:       whenMoved("status", "completed"),
		},
		{Name: "pick_list.released", Doc: "A pick list may be picked.", Collection: "pick_lists",
			Fields: pickListFields,
			when:   whenMoved("status", "released")},
		{Name: "pick_list.short", Doc: "A line of a pick list could not be picked in full.", Collection: "pick_lines",
			Fields: pickLineFields, when: whenMoved("status", "short")},
		{
			Name: "rate_limit.exceeded",
			Doc: "Requests were refused because one caller or the whole tenant is over a limit; " +
				"at most once a minute for each category and scope.",
			Collection: "settings",
			Members: []Member{
				{"category", "string", "api, auth, webhook, read or write"},
				{"scope", "string", "caller: one person or key used up its own limit. " +
					"tenant: all of the tenant together used up its ceiling."},
				{"limit", "integer", "Units per minute."},
				{"retry_after", "integer", "Seconds until there is room again."},
				{"reset_at", "string", "When the limit resets."},
			},
		},
		{Name: "score.cluster_changed", Doc: "An entity stands in another risk cluster than at the last assignment.",
			Collection: "predictive_scores", Fields: clusterFields, Members: []Member{
				{"previous_cluster", "string", "Critical, High, Medium, Low or Unclear."}}},
		{
			Name:       "shipment.delivered",
			Doc:        "A shipment was delivered.",
			Collection: "shipments",
			Fields:     shipmentFields,
			when:       whenMoved("status", "delivered"),
		},
		{
			Name:       "shipment.dispatched",
			Doc:        "A shipment is on the road.",
			Collection: "shipments",
			Fields:     shipmentFields,
			when:       whenMoved("status", "in_transit"),
		},
		{
			Name:       "shipment.exception",
			Doc:        "A shipment is held up.",
			Collection: "shipments",
			Fields:     shipmentFields,
			when:       whenMoved("status", "exception"),
		},
		{
			Name:       "shipment.received",
			Doc:        "An inbound shipment was received.",
			Collection: "shipments",
			Fields:     shipmentFields,
			when:       whenMoved("status", "received"),
		},
		{Name: "stock.adjusted", Doc: "Stock was corrected, counted or scrapped.", Collection: "stock_movements",
			Fields: movementFields,
			when:   whenCreated("type", "adjust_gain", "adjust_loss", "count_gain", "count_loss", "scrap")},
		{
			Name:       "stock.low",
			Doc:        "An item's available stock has fallen to its reorder point.",
			Collection: "items",
			Fields:     itemFields,
			when:       whenRaised("low_stock"),
		},
		{Name: "training.assigned", Doc: "A course was assigned to a person.", Collection: "training_assignments",
			Fields: trainingFields, when: whenCreated("status", "assigned")},
		{Name: "training.expiring", Doc: "A certificate runs out within 30 days.", Collection: "training_assignments",
			Fields: expiryFields, when: whenFilled("reminded_at")},
		{Name: "vehicle.inspection_due",
			Doc:        "The inspection of a vehicle is due in 30, 14, 7, 3 or 1 days, or now; once for each.",
			Collection: "vehicles", Fields: roadFields, Members: daysLeft()},
		{Name: "webhook.disabled", Doc: "A webhook is no longer tried: its receiver said it is gone, or failed for five days.", Collection: "webhooks",
			Fields: webhookFields, when: whenMoved("status", "disabled")},
		{Name: "webhook.test", Doc: "A test asked for by an administrator; sent to one webhook only.", Collection: "webhooks",
			Members: []Member{
				{"webhook_id", "string", "The webhook under test."}, {"message", "string", "A greeting."}}},
	}
}

// daysLeft says how near a day is.
func daysLeft() []Member {
	return []Member{{"days_left", "integer",
		"Days from today, where the tenant is; 0 on the day itself, negative when it has passed."}}
}

// table is Types by name, made once.
var table = func() map[string]*Type {
	list := Types()
	m := make(map[string]*Type, len(list))
	for i := range list {
		m[list[i].Name] = &list[i]
	}
	return m
}()

// Find returns a type by its name.
func Find(name string) (*Type, bool) {
	t, ok := table[name]
	return t, ok
}

// Names returns the names of all types, sorted.
func Names() []string {
	out := make([]string, 0, len(table))
	for n := range table {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// Topics is a choice of types: exact names, families (order.*) and * for all.
// The empty choice holds every type.
type Topics []string

// ParseTopics checks a choice. A topic that no type can match is
// fault.Invalid, names the topic and is refused at field.
func ParseTopics(list []string, field string) (Topics, error) {
	for _, t := range list {
		if slices.ContainsFunc(Names(), func(n string) bool { return matchesTopic(t, n) }) {
			continue
		}
		t = fault.Clip(t, 60)
		f := fault.New(fault.Invalid, "22023", "%q is no event type, no family such as order.* and not *", t).At(field,
			"%q names no event", t)
		if near := suggest.Nearest(t, Names()); near != "" {
			f = f.With("", "did you mean "+near+"?")
		}
		return nil, f
	}
	return list, nil
}

// Has reports whether the choice holds a type.
func (ts Topics) Has(name string) bool {
	return len(ts) == 0 || slices.ContainsFunc(ts, func(t string) bool { return matchesTopic(t, name) })
}

func matchesTopic(topic, name string) bool {
	family, wild := strings.CutSuffix(topic, ".*")
	return topic == "*" || topic == name || wild && strings.HasPrefix(name, family+".")
}

// TellsPersonsScore reports an event from which a single person's risk score, or
// the band it is in, can be read.
func (e *Event) TellsPersonsScore() bool {
	switch e.Type {
	case "compliance.changed":
		return e.Audience["about"] == "score"
	case "score.cluster_changed":
		kind := e.Audience["entity_type"]
		return kind == "worker" || kind == "driver"
	}
	return false
}
