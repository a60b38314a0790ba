package sso_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crewjam/saml"

	"holdfast/internal/actor"
	"holdfast/internal/identity"
)

// A person arrives through SAML, gets an account of the tenant and of no other,
// with the role of the groups, and an authorization code bound to the browser.
func TestSAMLSignIn(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newIDP(k), k.tenant("Corp")
		// Somebody has the same address and a password: another account.
		other := k.member(k.tenant("Other"), "ann@corp.example", actor.Owner)
		id := k.samlConnection(p, tenant, nil)
		for _, by := range [][2]string{{"domain", "corp.example"}, {"domain", "CORP.example."}, {"provider_id", id}} {
			at := k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin(by[0], by[1]))))
			if at.Host != "app.example" || at.Fragment != "" {
				k.Fatalf("landed at %s", at)
			}
			sess := k.want(k.redeem(at), 200, "")
			c := claims(k, sess.text(k, "access_token"))
			if c["tenant_id"] != tenant || c["tenant_role"] != "manager" || c["email"] != "ann@corp.example" ||
				c["sub"] == other.User.ID {
				k.Errorf("claims %v", c)
			}
			amr := c["amr"].([]any)[0].(map[string]any)
			if amr["method"] != "sso/saml" || amr["provider"] != id {
				k.Errorf("amr %v, want sso/saml of %s", amr, id)
			}
			user := sess.json(k)["user"].(map[string]any)
			if got := user["identities"].([]any)[0].(map[string]any)["provider"]; got != "sso:"+id {
				k.Errorf("identity of %v", got)
			}
			k.want(k.call("POST", "/token?grant_type=refresh_token", "",
				map[string]any{"refresh_token": sess.text(k, "refresh_token")}), 200, "")
		}
		if n := k.count("SELECT COUNT(*) FROM users WHERE email = 'ann@corp.example'"); n != 2 {
			k.Errorf("%d accounts with the address, want the password one and one of the provider", n)
		}
	})
}

// What the mapping makes of the provider's attributes: one value or all of them,
// the first name that is there, a default of any kind where none is.
func TestSAMLAttributes(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		p.person.Groups = []string{"wms-managers", "night shift"}
		const groups = "eduPersonAffiliation"
		type keys = map[string]any
		id := k.samlConnection(p, k.tenant("Corp"), keys{"attribute_mapping": keys{"keys": map[string]keys{
			"groups": {"name": groups}, "teams": {"name": groups, "array": true}, "team": {"name": groups},
			"second": {"names": []string{"absent", groups}},
			"site":   {"name": "absent", "default": "north"}, "floor": {"name": "absent", "default": 2},
			"remote": {"name": "absent", "default": false},
			"sites":  {"name": "absent", "default": "north", "array": true}, "there": {"name": groups, "default": "north"},
			"none": {"name": "absent", "array": true},
		}}})
		sess := k.want(k.redeem(k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))), 200, "")
		got := sess.json(k)["user"].(keys)["user_metadata"].(keys)
		want := keys{"teams": []any{"wms-managers", "night shift"}, "team": "wms-managers", "second": "wms-managers",
			"site": "north", "floor": 2.0, "remote": false,
			"sites": []any{"north"}, "there": "wms-managers", "none": nil}
		for key, v := range want {
			if !reflect.DeepEqual(got[key], v) {
				k.Errorf("%s: %v, want %v", key, got[key], v)
			}
		}
	})
}

// resource_id is the operator's own name for a provider: kept, changed, emptied.
func TestResourceID(t *testing.T) {
	onBoth(t, func(k *kit) {
		at := "/admin/sso/providers/" + k.samlConnection(newIDP(k), k.tenant("Corp"), map[string]any{"resource_id": "crm-17"})
		shown := func() any { return k.want(k.call("GET", at, k.serviceKey(), nil), 200, "").json(k)["resource_id"] }
		if got := shown(); got != "crm-17" {
			k.Error(got)
		}
		for _, change := range []struct{ to, want any }{{"crm-18", "crm-18"}, {nil, "crm-18"}, {"", nil}} {
			k.want(k.call("PUT", at, k.serviceKey(), map[string]any{"resource_id": change.to}), 200, "")
			if got := shown(); got != change.want {
				k.Errorf("%v, want %v", got, change.want)
			}
		}
		k.want(k.call("PUT", at, k.serviceKey(), map[string]any{"resource_id": strings.Repeat("x", 201)}), 400,
			"validation_failed")
	})
}

