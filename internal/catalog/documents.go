package catalog

import "holdfast/internal/schema"

// The documents that JSON columns hold. A member that is not named here may
// stand beside the others; those that are named have the type they say.

type barcode struct {
	Value string `json:"value" doc:"The code as it is scanned."`
	Type  string `json:"type,omitempty" doc:"Symbology or kind of code, such as ean13 or supplier."`
	UOM   string `json:"uom,omitempty" doc:"Unit that the code stands for, UN/CEFACT Recommendation 20; the item's base unit when absent."`
}

type postalAddress struct {
	Name       string   `json:"name,omitempty" doc:"Recipient."`
	Lines      []string `json:"lines,omitempty" doc:"Street and further lines above the city."`
	City       string   `json:"city,omitempty" doc:"City."`
	Region     string   `json:"region,omitempty" doc:"State, province or county."`
	PostalCode string   `json:"postal_code,omitempty" doc:"Postal code."`
	Country    string   `json:"country,omitempty" doc:"ISO 3166-1 alpha-2."`
	Phone      string   `json:"phone,omitempty" doc:"Telephone number of the recipient."`
}

type place struct {
	Name       string  `json:"name,omitempty" doc:"Name of the place."`
	City       string  `json:"city,omitempty" doc:"City."`
	PostalCode string  `json:"postal_code,omitempty" doc:"Postal code."`
	Country    string  `json:"country,omitempty" doc:"ISO 3166-1 alpha-2."`
	Lat        float64 `json:"lat,omitempty" unit:"degrees" doc:"Latitude, WGS 84; routes are planned by it."`
	Lon        float64 `json:"lon,omitempty" unit:"degrees" doc:"Longitude, WGS 84; routes are planned by it."`
}

type parcel struct {
	SSCC     string  `json:"sscc,omitempty" doc:"GS1 serial shipping container code, 18 digits."`
	Pieces   float64 `json:"pieces,omitempty" doc:"Units inside."`
	WeightKg float64 `json:"weight_kg,omitempty" unit:"kg" doc:"Gross weight."`
}

type deliveryProof struct {
	Name      string  `json:"name,omitempty" doc:"Who took the goods."`
	Photo     string  `json:"photo,omitempty" doc:"Id or address of a photo."`
	Signature string  `json:"signature,omitempty" doc:"The name as signed, or the id of a drawing of it."`
	Lat       float64 `json:"lat,omitempty" unit:"degrees" doc:"Latitude, WGS 84."`
	Lon       float64 `json:"lon,omitempty" unit:"degrees" doc:"Longitude, WGS 84."`
}

type incidentEntity struct {
	Type string `json:"entity_type" oneof:"zone driver worker equipment" doc:"Kind of entity."`
	ID   string `json:"entity_id" format:"uuid" doc:"The entity."`
	Role string `json:"role,omitempty" oneof:"injured involved source witness" doc:"Its part in what happened."`
}

type evidence struct {
	Kind    string `json:"kind" oneof:"note photo document measurement" doc:"What it is."`
	Text    string `json:"text,omitempty" doc:"What was done or found."`
	URL     string `json:"url,omitempty" doc:"Where a document is kept."`
	PhotoID string `json:"photo_id,omitempty" format:"uuid" doc:"A photo of the incident or inspection."`
}

type rootCause struct {
	Method string   `json:"method" oneof:"5whys fishbone tree" doc:"How it was found."`
	Layer  string   `json:"layer" oneof:"immediate underlying organisational" doc:"How deep it lies."`
	Text   string   `json:"text" doc:"The cause, 1 to 2,000 characters."`
	Whys   []string `json:"whys,omitempty" doc:"The chain that led to it, at most 10."`
}

type checklistSection struct {
	Title string          `json:"title" doc:"Heading."`
	Items []checklistItem `json:"items" doc:"Questions in the order they are asked."`
}

