package program

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"holdfast/internal/testkit"
)

// built is the program of this process. It is package state because the tests of
// a package share it, made by whichever asks first.
var built struct {
	once sync.Once
	dir  string // this process's own
	err  error
}

// Path is the built binary, which the tests run as a user would.
func Path(t testing.TB) string {
	t.Helper()
	built.once.Do(func() { built.dir, built.err = build() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "holdfast")
}

// abreast is how many parallel tests run at once, however few the cores are: one
// that is parallel here waits for a deadline, and does little else.
const abreast = 4

// Main runs a package's tests and removes what they shared, for use in TestMain.
func Main(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(abreast)); err != nil {
			panic(err)
		}
	}
	testkit.Main(m, func() {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
}

// build makes the program, or finds that what another package's tests have made
// is what the sources make still: the go command judges that, and links anew when
// it is not. The tests of this process run a name of their own for it, in dir,
// which nobody builds over while they run.
func build() (dir string, err error) {
	root, err := module()
	if err != nil {
		return "", err
	}
	// go test notes what a test reads: a result of before does not count once the
	// command has changed, which no package of tests imports.
	if _, err := os.ReadDir(filepath.Join(root, "cmd", "holdfast")); err != nil {
		return "", err
	}
	bin := filepath.Join(root, "bin", "tested")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return "", err
	}
	free, err := lock(filepath.Join(bin, "lock"))
	if err != nil {
		return "", err
	}
	defer free()
	shared := filepath.Join(bin, "holdfast")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", shared, "./cmd/holdfast") // stripped: linked in half the time
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	if dir, err = os.MkdirTemp(bin, "of-"); err != nil {
		return "", err
	}
	if err := os.Link(shared, filepath.Join(dir, "holdfast")); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// module is the directory of go.mod above the package under test, where go test
// begins.
func module() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("build: no go.mod above the package under test")
		}
	}
}

// lock waits until this process alone builds. The lock ends with the process,
// however it ends.
func lock(path string) (free func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
