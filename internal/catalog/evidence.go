package catalog

import (
	"slices"
	"strings"

	"holdfast/internal/actor"
)

// evidenceResources are what people keep with a record: what they say about it, and
// files that show it.
func evidenceResources() []Resource { return []Resource{commentsResource(), filesResource()} }

// talkers are the roles that say something about the records that they read.
var talkers = plusRoles(leaders, floor...)

// evidenceParents are the references to the records that have comments and files.
func evidenceParents() []Field {
	return []Field{
		{Name: "incident_id", Type: UUID, Ref: "incidents", Fixed: true},
		{Name: "clock_id", Type: UUID, Ref: "legal_clocks", Fixed: true, Label: "Legal clock"},
		{Name: "action_id", Type: UUID, Ref: "actions", Fixed: true},
		{Name: "run_id", Type: UUID, Ref: "checklist_runs", Fixed: true},
		{Name: "assignment_id", Type: UUID, Ref: "training_assignments", Fixed: true},
		{Name: "equipment_id", Type: UUID, Ref: "equipment", Fixed: true},
		{Name: "order_id", Type: UUID, Ref: "orders", Fixed: true},
		{Name: "shipment_id", Type: UUID, Ref: "shipments", Fixed: true},
	}
}

func evidenceColumns() []string {
	var names []string
	for _, f := range evidenceParents() {
		names = append(names, f.Name)
	}
	return names
}

// oneParent is the condition that a row names one record.
func oneParent() string {
	var terms []string
	for _, name := range evidenceColumns() {
		terms = append(terms, "CASE WHEN "+name+" IS NULL THEN 0 ELSE 1 END")
	}
	return strings.Join(terms, " + ") + " = 1"
}

func commentsResource() Resource {
	return Resource{
		Name: "comments", Family: "safety",
		Doc: "What people say about a record: an incident, legal clock, action, inspection, certificate, machine, order or " +
			"shipment. Read by those who read the record. Its author may change it for 15 minutes; it is struck, never deleted.",
		Fields: slices.Concat(evidenceParents(), []Field{
			{Name: "text", Required: true, Doc: "Up to 10,000 characters."},
			{Name: "mentions", Type: Array, Required: true, Default: "[]", MaxLen: 20, Names: "members",
				Doc: "Accounts of members who are named in the text. Those who read the record get a mail."},
			{Name: "from_reporter", Type: Bool, ReadOnly: true, Required: true, Default: "false",
				Doc: "Added with a report's follow-up code, by whoever reported without an account."},
			{Name: "edited_at", Type: Time, ReadOnly: true, Doc: "When its author last changed the text."},
			{Name: "status", Required: true, Default: "shown", OneOf: []string{"shown", "struck"}},
			{Name: "struck_at", Type: Time, ReadOnly: true},
			{Name: "struck_by", Type: UUID, ReadOnly: true, Label: "Struck out by"},
		}),
		Parents: evidenceColumns(),
		Checks:  []string{oneParent()},
		Own:     []string{"created_by"},
		Makers:  talkers,
		Access: Access{
			Read:   []Grant{grantBesideReadable(plusRoles(talkers, actor.Viewer))},
			Create: []Grant{grantBesideReadable(talkers)},
			Update: []Grant{grantBesideReadable(leaders), grantOwn(floor...)},
		},
		States: &States{Field: "status", Initial: []string{"shown"}, Moves: []Move{
			{From: []string{"shown"}, To: "struck", Roles: talkers},
		}},
	}
}

func filesResource() Resource {
	return Resource{
		Name: "files", Family: "safety",
		Doc: "Pictures, PDF and office documents kept with a record, 25 MB at most each. Uploaded to " +
			"/v1/{collection}/{id}/files and read at /v1/files/{id}/content by those who read the record; deleted with it.",
		Fields: slices.Concat(evidenceParents(), []Field{
			{Name: "name", Format: Name, Required: true, ReadOnly: true, Doc: "File name, as a label."},
			{Name: "note", Format: Name, Doc: "What the file shows."},
			{Name: "kind", Required: true, ReadOnly: true,
				OneOf: strings.Fields("picture pdf document spreadsheet presentation"), Doc: "By content, not by name."},
			{Name: "media_type", Format: Name, Required: true, ReadOnly: true},
			{Name: "size", Type: Int, Unit: "B", Required: true, ReadOnly: true},
			{Name: "sha256", Format: Name, MaxLen: 64, Required: true, ReadOnly: true},
			{Name: "width", Type: Int, Unit: "px", ReadOnly: true},
			{Name: "height", Type: Int, Unit: "px", ReadOnly: true},
			{Name: "blob_key", Format: Name, Required: true, ReadOnly: true, Readers: nobody},
			{Name: "thumbnail_key", Format: Name, ReadOnly: true, Readers: nobody},
		}),
		Parents: evidenceColumns(),
		Checks:  []string{oneParent()},
		Own:     []string{"created_by"},
		Makers:  leaders,
		Access: Access{
			Read:   []Grant{grantBesideReadable(plusRoles(talkers, actor.Viewer))},
			Update: []Grant{grantBesideReadable(leaders).onlyFields("note")},
			Delete: []Grant{grantBesideReadable(officers)},
		},
	}
}