// A role follows the groups at each sign-in; who is in no mapped group is not
// let in where there is no default.
func TestRoleFollowsGroups(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newIDP(k), k.tenant("Corp")
		id := k.samlConnection(p, tenant, map[string]any{"default_role": ""})
		in := func() *url.URL {
			return k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))
		}
		for _, want := range []struct{ group, role string }{{"wms-managers", "manager"}, {"wms-drivers", "driver"},
			{"wms-managers", "manager"}} {
			p.person.Groups = []string{"everyone", want.group}
			if got := claims(k, k.redeem(in()).text(k, "access_token"))["tenant_role"]; got != want.role {
				k.Errorf("group %s gives %v", want.group, got)
			}
		}
		p.person.Groups = []string{"everyone"}
		if at := in(); at.Query().Get("error") != "access_denied" || at.Query().Get("code") != "" {
			k.Errorf("no mapped group led to %s", at)
		}
		p.person.Groups = []string{"wms-drivers"}
		k.exec("UPDATE members SET status = 'suspended' WHERE tenant_id = $1", tenant)
		if at := in(); at.Query().Get("error") != "access_denied" {
			k.Errorf("a suspended member led to %s", at)
		}
	})
}

// An address outside the proved domains does not pass, whatever the provider
// says: it could be anybody's.
func TestForeignAddressIsRefused(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		id := k.samlConnection(p, k.tenant("Corp"), nil)
		p.person.UserEmail = "boss@elsewhere.example"
		at := k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))
		if at.Query().Get("error") != "access_denied" || k.count("SELECT COUNT(*) FROM users") != 0 {
			k.Errorf("landed at %s", at)
		}
	})
}

// What makes a flow unusable: each attempt leads to the
// site or the target with an error, and no account is made.
func TestSAMLFlowAttacks(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, q, tenant := newIDP(k), newIDP(k), k.tenant("Corp")
		id := k.samlConnection(p, tenant, nil)
		evil := k.samlConnection(q, k.tenant("Evil"), map[string]any{"domains": []string{"evil.example"}})
		post := func(f url.Values) *url.URL { return k.landed(k.call("POST", "/sso/saml/acs", "", f)) }
		refused := func(what string, at *url.URL, code string) {
			k.Helper()
			if at.Query().Get("error_code") != code || at.Query().Get("code") != "" ||
				strings.Contains(at.Fragment, "access_token") {
				k.Errorf("%s: landed at %s, want %s", what, at, code)
			}
		}
		good := p.answer(k.begin("provider_id", id))
		without := url.Values{"SAMLResponse": good["SAMLResponse"]}
		refused("without RelayState", post(without), "saml_relay_state_not_found")
		refused("forged RelayState", post(url.Values{"SAMLResponse": good["SAMLResponse"],
			"RelayState": {"0198c6f0-0000-7000-8000-000000000000.00"}}),
			"saml_relay_state_not_found")
		refused("an answer at another request",
			post(url.Values{"SAMLResponse": good["SAMLResponse"], "RelayState": {relay(k, k.begin("provider_id", id))}}),
			"validation_failed")
		refused("the provider of another tenant",
			post(url.Values{"SAMLResponse": q.answer(k.begin("provider_id", evil))["SAMLResponse"],
				"RelayState": good["RelayState"]}), "validation_failed")
		refused("no XML", post(url.Values{"SAMLResponse": {"PGE+"}, "RelayState": good["RelayState"]}), "validation_failed")
		refused("no base64", post(url.Values{"SAMLResponse": {"%%%"}, "RelayState": good["RelayState"]}), "validation_failed")
		raw, _ := base64.StdEncoding.DecodeString(good.Get("SAMLResponse"))
		forged := strings.Replace(string(raw), "ann@corp.example", "eve@corp.example", 1)
		refused("a changed attribute",
			post(url.Values{"SAMLResponse": {base64.StdEncoding.EncodeToString([]byte(forged))},
				"RelayState": good["RelayState"]}), "validation_failed")
		if n := k.count("SELECT COUNT(*) FROM users"); n != 0 {
			k.Errorf("%d accounts were made by refused responses", n)
		}
		if at := post(good); at.Query().Get("code") == "" {
			k.Fatalf("the untouched answer led to %s", at)
		}
		refused("the same answer twice", post(good), "flow_state_already_used")

		pending := p.answer(k.begin("provider_id", id))
		k.want(k.call("PUT", "/admin/sso/providers/"+id, k.serviceKey(), map[string]any{"disabled": true}), 200, "")
		if at := post(pending); at.Query().Get("code") != "" {
			k.Errorf("disabled in mid-flow: landed at %s", at)
		}
		k.want(k.call("POST", "/sso", "", map[string]any{"provider_id": id, "code_challenge": challenge(),
			"code_challenge_method": "s256"}), 404,
			"sso_provider_disabled")

		late := q.answer(k.begin("provider_id", evil))
		k.mu.Lock()
		k.skew = 11 * time.Minute
		k.mu.Unlock()
		refused("eleven minutes later", post(late), "saml_relay_state_expired")
	})
}

