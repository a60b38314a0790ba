package operating_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/testkit/program"
)

// publishedKey is a master key that anybody can look up: here.
const publishedKey = "YSBrZXkgdGhhdCBldmVyeWJvZHkgY2FuIGxvb2sgdXA="

// A server does not start with a master key that is published, wherever the key
// comes from, and says so before it makes a database.
func TestPublishedMasterKeyIsRefused(t *testing.T) {
	program.EachEmpty(t, func(s *program.Site) {
		const setting = "the setting master_key"
		file := s.File(filepath.Join(s.TempDir(), "published.key"), publishedKey+"\n")
		conf := s.File(filepath.Join(s.TempDir(), "holdfast.conf"), "master_key = "+publishedKey+"\n")
		credentials := s.TempDir()
		s.File(filepath.Join(credentials, "master_key"), publishedKey+"\n")
		for from, way := range map[string]struct {
			env, args []string
			place     string // as the message names it
		}{
			"variable":           {env: []string{"HOLDFAST_MASTER_KEY=" + publishedKey}, place: setting},
			"credential":         {env: []string{"CREDENTIALS_DIRECTORY=" + credentials}, place: setting},
			"flag":               {args: []string{"--master-key", publishedKey}, place: setting},
			"file":               {args: []string{"--master-key-file", file}, place: file},
			"variable of a file": {env: []string{"HOLDFAST_MASTER_KEY_FILE=" + file}, place: file},
			"configuration file": {args: []string{"--config", conf}, place: conf},
		} {
			refusesPublishedKey(s, from, way.place, way.env, way.args...)
		}
		if _, err := os.Stat(filepath.Join(s.Data, "holdfast.db")); err == nil {
			s.Error("a server that is refused makes a database")
		}

		publishKey(s)
		refusesPublishedKey(s, "data directory", s.MasterKeyFile(), nil)
		if err := os.Remove(s.MasterKeyFile()); err != nil {
			s.Fatal(err)
		}
		s.Serve().Stop() // as the message says where nothing was made with the key
	})
}

// publishKey makes the published key that of the data directory.
func publishKey(s *program.Site) {
	s.Helper()
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		s.Fatal(err)
	}
	s.File(s.MasterKeyFile(), publishedKey+"\n")
}

// refusesPublishedKey starts a server and expects a message that names the place of
// the key and the way out, but not the key.
func refusesPublishedKey(s *program.Site, from, place string, env []string, args ...string) {
	s.Helper()
	out := s.Finish(s.Command(env, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...), "")
	if out.Code != 1 || strings.Contains(out.Out+out.Err, publishedKey) {
		s.Errorf("%s: %s", from, out)
	}
	for _, want := range []string{place, "published", "holdfast keys rekey --new-key-file", "holdfast keys rotate"} {
		if !strings.Contains(out.Err, want) {
			s.Errorf("%s: the message lacks %q: %s", from, want, out)
		}
	}
}

// The way out of a published master key: commands open what it sealed, and
// `keys rekey` seals that with a key of the installation's own.
func TestRekeyFromPublishedKey(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		publishKey(s)
		s.Exec("tenant", "create", "Acme")
		s.ExecWith("eleven quiet herons\n", "admin", "create", "anna@acme.example", "--tenant", "acme")
		refusesPublishedKey(s, "data directory", s.MasterKeyFile(), nil)
		if found, code := doctor(s, nil); code != 1 || found["master key"].Level != "failure" ||
			!strings.Contains(found["master key"].Command, "holdfast keys rekey") {
			s.Errorf("doctor: exit status %d, %+v", code, found["master key"])
		}

		s.Exec("keys", "rotate")
		again := s.File(filepath.Join(s.TempDir(), "again.key"), publishedKey+"\n")
		fresh, _ := keyFile(s.T, "new.key")
		s.Refused(`the new master key has been published`, "keys", "rekey", "--old-key-file", fresh, "--new-key-file", again)
		s.Exec("keys", "rekey", "--new-key-file", fresh)

		v := s.Serve()
		v.Token("anna@acme.example", "eleven quiet herons")
		v.Stop()
		if found, _ := doctor(s, nil); found["master key"].Level != "ok" {
			s.Errorf("doctor, after the change: %+v", found["master key"])
		}
	})
}

