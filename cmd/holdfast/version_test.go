package main

import (
	"bytes"
	"encoding/json"
	"holdfast/internal/bill"
	"os"
	"strings"
	"testing"
)

func runVersion(t *testing.T, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	root := rootCommand()
	root.SetOut(&out)
	root.SetArgs(append([]string{"version"}, args...))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The program says what it is made of: each module that go.mod links into it, at its
// version.
func TestVersionNamesItsModules(t *testing.T) {
	if text := string(runVersion(t)); !strings.HasPrefix(text, "holdfast ") || !strings.Contains(text, "go1.") {
		t.Errorf("version: %q", text)
	}
	var b build
	if err := json.Unmarshal(runVersion(t, "--json"), &b); err != nil || b.Version == "" || b.Go == "" {
		t.Errorf("version --json: %+v %v", b, err)
	}

	var list bill.Bill
	if err := json.Unmarshal(runVersion(t, "--sbom"), &list); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, c := range list.Components {
		if c.Version == "" || c.PURL != "pkg:golang/"+c.Name+"@"+c.Version {
			t.Errorf("component %+v", c)
		}
		versions[c.Name] = c.Version
	}
	goMod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"github.com/spf13/cobra", "github.com/jackc/pgx/v5", "filippo.io/age"} {
		if versions[name] == "" || !strings.Contains(string(goMod), name+" "+versions[name]) {
			t.Errorf("%s is linked at %q, go.mod says otherwise", name, versions[name])
		}
	}
	if len(list.Dependencies) != 1 || len(list.Dependencies[0].On) != len(list.Components) {
		t.Errorf("what holdfast depends on: %+v", list.Dependencies)
	}
}
