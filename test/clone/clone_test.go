package clone_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/testkit/program"
)

// compiling is how long the first command may take: it compiles everything.
const compiling = 15 * time.Minute

// What the README promises first works in a fresh clone of what is committed, and
// leaves nothing behind that the next commit would take along.
func TestFirstCommandOfFreshClone(t *testing.T) {
	trackedFiles(t) // so that the result is of this commit
	clone := filepath.Join(t.TempDir(), "holdfast")
	root, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}
	// The address of a file also clones a shallow clone and a linked work tree.
	git(t, root, "clone", "--quiet", "--depth", "1", "file://"+filepath.ToSlash(root), clone)
	if is, want := git(t, clone, "rev-parse", "HEAD"), git(t, root, "rev-parse", "HEAD"); is != want {
		t.Fatalf("the clone is of %s, the checkout of %s", is, want)
	}

	server := startFirstCommand(t, clone)
	openConsole(t, server)
	token := server.Token("manager@north.example", "holdfast-demo")
	var zones []map[string]any
	reply := server.Call("GET", "/v1/zones?select=code&limit=5", token, nil)
	if reply.Into(t, &zones); reply.Status != http.StatusOK || len(zones) != 5 {
		t.Errorf("the zones: %d %s", reply.Status, reply.Body)
	}
	stopFirstCommand(t, server)

	if changed := git(t, clone, "status", "--porcelain"); changed != "" {
		t.Errorf("the first command leaves in the clone:\n%s", changed)
	}
}

// firstCommand returns the first line of the README's first block of commands.
func firstCommand(t *testing.T, clone string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(clone, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?m)^```sh\n(.+)$").FindSubmatch(page)
	if found == nil || !strings.Contains(string(found[1]), "serve") {
		t.Fatalf("README.md does not begin with a command that starts the server: %q", found)
	}
	return string(found[1])
}

// startFirstCommand types the README's first command in the clone and waits for the
// server's banner. The server listens on a free port.
func startFirstCommand(t *testing.T, clone string) *program.Server {
	t.Helper()
	server := &program.Server{Site: &program.Site{T: t, Data: filepath.Join(clone, "holdfast-data")},
		Out: &program.Transcript{}, Gone: make(chan error, 1)}
	server.Cmd = exec.Command("sh", "-c", firstCommand(t, clone))
	server.Cmd.Dir, server.Cmd.Env = clone, append(environment(t), "HOLDFAST_LISTEN=127.0.0.1:0")
	server.Cmd.Stdout, server.Cmd.Stderr = server.Out, server.Out
	server.Cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := server.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-server.Cmd.Process.Pid, syscall.SIGKILL) })
	go func() { server.Gone <- server.Cmd.Wait() }()

	for begin := time.Now(); time.Since(begin) < compiling; time.Sleep(50 * time.Millisecond) {
		if banner := program.BannerURL.FindStringSubmatch(server.Out.String()); banner != nil {
			server.URL = banner[1]
			return server
		}
		if len(server.Gone) > 0 {
			t.Fatalf("the first command ends:\n%s", server.Out)
		}
	}
	t.Fatalf("the server does not start within %v:\n%s", compiling, server.Out)
	return nil
}

// openConsole opens the page that the banner names, and every file that the page
// names.
func openConsole(t *testing.T, server *program.Server) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^ +Console +` + regexp.QuoteMeta(server.URL) + `(/\S*)$`)
	banner := line.FindStringSubmatch(server.Out.String())
	if banner == nil {
		t.Fatalf("the banner names no page:\n%s", server.Out)
	}
	page := server.Call("GET", banner[1], "", nil)
	files := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllSubmatch(page.Body, -1)
	if page.Status != http.StatusOK || len(files) == 0 {
		t.Fatalf("the page %s: %d %s", banner[1], page.Status, page.Body)
	}
	for _, file := range files {
		if got := server.Call("GET", string(file[1]), "", nil); got.Status != http.StatusOK || len(got.Body) == 0 {
			t.Errorf("%s of the page: %d %.200s", file[1], got.Status, got.Body)
		}
	}
}

// stopFirstCommand presses Ctrl-C, which a terminal sends to all processes of the
// command, and waits until the last of them is gone.
func stopFirstCommand(t *testing.T, server *program.Server) {
	t.Helper()
	group := -server.Cmd.Process.Pid
	if err := syscall.Kill(group, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if syscall.Kill(group, 0) == syscall.ESRCH {
			if said := server.Out.String(); !strings.Contains(said, "stopping") || strings.Contains(said, `"ERROR"`) {
				t.Errorf("the server does not stop as it should:\n%s", said)
			}
			return
		}
	}
	t.Fatalf("the server does not stop:\n%s", server.Out)
}
