package app_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/demo"
	"holdfast/internal/idempotency"
	"holdfast/internal/testkit"
)

// withKey sends a request with an Idempotency-Key and says whether the answer
// is one that was given before.
func withKey(k *testkit.Kit, key string, q testkit.Request) (r testkit.Response, replayed bool) {
	head := map[string]string{"Idempotency-Key": key}
	for n, v := range q.Header {
		head[n] = v
	}
	q.Header = head
	r = k.Call(q)
	return r, r.Header.Get("Idempotent-Replayed") == "true"
}

var whole = map[string]string{"Prefer": "return=representation"}

// A write that is repeated with its key is answered as before, head and body,
// and done once, whatever its method and form.
func TestRepeatedWrites(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		as, id := testkit.As(actor.Manager), "0190c0de-0000-7000-8000-000000000001"
		for _, c := range []struct {
			name   string
			q      testkit.Request
			status int
		}{
			{"POST", testkit.Request{Method: "POST", Path: "/rest/v1/zones?select=id,code,version",
				Body: map[string]any{"id": id, "code": "ONCE", "name": "Once"}, Header: whole}, 201},
			{"POST-of-many", testkit.Request{Method: "POST", Path: "/v1/zones",
				Body: `[{"code":"MANY-1","name":"1"},{"code":"MANY-2","name":"2"}]`}, 201},
			{"POST-of-CSV", testkit.Request{Method: "POST", Path: "/v1/zones", Body: "code,name\nCSV,From CSV\n",
				Header: map[string]string{"Content-Type": "text/csv"}}, 201},
			{"PATCH", testkit.Request{Method: "PATCH", Path: "/v1/zones?id=eq." + id, Body: map[string]any{"name": "Twice"},
				Header: whole}, 200},
			{"PATCH-of-a-version", testkit.Request{Method: "PATCH", Path: "/v1/zones/" + id,
				Body:   map[string]any{"name": "Thrice"},
				Header: map[string]string{"If-Match": `"2"`}}, 200},
			{"PUT", testkit.Request{Method: "PUT", Path: "/v1/zones?id=eq." + id,
				Body: map[string]any{"id": id, "code": "ONCE", "name": "Put"}}, 204},
			{"upsert", testkit.Request{Method: "POST", Path: "/v1/zones?on_conflict=code",
				Body:   map[string]any{"code": "ONCE", "name": "Upsert"},
				Header: map[string]string{"Prefer": "resolution=merge-duplicates,return=representation"}}, 200},
			{"POST-with-effects", testkit.Request{Method: "POST", Path: "/v1/incidents",
				Body: map[string]any{"kind": "hazard", "severity": "low", "title": "Once", "occurred_at": "2026-11-01T08:00:00Z"}},
				201},
			{"DELETE", testkit.Request{Method: "DELETE", Path: "/v1/zones?code=eq.CSV", As: testkit.As(actor.Admin),
				Header: whole}, 200},
		} {
			if c.q.As == "" {
				c.q.As = as
			}
			first, replayed := withKey(k, c.name, c.q)
			if first.Status != c.status || replayed {
				t.Errorf("%s: %d %v %s", c.name, first.Status, replayed, first.Body)
				continue
			}
			audited := k.Counted(t, "audit")
			second, replayed := withKey(k, c.name, c.q)
			if second.Status != first.Status || !bytes.Equal(second.Body, first.Body) || !replayed {
				t.Errorf("%s again: %d, replayed %v\n%s\n%s", c.name, second.Status, replayed, first.Body, second.Body)
			}
			for _, h := range []string{"Content-Type", "Content-Range", "Location", "ETag", "Preference-Applied",
				"Content-Length", "Vary", "Cache-Control"} {
				if first.Header.Get(h) != second.Header.Get(h) {
					t.Errorf("%s again: %s is %q, was %q", c.name, h, second.Header.Get(h), first.Header.Get(h))
				}
			}
			if n := k.Counted(t, "audit"); n != audited {
				t.Errorf("%s again: %d more audit rows", c.name, n-audited)
			}
		}
	})
}