// A response has to say who somebody is and at which address; the metadata of a
// connection stay those of one provider, and hold while they say so.
func TestSAMLNamesSomebody(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, q := newIDP(k), newIDP(k)
		id := k.samlConnection(p, k.tenant("Corp"), nil)
		one := p.person
		change := func(body map[string]any) answer {
			return k.call("PUT", "/admin/sso/providers/"+id, k.serviceKey(), body)
		}
		for _, c := range []struct {
			name, code string
			change     func(*saml.Session)
		}{
			{"no address", "saml_assertion_no_email", func(s *saml.Session) { s.UserEmail = "" }},
			{"an address that is none", "saml_assertion_no_email", func(s *saml.Session) { s.UserEmail = "ann" }},
			{"no name", "saml_assertion_no_user_id", func(s *saml.Session) { s.NameID = "" }},
			{"a name of one visit", "saml_assertion_no_user_id",
				func(s *saml.Session) { s.NameIDFormat = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient" }},
			{"a name without end", "saml_assertion_no_user_id", func(s *saml.Session) { s.NameID = strings.Repeat("a", 256) }},
		} {
			p.person = one
			c.change(&p.person)
			if at := k.landed(k.call("POST", "/sso/saml/acs", "",
				p.answer(k.begin("provider_id", id)))); at.Query().Get("error_code") != c.code ||
				at.Query().Get("code") != "" {
				k.Errorf("%s: landed at %s, want %s", c.name, at, c.code)
			}
		}
		if n := k.count("SELECT COUNT(*) FROM users"); n != 0 {
			k.Errorf("%d accounts were made", n)
		}
		k.want(change(map[string]any{"metadata_xml": string(q.xml())}), 422, "saml_entity_id_mismatch")
		k.want(change(map[string]any{"metadata_url": q.srv.URL + "/metadata"}), 422, "saml_entity_id_mismatch")
		p.person = one
		k.want(k.redeem(k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))), 200, "")
		k.later(365 * 24 * time.Hour) // past the certificate's end
		k.want(k.call("POST", "/sso", "", map[string]any{"provider_id": id, "code_challenge": challenge(),
			"code_challenge_method": "s256"}), 404,
			"saml_idp_not_found")
	})
}

func relay(k *kit, loc string) string {
	u, err := url.Parse(loc)
	k.ok(err)
	return u.Query().Get("RelayState")
}

// Disabling a connection ends its sessions at once, and the codes under way.
func TestDisabledConnectionEndsItsSessions(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		id := k.samlConnection(p, k.tenant("Corp"), nil)
		arrive := func() *url.URL {
			return k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))
		}
		sess := k.want(k.redeem(arrive()), 200, "")
		pending := arrive()
		k.want(k.call("GET", "/user", sess.text(k, "access_token"), nil), 200, "")
		k.want(k.call("PUT", "/admin/sso/providers/"+id, k.serviceKey(), map[string]any{"disabled": true}), 200, "")
		k.want(k.call("GET", "/user", sess.text(k, "access_token"), nil), 403, "session_not_found")
		k.want(k.call("POST", "/token?grant_type=refresh_token", "",
			map[string]any{"refresh_token": sess.text(k, "refresh_token")}), 400, "refresh_token_not_found")
		k.want(k.redeem(pending), 404, "flow_state_not_found")
	})
}

