package sheets

import "encoding/json"

// incidentRow is an incident as its reader sees it: what is hidden from him is empty.
type incidentRow struct {
	ID                string    `json:"id"`
	No                string    `json:"incident_no"`
	Status            string    `json:"status"`
	Title             string    `json:"title"`
	Kind              string    `json:"kind"`
	Severity          string    `json:"severity"`
	PotentialSeverity string    `json:"potential_severity"`
	Description       string    `json:"description"`
	ImmediateAction   string    `json:"immediate_action"`
	Lessons           string    `json:"lessons"`
	OccurredAt        string    `json:"occurred_at"`
	OccurredZone      string    `json:"occurred_tz"`
	ReportedAt        string    `json:"reported_at"`
	KnownAt           string    `json:"known_at"`
	InvestigatedAt    string    `json:"investigated_at"`
	ClosedAt          string    `json:"closed_at"`
	DueOn             string    `json:"due_on"`
	ReportedBy        string    `json:"reported_by"`
	ReporterName      string    `json:"reporter_name"`
	Anonymous         bool      `json:"anonymous"`
	CreatedBy         string    `json:"created_by"`
	Lead              string    `json:"lead_user_id"`
	Site              string    `json:"site_id"`
	Zone              string    `json:"zone_id"`
	Categories        []string  `json:"category_tags"`
	Likelihood        *int      `json:"likelihood"`
	Risk              *int      `json:"risk_rating"`
	Journey           string    `json:"journey"`
	DuplicateOf       string    `json:"duplicate_of"`
	VoidReason        string    `json:"void_reason"`
	ReopenReason      string    `json:"reopen_reason"`
	ExternalRef       string    `json:"external_ref"`
	Involved          []concern `json:"entities"`
	Causes            []cause   `json:"root_causes"`
}

// concern is somebody or something that had a part in an incident.
type concern struct {
	Type string `json:"entity_type"`
	ID   string `json:"entity_id"`
	Role string `json:"role"`
}

// cause is one answer to why it happened, with those that led to it.
type cause struct {
	Layer string   `json:"layer"`
	Text  string   `json:"text"`
	Whys  []string `json:"whys"`
}

// actionRow is what is done about something.
type actionRow struct {
	No       string `json:"action_no"`
	Title    string `json:"title"`
	Level    string `json:"control_level"`
	Status   string `json:"status"`
	Assignee string `json:"assignee_user_id"`
	DueOn    string `json:"due_on"`
	DueAt    string `json:"due_at"`
}

// runRow is an inspection.
type runRow struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	Status       string       `json:"status"`
	Template     string       `json:"template_id"`
	Site         string       `json:"site_id"`
	Zone         string       `json:"zone_id"`
	Equipment    string       `json:"equipment_id"`
	Vehicle      string       `json:"vehicle_id"`
	Worker       string       `json:"worker_id"`
	Assignee     string       `json:"assignee_user_id"`
	CompletedBy  string       `json:"completed_by"`
	DueAt        string       `json:"due_at"`
	StartedAt    string       `json:"started_at"`
	CompletedAt  string       `json:"completed_at"`
	OnTime       *bool        `json:"on_time"`
	Score        *json.Number `json:"score"`
	Passed       *int         `json:"passed"`
	Failed       *int         `json:"failed"`
	CancelReason string       `json:"cancel_reason"`
}

// templateRow is the revision of what an inspection asks.
type templateRow struct {
	Title    string          `json:"title"`
	Code     string          `json:"code"`
	Revision json.Number     `json:"revision"`
	Sections json.RawMessage `json:"sections"`
}

// answerRow is one answer of an inspection.
type answerRow struct {
	ID       string          `json:"id"`
	Item     string          `json:"item_key"`
	Value    json.RawMessage `json:"value"`
	Result   string          `json:"result"`
	Critical bool            `json:"critical"`
	Note     string          `json:"note"`
	Photos   []string        `json:"photos"`
	By       string          `json:"answered_by"`
	At       string          `json:"answered_at"`
}

// fileRow is a file that is kept with a record.
type fileRow struct {
	Name      string `json:"name"`
	Note      string `json:"note"`
	SHA256    string `json:"sha256"`
	CreatedAt string `json:"created_at"`
}

// trainingRow is what a training says as a certificate.
type trainingRow struct {
	ID          string       `json:"id"`
	Course      string       `json:"course_id"`
	User        string       `json:"user_id"`
	Worker      string       `json:"worker_id"`
	Status      string       `json:"status"`
	CompletedAt string       `json:"completed_at"`
	ExpiresOn   string       `json:"expires_on"`
	Result      *json.Number `json:"result"`
	TrainedOn   string       `json:"trained_on"`
	Trainer     string       `json:"trainer"`
	EvaluatedOn string       `json:"evaluated_on"`
	Evaluator   string       `json:"evaluator"`
	Number      string       `json:"certificate_no"`
	Issuer      string       `json:"issuer"`
	VerifiedBy  string       `json:"verified_by"`
	VerifiedAt  string       `json:"verified_at"`
}

// courseRow is a course as certificates name it.
type courseRow struct {
	Title string `json:"title"`
	Code  string `json:"code"`
}

// holderRow is who holds a certificate.
type holderRow struct {
	Name string `json:"name"`
	No   string `json:"employee_no"`
}

// photoRow is a photo with the key of its bytes, which nobody reads as a field.
type photoRow struct {
	ID      string `json:"id"`
	Caption string `json:"caption"`
	SHA256  string `json:"sha256"`
	Key     string `json:"blob_key"`
}

// named is a record that others name: what it is called, and what it belongs to.
type named struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Code     string `json:"code"`
	No       string `json:"incident_no"`
	Plate    string `json:"plate"`
	Asset    string `json:"asset_no"`
	User     string `json:"user_id"`
	Email    string `json:"email"`
	Worker   string `json:"worker_id"`
	Site     string `json:"site_id"`
	Country  string `json:"country"`
	Timezone string `json:"timezone"`
}
