package main_test

import (
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

const operating = "../../docs/operating/"

// The commands of the page for the first node run one after the other, with
// paths and ports of the test in the place of the machine's.
func TestFirstNode(t *testing.T) {
	page, err := os.ReadFile(operating + "first-node.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n")
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		script.WriteString(m[1])
	}
	root := t.TempDir()
	bin := filepath.Join(root, "bin")
	for _, dir := range []string{"bin", "var/lib", "var/log", "etc", "srv"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program.Path(t), filepath.Join(bin, "holdfast")); err != nil {
		t.Fatal(err)
	}
	port := func() string { _, p, _ := net.SplitHostPort(program.ClosedPort(t)); return p }
	text := strings.NewReplacer("8443", port(), "9090", port(), " /etc/", " "+root+"/etc/", "=/etc/", "="+root+"/etc/",
		"= /etc/", "= "+root+"/etc/",
		" /srv/", " "+root+"/srv/", "/var/", root+"/var/").Replace(script.String())
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir = root
	cmd.Env = append(program.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"is ready", `"status":"ready"`, "audit log agree", "holdfast_backup_age_seconds",
		"ok       schema", "ok       backup"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the commands do not print %q:\n%s", want, out)
		}
	}
}

// Every promise and every fault names tests that there are.
func TestPromisesAreTested(t *testing.T) {
	known := map[string]bool{}
	for _, root := range []string{".", "../../internal", "../../packaging", "../../test"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Name() == "node_modules" {
				return fs.SkipDir
			}
			if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				known[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range []string{"promises.md", "faults.md", "../api-tests.md", "../warehouse-tests.md"} {
		text, err := os.ReadFile(operating + page)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
		for _, m := range named {
			if !known[m[1]] {
				t.Errorf("%s: %s is named and is no test", page, m[1])
			}
		}
		if len(named) < 20 {
			t.Errorf("%s: only %d tests are named", page, len(named))
		}
	}
}