// The SessionNotOnOrAfter of an assertion is the hard end of its session, of one
// that was asked for and of one that was not; where it says none, the session
// outlives it.
func TestHardEnd(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		id := k.samlConnection(p, k.tenant("Corp"), nil)
		k.want(k.call("PUT", "/admin/sso/providers/"+id, k.serviceKey(), map[string]any{"allow_unsolicited": true}), 200, "")
		asked := func() (int, string) {
			s := k.want(k.redeem(k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))), 200, "")
			return int(s.json(k)["expires_in"].(float64)), s.text(k, "refresh_token")
		}
		unasked := func() (int, string) {
			f, err := url.ParseQuery(k.landed(k.call("POST", "/sso/saml/acs", "",
				url.Values{"SAMLResponse": {p.unsolicited()}})).Fragment)
			k.ok(err)
			n, err := strconv.Atoi(f.Get("expires_in"))
			k.ok(err)
			return n, f.Get("refresh_token")
		}
		var open, bounded []string
		for _, arrive := range []func() (int, string){asked, unasked} {
			p.ends = time.Time{}
			_, token := arrive()
			open = append(open, token)
			p.ends = k.now().UTC().Add(5 * time.Minute)
			exp, token := arrive()
			if exp > 300 {
				k.Errorf("the token outlives the assertion: %v s", exp)
			}
			bounded = append(bounded, token)
		}
		again := func(token string) answer {
			return k.call("POST", "/token?grant_type=refresh_token", "", map[string]any{"refresh_token": token})
		}
		for i := range bounded {
			bounded[i] = k.want(again(bounded[i]), 200, "").text(k, "refresh_token")
		}
		k.later(6 * time.Minute)
		for i := range bounded {
			k.want(again(bounded[i]), 400, "session_expired")
			k.want(again(open[i]), 200, "")
		}
	})
}

// A response that nobody asked for is taken only where the connection says so,
// and once.
func TestUnsolicited(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		id := k.samlConnection(p, k.tenant("Corp"), nil)
		form := func() url.Values {
			return url.Values{"SAMLResponse": {p.unsolicited()}, "RelayState": {"https://app.example/desk"}}
		}
		if at := k.landed(k.call("POST", "/sso/saml/acs", "",
			form())); at.Query().Get("error_code") != "saml_relay_state_not_found" {
			k.Errorf("not allowed, landed at %s", at)
		}
		k.want(k.call("PUT", "/admin/sso/providers/"+id, k.serviceKey(), map[string]any{"allow_unsolicited": true}), 200, "")
		one := form()
		at := k.landed(k.call("POST", "/sso/saml/acs", "", one))
		f, _ := url.ParseQuery(at.Fragment)
		if at.Path != "/desk" || f.Get("access_token") == "" {
			k.Fatalf("landed at %s", at)
		}
		if c := claims(k, f.Get("access_token")); c["tenant_role"] != "manager" {
			k.Errorf("claims %v", c)
		}
		if at := k.landed(k.call("POST", "/sso/saml/acs", "",
			one)); at.Query().Get("error_code") != "flow_state_already_used" {
			k.Errorf("replay landed at %s", at)
		}
		// An address that a wildcard allows gets no tokens either.
		for _, elsewhere := range []string{"https://evil.example/", "https://mallory.app.example/"} {
			evil := form()
			evil.Set("RelayState", elsewhere)
			if at := k.landed(k.call("POST", "/sso/saml/acs", "", evil)); at.Host != "app.example" ||
				!strings.Contains(at.Fragment, "access_token=") {
				k.Errorf("RelayState %s led to %s", elsewhere, at)
			}
		}
	})
}

