package catalog

import (
	"holdfast/internal/actor"
	"holdfast/internal/schema"
)

// EventResources are the records of the events that leave the server: where
// they go, and how each delivery went.
func EventResources() []Resource {
	return []Resource{webhooksResource(), webhookDeliveries()}
}

func webhooksResource() Resource {
	return Resource{
		Name: "webhooks", Family: "platform",
		Doc: "Addresses that are told of events. Made by POST /v1/webhooks, which answers the signing secret once.",
		Fields: []Field{
			{Name: "url", MaxLen: 2000, Required: true, Label: "URL",
				Doc: "https address of a public host; it answers 2xx within 10 seconds."},
			{Name: "description", Format: Name},
			{Name: "events", Type: Array, Required: true, Default: `["*"]`, MaxLen: 50,
				Doc: "Event types, each exact, a family (order.*) or everything (*)."},
			{Name: "people_scores", Type: Bool, Required: true, Default: "false",
				Doc: "Whether it is sent what tells a single person's score."},
			{Name: "status", Required: true, Default: "active", OneOf: []string{"active", "paused", "disabled"},
				Doc: "paused keeps events for three days; disabled, by 410 or five days of failure, takes none."},
			{Name: "disabled_reason", Format: Name, ReadOnly: true},
			{Name: "failing_since", Type: Time, ReadOnly: true, Doc: "First failure after the last success."},
			{Name: "api_version", Required: true, Default: "v1", ReadOnly: true, OneOf: []string{"v1"}},
			{Name: "secret", Format: Name, MaxLen: 200, Required: true, ReadOnly: true, Readers: nobody,
				Doc: "Sealed; whsec_ and base64 when shown."},
			{Name: "old_secret", Format: Name, MaxLen: 200, ReadOnly: true, Readers: nobody,
				Doc: "Signs too until old_secret_until."},
			{Name: "old_secret_until", Type: Time, ReadOnly: true},
		},
		Access: Access{
			Read:   []Grant{grantAll(plusRoles(admins, actor.Safety))},
			Update: []Grant{grantAll(admins).onlyFields("url", "description", "events", "people_scores", "status")},
			Delete: []Grant{grantAll(admins)},
		},
		States: &States{Field: "status", Initial: []string{"active", "paused"}, Moves: []Move{
			{From: []string{"active"}, To: "paused", Roles: admins},
			{From: []string{"paused", "disabled"}, To: "active", Roles: admins},
			{From: []string{"active", "paused"}, To: "disabled"},
		}},
	}
}

func webhookDeliveries() Resource {
	return Resource{
		Name: "webhook_deliveries", Family: "platform", Bare: true, Queue: true,
		Doc: "One event on its way to one webhook: what was sent, what came back, when it is tried again. Kept for 30 days.",
		Fields: []Field{
			{Name: "webhook_id", Type: UUID, Ref: "webhooks", Required: true, ReadOnly: true},
			{Name: "event_id", Type: UUID, Required: true, ReadOnly: true,
				Doc: "The webhook-id header: the same in every attempt and replay."},
			{Name: "type", Format: Name, Required: true, ReadOnly: true},
			{Name: "payload", Type: JSON, Shape: schema.Of(deliveryPayload{}), Required: true, ReadOnly: true},
			{Name: "status", Required: true, ReadOnly: true, Default: "pending",
				OneOf: []string{"pending", "retrying", "delivered", "dead"}},
			{Name: "attempt", Type: Int, Required: true, ReadOnly: true, Default: "0", Doc: "Attempts made."},
			{Name: "queued_at", Type: Time, Required: true, ReadOnly: true},
			{Name: "next_at", Type: Time, ReadOnly: true, Doc: "Not tried before this moment; null when done."},
			{Name: "done_at", Type: Time, ReadOnly: true},
			{Name: "response_status", Type: Int, ReadOnly: true, Doc: "HTTP status of the last attempt; null when none came."},
			{Name: "response_ms", Type: Int, Unit: "ms", ReadOnly: true},
			{Name: "request", Type: JSON, Shape: schema.Of(deliveryRequest{}), ReadOnly: true,
				Doc: "Address and headers of the last attempt."},
			{Name: "response", Type: JSON, Shape: schema.Of(deliveryResponse{}), ReadOnly: true,
				Doc: "Headers and beginning of the body of the last answer."},
			{Name: "error", Format: Name, ReadOnly: true},
			{Name: "attempts", Type: JSON, Shape: schema.Of([]deliveryAttempt{}), Required: true, ReadOnly: true, Default: "[]",
				Doc: "Array of {at, status, ms, error}, the latest 20."},
			{Name: "replay_of", Type: UUID, ReadOnly: true, Doc: "Delivery this one repeats."},
		},
		Indexes: [][]string{{"webhook_id", "-id"}, {"status", "-id"}, {"event_id"}},
		Access:  Access{Read: []Grant{grantAll(plusRoles(admins, actor.Safety))}},
	}
}
