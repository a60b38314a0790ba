package main

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"holdfast/internal/bill"
)

// makeRelease makes a release for this machine, signed by a key of its own, from the sources as they lie there.
func makeRelease(t *testing.T) (r *release, public string) {
	t.Helper()
	r = &release{root: "../..", sources: "../..", out: filepath.Join(t.TempDir(), "dist"), version: "0.1.0-try.1",
		revision: strings.Repeat("ab", 20), at: time.Unix(1_790_000_000, 0).UTC(),
		targets: []target{{"linux", runtime.GOARCH}}}
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	pub, key, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.build(); err != nil {
		t.Fatal(err)
	}
	if err := r.finish(&key); err != nil {
		t.Fatal(err)
	}
	text, err := pub.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	public = filepath.Join(r.out, "holdfast.pub")
	if err := os.WriteFile(public, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return r, public
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

func TestRelease(t *testing.T) {
	r, public := makeRelease(t)
	t.Run("its page verifies it", func(t *testing.T) { verifyByPage(t, r, public) })
	t.Run("it holds what its page lists", func(t *testing.T) { checkContents(t, r) })
}

// What is made is what the page "Verify a release" describes: its steps are done here as they stand there, and the
// first two tell a file, a list and a key that were changed.
func verifyByPage(t *testing.T, r *release, public string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/operating/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, block := range shellBlock.FindAllStringSubmatch(string(page), -1) {
		steps = append(steps, strings.ReplaceAll(block[1], "linux_amd64", "linux_"+runtime.GOARCH))
	}
	if len(steps) != 3 {
		t.Fatalf("the page has %d steps", len(steps))
	}
	follow := func(step int) (string, error) {
		c := exec.Command("sh", "-euc", steps[step])
		c.Dir, c.Env = r.out, append(os.Environ(), "VERSION="+r.version)
		b, err := c.CombinedOutput()
		return string(b), err
	}
	for i, want := range []string{"holdfast " + r.version + " revision " + r.revision, "OK", "holdfast " + r.version + "\n"} {
		if said, err := follow(i); err != nil || !strings.Contains(said, want) {
			t.Errorf("step %d: %v %s, want %q", i+1, err, said, want)
		}
	}

	other, _, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := other.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, file string
		step       int
		change     func([]byte) []byte
	}{
		{"another's key", filepath.Base(public), 0, func([]byte) []byte { return text }},
		{"a changed list", sumsName, 0, func(b []byte) []byte { return append(b, '\n') }},
		{"a changed chart", "holdfast-" + r.version + ".tgz", 1, func(b []byte) []byte { return append(b, 0) }},
	} {
		name := filepath.Join(r.out, c.file)
		was, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		put := func(b []byte) {
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put(c.change(bytes.Clone(was)))
		if said, err := follow(c.step); err == nil {
			t.Errorf("%s is taken: %s", c.what, said)
		}
		put(was)
	}
}

// Every file of the table is there, says its version, and names what is linked with its licence.
func checkContents(t *testing.T, r *release) {
	t.Helper()
	arch := runtime.GOARCH
	for _, name := range []string{"holdfast_0.1.0-try.1_linux_" + arch + ".tar.gz", "holdfast_0.1.0-try.1_" + arch + ".deb",
		"holdfast_0.1.0-try.1_linux_" + arch + ".oci.tar", "holdfast-0.1.0-try.1.tgz", "NOTICE", sumsName,
		sumsName + ".minisig", provenanceName, "holdfast_0.1.0-try.1_offline.tar"} {
		if at, err := os.Stat(filepath.Join(r.out, name)); err != nil || at.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}

	deb := filepath.Join(r.out, "holdfast_0.1.0-try.1_"+arch+".deb")
	for field, want := range map[string]string{"-f": "Version: 0.1.0~try.1\n", "-c": "./usr/share/doc/holdfast/NOTICE\n"} {
		if said, err := exec.Command("dpkg-deb", field, deb).Output(); err != nil || !strings.Contains(string(said), want) {
			t.Errorf("dpkg-deb %s: %v %s, want %q", field, err, said, want)
		}
	}

	var list bill.Bill
	readJSON(t, filepath.Join(r.out, "holdfast_0.1.0-try.1_linux_"+arch+".cdx.json"), &list)
	notice, err := os.ReadFile(filepath.Join(r.out, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	if list.Metadata.Component.Version != r.version || len(list.Components) < 40 {
		t.Errorf("a bill of %d components of %+v", len(list.Components), list.Metadata)
	}
	for _, c := range list.Components {
		if c.Name != "std" && !bytes.Contains(notice, []byte("\n"+c.Name+" "+c.Version+"\n")) {
			t.Errorf("NOTICE lacks %s %s", c.Name, c.Version)
		}
	}
	for _, name := range []string{"preact ", "@supabase/auth-js ", "uplot "} {
		if !bytes.Contains(notice, []byte("\n"+name)) {
			t.Errorf("NOTICE lacks the console's %s", name)
		}
	}

	var s statement
	readJSON(t, filepath.Join(r.out, provenanceName), &s)
	for _, made := range s.Subject {
		if sum, err := sumFile(filepath.Join(r.out, made.Name)); err != nil || sum != made.Digest["sha256"] {
			t.Errorf("the statement tells %s of %s: %v %s", made.Digest, made.Name, err, sum)
		}
	}
	if s.Predicate.Definition.Resolved[0].Digest["gitCommit"] != r.revision || len(s.Subject) < 6 {
		t.Errorf("the statement: %+v", s)
	}

	files := map[string]bool{}
	f, err := os.Open(filepath.Join(r.out, "holdfast_0.1.0-try.1_offline.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for packed := tar.NewReader(f); ; {
		h, err := packed.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "holdfast_0.1.0-try.1/")] = h.ModTime.Equal(r.at)
	}
	for _, name := range []string{sumsName, sumsName + ".minisig", provenanceName, "NOTICE"} {
		if !files[name] {
			t.Errorf("the offline bundle lacks %s, or has it of another moment: %v", name, files)
		}
	}
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// Archives and the chart are the same bytes from two folders, in whatever order and of whatever age their files are.
func TestArchivesAreRepeatable(t *testing.T) {
	pack := func(names ...string) map[string]string {
		dir := t.TempDir()
		r := &release{root: "../..", out: filepath.Join(dir, "dist"), version: "1.2.3", at: time.Unix(1_790_000_000, 0)}
		if err := os.Mkdir(r.out, 0o755); err != nil {
			t.Fatal(err)
		}
		var files []packed
		for i, name := range names {
			from := filepath.Join(dir, name)
			if err := os.WriteFile(from, []byte("of "+name), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(from, time.Unix(int64(i), 0), time.Unix(int64(i), 0)); err != nil {
				t.Fatal(err)
			}
			files = append(files, packed{name, from, 0o644})
		}
		if err := errors.Join(r.writeTar("a.tar.gz", "a", files), r.writeTar("a.tar", "", files),
			r.writeZip("a.zip", "a", files), r.packChart()); err != nil {
			t.Fatal(err)
		}
		made, err := r.digests()
		if err != nil {
			t.Fatal(err)
		}
		sums := map[string]string{}
		for _, m := range made {
			sums[m.Name] = m.Digest["sha256"]
		}
		return sums
	}
	first, second := pack("one", "two", "three"), pack("three", "one", "two")
	if len(first) != 4 {
		t.Fatalf("archives: %v", first)
	}
	for name, sum := range first {
		if second[name] != sum {
			t.Errorf("%s differs from one folder to another", name)
		}
	}
}

// What would make a release that nobody can repeat or verify is refused before anything is built.
func TestReleaseIsRefused(t *testing.T) {
	there := t.TempDir()
	for _, c := range []struct{ what, version, out, want string }{
		{"no version", "", "x", "is no version"},
		{"a name", "v0.1", "x", "is no version"},
		{"a path", "0.1.0/../..", "x", "is no version"},
		{"a version without a heading", "7.7.7", "x", "CHANGELOG.md has no heading"},
		{"a folder that is there", "0.1.0", there, "is there already"},
	} {
		r := &release{root: "../..", version: c.version, out: c.out}
		if err := r.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	if _, err := openKey("", false); err == nil || !strings.Contains(err.Error(), "-unsigned") {
		t.Errorf("without a key: %v", err)
	}
	if _, err := openKey(filepath.Join(there, "none.key"), false); err == nil {
		t.Error("a key that is not there is taken")
	}
}

// A program is built from what is committed, in whatever folder, though the release in the making lies in the
// checkout: twice the same bytes, which name the revision.
func TestProgramIsOfItsRevision(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module holdfast\n\ngo 1.26\n",
		"internal/app/app.go":   "package app\n\nvar stamped string\n\nfunc Version() string { return stamped }\n",
		"cmd/holdfast/main.go":  "package main\n\nimport \"holdfast/internal/app\"\n\nfunc main() { println(app.Version()) }\n",
		"CHANGELOG.md":          "## [1.2.3]\n",
		"cmd/holdfast/plain.go": "package main\n",
	} {
		to := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	r := &release{root: root, version: "1.2.3", out: filepath.Join(root, "dist"), flags: flagsOfRelease}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=Ann", "-c", "user.email=ann@a.example",
		"commit", "-q", "-m", "All of it"}} {
		if _, err := r.ask("git", args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.check(), r.describeRevision()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.out, "half"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.out, "NOTICE"), []byte("on its way"), 0o644); err != nil {
		t.Fatal(err)
	}

	copies := t.TempDir()
	var err error
	if r.sources, err = r.copyRevision(filepath.Join(copies, "first")); err != nil {
		t.Fatal(err)
	}
	if err := r.proveTwice(copies); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("go", "version", "-m", filepath.Join(copies, "one")).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"vcs.revision=" + r.revision, "vcs.modified=false"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("the program does not say %s:\n%s", want, said)
		}
	}
	if err := r.describeRevision(); err == nil || !strings.Contains(err.Error(), "dist") {
		t.Errorf("a checkout with files beside the revision: %v", err)
	}
}