// A write that ended in a server error, wherever it broke, did nothing: repeated
// with its key it is done, and from then on answered as before.
func TestRepeatedAfterAServerError(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, c := range []struct{ name, statement, when string }{
			{"record", "INSERT ON zones", "NEW.code LIKE 'BROKE-%'"},
			{"audit", "INSERT ON audit", "NEW.action LIKE 'zones.%'"},
			{"answer", "UPDATE ON idempotency_keys", "NEW.status IS NOT NULL"},
			{"claim", "INSERT ON idempotency_keys", "NEW.status IS NULL"},
		} {
			q := testkit.Request{Method: "POST", Path: "/v1/zones?select=id,code", As: testkit.As(actor.Manager),
				Body: map[string]any{"code": "BROKE-" + c.name, "name": "Broken"}, Header: whole}
			zones, audited := k.Counted(t, "zones"), k.Counted(t, "audit WHERE action LIKE 'zones.%'")
			done := func() int {
				return k.Counted(t, "zones") - zones + k.Counted(t, "audit WHERE action LIKE 'zones.%'") - audited
			}
			mend := broken(t, k, c.statement, c.when)
			if r, replayed := withKey(k, c.name, q); r.Status < 500 || replayed || done() != 0 {
				t.Errorf("the %s broken: %d, replayed %v, %d rows: %s", c.name, r.Status, replayed, done(), r.Body)
			}
			mend()
			first, replayed := withKey(k, c.name, q)
			if first.Status != 201 || replayed || done() != 2 {
				t.Errorf("the %s, repeated: %d, replayed %v, %d rows: %s", c.name, first.Status, replayed, done(), first.Body)
			}
			if r, replayed := withKey(k, c.name, q); r.Status != 201 || !replayed || !bytes.Equal(r.Body, first.Body) ||
				done() != 2 {
				t.Errorf("the %s, repeated again: %d, replayed %v, %d rows: %s", c.name, r.Status, replayed, done(), r.Body)
			}
			if r := k.Call(testkit.Request{Method: "POST", Path: "/v1/zones", As: q.As, Body: q.Body}); r.Status != 409 {
				t.Errorf("the %s, without the key: %d %s", c.name, r.Status, r.Body)
			}
		}
	})
}

// What a key does not cover, and what it cannot be.
func TestKeysOfRequests(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		zone := func(code string) testkit.Request {
			return testkit.Request{Method: "POST", Path: "/v1/zones?select=code", As: testkit.As(actor.Manager),
				Body:   map[string]any{"code": code, "name": code},
				Header: whole}
		}
		of := func(q testkit.Request, f func(*testkit.Request)) testkit.Request { f(&q); return q }
		for _, c := range []struct {
			name, key string
			q         testkit.Request
			status    int
			replayed  bool
		}{
			{"first", "k", zone("A"), 201, false},
			{"the same", "k", zone("A"), 201, true},
			{"another body", "k", zone("B"), 422, false},
			{"another query", "k", of(zone("A"), func(q *testkit.Request) { q.Path = "/v1/zones?select=id" }), 422, false},
			{"another form of answer", "k", of(zone("A"), func(q *testkit.Request) { q.Header = nil }), 422, false},
			{"another method", "k", of(zone("A"), func(q *testkit.Request) {
				q.Method, q.Path = "PATCH",
					"/v1/zones?code=eq.none"
			}), 200, false},
			{"another user", "k", of(zone("B"), func(q *testkit.Request) { q.As = testkit.As(actor.Admin) }), 201, false},
			{"a refused request", "refused", zone("A"), 409, false},
			{"a refused request runs anew", "refused", zone("A"), 409, false},
			{"and frees its key", "refused", zone("C"), 201, false},
			{"no right", "viewer", of(zone("D"), func(q *testkit.Request) { q.As = testkit.As(actor.Viewer) }), 403, false},
			{"the service key", "k",
				testkit.Request{Method: "POST", Path: "/v1/zones", Bearer: k.Service(),
					Body: map[string]any{"tenant_id": demo.South, "code": "S", "name": "S"}}, 201, false},
			{"the service key again", "k",
				testkit.Request{Method: "POST", Path: "/v1/zones", Bearer: k.Service(),
					Body: map[string]any{"tenant_id": demo.South, "code": "S", "name": "S"}}, 201, true},
			{"a key of two words", "a b", zone("E"), 400, false},
			{"an empty key", "", zone("E"), 400, false},
			{"an endless key", fmt.Sprintf("%0256d", 1), zone("E"), 400, false},
			{"a read", "k", testkit.Request{Method: "GET", Path: "/v1/zones?limit=1", As: testkit.As(actor.Manager)}, 200,
				false},
		} {
			if r, replayed := withKey(k, c.key, c.q); r.Status != c.status || replayed != c.replayed {
				t.Errorf("%s: %d, replayed %v: %s", c.name, r.Status, replayed, r.Body)
			}
		}
		if n := k.Counted(t, "zones WHERE code IN ('A', 'B', 'C', 'D', 'E')"); n != 3 {
			t.Errorf("%d zones were made, want 3", n)
		}
	})
}