// A server says at its start, and doctor at any time, who else could read the file
// of the master key: other users of the machine, or readers of a repository.
func TestExposedMasterKeyIsReported(t *testing.T) {
	program.Each(t, func(s *program.Site) {
		s.Exec("tenant", "create", "Acme") // makes the key
		tree := filepath.Dir(s.Data)
		alone := []string{"HOME=" + s.TempDir(), "XDG_CONFIG_HOME=" + s.TempDir()} // nothing is ignored on this machine
		inTree := func(args ...string) {
			s.Helper()
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = tree, append(program.Environ(), alone...)
			if out, err := cmd.CombinedOutput(); err != nil {
				s.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		head := filepath.Join(tree, ".git", "HEAD")
		ignore := func(names string) { s.File(filepath.Join(tree, ".gitignore"), names) }

		for _, step := range []struct {
			what   string
			change func()
			level  string
			says   string
		}{
			{"outside of git", func() {}, "ok", ""},
			{"readable by others", func() { changeMode(s, s.MasterKeyFile(), 0o640) }, "warning", "can be read by other users"},
			{"private again", func() { changeMode(s, s.MasterKeyFile(), 0o600) }, "ok", ""},
			{"not ignored", func() { inTree("init", "--quiet") }, "warning", "does not ignore it"},
			{"ignored by its name", func() { ignore("*.key\n") }, "ok", ""},
			{"ignored with its directory", func() { ignore("data/\n") }, "ok", ""},
			{"taken back", func() { ignore("data/*\n!data/*.key\n") }, "warning", "does not ignore it"},
			{"tracked, though ignored", func() { ignore("data/\n"); inTree("add", "-f", s.MasterKeyFile()) }, "failure",
				"git tracks"},
			{"a repository that git refuses", func() { s.File(head, "nothing") }, "warning", "git does not say"},
		} {
			step.change()
			found, _ := doctor(s, alone)
			if f := found["master key"]; f.Level != step.level || !strings.Contains(f.What, step.says) {
				s.Errorf("%s: doctor finds %+v", step.what, f)
			}
			v := s.ServeAs(func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, alone...) })
			v.Stop() // what is logged is written a little later
			said := v.Out.String()
			warned := strings.Contains(said, s.MasterKeyFile())
			if warned != (step.says != "") || !strings.Contains(said, step.says) {
				s.Errorf("%s: the server says\n%s", step.what, said)
			}
		}
	})
}

// A key that a setting names is looked at where it is.
func TestExposedMasterKeyIsReported_setting(t *testing.T) {
	s := program.Embedded(t)
	file, _ := keyFile(t, "given.key")
	conf := s.File(filepath.Join(s.TempDir(), "holdfast.conf"), "master_key = "+readText(s, file)+"\n")
	for name, args := range map[string][]string{file: {"--master-key-file", file}, conf: {"--config", conf}} {
		changeMode(s, name, 0o644)
		found, _ := doctor(s, nil, args...)
		if f := found["master key"]; f.Level != "warning" || !strings.Contains(f.What, name) {
			t.Errorf("%s: %+v", name, f)
		}
		doctor(s, nil, append(args, "--fix")...)
		if found, _ := doctor(s, nil, args...); found["master key"].Level != "ok" {
			t.Errorf("%s, put right: %+v", name, found["master key"])
		}
	}
}

func changeMode(s *program.Site, path string, mode os.FileMode) {
	s.Helper()
	if err := os.Chmod(path, mode); err != nil {
		s.Fatal(err)
	}
}

func readText(s *program.Site, path string) string {
	s.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
