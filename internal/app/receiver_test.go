package app_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/config"
	"holdfast/internal/testkit"
)

// guide returns the guide's example in a language, at another address.
func guide(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("the guide has no %s", language)
	}
	return string(m[1])
}

// adapted replaces every text of pairs, which the guide is known to have.
func adapted(t *testing.T, in string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(in, pairs[i]) {
			t.Fatalf("the guide no longer has %q: mend this test with it", pairs[i])
		}
		in = strings.ReplaceAll(in, pairs[i], pairs[i+1])
	}
	return in
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// goReceiver builds the guide's Go for an address.
func goReceiver(t *testing.T, address string) *exec.Cmd {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.go"), adapted(t, guide(t, "go"), `":8090"`, fmt.Sprintf("%q", address)))
	write(t, filepath.Join(dir, "go.mod"), "module receiver\n\ngo 1.22\n")
	build := exec.Command("go", "build", "-o", "receiver", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exec.Command(filepath.Join(dir, "receiver"))
}

// nodeReceiver runs the guide's TypeScript. Node learns to leave out types by
// itself in a version newer than the oldest one we test with, so they are taken
// away here, each by name: Node refuses what is left of any other.
func nodeReceiver(t *testing.T, address string) *exec.Cmd {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	script := adapted(t, guide(t, "ts"), "listen(8090)", fmt.Sprintf("listen(%s, %q)", port, host),
		", type IncomingHttpHeaders", "", ": IncomingHttpHeaders", "", "body: Buffer): boolean", "body)", ": Buffer[]", "",
		" as Buffer", "",
		" as { id: string; type: string; data: unknown }", "")
	path := filepath.Join(t.TempDir(), "receiver.mjs")
	write(t, path, script)
	return exec.Command("node", path)
}

// output is what a process has printed.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// The guide's receivers, as they stand in it, take a genuine delivery of a
// running server and refuse a forged one.
func TestGuideReceivers(t *testing.T) {
	for language, receiver := range map[string]func(*testing.T, string) *exec.Cmd{"Go": goReceiver,
		"TypeScript": nodeReceiver} {
		t.Run(language, func(t *testing.T) {
			testkit.Run(t, func(t *testing.T, k *testkit.Kit) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				address := l.Addr().String()
				l.Close()
				url := "http://" + address + "/holdfast"
				var made struct{ ID, Secret string }
				// Of other kinds too many may come before the receiver listens, and
				// close the way for half a minute.
				k.Post("admin@north.example", "/v1/webhooks", map[string]any{"url": url,
					"events": []string{"import.failed"}}).JSON(t, &made)
				cmd, printed := receiver(t, address), &output{}
				cmd.Env = append(os.Environ(), "SECRET="+made.Secret)
				cmd.Stdout, cmd.Stderr = printed, printed
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
				within(t, "the receiver refuses what is not signed", func() bool {
					res, err := http.Post(url, "application/json", strings.NewReader(`{"id":"e","type":"forged","data":{}}`))
					if err != nil {
						return false
					}
					res.Body.Close()
					return res.StatusCode == http.StatusUnauthorized
				})
				var sent struct {
					EventID string `json:"event_id"`
				}
				r := k.Post("admin@north.example", "/v1/webhooks/"+made.ID+"/test", nil)
				r.JSON(t, &sent)
				if r.Status >= 300 || sent.EventID == "" {
					t.Fatalf("test: %d %s", r.Status, r.Body)
				}
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("the receiver: %s\nits deliveries: %s", printed,
							k.Get("admin@north.example", "/v1/webhook_deliveries?webhook_id=eq."+made.ID).Body)
					}
				})
				within(t, "the event is taken", func() bool {
					return strings.Contains(printed.String(),
						sent.EventID+" webhook.test")
				})
				if strings.Contains(printed.String(), "forged") {
					t.Errorf("the forged one was taken too: %s", printed)
				}
				within(t, "the delivery is marked", func() bool {
					return strings.Contains(string(k.Get("admin@north.example",
						"/v1/webhook_deliveries?select=status&event_id=eq."+sent.EventID).Body), "delivered")
				})
			}, func(c *config.Config) { c.WebhookPrivate = true })
		})
	}
}
