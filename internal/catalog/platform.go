package catalog

import (
	"strings"

	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

func platformResources() []Resource {
	return []Resource{tenantsResource(), membersResource(), invitationsResource(), settingsResource(), mailTemplates(),
		importJobs(), auditResource(), wallScreens()}
}

func tenantsResource() Resource {
	return Resource{
		Name: "tenants", Family: "platform", Root: true,
		Doc: "The organisation itself: one row, the caller's own. Made by POST /v1/tenants.",
		Fields: []Field{
			{Name: "name", Format: Name, Required: true},
			{Name: "slug", Format: Code, Required: true},
			{Name: "plan", Required: true, Default: "standard", OneOf: []string{"standard", "enterprise", "custom"}},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"active", "suspended", "closed"}},
			{Name: "timezone", Format: IANA, Required: true, Default: "UTC", Label: "Time zone"},
			{Name: "country", Format: Country},
			{Name: "currency", Format: Money, Required: true, Default: "EUR"},
			{Name: "jurisdictions", Type: Array, Required: true, Default: "[]", OneOf: []string{"US", "EU", "Global"}},
			{Name: "join_policy", Required: true, Default: "invite", OneOf: []string{"invite", "domain", "open"}},
			{Name: "email_domains", Type: Array, Required: true, Default: "[]", MaxLen: 50},
			{Name: "gs1_company_prefix", Format: Code, MaxLen: 12, Label: "GS1 company prefix"},
			{Name: "limits", Type: JSON, Shape: schema.Of(map[string]rateLimit{}), Ruled: true,
				Doc: "Rate limits of the plan custom, by category: {\"api\": {\"minute\": 3000, \"burst\": 600, " +
					"\"ceiling\": 30000}}: of one person or key, and of the whole tenant. Set with a service key."},
			{Name: "import_quota", Type: Int, Min: "0", Max: "1000000000", Unit: "MB",
				Doc: "Import files that are kept; empty = the server's. Set with a service key."},
			{Name: "photo_quota", Type: Int, Min: "0", Max: "1000000000", Unit: "MB",
				Doc: "Photos of incidents and inspections; empty = the server's. Set with a service key."},
		},
		Unique: [][]string{{"slug"}},
		Access: Access{
			Read: []Grant{grantAll(everyone)},
			Update: []Grant{grantAll(admins).onlyFields("name", "timezone", "country", "currency", "jurisdictions",
				"join_policy", "gs1_company_prefix")},
		},
	}
}

func membersResource() Resource {
	return Resource{
		Name: "members", Family: "platform",
		Doc: "Who belongs to the tenant, and as what. The only source of tenancy. Invited by POST /auth/v1/invitations.",
		Fields: []Field{
			{Name: "user_id", Type: UUID, Required: true, Fixed: true},
			{Name: "email", Format: Email, Fixed: true},
			{Name: "role", Required: true, OneOf: roleNames()},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"invited", "active", "suspended"}},
			{Name: "worker_id", Type: UUID, Ref: "workers"},
			{Name: "zone_ids", Label: "Zones", Type: Array, Names: "zones", Required: true, Default: "[]", MaxLen: 500,
				Doc: "Zones an operator or driver is limited to; empty = all."},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners",
				Doc: "Of a client of the warehouse: a viewer who sees this owner's stock, orders and shipments and nothing else."},
			{Name: "joined_at", Type: Time, ReadOnly: true},
			{Name: "last_sign_in_at", Type: Time, ReadOnly: true, Readers: admins,
				Doc: "The last sign-in that led to this tenant."},
			{Name: "last_seen_at", Type: Time, ReadOnly: true, Readers: admins,
				Doc: "When a session last began, was refreshed or came over from another tenant, to the hour."},
		},
		Unique: [][]string{{"user_id"}},
		Own:    []string{"user_id"},
		Access: Access{
			Read:   []Grant{grantAll(leaders), grantOwn(actor.Operator, actor.Driver, actor.Viewer, actor.Client)},
			Update: []Grant{grantAll(admins)},
			Delete: []Grant{grantAll(admins)},
		},
	}
}

