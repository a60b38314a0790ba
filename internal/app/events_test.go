package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/event"
	"holdfast/internal/testkit"
)

// An incident reported through the API reaches a webhook, signed, and the
// event stream of those who may read it, and nobody else.
func TestEventsArrive(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		bodies := make(chan string, 10)
		var secret string
		sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			v, _ := standardwebhooks.NewWebhook(secret)
			if err := v.Verify(b, r.Header); err != nil {
				t.Error(err)
			}
			if got := r.Header.Get("User-Agent"); got != "Nord-S-d-Safety-Webhooks/1" {
				t.Errorf("User-Agent %q", got)
			}
			bodies <- string(b)
		}))
		defer sink.Close()
		r := k.Post("admin@north.example", "/v1/webhooks", map[string]any{"url": sink.URL, "events": []string{"incident.*"}})
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		var made struct{ ID, Secret string }
		r.JSON(t, &made)
		secret = made.Secret
		lines := map[string]chan string{}
		for _, who := range []string{"safety@north.example", "admin@south.example"} {
			req, err := http.NewRequest("GET", k.URL+"/v1/events?types=incident.*", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+k.Token(who))
			res, err := http.DefaultClient.Do(req)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatal(err, res.StatusCode)
			}
			defer res.Body.Close()
			c := make(chan string, 100)
			lines[who] = c
			go func() {
				for sc := bufio.NewScanner(res.Body); sc.Scan(); {
					if d, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
						c <- d
					}
				}
			}()
		}
		r = k.Post("operator@north.example", "/v1/incidents",
			map[string]any{"kind": "near_miss", "title": "Loose rail", "occurred_at": time.Now().Add(-time.Hour)})
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		for name, c := range map[string]chan string{"webhook": bodies, "stream": lines["safety@north.example"]} {
			select {
			case b := <-c:
				if !strings.Contains(b, `"Loose rail"`) || !json.Valid([]byte(b)) {
					t.Errorf("%s: %s", name, b)
				}
			case <-time.After(30 * time.Second):
				t.Errorf("%s: nothing", name)
			}
		}
		select {
		case b := <-lines["admin@south.example"]:
			t.Errorf("south was told %s", b)
		case <-time.After(200 * time.Millisecond):
		}
		list := k.Get("admin@north.example", "/v1/webhooks?select=*")
		if list.Status != 200 || !strings.Contains(string(list.Body), `"secret":null,"old_secret":null`) ||
			!strings.Contains(string(list.Body), made.ID) {
			t.Errorf("%d %s", list.Status, list.Body)
		}
		log := k.Get("admin@north.example", "/v1/webhook_deliveries?select=status,payload,webhooks(url)&webhook_id=eq."+made.ID)
		if log.Status != 200 || !strings.Contains(string(log.Body), sink.URL) {
			t.Errorf("%d %s", log.Status, log.Body)
		}
		for who, want := range map[string]int{"manager@north.example": 403, "admin@south.example": 200} {
			if got := k.Get(who, "/v1/webhook_deliveries"); got.Status != want || want == 200 &&
				strings.TrimSpace(string(got.Body)) != "[]" {
				t.Errorf("%s: %d %s", who, got.Status, got.Body)
			}
		}
		for _, c := range []struct {
			method, path, body string
			want               int
		}{
			{"PATCH", "/v1/webhooks?id=eq." + made.ID, `{"url":"gopher://x/"}`, 400},
			{"PATCH", "/v1/webhooks?id=eq." + made.ID, `{"secret":"x"}`, 400},
			{"PATCH", "/v1/webhooks?id=eq." + made.ID, `{"status":"paused"}`, 204},
			{"POST", "/rest/v1/webhooks", `{"url":"https://x.example.com"}`, 403},
			{"POST", "/v1/webhook_deliveries", `{}`, 403},
			{"DELETE", "/v1/webhooks?id=eq." + made.ID, ``, 204},
		} {
			q := testkit.Request{Method: c.method, Path: c.path, As: "admin@north.example"}
			if c.body != "" {
				q.Body = c.body
			}
			if got := k.Call(q); got.Status != c.want {
				t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.Status, got.Body)
			}
		}
	}, func(c *config.Config) { c.WebhookPrivate, c.ProductName = true, "Nord/Süd: Safety" })
}

