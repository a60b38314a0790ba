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

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"holdfast/internal/actor"
	"holdfast/internal/config"
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
		r = k.Post("operator@north.example", "/v1/incidents", map[string]any{"kind": "near_miss", "title": "Loose rail", "occurred_at": time.Now().Add(-time.Hour)})
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
		if list.Status != 200 || !strings.Contains(string(list.Body), `"secret":null,"old_secret":null`) || !strings.Contains(string(list.Body), made.ID) {
			t.Errorf("%d %s", list.Status, list.Body)
		}
		log := k.Get("admin@north.example", "/v1/webhook_deliveries?select=status,payload,webhooks(url)&webhook_id=eq."+made.ID)
		if log.Status != 200 || !strings.Contains(string(log.Body), sink.URL) {
			t.Errorf("%d %s", log.Status, log.Body)
		}
		for who, want := range map[string]int{"manager@north.example": 403, "admin@south.example": 200} {
			if got := k.Get(who, "/v1/webhook_deliveries"); got.Status != want || want == 200 && strings.TrimSpace(string(got.Body)) != "[]" {
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

// Whoever becomes a member is told of, however that came: by signing up, by an
// invitation, by the operator; so are a change of role and an end.
func TestMembersAreTold(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const own = "0190a000-0000-7000-8000-00000000c1a1"
		told := func(typ string, n int) {
			t.Helper()
			within(t, fmt.Sprintf("%d of %s", n, typ), func() bool { return count(t, k, typ) == n })
		}
		k.Post("", "/auth/v1/signup", map[string]any{"email": "founder@new.example", "password": "a long enough one", "data": map[string]any{"tenant_id": own}})
		told("member.added", 1)
		k.Post("", "/auth/v1/signup", map[string]any{"email": "joins@new.example", "password": "a long enough one", "data": map[string]any{"tenant_id": own}}) // its policy is open
		told("member.added", 2)
		k.Post(who(actor.Admin), "/v1/invitations", map[string]any{"email": "invited@new.example", "role": "viewer"})
		k.Post("", "/auth/v1/signup", map[string]any{"email": "invited@new.example", "password": "a long enough one"})
		told("member.added", 3)
		ctx := context.Background()
		if _, err := k.App.Identity.AddMember(ctx, demo.South, "hand@new.example", actor.Viewer); err != nil {
			t.Fatal(err)
		}
		told("member.added", 4)
		for range 2 { // the second time changes nothing
			if _, err := k.App.Identity.AddMember(ctx, demo.South, "hand@new.example", actor.Operator); err != nil {
				t.Fatal(err)
			}
		}
		told("member.role_changed", 1)
		var m []struct{ ID string }
		k.Get("admin@south.example", "/v1/members?select=id&email=eq.hand@new.example").JSON(t, &m)
		if r := k.Call(testkit.Request{Method: "DELETE", Path: "/v1/members?id=eq." + m[0].ID, As: "admin@south.example"}); r.Status >= 300 {
			t.Fatalf("remove: %d %s", r.Status, r.Body)
		}
		told("member.removed", 1)
		told("member.added", 4)
	})
}

// Every type of event has its line in the guide and its schema in the document
// under webhooks, with an example of everything a receiver needs.
func TestEveryEventIsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		var doc struct {
			OpenAPI  string `json:"openapi"`
			Webhooks map[string]struct {
				Post struct {
					RequestBody struct {
						Content map[string]struct {
							Schema struct {
								Properties struct {
									Type struct{ Const string }
									Data struct{ Properties map[string]any }
								}
							}
						}
					}
				}
			}
		}
		k.Get("", "/openapi.json").JSON(t, &doc)
		if !strings.HasPrefix(doc.OpenAPI, "3.1") || len(doc.Webhooks) != len(event.Types()) {
			t.Errorf("OpenAPI %s has %d webhooks, there are %d types", doc.OpenAPI, len(doc.Webhooks), len(event.Types()))
		}
		for _, ty := range event.Types() {
			s := doc.Webhooks[ty.Name].Post.RequestBody.Content["application/json"].Schema.Properties
			if s.Type.Const != ty.Name || len(s.Data.Properties) == 0 {
				t.Errorf("%s has no schema: %+v", ty.Name, s)
			}
			family, rest, _ := strings.Cut(ty.Name, ".")
			if !regexp.MustCompile("(?m)^\\|.*`" + family + "\\.[^|]*`(" + regexp.QuoteMeta(family) + ")?\\." + regexp.QuoteMeta(rest) + "`|`" + regexp.QuoteMeta(ty.Name) + "`").Match(text) {
				t.Errorf("the guide does not name %s", ty.Name)
			}
		}
	})
}
