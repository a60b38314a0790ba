package password

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
	if len(os.Args) > 1 && os.Args[1] == WorkerCommand {
		if len(os.Args) > 2 && os.Args[2] == "--"+WorkerIdle {
			GiveWay()
		}
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
		fmt.Println(pid(h.apart[0]), err)
		select {}
	}
	os.Exit(m.Run())
}

// apartHere hashes in another process of the test's own program, and waits
// for it however slow the machine is.
func apartHere() (*Hasher, error) {
	h := New(8)
	err := h.Apart(nil)
	h.apart[0].patience, h.apart[0].rest = time.Minute, 0
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

// pid is the process that a Hasher has, or had last.
func pid(a *apart) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		return 0
	}
	return a.last.cmd.Process.Pid
}

// given returns how many tasks the process was given, and how many it has still
// to do.
func given(a *apart) (made uint64, waiting int) {
	w := a.last
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
	if made, _ := given(h.apart[0]); made != 6 {
		t.Errorf("the other process was given %d of 6", made)
	}
	if at := pid(h.apart[0]); at == os.Getpid() || !idleOnly(t, at) {
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

// Sign-ins do not depend on the other process: one that was killed is replaced;
// beside one that hangs, or gets no processor, there is another that has its
// share; where none can be started, hashes are made here.
func TestHasher_Apart_fails(t *testing.T) {
	h := newApartHere(t)
	hash, err := h.Hash(context.Background(), "right")
	if err != nil {
		t.Fatal(err)
	}
	first, second := h.apart[0], h.apart[1]
	killed := pid(first)
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); pid(first) == killed; {
		checkRight(t, h, hash)
		if time.Now().After(deadline) {
			t.Fatal("the process that was killed is not replaced")
		}
	}
	checkRight(t, h, hash)

	if err := syscall.Kill(pid(first), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	first.patience, second.patience = time.Millisecond, time.Minute
	before, _ := given(first)
	for range atOnce() + 1 {
		checkRight(t, h, hash)
	}
	if made, waiting := given(first); made-before != uint64(atOnce()) || waiting != atOnce() {
		t.Errorf("a process that hangs was given %d tasks, of which %d wait", made-before, waiting)
	}
	if runtime.GOOS == "linux" && idleOnly(t, pid(second)) {
		t.Error("the second process gives way too")
	}

	none := New(1)
	none.apart = []*apart{newApart(time.Minute, "/no/such/program")}
	checkRight(t, none, hash)
	if none.apart[0].after.IsZero() {
		t.Error("a process that cannot be started is tried at every sign-in")
	}
}

// After a time without work the process ends, and the next hash starts another.
func TestHasher_Apart_idle(t *testing.T) {
	h := newApartHere(t)
	a := h.apart[0]
	a.idle = time.Millisecond
	hash, err := h.Hash(context.Background(), "right")
	if err != nil {
		t.Fatal(err)
	}
	<-a.last.done
	if err := a.last.err; err != nil {
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