func invitationsResource() Resource {
	return Resource{
		Name: "invitations", Family: "platform",
		Doc: "Standing offers of membership; creating one mails it.",
		Fields: []Field{
			{Name: "email", Format: Email, Required: true, Fixed: true},
			{Name: "role", Required: true, Fixed: true, OneOf: roleNames()},
			{Name: "worker_id", Type: UUID, Ref: "workers", Fixed: true},
			{Name: "zone_ids", Label: "Zones", Type: Array, Names: "zones", Required: true, Default: "[]", MaxLen: 500,
				Fixed: true, Doc: "Zones an operator or driver is limited to; empty = all."},
			{Name: "owner_id", Type: UUID, Ref: "goods_owners", Fixed: true,
				Doc: "Of a client of the warehouse: a viewer who sees this owner's stock, orders and shipments and nothing else."},
			{Name: "status", Required: true, Default: "pending", OneOf: strings.Fields("pending accepted revoked expired")},
			{Name: "token_hash", Format: Name, ReadOnly: true, Readers: nobody},
			{Name: "invited_by", Type: UUID, ReadOnly: true},
			{Name: "expires_at", Type: Time, ReadOnly: true},
			{Name: "accepted_at", Type: Time, ReadOnly: true},
			{Name: "declined_at", Type: Time, ReadOnly: true, Readers: nobody,
				Doc: "When the invited turned it down; the tenant is not told."},
		},
		Indexes: [][]string{{"email"}},
		Access: Access{
			Read:   []Grant{grantAll(leaders)},
			Create: []Grant{grantAll(admins)},
			Update: []Grant{grantAll(admins).onlyFields("status")},
		},
		States: &States{Field: "status", Initial: []string{"pending"}, Moves: []Move{
			{From: []string{"pending"}, To: "revoked", Roles: admins},
			{From: []string{"pending"}, To: "accepted"},
			{From: []string{"pending"}, To: "expired"},
		}},
	}
}

func settingsResource() Resource {
	m := []Grant{grantAll(admins)}
	return Resource{
		Name: "settings", Family: "platform",
		Doc: "Tenant settings: one JSON value per key.",
		Fields: []Field{
			{Name: "section", Required: true, Default: "general",
				OneOf: strings.Fields("general stock picking scoring safety engagement import security webhooks")},
			{Name: "key", Format: Code, Required: true},
			{Name: "value", Type: JSON, Shape: anything, Required: true},
		},
		Unique: [][]string{{"key"}},
		Access: Access{Read: []Grant{grantAll(leaders)}, Create: m, Update: m, Delete: m},
	}
}

func mailTemplates() Resource {
	m := []Grant{grantAll(admins)}
	return Resource{
		Name: "mail_templates", Family: "platform",
		Doc: "The tenant's own words for a mail of the identity service; what it does not word is sent in ours.",
		Fields: []Field{
			{Name: "kind", Required: true, Fixed: true,
				OneOf: strings.Fields("confirmation known recovery magic_link invite tenant_invite email_change_current " +
					"email_change_new reauthentication password_changed protection_changed")},
			{Name: "locale", Required: true, Fixed: true, Default: "en", OneOf: []string{"en", "de"}},
			{Name: "subject", Format: Name, Required: true,
				Doc: "Placeholders: {{.Link}} {{.Code}} {{.Minutes}} {{.Tenant}} {{.Role}} {{.Other}} {{.Site}} {{.Email}}, and {{if .Name}} {{else}} {{end}}."},
			{Name: "text", Required: true},
			{Name: "html", MaxLen: 30000,
				Doc: "Empty: the mail is text alone. What placeholders hold is escaped; links lead to {{.Link}}, {{.Site}} or an allowed address."},
		},
		Unique: [][]string{{"kind", "locale"}},
		Access: Access{Read: []Grant{grantAll(admins)}, Create: m, Update: m, Delete: m},
	}
}

func importJobs() Resource {
	return Resource{
		Name: "import_jobs", Family: "platform",
		Doc: "A file on its way into the records: uploaded, checked, applied, rolled back.",
		Fields: []Field{
			{Name: "job_no", Format: Number, Prefix: "IM", Fixed: true},
			{Name: "target", Required: true,
				Doc: "What the file's rows are, one of the resources with an Import; it can be changed until rows are applied."},
			{Name: "file_name", Format: Name, ReadOnly: true},
			{Name: "file_type", ReadOnly: true, OneOf: strings.Fields("csv tsv xlsx json")},
			{Name: "size", Type: Int, Unit: "B", ReadOnly: true},
			{Name: "sha256", Format: Name, MaxLen: 64, ReadOnly: true},
			{Name: "encoding", Format: Name, MaxLen: 40, ReadOnly: true},
			{Name: "delimiter", Format: Plain, MaxLen: 4, ReadOnly: true},
			{Name: "header_row", Type: Int, ReadOnly: true, Min: "0",
				Doc: "Line that the file's header begins on, or its row of a sheet; 0 = it has none; null before the file is processed, and for JSON."},
			{Name: "mapping", Type: JSON, Shape: freeObject, Ruled: true,
				Doc: "{field: header}, or {field: column number from 1}; guessed from the header when absent."},
			{Name: "options", Type: JSON, Shape: schema.Of(importOptions{}), Ruled: true, Required: true, Default: "{}",
				Doc: "mode, header, header_row, delimiter, encoding, date_order (dmy, mdy or ymd: what stands first), decimal_mark, " +
					"timezone, defaults, values, epoch, short_years, sheet, skip_hidden, skip_totals, guess, dry_run, force; " +
					"what is not said is found by looking."},
			{Name: "total_rows", Type: Int, ReadOnly: true, Required: true, Default: "0"},
			{Name: "valid_rows", Type: Int, ReadOnly: true, Required: true, Default: "0"},
			{Name: "invalid_rows", Type: Int, ReadOnly: true, Required: true, Default: "0"},
			{Name: "imported_count", Type: Int, ReadOnly: true, Required: true, Default: "0"},
			{Name: "rolled_back_count", Type: Int, ReadOnly: true, Required: true, Default: "0"},
			{Name: "message", ReadOnly: true},
			{Name: "blob_key", Format: Name, ReadOnly: true, Readers: nobody},
			{Name: "lease_until", Type: Time, ReadOnly: true, Readers: nobody},
			{Name: "lease_claim", Type: Int, ReadOnly: true, Readers: nobody, Doc: "The claim of the process that works on it."},
			{Name: "status", ReadOnly: true, Required: true, Default: "created",
				OneOf: strings.Fields("created uploaded processing ready applying completed failed cancelled rolling_back rolled_back")},
			{Name: "processed_at", Type: Time, ReadOnly: true},
			{Name: "applied_at", Type: Time, ReadOnly: true},
			{Name: "rolled_back_at", Type: Time, ReadOnly: true},
		},
		Unique:  [][]string{{"job_no"}},
		Indexes: [][]string{{"sha256"}, {"blob_key"}},
		Own:     []string{"created_by"},
		Access: Access{
			Read:   []Grant{grantAll(leaders)},
			Create: []Grant{grantAll(leaders)},
			Update: []Grant{grantAll(leaders).onlyFields("target", "mapping", "options")},
		},
		States: importStates(),
		Counters: []Counter{
			{Name: "import_jobs", By: []string{"status"}},
			{Name: "import_jobs.imported", By: []string{"status"}, Sum: "imported_count"},
		},
	}
}