// Many that ask the same at once, on every node, do it once: each is answered
// alike or told to wait.
func TestRepeatsAtOnce(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		nodes := []*testkit.Kit{k, k}
		if k.Engine == db.PostgreSQL {
			nodes[1] = beside(t, k)
		}
		k.Token(testkit.As(actor.Manager))
		var wg sync.WaitGroup
		answers := make([]testkit.Response, 12)
		for i := range answers {
			wg.Go(func() {
				answers[i], _ = withKey(nodes[i%2], "at-once",
					testkit.Request{Method: "POST", Path: "/v1/zones?select=id", As: testkit.As(actor.Manager),
						Body: map[string]any{"name": "At once", "code": "AT-ONCE"}, Header: whole})
			})
		}
		wg.Wait()
		body := ""
		for _, r := range answers {
			switch {
			case r.Status == 409 && r.Header.Get("Retry-After") != "" && bytes.Contains(r.Body, []byte("HF015")):
			case r.Status != 201 || body != "" && body != string(r.Body):
				t.Errorf("%d %s, another was told %s", r.Status, r.Body, body)
			default:
				body = string(r.Body)
			}
		}
		if n := k.Counted(t, "zones WHERE code = 'AT-ONCE'"); n != 1 || body == "" {
			t.Errorf("%d zones, answer %q", n, body)
		}
	})
}

// The answer of a write is repeated whole, however long it is and however little
// there is in it to compress. The update changes what the insert made.
func TestRepeatedLongAnswers(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		rows := make([]map[string]string, 2000)
		for i := range rows {
			rows[i] = map[string]string{"code": fmt.Sprint("LONG-", i), "name": rand.Text() + rand.Text() + rand.Text()}
		}
		manager := testkit.As(actor.Manager)
		for _, write := range []testkit.Request{
			{Method: "POST", Path: "/v1/zones", As: manager, Body: rows, Header: whole},
			{Method: "PATCH", Path: "/v1/zones?code=like.LONG-*", As: manager,
				Body: map[string]string{"kind": "rack"}, Header: whole},
		} {
			first, _ := withKey(k, "long-"+write.Method, write)
			second, replayed := withKey(k, "long-"+write.Method, write)
			if first.Status/100 != 2 || second.Status != first.Status || !replayed || len(first.Body) < 256<<10 {
				t.Errorf("%s: %d, %d bytes; again: %d, replayed %v",
					write.Method, first.Status, len(first.Body), second.Status, replayed)
			}

			length, again := first.Header.Get("Content-Length"), second.Header.Get("Content-Length")
			if !bytes.Equal(first.Body, second.Body) || length != again {
				t.Errorf("%s: %d bytes of Content-Length %q, again %d bytes of %q and Content-Type %q",
					write.Method, len(first.Body), length, len(second.Body), again, second.Header.Get("Content-Type"))
			}
		}
	})
}

