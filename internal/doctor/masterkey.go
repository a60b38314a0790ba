package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/secrets"
)

// changeMasterKey seals everything with another key, and signs tokens with another.
const changeMasterKey = "stop all servers, then: (umask 077; openssl rand -base64 32 > new.key); " +
	"holdfast keys rekey --new-key-file new.key; holdfast keys rotate"

func lookMasterKey(ctx context.Context, p *Patient) []Finding {
	key, err := p.Config.ReadMasterKey()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the first start makes one
	case err != nil:
		return newFailure("put back the master.key that belongs to this database", "the server does not start", "%v", err)
	}

	found := p.exposedKeyFile(ctx)
	if published := PublishedKey(p.Config, key); published != nil {
		found = append(found, *published)
	}
	return found
}

// PublishedKey returns the finding that the master key in effect is one that
// anybody can look up, or nil.
func PublishedKey(c *config.Config, key []byte) *Finding {
	if !secrets.IsPublished(key) {
		return nil
	}
	place := c.MasterKeyPath()
	if place == "" {
		place = "the setting master_key"
	}
	return &newFailure(changeMasterKey+". Where no database was made with it yet, remove it",
		"who knows it can open every stored secret and make API keys that this server accepts",
		"the master key in %s is published with the sources of Holdfast", place)[0]
}

// ExposedKeyFile returns what is wrong with the file that holds the master key in
// effect: other users of the machine can read it, or git has it or would take it.
// It returns nothing where no file holds the key.
func ExposedKeyFile(ctx context.Context, c *config.Config) []Finding {
	return (&Patient{Config: c}).exposedKeyFile(ctx)
}

func (p *Patient) exposedKeyFile(ctx context.Context) []Finding {
	path := p.Config.MasterKeyPath()
	if path == "" {
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil // the look at the keys says so
	}
	return append(p.checkPrivate(path, st, 0o600), lookInGit(ctx, path)...)
}

// lookInGit finds a file with a secret that git tracks, or that the next `git add`
// would take.
func lookInGit(ctx context.Context, path string) []Finding {
	file, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	if !isInWorkTree(file) {
		return nil
	}

	const why = "who reads the repository can open every stored secret"
	tracked := runGit(ctx, file, "ls-files", "--error-unmatch")
	ignored := runGit(ctx, file, "check-ignore", "--quiet")
	switch {
	case tracked == gitYes:
		command := "git rm --cached " + path + ", name it in .gitignore, and, if the repository was ever copied, " +
			changeMasterKey
		return newFailure(command, why,
			"git tracks %s, which holds the master key", path)
	case ignored == gitNo:
		return newWarning("name "+path+" in .gitignore, or keep the data outside the work tree with --data", why,
			"%s holds the master key and lies in a git work tree that does not ignore it", path)
	case ignored != gitYes:
		return newWarning("keep the data outside the work tree with --data", why,
			"%s holds the master key and lies in a git work tree, and git does not say whether it ignores the file", path)
	}
	return nil
}

func isInWorkTree(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// Exit statuses of the git commands that are asked.
const (
	gitYes = 0
	gitNo  = 1
)

// gitPatience bounds one question to git.
const gitPatience = 5 * time.Second

// runGit returns the exit status of a git command about one file, -1 where git
// cannot be run. The repository's own settings start no program.
func runGit(ctx context.Context, path string, args ...string) int {
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	dir, name := filepath.Split(path)
	args = append([]string{"-c", "core.fsmonitor=false", "-C", dir}, args...)
	cmd := exec.CommandContext(ctx, "git", append(args, "--", "./"+name)...) // no name has a meaning of its own then
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GIT_") })

	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return -1
	}
	return cmd.ProcessState.ExitCode()
}
