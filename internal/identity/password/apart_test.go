package password

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// parentCommand is a process that hashes apart and says where.
const parentCommand = "be-a-parent"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == WorkerCommand {
		if err := Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == parentCommand {
		h, err := apartHere()
		if err == nil {
			_, err = h.Hash(context.Background(), "a long enough sentence")
		}
		fmt.Println(pid(h), err)
		select {}
	}
	os.Exit(m.Run())
}

// apartHere hashes in another process of the test's own program, and waits
// for it however slow the machine is.
func apartHere() (*Hasher, error) {
	h := New(8)
	err := h.Apart()
	h.apart.patience, h.apart.rest = time.Minute, 0
	return h, err
}

func newApartHere(t *testing.T) *Hasher {
	t.Helper()
	h, err := apartHere()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func pid(h *Hasher) int {
	h.apart.mu.Lock()
	defer h.apart.mu.Unlock()
	if h.apart.last == nil {
		return 0
	}
	return h.apart.last.cmd.Process.Pid
}

// given returns how many tasks the process was given, and how many it has still
// to do.
func given(h *Hasher) (made uint64, waiting int) {
	w := h.apart.last
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made, len(w.waiting)
}

func checkRight(t *testing.T, h *Hasher, hash string) {
	t.Helper()
	if ok, err := h.Check(context.Background(), hash, "right"); !ok || err != nil {
		t.Fatalf("the right password: %v, %v", ok, err)
	}
}

// Hashes of every kind are made and checked in the other process: it has taken
// each of them, and has the processor's idle time only.
func TestHasher_Apart(t *testing.T) {
	h, ctx := newApartHere(t), context.Background()
	hash, err := h.Hash(ctx, "p\xffss \x00word\n")
	if err != nil {
		t.Fatal(err)
	}
	old, err := bcrypt.GenerateFromPassword([]byte("p\xffss"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		hash, pw string
		want     bool
	}{
		{hash, "p\xffss \x00word\n", true},
		{hash, "p\xfess \x00word\n", false},
		{"", "p\xffss \x00word\n", false},
		{"not a hash", "x", false},
		{string(old), "p\xffss", true},
	} {
		if ok, err := h.Check(ctx, tt.hash, tt.pw); ok != tt.want || err != nil {
			t.Errorf("Check(%q, %q) = %v, %v", tt.hash, tt.pw, ok, err)
		}
	}
	if made, _ := given(h); made != 6 {
		t.Errorf("the other process was given %d of 6", made)
	}
	if at := pid(h); at == os.Getpid() || !idleOnly(t, at) {
		t.Errorf("process %d is ours, or no idle one", at)
	}
}

func TestHasher_Apart_together(t *testing.T) {
	h := newApartHere(t)
	hash, err := h.Hash(context.Background(), "right")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			ok, err := h.Check(context.Background(), hash, []string{"right", "wrong"}[i%2])
			if ok != (i%2 == 0) || err != nil {
				t.Errorf("%d: %v, %v", i, ok, err)
			}
		})
	}
	wg.Wait()
}

// Sign-ins do not depend on the other process: one that was killed is replaced,
// with one that hangs, or a machine that will not start any, hashes are made here.
func TestHasher_Apart_fails(t *testing.T) {
	h := newApartHere(t)
	hash, err := h.Hash(context.Background(), "right")
	if err != nil {
		t.Fatal(err)
	}
	killed := pid(h)
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); pid(h) == killed; {
		checkRight(t, h, hash)
		if time.Now().After(deadline) {
			t.Fatal("the process that was killed is not replaced")
		}
	}
	checkRight(t, h, hash)

	if err := syscall.Kill(pid(h), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h.apart.patience = time.Millisecond
	for range atOnce() + 2 {
		checkRight(t, h, hash)
	}
	if made, waiting := given(h); waiting != atOnce() {
		t.Errorf("a process that hangs was given %d tasks, of which %d wait", made, waiting)
	}

	none := New(1)
	none.apart = newApart([]string{"/no/such/program"})
	checkRight(t, none, hash)
	if none.apart.after.IsZero() {
		t.Error("a process that cannot be started is tried at every sign-in")
	}
}

// After a time without work the process ends, and the next hash starts another.
func TestHasher_Apart_idle(t *testing.T) {
	h := newApartHere(t)
	h.apart.idle = time.Millisecond
	hash, err := h.Hash(context.Background(), "right")
	if err != nil {
		t.Fatal(err)
	}
	<-h.apart.last.done
	if err := h.apart.last.err; err != nil {
		t.Errorf("ended by itself: %v", err)
	}
	checkRight(t, h, hash)
}

// A server that is killed leaves nobody behind.
func TestHasher_Apart_endsWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0], parentCommand)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.Fields(line)[0])
	if err != nil || child == 0 {
		t.Fatalf("the parent said %q", line)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	for deadline := time.Now().Add(30 * time.Second); running(child); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d outlives its parent", child)
		}
	}
}
