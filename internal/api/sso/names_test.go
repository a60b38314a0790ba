package sso_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
)

// connect makes a connection as an administrator and returns its id and what was
// answered, without what differs between any two.
func (k *kit) connect(access string, body map[string]any) (id string, rest map[string]any) {
	k.Helper()
	got := k.want(k.call("POST", "/sso/connections", access, body), 201, "")
	rest = got.json(k)
	for _, own := range []string{"id", "tenant_id", "created_at", "updated_at", "domains", "service_provider",
		"metadata_at"} {
		delete(rest, own)
	}
	return got.text(k, "id"), rest
}

// prove publishes the TXT record of a claimed domain and asks for it.
func (k *kit) prove(access, connection, domain string) answer {
	k.Helper()
	got := k.want(k.call("GET", "/sso/connections/"+connection, access, nil), 200, "").json(k)
	for _, d := range got["domains"].([]any) {
		d := d.(map[string]any)
		if d["domain"] == domain {
			k.mu.Lock()
			k.txt[d["dns_name"].(string)] = append(k.txt[d["dns_name"].(string)], d["dns_value"].(string))
			k.mu.Unlock()
		}
	}
	return k.want(k.call("POST", "/sso/connections/"+connection+"/domains/"+domain+"/verify", access, nil), 200, "")
}

// What another tenant calls its provider stands against nobody, and the answer
// does not tell of it; one tenant has a name once.
func TestNames_ofTenants(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, o := newIDP(k), newOP(k)
		a1 := k.member(k.tenant("One"), "a@one.example", actor.Owner).AccessToken
		a2 := k.member(k.tenant("Two"), "a@two.example", actor.Owner).AccessToken
		bodies := []map[string]any{
			{"kind": "saml", "metadata_xml": string(p.xml()), "default_role": "viewer"},
			{"kind": "oidc", "identifier": "custom:corp", "issuer": o.srv.URL, "client_id": "client", "default_role": "viewer"},
		}
		for _, b := range bodies {
			_, first := k.connect(a1, b)
			_, second := k.connect(a2, b)
			if diff := cmp.Diff(first, second); diff != "" {
				k.Errorf("the answer tells that another tenant has the provider (-first +second):\n%s", diff)
			}
			k.want(k.call("POST", "/sso/connections", a2, b), 422, "saml_idp_already_exists")
		}
		// Nor does a change tell.
		other, _ := k.connect(a2, map[string]any{"kind": "oidc", "issuer": o.srv.URL, "client_id": "client"})
		k.connect(a1, map[string]any{"kind": "oidc", "identifier": "custom:third", "issuer": o.srv.URL,
			"client_id": "client"})
		k.want(k.call("PUT", "/sso/connections/"+other, a2, map[string]any{"identifier": "custom:third"}), 200, "")
		k.want(k.call("PUT", "/sso/connections/"+other, a2, map[string]any{"identifier": "custom:corp"}), 422,
			"saml_idp_already_exists")
	})
}

// An identifier leads a sign-in to the connection that first proved a domain, as
// long as it has one; until then it leads nowhere.
func TestNames_identifier(t *testing.T) {
	onBoth(t, func(k *kit) {
		good, evil := newOP(k), newOP(k)
		one, two := k.tenant("One"), k.tenant("Two")
		a1, a2 := k.member(one, "a@one.example", actor.Owner).AccessToken,
			k.member(two, "a@two.example", actor.Owner).AccessToken
		body := func(p *op, domain string) map[string]any {
			return map[string]any{"kind": "oidc", "identifier": "custom:corp", "issuer": p.srv.URL, "client_id": "client",
				"client_secret": "secret-of-the-client",
				"default_role":  "viewer", "domains": []string{domain}}
		}
		c2, _ := k.connect(a2, body(evil, "evil.example")) // the squatter is first
		c1, _ := k.connect(a1, body(good, "corp.example"))
		authorize := func() answer {
			q := url.Values{"provider": {"custom:corp"}, "redirect_to": {"https://app.example/in"},
				"code_challenge": {challenge()}, "code_challenge_method": {"s256"}}
			return k.call("GET", "/authorize?"+q.Encode(), "", nil)
		}
		leads := func(access, id string) any {
			return k.want(k.call("GET", "/sso/connections/"+id, access, nil), 200, "").json(k)["identifier_active"]
		}
		k.want(authorize(), 400, "validation_failed")
		k.want(k.call("GET", "/admin/custom-providers/custom:corp", k.serviceKey(), nil), 409, "conflict")

		if got := k.prove(a1, c1, "corp.example").json(k)["identifier_active"]; got != true {
			k.Errorf("proved, identifier_active is %v", got)
		}
		at := k.landed(authorize())
		if !strings.HasPrefix(at.String(), good.srv.URL) {
			k.Fatalf("the identifier leads to %s", at)
		}
		conn, q := good.answer(at.String())
		if c := claims(k, k.want(k.redeem(k.callback(conn, q)), 200, "").text(k, "access_token")); c["tenant_id"] != one {
			k.Errorf("claims %v", c)
		}
		k.prove(a2, c2, "evil.example") // answers as ever; the name stays where it is
		if at := k.landed(authorize()); !strings.HasPrefix(at.String(), good.srv.URL) || leads(a2, c2) != nil ||
			leads(a1, c1) != true {
			k.Errorf("the name went to who proved second: %s", at)
		}
		if got := k.want(k.call("GET", "/admin/custom-providers/custom:corp", k.serviceKey(), nil), 200, "").text(k,
			"id"); got != c1 {
			k.Errorf("the operator sees %s", got)
		}
		k.want(k.call("POST", "/admin/custom-providers", k.serviceKey(),
			map[string]any{"tenant_id": k.tenant("Three"), "identifier": "custom:corp",
				"issuer": good.srv.URL, "client_id": "client"}), 422, "saml_idp_already_exists")

		// Another name of the holder, or no proved domain left: it leads nowhere again.
		k.want(k.call("PUT", "/sso/connections/"+c1, a1, map[string]any{"domains": []string{}}), 200, "")
		k.want(authorize(), 400, "validation_failed")
		k.want(k.call("PUT", "/sso/connections/"+c2, a2, map[string]any{"name": "Evil"}), 200, "")
		if leads(a2, c2) != true {
			k.Error("a free name is not taken by who may have it")
		}
		k.want(k.call("PUT", "/sso/connections/"+c2, a2, map[string]any{"identifier": "custom:else"}), 200, "")
		k.want(authorize(), 400, "validation_failed")
	})
}

