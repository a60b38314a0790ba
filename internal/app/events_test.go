package app_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"holdfast/internal/config"
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
			case <-time.After(5 * time.Second):
				t.Errorf("%s: nothing within 5 s", name)
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
	}, func(c *config.Config) { c.WebhookPrivate = true })
}
