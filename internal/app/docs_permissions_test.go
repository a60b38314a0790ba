package app_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/actor"
	"holdfast/internal/api/auth"
	"holdfast/internal/catalog"
	"holdfast/internal/db"
	"holdfast/internal/functions"
	"holdfast/internal/testkit"
	"holdfast/internal/verb"
)

// docs/permissions.md is what was decided about who may do what. The loops over
// the catalog hold requests to the catalog; this page holds the catalog to the
// decision, so that a grant which is lost, widened or misspelt shows.
// HOLDFAST_WRITE_PERMISSIONS=1 writes the page anew.
func TestDocsPermissions(t *testing.T) {
	const path = "../../docs/permissions.md"
	a := testkit.New(t, db.SQLite).App
	want := permissionsPage(a.Functions(), a.Verbs())
	if os.Getenv("HOLDFAST_WRITE_PERMISSIONS") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(page), want); d != "" {
		t.Errorf("%s says otherwise (-page +code); where the code is right, run this test with HOLDFAST_WRITE_PERMISSIONS=1:\n%s", path, d)
	}
}

func permissionsPage(list []functions.Function, verbs []verb.Verb) string {
	var b strings.Builder
	columns := append(slices.Clone(actor.Members), actor.Client)
	b.WriteString("# Who may do what\n\nWritten by `HOLDFAST_WRITE_PERMISSIONS=1 go test ./internal/app -run TestDocsPermissions` and compared with " +
		"the code by every run of the tests: look at each changed line.\n\n" +
		"## Collections\n\nR read, C create, U update, D delete; a small letter: only rows that name the caller, his zones, " +
		"a client's goods, or as noted. The service key " +
		"may do all. Without membership: nothing. A key of a tenant has the column of its role (never owner), and of that only what its scopes name; members, " +
		"invitations, settings, mail_templates, webhooks, webhook_deliveries, sso_connections, tenants and audit have no scope.\n\n" +
		"| collection |" + strings.Join(roleNames(columns), "|") + "|\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, r := range catalog.Default().All() {
		b.WriteString("| " + r.Name + " |")
		for _, role := range columns {
			b.WriteString(rights(r, role) + "|")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Bounds within a collection\n\n")
	for _, r := range catalog.Default().All() {
		for _, line := range bounds(r) {
			b.WriteString("- " + r.Name + " " + line + "\n")
		}
	}
	b.WriteString("\n## Functions\n\n| function | methods | roles |\n|---|---|---|\n")
	for _, f := range list {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.Name, strings.Join(f.Methods, " "), roles(f.Roles))
	}
	b.WriteString("\n## Verbs\n\nPOST /v1/rpc/{verb}.\n\n| verb | roles |\n|---|---|\n")
	for _, v := range verbs {
		b.WriteString("| " + v.Name + " | " + strings.Join(roleNames(v.Roles), " ") + " |\n")
	}
	b.WriteString("\n## Accounts\n\nUnder /auth/v1; the others need a signed-in user.\n\n")
	for _, r := range new(auth.API).Routes() {
		switch {
		case r.Who.Anyone():
			b.WriteString("- " + r.Method + " " + strings.TrimPrefix(r.Pattern, "/auth/v1") + ": anybody\n")
		case r.Who.ServiceKey():
			b.WriteString("- " + r.Method + " " + strings.TrimPrefix(r.Pattern, "/auth/v1") + ": service key\n")
		}
	}
	return b.String()
}

func roleNames(list []actor.Role) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = string(r)
	}
	return out
}

func roles(list []actor.Role) string {
	if len(list) == 0 {
		return "members"
	}
	return strings.Join(roleNames(list), " ")
}

func rights(r *catalog.Resource, role actor.Role) string {
	out := ""
	for _, v := range []struct {
		letter string
		grants []catalog.Grant
	}{{"R", r.Access.Read}, {"C", r.Access.Create}, {"U", r.Access.Update}, {"D", r.Access.Delete}} {
		switch g, ok := catalog.Find(v.grants, role); {
		case !ok || g.Scope == catalog.None:
		case g.Scope == catalog.Own, g.Scope == catalog.Goods, g.Scope == catalog.Parent:
			out += strings.ToLower(v.letter)
		default:
			out += v.letter
		}
	}
	return out
}

// besides are the columns that name who reads a row all the same.
func besides(columns []string) string {
	if len(columns) == 0 {
		return ""
	}
	return " and whom " + strings.Join(columns, " or ") + " names"
}

// bounds are what the letters do not say.
func bounds(r *catalog.Resource) (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(r.Own) > 0 {
		add("name the caller by %s", strings.Join(r.Own, ", "))
	}
	for _, g := range r.Access.Read {
		if g.Work != nil {
			add("are read by %s too while %s is empty and %s is %s", roles(g.Roles), g.Work.Taken, g.Work.Status,
				strings.Join(g.Work.Open, ", "))
		}
		if g.Beside != "" {
			add("are read by %s too where %s names a record that they read", roles(g.Roles), g.Beside)
		}
	}
	if len(r.Goods) > 0 {
		add("are about a client's goods by %s", strings.Join(r.Goods, " and its "))
	}
	if s := r.Seal; s != nil && s.By == "" {
		add("are read with %s by %s and whom %s names, and by nobody else", s.Flag, roles(s.Roles), s.Named)
	} else if s != nil {
		add("about a record that is so kept, by %s, are read by those alone%s", s.By, besides(s.Except))
	}
	if r.Zoned != "" {
		add("lie in a zone by %s", r.Zoned)
	}
	if r.AppendOnly {
		add("are only ever added")
	}
	for _, v := range []struct {
		verb   string
		grants []catalog.Grant
	}{{"read", r.Access.Read}, {"create", r.Access.Create}, {"update", r.Access.Update}, {"delete", r.Access.Delete}} {
		for _, g := range v.grants {
			if g.Also != "" {
				add("%s by %s also where %s is %s", v.verb, roles(g.Roles), g.Also, strings.Join(g.In, ", "))
			}
			if len(g.Fields) > 0 {
				add("%s by %s only %s", v.verb, roles(g.Roles), strings.Join(g.Fields, ", "))
			}
		}
	}
	var kept, fixed []string
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.ReadOnly {
			kept = append(kept, f.Name)
		}
		if f.Fixed {
			fixed = append(fixed, f.Name)
		}
		if len(f.Readers) > 0 {
			add("show %s to %s", f.Name, roles(f.Readers))
		}
		if len(f.Setters) > 0 {
			add("take %s from %s", f.Name, roles(f.Setters))
		}
	}
	if kept != nil {
		add("keep by the server %s", strings.Join(kept, ", "))
	}
	if fixed != nil {
		add("fix at creation %s", strings.Join(fixed, ", "))
	}
	if r.Import != nil {
		add("take from files %s", strings.Join(r.Import.Fields, ", "))
	}
	if r.States != nil {
		for _, m := range r.States.Moves {
			who := "the server"
			if len(m.Roles) > 0 {
				who = roles(m.Roles)
			}
			add("move from %s to %s by %s", strings.Join(m.From, ", "), m.To, who)
		}
	}
	return out
}
