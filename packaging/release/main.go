// Command release builds what is offered for download: programs, packages, images and the chart, with a bill of
// materials and the licences of what is linked, and signs the list of their digests.
//
//	go run ./packaging/release -version 0.1.0 -key holdfast.key -out dist
//
// The same revision gives the same bytes: the program of this machine is built a second time in another folder and
// compared. docs/operating/verify.md is the page for whoever downloads it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"aead.dev/minisign"
)

// release is one run: from which sources, of which moment, into which folder.
type release struct {
	root     string // of the checkout, with the console's packages
	sources  string // a copy of the revision, which is compiled
	out      string
	version  string
	revision string    // of git
	at       time.Time // of the revision; every file in an archive has it
	flags    []string  // of go build
	targets  []target
}

func main() {
	r := release{root: ".", flags: flagsOfRelease, targets: allTargets}
	var key string
	var isUnsigned bool
	flag.StringVar(&r.version, "version", "", "the version, such as 0.1.0 or 0.2.0-rc.1")
	flag.StringVar(&r.out, "out", "dist", "a folder that is not there yet")
	flag.StringVar(&key, "key", "", "a minisign secret key; its password is in HOLDFAST_RELEASE_PASSWORD")
	flag.BoolVar(&isUnsigned, "unsigned", false, "make a release that nobody can verify, to try the way")
	flag.Parse()
	if err := r.run(key, isUnsigned); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes the whole release, or says what keeps it from that before anything is built.
func (r *release) run(key string, isUnsigned bool) error {
	if err := r.check(); err != nil {
		return err
	}
	sign, err := openKey(key, isUnsigned)
	if err != nil {
		return err
	}
	if err := r.describeRevision(); err != nil {
		return err
	}
	copies, err := os.MkdirTemp("", "holdfast-sources-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copies)
	if r.sources, err = r.copyRevision(filepath.Join(copies, "first")); err != nil {
		return err
	}
	if err := r.proveTwice(copies); err != nil {
		return err
	}
	if err := r.build(); err != nil {
		return err
	}
	return r.finish(sign)
}

// flagsOfRelease leave the folder out of a program and put the revision into it, whatever Go is set to elsewhere.
var flagsOfRelease = []string{"-trimpath", "-buildvcs=true"}

// copyRevision clones what is committed: what lies beside it in the checkout, the release in the making too, would
// make the program one of changed sources.
func (r *release) copyRevision(to string) (string, error) {
	_, err := r.ask("git", "clone", "-q", "--no-hardlinks", ".", to)
	return to, err
}

var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// check refuses what would make a release that cannot be repeated or lacks its version in the changelog.
func (r *release) check() error {
	if !versionForm.MatchString(r.version) {
		return fmt.Errorf("%q is no version: give one such as 0.1.0 (make release VERSION=0.1.0)", r.version)
	}
	if _, err := os.Stat(r.out); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already: remove it, or name another folder", r.out)
	}
	changes, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	core, _, _ := strings.Cut(r.version, "-")
	if !strings.Contains(string(changes), "## ["+core+"]") {
		return fmt.Errorf("CHANGELOG.md has no heading %q", "## ["+core+"]")
	}
	return nil
}

// describeRevision asks git what is built: a tree with changes is no revision.
func (r *release) describeRevision() error {
	changed, err := r.ask("git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("files differ from the revision, commit or remove them:\n%s", changed)
	}
	said, err := r.ask("git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	revision, seconds, _ := strings.Cut(said, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("git tells no time of the revision: %q", said)
	}
	r.revision, r.at = revision, time.Unix(unix, 0).UTC()
	return nil
}

// ask returns what a command prints.
func (r *release) ask(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Stderr = r.root, os.Stderr
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(b)), nil
}

// proveTwice builds the program of this machine from two copies of the revision in different folders: a release whose
// bytes depend on the folder could be verified by nobody.
func (r *release) proveTwice(copies string) (err error) {
	again := *r
	if again.sources, err = r.copyRevision(filepath.Join(copies, "somewhere", "else")); err != nil {
		return err
	}
	t := target{runtime.GOOS, runtime.GOARCH}
	first, second := filepath.Join(copies, "one"), filepath.Join(copies, "two")
	if err := r.compile(t, first); err != nil {
		return err
	}
	if err := again.compile(t, second); err != nil {
		return err
	}
	a, err := sumFile(first)
	if err != nil {
		return err
	}
	b, err := sumFile(second)
	if err != nil {
		return err
	}
	if a != b {
		return fmt.Errorf("%s built in two folders differs: %s and %s", t, a, b)
	}
	fmt.Printf("%s built in two folders is the same: sha256 %s\n", t, a)
	return nil
}

// openKey reads the key that signs, or nil for a release that is not signed.
func openKey(path string, isUnsigned bool) (*minisign.PrivateKey, error) {
	if path == "" && isUnsigned {
		return nil, nil
	}
	if path == "" {
		return nil, errors.New("no key: give -key with a minisign secret key (make one with minisign -G), or -unsigned to " +
			"try the way")
	}
	key, err := minisign.PrivateKeyFromFile(os.Getenv("HOLDFAST_RELEASE_PASSWORD"), path)
	if err != nil {
		return nil, fmt.Errorf("the key %s cannot be opened with the password of HOLDFAST_RELEASE_PASSWORD: %w", path, err)
	}
	return &key, nil
}
