package app_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"holdfast/internal/api/route"
	"holdfast/internal/config"
	"holdfast/internal/db"
	"holdfast/internal/testkit"
)

// docs/routes.md is what is served, and to whom: a route that opens to others, or
// that nobody meant to serve, shows there. HOLDFAST_WRITE_ROUTES=1 writes it anew.
func TestDocsRoutes(t *testing.T) {
	const path = "../../docs/routes.md"
	want := routesPage(testkit.New(t, db.SQLite, func(c *config.Config) { c.Dev = false }).App.Routes())
	if os.Getenv("HOLDFAST_WRITE_ROUTES") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff.Diff(string(page), want); d != "" {
		t.Errorf("%s says otherwise (-page +code); where the code is right, run this test with HOLDFAST_WRITE_ROUTES=1:\n%s",
			path, d)
	}
}

// chapters are the parts of the page, by how their paths begin; a route belongs to
// the first that fits.
var chapters = []struct{ prefix, title string }{
	{"/auth/v1/scim/", "Directories (SCIM 2.0)"},
	{"/auth/v1/admin/", "Identity: the service key"},
	{"/auth/v1/", "Identity"},
	{"/functions/v1/", "Functions"},
	{"/rest/v1/", "Records, under the prefix of supabase-js"},
	{"/v1/", "Records, verbs, files and the platform"},
	{"/", "The server and its pages"},
}

func routesPage(routes []route.Route) string {
	var b strings.Builder
	b.WriteString("# What is served, and to whom\n\nWritten by `HOLDFAST_WRITE_ROUTES=1 go test ./internal/app -run TestDocsRoutes` and compared with the " +
		"code by every run of the tests: look at each changed line. A route without a caller keeps the server from starting. What a signed-in caller may " +
		"do with it, docs/permissions.md and the route's own words say. Every GET answers HEAD, every path OPTIONS.\n")
	of := map[string][]route.Route{}
	for _, r := range routes {
		for _, c := range chapters {
			if strings.HasPrefix(r.Pattern, c.prefix) {
				of[c.title] = append(of[c.title], r)
				break
			}
		}
	}
	for _, c := range slices.Backward(chapters) {
		list := of[c.title]
		slices.SortStableFunc(list, func(x, y route.Route) int { return cmp.Compare(shown(x), shown(y)) })
		fmt.Fprintf(&b, "\n## %s\n\n| method | path | who | what |\n|---|---|---|---|\n", c.title)
		var long strings.Builder
		for _, r := range list {
			what := r.Doc
			if len(what) > cellMost {
				what = firstOf(what) + ": below"
				fmt.Fprintf(&long, "\n%s `%s`: %s.\n", r.Method, shown(r), r.Doc)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cmp.Or(r.Method, "any"), shown(r), r.Who,
				strings.ReplaceAll(what, "|", `\|`))
		}
		b.WriteString(long.String())
	}
	return b.String()
}

// firstOf is as much of a long sentence as a cell takes: up to a semicolon, else to a
// comma or a parenthesis.
func firstOf(what string) string {
	what = what[:cellMost-20]
	at := strings.LastIndex(what, ";")
	if at < 0 {
		at = strings.LastIndexAny(what, ",(")
	}
	return strings.TrimSpace(what[:at])
}

func shown(r route.Route) string { return strings.TrimSuffix(r.Pattern, "{$}") }