// The provider's new certificate arrives by its metadata address when the old
// one no longer fits.
func TestCertificateRotation(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		body := map[string]any{"type": "saml", "tenant_id": k.tenant("Corp"), "metadata_url": p.srv.URL + "/metadata",
			"domains": []string{"corp.example"}, "default_role": "viewer"}
		id := k.want(k.call("POST", "/admin/sso/providers", k.serviceKey(), body), 201, "").text(k, "id")
		p.Key, p.Certificate = k.keyPair()
		again := func() *url.URL {
			return k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))
		}
		if at := again(); at.Query().Get("code") != "" {
			k.Error("an unknown certificate was taken")
		}
		k.exec("UPDATE sso_connections SET metadata_at = $1, metadata_tried_at = NULL", k.now().UTC().Add(-6*time.Minute))
		if at := again(); at.Query().Get("code") == "" {
			k.Errorf("after the rotation: %s", at)
		}
		before := p.hits
		p.Key, p.Certificate = k.keyPair()
		for range 5 {
			again()
		}
		if p.hits != before {
			k.Errorf("%d fetches for five forged answers within five minutes", p.hits-before)
		}
		// Who comes to serve the address speaks for no other entity.
		q := newIDP(k)
		q.SSOURL, p.meta = p.SSOURL, q.xml()
		k.exec("UPDATE sso_connections SET metadata_at = $1, metadata_tried_at = NULL", k.now().UTC().Add(-6*time.Minute))
		if at := k.landed(k.call("POST", "/sso/saml/acs", "",
			q.answer(k.begin("provider_id", id)))); at.Query().Get("code") != "" {
			k.Error("the metadata of another entity were taken for the connection's")
		}
	})
}

// Metadata that cannot be read are asked for every five minutes at most, by
// whoever begins a sign-in or posts rubbish; those of before stay good.
func TestDeadMetadataAddress(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		body := map[string]any{"type": "saml", "tenant_id": k.tenant("Corp"), "metadata_url": p.srv.URL + "/metadata",
			"domains": []string{"corp.example"}, "default_role": "viewer"}
		id := k.want(k.call("POST", "/admin/sso/providers", k.serviceKey(), body), 201, "").text(k, "id")
		k.exec("UPDATE sso_connections SET metadata_at = $1", k.now().UTC().Add(-48*time.Hour))
		good := p.meta
		for round, c := range []struct {
			meta []byte
			hits int
		}{{[]byte("<"), 1}, {[]byte("<"), 1}, {good, 1}, {good, 0}} {
			p.meta = c.meta
			before := p.hits
			for range 3 {
				form := p.answer(k.begin("provider_id", id))
				junk := url.Values{"RelayState": form["RelayState"], "SAMLResponse": {unsigned(k, form.Get("SAMLResponse"))}}
				if at := k.landed(k.call("POST", "/sso/saml/acs", "", junk)); at.Query().Get("error_code") != "validation_failed" {
					k.Errorf("rubbish landed at %s", at)
				}
				if at := k.landed(k.call("POST", "/sso/saml/acs", "", form)); at.Query().Get("code") == "" {
					k.Errorf("round %d: landed at %s", round, at)
				}
			}
			if p.hits != before+c.hits {
				k.Errorf("round %d: asked %d times, want %d", round, p.hits-before, c.hits)
			}
			k.exec("UPDATE sso_connections SET metadata_tried_at = $1", k.now().UTC().Add(-6*time.Minute))
		}
	})
}

// unsigned spoils the signature of a response.
func unsigned(k *kit, response string) string {
	raw, err := base64.StdEncoding.DecodeString(response)
	k.ok(err)
	out := regexp.MustCompile(`(<[a-z]*:?SignatureValue>)....`).ReplaceAll(raw, []byte("${1}AAAA"))
	return base64.StdEncoding.EncodeToString(out)
}