// A webhook leads to the internet, in whatever spelling its address is given.
func TestWebhooksLeadOutside(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		admin := testkit.As(actor.Admin)
		r := k.Post(admin, "/v1/webhooks", map[string]any{"url": "https://93.184.215.14/in"})
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		var made struct{ ID string }
		r.JSON(t, &made)
		hooks := k.Counted(t, "webhooks")
		for _, u := range []string{"https://localhost/", "https://127.0.0.1/", "https://127.1/", "https://2130706433/",
			"https://0x7f000001/",
			"https://0177.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/",
			"https://10.1.2.3/", "https://169.254.169.254/latest/", "https://%31%32%37.0.0.1/", "https://①②⑦.0.0.1/",
			"http://93.184.215.14/", "https://93.184.215.14:22/", "https://no-such-host.example.com/"} {
			for _, q := range []testkit.Request{{Method: "POST", Path: "/v1/webhooks"},
				{Method: "PATCH", Path: "/v1/webhooks?id=eq." + made.ID}} {
				q.As, q.Body = admin, map[string]any{"url": u}
				if r := k.Call(q); r.Status != 400 && r.Status != 422 || !strings.Contains(string(r.Body), "url") {
					t.Errorf("%s %s: %d %s", q.Method, u, r.Status, r.Body)
				}
			}
		}
		if n := k.Counted(t, "webhooks WHERE url = 'https://93.184.215.14/in'"); n != 1 || k.Counted(t, "webhooks") != hooks {
			t.Errorf("%d webhooks as they were", n)
		}
	}, func(c *config.Config) { c.WebhookPrivate = false })
}

// A receiver that is gone ends its webhook, and those who keep it are mailed.
func TestDisabledWebhookIsMailed(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusGone)
		}))
		defer sink.Close()
		r := k.Post(testkit.As(actor.Admin), "/v1/webhooks",
			map[string]any{"url": sink.URL + "/gone", "events": []string{"incident.*"}})
		if r.Status != http.StatusCreated {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		k.Post(testkit.As(actor.Operator), "/v1/incidents",
			map[string]any{"kind": "near_miss", "title": "Loose rail", "occurred_at": time.Now().Add(-time.Hour)})
		mails := func(to string) string { return string(k.Get("", "/dev/mail?to="+to).Body) }
		for _, to := range []string{testkit.As(actor.Owner), testkit.As(actor.Admin)} {
			within(t, "the mail to "+to, func() bool { return strings.Contains(mails(to), sink.URL+"/gone") })
		}
		for _, to := range []string{testkit.As(actor.Manager), "admin@south.example"} {
			if strings.Contains(mails(to), sink.URL) {
				t.Errorf("%s was mailed", to)
			}
		}
		within(t, "webhook.disabled", func() bool { return count(t, k, "webhook.disabled") == 1 })
	}, func(c *config.Config) { c.WebhookPrivate = true })
}

// Each first verdict but a good one, and each course that is assigned, is told
// of, once.
func TestProgrammeIsTold(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		if err := k.App.DB.Write(t.Context(), db.Scope{All: true},
			func(tx *db.Tx) error { // what the demonstration's own rounds have done
				tx.Queue("DELETE FROM compliance_states WHERE tenant_id = $1", []any{demo.North}, nil)
				tx.Queue("DELETE FROM training_assignments WHERE tenant_id = $1", []any{demo.North}, nil)
				return nil
			}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			fn, event string
			again     bool
		}{
			{"check-compliance-rules", "compliance.changed", false}, {"check-compliance-rules", "compliance.changed", true},
			{"auto-assign-training", "training.assigned", false}, {"auto-assign-training", "training.assigned", true},
		} {
			before := count(t, k, c.event)
			r := k.Post(testkit.As(actor.Owner), "/functions/v1/"+c.fn, json.RawMessage(`{}`))
			if r.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", c.fn, r.Status, r.Body)
			}
			var made struct {
				Assigned int `json:"assignments_created"`
				Events   []struct{ Status string }
			}
			r.JSON(t, &made)
			want := made.Assigned
			for _, e := range made.Events {
				if e.Status == "warning" || e.Status == "breach" {
					want++
				}
			}
			if n := count(t, k, c.event) - before; n != want || (want == 0) != c.again {
				t.Errorf("%s, again: %v: told of %d, want %d", c.fn, c.again, n, want)
			}
		}
	})
}