// Uploads, the steps of an import and functions that write repeat their answers
// too; a function whose answer is too long to be kept runs again.
func TestRepeatedFunctionsAndImports(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		same := func(what string, q func() testkit.Request) testkit.Response {
			t.Helper()
			first, _ := withKey(k, what, q())
			second, replayed := withKey(k, what, q())
			if first.Status/100 != 2 || second.Status != first.Status || !bytes.Equal(first.Body, second.Body) || !replayed {
				t.Fatalf("%s: %d %s\nagain: %d, replayed %v %s", what, first.Status, first.Body, second.Status, replayed,
					second.Body)
			}
			return first
		}
		as := testkit.As(actor.Admin)
		form := func(file string) testkit.Request { // with a boundary of its own
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			if err := w.WriteField("target", "zones"); err != nil {
				t.Fatal(err)
			}
			part, err := w.CreateFormFile("file", "zones.csv")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(part, file)
			w.Close()
			return testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: as, Body: b.Bytes(),
				Header: map[string]string{"Content-Type": w.FormDataContentType()}}
		}
		jobs := k.Counted(t, "import_jobs")
		var job struct{ ID string }
		same("upload", func() testkit.Request { return form("code,name\nIMP-1,Imported\n") }).JSON(t, &job)
		if r, _ := withKey(k, "upload", form("code,name\nIMP-2,Imported\n")); r.Status != 422 {
			t.Errorf("another file under the same key: %d %s", r.Status, r.Body)
		}
		same("empty", func() testkit.Request {
			return testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: as, Body: map[string]string{"target": "zones"}}
		})
		if n := k.Counted(t, "import_jobs"); n != jobs+2 {
			t.Errorf("%d jobs were made, want 2", n-jobs)
		}
		for _, step := range []string{"process", "apply", "rollback"} {
			same(step, func() testkit.Request {
				return testkit.Request{Method: "POST", Path: "/functions/v1/" + step + "-import-job", As: as,
					Body: map[string]string{"job_id": job.ID}}
			})
		}
		for _, fn := range []string{"check-compliance-rules", "auto-assign-training", "assign-risk-clusters"} {
			same(fn, func() testkit.Request {
				return testkit.Request{Method: "POST", Path: "/functions/v1/" + fn, As: as,
					Body: json.RawMessage(`{"entity_type":"zone"}`)}
			})
		}
		for range 2 { // its answer is too long to be kept
			const fn = "calculate-predictive-safety-scores"
			r, replayed := withKey(k, fn, testkit.Request{Method: "POST", Path: "/functions/v1/" + fn, As: as,
				Body: json.RawMessage(`{"entity_type":"zone"}`)})
			if r.Status != 200 || replayed || len(r.Body) <= idempotency.MaxBody {
				t.Errorf("%s: %d, replayed %v, %d bytes", fn, r.Status, replayed, len(r.Body))
			}
		}
		if r, _ := withKey(k, "check-compliance-rules",
			testkit.Request{Method: "POST", Path: "/functions/v1/check-compliance-rules", As: as,
				Body: json.RawMessage(`{"entity_type":"worker"}`)}); r.Status != 422 {
			t.Errorf("another parameter under the same key: %d %s", r.Status, r.Body)
		}
	})
}

