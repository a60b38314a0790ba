package program

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"holdfast/internal/testkit"
)

// A binary is a program of this process.
type binary struct {
	once sync.Once
	dir  string // this process's own
	err  error
}

// built is what the sources make, and later what they might make one version on.
// They are package state because the tests of a package share them, made by
// whichever asks first.
var built, later binary

// Path is the built binary, which the tests run as a user would.
func Path(t testing.TB) string {
	t.Helper()
	return built.builtPath(t, "holdfast", nil)
}

func (b *binary) builtPath(t testing.TB, name string, change func(root string) (overlay, error)) string {
	t.Helper()
	b.once.Do(func() { b.dir, b.err = buildProgram(name, change) })
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.dir, "holdfast")
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
		for _, b := range []*binary{&built, &later} {
			if err := os.RemoveAll(b.dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	})
}

// buildProgram makes the program, or finds that what another package's tests have made
// is what the sources make still: the go command judges that, and links anew when
// it is not. The tests of this process run a name of their own for it, in dir,
// which nobody builds over while they run. Of change the sources are what it says.
func buildProgram(name string, change func(root string) (overlay, error)) (dir string, err error) {
	root, err := moduleDir()
	if err != nil {
		return "", err
	}
	if err := noteSources(root); err != nil {
		return "", err
	}
	bin := filepath.Join(root, "bin", "tested")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return "", err
	}
	free, err := lockBuild(filepath.Join(bin, "lock"))
	if err != nil {
		return "", err
	}
	defer free()
	shared := filepath.Join(bin, name)
	args := []string{"build", "-ldflags", "-s -w", "-o", shared} // stripped: linked in half the time
	if change != nil {
		over, err := change(root)
		if err != nil {
			return "", err
		}
		file, err := over.writeFiles(root, bin)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", file)
	}
	cmd := exec.Command("go", append(args, "./cmd/holdfast")...)
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

// noteSources looks at every folder of the sources. go test notes what a test looks at,
// and a result of before does not count once it has changed: the tests' own binary
// has of the program only what they call.
func noteSources(root string) error {
	for _, part := range []string{"cmd", "internal", "console", "docs"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moduleDir is the directory of go.mod above the package under test, where go test
// begins.
func moduleDir() (string, error) {
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

// lockBuild waits until this process alone builds. The lock ends with the process,
// however it ends.
func lockBuild(path string) (free func(), err error) {
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