// Two tenants with one SAML provider: a sign-in comes to the connection that asked
// for it; one that begins at the provider to the connection that proved the
// domain of its person, whoever else copied the provider's public metadata.
func TestNames_oneProviderOfTwo(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		one, two := k.tenant("One"), k.tenant("Two")
		a1, a2 := k.member(one, "a@one.example", actor.Owner).AccessToken,
			k.member(two, "a@two.example", actor.Owner).AccessToken
		body := func(domain string) map[string]any {
			return map[string]any{"kind": "saml", "metadata_xml": string(p.xml()), "default_role": "viewer",
				"allow_unsolicited": true, "domains": []string{domain}}
		}
		c2, _ := k.connect(a2, body("evil.example"))
		k.prove(a2, c2, "evil.example")
		c1, _ := k.connect(a1, body("corp.example"))
		arrive := func() *url.URL {
			return k.landed(k.call("POST", "/sso/saml/acs", "", url.Values{"SAMLResponse": {p.unsolicited()}}))
		}
		if at := arrive(); at.Query().Get("error_code") != "saml_relay_state_not_found" {
			k.Errorf("before the domain is proved it landed at %s", at)
		}
		k.prove(a1, c1, "corp.example")
		tenantOf := func(at *url.URL) any {
			f, _ := url.ParseQuery(at.Fragment)
			if f.Get("access_token") == "" {
				k.Fatalf("landed at %s", at)
			}
			return claims(k, f.Get("access_token"))["tenant_id"]
		}
		if got := tenantOf(arrive()); got != one {
			k.Errorf("landed in %v, want %s", got, one)
		}
		p.person.UserEmail, p.person.NameID = "eve@evil.example", "eve"
		if got := tenantOf(arrive()); got != two {
			k.Errorf("landed in %v, want %s", got, two)
		}
		p.person.UserEmail, p.person.NameID = "ann@corp.example", "ann-1"
		if at := k.landed(k.call("POST", "/sso/saml/acs", "",
			p.answer(k.begin("provider_id", c1)))); at.Query().Get("code") == "" {
			k.Errorf("asked by its own tenant: %s", at)
		}
		at := k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", c2))))
		if at.Query().Get("code") != "" {
			k.Errorf("a copied provider took somebody of another tenant's domain: %s", at)
		}
		// Nor by an address that the provider does not say, nor by a test.
		k.want(k.call("PUT", "/sso/connections/"+c2, a2,
			map[string]any{"attribute_mapping": map[string]any{"keys": map[string]any{
				"email": map[string]any{"name": "nothing", "default": "x@evil.example"}}}}), 400, "validation_failed")
		loc := k.want(k.call("POST", "/sso/connections/"+c2+"/test", a2, nil), 200, "").text(k, "url")
		k.call("POST", "/sso/saml/acs", "", p.answer(loc))
		got := k.want(k.call("GET", "/sso/connections/"+c2, a2, nil), 200, "").json(k)["last_test"]
		if b, _ := json.Marshal(got); strings.Contains(string(b), "ann") || strings.Contains(string(b), "wms-") ||
			!strings.Contains(string(b), "failed") {
			k.Errorf("a test shows people of another tenant's domain: %s", b)
		}
	})
}
