package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// session is what a sign-in answers.
type session struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	User         struct {
		ID    string
		Email string
	}
}

// audited counts rows of the audit log; tenant "" = any.
func audited(t *testing.T, k *testkit.Kit, tenant, action, outcome, user string) (rows, sealed int) {
	t.Helper()
	err := k.App.DB.Read(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		rows, sealed = 0, 0
		return tx.Query(`
			SELECT tenant_id, actor_user_id, outcome, (
				SELECT MAX(seal_no)
				FROM audit_seals
				WHERE audit_seals.tenant_id = audit.tenant_id
					AND audit_seals.batch = audit.batch
			)
			FROM audit
			WHERE action = $1`, []any{action},
			func(r *db.Row) error {
				if tenant != "" && r.Text(0) != tenant || user != "" && r.Text(1) != user || r.Text(2) != outcome {
					return nil
				}
				rows++
				if !r.Null(3) {
					sealed++
				}
				return nil
			})
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, sealed
}

// silenceOthers has the process that made the sample give no sign of life any more, so that
// what it wrote is sealed at the next look.
func silenceOthers(t *testing.T, k *testkit.Kit) {
	t.Helper()
	change(t, k, "UPDATE audit_writers SET seen_at = $1 WHERE epoch < (SELECT MAX(epoch) FROM audit_writers)",
		time.Now().Add(-time.Minute))
}

// Each event leaves its row, in the log of the tenant it
// belongs to, and the rows are sealed into a whole chain.
func TestAuditOfEveryEvent(t *testing.T) {
	p := newProvider(t)
	testkit.InTurn(t, func(t *testing.T, k *testkit.Kit) {
		call := func(method, path, bearer string, body any, status int) testkit.Response {
			t.Helper()
			q := testkit.Request{Method: method, Path: path, Bearer: bearer, Body: body}
			r := k.Call(q)
			if r.Status != status {
				t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
			}
			return r
		}
		signIn := func(email, password string, status int) (s session) {
			t.Helper()
			r := call("POST", "/auth/v1/token?grant_type=password", "", map[string]any{"email": email, "password": password},
				status)
			json.Unmarshal(r.Body, &s)
			return s
		}
		admin, both := k.Token(testkit.As(actor.Admin)), k.Token("both@both.example")
		manager := k.Token(testkit.As(actor.Manager))
		var jobID string
		job := func(path string) func() {
			return func() {
				t.Helper()
				if path == "" {
					body, kind := form(t, "items", "items.csv", "sku,name,base_uom\nAUD-1,Audited,EA\n")
					r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Admin), Body: body,
						Header: map[string]string{"Content-Type": kind}})
					var made struct{ ID string }
					r.JSON(t, &made)
					if jobID = made.ID; r.Status != 201 {
						t.Fatalf("%d %s", r.Status, r.Body)
					}
					return
				}
				call("POST", "/functions/v1/"+path, admin, map[string]any{"job_id": jobID}, 200)
			}
		}
		silenceOthers(t, k)
		viewer := signIn(testkit.As(actor.Viewer), demo.Password, 200)
		var linked struct{ ID string }
		pass := "a-good-long-password"
		for _, e := range []struct {
			event, tenant, action, outcome string
			cause                          func()
		}{
			{"a sign-in", demo.North, "session.started", "ok", func() { signIn(testkit.As(actor.Safety), demo.Password, 200) }},
			{"a failed sign-in of a member", demo.North, "session.refused", "refused",
				func() { signIn(testkit.As(actor.Safety), "wrong", 400) }},
			{"a failed sign-in of nobody", db.NoTenant, "session.refused", "refused",
				func() { signIn("who@else.example", "wrong", 400) }},
			{"a wrong code", "", "session.refused", "refused", func() {
				call("POST", "/auth/v1/verify", "", map[string]any{"type": "email", "email": testkit.As(actor.Safety),
					"token": "000000"}, 403)
			}},
			{"a sign-out", demo.North, "session.ended", "ok", func() {
				call("POST", "/auth/v1/logout?scope=local", signIn(testkit.As(actor.Safety), demo.Password, 200).AccessToken, nil,
					204)
			}},
			{"a refresh token played again", demo.North, "session.refresh_replayed", "refused", func() {
				s := signIn(testkit.As(actor.Safety), demo.Password, 200)
				for token, n := s.RefreshToken, 0; n < 2; n++ {
					var next session
					call("POST", "/auth/v1/token?grant_type=refresh_token", "", map[string]any{"refresh_token": token}, 200).JSON(t,
						&next)
					token = next.RefreshToken
				}
				call("POST", "/auth/v1/token?grant_type=refresh_token", "", map[string]any{"refresh_token": s.RefreshToken}, 400)
			}},
			{"a recovery", "", "user.recovery_requested", "ok", func() {
				call("POST", "/auth/v1/recover", "", map[string]any{"email": testkit.As(actor.Viewer)}, 200)
			}},
			{"a password changed", demo.North, "user.password_changed", "ok", func() {
				call("PUT", "/auth/v1/user", viewer.AccessToken, map[string]any{"password": pass}, 200)
			}},
			{"a change of address", "", "user.email_change_started", "ok", func() {
				call("PUT", "/auth/v1/user", viewer.AccessToken, map[string]any{"email": "renamed@north.example"}, 200)
			}},
			{"a second factor", "", "mfa.enrolment_started", "ok", func() {
				call("POST", "/auth/v1/factors", viewer.AccessToken, map[string]any{"factor_type": "totp", "friendly_name": "x"},
					200)
			}},
			{"an identity linked", "", "user.identity_linked", "ok", func() {
				var s struct {
					User struct {
						Identities []struct {
							Provider, ID string
							Row          string `json:"identity_id"`
						}
					}
				}
				call("POST", "/auth/v1/token?grant_type=id_token", viewer.AccessToken,
					map[string]any{"provider": "own", "id_token": p.token(t, "person-1"), "link_identity": true}, 200).JSON(t, &s)
				for _, i := range s.User.Identities {
					if i.Provider == "own" {
						linked.ID = i.Row
					}
				}
			}},
			{"an identity unlinked", demo.North, "user.identity_unlinked", "ok", func() {
				call("DELETE", "/auth/v1/user/identities/"+linked.ID, viewer.AccessToken, nil, 200)
			}},
			{"an invitation to hand over", demo.North, "member.invited", "ok", func() {
				call("POST", "/auth/v1/invitations", admin, map[string]any{"email": "handed@else.example", "role": "viewer",
					"deliver": "link"}, 201)
			}},
			{"an account made", "", "user.created", "ok", func() {
				call("POST", "/auth/v1/admin/users", k.Service(),
					map[string]any{"email": "made@else.example", "password": pass, "email_confirm": true}, 200)
			}},
			{"a ban", "", "user.updated", "ok", func() {
				call("PUT", "/auth/v1/admin/users/"+viewer.User.ID, k.Service(), map[string]any{"ban_duration": "1h"}, 200)
			}},
			{"an invitation", demo.North, "invitations.insert", "ok", func() {
				call("POST", "/v1/invitations", admin, map[string]any{"email": "guest@else.example", "role": "viewer"}, 201)
			}},
			{"a membership", demo.North, "member.joined", "ok", func() {
				call("POST", "/auth/v1/signup", "", map[string]any{"email": "guest@else.example", "password": pass,
					"data": map[string]any{"tenant_id": demo.North}}, 200)
			}},
			{"a role", demo.North, "members.update", "ok", func() {
				call("PATCH", "/v1/members?email=eq.guest@else.example", admin, map[string]any{"role": "operator"}, 204)
			}},
			{"a switch", demo.South, "tenant.switched", "ok", func() {
				call("POST", "/auth/v1/tenant", both, map[string]any{"tenant_id": demo.South}, 200)
			}},
			{"a switch denied", demo.North, "tenant.switch_denied", "refused", func() {
				call("POST", "/auth/v1/tenant", manager, map[string]any{"tenant_id": demo.South}, 403)
			}},
			{"a signing key", db.NoTenant, "keys.rotated", "ok",
				func() { testkit.Must(t, k.App.Identity.Keyring.RotateKeys(t.Context())) }},
			{"an API key", db.NoTenant, "api_key.renewed", "ok",
				func() { testkit.Must(t, k.App.Identity.Keyring.RenewAPIKey(t.Context(), "publishable", 0)) }},
			{"a tie to a provider", demo.North, "sso.connection_created", "ok", func() {
				call("POST", "/auth/v1/sso/connections", admin,
					map[string]any{"kind": "oidc", "name": "n", "identifier": "custom:audit", "issuer": "https://issuer.example",
						"client_id": "c", "client_secret": "s"}, 201)
			}},
			{"an upload", demo.North, "import_jobs.upload", "ok", job("")},
			{"a file processed", demo.North, "import_jobs.process", "ok", job("process-import-job")},
			{"a file applied", demo.North, "import_jobs.apply", "ok", job("apply-import-job")},
			{"a file rolled back", demo.North, "import_jobs.rollback", "ok", job("rollback-import-job")},
			{"an export", demo.North, "records.exported", "ok", func() {
				r := k.Call(testkit.Request{Method: "GET", Path: "/v1/items?select=sku", Bearer: manager,
					Header: map[string]string{"Accept": "text/csv"}})
				if r.Status != 200 || !strings.HasPrefix(string(r.Body), "sku") {
					t.Fatalf("%d %.100s", r.Status, r.Body)
				}
			}},
			{"a webhook", demo.North, "webhooks.insert", "ok", func() {
				call("POST", "/v1/webhooks", admin, map[string]any{"url": "http://127.0.0.1:9/x", "events": []string{"*"}}, 201)
			}},
			{"a setting", demo.North, "settings.insert", "ok", func() {
				call("POST", "/v1/settings", admin, map[string]any{"section": "general", "key": "locale", "value": "de"}, 201)
			}},
			{"a mail's wording", demo.North, "mail_templates.insert", "ok", func() {
				call("POST", "/v1/mail_templates", admin, map[string]any{"kind": "invite", "subject": "Hi", "text": "{{.Link}}"},
					201)
			}},
			{"a record refused", demo.North, "access.denied", "refused",
				func() { call("POST", "/v1/settings", manager, map[string]any{"key": "x", "value": 1}, 403) }},
			{"a path of records refused", demo.North, "access.denied", "refused", func() {
				call("GET", "/v1/permissions?user_id="+uuid.NewString(), manager, nil, 403)
			}},
			{"a function refused", demo.North, "access.denied", "refused", func() {
				call("POST", "/functions/v1/rollback-import-job", manager, map[string]any{"job_id": jobID}, 403)
			}},
			{"an identity endpoint refused", demo.North, "access.denied", "refused",
				func() { call("GET", "/auth/v1/admin/users", admin, nil, 403) }},
			{"a provider's endpoint refused", demo.North, "access.denied", "refused",
				func() { call("GET", "/auth/v1/sso/connections", manager, nil, 403) }},
			{"a member of nothing refused", db.NoTenant, "access.denied", "refused", func() {
				call("GET", "/functions/v1/safety-kpis", k.Token("nobody@none.example"), nil, 403)
			}},
			{"an account deleted", "", "user.deleted", "ok", func() {
				call("DELETE", "/auth/v1/admin/users/"+viewer.User.ID, k.Service(), map[string]any{"should_soft_delete": true}, 200)
			}},
		} {
			before, _ := audited(t, k, e.tenant, e.action, e.outcome, "")
			e.cause()
			after := before
			for deadline := time.Now().Add(30 * time.Second); after <= before &&
				time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
				after, _ = audited(t, k, e.tenant, e.action, e.outcome, "")
			}
			if after <= before {
				t.Errorf("%s: no row %s of tenant %q", e.event, e.action, e.tenant)
				continue
			}
			testkit.Must(t, k.App.Identity.Admin.SealAudit(t.Context()))
			if rows, sealed := audited(t, k, e.tenant, e.action, e.outcome, ""); sealed != rows {
				t.Errorf("%s: %d rows %s, %d sealed", e.event, rows, e.action, sealed)
			}
		}
		reports, err := k.App.Identity.Admin.VerifyAudit(t.Context(), "")
		testkit.Must(t, err)
		for _, r := range reports {
			if !r.Whole() {
				t.Errorf("%+v", r)
			}
		}
		refusalsSay(t, k)
	}, func(c *config.Config) {
		c.RefreshReuseInterval, c.WebhookPrivate, c.ManualLinking, c.SSOAllowPrivate = 0, true, true, true
		c.OAuthProviders = []config.Provider{{Name: "own", ClientID: "client", Secret: "s", Issuer: p.URL}}
	})
}

