// Package actor says who is asking. An Actor is made once per request by the
// identity service and handed down as an argument.
//
// Layer: values. Begin at [Actor].
package actor

import (
	"slices"
	"time"
)

// Role is a membership's role in a tenant, or one of the two key roles.
type Role string

// Roles of a membership, and the two roles that come with an API key.
const (
	Owner    Role = "owner"
	Admin    Role = "admin"
	Manager  Role = "manager"
	Safety   Role = "safety"
	Operator Role = "operator"
	Driver   Role = "driver"
	Viewer   Role = "viewer"
	Client   Role = "client" // a member whose membership names a goods owner, whatever its role says
	Service  Role = "service"
	Anon     Role = "anon"
)

// Members lists the roles a membership may have, strongest first. A client is none
// of them: what is open to every member is closed to clients.
var Members = []Role{Owner, Admin, Manager, Safety, Operator, Driver, Viewer}

// Leaders lists the roles that run a warehouse and its safety: they import
// files and run the safety programme.
var Leaders = []Role{Owner, Admin, Manager, Safety}

// Valid reports whether r is a membership role.
func (r Role) Valid() bool {
	for _, m := range Members {
		if r == m {
			return true
		}
	}
	return false
}

// Actor is the caller of one request. Ids are lower-case UUID text; an absent
// one is "".
type Actor struct {
	UserID     string
	SessionID  string
	AAL        string    // authenticator assurance level of a user's session: aal1 or aal2
	Guarded    bool      // what protects the tenant takes a second factor of this account
	Proved     time.Time // when the session last showed a credential
	TenantID   string    // "" = no membership (functions answer 403), or a service key without a tenant
	Role       Role
	WorkerID   string   // the worker record linked to the membership
	GoodsOwner string   // the goods owner whose records alone a client sees
	ZoneIDs    []string // row scope of operators and drivers; empty = every zone
	Plan       string   // the tenant's plan, for rate limits
	Suspended  bool     // the tenant is suspended: reads only
	KeyID      string   // the API key used, for the audit log
	// of a tenant's own key, which has an account for UserID and no session; nil = whatever the role may
	Scope     Scope
	Machine   bool // UserID is a service account's
	RequestID string
	Address   string // client address, for the audit log
}

// Anonymous reports that nobody signed in.
func (a Actor) Anonymous() bool { return a.UserID == "" && a.Role != Service }

// Person reports somebody who signed in: neither a key nor a machine's account.
func (a Actor) Person() bool { return a.UserID != "" && a.Role != Service && !a.Machine }

// Seconds reports that the caller is a second person: where two people are asked
// for, no key and no machine's account is one of them, nor is any of those who did
// what is decided on. Those are ids as rows hold them; nil is nobody.
func (a Actor) Seconds(first ...any) bool {
	return a.Person() && !slices.Contains(first, any(a.UserID))
}

// Administrator reports an owner, an admin or a service key: the interface's
// "administrator".
func (a Actor) Administrator() bool {
	return a.Role == Owner || a.Role == Admin || a.Role == Service
}
