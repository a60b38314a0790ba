// Package clone_test looks at the repository as somebody gets it who clones it.
package clone_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkout is the work tree that these tests belong to.
const checkout = "../.."

// environment is that of the tests without settings of Holdfast and of git, with
// settings of git that do not depend on the machine: files are owned by anybody,
// and nothing is ignored but what the repository ignores.
func environment(t *testing.T) []string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "gitconfig")
	text := "[safe]\n\tdirectory = *\n[core]\n\texcludesFile = " + os.DevNull + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "HOLDFAST_") || strings.HasPrefix(pair, "GIT_")
	})
	return append(env, "GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1")
}

// git runs a command of git in a directory and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, environment(t)
	out, err := cmd.Output()
	if err != nil {
		var said []byte
		if exit, ok := err.(*exec.ExitError); ok {
			said = exit.Stderr
		}
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	return string(out)
}

// requireCheckout fails where the sources are not a work tree of git, such as those
// of an archive: what is committed cannot be seen there.
func requireCheckout(t *testing.T) {
	t.Helper()
	cmd := exec.Command("git", "rev-parse", "--show-prefix")
	cmd.Dir, cmd.Env = checkout, environment(t)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "" {
		t.Fatalf("this test looks at what is committed, so it needs git and a clone of the repository, "+
			"not an archive of its sources: %v\n%s", err, out)
	}
}

// trackedFiles lists the files of the checkout that git tracks. It reads the index
// too, so that go test does not repeat a result of before a commit.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	requireCheckout(t)
	index := strings.TrimSpace(git(t, checkout, "rev-parse", "--git-path", "index"))
	if !filepath.IsAbs(index) {
		index = filepath.Join(checkout, index)
	}
	if _, err := os.ReadFile(index); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(git(t, checkout, "ls-files", "-z"), "\x00"), "\x00")
}