type checklistItem struct {
	Key      string              `json:"key" doc:"Unique in the template; small letters, digits and underscores, at most 40."`
	Prompt   string              `json:"prompt" doc:"The question."`
	Type     string              `json:"type" oneof:"yes_no_na number choice text photo signature" doc:"Kind of answer."`
	Required bool                `json:"required,omitempty" doc:"An inspection is not complete without an answer."`
	Critical bool                `json:"critical,omitempty" doc:"A failed answer takes the equipment out of service."`
	Weight   int64               `json:"weight,omitempty" doc:"0 to 1,000; 1 when absent."`
	Options  []string            `json:"options,omitempty" doc:"Of a choice."`
	Unit     string              `json:"unit,omitempty" doc:"Of a number."`
	FailWhen *checklistCondition `json:"fail_when,omitempty" doc:"Condition on the own answer under which it fails."`
	ShowWhen *checklistCondition `json:"show_when,omitempty" doc:"Condition on other answers under which it is asked."`
	OnFail   string              `json:"on_fail,omitempty" oneof:"action incident none" doc:"What a failed answer opens."`
}

type checklistCondition struct {
	Item  string           `json:"item,omitempty" doc:"Key of the question that is looked at."`
	Op    string           `json:"op,omitempty" oneof:"== != < <= > >= in answered" doc:"Comparison."`
	Value any              `json:"value,omitempty" doc:"What the answer is compared with; a list for in."`
	All   []map[string]any `json:"all,omitempty" doc:"Conditions that must all hold."`
	Any   []map[string]any `json:"any,omitempty" doc:"Conditions one of which must hold."`
}

type bound struct {
	Op    string  `json:"op" oneof:"> >= < <= ==" doc:"Comparison."`
	Value float64 `json:"value" doc:"What the metric is compared with, in the metric's unit."`
}

type regulationRule struct {
	Scope            ruleScope `json:"scope" doc:"What the rule looks at."`
	Metric           string    `json:"metric" doc:"What is measured, such as incident_count or weekly_hours_max."`
	WindowDays       int64     `json:"window_days,omitempty" unit:"d" doc:"1 to 730; 30 when absent."`
	Per              string    `json:"per,omitempty" oneof:"entity site tenant window" doc:"What one verdict is about; entity when absent."`
	Normalize        string    `json:"normalize,omitempty" oneof:"none per_200k_hours per_1m_hours" doc:"Hours the metric is divided by."`
	MinExposureHours float64   `json:"min_exposure_hours,omitempty" unit:"h" doc:"Hours worked below which there is no verdict."`
	Due              string    `json:"due,omitempty" doc:"MM-DD of a calendar deadline."`
	State            string    `json:"state,omitempty" doc:"What must be true by then."`
	Warn             *bound    `json:"warn,omitempty" doc:"Bound of a warning."`
	Breach           *bound    `json:"breach,omitempty" doc:"Bound of a breach."`

	Evidence ruleEvidence `json:"evidence" doc:"What decides, and what absence means."`

	AppliesIf []fact `json:"applies_if,omitempty" doc:"Facts without which the rule does not apply."`
}

type ruleEvidence struct {
	Of      string `json:"of" doc:"Collection that the metric is read from."`
	Absence string `json:"absence" oneof:"insufficient_data breach" doc:"Verdict where nothing is on record."`
}

type fact struct {
	Fact string `json:"fact" oneof:"site.avg_employees tenant.workers site.sends_300a site.sends_300" doc:"Its name."`
	bound
}

type ruleScope struct {
	EntityTypes []string       `json:"entity_types" oneof:"zone driver worker equipment" doc:"Kinds of entity."`
	Filter      map[string]any `json:"filter,omitempty" doc:"kind, severity_min, zone_kind, equipment_kind, job_title, checklist."`
}

type badgeRule struct {
	Metric  string `json:"metric" oneof:"reports near_misses verifications checklist_weeks training_valid" doc:"What is counted."`
	AtLeast int64  `json:"at_least" min:"1" doc:"Count at which the badge is earned."`
}