// importStates are the server's own steps. A working state is also left for what
// another step begins with, when the one that was under way died: what was
// applied in part is rolled back out of applying.
func importStates() *States {
	return &States{Field: "status", Initial: []string{"created"}, Moves: []Move{
		{From: strings.Fields("created processing ready failed"), To: "uploaded"},
		{From: strings.Fields("uploaded ready failed applying"), To: "processing"},
		{From: []string{"processing", "applying", "rolling_back"}, To: "ready"},
		{From: []string{"processing", "applying", "rolling_back"}, To: "failed"},
		{From: []string{"ready", "failed", "rolling_back"}, To: "applying"},
		{From: []string{"applying", "rolling_back"}, To: "completed"},
		{From: strings.Fields("completed ready failed applying"), To: "rolling_back"},
		{From: []string{"rolling_back"}, To: "rolled_back"},
		{From: strings.Fields("created uploaded ready failed"), To: "cancelled"},
	}}
}

func auditResource() Resource {
	return Resource{
		Name: "audit", Family: "platform", AppendOnly: true, Bare: true,
		Doc: "Who did what, when, to which record. Written with each change.",
		Fields: []Field{
			{Name: "at", Type: Time, Required: true, ReadOnly: true},
			{Name: "actor_user_id", Type: UUID, ReadOnly: true},
			{Name: "key_id", Format: Name, ReadOnly: true},
			{Name: "session_id", Type: UUID, ReadOnly: true, Doc: "Of the caller, where a user's token was shown."},
			{Name: "action", Format: Name, Required: true, ReadOnly: true},
			{Name: "entity_type", Format: Name, ReadOnly: true},
			{Name: "entity_id", Type: UUID, ReadOnly: true},
			{Name: "outcome", Format: Name, ReadOnly: true, Required: true, Default: "ok"},
			{Name: "before", Type: JSON, Shape: freeObject, ReadOnly: true},
			{Name: "after", Type: JSON, Shape: freeObject, ReadOnly: true},
			{Name: "details", Type: JSON, Shape: freeObject, ReadOnly: true},
			{Name: "address", Format: Name, ReadOnly: true},
			{Name: "request_id", Format: Name, ReadOnly: true},
			{Name: "batch", Type: Int, ReadOnly: true, Required: true, Default: "0",
				Doc: "Number of what one server wrote in some seconds; its rows are sealed together, seconds after."},
			{Name: "code", Format: Name, MaxLen: 22, ReadOnly: true,
				Doc: "Authentication code of the row, which only the server can make."},
		},
		Indexes: [][]string{{"entity_id"}},
		Own:     []string{"actor_user_id"},
		Access:  Access{Read: []Grant{grantAll(admins), grantOwn(actor.Safety).orWhere("entity_type", safetyRecords...)}},
	}
}

// safetyRecords are the collections whose changes the safety officer sees.
var safetyRecords = strings.Fields("incidents incident_photos actions osha_cases absences osha_summaries legal_clocks " +
	"checklist_templates checklist_schedules checklist_runs checklist_answers toolbox_talks talk_attendances regulations " +
	"compliance_events courses training_assignments report_links shared_documents comments files " +
	"work_units risk_entries risk_register_versions")

func roleNames() []string {
	out := make([]string, len(actor.Members))
	for i, r := range actor.Members {
		out[i] = string(r)
	}
	return out
}
