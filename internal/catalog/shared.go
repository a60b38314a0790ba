package catalog

import (
	"strings"

	"holdfast/internal/actor"
)

func sharedDocuments() Resource {
	return Resource{
		Name: "shared_documents", Family: "safety",
		Doc: "Links by which somebody without an account reads one document, with a password and until a moment: an " +
			"auditor or insurer. Made at .../share of the document; whoever shared it, as that person reads it now, " +
			"decides what it says. Deleting it makes the link useless.",
		Fields: []Field{
			{Name: "kind", Required: true, ReadOnly: true,
				OneOf: strings.Fields("incident inspection certificate register actions")},
			{Name: "record_id", Type: UUID, ReadOnly: true,
				Doc: "The incident, inspection, training or version; null for the list of actions."},
			{Name: "name", Format: Name, Required: true, ReadOnly: true,
				Doc: "What the document was saved as when it was shared."},
			{Name: "language", ReadOnly: true, OneOf: strings.Fields("en de fr"), Doc: "Null: the tenant's."},
			{Name: "narrowed", MaxLen: 500, ReadOnly: true, Readers: nobody,
				Doc: "What a list of actions is narrowed by."},
			{Name: "expires_at", Type: Time, Required: true, ReadOnly: true, Doc: "From then on the link is useless."},
			{Name: "token_hash", Format: Name, MaxLen: 64, Required: true, ReadOnly: true, Readers: nobody,
				Doc: "Digest of the last part of the link, which is told once and kept nowhere."},
			{Name: "password_hash", Format: Name, MaxLen: 200, Required: true, ReadOnly: true, Readers: nobody},
			{Name: "wrong_passwords", Type: Int, Required: true, Default: "0", ReadOnly: true,
				Doc: "At 10 the link is closed for good."},
			{Name: "opened", Type: Int, Required: true, Default: "0", ReadOnly: true,
				Doc: "How often the document was read."},
			{Name: "opened_at", Type: Time, ReadOnly: true, Doc: "When it was read last."},
		},
		Unique: [][]string{{"token_hash"}},
		Listed: []string{"expires_at"},
		Own:    []string{"created_by"},
		Access: Access{
			Read:   []Grant{grantAll(officers), grantOwn(actor.Manager)},
			Delete: []Grant{grantAll(officers), grantOwn(actor.Manager)},
		},
	}
}

func wallScreens() Resource {
	return Resource{
		Name: "wall_screens", Family: "platform",
		Doc: "Screens that show the board of a hall without an account: orders, hazards, first aiders in figures, no " +
			"person. Made at /v1/wall-screens; deleting it makes the screen's link useless.",
		Fields: []Field{
			{Name: "name", Format: Name, MaxLen: 80, Required: true, ReadOnly: true, Doc: "Of the board."},
			{Name: "site_id", Type: UUID, Ref: "sites", ReadOnly: true, Doc: "Null: all sites."},
			{Name: "first_aid_course_id", Type: UUID, Ref: "courses", ReadOnly: true,
				Doc: "The course whose certificate makes a first aider; null: the board counts none."},
			{Name: "language", ReadOnly: true, OneOf: strings.Fields("en de fr"), Doc: "Null: the browser's."},
			{Name: "expires_at", Type: Time, Required: true, ReadOnly: true, Doc: "From then on the link is useless."},
			{Name: "token_hash", Format: Name, MaxLen: 64, Required: true, ReadOnly: true, Readers: nobody,
				Doc: "Digest of the last part of the link, which is told once and kept nowhere."},
			{Name: "opened_at", Type: Time, ReadOnly: true, Doc: "When it was shown last, to a quarter of an hour."},
		},
		Unique: [][]string{{"token_hash"}},
		Listed: []string{"expires_at"},
		Access: Access{Read: []Grant{grantAll(admins)}, Delete: []Grant{grantAll(admins)}},
	}
}
