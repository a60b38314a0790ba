package demo

import "holdfast/internal/actor"

// The demo's tenants.
const (
	North = "11111111-1111-4111-8111-111111111111"
	South = "22222222-2222-4222-8222-222222222222"
)

// Password is every demo user's. Servers refuse it on any listener but
// loopback.
const Password = "holdfast-demo"

// User is an account of the demo. Seed writes the memberships and the links to
// workers; the account itself is made by the identity service, with this id.
type User struct {
	ID               string
	Email            string
	Name             string
	Memberships      map[string]actor.Role // by tenant id
	WorkerEmployeeNo string                // the worker record behind a floor role; "" = none
}

// Users returns the demo's accounts. The ids are fixed, because records name
// them as reporters, assignees and makers.
func Users() []User {
	in := func(tenant string, r actor.Role) map[string]actor.Role { return map[string]actor.Role{tenant: r} }
	return []User{
		{ID: userID(1), Email: "owner@north.example", Name: "Greta Lindqvist", Memberships: in(North, actor.Owner)},
		{ID: userID(2), Email: "admin@north.example", Name: "Tobias Krüger", Memberships: in(North, actor.Admin)},
		{ID: userID(3), Email: "manager@north.example", Name: "Miriam Okafor", Memberships: in(North, actor.Manager)},
		{ID: userID(4), Email: "safety@north.example", Name: "Henrik Solberg", Memberships: in(North, actor.Safety)},
		{ID: userID(5), Email: "operator@north.example", Name: "Jana Nowak", Memberships: in(North, actor.Operator),
			WorkerEmployeeNo: "N-1004"},
		{ID: userID(6), Email: "driver@north.example", Name: "Emre Yıldız", Memberships: in(North, actor.Driver),
			WorkerEmployeeNo: "N-1101"},
		{ID: userID(7), Email: "viewer@north.example", Name: "Clara Beck", Memberships: in(North, actor.Viewer)},
		{ID: userID(8), Email: "admin@south.example", Name: "Denise Holloway", Memberships: in(South, actor.Admin)},
		{ID: userID(9), Email: "operator@south.example", Name: "Marcus Reyes", Memberships: in(South, actor.Operator),
			WorkerEmployeeNo: "S-1002"},
		{ID: userID(10), Email: "both@both.example", Name: "Ingrid Castellano",
			Memberships:      map[string]actor.Role{North: actor.Manager, South: actor.Operator},
			WorkerEmployeeNo: "S-1003"},
		{ID: userID(11), Email: "nobody@none.example", Name: "Noor Haddad", Memberships: map[string]actor.Role{}},
		{ID: userID(12), Email: "owner@south.example", Name: "Walter Kimball", Memberships: in(South, actor.Owner)},
	}
}

// userID makes the fixed id of account n.
func userID(n int) string {
	return "00000000-0000-4000-8000-0000000000" + string([]byte{"0123456789abcdef"[n>>4&15], "0123456789abcdef"[n&15]})
}

// TenantName is how a tenant of the demo is called, "" for any other.
func TenantName(id string) string {
	for _, p := range []profile{northProfile(), southProfile()} {
		if p.id == id {
			return p.name
		}
	}
	return ""
}
