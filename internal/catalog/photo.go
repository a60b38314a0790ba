package catalog

import "holdfast/internal/actor"

// reportingResources are what reports of incidents come with, and come by.
func reportingResources() []Resource {
	return []Resource{incidentPhotos(), checklistPhotos(), reportLinks(), sharedDocuments()}
}

func incidentPhotos() Resource {
	return Resource{
		Name: "incident_photos", Family: "safety",
		Doc:    "Photos of incidents, without metadata. Uploaded to and seen at /v1/incidents/{id}/photos by those who may read the incident; deleted with it.",
		Fields: photoFields(Field{Name: "incident_id", Type: UUID, Ref: "incidents", Required: true, Fixed: true}),
		Own:    []string{"created_by"},
		Seal:   &Seal{By: "incident_id"},
		Makers: leaders, // as of incidents.reported_by: the reporter took most of them
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Viewer)), grantOwn(floor...)},
			Update: []Grant{grantAll(leaders).onlyFields("caption")},
			Delete: []Grant{grantAll(officers)},
		},
	}
}

func checklistPhotos() Resource {
	return Resource{
		Name: "checklist_photos", Family: "safety",
		Doc: "Photos that inspections are answered with, without metadata. Uploaded to and seen at /v1/checklist-runs/{id}/photos by those who may read the " +
			"inspection, while it is open; deleted with it.",
		Fields: photoFields(Field{Name: "run_id", Type: UUID, Ref: "checklist_runs", Required: true, Fixed: true}),
		Own:    []string{"created_by"},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(leaders, actor.Operator, actor.Viewer)), grantOwn(actor.Driver)},
			Update: []Grant{grantAll(leaders).onlyFields("caption")},
			Delete: []Grant{grantAll(officers)},
		},
	}
}

// photoFields are the fields of a photo of some record.
func photoFields(of Field) []Field {
	return []Field{
		of,
		{Name: "caption", Format: Name},
		{Name: "width", Type: Int, Unit: "px", Required: true, ReadOnly: true},
		{Name: "height", Type: Int, Unit: "px", Required: true, ReadOnly: true},
		{Name: "size", Type: Int, Unit: "B", Required: true, ReadOnly: true},
		{Name: "sha256", Format: Name, MaxLen: 64, Required: true, ReadOnly: true},
		{Name: "blob_key", Format: Name, Required: true, ReadOnly: true, Readers: nobody},
	}
}

func reportLinks() Resource {
	return Resource{
		Name: "report_links", Family: "safety",
		Doc: "Addresses of the public report page: who holds one can report something unsafe at its place without an account. Printed as QR codes " +
			"(/v1/report-links/{id}/qr.svg); a new token makes the old code useless. They work while the tenant's setting public_reports is true.",
		Fields: []Field{
			{Name: "name", Format: Name, Required: true, Doc: "What the page calls the place."},
			{Name: "site_id", Type: UUID, Ref: "sites"},
			{Name: "zone_id", Type: UUID, Ref: "zones"},
			{Name: "token", Format: Name, MaxLen: 64, Required: true, ReadOnly: true, Readers: leaders,
				Doc: "The last part of the page's address: 128 random bits behind the tenant."},
			{Name: "rotated_at", Type: Time, ReadOnly: true},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"active", "disabled"}},
		},
		Unique: [][]string{{"token"}},
		Access: Access{
			Read:   []Grant{grantAll(leaders)},
			Create: []Grant{grantAll(officers)},
			Update: []Grant{grantAll(officers)},
			Delete: []Grant{grantAll(officers)},
		},
	}
}
