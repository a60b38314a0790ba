package route

// Caller is who may call a route. A route without one is refused when the
// server starts.
type Caller uint8

// Callers, from everybody to the few.
const (
	_         Caller = iota
	Public           // anyone: the credential is not looked at, and what is tried is counted by what it is
	Open             // anyone: counted as a request of the address
	Returning        // anyone whom a provider sends back: counted as Open, and led to the site when refused
	Departing        // anyone on the way to a provider: counted apart, for each leaves a row behind
	Attempt          // anyone: counted as a sign-in with what nobody can guess

	Visitor      // whoever the gate lets in, signed in or not; the row policy says what there is for them
	Named        // says the collection, function or verb of the name: docs/permissions.md
	SignedIn     // a signed-in user, a key of a tenant, or the service key
	TenantMember // a member or a key of a tenant, or the service key that names one by tenant_id

	Account         // a signed-in user, who may lack the second factor: it is given here
	AccountInTenant // a signed-in user with the second factor his tenant asks for
	Administrator   // an administrator of the tenant, to change something by a fresh proof, or the service key
	Service         // the service key
	Operator        // the service key, where administrators have routes of their own
	Provisioner     // the SCIM token of a connection

	callers
)

var described = [callers]string{
	Public: "anyone", Open: "anyone", Returning: "anyone a provider sends back",
	Departing: "anyone on the way to a provider", Attempt: "anyone",
	Visitor: "anyone; the row policy decides", Named: "as docs/permissions.md says", SignedIn: "signed in",
	TenantMember: "member of a tenant", Account: "signed-in user",
	AccountInTenant: "signed-in user, with the second factor the tenant asks for",
	Administrator:   "administrator", Service: "service key", Operator: "service key", Provisioner: "SCIM token",
}

func (c Caller) String() string {
	if c >= callers || c == 0 {
		return "nobody"
	}
	return described[c]
}

// Anyone reports a route that asks for no credential.
func (c Caller) Anyone() bool { return c >= Public && c <= Attempt }

// Service reports a route that is the service key's alone.
func (c Caller) ServiceKey() bool { return c == Service || c == Operator }
