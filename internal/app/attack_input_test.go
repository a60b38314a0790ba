package app_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"

	"holdfast/internal/actor"
	"holdfast/internal/demo"
	"holdfast/internal/testkit"
)

// A file name is a label: whatever it is, the answer is no server error.
func TestAttackFileNames(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, name := range []string{
			"a." + strings.Repeat("x", 300), strings.Repeat("x", 3000) + ".csv", "../../etc/passwd.csv", "..", `C:\x\y.csv`,
			"." + strings.Repeat("y", 201),
		} {
			var b bytes.Buffer
			form := multipart.NewWriter(&b)
			if err := form.WriteField("target", "items"); err != nil {
				t.Fatal(err)
			}
			part, err := form.CreateFormFile("file", name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := part.Write([]byte("sku,name\nATTACK-1,x\n")); err != nil {
				t.Fatal(err)
			}
			if err := form.Close(); err != nil {
				t.Fatal(err)
			}
			r := k.Call(testkit.Request{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Manager), Body: b.Bytes(),
				Header: map[string]string{"Content-Type": form.FormDataContentType()}})
			if r.Status >= 500 {
				t.Errorf("%.20q of %d bytes: %d %s", name, len(name), r.Status, r.Body)
			}
		}
	})
}

// A query string of thousands of parameters is refused before it is taken apart.
func TestAttackParameters(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, c := range []struct {
			path string
			most int
		}{
			{"/v1/items", 1000}, {"/rest/v1/items", 1000}, {"/functions/v1/safety-kpis", 100}, {"/auth/v1/user", 100},
			{"/auth/v1/settings",
				100}, {"/auth/v1/authorize", 100},
			{"/auth/v1/sso/connections", 100}, {"/auth/v1/scim/v2/Users", 100},
		} {
			many := func(n int) string {
				r := k.Call(testkit.Request{Method: "GET", Path: c.path + "?" + strings.TrimSuffix(strings.Repeat("a=b&", n), "&"),
					As: testkit.As(actor.Admin)})
				if r.Status >= 500 {
					t.Errorf("%s with %d parameters: %d", c.path, n, r.Status)
				}
				return string(r.Body)
			}
			told := fmt.Sprintf("more than %d parameters", c.most)
			if strings.Contains(many(c.most), told) || !strings.Contains(many(c.most+1), told) ||
				!strings.Contains(many(20_000), told) {
				t.Errorf("%s takes others than %d parameters: %.200s", c.path, c.most, many(c.most+1))
			}
		}
	})
}

// What is refused is told in the API's words, never in the program's.
func TestAttackMessagesNameNoCode(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, q := range []testkit.Request{
			{Method: "POST", Path: "/functions/v1/process-import-job", As: testkit.As(actor.Manager), Body: "[]"},
			{Method: "POST", Path: "/auth/v1/token?grant_type=password", Body: "[]"},
			{Method: "POST", Path: "/auth/v1/signup", Body: "[]"},
			{Method: "PUT", Path: "/auth/v1/user", As: testkit.As(actor.Viewer), Body: "[]"},
			{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Manager), Body: `{"target":"items","options":[]}`},
			{Method: "POST", Path: "/v1/import-jobs", As: testkit.As(actor.Manager),
				Body: `{"target":"items","options":{"nope":1}}`},
		} {
			r := k.Call(q)
			if r.Status != 400 {
				t.Errorf("%s %s %v: %d", q.Method, q.Path, q.Body, r.Status)
			}
			for _, word := range []string{"json.", "RawMessage", "map[", "api/auth", "imports.", "Go value", "struct"} {
				if strings.Contains(string(r.Body), word) {
					t.Errorf("%s %s tells %q: %s", q.Method, q.Path, word, r.Body)
				}
			}
		}
	})
}

// A service key writes for tenants that exist.
func TestAttackServiceKeyUnknownTenant(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		const nobody = "0190a000-0000-7000-8000-00000000dead"
		r := k.Call(testkit.Request{Method: "POST", Path: "/v1/zones", Bearer: k.Service(),
			Body: map[string]any{"tenant_id": nobody, "code": "LOST", "name": "Lost"}})
		if r.Status != 409 || !strings.Contains(string(r.Body), "23503") {
			t.Errorf("a row of no tenant: %d %s, want 409 23503", r.Status, r.Body)
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis?tenant_id=" + nobody,
			Bearer: k.Service()}); r.Status != 404 &&
			r.Status != 400 {
			t.Errorf("figures of no tenant: %d %.120s", r.Status, r.Body)
		}
		const some = "0190a000-0000-7000-8000-00000000beef"
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{"POST", "/v1/import-jobs", `{"target":"items"}`}, {"GET", "/v1/import-jobs/" + some + "/errors", nil},
			{"POST", "/v1/import-jobs/" + some + "/cancel", nil},
			{"POST", "/v1/webhooks", `{"url":"https://example.com/x","events":["*"]}`},
			{"POST", "/v1/webhooks/" + some + "/test", nil},
			{"GET", "/v1/incidents/" + some + "/photos", nil}, {"GET", "/v1/events", nil}, {"GET", "/v1/osha/300.pdf", nil},
			{"POST", "/v1/report-links/" + some + "/rotate", nil}, {"GET", "/functions/v1/safety-kpis", nil},
		} {
			for tenant, want := range map[string]int{nobody: 404, "": 400, "x": 400, "'": 400,
				demo.South + "&tenant_id=" + demo.North: 400} {
				r := k.Call(testkit.Request{Method: c.method, Path: c.path + "?tenant_id=" + tenant, Bearer: k.Service(),
					Body: c.body})
				if r.Status != want || !strings.Contains(string(r.Body), "tenant") {
					t.Errorf("%s %s for %q: %d %.200s, want %d", c.method, c.path, tenant, r.Status, r.Body, want)
				}
			}
		}
		if r := k.Call(testkit.Request{Method: "GET", Path: "/functions/v1/safety-kpis?tenant_id=" + demo.South,
			Bearer: k.Service()}); r.Status != 200 {
			t.Errorf("figures of south: %d", r.Status)
		}
	})
}

// The mails a developer's server keeps are not for every web page to read.
func TestAttackDevMailFromAnotherSite(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		r := k.Call(testkit.Request{Method: "GET", Path: "/dev/mail",
			Header: map[string]string{"Origin": "https://evil.example"}})
		if got := r.Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("/dev/mail with a foreign origin: %d, Access-Control-Allow-Origin %q", r.Status, got)
		}
	})
}

// An unknown rpc is an unknown function, not a missing record.
func TestAttackUnknownRPC(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		for _, m := range []string{"GET", "POST"} {
			r := k.Call(testkit.Request{Method: m, Path: "/rest/v1/rpc/nope", As: testkit.As(actor.Manager), Body: "{}"})
			if r.Status != 404 || !strings.Contains(string(r.Body), "PGRST202") {
				t.Errorf("%s rpc/nope: %d %s, want 404 PGRST202", m, r.Status, r.Body)
			}
		}
	})
}
