package webhook

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The guide's receiver in Go compiles, takes a genuine event and refuses a
// forged one. (Its TypeScript twin is read by eye: no Node is needed here.)
func TestGuideReceiver(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(guide)
	if m == nil {
		t.Fatal("the guide has no Go")
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	main := strings.Replace(string(m[1]), `":8090"`, fmt.Sprintf("%q", address), 1)
	for name, text := range map[string]string{"main.go": main, "go.mod": "module receiver\n\ngo 1.22\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "receiver", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	secret := newSecret()
	ctx, cancel := context.WithCancel(context.Background())
	run := exec.CommandContext(ctx, filepath.Join(dir, "receiver"))
	run.Env = append(os.Environ(), "SECRET="+show(secret))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); run.Wait() }()
	s := &Service{private: true, product: "Holdfast"}
	post := func(key []byte) int {
		req, err := s.request(ctx, &endpoint{url: "http://" + address + "/holdfast", secrets: [][]byte{newSecret(), key}}, &delivery{event: "e1", payload: `{"id":"e1","type":"webhook.test","data":{}}`}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			res, err := http.DefaultClient.Do(req.Clone(ctx))
			if err != nil {
				time.Sleep(30 * time.Millisecond)
				req.Body, _ = req.GetBody()
				continue
			}
			res.Body.Close()
			return res.StatusCode
		}
		return 0
	}
	if got := post(secret); got != http.StatusNoContent {
		t.Errorf("a genuine event: %d", got)
	}
	if got := post(bytes.Repeat([]byte("x"), secretSize)); got != http.StatusUnauthorized {
		t.Errorf("a forged event: %d", got)
	}
}
