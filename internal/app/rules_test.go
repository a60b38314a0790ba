package app

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/identity"
)

// layers says who stands on whom, ground first, with the reason. A package may
// import only packages of lower layers; packages of one layer never import
// each other.
var layers = []struct {
	name     string // as package comments say it
	why      string
	packages []string
}{
	{"values", "words every package needs", []string{"fault", "actor", "decimal", "suggest", "jobtitle", "coding"}},
	{"GS1 keys", "keys and element strings of GS1, which formats of fields and the scanner share", []string{"gs1"}},
	{"foundations", "settings, memory and secrets, the structure of JSON, the header Prefer, the calendar, no feature; " +
		"a connection that may be away",
		[]string{"config", "cache", "heap", "secrets", "schema", "redis", "trace", "backoff", "localtime", "prefer",
			"bill",
			"logstorm"}},
	{"adapters", "toolboxes for one outside thing each: database, HTTP, windows, files, mail, paper, addresses of tenants",
		[]string{"db", "web", "ratelimit", "blob", "mail", "pdf", "outbound"}},
	{"installation", "what the server has done, in numbers; the form of a backup; what may be wrong with an installation; " +
		"which one it is, and what a copy leaves alone", []string{"metrics", "backup", "doctor", "installation"}},
	{"catalog and access", "what the records are; who may pass; what nodes tell each other, who works at what, " +
		"what was answered before, who did what, and which backups there are",
		[]string{"catalog", "access", "cluster", "job", "idempotency", "audit", "backups"}},
	{"grammar", "the request grammar, checked against the catalog; types of it for clients", []string{"query", "typegen"}},
	{"records", "rows of any resource; what happened to them", []string{"store", "event"}},
	{"verbs", "what a verb is: its roles, its input and answer, the transaction it runs in", []string{"verb"}},
	{"typed records", "a type for the rows of each resource, made from the catalog", []string{"record"}},
	{"groups of people", "of how many a figure is shown", []string{"mingroup"}},
	{"domains", "the domains; they meet in rows, never in calls",
		[]string{"warehouse", "safety", "score", "identity", "webhook"}},
	{"across domains", "what stands on two domains: files into rows, sign-in by an organisation's own provider",
		[]string{"imports", "sso"}},
	{"functions", "the interface's functions, and data to show them with", []string{"functions", "demo"}},
	{"endpoints", "HTTP endpoints", []string{"api", "console", "reference"}},
	{"wiring", "the only wiring", []string{"app"}},
	{"tests", "a whole server for tests", []string{"testkit"}},
}

// only lists imports that belong to some packages alone.
var only = map[string][]string{
	"database/sql":                    {},
	"database/sql/driver":             {"db"},
	"modernc.org/sqlite":              {"db"},
	"github.com/jackc/pgx/v5":         {"db"},
	"github.com/jackc/pgx/v5/pgxpool": {"db"},
	"github.com/jackc/pgx/v5/pgconn":  {"db"},
	"github.com/minio/minio-go/v7":    {"blob"},
	"filippo.io/age":                  {"backup"},
	"codeberg.org/go-pdf/fpdf":        {"pdf"},
	"net/http": {"web", "blob", "access", "api", "app", "identity", "webhook", "sso", "console", "reference",
		"testkit", "metrics", "outbound"},
}

// rooms are the rooms inside a package, ground first. A room imports only rooms of
// lower lines; those of one line do not know each other. What a room is for stands in
// its doc.go.
var rooms = map[string][]string{
	"identity": {"accounts", "codes", "keyring", "tenants", "sessions", "signin", "mfa", "providers", "profile", "admin"},
	"imports":  {"cell jobs sheet", "targets staged", "plan match", "draft bulk", "check apply undo"},
}

// lineOf is the line of rooms that a package stands on, of all packages the path's
// first element; -1 when it is no room.
func lineOf(pkg string) int {
	of, room, _ := strings.Cut(pkg, "/")
	return slices.IndexFunc(rooms[of], func(line string) bool { return slices.Contains(strings.Fields(line), room) })
}

func TestImportsGoDown_identity(t *testing.T) { roomsGoDown(t, "identity") }

func TestImportsGoDown_imports(t *testing.T) { roomsGoDown(t, "imports") }

func roomsGoDown(t *testing.T, of string) {
	t.Helper()
	const under = "holdfast/internal/"
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, under+of+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen, want := 0, len(strings.Fields(strings.Join(rooms[of], " ")))
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		at := lineOf(strings.TrimPrefix(fields[0], under))
		switch {
		case at >= 0:
			seen++
		case fields[0] == under+of: // it stands on all of them
			at = len(rooms[of])
		}
		for _, imp := range fields[1:] {
			if to := lineOf(strings.TrimPrefix(imp, under)); strings.HasPrefix(imp, under+of+"/") && to >= 0 && to >= at {
				t.Errorf("%s imports %s, which does not stand below it", fields[0], imp)
			}
		}
	}
	if seen != want {
		t.Errorf("%d of %d rooms found", seen, want)
	}
}

func layerOf(pkg string) (int, bool) {
	name, _, _ := strings.Cut(pkg, "/")
	for i, f := range layers {
		for _, p := range f.packages {
			if p == name {
				return i, true
			}
		}
	}
	return 0, false
}

// One tenant that cannot be recounted does not hide what is wrong with others.
func TestEachTenantIsVisited(t *testing.T) {
	var seen []string
	err := eachTenant([]identity.Tenant{{ID: "1", Slug: "one"}, {ID: "2", Slug: "two"}, {ID: "3", Slug: "three"}},
		func(x identity.Tenant) error {
			seen = append(seen, x.ID)
			if x.ID == "3" {
				return nil
			}
			return errors.New("broken " + x.ID)
		})
	if got := strings.Join(seen, ""); got != "123" || err == nil ||
		!strings.Contains(err.Error(), "tenant one: broken 1") ||
		!strings.Contains(err.Error(), "tenant two: broken 2") {
		t.Errorf("visited %s: %v", got, err)
	}
}

func TestImportsGoDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "holdfast/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		from, ok := strings.CutPrefix(fields[0], "holdfast/internal/")
		if !ok {
			continue // cmd and bench stand on top of everything
		}
		at, known := layerOf(from)
		if !known {
			t.Errorf("package %s has no layer: add it to the table, with a reason", from)
		}
		for _, imp := range fields[1:] {
			checkImport(t, from, at, imp)
		}
	}
}

// The page that shows the layers to a newcomer names every package, layer by
// layer.
func TestDocsLayers(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- layers: TestDocsLayers -->")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, f := range layers {
		row := regexp.MustCompile("(?m)^\\| " + f.name + " \\| .* \\| `" + strings.Join(f.packages, "` `") + "` \\|$")
		if !row.MatchString(table) {
			t.Errorf("docs/architecture.md has no layer %s", row)
		}
	}
}

func checkImport(t *testing.T, from string, at int, imp string) {
	room, _, _ := strings.Cut(from, "/")
	if owners, ok := only[imp]; ok && room != "testkit" && !contains(owners, room) {
		t.Errorf("%s imports %s, which belongs to %v", from, imp, owners)
	}
	to, ok := strings.CutPrefix(imp, "holdfast/internal/")
	if !ok {
		return
	}
	toRoom, _, _ := strings.Cut(to, "/")
	below, _ := layerOf(to)
	if toRoom != room && below >= at {
		t.Errorf("%s (%s) imports %s (%s): imports go down only", from, layers[at].why, to, layers[below].why)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
