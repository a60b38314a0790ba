package operating_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/testkit/program"
)

// A server that is started on a full disk says so and serves what is there: the reserve it
// keeps is given up for the index of SQLite's log. Writes are refused with the reason until
// there is room, and then taken without a restart. (PostgreSQL has its own disk.)
func TestStartOnFullDisk(t *testing.T) {
	s := program.Embedded(t)
	smallDisk(t, s.Data)
	s.Exec("tenant", "create", "Acme")
	s.ExecWith("eleven quiet herons\n", "admin", "create", "owner@acme.example", "--tenant", "Acme")
	s.Serve().Stop()

	filler := filepath.Join(s.Data, "filler")
	fillDisk(t, filler)
	v := s.Serve()
	bearer := v.Token("owner@acme.example", "eleven quiet herons") // which the rest of the reserve has room for
	if r := v.Call("GET", "/v1/sites", bearer, nil); r.Status != http.StatusOK {
		t.Errorf("a read: %d %s", r.Status, r.Body)
	}
	s.Eventually("the start says so", func() bool {
		return strings.Contains(v.Out.String(), "the disk is full; the reserve was given up") &&
			strings.Contains(v.Out.String(), "the disk of the data directory is nearly full")
	})
	fillDisk(t, filler+"-2") // what the reserve has left
	made := 0
	s.Eventually("a write is refused", func() bool {
		made++
		site := map[string]any{"code": fmt.Sprintf("S-%d", made), "name": strings.Repeat("A site ", 25)}
		return v.Call("POST", "/v1/sites", bearer, site).Status == http.StatusInsufficientStorage
	})
	if r := v.Call("GET", "/readyz", "", nil); r.Status != http.StatusServiceUnavailable ||
		!strings.Contains(string(r.Body), "the disk is full") {
		t.Errorf("/readyz: %d %s", r.Status, r.Body)
	}
	if r := v.Call("GET", "/v1/sites", bearer, nil); r.Status != http.StatusOK {
		t.Errorf("a read meanwhile: %d %s", r.Status, r.Body)
	}
	for _, path := range []string{filler, filler + "-2"} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	s.Eventually("ready with room", func() bool { return v.Call("GET", "/readyz", "", nil).Status == http.StatusOK })
	v.Stop()
}

// smallDisk has the data directory on a disk of its own.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=32m,mode=0700")
	if errors.Is(err, unix.EPERM) {
		t.Skip("mounting a small disk needs the rights of root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
}

// fillDisk writes a file until there is no room.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 1<<20); len(piece) > 0; {
		if _, err := f.Write(piece); err != nil {
			piece = piece[:len(piece)/2]
		}
	}
}