// A test sign-in shows what the provider sent and how it is read, makes no
// account, and works before the connection is switched on.
func TestTestSignIn(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newIDP(k), k.tenant("Corp")
		admin, driver := k.member(tenant, "boss@corp.example", actor.Admin),
			k.member(tenant, "carl@corp.example", actor.Driver)
		id := k.samlConnection(p, tenant, map[string]any{"disabled": true})
		k.want(k.call("POST", "/sso/connections/"+id+"/test", driver.AccessToken, nil), 403, "not_admin")
		run := func() map[string]any {
			loc := k.want(k.call("POST", "/sso/connections/"+id+"/test", admin.AccessToken, nil), 200, "").text(k, "url")
			at := k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(loc)))
			got := k.want(k.call("GET", "/sso/connections/"+id, admin.AccessToken, nil), 200,
				"").json(k)["last_test"].(map[string]any)
			if at.Query().Get("sso_test") != got["outcome"] || at.Query().Get("code") != "" {
				k.Errorf("landed at %s with %v", at, got)
			}
			return got
		}
		got := run()
		b, _ := json.Marshal(got)
		if got["outcome"] != "ok" || got["role"] != "manager" || got["email"] != "ann@corp.example" ||
			!strings.Contains(string(b), "wms-managers") {
			k.Errorf("test result %s", b)
		}
		p.person.UserEmail = "ann@elsewhere.example"
		if got := run(); got["outcome"] != "failed" || !strings.Contains(got["reason"].(string), "domain") {
			k.Errorf("test result %v", got)
		}
		if n := k.count("SELECT COUNT(*) FROM users WHERE email LIKE 'ann@%'"); n != 0 {
			k.Errorf("a test made %d accounts", n)
		}
		k.want(k.call("GET", "/sso/connections/"+id, k.member(k.tenant("Other"), "x@other.example", actor.Owner).AccessToken,
			nil), 404, "sso_provider_not_found")
	})
}

// Where sign-in is enforced, no other way leads into an account of the domain,
// except the break-glass owner's.
func TestEnforced(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newIDP(k), k.tenant("Corp")
		owner, worker := k.member(tenant, "owner@corp.example", actor.Owner),
			k.member(tenant, "will@corp.example", actor.Operator)
		second := k.member(tenant, "second@corp.example", actor.Owner)
		id := k.samlConnection(p, tenant, nil)
		enforce := func(glass string) answer {
			return k.call("PUT", "/sso/connections/"+id, owner.AccessToken,
				map[string]any{"enforced": true, "break_glass_user_id": glass})
		}
		k.want(enforce(owner.User.ID), 422, "validation_failed") // never tried
		loc := k.want(k.call("POST", "/sso/connections/"+id+"/test", owner.AccessToken, nil), 200, "").text(k, "url")
		k.call("POST", "/sso/saml/acs", "", p.answer(loc))
		k.want(enforce(worker.User.ID), 422, "validation_failed") // no owner
		k.want(enforce(""), 422, "validation_failed")
		k.want(enforce(owner.User.ID), 200, "")
		sign := func(email, pw string) answer {
			return k.call("POST", "/token?grant_type=password", "", map[string]any{"email": email, "password": pw})
		}
		k.want(sign("will@corp.example", pw), 403, "sso_required")
		k.want(sign("will@corp.example", "wrong-password"), 400, "invalid_credentials")
		k.want(sign("owner@corp.example", pw), 200, "")
		k.want(k.call("GET", "/user", worker.AccessToken, nil), 403, "session_not_found")
		k.want(k.call("GET", "/user", owner.AccessToken, nil), 200, "")
		if at := k.landed(k.call("POST", "/sso/saml/acs", "",
			p.answer(k.begin("domain", "corp.example")))); at.Query().Get("code") == "" {
			k.Errorf("the provider's own way led to %s", at)
		} else {
			k.want(k.redeem(at), 200, "")
		}
		k.want(k.call("PUT", "/sso/connections/"+id, owner.AccessToken,
			map[string]any{"break_glass_user_id": second.User.ID}), 200, "")
		k.want(k.call("GET", "/user", owner.AccessToken, nil), 403, "session_not_found")
		now := k.want(sign("second@corp.example", pw), 200, "").text(k, "access_token")
		k.want(k.call("PUT", "/sso/connections/"+id, now, map[string]any{"enforced": false}), 200, "")
		k.want(sign("will@corp.example", pw), 200, "")
	})
}

