package catalog

import "holdfast/internal/actor"

// reporting are what reports of incidents come with, and come by.
func reporting() []Resource { return []Resource{incidentPhotos()} }

func incidentPhotos() Resource {
	return Resource{
		Name: "incident_photos", Family: "safety",
		Doc: "Photos of incidents, without metadata. Uploaded to and seen at /v1/incidents/{id}/photos by those who may read the incident; deleted with it.",
		Fields: []Field{
			{Name: "incident_id", Type: UUID, Ref: "incidents", Required: true, Fixed: true},
			{Name: "caption", Format: Name},
			{Name: "width", Type: Int, Unit: "px", Required: true, ReadOnly: true},
			{Name: "height", Type: Int, Unit: "px", Required: true, ReadOnly: true},
			{Name: "size", Type: Int, Unit: "B", Required: true, ReadOnly: true},
			{Name: "sha256", Format: Name, MaxLen: 64, Required: true, ReadOnly: true},
			{Name: "blob_key", Format: Name, Required: true, ReadOnly: true, Readers: nobody},
		},
		Own: []string{"created_by"},
		Access: Access{
			Read:   []Grant{to(plus(leaders, actor.Viewer)), own(floor...)},
			Update: []Grant{to(leaders).only("caption")},
			Delete: []Grant{to(officers)},
		},
	}
}