// Whoever becomes a member is told of, however that came: by signing up, by an
// invitation, by the operator; so are a change of role and an end.
func TestMembersAreTold(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const own = "0190a000-0000-7000-8000-00000000c1a1"
		told := func(typ string, n int) {
			t.Helper()
			within(t, fmt.Sprintf("%d of %s", n, typ), func() bool { return count(t, k, typ) == n })
		}
		k.Post("", "/auth/v1/signup", map[string]any{"email": "founder@new.example", "password": "a long enough one",
			"data": map[string]any{"tenant_id": own}})
		told("member.added", 1)
		// its policy is open
		k.Post("", "/auth/v1/signup", map[string]any{"email": "joins@new.example", "password": "a long enough one",
			"data": map[string]any{"tenant_id": own}})
		told("member.added", 2)
		k.Post(testkit.As(actor.Admin), "/v1/invitations", map[string]any{"email": "invited@new.example", "role": "viewer"})
		k.Post("", "/auth/v1/signup", map[string]any{"email": "invited@new.example", "password": "a long enough one",
			"data": map[string]any{"tenant_id": demo.North}})
		told("member.added", 3)
		ctx := context.Background()
		if _, err := k.App.Identity.Admin.AddMember(ctx, demo.South, "hand@new.example", actor.Viewer); err != nil {
			t.Fatal(err)
		}
		told("member.added", 4)
		for range 2 { // the second time changes nothing
			if _, err := k.App.Identity.Admin.AddMember(ctx, demo.South, "hand@new.example", actor.Operator); err != nil {
				t.Fatal(err)
			}
		}
		told("member.role_changed", 1)
		var m []struct{ ID string }
		k.Get("admin@south.example", "/v1/members?select=id&email=eq.hand@new.example").JSON(t, &m)
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/members?id=eq." + m[0].ID,
			As: "admin@south.example"}); r.Status >= 300 {
			t.Fatalf("remove: %d %s", r.Status, r.Body)
		}
		told("member.removed", 1)
		told("member.added", 4)
	})
}

// The ways in and out that an organisation's directory and the operator take
// are told as those of the members collection are.
func TestMembersOfDirectoriesAreTold(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var added, removed, suspended int
		told := func(what string, in, out, off int) {
			t.Helper()
			added, removed, suspended = added+in, removed+out, suspended+off
			for typ, n := range map[string]int{"member.added": added, "member.removed": removed, "member.suspended": suspended} {
				within(t, fmt.Sprintf("%s: %d of %s", what, n, typ), func() bool { return count(t, k, typ) == n })
			}
		}
		call := func(method, path, bearer string, body any, status int) (made struct{ ID, Token string }) {
			t.Helper()
			r := k.Call(testkit.Request{Method: method, Path: "/auth/v1" + path, Bearer: bearer, Body: body})
			if r.Status != status {
				t.Fatalf("%s %s: %d %s", method, path, r.Status, r.Body)
			}
			if len(r.Body) > 0 {
				r.JSON(t, &made)
			}
			return made
		}
		admin := k.Token(testkit.As(actor.Admin))
		conn := call("POST", "/sso/connections", admin,
			map[string]any{"kind": "oidc", "name": "d", "identifier": "custom:directory", "issuer": "https://issuer.example",
				"client_id": "c", "client_secret": "s",
				"domains": []string{"corp.example"}, "role_map": map[string]string{"drivers": "driver"}}, 201).ID
		prove(t, k, "corp.example")
		scim := call("POST", "/sso/connections/"+conn+"/scim-token", admin, nil, 201).Token
		person := func(name string) string {
			t.Helper()
			return call("POST", "/scim/v2/Users", scim, map[string]any{"userName": name + "@corp.example", "active": true},
				201).ID
		}
		one, two := person("one"), person("two")
		told("without a group nobody is a member", 0, 0, 0)
		group := call("POST", "/scim/v2/Groups", scim, map[string]any{"displayName": "drivers",
			"members": []map[string]any{{"value": one}, {"value": two}}}, 201).ID
		told("the group", 2, 0, 0)
		change := func(id string, active bool) {
			t.Helper()
			call("PATCH", "/scim/v2/Users/"+id, scim, map[string]any{"Operations": []any{map[string]any{"op": "replace",
				"path": "active", "value": active}}}, 200)
		}
		change(one, false)
		told("deactivated", 0, 0, 1)
		change(one, true)
		told("active again", 1, 0, 0)
		call("PATCH", "/scim/v2/Groups/"+group, scim,
			map[string]any{"Operations": []any{map[string]any{"op": "remove", "path": "members[value eq \"" + two + "\"]"}}},
			200)
		told("out of the group", 0, 1, 0)
		call("DELETE", "/scim/v2/Users/"+two, scim, nil, 204)
		told("deleted, a member no more", 0, 0, 0)
		call("DELETE", "/sso/connections/"+conn, admin, nil, 200)
		told("the connection is gone", 0, 0, 1)

		var found struct{ Users []struct{ ID string } }
		k.Call(testkit.Request{Method: "GET", Path: "/auth/v1/admin/users?filter=both@both.example",
			Bearer: k.Service()}).JSON(t, &found)
		call("DELETE", "/admin/users/"+found.Users[0].ID, k.Service(), nil, 200)
		told("an account in two tenants is deleted", 0, 0, 2)
	}, func(c *config.Config) { c.SSOAllowPrivate = true })
}