// A domain that is proved while sign-in is enforced is enforced at once: sessions
// that began with a password end, save the break-glass owner's.
func TestEnforced_laterDomain(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newIDP(k), k.tenant("Corp")
		owner := k.member(tenant, "owner@corp.example", actor.Owner)
		id := k.samlConnection(p, tenant, nil)
		at := "/sso/connections/" + id
		k.call("POST", "/sso/saml/acs", "", p.answer(k.want(k.call("POST", at+"/test", owner.AccessToken, nil), 200,
			"").text(k, "url")))
		k.want(k.call("PUT", at, owner.AccessToken, map[string]any{"enforced": true, "break_glass_user_id": owner.User.ID}),
			200, "")

		byDNS, byKey := k.member(tenant, "dora@dns.example", actor.Operator),
			k.member(tenant, "olaf@key.example", actor.Operator)
		domains := []string{"corp.example", "dns.example"}
		claimed := k.want(k.call("PUT", at, owner.AccessToken, map[string]any{"domains": domains}), 200,
			"").json(k)["domains"].([]any)
		k.want(k.call("GET", "/user", byDNS.AccessToken, nil), 200, "") // claimed is not proved
		d := claimed[1].(map[string]any)
		k.txt[d["dns_name"].(string)] = []string{d["dns_value"].(string)}
		k.want(k.call("POST", at+"/domains/dns.example/verify", owner.AccessToken, nil), 200, "")
		k.want(k.call("GET", "/user", byDNS.AccessToken, nil), 403, "session_not_found")

		k.want(k.call("GET", "/user", byKey.AccessToken, nil), 200, "")
		k.want(k.call("PUT", "/admin/sso/providers/"+id, k.serviceKey(),
			map[string]any{"domains": append(domains, "key.example")}), 200, "")
		k.want(k.call("GET", "/user", byKey.AccessToken, nil), 403, "session_not_found")
		k.want(k.call("GET", "/user", owner.AccessToken, nil), 200, "")
	})
}

// An enforced connection whose provider broke can be repaired, handed to
// another break-glass owner and disabled; it is enforced anew only when it works.
func TestBrokenEnforcedConnection(t *testing.T) {
	onBoth(t, func(k *kit) {
		p, tenant := newIDP(k), k.tenant("Corp")
		owner, second := k.member(tenant, "owner@corp.example", actor.Owner),
			k.member(tenant, "second@x.example", actor.Owner)
		third := k.member(tenant, "third@x.example", actor.Owner) // whose session nothing ends
		id := k.samlConnection(p, tenant, nil)
		try := func() {
			loc := k.want(k.call("POST", "/sso/connections/"+id+"/test", third.AccessToken, nil), 200, "").text(k, "url")
			k.call("POST", "/sso/saml/acs", "", p.answer(loc))
		}
		change := func(status int, what map[string]any) {
			k.Helper()
			if a := k.call("PUT", "/sso/connections/"+id, third.AccessToken, what); a.status != status {
				k.Errorf("status %d, want %d: %.200s", a.status, status, a.body)
			}
		}
		try()
		change(200, map[string]any{"enforced": true, "break_glass_user_id": owner.User.ID})
		p.person.UserEmail = "ann@elsewhere.example"
		try()
		change(200,
			map[string]any{"metadata_xml": string(p.xml()),
				"attribute_mapping": map[string]any{"keys": map[string]any{"email": map[string]any{"name": "mail"}}}})
		change(422, map[string]any{"break_glass_user_id": ""})
		change(422, map[string]any{"domains": []string{}})
		change(200, map[string]any{"break_glass_user_id": second.User.ID})
		k.exec("UPDATE members SET role = 'admin' WHERE user_id = $1", second.User.ID)
		change(200, map[string]any{"name": "Corp"})
		change(200, map[string]any{"disabled": true})
		change(200, map[string]any{"domains": []string{"corp.example"}})
		change(422, map[string]any{"disabled": false})
		change(422, map[string]any{"disabled": false, "break_glass_user_id": owner.User.ID})
		p.person.UserEmail = "ann@corp.example"
		change(200, map[string]any{"attribute_mapping": map[string]any{}})
		try()
		change(200, map[string]any{"disabled": false, "break_glass_user_id": owner.User.ID})
	})
}

// SSO accounts cannot get a second door: no password, no e-mail change.
func TestSSOAccountIsManaged(t *testing.T) {
	onBoth(t, func(k *kit) {
		p := newIDP(k)
		id := k.samlConnection(p, k.tenant("Corp"), nil)
		sess := k.want(k.redeem(k.landed(k.call("POST", "/sso/saml/acs", "", p.answer(k.begin("provider_id", id))))), 200, "")
		k.want(k.call("PUT", "/user", sess.text(k, "access_token"), map[string]any{"password": "another-long-password"}),
			422, "user_sso_managed")
		if _, err := k.ident.SignIns.SignIn(k.Context(), "ann@corp.example", pw, identity.Client{}); err == nil {
			k.Error("an SSO account signed in with a password")
		}
	})
}
