package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"

	"holdfast/internal/actor"
	"holdfast/internal/catalog"
	"holdfast/internal/testkit"
)

// The root of the collections is Swagger 2.0 as PostgREST gives it: whole, for the
// caller's role, with what react-admin's guessers (getSchema of ra-supabase-core)
// and n8n's lists of tables and columns read of it. OpenAPI 3.1 is what Accept
// names.
func TestRootIsSwagger(t *testing.T) {
	testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
		read := func(as, prefix string, header map[string]string) (doc openapi2.T, r testkit.Response) {
			t.Helper()
			q := testkit.Request{Method: "GET", Path: prefix + "/", As: as, Header: header}
			if as == "service" {
				q.As, q.Bearer = "", k.Service()
			}
			r = k.Call(q)
			if r.Status != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/openapi+json") {
				t.Fatalf("%s as %s: %d %s %.200s", prefix, as, r.Status, r.Header.Get("Content-Type"), r.Body)
			}
			if err := json.Unmarshal(r.Body, &doc); err != nil {
				t.Fatal(err)
			}
			three, err := openapi2conv.ToV3(&doc)
			if err != nil {
				t.Fatalf("%s as %s: %v", prefix, as, err)
			}
			if err := three.Validate(context.Background()); err != nil {
				t.Errorf("%s as %s: %v", prefix, as, err)
			}
			return doc, r
		}
		for _, as := range []string{"", testkit.As(actor.Owner), testkit.As(actor.Viewer), testkit.As(actor.Driver),
			"service"} {
			role := actor.Service
			if as != "service" {
				role = actor.Anon
				if name, _, ok := strings.Cut(as, "@"); ok {
					role = actor.Role(name)
				}
			}
			for _, prefix := range []string{"/v1", "/rest/v1"} {
				for _, accept := range []string{"", "application/json", "application/openapi+json", "*/*"} {
					doc, _ := read(as, prefix, map[string]string{"Accept": accept})
					if doc.Swagger != "2.0" || doc.BasePath != prefix {
						t.Fatalf("%s: version %q, base %q", prefix, doc.Swagger, doc.BasePath)
					}
					for _, c := range catalog.Default().All() {
						_, may := catalog.Find(c.Access.Read, role)
						if listed := doc.Paths["/"+c.Name] != nil && doc.Paths["/"+c.Name].Get != nil; listed != may {
							t.Errorf("%s as %s: list of %s described %v, may read %v", prefix, as, c.Name, listed, may)
						}
						if may && (doc.Definitions[c.Name] == nil || doc.Definitions[c.Name].Value.Properties["id"] == nil) {
							t.Errorf("%s as %s: %s has no definition with its id", prefix, as, c.Name)
						}
					}
				}
			}
		}
		doc, r := read(testkit.As(actor.Owner), "/rest/v1", nil)
		line := doc.Definitions["order_lines"].Value
		if d := line.Properties["order_id"].Value.Description; !strings.Contains(d, "<fk table='orders' column='id'/>") {
			t.Errorf("a reference is not marked: %s", d)
		}
		if d := line.Properties["id"].Value.Description; !strings.Contains(d, "<pk/>") {
			t.Errorf("the key is not marked: %s", d)
		}
		if doc.Paths["/rpc/pick_line"] == nil {
			t.Error("verbs are not described")
		}
		tag := map[string]string{"If-None-Match": r.Header.Get("ETag")}
		if again := k.Call(testkit.Request{Method: "GET", Path: "/rest/v1/", As: testkit.As(actor.Owner),
			Header: tag}); again.Status != http.StatusNotModified {
			t.Errorf("the same again: %d", again.Status)
		}

		var other struct{ OpenAPI string }
		k.Call(testkit.Request{Method: "GET", Path: "/v1/", As: testkit.As(actor.Owner),
			Header: map[string]string{"Accept": "application/vnd.oai.openapi+json;version=3.1, */*;q=0.1"}}).JSON(t, &other)
		if other.OpenAPI != "3.1.0" {
			t.Errorf("OpenAPI 3.1 by Accept: %q", other.OpenAPI)
		}
	})
}
