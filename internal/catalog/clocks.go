package catalog

// clockBinds is the condition on a clock of which somebody said something: that it is met or
// not required, or by a comment or a file.
const clockBinds = `
	met_at IS NOT NULL
	OR (state = 'not_required' AND lapsed = FALSE)
	OR EXISTS (
		SELECT 1
		FROM comments
		WHERE comments.tenant_id = legal_clocks.tenant_id
			AND comments.clock_id = legal_clocks.id)
	OR EXISTS (
		SELECT 1
		FROM files
		WHERE files.tenant_id = legal_clocks.tenant_id
			AND files.clock_id = legal_clocks.id)`

func legalClocks() Resource {
	return Resource{
		Name: "legal_clocks", Family: "safety",
		Doc: "By when the law of the site's country wants an accident told; the server " +
			"starts, moves and ends them by the facts.",
		Fields: []Field{
			{Name: "code", Format: Name, Required: true, ReadOnly: true, MaxLen: 40},
			{Name: "incident_id", Type: UUID, Ref: "incidents", Required: true, ReadOnly: true},
			{Name: "site_id", Type: UUID, Ref: "sites", ReadOnly: true},
			{Name: "starts_at", Type: Time, Required: true, ReadOnly: true},
			{Name: "due_at", Type: Time, Required: true, ReadOnly: true,
				Doc: "The start where the law says without delay."},
			{Name: "skipped_days", Type: Array, Required: true, Default: "[]", MaxLen: 30, ReadOnly: true},
			{Name: "state", Required: true, Default: "running",
				OneOf: []string{"running", "met", "late", "not_required"}},
			{Name: "met_at", Type: Time, Doc: "For OSHA osha_told_at of the case."},
			{Name: "met_by", Type: UUID, ReadOnly: true, Names: "members"},
			{Name: "proof_ref", Format: Name, MaxLen: 200},
			{Name: "reason", Format: Name, MaxLen: 300},
			{Name: "lapsed", Type: Bool, Required: true, Default: "false", ReadOnly: true,
				Doc: "The facts no longer ask for it."},
		},
		Follows: "incident_id", Binds: clockBinds,
		Unique:  [][]string{{"incident_id", "code"}},
		Indexes: [][]string{{"state", "due_at"}},
		Access: Access{
			Read:   []Grant{grantAll(officers)}, // a code says how somebody was hurt
			Update: []Grant{grantAll(officers).onlyFields("state", "met_at", "proof_ref", "reason")},
		},
	}
}
