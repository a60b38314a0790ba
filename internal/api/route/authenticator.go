package route

import (
	"context"
	"net/http"

	"holdfast/internal/access"
	"holdfast/internal/actor"
	"holdfast/internal/db"
	"holdfast/internal/fault"
	"holdfast/internal/functions"
	"holdfast/internal/identity"
	"holdfast/internal/sso"
	"holdfast/internal/web"
)

// Authenticator lets callers in: it reads what a request shows, says who makes it, and
// counts it. Only what the routes behind it need must be there.
type Authenticator struct {
	Gate     *access.Gate
	Identity *identity.Service
	SSO      *sso.Service // finds the connection of a SCIM token
	Windows  Windows
}

// admitCaller says who makes a call, and refuses it where that is not who the route is
// for. What is known of the caller by then stands in the call, also when it is
// refused: the log names him.
func (d *Authenticator) admitCaller(w http.ResponseWriter, c *Call, rt *Route) error {
	switch rt.Who {
	case Public, Open, Returning, Departing, Attempt:
		return d.admitStranger(w, c, rt)
	case Visitor, SignedIn, TenantMember:
		return d.askGate(w, c, rt)
	case Account, AccountInTenant, Service:
		return d.admitAccount(w, c, rt)
	case Administrator, Operator:
		return d.admitAdministrator(w, c, rt)
	case Provisioner:
		return d.admitProvisioner(w, c)
	case Named:
		return nil // by the name, which the handler knows
	}
	return fault.New(fault.Internal, "", "route: %s is nobody's", rt.Pattern)
}

// admitStranger lets anyone in. Signed-out clients send the anonymous key, or an
// expired token, as bearer: it is not looked at, but for the service key, which
// stands for many people and is not counted by its address.
func (d *Authenticator) admitStranger(w http.ResponseWriter, c *Call, rt *Route) error {
	c.Actor = actor.Actor{Role: actor.Anon, Address: web.ClientAddress(c.Request), RequestID: web.RequestID(c.Context())}
	if rt.Auth && rt.Who == Public || rt.Who == Attempt {
		c.Exempt = d.Identity.Authenticator.ServiceKey(c.Context(), Credential(c.Request), c.Method, rt.Pattern)
	}
	switch rt.Who {
	case Attempt:
		return d.Windows.countAttempt(w, access.Attempt{Address: web.ClientAddress(c.Request), Many: c.Exempt, Secret: true})
	case Departing:
		return d.Windows.countDeparture(w, c)
	case Open, Returning:
		return d.Windows.countSession(w, c)
	}
	return nil
}

// askGate asks the gate.
func (d *Authenticator) askGate(w http.ResponseWriter, c *Call, rt *Route) (err error) {
	changes := c.Method != http.MethodGet && c.Method != http.MethodHead && !rt.Reads
	if rt.Question {
		c.Actor, err = d.Gate.Look(w, c.Request)
	} else {
		c.Actor, err = d.Gate.Enter(w, c.Request, changes)
	}
	if err != nil || rt.Who == Visitor {
		return err
	}
	if c.Actor.Anonymous() {
		return fault.New(fault.Unauthorized, "PGRST302", "sign in first: this needs an access token")
	}
	if c.Query, err = Query(c.URL.RawQuery); err != nil {
		return err
	}
	c.Request = c.Request.WithContext(db.OnBehalf(c.Request.Context(), c.Actor.UserID))
	if rt.Who == TenantMember {
		if err := d.admitMember(c, changes); err != nil {
			return err
		}
	}
	return rt.checkQuery(c.Query)
}

// admitMember lets the members of a tenant through. A service key names its tenant
// in the query.
func (d *Authenticator) admitMember(c *Call, changes bool) (err error) {
	switch a := &c.Actor; {
	case a.Role == actor.Service && a.TenantID == "":
		id := ""
		if v := c.Query["tenant_id"]; len(v) == 1 {
			id = v[0]
		}
		a.TenantID, err = Tenant(c.Context(), d.Gate, id)
		return err
	case a.TenantID == "":
		return fault.New(fault.Forbidden, "42501", "you are not a member of a tenant")
	case a.Suspended && changes:
		return fault.New(fault.Forbidden, "42501", "the tenant is suspended: nothing can be changed")
	}
	return nil
}