// A webhook and a photo are made once, and a webhook's verbs done once. The webhook's secret is shown once too:
// it is in no answer that was kept.
func TestRepeatedWebhooksAndPhotos(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		hook := func(events ...string) testkit.Request {
			return testkit.Request{Method: "POST", Path: "/v1/webhooks", As: testkit.As(actor.Admin),
				Body: map[string]any{"url": "http://127.0.0.1:9/once", "events": events}}
		}
		hooks := k.Counted(t, "webhooks")
		first, _ := withKey(k, "hook", hook("order.*"))
		again, replayed := withKey(k, "hook", hook("order.*"))
		var shown, kept map[string]any
		first.JSON(t, &shown)
		again.JSON(t, &kept)
		if first.Status != 201 || again.Status != 201 || !replayed ||
			again.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("webhook: %d %s\nagain: %d, replayed %v %s", first.Status, first.Body, again.Status, replayed, again.Body)
		}
		secret, _ := shown["secret"].(string)
		delete(shown, "secret")
		if d := cmp.Diff(shown, kept); d != "" || secret == "" {
			t.Errorf("secret %q; the repeat: %s", secret, d)
		}
		if n := k.Counted(t, "idempotency_keys WHERE body LIKE '%"+secret+"%'"); n != 0 {
			t.Errorf("the secret is kept with %d keys", n)
		}
		if r, _ := withKey(k, "hook", hook("zone.*")); r.Status != 422 {
			t.Errorf("another webhook under the same key: %d %s", r.Status, r.Body)
		}
		if n := k.Counted(t, "webhooks"); n != hooks+1 {
			t.Errorf("%d webhooks were made", n-hooks)
		}
		id, _ := shown["id"].(string)
		path := "/v1/webhooks/" + id
		verb := func(name, path string, status int, effect string) testkit.Response {
			t.Helper()
			before := k.Counted(t, effect)
			q := testkit.Request{Method: "POST", Path: path, As: testkit.As(actor.Admin)}
			first, was := withKey(k, name, q)
			again, replayed := withKey(k, name, q)
			if first.Status != status || again.Status != status || was || !replayed {
				t.Errorf("%s: %d %s\nagain: %d, replayed %v %s", name, first.Status, first.Body, again.Status, replayed, again.Body)
			}
			if n := k.Counted(t, effect); n != before+1 {
				t.Errorf("%s: done %d times", name, n-before)
			}
			secret := regexp.MustCompile(`,"secret":"([^"]+)"`)
			if m := secret.FindSubmatch(first.Body); m != nil &&
				k.Counted(t, "idempotency_keys WHERE body LIKE '%"+string(m[1])+"%'") != 0 {
				t.Errorf("%s: the secret is kept", name)
			}
			if d := cmp.Diff(secret.ReplaceAllString(string(first.Body), ""), string(again.Body)); d != "" {
				t.Errorf("%s: the repeat: %s", name, d)
			}
			return first
		}
		if r := verb("rotate", path+"/rotate", 200, "audit WHERE action = 'webhooks.update' AND entity_id = '"+id+"'"); !bytes.Contains(r.Body,
			[]byte(`"secret":"whsec_`)) {
			t.Errorf("rotated without a secret: %s", r.Body)
		}
		verb("test", path+"/test", 202, "webhook_deliveries WHERE type = 'webhook.test'")
		var sent []struct{ ID string }
		k.Get(testkit.As(actor.Admin), "/v1/webhook_deliveries?select=id&webhook_id=eq."+id).JSON(t, &sent)
		verb("replay", path+"/deliveries/"+sent[0].ID+"/replay", 202, "webhook_deliveries WHERE replay_of IS NOT NULL")
		verb("range", path+"/replay?from=2026-01-01T00:00:00Z&status=all", 202,
			"audit WHERE action = 'webhooks.replay' AND entity_id = '"+id+"'")
		op := testkit.As(actor.Operator)
		incident := k.Insert(t, op, "incidents", map[string]any{"kind": "hazard", "title": "Oil",
			"occurred_at": "2026-01-05T10:00:00Z"})
		photo := func(side int, caption string) testkit.Request {
			body, kind := pictureForm(t, "file", "x.png", pngPicture(t, side, side), "caption", caption)
			return testkit.Request{Method: "POST", Path: "/v1/incidents/" + incident + "/photos", As: op, Body: body,
				Header: map[string]string{"Content-Type": kind}}
		}
		photos := k.Counted(t, "incident_photos")
		first, _ = withKey(k, "photo", photo(9, "a"))
		again, replayed = withKey(k, "photo", photo(9, "a"))
		if first.Status != 201 || again.Status != 201 || !replayed || !bytes.Equal(first.Body, again.Body) ||
			first.Header.Get("Location") != again.Header.Get("Location") {
			t.Errorf("photo: %d %s\nagain: %d, replayed %v %s", first.Status, first.Body, again.Status, replayed, again.Body)
		}
		for _, other := range []testkit.Request{photo(8, "a"), photo(9, "b")} {
			if r, _ := withKey(k, "photo", other); r.Status != 422 {
				t.Errorf("another photo under the same key: %d %s", r.Status, r.Body)
			}
		}
		if n := k.Counted(t, "incident_photos"); n != photos+1 {
			t.Errorf("%d photos were made", n-photos)
		}
	}, func(c *config.Config) { c.WebhookPrivate = true })
}