type importOptions struct {
	Mode        string         `json:"mode,omitempty" oneof:"insert update upsert" doc:"What becomes of records that exist; upsert when absent."`
	Header      *bool          `json:"header,omitempty" doc:"Whether the file has a header."`
	HeaderRow   int64          `json:"header_row,omitempty" doc:"Row of the header, from 1."`
	Delimiter   string         `json:"delimiter,omitempty" doc:"What separates cells."`
	Encoding    string         `json:"encoding,omitempty" doc:"How the file's letters are written."`
	DateOrder   string         `json:"date_order,omitempty" oneof:"dmy mdy ymd" doc:"What stands first in a date."`
	DecimalMark string         `json:"decimal_mark,omitempty" doc:"Point or comma."`
	Timezone    string         `json:"timezone,omitempty" doc:"IANA name of the zone of times without one."`
	Defaults    map[string]any `json:"defaults,omitempty" doc:"Value by field, for rows without one."`
	Sheet       string         `json:"sheet,omitempty" doc:"Sheet of a workbook."`
	SkipHidden  bool           `json:"skip_hidden,omitempty" doc:"Leave out rows that a sheet hides."`
	SkipTotals  bool           `json:"skip_totals,omitempty" doc:"Leave out rows of sums."`
	Values      map[string]any `json:"values,omitempty" doc:"By field, what texts of cells mean in all rows."`
	Epoch       string         `json:"epoch,omitempty" oneof:"seconds milliseconds" doc:"What numbers count since 1970."`
	ShortYears  string         `json:"short_years,omitempty" oneof:"past future" doc:"Where years of two digits lie."`
	DryRun      bool           `json:"dry_run,omitempty" doc:"Say what would happen, and write nothing."`
	Force       bool           `json:"force,omitempty" doc:"Take a file that was imported before."`
}

type rateLimit struct {
	Minute  int64 `json:"minute" doc:"Requests of one person or key in a minute."`
	Burst   int64 `json:"burst,omitempty" doc:"Requests of one person or key in ten seconds."`
	Ceiling int64 `json:"ceiling,omitempty" doc:"Requests of the whole tenant in a minute."`
}

type scoreInputs struct {
	IncidentCount float64 `json:"incident_count" doc:"Incidents of the period."`
	NearMissCount float64 `json:"near_miss_count" doc:"Near misses of the period."`
	ShiftHours    float64 `json:"shift_hours" unit:"h" doc:"Hours worked."`
	Workload      float64 `json:"workload" doc:"Work as a ratio of the usual."`
	PeriodDays    float64 `json:"period_days" unit:"d" doc:"Length of the period."`
	CriticalCount float64 `json:"critical_count,omitempty" doc:"Critical incidents among them; absent where none is."`
}

type clusterMember struct {
	Type  string  `json:"entity_type" oneof:"zone driver worker equipment" doc:"Kind of entity."`
	ID    string  `json:"entity_id" format:"uuid" doc:"The entity."`
	Score float64 `json:"score" doc:"0 to 100."`

	Previous string `json:"previous,omitempty" oneof:"Critical High Medium Low" doc:"Its cluster before; absent at first."`
}

type deliveryAttempt struct {
	At     string `json:"at" format:"date-time" doc:"When it was made."`
	Status *int64 `json:"status" doc:"HTTP status; null when no answer came."`
	Ms     *int64 `json:"ms" unit:"ms" doc:"Time until the answer."`
	Error  string `json:"error,omitempty" doc:"Why it failed."`
}

type deliveryPayload struct {
	ID        string         `json:"id" format:"uuid" doc:"The event."`
	Type      string         `json:"type" doc:"Type of event, such as order.confirmed."`
	TenantID  string         `json:"tenant_id" format:"uuid" doc:"The tenant it happened in."`
	Timestamp string         `json:"timestamp" format:"date-time" doc:"When it happened."`
	Data      map[string]any `json:"data,omitempty" doc:"The record, as the event's type says."`
}

type deliveryRequest struct {
	URL     string         `json:"url,omitempty" doc:"Address that was called."`
	Headers map[string]any `json:"headers,omitempty" doc:"Headers that were sent."`
}

type deliveryResponse struct {
	Headers map[string]any `json:"headers,omitempty" doc:"Headers that came back."`
	Body    string         `json:"body,omitempty" doc:"Beginning of the body."`
}

// freeObject is an object whose members depend on what the record is about.
var freeObject = schema.Of(map[string]any{})

// anything is any JSON value.
var anything = &schema.Shape{}

// texts is an object of texts by name.
var texts = schema.Of(map[string]string{})
