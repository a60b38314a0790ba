package catalog

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

// personalAccess is the access of what belongs to one person: administrators see
// all, everybody else his own, and only the server writes.
func personalAccess() Access {
	return Access{Read: []Grant{grantAll(admins), grantOwn(actor.Manager, actor.Safety, actor.Operator, actor.Driver,
		actor.Viewer)}}
}

func pointEvents() Resource {
	return Resource{
		Name: "point_events", Family: "engagement",
		Doc: "Points given for reporting and for finishing what was agreed; never for the absence of injuries.",
		Fields: []Field{
			{Name: "user_id", Type: UUID, Required: true, ReadOnly: true},
			{
				Name: "kind", Required: true, ReadOnly: true,
				OneOf: strings.Fields("near_miss hazard injury_report action_done action_verified checklist course talk suggestion"),
			},
			{Name: "points", Type: Int, Required: true, ReadOnly: true, Min: "1"},
			{Name: "source_type", Required: true, ReadOnly: true,
				OneOf: strings.Fields("incidents actions checklist_runs training_assignments talk_attendances")},
			{Name: "source_id", Type: UUID, Required: true, ReadOnly: true},
			{Name: "occurred_at", Type: Time, Required: true, ReadOnly: true},
			{Name: "reversed_at", Type: Time, ReadOnly: true, Doc: "Set when the report turned out to be void."},
			{Name: "reversed_by", Type: UUID, ReadOnly: true},
		},
		Unique:  [][]string{{"source_id", "kind", "user_id"}},
		Indexes: [][]string{{"user_id", "occurred_at"}, {"occurred_at"}},
		Own:     []string{"user_id"},
		Access:  personalAccess(),
	}
}

func badgesResource() Resource {
	m := []Grant{grantAll(admins)}
	return Resource{
		Name: "badges", Family: "engagement",
		Doc: "Marks of a good habit, each with a rule.",
		Fields: []Field{
			{Name: "code", Format: Code, Required: true},
			{Name: "name", Format: Name, Required: true},
			{Name: "description"},
			{Name: "rule", Type: JSON, Shape: schema.Of(badgeRule{}), Required: true,
				Doc: "{metric: reports | near_misses | verifications | checklist_weeks | training_valid, at_least: n}."},
		},
		Unique: [][]string{{"code"}},
		Access: Access{Read: []Grant{grantAll(everyone)}, Create: m, Update: m, Delete: m},
	}
}

func userBadges() Resource {
	return Resource{
		Name: "user_badges", Family: "engagement",
		Doc: "Who has earned which badge.",
		Fields: []Field{
			{Name: "user_id", Type: UUID, Required: true, ReadOnly: true},
			{Name: "badge_id", Type: UUID, Ref: "badges", Required: true, ReadOnly: true},
			{Name: "awarded_at", Type: Time, Required: true, ReadOnly: true},
		},
		Unique: [][]string{{"user_id", "badge_id"}},
		Own:    []string{"user_id"},
		Access: personalAccess(),
	}
}

// periodScores are the fields of a score kept by calendar month.
func periodScores(subject Field) []Field {
	return []Field{subject,
		{Name: "period", Format: Name, MaxLen: 7, Required: true, ReadOnly: true,
			Doc: "Calendar month of the tenant's time zone, YYYY-MM."},
		{Name: "period_start", Type: Date, Required: true, ReadOnly: true},
		{Name: "period_end", Type: Date, Required: true, ReadOnly: true},
		{Name: "score", Type: Decimal, Required: true, ReadOnly: true},
		{Name: "n", Type: Int, Required: true, ReadOnly: true, Doc: "People or figures it is made of."},
		{Name: "parts", Type: JSON, Shape: freeObject, Required: true, Default: "{}", ReadOnly: true},
	}
}

func teamScores() Resource {
	return Resource{
		Name: "team_scores", Family: "engagement",
		Doc:    "A team's engagement by month; unchanged once the month is over.",
		Fields: periodScores(Field{Name: "team_id", Type: UUID, Ref: "teams", Required: true, ReadOnly: true}),
		Unique: [][]string{{"team_id", "period"}},
		Access: Access{Read: []Grant{grantAll(admins)}},
	}
}

func zoneScores() Resource {
	return Resource{
		Name: "zone_scores", Family: "engagement",
		Doc:    "A zone's safety work by month; unchanged once the month is over.",
		Fields: periodScores(Field{Name: "zone_id", Type: UUID, Ref: "zones", Required: true, ReadOnly: true}),
		Unique: [][]string{{"zone_id", "period"}},
		Access: Access{Read: []Grant{grantAll(admins)}},
	}
}