// Tenant is the tenant that a service key names, who stands for none.
func Tenant(ctx context.Context, g *access.Gate, id string) (string, error) {
	if !functions.IsUUID(id) {
		return "", fault.New(fault.Invalid, "", "with a service key, tenant_id must name the tenant (a UUID)").At("tenant_id",
			"missing or not a UUID")
	}
	return id, g.Exists(ctx, id)
}

// admitAccount lets signed-in users in, or the service key, as GoTrue does.
func (d *Authenticator) admitAccount(w http.ResponseWriter, c *Call, rt *Route) (err error) {
	if c.Actor, err = callerOf(c, d.Identity, rt.Who); err != nil {
		return err
	}
	return d.Windows.countSession(w, c)
}

// User is who makes a call by its bearer token, for a route that takes one and
// does without.
func User(c *Call, s *identity.Service) (actor.Actor, error) { return callerOf(c, s, Account) }

// callerOf is whom a request shows, if that is the caller who is asked for.
func callerOf(c *Call, s *identity.Service, asked Caller) (actor.Actor, error) {
	shown := Credential(c.Request)
	if shown.Bearer == "" && asked != Service {
		// The apikey header identifies a project, never a user.
		return actor.Actor{}, noBearer()
	}
	identify := s.Authenticator.Identify
	if asked == AccountInTenant {
		identify = s.Authenticator.Authenticate
	}
	who, err := identify(c.Context(), shown)
	switch {
	case err != nil:
		return who, err
	case who.Scope != nil:
		return who, keysOfTenants()
	case asked == Service && who.Role == actor.Service, asked != Service && who.UserID != "":
		return who, nil
	case asked != Service:
		return who, fault.New(fault.Unauthorized, "bad_jwt", "invalid claim: missing sub claim")
	case shown.Bearer == "" && shown.APIKey == "":
		return who, noBearer()
	}
	return who, notAllowed()
}

// admitAdministrator lets administrators of a tenant in, or for Operator none, and the
// service key.
func (d *Authenticator) admitAdministrator(w http.ResponseWriter, c *Call, rt *Route) error {
	who, err := d.Identity.Authenticator.Authenticate(c.Context(), Credential(c.Request))
	if err != nil {
		return err
	}
	c.Actor = who
	switch {
	case who.Anonymous():
		return noBearer()
	case who.Role == actor.Service:
	case who.Scope != nil:
		return keysOfTenants()
	case rt.Who == Operator, !who.Administrator(), who.TenantID == "":
		return notAllowed()
	case who.Suspended && rt.Method != http.MethodGet:
		return fault.New(fault.Forbidden, "not_admin", "The tenant is suspended")
	case rt.Method != http.MethodGet:
		if err := d.Identity.Proofs.Admit(who); err != nil {
			return err
		}
	}
	return d.Windows.countSession(w, c)
}

// admitProvisioner finds the connection of a SCIM token; it is no user's token and
// opens nothing but SCIM.
func (d *Authenticator) admitProvisioner(w http.ResponseWriter, c *Call) error {
	token := Credential(c.Request).Bearer
	if token == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return fault.New(fault.Unauthorized, "no_authorization", "This endpoint requires a SCIM token")
	}
	conn, plan, err := d.SSO.BySCIMToken(c.Context(), token)
	if err != nil {
		if fault.Is(err, fault.Unauthorized) {
			if over := d.Windows.countAttempt(w, access.Attempt{Address: web.ClientAddress(c.Request)}); over != nil {
				return over
			}
		}
		return err
	}
	c.Connection = conn
	c.Actor = actor.Actor{TenantID: conn.TenantID, Plan: plan, KeyID: "scim:" + conn.ID,
		Address: web.ClientAddress(c.Request), RequestID: web.RequestID(c.Context())}
	return d.Windows.countSession(w, c)
}

func noBearer() error {
	return fault.New(fault.Unauthorized, "no_authorization", "This endpoint requires a valid Bearer token")
}

func keysOfTenants() error {
	return fault.New(fault.Forbidden, "not_admin", "Keys of a tenant do not reach its identities")
}

func notAllowed() error { return fault.New(fault.Forbidden, "not_admin", "User not allowed") }

// RedirectOnError leads a person who comes from a provider for nothing to the site, and
// nowhere that the provider's answer names.
func RedirectOnError(w http.ResponseWriter, s *identity.Service, err error) error {
	w.Header().Set("Location", s.Federation.Misled(s.Links.Target(), err))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}