// provider is an OpenID Connect provider that signs tokens for the client
// "client".
type provider struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testkit.Must(t, err)
	p := &provider{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize",
			"token_endpoint": p.URL + "/token",
			"jwks_uri":       p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k1",
			Algorithm: "ES256", Use: "sig"}}})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) token(t *testing.T, subject string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "k1"}},
		nil)
	testkit.Must(t, err)
	raw, err := jwt.Signed(signer).Claims(jwt.Claims{Issuer: p.URL, Subject: subject, Audience: jwt.Audience{"client"},
		IssuedAt: jwt.NewNumericDate(time.Now()), Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))}).
		Claims(map[string]any{"email": subject + "@elsewhere.example", "email_verified": true}).Serialize()
	testkit.Must(t, err)
	return raw
}

// refusalsSay looks at what the row of a refusal holds, and that another
// tenant's administrator does not see it.
func refusalsSay(t *testing.T, k *testkit.Kit) {
	t.Helper()
	var rows []struct {
		Actor   string `json:"actor_user_id"`
		Address string
		Request string `json:"request_id"`
		Details struct{ Method, Path, Code string }
	}
	k.Get(testkit.As(actor.Admin), "/v1/audit?action=eq.access.denied&order=id&limit=1").JSON(t, &rows)
	if len(rows) != 1 || rows[0].Actor == "" || rows[0].Address == "" || rows[0].Request == "" ||
		rows[0].Details.Method != "POST" ||
		rows[0].Details.Path != "/auth/v1/tenant" || rows[0].Details.Code != "tenant_forbidden" {
		t.Errorf("%+v", rows)
	}
	var others []struct {
		Tenant string `json:"tenant_id"`
	}
	k.Get("admin@south.example", "/v1/audit").JSON(t, &others)
	for _, o := range others {
		if o.Tenant != demo.South {
			t.Errorf("south reads the log of %s", o.Tenant)
		}
	}
}