// The issuer of a provider that does not lead to public addresses is refused when it is given,
// alike where its name resolves inside and where it does not resolve.
func TestIssuersAreResolved(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, issuer := range []string{"https://no-such-host.example.com", "https://localhost", "https://10.1.2.3",
			"https://[::1]"} {
			r := k.Post(testkit.As(actor.Admin), "/auth/v1/sso/connections",
				map[string]any{"kind": "oidc", "name": "d", "issuer": issuer, "client_id": "c", "client_secret": "s"})
			if r.Status != 422 && r.Status != 400 || !strings.Contains(string(r.Body), "issuer: its host does not resolve") {
				t.Errorf("%s: %d %s", issuer, r.Status, r.Body)
			}
		}
		r := k.Post(testkit.As(actor.Admin), "/auth/v1/sso/connections", map[string]any{"kind": "oidc", "name": "d",
			"issuer": "https://93.184.215.14", "client_id": "c", "client_secret": "s"})
		if r.Status != http.StatusCreated {
			t.Errorf("a public address: %d %s", r.Status, r.Body)
		}
	})
}

// prove marks the domain as proved, without the name server it is proved at.
func prove(t *testing.T, k *testkit.Kit, domain string) {
	t.Helper()
	err := k.App.DB.Write(t.Context(), db.Scope{All: true}, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE sso_domains SET verified_at = $2 WHERE domain = $1", domain, time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every type of event has its line in the guide and its schema in the document,
// as one of those that a webhook is sent, with the members of its data.
func TestEveryEventIsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		doc, err := openapi3.NewLoader().LoadFromData(k.Get("", "/openapi.json").Body)
		if err != nil {
			t.Fatal(err)
		}
		var hooks struct {
			OpenAPI  string `json:"openapi"`
			Webhooks struct{ Event openapi3.PathItem }
		}
		k.Get("", "/openapi.json").JSON(t, &hooks)
		sent := hooks.Webhooks.Event.Post.RequestBody.Value.Content["application/json"].Schema
		union := doc.Components.Schemas["AnyEvent"].Value
		if !strings.HasPrefix(hooks.OpenAPI, "3.1") || sent.Ref != "#/components/schemas/AnyEvent" ||
			len(union.OneOf) != len(event.Types()) {
			t.Errorf("OpenAPI %s sends %s, one of %d; there are %d types", hooks.OpenAPI, sent.Ref, len(union.OneOf),
				len(event.Types()))
		}
		for i, ty := range event.Types() {
			s := doc.Components.Schemas[ty.Name]
			if s == nil || union.OneOf[i].Ref != "#/components/schemas/"+ty.Name ||
				s.Value.Properties["type"].Value.Const != ty.Name ||
				len(s.Value.Properties["data"].Value.Properties) == 0 {
				t.Errorf("%s has no schema: %+v", ty.Name, s)
			}
			family, rest, _ := strings.Cut(ty.Name, ".")
			if !regexp.MustCompile("(?m)^\\|.*`" + family + "\\.[^|]*`(" + regexp.QuoteMeta(family) + ")?\\." + regexp.QuoteMeta(rest) +
				"`|`" + regexp.QuoteMeta(ty.Name) + "`").Match(text) {
				t.Errorf("the guide does not name %s", ty.Name)
			}
		}
	})
}
